# frozen_string_literal: true

# Verify the signature of a delivery. Copy this file; it needs only Ruby 2.7.
#
#   halt 401 unless Webhooks.verify(SECRET, request.env, request.body.read)
#
# Pass the raw bytes of the request body; parsing and serialising it again changes them.

require "openssl"

module Webhooks
  # Tolerance of a delivery's timestamp in seconds; older deliveries may be replays.
  TOLERANCE = 300

  # Returns whether the delivery was signed with the webhook's secret within the tolerance.
  #
  # `secret` is the whole string from the webhook's creation, including `whsec_`. `headers` has
  # names in any case, such as `X-Timestamp`, or Rack's, such as `HTTP_X_TIMESTAMP`.
  def self.verify(secret, headers, body, now = Time.now)
    given = headers.to_h { |name, value| [name.to_s.downcase.tr("_", "-").delete_prefix("http-"), value] }
    timestamp = given["x-timestamp"].to_s
    delivery_id = given["x-delivery-id"].to_s
    # The signature joins its three parts without separators. The fixed widths of the first two
    # prevent bytes from moving between the parts.
    return false unless timestamp.match?(/\A[0-9]{10}\z/) && delivery_id.match?(/\A[0-9a-f-]{36}\z/)
    return false if (now.to_i - timestamp.to_i).abs > TOLERANCE

    expected = OpenSSL::HMAC.hexdigest("SHA256", secret, "#{timestamp}#{delivery_id}".b + body.b)
    # During a rotation the previous secret signs as well.
    %w[x-signature x-signature-previous].any? do |name|
      OpenSSL.secure_compare(expected, given[name].to_s)
    end
  end
end
