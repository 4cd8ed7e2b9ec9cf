import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByConfig;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByMachineRoom;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * A push consumer that prints every message it is given, and stops gracefully when asked to.
 *
 * <p>--nameserver A --group G --topic T [--tags E] [--from first|last] [--mode concurrent|orderly] [--model clustering|broadcasting]
 * [--namespace NAME] [--strategy circle|hash|config|room|nearby: see strategy] [--instance NAME] [--threads N] [--batch N] [--fail N: refuse a message while its reconsume times are below N] [--sleep MS] [--body-limit N]
 */
public final class PushConsumer {
    public static void main(String[] args) throws Exception {
        Peer peer = new Peer(args);
        int fail = peer.number("fail", 0);
        int sleep = peer.number("sleep", 0);
        int bodyLimit = peer.number("body-limit", 256);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(peer.required("group"));
        consumer.setNamesrvAddr(peer.required("nameserver"));
        consumer.setInstanceName(peer.text("instance", "peer-" + ProcessHandle.current().pid() + "-" + ThreadLocalRandom.current().nextInt(1 << 20)));
        consumer.setConsumeFromWhere(peer.text("from", "first").equals("last")
            ? ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET : ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        int threads = peer.number("threads", 20);
        consumer.setConsumeThreadMax(Math.max(threads, consumer.getConsumeThreadMax()));
        consumer.setConsumeThreadMin(threads);
        consumer.setConsumeThreadMax(threads);
        consumer.setConsumeMessageBatchMaxSize(peer.number("batch", 1));
        // Without it shutdown persists the offsets while listeners still return: what was printed may come again.
        consumer.setAwaitTerminationMillisWhenShutdown(10_000);
        setModel(consumer, peer.text("model", "clustering"));
        if (!peer.text("namespace", "").isEmpty()) {
            consumer.setNamespace(peer.text("namespace", ""));
        }
        strategy(peer, consumer);
        consumer.subscribe(peer.required("topic"), peer.text("tags", "*"));
        if (peer.text("mode", "concurrent").equals("orderly")) {
            consumer.setMessageListener((MessageListenerOrderly) (messages, context) ->
                take(messages, fail, sleep, bodyLimit) ? ConsumeOrderlyStatus.SUCCESS : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT);
        } else {
            consumer.setMessageListener((MessageListenerConcurrently) (messages, context) ->
                take(messages, fail, sleep, bodyLimit) ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER);
        }
        consumer.start();
        Peer.event("ready");
        Peer.awaitStop();
        consumer.shutdown();
        Peer.event("stopped");
        System.exit(0); // client threads that are no daemons must not keep the program
    }

    private static boolean take(List<MessageExt> messages, int fail, int sleep, int bodyLimit) {
        boolean accept = true;
        for (MessageExt m : messages) {
            byte[] body = m.getBody() == null ? new byte[0] : m.getBody();
            accept &= m.getReconsumeTimes() >= fail;
            Peer.event("message", "msgId", m.getMsgId(), "topic", m.getTopic(), "queue", m.getQueueId(), "offset", m.getQueueOffset(),
                "reconsumeTimes", m.getReconsumeTimes(), "tags", m.getTags(), "keys", m.getKeys(), "size", body.length,
                "bornTimestamp", m.getBornTimestamp(), "storeTimestamp", m.getStoreTimestamp(),
                "body", new String(body, 0, Math.min(body.length, bodyLimit), StandardCharsets.UTF_8), "accepted", accept);
        }
        if (sleep > 0) {
            try {
                Thread.sleep(sleep);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        return accept;
    }

    /**
     * config takes --queues TOPIC:BROKER:ID,... and room --rooms NAME,...; for nearby, a broker's room stands before the '@' of its name, and
     * a client is in the east if its id contains "east-", else in the west.
     */
    private static void strategy(Peer peer, DefaultMQPushConsumer consumer) {
        switch (peer.text("strategy", "averagely")) {
            case "circle":
                consumer.setAllocateMessageQueueStrategy(new AllocateMessageQueueAveragelyByCircle());
                break;
            case "hash":
                consumer.setAllocateMessageQueueStrategy(new AllocateMessageQueueConsistentHash());
                break;
            case "config":
                AllocateMessageQueueByConfig config = new AllocateMessageQueueByConfig();
                List<MessageQueue> queues = new ArrayList<>();
                for (String q : peer.required("queues").split(",")) {
                    String[] parts = q.split(":");
                    queues.add(new MessageQueue(parts[0], parts[1], Integer.parseInt(parts[2])));
                }
                config.setMessageQueueList(queues);
                consumer.setAllocateMessageQueueStrategy(config);
                break;
            case "room":
                AllocateMessageQueueByMachineRoom room = new AllocateMessageQueueByMachineRoom();
                room.setConsumeridcs(new HashSet<>(List.of(peer.required("rooms").split(","))));
                consumer.setAllocateMessageQueueStrategy(room);
                break;
            case "nearby":
                consumer.setAllocateMessageQueueStrategy(new AllocateMachineRoomNearby(new AllocateMessageQueueAveragely(),
                    new AllocateMachineRoomNearby.MachineRoomResolver() {
                        @Override
                        public String brokerDeployIn(MessageQueue queue) {
                            return queue.getBrokerName().split("@")[0];
                        }

                        @Override
                        public String consumerDeployIn(String clientId) {
                            return clientId.contains("east-") ? "east" : "west";
                        }
                    }));
                break;
            default: // Java's own
        }
    }

    /** The enum moved to another package between 4.9 and 5.0, so it is found by the setter's parameter. */
    private static void setModel(DefaultMQPushConsumer consumer, String name) throws Exception {
        for (Method m : DefaultMQPushConsumer.class.getMethods()) {
            if (m.getName().equals("setMessageModel")) {
                for (Object constant : m.getParameterTypes()[0].getEnumConstants()) {
                    if (((Enum<?>) constant).name().equalsIgnoreCase(name)) {
                        m.invoke(consumer, constant);
                        return;
                    }
                }
            }
        }
        throw new IllegalArgumentException("no message model " + name);
    }

    private PushConsumer() {
    }
}
