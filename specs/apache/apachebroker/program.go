package apachebroker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/troupe-mq/troupe/specs/apache/java"
)

// A Program is a Java program to run against a release of Apache's client library.
type Program struct {
	Version    Version           // of the client library; "": V5_3_3
	Sources    fs.FS             // *.java files in its root, compiled together; nil: the peers of specs/apache/java
	Main       string            // the class to run, e.g. "PushConsumer", or a class of the library
	Args       []string          // its arguments
	Properties map[string]string // system properties, e.g. rocketmq.message.compressType=LZ4
	JVM        []string          // options of the virtual machine; nil: SmallJVM and a heap of 64 MiB
}

// Java compiles the sources, once per release and content, and starts the program. ctx bounds the compilation and, when the release is not
// in the cache, its download; the program runs until it ends, is stopped or killed, and on Linux not longer than this process.
func Java(ctx context.Context, p Program) (*Peer, error) {
	if p.Version == "" {
		p.Version = V5_3_3
	}
	if p.Sources == nil {
		p.Sources = java.Sources
	}
	path, err := findJava()
	if err != nil {
		return nil, err
	}
	lib, err := Prepare(ctx, p.Version)
	if err != nil {
		return nil, err
	}
	classes, err := compile(ctx, p.Version, lib, p.Sources)
	if err != nil {
		return nil, err
	}
	dir, remove, err := makeDir("", "troupe-java-*")
	if err != nil {
		return nil, err
	}
	peer, err := p.run(path, lib, classes, dir, remove)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	return peer, nil
}

func (p Program) run(path, lib, classes, dir string, remove func() error) (*Peer, error) {
	h, err := newHome(dir, p.Version)
	if err != nil {
		return nil, err
	}
	args := p.JVM
	if args == nil {
		args = append([]string{"-Xmx64m"}, SmallJVM()...)
	}
	args = append(slices.Clone(args), h.properties("peer.rmq.log")...)
	for _, name := range slices.Sorted(maps.Keys(p.Properties)) {
		args = append(args, "-D"+name+"="+p.Properties[name])
	}
	args = append(args, "-cp", h.classPath(lib, classes), p.Main)
	cmd := exec.Command(path, append(args, p.Args...)...)
	cmd.Dir = dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	lines, out := io.Pipe()
	process, err := launch(p.Main, h.path("peer.log"), cmd, out)
	if err != nil {
		return nil, err
	}
	peer := newPeer(process, stdin, remove)
	go func() {
		<-process.done // Wait has copied everything by then
		_ = out.Close()
	}()
	go peer.read(lines)
	return peer, nil
}

// compile keeps classes in the cache, in a directory named after the content of the sources.
func compile(ctx context.Context, v Version, lib string, sources fs.FS) (string, error) {
	names, err := fs.Glob(sources, "*.java")
	if err != nil {
		return "", err
	}
	hash, content := sha256.New(), map[string][]byte{}
	for _, name := range names {
		if content[name], err = fs.ReadFile(sources, name); err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(hash, "%s %d\n%s", name, len(content[name]), content[name]) // a hash takes everything
	}
	parent := filepath.Join(filepath.Dir(lib), "classes")
	classes := filepath.Join(parent, hex.EncodeToString(hash.Sum(nil))[:16])
	there := func() bool { info, err := os.Stat(classes); return err == nil && info.IsDir() }
	preparing.Lock()
	defer preparing.Unlock()
	if there() {
		return classes, nil
	}
	javac, err := findJavac()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	removeStale(parent)
	temp, err := os.MkdirTemp(parent, "compile-*.tmp")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(temp) }() // nothing is left in it when the rename succeeded
	args := []string{"-encoding", "UTF-8", "-nowarn", "-d", filepath.Join(temp, "out"), "-cp", filepath.Join(lib, "*")}
	for _, name := range names {
		file := filepath.Join(temp, name)
		if err := os.WriteFile(file, content[name], 0o644); err != nil {
			return "", err
		}
		args = append(args, file)
	}
	if err := runTool(ctx, javac, args...); err != nil {
		return "", fmt.Errorf("compile the Java peers for %s: %w", v, err)
	}
	return classes, publish(filepath.Join(temp, "out"), classes, there)
}

// MQAdmin runs Apache's command line tool to its end and returns what it printed. nameServer is passed as -n to the command in args[0].
func MQAdmin(ctx context.Context, v Version, nameServer string, args ...string) (string, error) {
	if len(args) == 0 {
		return "", errors.New("mqadmin: no command given")
	}
	all := append(slices.Clone(args), "-n", nameServer)
	peer, err := Java(ctx, Program{Version: v, Main: "org.apache.rocketmq.tools.command.MQAdminStartup", Args: all})
	if err != nil {
		return "", err
	}
	err = peer.Wait(ctx)
	text := peer.Output()
	return text, errors.Join(err, peer.Close())
}
