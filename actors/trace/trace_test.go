package trace_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/trace"
)

// javaCase is a line of testdata/trace.txt: what Java's hook and encoder make of a handler call.
type javaCase struct {
	group               string
	success             bool
	code                trace.Code
	subjects            []trace.Subject
	region              string
	before, after, keys string
}

func unhex(s string) string {
	GinkgoHelper()
	if s == "-" {
		return ""
	}
	b, err := hex.DecodeString(s)
	Expect(err).NotTo(HaveOccurred())
	return string(b)
}

// javaCases gives those that Java sends: messages that want no trace are left out, and calls without any or without region.
func javaCases() (out []javaCase) {
	GinkgoHelper()
	text, err := os.ReadFile("testdata/trace.txt")
	Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), "|")
		Expect(f).To(HaveLen(8))
		code, err := strconv.Atoi(f[2])
		Expect(err).NotTo(HaveOccurred())
		c := javaCase{
			group: unhex(f[0]), success: f[1] == "true", code: trace.Code(code), region: unhex(f[4]),
			before: unhex(f[5]), after: unhex(f[6]), keys: unhex(f[7]),
		}
		for _, m := range strings.Split(f[3], ",") {
			p := strings.Split(m, ";")
			if unhex(p[3]) == "false" {
				continue
			}
			retries, err := strconv.Atoi(p[1])
			Expect(err).NotTo(HaveOccurred())
			c.subjects = append(c.subjects, trace.Subject{ID: unhex(p[0]), Retries: int32(retries), Keys: unhex(p[2])})
		}
		if c.region != "" {
			out = append(out, c)
		} else if len(c.subjects) == 0 {
			Expect(c.before).To(BeEmpty())
		}
	}
	return out
}

var _ = Describe("The text of a trace", func() {
	It("is Java's, for every outcome and any keys", func() {
		cases := javaCases()
		Expect(len(cases)).To(BeNumerically(">", 60))
		for _, c := range cases {
			call := trace.Call{Region: c.region, Group: c.group, RequestID: "REQ", At: 1111}
			before := call.Before(c.subjects)
			after := call.After(c.subjects, trace.Outcome{At: 2222, CostMillis: 3333, Success: c.success, Code: c.code})
			Expect(before).To(HaveLen(1))
			Expect(after).To(HaveLen(1))
			Expect(string(before[0].Text)).To(Equal(strings.ReplaceAll(c.before, "TIME", "1111")))
			Expect(string(after[0].Text)).To(Equal(strings.NewReplacer("TIME", "2222", "COST", "3333").Replace(c.after)))
			for _, e := range []trace.Entry{before[0], after[0]} {
				keys := slices.Clone(e.Keys)
				slices.Sort(keys)
				Expect(slices.Compact(keys)).To(Equal(strings.Fields(c.keys)))
			}
		}
	})

	It("of many messages is cut between records, so that each part fits in a trace message", func() {
		var subjects []trace.Subject
		for i := range 1024 {
			subjects = append(subjects, trace.Subject{ID: fmt.Sprintf("%032d", i), Keys: strings.Repeat("k", i%300)})
		}
		subjects[500].Keys = strings.Repeat("k", 30<<10)
		call := trace.Call{Region: "r", Group: "billing", RequestID: "REQ", At: 1111}
		var whole string
		parts := call.Before(subjects)
		Expect(len(parts)).To(BeNumerically(">", 2))
		for _, e := range parts {
			Expect(len(e.Text)).To(BeNumerically("<=", 128_000))
			Expect(len(strings.Join(e.Keys, " "))).To(BeNumerically("<=", trace.MaxKeys))
			Expect(string(e.Text)).To(HavePrefix("SubBefore\x01"))
			Expect(string(e.Text)).To(HaveSuffix("\x02"))
			whole += string(e.Text)
		}
		Expect(strings.Count(whole, "\x02")).To(Equal(1024))
		for _, s := range subjects {
			Expect(whole).To(ContainSubstring("\x01" + s.ID + "\x010\x01"))
		}
	})

	It("of no message is nothing", Label("A48"), func() {
		call := trace.Call{Region: "r", Group: "billing", RequestID: "REQ"}
		Expect(call.Before(nil)).To(BeEmpty())
		Expect(call.After(nil, trace.Outcome{})).To(BeEmpty())
	})
})

var _ = Describe("The queue of traces", func() {
	entry := func(text, key string) trace.Entry {
		call := trace.Call{Region: text, RequestID: "REQ"}
		return call.Before([]trace.Subject{{ID: key, Keys: "shared"}})[0]
	}

	It("holds 2,048 and counts what it drops", Label("A48"), func() {
		var q trace.Queue
		for i := range 2048 {
			Expect(q.Put(entry("r", "id"))).To(Equal(i + 1))
		}
		Expect(q.Full()).To(BeTrue())
		Expect(q.Put(entry("r", "id"))).To(BeZero())
		q.Drop(2)
		Expect(q.TakeDropped()).To(Equal(int64(3)))
		Expect(q.TakeDropped()).To(BeZero())
		_, _, taken := q.Take(10)
		Expect(taken).To(Equal(10))
		Expect(q.Full()).To(BeFalse())
		Expect(q.Put(entry("r", "id"))).To(Equal(2039))
	})

	It("holds no more than its bytes", Label("A48"), func() {
		var q trace.Queue
		held := 0
		for q.Put(entry(strings.Repeat("r", 100_000), "id")) > 0 {
			held++
		}
		Expect(held).To(And(BeNumerically(">", 30), BeNumerically("<=", trace.MaxBytes/100_000)))
		for q.Len() > 0 {
			q.Take(20)
		}
		Expect(q.Put(entry(strings.Repeat("r", 100_000), "id"))).To(Equal(1))
	})

	It("gives whole entries, oldest first, as many as fit in one message, and each key once", func() {
		var q trace.Queue
		for _, id := range []string{"a", "b", "c"} {
			q.Put(entry(strings.Repeat(id, 60_000), id))
		}
		body, keys, taken := q.Take(10)
		Expect(taken).To(Equal(2))
		Expect(len(body)).To(BeNumerically("<=", 128_000))
		Expect(string(body)).To(And(ContainSubstring("aaa"), ContainSubstring("bbb")))
		Expect(keys).To(Equal([]string{"a", "shared", "b"}))
		body, keys, taken = q.Take(10)
		Expect(taken).To(Equal(1))
		Expect(string(body)).To(ContainSubstring("ccc"))
		Expect(keys).To(Equal([]string{"c", "shared"}))
		_, _, taken = q.Take(10)
		Expect(taken).To(BeZero())
	})
})
