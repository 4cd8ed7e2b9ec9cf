package apachebroker

import (
	"crypto/tls"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Options says which cluster to start. The zero value is a small 5.3.3 cluster with one broker, made for specs.
type Options struct {
	Version Version           // "": V5_3_3
	Heap    string            // -Xmx of a broker; "": 96m
	Direct  string            // -XX:MaxDirectMemorySize of a broker; "": 128m
	JVM     []string          // further options of a broker's virtual machine; nil: SmallJVM
	Config  map[string]string // lines of broker.conf, applied last
	Dir     string            // store, configuration and logs; "": a temporary directory that Close removes

	Files       map[string]string // files in the installation's directory by path, e.g. conf/plain_acl.yml
	Properties  map[string]string // system properties of the name server and the brokers, e.g. tls.server.mode
	Credentials Credentials       // sign administrative requests; zero: unsigned
	TLS         *tls.Config       // of administrative requests; nil: plain
}

// Credentials are an account that may do everything.
type Credentials struct{ AccessKey, SecretKey string }

// SmallJVM are the options that make a broker start fast and stay small. They also keep it slow: ForBenchmarks leaves them out.
func SmallJVM() []string {
	return []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss256k"}
}

// ForBenchmarks are options for a broker under load: the full compiler, a heap of 1 GiB and Apache's own file sizes; all other settings are
// Apache's defaults, except the timer wheel, whose thread burns a third of a core while idle.
func ForBenchmarks(v Version) Options {
	return Options{
		Version: v, Heap: "1g", Direct: "1g", JVM: []string{"-XX:+UseG1GC"},
		Config: map[string]string{
			"mappedFileSizeCommitLog":    "1073741824",
			"mappedFileSizeConsumeQueue": "6000000",
			"maxHashSlotNum":             "5000000",
			"maxIndexNum":                "20000000",
		},
	}
}

func (o Options) withDefaults() Options {
	if o.Version == "" {
		o.Version = V5_3_3
	}
	if o.Heap == "" {
		o.Heap = "96m"
	}
	if o.Direct == "" {
		o.Direct = "128m"
	}
	if o.JVM == nil {
		o.JVM = SmallJVM()
	}
	return o
}

// Java 17 hides these packages, and 4.9.7 cannot unmap its files without them: a crash recovery then fails.
var openPackages = []string{
	"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
	"--add-opens=java.base/java.nio=ALL-UNNAMED",
	"--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
}

// properties are the system properties as arguments.
func (o Options) properties() []string {
	var args []string
	for _, key := range slices.Sorted(maps.Keys(o.Properties)) {
		args = append(args, "-D"+key+"="+o.Properties[key])
	}
	return args
}

// conf renders a properties file as the Java programs read it: sorted, with slashes in paths, as a backslash would be an escape.
func conf(lines map[string]string) []byte {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&text, "%s=%s\n", key, strings.ReplaceAll(lines[key], `\`, "/"))
	}
	return []byte(text.String())
}
