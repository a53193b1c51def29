// Verify the signature of a delivery. Copy this class; it needs only Java 17.
//
//   if (!Verify.verify(SECRET, request.headers().map(), body, Instant.now())) { respond(401); return; }
//
// Pass the raw bytes of the request body; parsing and serialising it again changes them.

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public final class Verify {
    /** Tolerance of a delivery's timestamp; older deliveries may be replays. */
    private static final Duration TOLERANCE = Duration.ofSeconds(300);

    private Verify() {}

    /**
     * Returns whether the delivery was signed with the webhook's secret within the tolerance.
     *
     * @param secret the whole string from the webhook's creation, including {@code whsec_}
     * @param headers the request's headers, with names in any case
     * @param body the raw bytes
     */
    public static boolean verify(
            String secret, Map<String, List<String>> headers, byte[] body, Instant now) {
        Map<String, List<String>> given = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        given.putAll(headers);
        String timestamp = first(given, "X-Timestamp");
        String deliveryId = first(given, "X-Delivery-Id");
        // The signature joins its three parts without separators. The fixed widths of the first two
        // prevent bytes from moving between the parts.
        if (!timestamp.matches("[0-9]{10}") || !deliveryId.matches("[0-9a-f-]{36}")) {
            return false;
        }
        Instant signedAt = Instant.ofEpochSecond(Long.parseLong(timestamp));
        if (Duration.between(signedAt, now).abs().compareTo(TOLERANCE) > 0) {
            return false;
        }
        byte[] expected = signature(secret, timestamp + deliveryId, body);
        // During a rotation the previous secret signs as well.
        return isEqual(expected, first(given, "X-Signature"))
                || isEqual(expected, first(given, "X-Signature-Previous"));
    }

    private static byte[] signature(String secret, String prefix, byte[] body) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
            mac.update(prefix.getBytes(StandardCharsets.US_ASCII));
            return HexFormat.of().formatHex(mac.doFinal(body)).getBytes(StandardCharsets.US_ASCII);
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(error);
        }
    }

    private static boolean isEqual(byte[] expected, String given) {
        return MessageDigest.isEqual(expected, given.getBytes(StandardCharsets.UTF_8));
    }

    private static String first(Map<String, List<String>> headers, String name) {
        List<String> values = headers.getOrDefault(name, List.of());
        return values.isEmpty() ? "" : values.get(0);
    }
}
