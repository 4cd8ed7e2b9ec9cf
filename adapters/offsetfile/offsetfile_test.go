package offsetfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/offsetfile"
	troupe "github.com/troupe-mq/troupe/runtime"
)

func TestOffsetfile(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "offsetfile")
}

// What Apache's client 5.3.3 wrote (golden/observed.md 9).
const golden = "{\n\t\"offsetTable\":{{\n\t\t\t\"brokerName\":\"broker-a\",\n\t\t\t\"queueId\":0,\n\t\t\t\"topic\":\"ObsBc\"\n\t\t}:2,{\n" +
	"\t\t\t\"brokerName\":\"broker-a\",\n\t\t\t\"queueId\":1,\n\t\t\t\"topic\":\"ObsBc\"\n\t\t}:2\n\t}\n}"

func key(id int32) troupe.QueueKey {
	return troupe.QueueKey{Topic: "ObsBc", Broker: "broker-a", ID: id}
}

func table(pairs ...int64) map[troupe.QueueKey]int64 {
	out := make(map[troupe.QueueKey]int64)
	for i, offset := range pairs {
		out[key(int32(i))] = offset
	}
	return out
}

var _ = Describe("Offsets in a file", func() {
	var dir, file, backup string
	BeforeEach(func() {
		dir = GinkgoT().TempDir()
		file = filepath.Join(dir, "g", "offsets.json")
		backup = file + ".bak"
		Expect(os.Mkdir(filepath.Join(dir, "g"), 0o755)).To(Succeed())
	})

	open := func() troupe.OffsetTable {
		GinkgoHelper()
		t, err := offsetfile.At(dir).Open(context.Background(), "g")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { _ = t.Close() })
		return t
	}
	write := func(path, text string) {
		GinkgoHelper()
		Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
	}
	text := func(path string) string {
		GinkgoHelper()
		b, err := os.ReadFile(path)
		Expect(err).NotTo(HaveOccurred())
		return string(b)
	}

	It("are written byte for byte as the Java client does, and the version before becomes the backup", Label("A51"), func(ctx SpecContext) {
		t := open()
		saved, warning := t.Saved()
		Expect(saved).To(BeEmpty())
		Expect(warning).To(BeEmpty())
		Expect(t.Save(ctx, table(2, 2))).To(Succeed())
		Expect(text(file)).To(Equal(golden))
		Expect(backup).NotTo(BeAnExistingFile())
		Expect(t.Save(ctx, table(5, 7))).To(Succeed())
		Expect(text(backup)).To(Equal(golden))
		Expect(t.Close()).To(Succeed())
		saved, _ = open().Saved()
		Expect(saved).To(Equal(table(5, 7)))
		Expect(file + ".tmp").NotTo(BeAnExistingFile())
	})

	DescribeTable("are read from any form that a client writes",
		func(content string, expected map[troupe.QueueKey]int64) {
			write(file, content)
			saved, warning := open().Saved()
			Expect(saved).To(Equal(expected))
			Expect(warning).To(BeEmpty())
		},
		Entry("Java's", golden, table(2, 2)),
		Entry("on one line", `{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"ObsBc"}:2}}`, table(2)),
		Entry("other order, unknown fields, Windows lines",
			"\xef\xbb\xbf{\r\n \"dataVersion\" : {\"counter\":[1,-2.5e3,null]},\r\n\"offsetTable\":{ {\"topic\":\"ObsBc\",\"x\":true,\"queueId\":0,\"brokerName\":\"broker-a\"} : 9 }\r\n}\r\n", table(9)),
		Entry("keys as texts", `{"offsetTable":{"{\"brokerName\":\"broker-a\",\"queueId\":0,\"topic\":\"ObsBc\"}":3}}`, table(3)),
		Entry("numbers as texts", `{"offsetTable":{{"brokerName":"broker-a","queueId":"0","topic":"ObsBc"}:"4"}}`, table(4)),
		Entry("none at all", `{"offsetTable":{}}`, table()),
		Entry("an offset that stands for none", `{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"ObsBc"}:-1}}`, table()),
	)

	damages := []TableEntry{
		Entry("empty", ""),
		Entry("zeros, as after a power cut", strings.Repeat("\x00", 64)),
		Entry("cut off", golden[:100]),
		Entry("cut off by its last byte", golden[:len(golden)-1]),
		Entry("followed by something", golden+"}"),
		Entry("no number", strings.Replace(golden, ":2,", ":x,", 1)),
		Entry("a number that is too large", strings.Replace(golden, ":2,", ":99999999999999999999,", 1)),
		Entry("a queue without a topic", strings.Replace(golden, "\"topic\"", "\"tropic\"", 1)),
		Entry("another document", `["offsetTable"]`),
		Entry("nested without end", `{"x":`+strings.Repeat("[", 100000)),
	}

	DescribeTable("fall back to the backup when damaged, with one warning, and do not lose it", func(ctx SpecContext, content string) {
		write(file, content)
		write(backup, golden)
		t := open()
		saved, warning := t.Saved()
		Expect(saved).To(Equal(table(2, 2)))
		Expect(warning).To(And(ContainSubstring(file), ContainSubstring("backup")))
		Expect(t.Save(ctx, table(3, 3))).To(Succeed())
		Expect(text(backup)).To(Equal(golden), "the damaged version is no backup")
		Expect(t.Save(ctx, table(4, 4))).To(Succeed())
		Expect(text(backup)).To(Equal(strings.ReplaceAll(golden, "}:2", "}:3")))
	}, damages)

	DescribeTable("are an error that names both files and the remedy when both are damaged", func(content string) {
		write(file, content)
		write(backup, "{")
		_, err := offsetfile.At(dir).Open(context.Background(), "g")
		damaged, ok := errors.AsType[*offsetfile.DamagedError](err)
		Expect(ok).To(BeTrue())
		Expect(damaged.Error()).To(And(ContainSubstring(file+":"), ContainSubstring(backup+":"), ContainSubstring("remove both")))
		Expect(text(file)).To(Equal(content))
		Expect(os.Remove(file)).To(Succeed())
		Expect(os.Remove(backup)).To(Succeed())
		open()
	}, damages)

	It("are read from the backup if a crash came between the two", func() {
		write(backup, golden)
		saved, warning := open().Saved()
		Expect(saved).To(Equal(table(2, 2)))
		Expect(warning).NotTo(BeEmpty())
	})

	It("belong to one member at a time", func() {
		t := open()
		_, err := offsetfile.At(dir).Open(context.Background(), "g")
		locked, ok := errors.AsType[*offsetfile.LockedError](err)
		Expect(ok).To(BeTrue(), "%v", err)
		Expect(locked.Error()).To(ContainSubstring("directory of its own"))
		Expect(t.Close()).To(Succeed())
		open()
	})

	It("are refused at the start where nothing can be written", Label("A51"), func() {
		write(filepath.Join(dir, "plain"), "no directory")
		_, err := offsetfile.At(filepath.Join(dir, "plain")).Open(context.Background(), "g")
		Expect(err).To(MatchError(ContainSubstring("directory cannot be made")))
		Expect(os.Mkdir(file+".tmp", 0o755)).To(Succeed())
		_, err = offsetfile.At(dir).Open(context.Background(), "g")
		Expect(err).To(MatchError(ContainSubstring("not writable")))
		Expect(os.Remove(file + ".tmp")).To(Succeed())
		open() // the lock was given back
	})

	DescribeTable("are refused where no file system keeps them", Label("A51"), func(dir, reason string) {
		_, err := offsetfile.At(dir).Open(context.Background(), "g")
		fault, ok := errors.AsType[*troupe.ConfigError](err)
		Expect(ok).To(BeTrue(), "%v", err)
		Expect(fault.Field).To(Equal("offsetfile.At"))
		Expect(fault.Value).To(Equal(dir))
		Expect(fault.Reason).To(ContainSubstring(reason))
	},
		Entry("no name", "", "must not be empty"),
		Entry("a name that is too long", "/tmp/"+strings.Repeat("n", 256), "a name of 256 bytes"),
		Entry("a path that is too long", "/tmp"+strings.Repeat("/12345678", 460), "4095 are allowed"),
	)

	It("stand where the Java client keeps those of its id", func() {
		GinkgoT().Setenv("HOME", dir)
		Expect(offsetfile.Java("10.0.0.7@DEFAULT").Dir()).To(Equal(filepath.Join(dir, ".rocketmq_offsets", "10.0.0.7@DEFAULT")))
		_, err := offsetfile.Java("").Open(context.Background(), "g")
		Expect(err).To(MatchError(ContainSubstring("offsetfile.Java")))
	})
})

func FuzzRead(f *testing.F) {
	f.Add([]byte(golden))
	f.Add([]byte(`{"offsetTable":{"{\"brokerName\":\"b\",\"queueId\":0,\"topic\":\"t\"}":3},"x":[{},{"a":1}]}`))
	f.Add([]byte(`{{"a":[]}:{}}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "g"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "g", "offsets.json"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		read := func() (map[troupe.QueueKey]int64, bool) {
			table, err := offsetfile.At(dir).Open(context.Background(), "g")
			if err != nil {
				return nil, false
			}
			saved, _ := table.Saved()
			if err := errors.Join(table.Save(context.Background(), saved), table.Close()); err != nil {
				t.Fatal(err)
			}
			return saved, true
		}
		first, ok := read()
		if !ok {
			return
		}
		second, ok := read()
		if !ok || len(first) != len(second) {
			t.Fatalf("read %v, then %v", first, second)
		}
		for k, offset := range first {
			if second[k] != offset {
				t.Fatalf("%v: read %d, then %d", k, offset, second[k])
			}
		}
	})
}
