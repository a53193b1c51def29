import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Prints whether the delivery on standard input is genuine: secret, now, then names and values. */
public final class Main {
    public static void main(String[] arguments) throws Exception {
        Map<String, List<String>> headers = new HashMap<>();
        for (int index = 2; index < arguments.length; index += 2) {
            headers.put(arguments[index], List.of(arguments[index + 1]));
        }
        Instant now = Instant.ofEpochSecond(Long.parseLong(arguments[1]));
        byte[] body = System.in.readAllBytes();
        System.out.println(Verify.verify(arguments[0], headers, body, now));
    }
}
