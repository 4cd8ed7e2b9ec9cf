package apachebroker

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// A ToolError says which program of the Java tool chain is missing and how to get it.
type ToolError struct {
	Tool   string // "java", "javac" or "mvn"
	Need   string // what it was needed for
	Remedy string // what to do about it
}

// Error names the tool, the reason and the remedy.
func (e *ToolError) Error() string {
	return fmt.Sprintf("%s not found in JAVA_HOME or PATH, needed to %s: %s", e.Tool, e.Need, e.Remedy)
}

const (
	jdkRemedy   = "install a JDK 11 or newer (Debian: apt-get install openjdk-17-jdk-headless; macOS: brew install openjdk@17) or set JAVA_HOME to one"
	mavenRemedy = "install Maven 3.6 or newer (Debian: apt-get install maven; macOS: brew install maven), or copy a filled cache and name it with " + CacheVariable
)

func findJava() (string, error)  { return findJDK("java", "run Apache RocketMQ") }
func findJavac() (string, error) { return findJDK("javac", "compile the Java peers") }

func findJDK(tool, need string) (string, error) {
	name := tool
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if home := os.Getenv("JAVA_HOME"); home != "" {
		path := filepath.Join(home, "bin", name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, nil
		}
	}
	path, err := exec.LookPath(tool)
	if err != nil {
		return "", &ToolError{Tool: tool, Need: need, Remedy: jdkRemedy}
	}
	return path, nil
}

func findMaven(v Version) (string, error) {
	path, err := exec.LookPath("mvn")
	if err != nil {
		return "", &ToolError{Tool: "mvn", Need: fmt.Sprintf("download Apache RocketMQ %s", v), Remedy: mavenRemedy}
	}
	return path, nil
}
