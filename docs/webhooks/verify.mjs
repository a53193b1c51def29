// Check a delivery before you believe it. Copy this file; it needs nothing but Node 18.
//
//   if (!verify(SECRET, request.headers, rawBody)) { response.writeHead(401).end(); return; }
//
// Pass the raw bytes of the body, as they came: parsed and written again they are others.

import { createHmac, timingSafeEqual } from "node:crypto";

// Seconds that a delivery's timestamp may be off; what is older may be a replay.
const TOLERANCE = 300;

/**
 * Whether the delivery was signed with the webhook's secret, at most five minutes ago.
 *
 * @param {string} secret the whole string that the webhook was created with, `whsec_` included
 * @param {Record<string, string>} headers with names in lower case, as Node gives them
 * @param {Buffer} body the raw bytes
 * @param {number} now Unix time in seconds
 */
export function verify(secret, headers, body, now = Date.now() / 1000) {
  const timestamp = headers["x-timestamp"] ?? "";
  const deliveryId = headers["x-delivery-id"] ?? "";
  // The signature joins its three parts with nothing between them: only because the first two
  // have fixed widths can no byte be moved from one part to another.
  if (!/^[0-9]{10}$/.test(timestamp) || !/^[0-9a-f-]{36}$/.test(deliveryId)) return false;
  if (Math.abs(now - Number(timestamp)) > TOLERANCE) return false;
  const expected = createHmac("sha256", secret)
    .update(timestamp)
    .update(deliveryId)
    .update(body)
    .digest("hex");
  // While a secret is being replaced, the one before it signs as well.
  return ["x-signature", "x-signature-previous"].some((name) => {
    const given = Buffer.from(headers[name] ?? "");
    return given.length === expected.length && timingSafeEqual(given, Buffer.from(expected));
  });
}
