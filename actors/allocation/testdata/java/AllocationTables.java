// Writes the expected values of the allocation specs by running Apache RocketMQ's own classes.
//
// How to run it (JDK 11+ and Maven), from a scratch directory with a pom.xml whose one dependency is
// org.apache.rocketmq:rocketmq-client:5.3.3:
//
//   mvn -q dependency:copy-dependencies -DoutputDirectory=lib
//   javac -cp 'lib/*' AllocationTables.java
//   java -cp 'lib/*:.' AllocationTables pairs > pairs.csv
//   java -cp 'lib/*:.' AllocationTables random > random.csv
//   java -cp 'lib/*:.' AllocationTables strategies | gzip -9n > strategies.csv.gz
//
// pairs.csv: "strategy,queues,members,member position,allocated" for all of 1-17 queues and 1-7 members, where
// allocated lists positions in the sorted queues.
//
// random.csv: cases with names that are awkward to sort. A case is a line "case|topic|members|queues", members and
// queues shuffled and separated by a space, a queue written broker:id, followed by one line
// "strategy|own id|allocated" for every member and for one stranger; allocated lists positions in the shuffled queues,
// in the order in which Java returned them. Lists are sorted with Collections.sort before the strategy runs, as
// RebalanceImpl does.
//
// strategies.csv.gz: cases for the other strategies, as in random.csv but with positions in the sorted queues and members
// written as positions in the sorted members (-1 for the stranger). After the case line there is, for each strategy, a
// line "=strategy|configuration" followed by one line "member|allocated" for each member and the stranger, or "!" if Java
// throws:
//   =CONFIG|queues              the list given by the user, broker:id; queues that are not the topic's are at position -1
//   =MACHINE_ROOM|rooms         the allowed rooms
//   =MACHINE_ROOM_NEARBY-x|     rooms are what stands before the first '@' of a broker's and '#' of a member's name
//   =CONSISTENT_HASH|n          virtual nodes; "n sum" has a hash of its own: the sum of the UTF-16 units times their
//                               place from 1, minus 50000

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByConfig;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByMachineRoom;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.common.message.MessageQueue;

public class AllocationTables {
    private static final AllocateMessageQueueStrategy[] STRATEGIES = {
        new AllocateMessageQueueAveragely(), new AllocateMessageQueueAveragelyByCircle()};
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    public static void main(String[] args) {
        if (args[0].equals("pairs")) {
            pairs();
        } else if (args[0].equals("strategies")) {
            strategies(new Random(20261202));
        } else {
            random(new Random(20261201));
        }
        OUT.flush();
    }

    private static String positions(List<MessageQueue> allocated, List<MessageQueue> given) {
        StringBuilder b = new StringBuilder();
        for (MessageQueue q : allocated) {
            b.append(b.length() == 0 ? "" : " ").append(given.indexOf(q));
        }
        return b.toString();
    }

    private static void pairs() {
        for (int n = 1; n <= 17; n++) {
            List<MessageQueue> queues = new ArrayList<>();
            for (int i = 0; i < n; i++) {
                queues.add(new MessageQueue("orders", "broker-a", i));
            }
            for (int m = 1; m <= 7; m++) {
                List<String> members = new ArrayList<>();
                for (int i = 0; i < m; i++) {
                    members.add("10.0.0." + i + "@" + i);
                }
                for (AllocateMessageQueueStrategy s : STRATEGIES) {
                    for (int i = 0; i < m; i++) {
                        OUT.println(s.getName() + "," + n + "," + m + "," + i + ","
                            + positions(s.allocate("g", members.get(i), queues, members), queues));
                    }
                }
            }
        }
    }

    private static final String[] PIECES = {
        "a", "A", "b", "B", "z", "Z", "0", "1", "9", "10", "#", "@", "-", "_", "%", "host", "Host", "HOST", "10.0.0.7", "\u00e9",
        "\u4e2d", "\uff5e", "\ud83d\ude80", "\ue000", "^", "~", "|"};

    private static String word(Random r, int most, boolean wide) {
        StringBuilder b = new StringBuilder();
        int n = 1 + r.nextInt(most);
        while (n > 0) {
            String p = PIECES[r.nextInt(PIECES.length)];
            if (p.equals("|") || !wide && p.charAt(0) > 127) {
                continue;
            }
            b.append(p);
            n--;
        }
        return b.toString();
    }

    private static void random(Random r) {
        for (int c = 0; c < 2200; c++) {
            boolean wide = c % 4 == 0;
            Set<String> ids = new LinkedHashSet<>();
            int m = 1 + r.nextInt(6);
            while (ids.size() < m) {
                ids.add(word(r, 2, wide) + "@" + r.nextInt(30) + (r.nextBoolean() ? "#" + r.nextInt(12) : ""));
            }
            Set<String> brokers = new LinkedHashSet<>();
            int b = 1 + r.nextInt(4);
            while (brokers.size() < b) {
                brokers.add(word(r, 2, wide).replace(":", ""));
            }
            Set<MessageQueue> all = new LinkedHashSet<>();
            for (String broker : brokers) {
                int n = 1 + r.nextInt(12 / b + 1);
                for (int i = 0; i < n; i++) {
                    all.add(new MessageQueue("orders", broker, r.nextInt(3) == 0 ? r.nextInt(20) : i));
                }
            }
            List<String> members = new ArrayList<>(ids);
            Collections.shuffle(members, r);
            List<MessageQueue> queues = new ArrayList<>(all);
            Collections.shuffle(queues, r);
            StringBuilder line = new StringBuilder();
            for (MessageQueue q : queues) {
                line.append(line.length() == 0 ? "" : " ").append(q.getBrokerName()).append(':').append(q.getQueueId());
            }
            OUT.println("case|orders|" + String.join(" ", members) + "|" + line);
            List<MessageQueue> sortedQueues = new ArrayList<>(queues);
            Collections.sort(sortedQueues);
            List<String> sortedMembers = new ArrayList<>(members);
            Collections.sort(sortedMembers);
            List<String> asking = new ArrayList<>(sortedMembers);
            asking.add("stranger@0");
            for (AllocateMessageQueueStrategy s : STRATEGIES) {
                for (String me : asking) {
                    OUT.println(s.getName() + "|" + me + "|" + positions(s.allocate("g", me, sortedQueues, sortedMembers), queues));
                }
            }
        }
    }

    private static final AllocateMachineRoomNearby.MachineRoomResolver ROOMS = new AllocateMachineRoomNearby.MachineRoomResolver() {
        @Override
        public String brokerDeployIn(MessageQueue q) {
            return before(q.getBrokerName(), '@');
        }

        @Override
        public String consumerDeployIn(String clientID) {
            return before(clientID, '#');
        }
    };

    private static String before(String name, char mark) {
        int at = name.indexOf(mark);
        return at < 0 ? "" : name.substring(0, at);
    }

    private static long sum(String key) {
        long h = -50000;
        for (int i = 0; i < key.length(); i++) {
            h += (long) key.charAt(i) * (i + 1);
        }
        return h;
    }

    private static final String[] ALL_ROOMS = {"east", "west", "W", "10", "2", "\u4e2d", "\uff5e", "\ud83d\ude80"};

    private static String room(Random r, boolean wide) {
        return ALL_ROOMS[r.nextInt(wide ? ALL_ROOMS.length : 5)];
    }

    // A broker's name: mostly room@name; sometimes what String.split and a resolver have their own ideas about.
    private static String broker(Random r, boolean wide) {
        String room = room(r, wide);
        String name = word(r, 2, wide).replace(":", "").replace("@", "");
        switch (r.nextInt(24)) {
            case 0:
                return room + "@" + name + "@";
            case 1:
                return room + "@" + name + "@x";
            case 2:
                return r.nextInt(8) == 0 ? name : room + "@@" + name;
            case 3:
                return r.nextInt(8) == 0 ? "@" + name : room + "@";
            default:
                return room + "@" + name;
        }
    }

    private static void strategies(Random r) {
        String[] hashed = {"10", "1", "3", "10 sum", "4 sum"};
        for (int c = 0; c < 2100; c++) {
            boolean wide = c % 4 == 0;
            Set<String> ids = new LinkedHashSet<>();
            int m = 1 + r.nextInt(6);
            while (ids.size() < m) {
                ids.add((r.nextInt(150) == 0 ? "" : room(r, wide) + "#") + word(r, 2, wide).replace("#", "") + "@" + r.nextInt(30));
            }
            Set<String> brokers = new LinkedHashSet<>();
            int b = 1 + r.nextInt(4);
            while (brokers.size() < b) {
                brokers.add(broker(r, wide));
            }
            Set<MessageQueue> all = new LinkedHashSet<>();
            for (String broker : brokers) {
                int n = 1 + r.nextInt(12 / b + 1);
                for (int i = 0; i < n; i++) {
                    all.add(new MessageQueue("orders", broker, r.nextInt(3) == 0 ? r.nextInt(20) : i));
                }
            }
            List<String> members = new ArrayList<>(ids);
            Collections.sort(members);
            List<MessageQueue> queues = new ArrayList<>(all);
            Collections.sort(queues);
            OUT.println("case|orders|" + String.join(" ", members) + "|" + text(queues));

            List<MessageQueue> configured = new ArrayList<>();
            for (MessageQueue q : queues) {
                if (r.nextInt(3) == 0) {
                    configured.add(q);
                }
            }
            if (r.nextInt(4) == 0) {
                configured.add(new MessageQueue("orders", "gone", r.nextInt(4)));
            }
            Collections.shuffle(configured, r);
            AllocateMessageQueueByConfig byConfig = new AllocateMessageQueueByConfig();
            byConfig.setMessageQueueList(configured);
            table(byConfig, text(configured), members, queues);

            Set<String> allowed = new HashSet<>();
            List<String> rooms = new ArrayList<>();
            for (int i = 1 + r.nextInt(3); i > 0; i--) {
                String room = room(r, wide);
                if (allowed.add(room)) {
                    rooms.add(room);
                }
            }
            AllocateMessageQueueByMachineRoom byRoom = new AllocateMessageQueueByMachineRoom();
            byRoom.setConsumeridcs(allowed);
            table(byRoom, String.join(" ", rooms), members, queues);

            table(new AllocateMachineRoomNearby(STRATEGIES[c % 2], ROOMS), "", members, queues);

            String h = hashed[c % hashed.length];
            int nodes = Integer.parseInt(h.split(" ")[0]);
            table(h.endsWith("sum")
                ? new AllocateMessageQueueConsistentHash(nodes, AllocationTables::sum)
                : new AllocateMessageQueueConsistentHash(nodes), h, members, queues);
        }
    }

    private static String text(List<MessageQueue> queues) {
        StringBuilder b = new StringBuilder();
        for (MessageQueue q : queues) {
            b.append(b.length() == 0 ? "" : " ").append(q.getBrokerName()).append(':').append(q.getQueueId());
        }
        return b.toString();
    }

    private static void table(AllocateMessageQueueStrategy s, String configuration, List<String> members, List<MessageQueue> queues) {
        OUT.println("=" + s.getName() + "|" + configuration);
        for (int i = 0; i <= members.size(); i++) {
            boolean stranger = i == members.size();
            String line;
            try {
                line = positions(s.allocate("g", stranger ? "east#stranger@0" : members.get(i), queues, members), queues);
            } catch (IllegalArgumentException e) {
                line = "!";
            }
            OUT.println((stranger ? -1 : i) + "|" + line);
        }
    }
}
