import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;

/** Consumes with Apache's Java client in its default settings and prints a summary: nameserver topic group count latency sleep-every. */
public final class Bench {
    public static void main(String[] args) throws Exception {
        final long count = Long.parseLong(args[3]);
        final boolean latency = Boolean.parseBoolean(args[4]);
        final long sleepEvery = Long.parseLong(args[5]);
        final AtomicLong got = new AtomicLong();
        final AtomicLong first = new AtomicLong();
        final AtomicLong last = new AtomicLong();
        final AtomicInteger noted = new AtomicInteger();
        final long[] ages = new long[latency ? (int) count : 0];
        final CountDownLatch done = new CountDownLatch(1);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(args[2]);
        consumer.setNamesrvAddr(args[0]);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(args[1], "*");
        consumer.setMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt m : messages) {
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
                            return ConsumeConcurrentlyStatus.RECONSUME_LATER;
                        }
                    } else {
                        java.time.Instant now = java.time.Instant.now();
                        ages[noted.getAndIncrement()] = now.getEpochSecond() * 1_000_000_000L + now.getNano() - sent;
                    }
                }
                if (n == count) {
                    last.set(System.nanoTime());
                    done.countDown();
                }
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long cpu = system.getProcessCpuTime();
        consumer.start();
        System.out.println("{\"event\":\"ready\"}");
        done.await();
        double seconds = (last.get() - first.get()) / 1e9;
        long[] sorted = Arrays.copyOf(ages, noted.get());
        Arrays.sort(sorted);
        System.out.printf(java.util.Locale.ROOT,
            "{\"event\":\"summary\",\"messages\":%d,\"seconds\":%f,\"messages_per_second\":%f,\"cpu_seconds\":%f,\"peak_rss_mb\":%f,"
                + "\"p50_ms\":%f,\"p99_ms\":%f,\"p999_ms\":%f,\"max_ms\":%f}%n",
            count, seconds, count / seconds, (system.getProcessCpuTime() - cpu) / 1e9, peak(),
            at(sorted, 0.5), at(sorted, 0.99), at(sorted, 0.999), at(sorted, 1));
        System.out.flush();
        consumer.shutdown();
        System.exit(0);
    }

    private static double at(long[] sorted, double q) {
        return sorted.length == 0 ? 0 : sorted[(int) (q * (sorted.length - 1))] / 1e6;
    }

    private static double peak() throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return Double.parseDouble(line.replaceAll("[^0-9]", "")) / 1000;
            }
        }
        return 0;
    }
}
