#!/usr/bin/env python3
"""Credentials of NATS for tests: credentials.py FOLDER.

Writes credentials.conf (an operator and an account, for the server), right.creds (a user of the account), wrong.creds (a
user of another operator's account) and garbage.creds. What nsc does, with openssl's Ed25519.
"""
import base64
import binascii
import json
import pathlib
import subprocess
import sys
import time

FOLDER = pathlib.Path(sys.argv[1])
OPERATOR, ACCOUNT, USER, SEED = 14 << 3, 0, 20 << 3, 18 << 3


def checked(data):
    crc = binascii.crc_hqx(data, 0)  # CRC-16/XMODEM, as nkeys
    return base64.b32encode(data + bytes([crc & 255, crc >> 8])).decode().rstrip("=")


class Key:
    def __init__(self, kind):
        self.private = subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-outform", "DER"],
                                      check=True, stdout=subprocess.PIPE).stdout
        public = subprocess.run(["openssl", "pkey", "-inform", "DER", "-pubout", "-outform", "DER"], check=True,
                                input=self.private, stdout=subprocess.PIPE).stdout[-32:]
        self.public = checked(bytes([kind]) + public)
        self.seed = checked(bytes([SEED | kind >> 5, (kind & 31) << 3]) + self.private[-32:])

    def token(self, subject, kind, claims):
        def text(value):
            return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
        body = {"jti": "test", "iat": int(time.time()) - 60, "iss": self.public, "name": kind, "sub": subject,
                "nats": {**claims, "type": kind, "version": 2}}
        signed = f"{text({'typ': 'JWT', 'alg': 'ed25519-nkey'})}.{text(body)}"
        (FOLDER / "key.der").write_bytes(self.private)
        (FOLDER / "signed").write_text(signed)
        signature = subprocess.run(
            ["openssl", "pkeyutl", "-sign", "-rawin", "-keyform", "DER", "-inkey", FOLDER / "key.der", "-in",
             FOLDER / "signed"], check=True, stdout=subprocess.PIPE).stdout
        return f"{signed}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


LIMITS = {name: -1 for name in ("subs", "data", "payload", "imports", "exports", "conn", "leaf")}


def user(account, name):
    key = Key(USER)
    token = account.token(key.public, "user", {"pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1})
    (FOLDER / f"{name}.creds").write_text(
        f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{key.seed}\n------END USER NKEY SEED------\n")


operator, account = Key(OPERATOR), Key(ACCOUNT)
(FOLDER / "credentials.conf").write_text(
    f"operator: {operator.token(operator.public, 'operator', {})}\nresolver: MEMORY\n"
    f"resolver_preload: {{ {account.public}: {operator.token(account.public, 'account', {'limits': {**LIMITS, 'wildcards': True}})} }}\n")
user(account, "right")
user(Key(ACCOUNT), "wrong")
(FOLDER / "garbage.creds").write_text("garbage\n")
