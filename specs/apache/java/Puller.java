import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.MessageQueueListener;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * A pull consumer that does what a script says, and answers each step: what it was and what came of it.
 *
 * <p>--nameserver A --group G --topic T --kind lite|classic --script "step; step; …" [--autocommit true|false] [--from first|last]
 * [--register true: classic, registers the topic with a listener]
 *
 * <p>Steps of both: sleep MS, die (ends without a goodbye). Of a lite consumer: poll [N: that many messages], idle MS (polls for nothing),
 * commit, committed Q, seek Q OFFSET, begin Q, end Q, pause Q, resume Q, assign Q (instead of the subscription; first step), at Q MS.
 * Of a classic one: pull Q OFFSET N [TAGS], block Q OFFSET N, min Q, max Q, update Q OFFSET, fetch Q memory|store, persist Q, back LEVEL (the last message).
 */
public final class Puller {
    private final Peer peer;
    private final String topic;
    private DefaultLitePullConsumer lite;
    private DefaultMQPullConsumer classic;
    private MessageExt last;

    private Puller(Peer peer) {
        this.peer = peer;
        this.topic = peer.required("topic");
    }

    public static void main(String[] args) throws Exception {
        Puller p = new Puller(new Peer(args));
        p.start();
        Peer.event("ready");
        for (String step : p.peer.required("script").split(";")) {
            String[] words = step.trim().split(" ");
            String answer;
            try {
                answer = p.step(words);
            } catch (Exception e) {
                answer = "failed: " + e.getMessage();
            }
            Peer.event("answer", "body", step.trim() + " -> " + answer);
        }
        Peer.awaitStop();
        if (p.lite != null) {
            p.lite.shutdown();
        } else {
            p.classic.shutdown();
        }
        Peer.event("stopped");
        System.exit(0);
    }

    private void start() throws Exception {
        String instance = "peer-" + ProcessHandle.current().pid() + "-" + ThreadLocalRandom.current().nextInt(1 << 20);
        if (peer.text("kind", "lite").equals("lite")) {
            lite = new DefaultLitePullConsumer(peer.required("group"));
            lite.setNamesrvAddr(peer.required("nameserver"));
            lite.setInstanceName(instance);
            lite.setAutoCommitIntervalMillis(1000);
            lite.setPersistConsumerOffsetInterval(500);
            lite.setAutoCommit(Boolean.parseBoolean(peer.text("autocommit", "true")));
            lite.setConsumeFromWhere(peer.text("from", "first").equals("last")
                ? ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET : ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
            if (!peer.required("script").startsWith("assign")) {
                lite.subscribe(topic, "*");
            }
            lite.start();
            return;
        }
        classic = new DefaultMQPullConsumer(peer.required("group"));
        classic.setNamesrvAddr(peer.required("nameserver"));
        classic.setInstanceName(instance);
        classic.setPersistConsumerOffsetInterval(500);
        if (Boolean.parseBoolean(peer.text("register", "false"))) {
            classic.registerMessageQueueListener(topic, new MessageQueueListener() {
                @Override
                public void messageQueueChanged(String name, Set<MessageQueue> all, Set<MessageQueue> divided) {
                    Peer.event("queues", "body", name + " " + all.size() + " " + divided.size());
                }
            });
        }
        classic.start();
    }

    private MessageQueue queue(String id) throws Exception {
        Set<MessageQueue> all = lite != null ? new HashSet<>(lite.fetchMessageQueues(topic)) : classic.fetchSubscribeMessageQueues(topic);
        for (MessageQueue q : all) {
            if (q.getQueueId() == Integer.parseInt(id)) {
                return q;
            }
        }
        throw new IllegalArgumentException("no queue " + id + " in " + new TreeSet<>(all));
    }

    private String step(String[] w) throws Exception {
        switch (w[0]) {
            case "sleep":
                Thread.sleep(Long.parseLong(w[1]));
                return "slept";
            case "die":
                Runtime.getRuntime().halt(1);
                return "";
            case "assign":
                lite.assign(Collections.singletonList(queue(w[1])));
                return "assigned";
            case "poll":
                return poll(Integer.parseInt(w.length > 1 ? w[1] : "1"), 10_000);
            case "idle":
                return poll(Integer.MAX_VALUE, Long.parseLong(w[1]));
            case "commit":
                lite.commitSync();
                return "committed";
            case "committed":
                return "" + lite.committed(queue(w[1]));
            case "seek":
                lite.seek(queue(w[1]), Long.parseLong(w[2]));
                return "sought";
            case "begin":
                lite.seekToBegin(queue(w[1]));
                return "sought";
            case "end":
                lite.seekToEnd(queue(w[1]));
                return "sought";
            case "pause":
                lite.pause(Collections.singletonList(queue(w[1])));
                return "paused";
            case "resume":
                lite.resume(Collections.singletonList(queue(w[1])));
                return "resumed";
            case "pull":
                return show(classic.pull(queue(w[1]), w.length > 4 ? w[4] : "*", Long.parseLong(w[2]), Integer.parseInt(w[3])));
            case "block":
                return show(classic.pullBlockIfNotFound(queue(w[1]), "*", Long.parseLong(w[2]), Integer.parseInt(w[3])));
            case "min":
                return "" + classic.minOffset(queue(w[1]));
            case "max":
                return "" + classic.maxOffset(queue(w[1]));
            case "update":
                classic.updateConsumeOffset(queue(w[1]), Long.parseLong(w[2]));
                return "updated";
            case "fetch":
                return "" + classic.fetchConsumeOffset(queue(w[1]), w[2].equals("store"));
            case "persist":
                classic.getOffsetStore().persist(queue(w[1]));
                return "persisted";
            case "back":
                classic.sendMessageBack(last, Integer.parseInt(w[1]));
                return "sent";
            default:
                throw new IllegalArgumentException("unknown step " + w[0]);
        }
    }

    /** Polls until there are so many messages, or the time is over, and says of each queue from where to where. */
    private String poll(int want, long millis) {
        List<MessageExt> got = new ArrayList<>();
        long end = System.currentTimeMillis() + millis;
        while (got.size() < want && System.currentTimeMillis() < end) {
            got.addAll(lite.poll(200));
        }
        if (got.isEmpty()) {
            return "nothing";
        }
        return got.size() + " from " + got.get(0).getQueueOffset() + " to " + got.get(got.size() - 1).getQueueOffset();
    }

    private String show(PullResult r) {
        List<MessageExt> found = r.getMsgFoundList();
        if (found != null && !found.isEmpty()) {
            last = found.get(found.size() - 1);
        }
        return r.getPullStatus() + " " + (found == null ? 0 : found.size()) + " next " + r.getNextBeginOffset() + " min " + r.getMinOffset()
            + " max " + r.getMaxOffset();
    }
}
