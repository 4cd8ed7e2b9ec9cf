package sql92_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/messages/sql92"
)

// table is what Apache's own filter says; testdata/java/FilterTable.java tells how it is made.
type table struct {
	sets  []map[string]string
	cases [][2]string // expression, outcome
}

func readTable() *table {
	GinkgoHelper()
	text, err := os.ReadFile("testdata/table.txt")
	Expect(err).NotTo(HaveOccurred())
	t := &table{}
	decode := strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\t`, "\t")
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if fields[0] == "case" {
			t.cases = append(t.cases, [2]string{decode.Replace(fields[1]), fields[2]})
			continue
		}
		set := make(map[string]string)
		for _, f := range fields[1:] {
			name, value, _ := strings.Cut(f, "=")
			set[name] = value
		}
		t.sets = append(t.sets, set)
	}
	return t
}

func of(set map[string]string) sql92.Properties {
	return func(name string) (string, bool) { v, ok := set[name]; return v, ok }
}

var _ = Describe("An SQL92 expression", func() {
	It("means what Apache's filter makes of it", func() {
		t := readTable()
		Expect(len(t.cases)).To(BeNumerically(">", 800))
		for _, c := range t.cases {
			e, err := sql92.Compile(c[0])
			if c[1] == "!" {
				Expect(err).To(HaveOccurred(), "%q", c[0])
				continue
			}
			Expect(err).NotTo(HaveOccurred(), "%q", c[0])
			got := ""
			for _, set := range t.sets {
				truth, err := e.Evaluate(of(set))
				switch {
				case err != nil:
					got += "e"
				default:
					got += truth.String()[:1]
				}
				Expect(e.Match(of(set))).To(Equal(err == nil && truth == sql92.True))
			}
			Expect(got).To(Equal(c[1]), "%q", c[0])
		}
	})

	DescribeTable("that is wrong is refused with the position", Label("A38"),
		func(expression string, position int, reason string) {
			err := sql92.Check(expression)
			var wrong *sql92.SyntaxError
			Expect(errors.As(err, &wrong)).To(BeTrue(), "%v", err)
			Expect(wrong.Position).To(Equal(position), "%v", err)
			Expect(err).To(MatchError(And(ContainSubstring(reason), ContainSubstring(fmt.Sprintf("%q", expression)))))
		},
		Entry("empty", "", 1, "the end stands where a property"),
		Entry("cut off", "price >", 8, "the end stands where a property"),
		Entry("a word too many", "price > 5 AND AND x", 15, `"AND" stands where`),
		Entry("a foreign operator", "price != 5", 7, "'!' is not part of the language"),
		Entry("after letters of several bytes", "region = 'Grüße' && x", 18, "'&' is not part"),
		Entry("a string without end", "region = 'eu", 10, "does not end"),
		Entry("a string in an order", "price > '5'", 9, "for numbers"),
		Entry("NULL compared", "price = NULL", 9, "IS NULL"),
		Entry("an empty BETWEEN", "price BETWEEN 9 AND 1", 15, "the smaller one comes first"),
		Entry("numbers in IN", "price IN (5)", 11, "a string in ''"),
		Entry("no condition", "5", 1, "neither true nor false"),
		Entry("a number too large", "price > 99999999999999999999", 9, "64 bits"),
		Entry("a decimal zero", "price > 0.0", 9, "write 0"),
		Entry("an open parenthesis", "(price > 5", 11, "where ) must follow"),
		Entry("what brokers ignore", "price > 5 region = 'eu'", 11, "brokers ignore it"),
		Entry("LIKE, which brokers ignore, too", "region LIKE 'e%'", 8, "brokers ignore it"),
		Entry("a name with a dot", "a.b = 5", 2, "property names"),
		Entry("too deep", strings.Repeat("(", 300)+"a"+strings.Repeat(")", 300), 201, "within each other"),
	)

	DescribeTable("that is good is taken", func(expression string) { Expect(sql92.Check(expression)).To(Succeed()) },
		Entry(nil, "price > 5 AND region = 'eu'"),
		Entry(nil, "a BETWEEN 0 AND 9 OR b NOT IN ('x', 'y') AND NOT (c IS NULL)"),
		Entry(nil, "b CONTAINS 'x' -- why\n"),
		Entry(nil, strings.Repeat("(", 190)+"a = 1"+strings.Repeat(")", 190)),
	)
})

func FuzzExpression(f *testing.F) {
	for _, s := range []string{"price > 5 AND region = 'eu'", "a BETWEEN -1 AND 1e3 /* */", "((a", "a = '", "x IN ('1','2') -- \n", "NOT é"} {
		f.Add(s, "5", "eu")
	}
	f.Fuzz(func(t *testing.T, s, a, b string) {
		e, err := sql92.Compile(s)
		if (err == nil) != (e != nil) {
			t.Fatal("neither expression nor error", err)
		}
		var wrong *sql92.SyntaxError
		if strict := sql92.Check(s); strict != nil {
			if !errors.As(strict, &wrong) || wrong.Position < 1 || wrong.Position > utf8.RuneCountInString(s)+1 {
				t.Fatalf("%#v", strict)
			}
		} else if err != nil {
			t.Fatal("checked but not compiled", err)
		}
		if e == nil {
			return
		}
		properties := func(name string) (string, bool) {
			switch name {
			case "a", "price":
				return a, true
			case "b", "region":
				return b, true
			}
			return "", false
		}
		if truth, err := e.Evaluate(properties); e.Match(properties) != (err == nil && truth == sql92.True) {
			t.Fatal("match and evaluation differ")
		}
	})
}
