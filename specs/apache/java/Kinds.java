import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Sends one message of each kind and prints what the broker said about each; the body of a message is the name of its kind.
 *
 * <p>--nameserver A --topic T
 */
public final class Kinds {
    public static void main(String[] args) throws Exception {
        Peer peer = new Peer(args);
        String topic = peer.required("topic");
        TransactionMQProducer producer = new TransactionMQProducer("PEER_KINDS");
        producer.setNamesrvAddr(peer.required("nameserver"));
        producer.setInstanceName("peer-" + ProcessHandle.current().pid() + "-" + ThreadLocalRandom.current().nextInt(1 << 20));
        producer.setSendMsgTimeout(10_000);
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message m, Object state) {
                return (LocalTransactionState) state;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt m) {
                return LocalTransactionState.UNKNOW;
            }
        });
        producer.start();
        try {
            sent(producer.send(dressed(topic)));
            Message delayed = message(topic, "delayed");
            delayed.setDelayTimeLevel(1);
            sent(producer.send(delayed));
            List<Message> batch = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                Message m = message(topic, "batch " + i);
                m.putUserProperty("place", "" + i);
                batch.add(m);
            }
            sent(producer.send(batch));
            sent(producer.sendMessageInTransaction(message(topic, "rolled back"), LocalTransactionState.ROLLBACK_MESSAGE));
            sent(producer.sendMessageInTransaction(message(topic, "committed"), LocalTransactionState.COMMIT_MESSAGE));
        } finally {
            producer.shutdown();
        }
        Peer.event("stopped");
        System.exit(0);
    }

    /** A message whose properties have everything that Java lets through: all but the two separators. */
    private static Message dressed(String topic) {
        Message m = message(topic, "dressed");
        m.putUserProperty("имя 名前", "ключ 日本 \uD83D\uDE00");
        MessageAccessor.putProperty(m, "empty", "");
        StringBuilder every = new StringBuilder();
        for (char c = 0; c < 0x180; c++) {
            if (c != 1 && c != 2) {
                every.append(c);
            }
        }
        m.putUserProperty("every", every.toString());
        StringBuilder large = new StringBuilder();
        while (large.length() < 30 * 1024) {
            large.append((char) ('a' + large.length() % 26));
        }
        m.putUserProperty("large", large.toString());
        return m;
    }

    private static Message message(String topic, String kind) {
        Message m = new Message(topic, kind.getBytes(StandardCharsets.UTF_8));
        m.setTags("kind");
        m.setKeys("key");
        return m;
    }

    private static void sent(SendResult r) {
        Peer.event("sent", "msgId", r.getMsgId(), "status", r.getSendStatus(), "topic", r.getMessageQueue().getTopic(),
            "queue", r.getMessageQueue().getQueueId(), "offset", r.getQueueOffset());
    }

    private Kinds() {
    }
}
