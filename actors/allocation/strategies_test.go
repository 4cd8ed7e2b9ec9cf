package allocation_test

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf16"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/allocation"
	"github.com/troupe-mq/troupe/messages"
)

// before is a resolver of rooms: what stands before the first mark, "" if there is none.
func before(mark string) func(string) string {
	return func(name string) string {
		room, _, found := strings.Cut(name, mark)
		if !found {
			return ""
		}
		return room
	}
}

// sum is the hash of its own that the tables use.
func sum(text string) int64 {
	h := int64(-50000)
	for i, u := range utf16.Encode([]rune(text)) {
		h += int64(u) * int64(i+1)
	}
	return h
}

func queuesOf(topic, text string) (out []messages.QueueKey) {
	GinkgoHelper()
	for _, q := range strings.Fields(text) {
		broker, id, _ := strings.Cut(q, ":")
		out = append(out, messages.QueueKey{Topic: topic, Broker: broker, ID: int32(number(id))})
	}
	return out
}

func strategyOf(name, configuration string) allocation.Strategy {
	GinkgoHelper()
	switch name {
	case "CONFIG":
		return allocation.Configured{Queues: queuesOf("orders", configuration)}
	case "MACHINE_ROOM":
		return allocation.MachineRoom{Rooms: strings.Fields(configuration)}
	case "MACHINE_ROOM_NEARBY-AVG", "MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE":
		_, inner, _ := strings.Cut(name, "-")
		return allocation.Nearby{Inner: strategies[inner], RoomOfBroker: before("@"), RoomOfMember: before("#")}
	case "CONSISTENT_HASH":
		nodes, own, _ := strings.Cut(configuration, " ")
		s := allocation.ConsistentHash{VirtualNodes: number(nodes)}
		if own != "" {
			s.Hash = sum
		}
		if s.VirtualNodes == allocation.DefaultVirtualNodes {
			s.VirtualNodes = 0
		}
		return s
	}
	Fail("unknown strategy " + name)
	return nil
}

// inJava reads the answer of the Java class; ok is false where it throws. Queues that the topic does not have are left out.
func inJava(answer string, queues []messages.QueueKey) (share []messages.QueueKey, ok bool) {
	GinkgoHelper()
	if answer == "!" {
		return nil, false
	}
	for _, p := range strings.Fields(answer) {
		if p != "-1" {
			share = append(share, queues[number(p)])
		}
	}
	return share, true
}

var _ = Describe("The division by configuration, machine rooms and consistent hash", Label("A11"), func() {
	It("gives every member exactly what Java gives it, in more than 2,000 cases each", func() {
		f, err := os.Open("testdata/strategies.csv.gz")
		Expect(err).NotTo(HaveOccurred())
		defer func() { Expect(f.Close()).To(Succeed()) }()
		z, err := gzip.NewReader(f)
		Expect(err).NotTo(HaveOccurred())
		seen, refused := map[string]int{}, 0
		var members []string
		var queues, shuffled []messages.QueueKey
		var s allocation.Strategy
		lines := bufio.NewScanner(z)
		for lines.Scan() {
			f := strings.Split(lines.Text(), "|")
			switch {
			case f[0] == "case":
				members, queues = strings.Fields(f[2]), queuesOf(f[1], f[3])
				shuffled = slices.Clone(queues)
				slices.Reverse(shuffled)
			case f[0][0] == '=':
				s = strategyOf(f[0][1:], f[1])
				Expect(s.Name()).To(Equal(f[0][1:]))
				seen[s.Name()]++
			default:
				me := "east#stranger@0"
				if f[0] != "-1" {
					me = members[number(f[0])]
				} else if s.Name() == "CONFIG" {
					continue // Java gives its list also to a stranger; who is not a member is not asked
				}
				want, ok := inJava(f[1], queues)
				got, err := s.Allocate(me, members, shuffled)
				if !ok {
					refused++
				}
				if ok != (err == nil) || !slices.Equal(got, want) {
					Fail(fmt.Sprintf("%s %+v for %q among %q of %v: we gave %v, %v, Java gives %v", s.Name(), s, me, members, queues, got, err, want))
				}
			}
		}
		Expect(lines.Err()).NotTo(HaveOccurred())
		nearby := seen["MACHINE_ROOM_NEARBY-AVG"] + seen["MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE"]
		for _, n := range []int{seen["CONFIG"], seen["MACHINE_ROOM"], seen["CONSISTENT_HASH"], nearby} {
			Expect(n).To(BeNumerically(">=", 2000))
		}
		Expect(refused).To(BeNumerically(">", 100))
	})

	It("divides a retry topic averagely that the configured list does not mention", func() {
		retries := []messages.QueueKey{{Topic: "%RETRY%g", Broker: "b"}}
		s := allocation.Configured{Queues: []messages.QueueKey{{Topic: "orders", Broker: "b", ID: 3}}}
		Expect(s.Allocate("x", []string{"x", "y"}, retries)).To(Equal(retries))
		Expect(s.Allocate("y", []string{"x", "y"}, retries)).To(BeEmpty())
		Expect(s.Allocate("x", []string{"x"}, []messages.QueueKey{{Topic: "other", Broker: "b"}})).To(BeEmpty())
		s.Queues = append(s.Queues, retries...)
		Expect(s.Allocate("y", []string{"x", "y"}, retries)).To(Equal(retries))
	})

	It("gives a custom function both lists in the order that all members see, and hands its error on", func() {
		queues := []messages.QueueKey{{Topic: "t", Broker: "b", ID: 1}, {Topic: "t", Broker: "a", ID: 7}}
		s := allocation.Custom{As: "LAST", Divide: func(me string, members []string, queues []*messages.Queue) ([]*messages.Queue, error) {
			if me == "stranger" {
				return nil, errors.New("who is it")
			}
			Expect(members).To(Equal([]string{"a", "b"}))
			members[0] = "spoilt"
			return queues[1:], nil
		}}
		members := []string{"b", "a"}
		Expect(s.Allocate("a", members, queues)).To(Equal(queues[:1]))
		Expect(members).To(Equal([]string{"b", "a"}))
		Expect(s.Allocate("stranger", members, queues)).Error().To(MatchError("who is it"))
	})
})
