package docs_test

import (
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/specs/docs"
)

// javaOptions are the options of Java's ClientConfig and DefaultMQPushConsumer (protocol.md 5.1, 5.2) with Java's default, in the
// words of our table where we have the option. Without a default the README has to give a reason why there is none here.
var javaOptions = map[string][]string{
	// 5.1
	"namesrvAddr":                         {""},
	"clientIP":                            nil,
	"instanceName":                        nil,
	"clientCallbackExecutorThreads":       nil,
	"namespace":                           {"feature"},
	"namespaceV2":                         {"feature"},
	"pollNameServerInterval":              {"30 s"},
	"heartbeatBrokerInterval":             {"30 s"},
	"persistConsumerOffsetInterval":       {"5 s"},
	"pullTimeDelayMillsWhenException":     nil,
	"mqClientApiTimeout":                  {"as in Java, by kind of request: 3 s"},
	"unitMode":                            nil,
	"vipChannelEnabled":                   {""},
	"useTLS":                              {""},
	"useHeartbeatV2":                      nil,
	"enableStreamRequestType":             nil,
	"enableHeartbeatChannelEventListener": nil,
	"decodeReadBody":                      nil,
	"decodeDecompressBody":                nil,
	"accessChannel":                       nil,
	"traceMsgBatchNum":                    {"10"},
	// 5.2
	"consumerGroup":                      {"feature"},
	"messageModel":                       {"feature"},
	"consumeFromWhere":                   {"LastOffset"},
	"consumeTimestamp":                   {"30 min before the start"},
	"allocateMessageQueueStrategy":       {"Averagely"},
	"offsetStore":                        {""},
	"messageListener":                    {"feature"},
	"subscription":                       {"feature"},
	"consumeThreadMin":                   {"20"},
	"consumeThreadMax":                   nil,
	"adjustThreadPoolNumsThreshold":      nil,
	"consumeConcurrentlyMaxSpan":         {"2000"},
	"pullThresholdForQueue":              {"1000"},
	"popThresholdForQueue":               nil,
	"pullThresholdForTopic":              {"no bound"},
	"pullThresholdSizeForQueue":          {"100 MiB"},
	"pullThresholdSizeForTopic":          {"no bound"},
	"pullInterval":                       {"none"},
	"consumeMessageBatchMaxSize":         {"feature"},
	"pullBatchSize":                      {"32"},
	"pullBatchSizeInBytes":               nil,
	"postSubscriptionWhenPull":           {"false"},
	"maxReconsumeTimes":                  {"16", "endless"},
	"suspendCurrentQueueTimeMillis":      {"1 s"},
	"consumeTimeout":                     {"15 min"},
	"popInvisibleTime":                   nil,
	"popBatchNums":                       nil,
	"awaitTerminationMillisWhenShutdown": {"30 s"}, // 0 in Java, which drops what runs
	"clientRebalance":                    nil,
}

var _ = Describe("The README's tables of options", func() {
	It("have every option of the Java push consumer: as a field with the same default, a feature, or with the reason why not", func() {
		page, err := os.ReadFile("../../README.md")
		Expect(err).NotTo(HaveOccurred())
		options := make(map[string][]string)
		for _, o := range docs.Options(string(page)) {
			if o.Java != "" {
				options[o.Java] = append(options[o.Java], o.Default)
			}
		}
		features := strings.Builder{}
		for _, f := range docs.Features(string(page), "features") {
			features.WriteString(f.Java + "\n")
		}
		refused := docs.Refused(string(page))
		for name, defaults := range javaOptions {
			switch {
			case defaults == nil:
				Expect(refused).To(ContainSubstring("`"+name), name+" is neither here nor refused")
				Expect(options).NotTo(HaveKey(name), name+" is here and refused")
			case defaults[0] == "feature":
				Expect(features.String()).To(ContainSubstring("`"+name), name+" is no feature")
			default:
				Expect(options).To(HaveKey(name))
				for _, d := range options[name] {
					Expect(defaults).To(ContainElement(d), name)
				}
			}
		}
	})
})
