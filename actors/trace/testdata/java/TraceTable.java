// Writes the expected values of the trace specs by running Apache RocketMQ's own consumer hook and encoder.
//
// How to run it (JDK 11+ and Maven), from a scratch directory with a pom.xml whose one dependency is
// org.apache.rocketmq:rocketmq-client:5.3.3:
//
//   mvn -q dependency:copy-dependencies -DoutputDirectory=lib
//   javac -cp 'lib/*' TraceTable.java
//   java -cp 'lib/*:.' TraceTable | grep -E '^[0-9a-f]+[|](true|false)' > trace.txt
//
// A case is one line of fields separated by '|', texts in hex of their UTF-8 bytes:
//   group|success|code|messages|region|before|after|keys
// messages are separated by ',', each "id;retries;keys;trace on;region" with '-' for a property that is absent; before and
// after are the encoder's text in which the three values that differ from run to run are replaced: TIME, REQ and COST; keys
// is the sorted list of the record's keys, separated by one blank. Without beans, before, after and keys are '-'; region is
// that of the trace context, '-' if null: Java sends no such context (AsyncTraceDispatcher).

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.TreeSet;
import org.apache.rocketmq.client.AccessChannel;
import org.apache.rocketmq.client.consumer.listener.ConsumeReturnType;
import org.apache.rocketmq.client.hook.ConsumeMessageContext;
import org.apache.rocketmq.client.trace.TraceContext;
import org.apache.rocketmq.client.trace.TraceDataEncoder;
import org.apache.rocketmq.client.trace.TraceDispatcher;
import org.apache.rocketmq.client.trace.TraceTransferBean;
import org.apache.rocketmq.client.trace.hook.ConsumeMessageTraceHookImpl;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageExt;

public class TraceTable {
    static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    static final List<TraceContext> APPENDED = new ArrayList<>();

    static class Sink implements TraceDispatcher {
        public void start(String a, AccessChannel c) { }
        public boolean append(Object ctx) { APPENDED.add((TraceContext) ctx); return true; }
        public void flush() { }
        public void shutdown() { }
    }

    static String hex(String s) {
        if (s == null) return "-";
        StringBuilder b = new StringBuilder();
        for (byte x : s.getBytes(StandardCharsets.UTF_8)) b.append(String.format("%02x", x));
        return b.toString();
    }

    static MessageExt message(String id, int retries, String keys, String traceOn, String region) {
        MessageExt m = new MessageExt();
        m.setTopic("orders");
        m.setMsgId(id);
        m.setReconsumeTimes(retries);
        if (keys != null) MessageAccessor.putProperty(m, MessageConst.PROPERTY_KEYS, keys);
        if (traceOn != null) MessageAccessor.putProperty(m, MessageConst.PROPERTY_TRACE_SWITCH, traceOn);
        if (region != null) MessageAccessor.putProperty(m, MessageConst.PROPERTY_MSG_REGION, region);
        return m;
    }

    static String text(TraceContext c, String cost) {
        TraceTransferBean bean = TraceDataEncoder.encoderFromContextBean(c);
        String t = bean.getTransData().replace(c.getRequestId(), "REQ").replace(String.valueOf(c.getTimeStamp()), "TIME");
        return cost == null ? t : t.replace("\001" + cost + "\001" + c.isSuccess() + "\001", "\001COST\001" + c.isSuccess() + "\001");
    }

    static void run(String group, ConsumeReturnType type, MessageExt... ms) {
        APPENDED.clear();
        ConsumeMessageTraceHookImpl hook = new ConsumeMessageTraceHookImpl(new Sink());
        ConsumeMessageContext ctx = new ConsumeMessageContext();
        ctx.setConsumerGroup(group);
        ctx.setMsgList(List.of(ms));
        ctx.setAccessChannel(AccessChannel.LOCAL);
        ctx.setProps(new HashMap<>());
        hook.consumeMessageBefore(ctx);
        ctx.getProps().put(MixAll.CONSUME_CONTEXT_TYPE, type.name());
        boolean success = type == ConsumeReturnType.SUCCESS || type == ConsumeReturnType.TIME_OUT;
        ctx.setSuccess(success);
        hook.consumeMessageAfter(ctx);
        StringBuilder b = new StringBuilder();
        for (MessageExt m : ms) {
            b.append(b.length() == 0 ? "" : ",").append(hex(m.getMsgId())).append(';').append(m.getReconsumeTimes()).append(';')
                .append(hex(m.getKeys())).append(';').append(hex(m.getProperty(MessageConst.PROPERTY_TRACE_SWITCH))).append(';')
                .append(hex(m.getProperty(MessageConst.PROPERTY_MSG_REGION)));
        }
        String before = "-", after = "-", keys = "-", region = "-";
        if (APPENDED.size() == 2) {
            TraceContext x = APPENDED.get(0), y = APPENDED.get(1);
            region = hex(x.getRegionId());
            before = hex(text(x, null));
            after = hex(text(y, String.valueOf(y.getCostTime())));
            keys = hex(String.join(" ", new TreeSet<>(TraceDataEncoder.encoderFromContextBean(y).getTransKey())));
        } else if (!APPENDED.isEmpty()) {
            throw new IllegalStateException("appended " + APPENDED.size());
        }
        OUT.println(hex(group) + "|" + success + "|" + type.ordinal() + "|" + b + "|" + region + "|" + before + "|" + after + "|" + keys);
    }

    public static void main(String[] args) {
        String id = "AC11000200012A139A550CD1";
        String[] keys = {null, "k1", "k1 k2", "ключ é 日本", " lead", "trail ", "a  b"};
        int n = 0;
        for (ConsumeReturnType type : ConsumeReturnType.values()) {
            if (type == ConsumeReturnType.RETURNNULL) continue;
            for (String key : keys) {
                for (int retries : new int[] {0, 16}) {
                    run("billing", type, message(id + String.format("%08X", n++), retries, key, "true", "DefaultRegion"));
                }
            }
        }
        for (String on : new String[] {null, "true", "false", "FALSE", ""}) {
            for (String region : new String[] {null, "DefaultRegion", "cn-hangzhou"}) {
                run("é-group", ConsumeReturnType.FAILED, message(id + String.format("%08X", n++), 1, "k", on, region));
            }
        }
        for (int size : new int[] {2, 7}) {
            MessageExt[] ms = new MessageExt[size];
            for (int i = 0; i < size; i++) {
                ms[i] = message(id + String.format("%08X", n++), i, i % 3 == 0 ? null : "key" + i % 2, i == 1 ? "false" : "true", "r" + i % 2);
            }
            run("billing", ConsumeReturnType.SUCCESS, ms);
        }
        OUT.flush();
    }
}
