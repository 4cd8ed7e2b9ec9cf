package embedded_test

import (
	"maps"
	"os"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/wire"
)

var _ = Describe("A broker that an operator asks", func() {
	groups := func(p *peer) []string {
		GinkgoHelper()
		answer := p.ask(request(wire.GetAllSubscriptionGroupConfig, nil, ""))
		Expect(code(answer)).To(Equal(wire.Success))
		table, err := wire.DecodeSubscriptionGroupTable(answer.Body)
		Expect(err).NotTo(HaveOccurred())
		return slices.Sorted(maps.Keys(table.Groups))
	}

	It("has the groups that Apache's has from its start, and makes none for a tool that reads", func() {
		body, err := os.ReadFile("../wire/testdata/admin/groups-5.3.3.txt")
		Expect(err).NotTo(HaveOccurred())
		theirs, err := wire.DecodeSubscriptionGroupTable(body)
		Expect(err).NotTo(HaveOccurred())
		delete(theirs.Groups, "Billing") // which was made there
		want := slices.Sorted(maps.Keys(theirs.Groups))
		for _, cfg := range []embedded.Config{{}, {NoGroupCreation: true}} {
			b := startBroker(cfg)
			Expect(b.Publish(texts("Orders", 0, "x")...)).To(Succeed())
			p := connect(b, "tool")
			Expect(groups(p)).To(Equal(want))
			answer := p.ask(pull("TOOLS_CONSUMER", "Orders", 0, 0, "sysFlag", "4", "subscription", "*"))
			Expect(code(answer)).To(Equal(wire.Success))
			Expect(groups(p)).To(Equal(want))
			// Seen on 4.9.7, 5.3.3 and 5.5.0: a pull in another name makes a group of it.
			stranger := p.ask(pull("Stranger", "Orders", 0, 0, "sysFlag", "4", "subscription", "*"))
			if cfg.NoGroupCreation {
				Expect(code(stranger)).To(Equal(wire.SubscriptionGroupNotExist))
			} else {
				Expect(groups(p)).To(ContainElement("Stranger"))
			}
		}
	})

	It("deletes groups with their offsets, if so asked in the words of any version, and minds none that is unknown", func() {
		b := startBroker(embedded.Config{})
		p := connect(b, "tool")
		Expect(b.CreateTopic("Orders", 1)).To(Succeed())
		for field, kept := range map[string]bool{"cleanOffset": false, "removeOffset": false, "": true} {
			b.Commit("Billing", "Orders", 0, 7)
			ext := map[string]string{"groupName": "Billing"}
			if field != "" {
				ext[field] = "true"
			}
			Expect(code(p.ask(request(wire.DeleteSubscriptionGroup, ext, "")))).To(Equal(wire.Success))
			Expect(groups(p)).NotTo(ContainElement("Billing"))
			_, known := b.Committed("Billing", "Orders", 0)
			Expect(known).To(Equal(kept), field)
		}
		Expect(code(p.ask(request(wire.DeleteSubscriptionGroup, map[string]string{"groupName": "Nobody"}, "")))).To(Equal(wire.Success))
	})

	It("tells where a group stands, while it has members only in what they subscribe to", func() {
		b := startBroker(embedded.Config{})
		for _, topic := range []string{"Orders", "Fees"} {
			Expect(b.CreateTopic(topic, 1)).To(Succeed())
			b.Commit("Billing", topic, 0, 0)
		}
		topics := func(p *peer) (out []string) {
			GinkgoHelper()
			answer := p.ask(request(wire.GetConsumeStats, map[string]string{"consumerGroup": "Billing"}, ""))
			stats, err := wire.DecodeConsumeStats(answer.Body)
			Expect(err).NotTo(HaveOccurred())
			for q := range stats.Queues {
				out = append(out, q.Topic)
			}
			return out
		}
		p := connect(b, "tool")
		Expect(topics(p)).To(ConsistOf("Orders", "Fees"))
		member := newPeer(b.Addr(), "member", nil)
		member.join("Billing", sub{topic: "Orders"})
		Expect(topics(p)).To(ConsistOf("Orders"))
		member.close()
		Eventually(func() []string { return b.Members("Billing") }).Should(BeEmpty())
		Expect(topics(p)).To(ConsistOf("Orders", "Fees"))
	})

	It("tells how it is configured", func() {
		for told, cfg := range map[string]embedded.Config{"true": {}, "false": {ClientSideReset: true}} {
			answer := connect(startBroker(cfg), "tool").ask(request(wire.GetBrokerConfig, nil, ""))
			Expect(wire.DecodeProperties(answer.Body)).To(And(
				HaveKeyWithValue("useServerSideResetOffset", told), HaveKeyWithValue("brokerName", "broker-a"),
				HaveKeyWithValue("autoCreateSubscriptionGroup", "true"), HaveKeyWithValue("brokerPermission", "6")))
		}
	})
})
