// Package hooks verifies the signatures of deliveries. Copy this file; it needs only the standard
// library of Go 1.19.
//
//	if !hooks.Verify(secret, request.Header, body, time.Now()) { w.WriteHeader(401); return }
//
// Pass the raw bytes of the request body; parsing and serialising it again changes them.
package hooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// Tolerance of a delivery's timestamp; older deliveries may be replays.
const Tolerance = 300 * time.Second

// The signature joins its three parts without separators. The fixed widths of the first two prevent
// bytes from moving between the parts.
var (
	timestampForm  = regexp.MustCompile(`\A[0-9]{10}\z`)
	deliveryIDForm = regexp.MustCompile(`\A[0-9a-f-]{36}\z`)
)

// Verify returns whether the delivery was signed with the webhook's secret within the tolerance.
//
// secret is the whole string from the webhook's creation, including whsec_.
func Verify(secret string, header http.Header, body []byte, now time.Time) bool {
	timestamp, deliveryID := header.Get("X-Timestamp"), header.Get("X-Delivery-Id")
	if !timestampForm.MatchString(timestamp) || !deliveryIDForm.MatchString(deliveryID) {
		return false
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return false
	}
	age := now.Sub(time.Unix(seconds, 0))
	if age > Tolerance || age < -Tolerance {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp))
	mac.Write([]byte(deliveryID))
	mac.Write(body)
	expected := []byte(hex.EncodeToString(mac.Sum(nil)))
	// During a rotation the previous secret signs as well.
	return hmac.Equal(expected, []byte(header.Get("X-Signature"))) ||
		hmac.Equal(expected, []byte(header.Get("X-Signature-Previous")))
}
