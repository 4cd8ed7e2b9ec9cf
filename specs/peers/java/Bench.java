import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Consumes with Apache's Java client in its default settings and prints a summary:
 * nameserver topic group count latency sleep-every orderly member idle-millis settle-millis [pull], as the Go clients' flags.
 */
public final class Bench {
    private final long count;
    private final boolean latency;
    private final long sleepEvery;
    private final boolean member;
    private final AtomicLong got = new AtomicLong();
    private final AtomicLong first = new AtomicLong();
    private final AtomicLong last = new AtomicLong();
    private final AtomicInteger noted = new AtomicInteger();
    private final long[] ages;
    private final CountDownLatch done = new CountDownLatch(1);
    private final OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private final long cpu = system.getProcessCpuTime();

    private Bench(long count, boolean latency, long sleepEvery, boolean member) {
        this.count = count;
        this.latency = latency;
        this.sleepEvery = sleepEvery;
        this.member = member;
        this.ages = new long[latency ? (int) count : 0];
    }

    public static void main(String[] args) throws Exception {
        boolean orderly = Boolean.parseBoolean(args[6]);
        boolean member = Boolean.parseBoolean(args[7]);
        long idle = Long.parseLong(args[8]);
        Bench bench = new Bench(Long.parseLong(args[3]), Boolean.parseBoolean(args[4]), Long.parseLong(args[5]), member);
        long begin = System.nanoTime();
        if (args.length > 10 && args[10].equals("poll")) {
            bench.poll(args, begin);
            return;
        }
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(args[2]);
        consumer.setNamesrvAddr(args[0]);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(args[1], "*");
        if (orderly) {
            consumer.setMessageListener((MessageListenerOrderly) (messages, context) ->
                bench.take(messages) ? ConsumeOrderlyStatus.SUCCESS : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT);
        } else {
            consumer.setMessageListener((MessageListenerConcurrently) (messages, context) ->
                bench.take(messages) ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER);
        }
        consumer.start();
        say("{\"event\":\"ready\"}");
        if (member) {
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
            for (String line = in.readLine(); line != null && !line.equals("stop"); ) {
                line = in.readLine();
            }
        } else if (idle > 0) {
            bench.idle(idle, Long.parseLong(args[9]));
        } else {
            bench.done.await();
            bench.summary(begin);
        }
        consumer.shutdown();
        say("{\"event\":\"stopped\"}");
        System.exit(0);
    }

    /** Pulls ask for as many messages as brokers give; the client's default of 10 is slower. */
    private void poll(String[] args, long begin) throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(args[2]);
        consumer.setNamesrvAddr(args[0]);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setPullBatchSize(32);
        consumer.subscribe(args[1], "*");
        consumer.start();
        say("{\"event\":\"ready\"}");
        while (done.getCount() > 0) {
            take(consumer.poll(1000));
        }
        summary(begin);
        consumer.shutdown();
        say("{\"event\":\"stopped\"}");
        System.exit(0);
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static long now() {
        java.time.Instant now = java.time.Instant.now();
        return now.getEpochSecond() * 1_000_000_000L + now.getNano();
    }

    private boolean take(List<MessageExt> messages) {
        for (MessageExt m : messages) {
            if (member) {
                long at = now();
                say("delivery " + m.getQueueId() + " " + ByteBuffer.wrap(m.getBody()).getLong(8) + " " + at);
                continue;
            }
            long n = got.incrementAndGet();
            if (n == 1) {
                first.set(System.nanoTime());
            }
            if (latency) {
                ByteBuffer body = ByteBuffer.wrap(m.getBody());
                long sent = body.getLong();
                long number = body.getLong();
                if (sleepEvery > 0 && number % sleepEvery == 0) {
                    try {
                        Thread.sleep(200);
                    } catch (InterruptedException e) {
                        return false;
                    }
                } else {
                    ages[noted.getAndIncrement()] = now() - sent;
                }
            }
            if (n == count) {
                last.set(System.nanoTime());
                done.countDown();
            }
        }
        return true;
    }

    private void idle(long millis, long settle) throws Exception {
        Thread.sleep(settle);
        long started = system.getProcessCpuTime();
        Thread.sleep(millis);
        say(String.format(Locale.ROOT,
            "{\"event\":\"summary\",\"seconds\":%f,\"cpu_seconds\":%f,\"start_cpu_seconds\":%f,\"peak_rss_mb\":%f,\"rss_mb\":%f,\"tasks\":%d,"
                + "\"log_lines\":%d}",
            millis / 1e3, (system.getProcessCpuTime() - started) / 1e9, (started - cpu) / 1e9, memory("VmHWM:"), memory("VmRSS:"),
            ManagementFactory.getThreadMXBean().getThreadCount(), logLines()));
    }

    private void summary(long begin) throws Exception {
        double seconds = (last.get() - first.get()) / 1e9;
        long[] sorted = Arrays.copyOf(ages, noted.get());
        Arrays.sort(sorted);
        say(String.format(Locale.ROOT,
            "{\"event\":\"summary\",\"messages\":%d,\"seconds\":%f,\"messages_per_second\":%f,\"first_message_seconds\":%f,\"cpu_seconds\":%f,"
                + "\"peak_rss_mb\":%f,\"p50_ms\":%f,\"p99_ms\":%f,\"p999_ms\":%f,\"max_ms\":%f}",
            count, seconds, count / seconds, (first.get() - begin) / 1e9, (system.getProcessCpuTime() - cpu) / 1e9, memory("VmHWM:"),
            at(sorted, 0.5), at(sorted, 0.99), at(sorted, 0.999), at(sorted, 1)));
    }

    private static double at(long[] sorted, double q) {
        return sorted.length == 0 ? 0 : sorted[(int) (q * (sorted.length - 1))] / 1e6;
    }

    /** What the client has logged so far, where its properties send it. */
    private static long logLines() throws Exception {
        Path log = Path.of(System.getProperty("rmq.log"));
        try (java.util.stream.Stream<String> lines = Files.lines(log)) {
            return lines.count();
        }
    }

    private static double memory(String field) throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith(field)) {
                return Double.parseDouble(line.replaceAll("[^0-9]", "")) / 1000;
            }
        }
        return 0;
    }
}
