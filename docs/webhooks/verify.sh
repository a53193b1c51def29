#!/bin/sh
# Verify the signature of a single delivery by hand; it needs only openssl.
#
#   SECRET=whsec_… ./verify.sh "$X_TIMESTAMP" "$X_DELIVERY_ID" "$X_SIGNATURE" < body
#
# The exit status is 0 for a valid signature, else 1. The timestamp's age is not checked, and other
# users of the machine can read the secret from the process list: do not use it on a server.
set -eu
timestamp=$1 delivery_id=$2 signature=$3

expr "$timestamp" : '[0-9]\{10\}$' > /dev/null || { echo "a timestamp has ten digits" >&2; exit 1; }
expr "$delivery_id" : '[0-9a-f-]\{36\}$' > /dev/null || { echo "an id has 36 characters" >&2; exit 1; }

expected=$({ printf '%s%s' "$timestamp" "$delivery_id"; cat; } |
    openssl dgst -sha256 -hmac "$SECRET" -r | cut -d ' ' -f 1)

[ "$expected" = "$signature" ] || { echo "not signed with this secret" >&2; exit 1; }
echo "signed with this secret"
