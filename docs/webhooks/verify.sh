#!/bin/sh
# Check a delivery by hand, for a look at one that puzzles you: it needs nothing but openssl.
#
#   SECRET=whsec_… ./verify.sh "$X_TIMESTAMP" "$X_DELIVERY_ID" "$X_SIGNATURE" < body
#
# Ends with 0 when the body is signed with the secret, else with 1. It does not look at the clock,
# and other users of the machine may see the secret in its list of processes: not for a server.
set -eu
timestamp=$1 delivery_id=$2 signature=$3

expr "$timestamp" : '[0-9]\{10\}$' > /dev/null || { echo "a timestamp has ten digits" >&2; exit 1; }
expr "$delivery_id" : '[0-9a-f-]\{36\}$' > /dev/null || { echo "an id has 36 characters" >&2; exit 1; }

expected=$({ printf '%s%s' "$timestamp" "$delivery_id"; cat; } |
    openssl dgst -sha256 -hmac "$SECRET" -r | cut -d ' ' -f 1)

[ "$expected" = "$signature" ] || { echo "not signed with this secret" >&2; exit 1; }
echo "signed with this secret"
