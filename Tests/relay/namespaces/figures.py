#!/usr/bin/env python3
"""What a relay costs: two centers and their relays on this machine, beside the library of the transport alone.

    Tests/relay/namespaces/figures.py COMMAND TRANSPORTS [nats|tls…]

COMMAND is `tidings` with the trait Relay, TRANSPORTS the program LinkTransports (Tests/link), both optimized. For each
transport: the median time from a post here to its arrival at an observer there (64 bytes, 300 µs apart, so that all
threads sleep), beside half of the library's round trip, and beside a post to an observer of the same center, which no
relay observes; and a stream, beside the library's own. Taken by turns, three times; the middle of three is printed. Then
what a relay adds to the processor time of a local post, in a stream: the median of 21.
"""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
SERVER = shutil.which("nats-server") or "/usr/sbin/nats-server"
STREAM = 250000
COSTS = 21


def main():
    command, transports, *kinds = sys.argv[1:]
    work = pathlib.Path(tempfile.mkdtemp(prefix="tidings-figures."))
    shared = pathlib.Path(tempfile.mkdtemp(prefix="tidings-figures.", dir="/dev/shm"))
    started = []
    try:
        subprocess.run(["bash", ROOT / "Tests/link/certificates.sh", work], check=True)
        host = work / "host"
        sources = sorted((ROOT / "CShim/src").rglob("*.c"))
        subprocess.run([os.environ.get("CC", "cc"), "-std=gnu17", "-D_GNU_SOURCE", "-O2", f"-I{ROOT}/CShim/include",
                        f"-I{ROOT}/CShim/src", ROOT / "Tests/relay/namespaces/host.c", *sources, "-pthread", "-o", host],
                       check=True)
        for kind in kinds or ["nats", "tls"]:
            measure(kind, command, transports, work, shared, host, started)
    finally:
        for process in started:
            process.kill()
            process.wait()
        shutil.rmtree(work)
        shutil.rmtree(shared)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def measure(kind, command, transports, work, shared, host, started):
    port = free_port()
    if kind == "nats":
        started.append(subprocess.Popen([SERVER, "-a", "127.0.0.1", "-p", str(port)], stderr=subprocess.DEVNULL))
    environments = []
    for side in (0, 1):
        directory = shared / f"{kind}{side}"
        directory.mkdir()
        environments.append({**os.environ, "TIDINGS_DIRECTORY": str(directory)})
        subprocess.run([host, "create", "player", "262144"], env=environments[side], check=True)
        link = {"name": "figures", "out": ["f.*"], "in": ["f.*"], "url": f"nats://127.0.0.1:{port}"}
        if kind == "tls":
            link.update({"url": f"tls{'' if side else '-listen'}://127.0.0.1:{port}", "tls-ca": f"{work}/authority.pem",
                         "tls-cert": f"{work}/relay.pem", "tls-key": f"{work}/relay.key"})
        (work / f"{kind}{side}.json").write_text(json.dumps({"links": [link]}))
        log = open(work / f"{kind}{side}.log", "w+")
        started.append(subprocess.Popen([command, "relay", "--center", "player", "--config", work / f"{kind}{side}.json"],
                                        env=environments[side], stdout=log, stderr=log))
    relays = started[-2:]
    while not all("connected with center" in (work / f"{kind}{side}.log").read_text() for side in (0, 1)):
        if any(relay.poll() is not None for relay in relays):
            sys.exit("a relay ended: " + (work / f"{kind}0.log").read_text() + (work / f"{kind}1.log").read_text())

    def stamp(center, name, count, pause=0):
        return int(subprocess.run([host, "stamp", center, name, str(count), str(pause)], env=environments[0], check=True,
                                  stdout=subprocess.PIPE, text=True).stdout) / 1000

    def cost():
        """The processor time of a post: alone, with an awake observer, with a relay that does not send it, and that does."""
        rows = [[], [], [], []]
        for center in "alone", "watched":
            subprocess.run([host, "create", center, "262144"], env=environments[0], check=True)
        watcher = subprocess.Popen([host, "watch", "watched"], env=environments[0])
        started.append(watcher)
        for _ in range(COSTS):
            for row, (center, name) in zip(rows, [("alone", "f.c"), ("watched", "f.c"), ("player", "g.c"), ("player", "f.c")]):
                row.append(stamp(center, name, 50000))
                time.sleep(0.2)  # the others catch up, so that they do not slow the next row
        watcher.kill()
        alone, *others = (sorted(row)[COSTS // 2] for row in rows)
        return f"post {alone:.0f} ns; with an awake observer, a relay of other names, a relay of the name: " + ", ".join(
            f"{other / alone:.2f} ×" for other in others)

    def run(count, pause, name="f.a", side=1):
        taker = subprocess.Popen([host, "time", "player", name, str(count)], env=environments[side],
                                 stdout=subprocess.PIPE, text=True)
        taker.stdout.readline()
        stamp("player", name, count, pause)
        taken, median, span = map(int, taker.communicate()[0].split())
        return median / 1000, taken / span * 1e9, count - taken

    run(500, 300)  # the name is known everywhere
    latencies, locals_, rates, halves, bares, lost = [], [], [], [], [], 0
    for _ in range(3):
        output = subprocess.run([transports, kind, work, str(port + 1 if port < 65000 else port - 9), "bare"], check=True,
                                stdout=subprocess.PIPE, text=True).stdout.split()
        halves.append(int(output[-2]) / 1000)
        bares.append(int(output[-1]))
        latencies.append(run(3000, 300)[0])
        locals_.append(run(3000, 300, "g.a", 0)[0])
        _, rate, missed = run(STREAM, 0)
        rates.append(rate)
        lost += missed
    latency, local, rate, half, bare = (sorted(values)[1] for values in (latencies, locals_, rates, halves, bares))
    print(f"{kind}: post to arrival {latency:.1f} µs, half of the library's round trip {half:.1f} µs ({latency / half:.2f} ×), "
          f"in one center {local:.1f} µs; stream {rate:.0f} a second, the library's {bare} ({rate / bare:.2f} ×), {lost} missed", flush=True)
    print(f"{kind}: {cost()}", flush=True)
    for process in relays:
        process.kill()


main()
