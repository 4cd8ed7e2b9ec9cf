package apachebroker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// home is a directory in which a Java program believes it is installed: its configuration, logs and store stay inside.
type home string

// newHome lays out the directory. 5.x looks for its logging configuration on the class path and prints hundreds of lines if it finds none;
// 4.x loads it by absolute path and dies if it is not there.
func newHome(dir string, v Version) (home, error) {
	h := home(dir)
	files := map[string]string{filepath.Join("quiet", "rmq.logback-test.xml"): logback("org.apache.rocketmq.logging.ch.qos.logback.core")}
	if !v.Modern() {
		files = map[string]string{}
		for _, part := range []string{"broker", "namesrv", "tools"} {
			files[filepath.Join("conf", "logback_"+part+".xml")] = logback("ch.qos.logback.core")
		}
	}
	for _, sub := range []string{"quiet", "conf"} {
		if err := os.MkdirAll(h.path(sub), 0o755); err != nil {
			return "", err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(h.path(name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return h, nil
}

// write puts files into the directory.
func (h home) write(files map[string]string) error {
	for name, text := range files {
		path := h.path(filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (h home) path(name string) string { return filepath.Join(string(h), name) }

// properties are the system properties that keep a program inside its home; log is the name of its log file.
func (h home) properties(log string) []string {
	return []string{
		"-Duser.home=" + string(h),
		"-Drocketmq.home.dir=" + string(h),
		"-Drmq.log=" + h.path(log),
		"-Drocketmq.client.logRoot=" + string(h),
		"-Drocketmq.client.logLevel=WARN",
	}
}

// classPath puts the quiet logging first, then the given directories, then all jars of a release.
func (h home) classPath(lib string, dirs ...string) string {
	path := h.path("quiet")
	for _, dir := range dirs {
		path += string(os.PathListSeparator) + dir
	}
	return path + string(os.PathListSeparator) + filepath.Join(lib, "*")
}

func logback(core string) string {
	return fmt.Sprintf(`<configuration>
  <statusListener class="%[1]s.status.NopStatusListener"/>
  <appender name="F" class="%[1]s.FileAppender">
    <file>${rmq.log:-rmq.log}</file>
    <encoder><pattern>%%d{HH:mm:ss.SSS} %%p %%c{1} - %%m%%n</pattern></encoder>
  </appender>
  <root level="${rmq.level:-WARN}"><appender-ref ref="F"/></root>
</configuration>
`, core)
}

// makeDir returns the directory to use and what removes it: nothing if the caller has named it.
func makeDir(named, pattern string) (dir string, remove func() error, err error) {
	if named != "" {
		if dir, err = filepath.Abs(named); err != nil {
			return "", nil, err
		}
		return dir, func() error { return nil }, os.MkdirAll(dir, 0o755)
	}
	dir, err = os.MkdirTemp("", pattern)
	return dir, func() error { return os.RemoveAll(dir) }, err
}

var errClosed = errors.New("the cluster is closed")
