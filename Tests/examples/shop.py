#!/usr/bin/env python3
"""Runs the example Shop:  Tests/examples/shop.py .build-service/debug

It logs what another process posts, within a span, and a shared value that this process sets. It prints its metrics. On
SIGTERM it handles what was posted before, and ends. A wait that does not end is ended by the caller.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

build, pipe = sys.argv[1], subprocess.PIPE
directory = tempfile.mkdtemp(prefix="tidings-shop.", dir="/dev/shm")
environment = {**os.environ, "TIDINGS_DIRECTORY": directory}


def start(name, *arguments):
    return subprocess.Popen(
        [os.path.join(build, name), *arguments], stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True, env=environment)


def expect(*patterns):
    """Reads lines until each pattern was in one, in this order."""
    for pattern in patterns:
        for line in shop.stdout:
            if re.search(pattern, line):
                break
        else:
            sys.exit(f"the example has ended without a line with {pattern}")


def tell(process, line):
    process.stdin.write(line + "\n")
    process.stdin.flush()


shop = peer = None
try:
    shop = start("Shop")
    expect(r"prices are times 1\.0")
    peer = start("ServicePeer", "com.example.shop")
    tell(peer, "product 7")
    expect("product 7 has changed", r"trace=00-[0-9a-f]{32}-[0-9a-f]{16}-01 .* process com\.example\.shop\.invalidated")
    tell(peer, "price 0.9")
    expect(r"prices are times 0\.9")
    tell(shop, "")
    expect(r'tidings_delivered_total{center="com\.example\.shop",name="com\.example\.shop\.invalidated"} 1',
           r'tidings_up{center="com\.example\.shop"} 1')
    tell(peer, "product 8")
    tell(peer, "end")  # not a command: what was told before is done
    peer.stdout.readline()
    shop.send_signal(signal.SIGTERM)
    expect("product 8 has changed", r"tidings_delivered_total{.*} 2")
    if shop.wait() != 0:
        sys.exit(f"the example ended with {shop.returncode}")
    print("the example does what its page says")
finally:
    for process in filter(None, (shop, peer)):
        process.kill()
    shutil.rmtree(directory)
