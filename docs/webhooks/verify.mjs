// Verify the signature of a delivery. Copy this file; it needs only Node 18.
//
//   if (!verify(SECRET, request.headers, rawBody)) { response.writeHead(401).end(); return; }
//
// Pass the raw bytes of the request body; parsing and serialising it again changes them.

import { createHmac, timingSafeEqual } from "node:crypto";

// Tolerance of a delivery's timestamp in seconds; older deliveries may be replays.
const TOLERANCE = 300;

/**
 * Return whether the delivery was signed with the webhook's secret within the tolerance.
 *
 * @param {string} secret the whole string from the webhook's creation, including `whsec_`
 * @param {Record<string, string>} headers with lower-case names, as Node provides them
 * @param {Buffer} body the raw bytes
 * @param {number} now Unix time in seconds
 */
export function verify(secret, headers, body, now = Date.now() / 1000) {
  const timestamp = headers["x-timestamp"] ?? "";
  const deliveryId = headers["x-delivery-id"] ?? "";
  // The signature joins its three parts without separators. The fixed widths of the first two
  // prevent bytes from moving between the parts.
  if (!/^[0-9]{10}$/.test(timestamp) || !/^[0-9a-f-]{36}$/.test(deliveryId)) return false;
  if (Math.abs(now - Number(timestamp)) > TOLERANCE) return false;
  const expected = createHmac("sha256", secret)
    .update(timestamp)
    .update(deliveryId)
    .update(body)
    .digest("hex");
  // During a rotation the previous secret signs as well.
  return ["x-signature", "x-signature-previous"].some((name) => {
    const given = Buffer.from(headers[name] ?? "");
    return given.length === expected.length && timingSafeEqual(given, Buffer.from(expected));
  });
}
