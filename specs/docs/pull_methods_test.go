package docs_test

import (
	"os"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/specs/docs"
)

// javaPullMethods are the public methods of DefaultLitePullConsumer, DefaultMQPullConsumer and MQPullConsumerScheduleService of 5.3.3, as
// javap lists them; those of the last one that the others have, too, once.
const javaPullMethods = `
start shutdown isRunning subscribe unsubscribe assign setSubExpressionForAssign poll seek pause resume fetchMessageQueues offsetForTimestamp
registerTopicMessageQueueChangeListener commitSync commit assignment committed updateNameServerAddress seekToBegin seekToEnd isAutoCommit
setAutoCommit isConnectBrokerByUser setConnectBrokerByUser getDefaultBrokerId setDefaultBrokerId getPullThreadNums setPullThreadNums
getAutoCommitIntervalMillis setAutoCommitIntervalMillis getPullBatchSize setPullBatchSize getPullThresholdForAll setPullThresholdForAll
getConsumeMaxSpan setConsumeMaxSpan getPullThresholdForQueue setPullThresholdForQueue getPullThresholdSizeForQueue
setPullThresholdSizeForQueue getAllocateMessageQueueStrategy setAllocateMessageQueueStrategy getBrokerSuspendMaxTimeMillis
getPollTimeoutMillis setPollTimeoutMillis getOffsetStore setOffsetStore isUnitMode setUnitMode getMessageModel setMessageModel
getConsumerGroup getMessageQueueListener setMessageQueueListener getConsumerPullTimeoutMillis setConsumerPullTimeoutMillis
getConsumerTimeoutMillisWhenSuspend setConsumerTimeoutMillisWhenSuspend getTopicMetadataCheckIntervalMillis
setTopicMetadataCheckIntervalMillis setConsumerGroup getConsumeFromWhere setConsumeFromWhere getConsumeTimestamp setConsumeTimestamp
getTraceDispatcher getCustomizedTraceTopic setCustomizedTraceTopic isEnableMsgTrace setEnableMsgTrace

createTopic searchOffset maxOffset minOffset earliestMsgStoreTime queryMessage setBrokerSuspendMaxTimeMillis getRegisterTopics
setRegisterTopics getRegisterSubscriptions addRegisterSubscriptions clearRegisterSubscriptions sendMessageBack fetchSubscribeMessageQueues
registerMessageQueueListener pull pullBlockIfNotFound pullBlockIfNotFoundWithMessageSelector updateConsumeOffset fetchConsumeOffset
fetchMessageQueuesInBalance viewMessage getDefaultMQPullConsumerImpl getMaxReconsumeTimes setMaxReconsumeTimes persist isEnableRebalance
setEnableRebalance

putTask registerPullTaskCallback getCallbackTable setCallbackTable getDefaultMQPullConsumer setDefaultMQPullConsumer`

var _ = Describe("The README's table of pull methods", func() {
	It("has each method of Java's classes once, with a spec that exists or the reason why there is none", func() {
		page, err := os.ReadFile("../../README.md")
		Expect(err).NotTo(HaveOccurred())
		sources, err := docs.SpecSources("../..")
		Expect(err).NotTo(HaveOccurred())
		var named []string
		for _, row := range docs.Features(string(page), "pull methods") {
			for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row.Java, -1) {
				named = append(named, name[1])
			}
			if strings.HasPrefix(row.Here, "–: ") {
				Expect(row.Spec).To(Equal("–"), row.Java)
			} else {
				Expect(strings.Contains(sources, "(\""+row.Spec)).To(BeTrue(), "%s: no spec %q", row.Java, row.Spec)
			}
		}
		Expect(named).To(ConsistOf(strings.Fields(javaPullMethods)))
	})
})
