// Writes the expected values of the sql92 specs by running Apache RocketMQ's own filter.
//
// How to run it (JDK 11+ and Maven), from a scratch directory with a pom.xml whose one dependency is
// org.apache.rocketmq:rocketmq-filter:5.3.3:
//
//   mvn -q dependency:copy-dependencies -DoutputDirectory=lib
//   javac -cp 'lib/*' FilterTable.java
//   java -cp 'lib/*:.' FilterTable expressions.txt > table.txt
//
// expressions.txt holds one expression a line, with \n, \r, \t and \\ escaped; as many again are made at random. table.txt has
// lines "set", then "name=value" of each property, and lines "case", expression, outcome, all separated by tabs. The outcome
// is "!" if the expression does not compile, else one letter for each set: t(rue), f(alse), u(nknown), e(rror).

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.rocketmq.filter.SqlFilter;
import org.apache.rocketmq.filter.expression.EvaluationContext;
import org.apache.rocketmq.filter.expression.Expression;

public class FilterTable {
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    private static final Random RANDOM = new Random(92);
    private static final String[] NAMES = {"a", "b", "c", "d", "missing"};

    public static void main(String[] args) throws Exception {
        List<Map<String, String>> sets = new ArrayList<>();
        sets.add(set());
        sets.add(set("a", "5", "b", "abc", "c", "true", "d", "5.0"));
        sets.add(set("a", "-3", "b", "5", "c", "FALSE", "d", "1e3", "TAGS", "eu"));
        sets.add(set("a", "3000000000", "b", "", "c", "it's", "d", " 7 "));
        sets.add(set("a", "+5", "b", "NaN", "c", "5", "d", "-0.0"));
        sets.add(set("a", "x", "b", "Infinity", "d", "0x1p3", "c", "Grüße"));
        sets.add(set("a", "99999999999999999999", "b", "5d", "c", "1_000", "d", ".5"));
        for (Map<String, String> s : sets) {
            StringBuilder line = new StringBuilder("set");
            s.forEach((k, v) -> line.append('\t').append(k).append('=').append(v));
            OUT.println(line);
        }
        Set<String> expressions = new LinkedHashSet<>();
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            expressions.add(unescape(line));
        }
        int given = expressions.size();
        while (expressions.size() < given + 600) {
            String e = condition(3);
            expressions.add(RANDOM.nextInt(4) == 0 ? damaged(e) : e);
        }
        for (String e : expressions) {
            OUT.println("case\t" + escape(e) + "\t" + outcome(e, sets));
        }
        OUT.flush();
    }

    private static String outcome(String text, List<Map<String, String>> sets) {
        Expression e;
        try {
            e = new SqlFilter().compile(text);
        } catch (Throwable t) {
            return "!";
        }
        StringBuilder out = new StringBuilder();
        for (Map<String, String> set : sets) {
            try {
                Object v = e.evaluate(new EvaluationContext() {
                    @Override
                    public Object get(String name) {
                        return set.get(name);
                    }

                    @Override
                    public Map<String, Object> keyValues() {
                        return new LinkedHashMap<>(set);
                    }
                });
                out.append(v == null ? "u" : v == Boolean.TRUE ? "t" : v == Boolean.FALSE ? "f" : "?");
            } catch (Throwable t) {
                out.append("e");
            }
        }
        return out.toString();
    }

    private static Map<String, String> set(String... pairs) {
        Map<String, String> m = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            m.put(pairs[i], pairs[i + 1]);
        }
        return m;
    }

    private static String pick(String... of) {
        return of[RANDOM.nextInt(of.length)];
    }

    private static String number() {
        return pick("5", "0", "-3", "5.0", "7", ".5", "1e3", "3000000000", "3000000000L", "-2.5", "+5", "2147483647", "-2147483648");
    }

    private static String string() {
        return pick("'abc'", "'5'", "''", "'it''s'", "'true'", "'Grüße'", "'b'", "'-3'");
    }

    private static String condition(int depth) {
        if (depth == 0 || RANDOM.nextInt(3) == 0) {
            return comparison();
        }
        String l = condition(depth - 1);
        switch (RANDOM.nextInt(5)) {
            case 0: return "(" + l + ")";
            case 1: return pick("NOT ", "not ") + (RANDOM.nextBoolean() ? "(" + l + ")" : l);
            case 2: return l + pick(" OR ", " or ", "\tOR\n") + condition(depth - 1);
            default: return l + pick(" AND ", " and ", " /* und */ AND ") + condition(depth - 1);
        }
    }

    private static String comparison() {
        String n = pick(NAMES);
        switch (RANDOM.nextInt(12)) {
            case 0: return n + pick(" = ", " <> ", "=") + number();
            case 1: return n + pick(" = ", " <> ") + string();
            case 2: return n + pick(" = ", " <> ") + pick("TRUE", "false");
            case 3: return n + pick(" = ", " <> ", " > ", "<=") + pick(NAMES);
            case 4: return number() + pick(" < ", " >= ", " = ") + n;
            case 5: return n + pick(" BETWEEN ", " NOT BETWEEN ") + number() + " AND " + number();
            case 6: return n + pick(" IN (", " NOT IN (") + string() + ", " + string() + ")";
            case 7: return n + pick(" IS NULL", " IS NOT NULL");
            case 8: return n + pick(" CONTAINS ", " STARTSWITH ", " ENDSWITH ", " NOT CONTAINS ", " NOT ENDSWITH ") + string();
            case 9: return n;
            default: return n + pick(" > ", " >= ", " < ", " <= ") + number();
        }
    }

    /** Takes out, doubles or puts in a character. */
    private static String damaged(String e) {
        int at = RANDOM.nextInt(e.length());
        switch (RANDOM.nextInt(3)) {
            case 0: return e.substring(0, at) + e.substring(at + 1);
            case 1: return e.substring(0, at) + e.charAt(at) + e.substring(at);
            default: return e.substring(0, at) + pick("(", ")", "'", ",", ".", "-", "--", "!", "=", "5", " ", "x", "é", "/*") + e.substring(at);
        }
    }

    private static String escape(String s) {
        return s.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t");
    }

    private static String unescape(String s) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < s.length(); i++) {
            char c = s.charAt(i);
            if (c == '\\') {
                c = s.charAt(++i);
                c = c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c;
            }
            out.append(c);
        }
        return out.toString();
    }
}
