import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** What the peers share: arguments "--name value", events as one JSON object a line, and the request to stop on standard input. */
final class Peer {
    private static final PrintStream OUT = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
    private final Map<String, String> arguments = new HashMap<>();

    Peer(String[] args) {
        for (int i = 0; i < args.length; i += 2) {
            if (!args[i].startsWith("--") || i + 1 == args.length) {
                throw new IllegalArgumentException("expected --name value, got " + args[i]);
            }
            arguments.put(args[i].substring(2), args[i + 1]);
        }
    }

    String text(String name, String otherwise) {
        return arguments.getOrDefault(name, otherwise);
    }

    String required(String name) {
        String value = arguments.get(name);
        if (value == null) {
            throw new IllegalArgumentException("--" + name + " is missing");
        }
        return value;
    }

    int number(String name, int otherwise) {
        String value = arguments.get(name);
        return value == null ? otherwise : Integer.parseInt(value);
    }

    /** Writes one event; fields are name, value, name, value; numbers and booleans stay such, everything else becomes a string. */
    static void event(String kind, Object... fields) {
        StringBuilder line = new StringBuilder("{\"event\":");
        quote(line, kind);
        for (int i = 0; i < fields.length; i += 2) {
            Object value = fields[i + 1];
            if (value == null) {
                continue;
            }
            line.append(',');
            quote(line, (String) fields[i]);
            line.append(':');
            if (value instanceof Number || value instanceof Boolean) {
                line.append(value);
            } else {
                quote(line, value.toString());
            }
        }
        line.append("}\n");
        synchronized (OUT) {
            OUT.print(line);
            OUT.flush();
        }
    }

    private static void quote(StringBuilder out, String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < 0x20) {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }

    /** Returns when a line, or the end, comes on standard input: both ask the program to stop. */
    static void awaitStop() throws IOException {
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).readLine();
    }
}
