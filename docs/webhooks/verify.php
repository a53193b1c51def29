<?php
// Verify the signature of a delivery. Copy this file; it needs only PHP 8.0.
//
//   if (!verify($secret, getallheaders(), file_get_contents('php://input'))) {
//       http_response_code(401);
//       exit;
//   }
//
// Pass the raw bytes of the request body; parsing and serialising it again changes them.

declare(strict_types=1);

/** Tolerance of a delivery's timestamp in seconds; older deliveries may be replays. */
const TOLERANCE = 300;

/**
 * Return whether the delivery was signed with the webhook's secret within the tolerance.
 *
 * @param string $secret the whole string from the webhook's creation, including `whsec_`
 * @param array<string, string> $headers with names in any case
 * @param string $body the raw bytes
 * @param int|null $now Unix time in seconds; null is the current time
 */
function verify(string $secret, array $headers, string $body, ?int $now = null): bool
{
    $given = array_change_key_case($headers, CASE_LOWER);
    $timestamp = $given['x-timestamp'] ?? '';
    $deliveryId = $given['x-delivery-id'] ?? '';
    // The signature joins its three parts without separators. The fixed widths of the first two
    // prevent bytes from moving between the parts.
    if (!preg_match('/\A[0-9]{10}\z/', $timestamp) || !preg_match('/\A[0-9a-f-]{36}\z/', $deliveryId)) {
        return false;
    }
    if (abs(($now ?? time()) - (int) $timestamp) > TOLERANCE) {
        return false;
    }
    $expected = hash_hmac('sha256', $timestamp . $deliveryId . $body, $secret);
    // During a rotation the previous secret signs as well.
    return hash_equals($expected, $given['x-signature'] ?? '')
        || hash_equals($expected, $given['x-signature-previous'] ?? '');
}
