// Verify the signature of a delivery. Copy this class; it needs .NET Core 2.1 or later, .NET 5 or later, or Mono.
//
//   if (!Verify.IsGenuine(secret, name => request.Headers[name], body, DateTimeOffset.UtcNow))
//       return Results.Unauthorized();
//
// Pass the raw bytes of the request body; parsing and serialising it again changes them.

using System;
using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;

public static class Verify
{
    /// <summary>Tolerance of a delivery's timestamp; older deliveries may be replays.</summary>
    private static readonly TimeSpan Tolerance = TimeSpan.FromSeconds(300);

    /// <summary>
    /// Whether the delivery was signed with the webhook's secret within the tolerance.
    /// </summary>
    /// <param name="secret">the whole string from the webhook's creation, including whsec_</param>
    /// <param name="header">returns a header by its name, in any case; null if it is absent</param>
    /// <param name="body">the raw bytes</param>
    /// <param name="now">the current time</param>
    public static bool IsGenuine(
        string secret, Func<string, string> header, byte[] body, DateTimeOffset now)
    {
        string timestamp = header("X-Timestamp") ?? "";
        string deliveryId = header("X-Delivery-Id") ?? "";
        // The signature joins its three parts without separators. The fixed widths of the first two
        // prevent bytes from moving between the parts.
        if (!Regex.IsMatch(timestamp, @"\A[0-9]{10}\z")
            || !Regex.IsMatch(deliveryId, @"\A[0-9a-f-]{36}\z"))
        {
            return false;
        }
        long seconds = long.Parse(timestamp, CultureInfo.InvariantCulture);
        if ((now - DateTimeOffset.FromUnixTimeSeconds(seconds)).Duration() > Tolerance)
        {
            return false;
        }
        byte[] prefix = Encoding.ASCII.GetBytes(timestamp + deliveryId);
        byte[] message = new byte[prefix.Length + body.Length];
        prefix.CopyTo(message, 0);
        body.CopyTo(message, prefix.Length);
        byte[] hash;
        using (var hmac = new HMACSHA256(Encoding.UTF8.GetBytes(secret)))
        {
            hash = hmac.ComputeHash(message);
        }
        string digest = BitConverter.ToString(hash).Replace("-", "").ToLowerInvariant();
        byte[] expected = Encoding.ASCII.GetBytes(digest);
        // During a rotation the previous secret signs as well.
        return IsEqual(expected, header("X-Signature"))
            || IsEqual(expected, header("X-Signature-Previous"));
    }

    private static bool IsEqual(byte[] expected, string given) =>
        CryptographicOperations.FixedTimeEquals(expected, Encoding.UTF8.GetBytes(given ?? ""));
}
