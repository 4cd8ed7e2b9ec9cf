package wire_test

import (
	"encoding/json"
	"maps"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// adminBody is the body of an answer of a broker with nothing but the group Billing, made with retryMaxTimes 3.
func adminBody(name, version string) []byte {
	GinkgoHelper()
	body, err := os.ReadFile("testdata/admin/" + name + "-" + version + ".txt")
	Expect(err).NotTo(HaveOccurred())
	return body
}

var _ = Describe("What brokers tell administrators", func() {
	for version, groups := range map[string]int{"4.9.7": 8, "5.3.3": 9, "5.5.0": 9} {
		It("of all groups is read, and written with the same content: "+version, func() {
			body := adminBody("groups", version)
			table, err := wire.DecodeSubscriptionGroupTable(body)
			Expect(err).NotTo(HaveOccurred())
			Expect(table.Groups).To(HaveLen(groups))
			Expect(table.Groups).To(HaveKey("TOOLS_CONSUMER"))
			billing := wire.NewSubscriptionGroup("Billing")
			billing.RetryMaxTimes = 3
			if version == "4.9.7" {
				billing.ConsumeTimeoutMins = 0 // which it does not have
			}
			Expect(table.Groups["Billing"]).To(Equal(billing))
			Expect(table.Version.Counter).To(BeEquivalentTo(1))
			var ours map[string]any
			Expect(json.Unmarshal(table.Encode(), &ours)).To(Succeed())
			theirs := prune(standard(body)).(map[string]any)
			prune(ours)
			for _, tree := range []map[string]any{ours, theirs} {
				delete(tree, "forbiddenTable") // 4.x has none
				for _, g := range tree["subscriptionGroupTable"].(map[string]any) {
					for _, later := range []string{"consumeMessageOrderly", "consumeTimeoutMinute", "groupSysFlag"} {
						if version == "4.9.7" {
							delete(g.(map[string]any), later)
						}
					}
				}
			}
			Expect(ours).To(Equal(theirs))
		})

		It("of their configuration is read, and written again: "+version, func() {
			properties := wire.DecodeProperties(adminBody("config", version))
			Expect(len(properties)).To(BeNumerically(">", 150))
			Expect(properties).To(HaveKeyWithValue("brokerName", "broker-a"))
			Expect(properties).To(HaveKeyWithValue("autoCreateSubscriptionGroup", "true"))
			if version == "4.9.7" {
				Expect(properties).NotTo(HaveKey("useServerSideResetOffset"))
			} else {
				Expect(properties).To(HaveKeyWithValue("useServerSideResetOffset", "true"))
			}
			Expect(wire.DecodeProperties(wire.EncodeProperties(properties))).To(Equal(properties))
		})
	}

	It("is asked in the words of every version", func() {
		fields := func(h header) map[string]string {
			var e wire.Ext
			h.AppendTo(&e)
			return maps.Collect(e.All())
		}
		// DeleteSubscriptionGroupRequestHeader: removeOffset in 4.9.7, cleanOffset in 5.x.
		group := &wire.DeleteGroupHeader{Group: "g", CleanOffset: true}
		Expect(fields(group)).To(Equal(map[string]string{"groupName": "g", "cleanOffset": "true", "removeOffset": "true"}))
		for _, name := range []string{"removeOffset", "cleanOffset"} {
			var e wire.Ext
			e.Set("groupName", "g")
			e.Set(name, "true")
			var h wire.DeleteGroupHeader
			Expect(h.ReadFrom(&e)).To(Succeed())
			Expect(&h).To(Equal(group))
		}
		Expect(new(wire.DeleteGroupHeader).ReadFrom(new(wire.Ext))).To(MatchError(ContainSubstring("groupName")))
	})
})
