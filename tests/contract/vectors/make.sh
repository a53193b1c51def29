#!/bin/sh
# Signs a delivery with openssl alone; signatures.json holds what this printed.
# usage: make.sh <secret> <timestamp> <delivery id> < body
set -eu
secret=$1 timestamp=$2 delivery_id=$3
body=$(mktemp)
trap 'rm -f "$body"' EXIT
cat > "$body"

signature=$({ printf '%s%s' "$timestamp" "$delivery_id"; cat "$body"; } |
    openssl dgst -sha256 -hmac "$secret" -r | cut -d ' ' -f 1)

key=$(printf '%s' "${secret#whsec_}" | openssl base64 -d -A | od -A n -v -t x1 | tr -d ' \n')
standard=$({ printf '%s.%s.' "$delivery_id" "$timestamp"; cat "$body"; } |
    openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)

printf '{"signature": "%s", "standard": "v1,%s"}\n' "$signature" "$standard"
