package allocation_test

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/allocation"
	"github.com/troupe-mq/troupe/messages"
)

var strategies = map[string]allocation.Strategy{
	"AVG":           allocation.Average{},
	"AVG_BY_CIRCLE": allocation.Circle{},
}

func lines(path string, each func(line string)) {
	GinkgoHelper()
	f, err := os.Open(path)
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(f.Close()).To(Succeed()) }()
	s := bufio.NewScanner(f)
	for s.Scan() {
		each(s.Text())
	}
	Expect(s.Err()).NotTo(HaveOccurred())
}

func number(text string) int {
	GinkgoHelper()
	n, err := strconv.Atoi(text)
	Expect(err).NotTo(HaveOccurred())
	return n
}

// picked turns "3 0 1" into the queues at these positions.
func picked(positions string, queues []messages.QueueKey) []messages.QueueKey {
	GinkgoHelper()
	var keys []messages.QueueKey
	for _, p := range strings.Fields(positions) {
		keys = append(keys, queues[number(p)])
	}
	return keys
}

// together checks that the shares of all members are the queues, each once.
func together(shares []messages.QueueKey, queues []messages.QueueKey) error {
	all := slices.SortedFunc(slices.Values(shares), messages.QueueKey.Compare)
	want := slices.SortedFunc(slices.Values(queues), messages.QueueKey.Compare)
	if !slices.Equal(all, want) {
		return fmt.Errorf("shares %v together are not the queues %v", all, want)
	}
	return nil
}

var _ = Describe("The division of queues among the members of a group", Label("A11"), func() {
	When("we divide 1 to 17 queues among 1 to 7 members", func() {
		It("gives every member exactly what Java gives it, complete and disjoint", func() {
			seen, union := 0, map[string][]messages.QueueKey{}
			lines("testdata/pairs.csv", func(line string) {
				f := strings.Split(line, ",")
				var queues []messages.QueueKey
				for i := range number(f[1]) {
					queues = append(queues, messages.QueueKey{Topic: "orders", Broker: "broker-a", ID: int32(i)})
				}
				var members []string
				for i := range number(f[2]) {
					members = append(members, fmt.Sprintf("10.0.0.%d@%d", i, i))
				}
				got, err := strategies[f[0]].Allocate(members[number(f[3])], members, queues)
				Expect(err).NotTo(HaveOccurred())
				if want := picked(f[4], queues); !slices.Equal(got, want) {
					Fail(fmt.Sprintf("%s: we gave %v, Java gives %v", line, got, want))
				}
				pair := strings.Join(f[:3], ",")
				union[pair] = append(union[pair], got...)
				if number(f[3]) == len(members)-1 {
					Expect(together(union[pair], queues)).To(Succeed(), pair)
				}
				seen++
			})
			Expect(union).To(HaveLen(2 * 17 * 7))
			Expect(seen).To(Equal(2 * 17 * 28))
		})
	})

	When("ids and broker names mix cases, digits, '#', '@' and characters beyond ASCII, in any order", func() {
		It("sorts and divides them exactly as Java does", func() {
			cases, members, queues := 0, []string(nil), []messages.QueueKey(nil)
			union := map[string][]messages.QueueKey{}
			check := func() {
				for name, shares := range union {
					Expect(together(shares, queues)).To(Succeed(), "%s of case %d", name, cases)
				}
				clear(union)
			}
			lines("testdata/random.csv", func(line string) {
				f := strings.Split(line, "|")
				if f[0] == "case" {
					check()
					cases++
					members, queues = strings.Split(f[2], " "), nil
					for _, q := range strings.Split(f[3], " ") {
						broker, id, _ := strings.Cut(q, ":")
						queues = append(queues, messages.QueueKey{Topic: f[1], Broker: broker, ID: int32(number(id))})
					}
					return
				}
				got, err := strategies[f[0]].Allocate(f[1], members, queues)
				Expect(err).NotTo(HaveOccurred())
				if want := picked(f[2], queues); !slices.Equal(got, want) {
					Fail(fmt.Sprintf("%s among %q of %v: we gave %v, Java gives %v", line, members, queues, got, want))
				}
				union[f[0]] = append(union[f[0]], got...)
			})
			check()
			Expect(cases).To(BeNumerically(">=", 2000))
		})
	})

	DescribeTable("We leave the caller's lists as they are and give a stranger nothing",
		func(s allocation.Strategy, name string, share ...messages.QueueKey) {
			members := []string{"c", "a", "b"}
			queues := []messages.QueueKey{{Topic: "t", Broker: "b", ID: 1}, {Topic: "t", Broker: "a", ID: 7}, {Topic: "t", Broker: "b"}}
			Expect(s.Name()).To(Equal(name))
			Expect(s.Allocate("stranger", members, queues)).To(BeNil())
			Expect(s.Allocate("a", nil, queues)).To(BeNil())
			Expect(s.Allocate("a", members, nil)).To(BeEmpty())
			Expect(s.Allocate("a", members, queues)).To(Equal(share))
			Expect(members).To(Equal([]string{"c", "a", "b"}))
			Expect(queues[0].ID).To(Equal(int32(1)))
		},
		Entry("averagely", allocation.Average{}, "AVG", messages.QueueKey{Topic: "t", Broker: "a", ID: 7}),
		Entry("by circle", allocation.Circle{}, "AVG_BY_CIRCLE", messages.QueueKey{Topic: "t", Broker: "a", ID: 7}),
	)

	It("keeps a member's share safe from appends to it", func() {
		members := []string{"a", "b"}
		queues := []messages.QueueKey{{Topic: "t", Broker: "a"}, {Topic: "t", Broker: "a", ID: 1}}
		mine := allocation.Averagely("a", members, queues)
		_ = append(mine, messages.QueueKey{Topic: "other"})
		Expect(allocation.Averagely("b", members, queues)).To(Equal(queues[1:]))
	})
})
