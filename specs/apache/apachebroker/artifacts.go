package apachebroker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// CacheVariable is the environment variable that moves the cache; the default is "troupe" below os.UserCacheDir.
const CacheVariable = "TROUPE_CACHE"

// The dependency plugin is pinned, so that the same command resolves the same way everywhere.
const copyDependencies = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"

// An unfinished download older than this is rubbish of a process that was interrupted.
const staleDownload = time.Hour

var preparing sync.Mutex // one download or compilation at a time in this process

// CacheDir is where jars and compiled peers are kept: TROUPE_CACHE, or "troupe" below the user's cache directory.
func CacheDir() (string, error) {
	if dir := os.Getenv(CacheVariable); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no user cache directory (set %s): %w", CacheVariable, err)
	}
	return filepath.Join(dir, "troupe"), nil
}

// Prepare makes sure that the jars of a release are in the cache and returns their directory. The first call for a release runs Maven and
// may take a minute; an interrupted download is never taken for a complete one, because the directory gets its name last.
func Prepare(ctx context.Context, v Version) (lib string, err error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	lib = filepath.Join(cache, "apache", string(v), "lib")
	preparing.Lock()
	defer preparing.Unlock()
	if complete(lib, v) {
		return lib, nil
	}
	mvn, err := findMaven(v)
	if err != nil {
		return "", err
	}
	parent := filepath.Dir(lib)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	removeStale(parent)
	temp, err := os.MkdirTemp(parent, "download-*.tmp")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(temp) }() // nothing is left in it when the rename succeeded
	if err := download(ctx, mvn, temp, v); err != nil {
		return "", fmt.Errorf("download Apache RocketMQ %s into %s: %w", v, lib, err)
	}
	return lib, publish(filepath.Join(temp, "lib"), lib, func() bool { return complete(lib, v) })
}

// publish gives a finished directory its final name. Another process may have been faster: its result is as good.
func publish(from, to string, there func() bool) error {
	if err := os.Rename(from, to); err != nil {
		if there() {
			return nil
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
		return os.Rename(from, to)
	}
	return nil
}

func complete(lib string, v Version) bool {
	for _, artifact := range artifacts {
		if _, err := os.Stat(filepath.Join(lib, fmt.Sprintf("%s-%s.jar", artifact, v))); err != nil {
			return false
		}
	}
	return true
}

var artifacts = []string{"rocketmq-broker", "rocketmq-namesrv", "rocketmq-tools", "rocketmq-client"}

func download(ctx context.Context, mvn, dir string, v Version) error {
	var pom strings.Builder
	pom.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>` +
		"<groupId>troupe</groupId><artifactId>apache-peers</artifactId><version>1</version>\n<dependencies>\n")
	for _, artifact := range artifacts {
		fmt.Fprintf(&pom, "<dependency><groupId>org.apache.rocketmq</groupId><artifactId>%s</artifactId><version>%s</version></dependency>\n", artifact, v)
	}
	pom.WriteString("</dependencies></project>\n")
	file := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(file, []byte(pom.String()), 0o644); err != nil {
		return err
	}
	lib := filepath.Join(dir, "lib")
	if err := runTool(ctx, mvn, "-q", "-B", "-f", file, copyDependencies, "-DincludeScope=runtime", "-DoutputDirectory="+lib); err != nil {
		return err
	}
	if !complete(lib, v) {
		return errors.New("maven ended without an error, but jars are missing")
	}
	return nil
}

// runTool runs a program of the tool chain to its end; its output is part of the error. When ctx ends, its whole process group is killed.
func runTool(ctx context.Context, path string, args ...string) error {
	cmd := exec.CommandContext(ctx, path, args...)
	isolate(cmd, false)
	cmd.Cancel = func() error { return killTree(cmd.Process) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("%s: %w\n%s", filepath.Base(path), err, tail(bytes.TrimSpace(out), 4096))
}

func removeStale(parent string) {
	old, _ := filepath.Glob(filepath.Join(parent, "*.tmp")) // the pattern is constant and well formed
	for _, dir := range old {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > staleDownload {
			_ = os.RemoveAll(dir) // tidiness only
		}
	}
}

// tail is the end of a text, at most n bytes of it.
func tail(text []byte, n int) []byte {
	if len(text) > n {
		text = append([]byte("…"), text[len(text)-n:]...)
	}
	return text
}
