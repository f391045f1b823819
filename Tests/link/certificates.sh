#!/usr/bin/env bash
# Certificates for tests: certificates.sh FOLDER. Keys are ECDSA, and everything is valid for 30 days.
#
#   authority.pem       signs the ones of relays          relay.pem, relay.key       for 127.0.0.1, localhost, *.relay.test
#   other.pem           signs nothing else                stranger.pem, stranger.key signed by it
#                                                         elsewhere.pem, .key        of the authority, for another host
set -euo pipefail
cd "$1"
authority() { # authority NAME
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=$1" \
        -addext basicConstraints=critical,CA:TRUE -keyout "$1.key" -out "$1.pem" 2>/dev/null
}
certificate() { # certificate NAME AUTHORITY ALTERNATIVE-NAMES
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.request" 2>/dev/null
    openssl x509 -req -in "$1.request" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days 30 -out "$1.pem" \
        -extfile <(echo "subjectAltName=$3") 2>/dev/null
}
authority authority
authority other
certificate relay authority "IP:127.0.0.1,DNS:localhost,DNS:*.relay.test${TIDINGS_TEST_NAMES:+,$TIDINGS_TEST_NAMES}"
certificate stranger other "IP:127.0.0.1,DNS:localhost"
certificate elsewhere authority "DNS:elsewhere.relay.test"
