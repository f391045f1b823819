#!/usr/bin/env python3
"""The relay: several centers of this machine stand for those of several machines, and a real nats-server joins them.

    Tests/relay/relay.py COMMAND PEER [SCENE…] [--seed SEED] [--count N] [--hang SECONDS]

COMMAND is the command `tidings` with the trait Relay, PEER the built peer.c. The scenes:

origin     A notification reaches a second center with its origin, subject, format and poster. Retained values that
           were set before the connection are equal at both ends afterwards; clears pass, too.
stream     Two centers post at the same time. Each notification arrives once, in order.
server     The same, while the server is killed and started again, and is stopped.
kills      The same, while the relays are killed and started again.
lapped     A relay is stopped while its ring goes round: what was lost is counted exactly.
standby    A second relay takes the place of one that is stopped and killed, or ended. What the ring loses meanwhile is
           counted exactly. If the second one was stopped, too, not less is counted than was lost. If it does not take
           the place of one that is killed, a third one does.
triangle   Three centers, each linked with each: every notification arrives once.
held       A lossless observer holds posts back at the destination: the origin's posters do not wait for it, and the
           destination's own notifications go on. Nothing is lost.
lossless   A link keeps names in a small ring until the other end has them: posters wait for a relay that stands still,
           and nothing is lost. After the timeout they do not wait, and the losses are counted.
requests   Programs call servers of another machine: replies, failures, parts, large ones, many at a time; only what both
           lists allow. A server that dies, a caller that gives up, a relay that stands still or dies, a cut: each ends
           the call as the local interface says. Servers of the own center go first.
limit      A link takes payloads up to a size. A larger notification is counted as lost, a larger value does not pass,
           and a larger request is refused.
rate       A link takes so many notifications a second, and loses none.
loops      A request that came by a link goes to no other one.
presence   Participants of another machine join, leave and die. A short interruption ends none; those of a relay that
           stands still, or of the own one that is killed, are gone.
links      Two links join the same centers: each notification arrives once. SIGHUP takes one of them away and adds one
           to a third center, and nothing is lost.
reload     SIGHUP adds a link's name without a gap. A file that is not valid changes nothing.
idle       An idle link sends at most one message a second in each direction, and its relay hardly computes.
bad        Each bad input has its line.
stat       `tidings stat` and `tidings doctor` show the links.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / ".ci"))
from program import Program

SERVER = shutil.which("nats-server") or "/usr/sbin/nats-server"
NAMES = "com.example.*"
SILENCE = 5  # seconds after which a relay takes the other one for gone


class Wrong(Exception):
    pass


def expect(condition, *values):
    if not condition:
        raise Wrong(" ".join(map(str, values)))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    def __init__(self, *options):
        self.port, self.monitor = free_port(), free_port()
        self.options = options
        self.start()

    @property
    def url(self):
        return f"nats://127.0.0.1:{self.port}"

    def start(self):
        self.process = subprocess.Popen(
            [SERVER, "-a", "127.0.0.1", "-p", str(self.port), "-m", str(self.monitor), *self.options],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        running.append(self.process)
        while True:  # until it takes connections
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except ConnectionRefusedError:
                time.sleep(0.01)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def messages(self):
        """Messages that its clients have sent to it, by the name of the connection."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.monitor}/connz") as reply:
            return [connection["in_msgs"] for connection in json.load(reply)["connections"]]


class Site:
    """A center, and its relay."""

    def __init__(self, name, slots=65536, *more):
        self.name = name
        command("create", name, "--slots", str(slots), *more)
        self.relay = None

    def relays(self, *arguments):
        self.arguments = arguments
        self.relay = program("relay", "--center", self.name, *arguments)
        self.relay.says("relaying center")

    def link(self, server, *more, name="default", out=NAMES, accepts=NAMES):
        self.relays("--link", server.url, "--name", name, "--out", out, "--in", accepts, *more)

    def connected(self, other):
        self.relay.says(f"connected with center {other.name} ")

    def kill(self):
        self.relay.process.kill()
        self.relay.process.wait()

    def again(self):
        self.relay = program("relay", "--center", self.name, *self.arguments)
        self.relay.says("relaying center")

    def checker(self, ends):
        checker = start([peer, "check", self.name, "com.example.", str(ends)])
        expect(checker.stdout.readline() == "ready\n", "the checker is not ready")
        return checker

    def poster(self, name, count, pause=0):
        return start([peer, "post", self.name, name, str(count), str(pause)])

    def post(self, name, count=1):
        expect(self.poster(name, count).wait() == 0, "a poster failed")

    def state(self, name):
        return command("state", "get", "--center", self.name, name, check=False).stdout.strip()

    def figure(self, name):
        """What the relay's state says of its first link; `None`: it has set none yet."""
        state = self.state("tidings.relay.links")
        return json.loads(state)["links"][0][name] if state else None


def program(*arguments):
    one = Program(tidings, *arguments)
    running.append(one.process)
    return one


def start(arguments):
    one = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    running.append(one)
    return one


def command(*arguments, check=True, given=None):
    result = subprocess.run([tidings, *arguments], capture_output=True, text=True, input=given)
    if check and result.returncode:
        raise Wrong(f"tidings {' '.join(arguments)}: {result.stderr.strip()}")
    return result


def accounts(checker):
    """What a checker has counted when it has ended: the accounts, and how many were its center's own."""
    lines = checker.stdout.read().splitlines()
    expect(checker.wait() == 0, "the checker failed")
    result = {}
    for line in lines[:-1]:
        name, *numbers = line.rsplit(" ", 8)
        incarnation, name = name.split(" ", 1)
        keys = ("received", "first", "last", "lost", "base", "count", "twice", "wrong")
        result[name] = dict(zip(keys, map(int, numbers)), origin=incarnation)
    own, missed = int(lines[-1].split()[1]), int(lines[-1].split()[3])
    return result, own, missed


def balanced(checker, posted, lossless=True):
    """Each name of `posted` arrived as often as it was posted, or was counted as lost; once, and in order."""
    found, _, missed = accounts(checker)
    for name, count in posted.items():
        account = found.get(name)
        expect(account, name, "has not arrived at all")
        expect(account["twice"] == 0 and account["wrong"] == 0, name, account)
        expect(missed > 0 or account["received"] + account["lost"] == count, name, account, "posted", count)
        if lossless:
            expect(account["lost"] == 0 and account["received"] == count, name, account, "posted", count)
    return found


def wait_until(condition):
    """For what tells of no event to wait for. The limit of the scene ends it."""
    while not condition():
        time.sleep(0.02)


def pair(server, *more, slots=(65536, 65536)):
    a, b = Site("a", slots[0]), Site("b", slots[1])
    a.link(server, *more)
    b.link(server, *more)
    a.connected(b)
    b.connected(a)
    return a, b


# ---- scenes ----------------------------------------------------------------------------------------------------------


def scene_origin():
    server = Server()
    a, b = Site("a"), Site("b")
    command("state", "set", "--center", "a", "com.example.only.a", "1")
    command("state", "set", "--center", "b", "com.example.only.b", "2")
    command("state", "set", "--center", "a", "com.example.both", '"older"')
    command("state", "set", "--center", "b", "com.example.both", '"newer"')
    command("state", "set", "--center", "a", "com.other.value", "3")
    a.link(server, "--retained")
    b.link(server, "--retained")
    a.connected(b)
    b.connected(a)
    for site in a, b:
        wait_until(lambda: site.state("com.example.only.a") == "1" and site.state("com.example.only.b") == "2"
                   and site.state("com.example.both") == '"newer"')
    expect(b.state("com.other.value") == "", "a value of a name that does not pass has passed")
    observer = program("observe", "--center", "b", "com.example.*", "--format", "json")
    observer.says("observing")
    remote = program("observe", "--center", "b", "com.example.*", "--origin", "remote", "--format", "json")
    local = program("observe", "--center", "b", "com.example.*", "--origin", "local", "--format", "json")
    remote.says("observing")
    local.says("observing")
    checker = b.checker(1)
    poster = subprocess.Popen([tidings, "post", "--center", "a", "com.example.hello", "--subject", "s", "--json", '{"n": 1}'])
    expect(poster.wait() == 0, "the post failed")
    line = json.loads(observer.says("hello"))
    expect(line["payload"] == {"n": 1} and line["subject"] == "s", line)
    expect("origin" in line, "no origin", line)
    origin = line["origin"]
    expect(origin["center"] == "a" and origin["host"] == socket.gethostname(), line)
    expect(origin["pid"] == poster.pid and origin["uid"] == os.getuid(), line, "posted by", poster.pid)
    expect(line["pid"] == b.relay.process.pid, line)
    # A name that a subject of NATS could not have.
    odd = "com.example.odd .> * \u00e9"
    command("post", "--center", "a", odd)
    command("post", "--center", "b", "com.example.local")
    expect(json.loads(remote.says("hello"))["origin"]["center"] == "a", "a remote one")
    expect(json.loads(remote.says("odd"))["name"] == odd, "an odd name")
    line = {"name": ""}
    while line["name"] != "com.example.local":
        line = json.loads(local.says("{"))
        expect("origin" not in line, "a remote one", line)
    command("state", "set", "--center", "a", "com.example.both", "null", check=False)
    command("state", "clear", "--center", "a", "com.example.only.b")
    a.post("com.example.end")
    found, own, _ = accounts(checker)
    expect(b.state("com.example.only.b") == "", "a value that was cleared before the end", b.state("com.example.only.b"))
    expect(own == 1, "a relayed notification has no origin", own)
    expect(found["com.example.hello"]["received"] == 1, found)
    expect(found["com.example.hello"]["origin"] == origin["incarnation"], found, line)
    origins = json.loads(b.state("tidings.relay.origins"))
    expect([origin["center"] for origin in origins] == ["b", "a"], origins)
    expect(f"{origins[1]['incarnation']:x}" == found["com.example.hello"]["origin"], origins, found)


def streams(a, b, count, during=lambda: None, lossless=True, pause=0):
    checkers = [(b, b.checker(1), "com.example.a"), (a, a.checker(1), "com.example.b")]
    posters = [a.poster("com.example.a", count, pause), b.poster("com.example.b", count, pause)]
    during()
    for poster in posters:
        expect(poster.wait() == 0, "a poster failed")
    a.post("com.example.a")
    a.post("com.example.end")
    b.post("com.example.b")
    b.post("com.example.end")
    # The first number of the post behind the stream is 0 again: its own poster.
    for _, checker, name in checkers:
        found, _, missed = accounts(checker)
        account = found[name]
        expect(account["twice"] == 0 and account["wrong"] <= 1, name, account)
        expect(missed == 0, "the checker itself missed", missed)
        expect(account["received"] + account["lost"] == count + 1, name, account, "posted", count + 1)
        expect(not lossless or account["lost"] == 0, name, account)


def scene_stream():
    a, b = pair(Server())
    streams(a, b, options.count)


def scene_server():
    server = Server()
    a, b = pair(server)

    def during():
        for _ in range(3):
            server.kill()
            time.sleep(chance.random() / 2)
            server.start()
            a.connected(b)
            b.connected(a)
        server.process.send_signal(signal.SIGSTOP)
        a.relay.says("does not answer|disconnected")
        server.process.send_signal(signal.SIGCONT)
        a.connected(b)

    streams(a, b, options.count // 10, during, pause=200)


def scene_kills():
    a, b = pair(Server())
    # What is posted without a relay, the next one sends.
    checker = b.checker(1)
    a.post("com.example.a", 10)
    wait_until(lambda: b.figure("posted") == 10)
    a.kill()
    a.post("com.example.a", 100)
    a.again()
    a.connected(b)
    b.connected(a)
    a.post("com.example.end")
    found, _, missed = accounts(checker)
    account = found["com.example.a"]
    expect(missed == 0 and account["received"] == 110 and account["lost"] == account["twice"] == 0, account)

    def during():
        for _ in range(6):
            site = chance.choice((a, b))
            other = b if site is a else a
            time.sleep(chance.random() / 4)
            site.kill()
            site.again()
            site.connected(other)

    streams(a, b, options.count // 10, during, pause=100)


def scene_lapped():
    a, b = pair(Server(), slots=(256, 65536))
    checker = b.checker(1)
    a.post("com.example.a", 10)
    wait_until(lambda: a.figure("unacknowledged") == 0)
    a.relay.process.send_signal(signal.SIGSTOP)
    a.post("com.example.a", 1000)
    a.post("com.example.late", 300)  # the relay has not met this name before its ring went round
    a.post("com.example.a", 1000)
    a.relay.process.send_signal(signal.SIGCONT)
    a.post("com.example.a", 5)
    a.post("com.example.late", 5)
    a.post("com.example.end")
    found, _, missed = accounts(checker)
    expect(missed == 0, "the checker itself missed", missed)
    account = found["com.example.a"]
    expect(account["received"] + account["lost"] == 2015 and account["lost"] > 0, found)
    expect(account["twice"] == 0, found)


def scene_standby():
    server = Server()
    a, b = Site("a", 256), Site("b")
    a.link(server)
    b.link(server)
    a.connected(b)
    b.connected(a)

    def stand_by():
        one = program("relay", "--center", "a", *a.arguments, "--standby")
        one.says("standing by")
        return one

    def is_level(one):
        stat = json.loads(command("stat", "--center", "a", "--json").stdout)
        own = [each for each in stat["participants"] if each["pid"] == one.process.pid and each["observers"]]
        return own and all(each.get("distance") == 0 for each in own)

    def take_over(one):
        a.relay = one
        one.says("has ended; this one goes on")
        a.connected(b)

    def post(name, count):
        a.post(f"com.example.{name}", count)
        posted[name] += count

    def judged(lost):
        post("a", 5)
        post("b", 5)
        a.post("com.example.end")
        found, _, missed = accounts(checker)
        expect(missed == 0, "the checker itself missed", missed)
        result = {name: found[f"com.example.{name}"] for name in posted}
        for name, account in result.items():
            expect(account["twice"] == 0, name, account)
            result[name]["new"] = account["received"] + account["lost"] - lost.get(name, 0)
        return result

    posted = dict.fromkeys("ab", 0)
    checker = b.checker(1)
    standby = stand_by()
    # The relay stands still while the ring goes round, and is killed.
    post("a", 10)
    post("b", 10)
    wait_until(lambda: b.figure("posted") == 20)
    a.relay.process.send_signal(signal.SIGSTOP)
    for _ in range(10):
        post("a", 60)
        post("b", 40)
        wait_until(lambda: is_level(standby))
    a.kill()
    take_over(standby)
    # A relay that ends leaves nothing out.
    standby = stand_by()
    post("a", 10)
    a.relay.process.terminate()
    expect(a.relay.process.wait() == 0, "SIGTERM has not ended a relay well")
    post("b", 10)
    take_over(standby)
    found = judged({})
    for name, account in found.items():
        expect(account["lost"] > 0 and account["new"] == posted[name], name, account, "posted", posted)
    # One that stands by ends like any other one, and does not stand in the way of the next one if it is stopped.
    standby = stand_by()
    standby.process.terminate()
    expect(standby.process.wait() == 0, "SIGTERM has not ended a relay well")
    standby = stand_by()
    expect("another relay has it" in command("relay", "--center", "a", *a.arguments, check=False).stderr, "a third relay")
    standby.process.send_signal(signal.SIGSTOP)
    a.kill()
    a.again()
    a.connected(b)
    standby.process.kill()
    # Both stand still.
    posted = dict.fromkeys("ab", 0)
    checker = b.checker(1)
    standby = stand_by()
    for one in a.relay, standby:
        one.process.send_signal(signal.SIGSTOP)
    post("a", 400)
    post("b", 400)
    standby.process.send_signal(signal.SIGCONT)
    a.kill()
    take_over(standby)
    for name, account in judged({name: account["lost"] for name, account in found.items()}).items():
        expect(account["new"] >= posted[name], name, account, "posted", posted)


def scene_triangle():
    server = Server()
    sites = [Site(name) for name in "abc"]
    for site in sites:
        config = {"links": [
            {"name": "-".join(sorted((site.name, other.name))), "url": server.url, "out": [NAMES], "in": [NAMES]}
            for other in sites if other is not site]}
        path = os.path.join(directory, f"{site.name}.json")
        pathlib.Path(path).write_text(json.dumps(config))
        site.relays("--config", path)
    for site in sites:
        for _ in range(2):
            site.relay.says("connected with center")
    checkers = [site.checker(2) for site in sites]
    posters = [site.poster(f"com.example.{site.name}", options.count // 10) for site in sites]
    for site, poster in zip(sites, posters):
        expect(poster.wait() == 0, "a poster failed")
        site.post("com.example.end")
    for site, checker in zip(sites, checkers):
        found, own, _ = accounts(checker)
        expect(own == options.count // 10 + 1, "own notifications came back", own)
        for other in sites:
            if other is not site:
                account = found[f"com.example.{other.name}"]
                expect(account["received"] == options.count // 10 and not account["lost"] and not account["wrong"], account)


def scene_held():
    a, b = pair(Server(), slots=(65536, 256))
    holder = start([peer, "hold", "b", "com.example.a"])
    expect(holder.stdout.readline() == "ready\n", "the holder is not ready")
    checker = a.checker(1)
    # The posters of the origin wait for nothing. The ring of the destination is full after 256.
    a.post("com.example.a", 200)
    a.post("com.example.a", 200)
    b.relay.says("waits: ")
    # What the destination has to say goes out meanwhile: it needs no room in a ring but the origin's.
    holder.terminate()
    expect(holder.wait() == 0, "the holder failed")
    b.post("com.example.b", 3)
    b.post("com.example.end")
    found = balanced(checker, {"com.example.b": 3})
    expect(found, "nothing has arrived")
    wait_until(lambda: (b.figure("posted") or 0) >= 400)


def scene_lossless():
    server = Server()
    a, b = Site("a", 256), Site("b")
    keep = ("--lossless", "com.example.a", "--lossless-timeout")
    a.link(server, *keep, "60s")
    b.link(server)
    a.connected(b)
    b.connected(a)
    # Many times round the ring, and the other end stands still meanwhile. Other names are not kept.
    checker = b.checker(1)
    poster = a.poster("com.example.a", 20000)
    for _ in range(3):
        b.relay.process.send_signal(signal.SIGSTOP)
        time.sleep(chance.random() / 2)
        b.relay.process.send_signal(signal.SIGCONT)
        time.sleep(chance.random() / 20)
    expect(poster.wait() == 0, "a poster failed")
    a.post("com.example.a", 1000)
    a.post("com.example.end")
    found, _, missed = accounts(checker)
    account = found["com.example.a"]
    expect(missed == 0 and account["lost"] == 0 and account["received"] == 21000 and account["twice"] == 0, account)
    # The other end acknowledges nothing for longer than the timeout: the poster goes on, and losses are counted.
    a.relay.process.terminate()
    a.relay.process.wait()
    a.link(server, *keep, "1s")
    a.connected(b)
    b.connected(a)
    checker = b.checker(1)
    b.relay.process.send_signal(signal.SIGSTOP)
    a.post("com.example.a", 2000)
    a.relay.says("has acknowledged nothing for 1.0 seconds; posts do not wait")
    picture = json.loads(command("stat", "--center", "a", "--json").stdout)
    expect(picture["relay"]["links"][0]["holdsPosts"] is False, picture["relay"])
    b.relay.process.send_signal(signal.SIGCONT)
    a.relay.says("are kept for it again")
    a.post("com.example.a", 1000)
    a.post("com.example.end")
    found, _, missed = accounts(checker)
    account = found["com.example.a"]
    expect(missed == 0 and account["received"] + account["lost"] == 3000 and account["lost"] > 0, account)
    expect(account["received"] >= 1000 and account["twice"] == 0, account)


def serve(site, name, script, *more):
    one = program("serve", "--center", site.name, name, "--exec", script, *more)
    one.says(f"serving {name}")
    servers.setdefault(site.name, []).append(one)
    return one


def request(site, name, *more, given="{}"):
    return command("request", "--center", site.name, name, "--json", given, "--timeout", "10m", *more, check=False)


def request_begins(site, name, *more):
    arguments = [tidings, "request", "--center", site.name, name, "--json", "{}", "--timeout", "10m", *more]
    one = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    running.append(one)
    return one


def ends(call, line):
    _, errors = call.communicate()
    expect(call.returncode == 1 and line in errors, "a call that was to end with", line, "ended with", errors)


def scene_requests():
    server = Server()
    a, b = Site("a"), Site("b")
    a.relays("--link", server.url, "--call", "com.example.*")
    b.relays("--link", server.url, "--serve", "com.example.r*", "--out", NAMES, "--in", NAMES)
    a.connected(b)
    b.connected(a)
    expect("no process serves it" in request(a, "com.example.render").stderr, "a server where there is none")
    secret = serve(b, "com.example.secret", "cat")
    render = serve(b, "com.example.render", "cat", "--concurrency", "4")
    wait_until(lambda: request(a, "com.example.render").returncode == 0)
    expect("no process serves it" in request(a, "com.example.secret").stderr, "a name that the link does not serve")
    expect(request(a, "com.example.render", given='{"page": 3}').stdout.strip() == '{"page":3}', "another reply")
    secret.process.kill()
    # Many at a time.
    calls = [request_begins(a, "com.example.render") for _ in range(12)]
    expect(all(call.wait() == 0 for call in calls), "one of many calls failed")
    # Failures, parts, a large reply.
    fails = serve(b, "com.example.rfails", "echo no such page >&2; exit 3")
    lines = serve(b, "com.example.rlines", "seq 20", "--lines")
    large = serve(b, "com.example.rlarge", "head -c 3000000 /dev/zero | tr '\\0' x")
    wait_until(lambda: "its server failed" in request(a, "com.example.rfails").stderr)
    wait_until(lambda: "no process serves it" not in request(a, "com.example.rlines").stderr)
    replies = request(a, "com.example.rlines", "--stream").stdout.split()
    expect(replies == [str(number) for number in range(1, 21)], replies)
    wait_until(lambda: len(request(a, "com.example.rlarge").stdout.strip()) == 3000002)
    for one in fails, lines, large:
        one.process.kill()
    # A caller that gives up: the handler learns of it.
    notes = pathlib.Path(directory) / "notes"
    slow = f"echo began >>{notes}; trap 'echo stopped >>{notes}; exit 1' TERM; sleep 100 & wait"
    one = serve(b, "com.example.rslow", slow)

    def begun(*more):
        notes.write_text("")
        call = request_begins(a, "com.example.rslow", *more)
        wait_until(lambda: "began" in notes.read_text() or call.poll() is not None)
        return call

    wait_until(lambda: "com.example.rslow" in served(a))
    call = begun()
    wait_until(lambda: a.figure("calls") == 1)
    call.send_signal(signal.SIGKILL)
    wait_until(lambda: "stopped" in notes.read_text())
    # The server dies.
    call = begun()
    one.process.kill()
    ends(call, "its server has ended")
    wait_until(lambda: "com.example.rslow" not in served(a))
    # Another one receives an idempotent request.
    two = [serve(b, "com.example.rslow", slow) for _ in range(2)]
    wait_until(lambda: "com.example.rslow" in served(a))
    call = begun("--idempotent")
    for one in two:
        expect(notes.read_text().count("began") == 1, notes.read_text())
        children = subprocess.run(["pgrep", "-P", str(one.process.pid)], capture_output=True, text=True).stdout
        if children.strip():
            one.process.kill()
            wait_until(lambda: notes.read_text().count("began") == 2)
            break
    call.kill()
    # The link is cut, the other relay stands still, the own relay dies.
    call = begun()
    server.kill()
    ends(call, "its server has ended")
    wait_until(lambda: "stopped" in notes.read_text())
    server.start()
    b.connected(a)
    wait_until(lambda: "com.example.rslow" in served(a))
    call = begun()
    b.relay.process.send_signal(signal.SIGSTOP)
    ends(call, "its server has ended")
    b.relay.process.send_signal(signal.SIGCONT)
    wait_until(lambda: "com.example.rslow" in served(a))
    call = begun()
    a.kill()
    ends(call, "its server has ended")
    a.again()
    wait_until(lambda: "com.example.render" in served(a))
    # A server of the own center goes first: the relay no longer serves beside it.
    alone = served(a)["com.example.render"]
    own = serve(a, "com.example.render", "echo 7")
    wait_until(lambda: request(a, "com.example.render").stdout.strip() == "7")
    wait_until(lambda: served(a)["com.example.render"] == alone)
    expect(all(request(a, "com.example.render").stdout.strip() == "7" for _ in range(5)), "not the own server")
    own.process.kill()
    wait_until(lambda: request(a, "com.example.render").stdout.strip() == "{}")


def scene_limit():
    server = Server()
    a, b = Site("a"), Site("b")
    a.link(server, "--call", NAMES, "--retained")
    b.link(server, "--serve", NAMES, "--retained", "--maximum-payload", "1KiB")
    a.connected(b)
    b.connected(a)
    checker = b.checker(1)
    for size in 1024, 1025, 1:
        command("post", "--center", "a", "com.example.sized", "--text", "x" * size)
    serve(b, "com.example.render", "cat")
    wait_until(lambda: request(a, "com.example.render").returncode == 0)
    refused = request(a, "com.example.render", given=json.dumps("x" * 2000))
    expect(refused.returncode == 1 and "1024" in refused.stderr, refused)
    command("state", "set", "--center", "a", "com.example.large", json.dumps("x" * 2000))
    command("state", "set", "--center", "a", "com.example.small", "1")
    wait_until(lambda: b.state("com.example.small") == "1")
    expect(b.state("com.example.large") == "", "a value above the limit")
    a.post("com.example.end")
    found, _, _ = accounts(checker)
    account = found["com.example.sized"]
    expect(account["received"] == 2 and account["lost"] == 1, account)


def scene_rate():
    a, b = Site("a"), Site("b")
    server = Server()
    a.link(server)
    b.link(server, "--rate", "1000")
    a.connected(b)
    b.connected(a)
    checker = b.checker(1)
    begin = time.monotonic()
    a.post("com.example.a", 5000)
    a.post("com.example.end")
    balanced(checker, {"com.example.a": 5000})
    # The first second's share is there at once, and a last frame may go beyond a share. Nothing bounds it from above.
    seconds = time.monotonic() - begin
    expect(seconds > 2, f"5000 notifications have passed within {seconds:.1f} s")


def scene_loops():
    server = Server()
    a, b, c = sites = [Site(name) for name in "abc"]
    for site, links in (a, ["ab"]), (b, ["ab", "bc"]), (c, ["bc"]):
        path = os.path.join(directory, f"{site.name}.json")
        pathlib.Path(path).write_text(json.dumps({"links": [
            {"name": link, "url": server.url, "serve": ["*"], "call": ["*"]} for link in links]}))
        site.relays("--config", path)
    a.connected(b)
    c.connected(b)
    # What comes by a link goes to no other one: b calls c, and a does not.
    serve(c, "com.example.work", "echo 3")
    wait_until(lambda: request(b, "com.example.work").stdout.strip() == "3")
    expect("com.example.work" not in served(a), "a link serves what another link brings")
    # Also if the relay of b is a server of the name, because a call that it passes on to c goes on, and its own server
    # ends with a call of a that it has not received.
    kill_all(c)
    notes = pathlib.Path(directory) / "notes"
    notes.write_text("")
    serve(c, "com.example.work", f"echo c >>{notes}; sleep 100")
    wait_until(lambda: "com.example.work" in served(b))
    request_begins(b, "com.example.work")
    wait_until(lambda: notes.read_text() == "c\n")
    own = serve(b, "com.example.work", f"echo b >>{notes}; sleep 100", "--concurrency", "1")
    wait_until(lambda: "com.example.work" in served(a))
    request_begins(a, "com.example.work")
    wait_until(lambda: notes.read_text() == "c\nb\n")
    waits = request_begins(a, "com.example.work")
    wait_until(lambda: a.figure("calls") == 2)
    wait_until(lambda: b.figure("answering") == 2)
    own.process.kill()
    _, errors = waits.communicate()
    expect("none received it" in errors, errors)
    expect(notes.read_text() == "c\nb\n", "a call went over two links", notes.read_text())


def kill_all(site):
    """Ends the servers of this center."""
    for one in servers.pop(site.name, []):
        one.process.kill()
        one.process.wait()


def scene_presence():
    server = Server()
    a, b = Site("a"), Site("b")
    for site in a, b:
        site.relays("--link", server.url, "--announce", "--show")
    a.connected(b)
    b.connected(a)
    observer = program("observe", "--center", "b", "--presence", "--origin", "remote")
    observer.says("observing presence on other machines")
    observer.says(r"joined .*: relay on .*, center a")

    def participant(role):
        one = program("observe", "--center", "a", "com.example.x", "--announce", role)
        one.says("observing")
        return one

    one, two = participant("one"), participant("two")
    for role in "one", "two":
        observer.says(f"joined .*: {role} on .*, center a")
    roles = [one.get("role") for one in json.loads(command("stat", "--center", "b", "--json").stdout)["participants"]]
    expect("one" not in roles, "a remote participant passes for a local one", roles)
    one.process.kill()
    line = observer.says("")
    expect(line.startswith("died") and ": one on" in line, line)
    two.process.terminate()
    observer.says("closed .*: two on")
    # An interruption that is shorter than the limit for silence ends no participant. Whatever was heard of the three was
    # heard after this moment.
    begin = time.monotonic()
    three = participant("three")
    observer.says("joined .*: three on")
    server.kill()
    a.relay.says("disconnected")
    server.start()
    a.connected(b)
    b.connected(a)
    four = participant("four")
    lines = [observer.says("")]
    while sum(1 if line.startswith("joined") else -1 for line in lines) < 1:
        lines.append(observer.says(""))
    passed = time.monotonic() - begin
    expect(passed >= SILENCE or len(lines) == 1 and ": four on" in lines[0], "after an interruption:", lines, passed)
    # The relay of the other machine is silent: its participants have died, and come again.
    a.relay.process.send_signal(signal.SIGSTOP)
    for _ in range(3):
        expect(observer.says("").startswith("died"), "a silent machine")
    a.relay.process.send_signal(signal.SIGCONT)
    for _ in range(3):
        expect(observer.says("").startswith("joined"), "a machine that comes back")
    # The own relay dies: nothing is known of other machines.
    b.kill()
    for _ in range(3):
        expect(observer.says("").startswith("left"), "the own relay")
    b.again()
    observer.says("joined .*: four on")
    b.relay.process.terminate()
    expect(b.relay.process.wait() == 0, "SIGTERM has not ended a relay well")
    observer.says("left .*: four on")
    # A center that has no room for the whole list shows the first ones, and the last ones when those have left.
    c = Site("c", 65536, "--maximum-payload", "2048")
    c.relays("--link", server.url, "--announce", "--show")
    c.connected(a)
    observer = program("observe", "--center", "c", "--presence", "--origin", "remote")
    observer.says("observing presence on other machines")
    many = [participant(f"many-{number}") for number in range(24)]
    c.relay.says("can't show .* the first .* are shown")
    for one in many[:20]:
        one.process.terminate()
    observer.says("joined .*: many-23 on")


def served(site):
    """The request names that processes serve in this center, and how many observers each has: the same for each server."""
    names = json.loads(command("stat", "--center", site.name, "--json").stdout)["names"]
    return {name["name"].removeprefix("tidings.requests."): name["observers"] for name in names if name["observers"]}


def scene_links():
    server = Server()
    a, b, c = Site("a"), Site("b"), Site("c")

    def write(site, *names):
        path = os.path.join(directory, f"{site.name}.json")
        links = [{"name": name, "url": server.url, "out": [NAMES], "in": [NAMES]} for name in names]
        pathlib.Path(path).write_text(json.dumps({"links": links}))
        return path

    for site in a, b:
        site.relays("--config", write(site, "one", "two"))
    for site, other in (a, b), (b, a):
        for _ in range(2):
            site.connected(other)
    checker = b.checker(1)
    poster = a.poster("com.example.a", 2000, 500)

    def posted():
        state = b.state("tidings.relay.links")
        return sum(link["posted"] for link in json.loads(state)["links"]) if state else 0

    wait_until(lambda: posted() >= 100)
    write(a, "one")
    a.relay.process.send_signal(signal.SIGHUP)
    a.relay.says("read .*: 1 link")
    c.relays("--config", write(c, "three"))
    write(a, "one", "three")
    a.relay.process.send_signal(signal.SIGHUP)
    a.relay.says("read .*: 2 links")
    c.connected(a)
    a.connected(c)
    other = c.checker(1)
    a.post("com.example.new", 3)
    expect(poster.wait() == 0, "the poster failed")
    a.post("com.example.end")
    balanced(checker, {"com.example.a": 2000, "com.example.new": 3})
    balanced(other, {"com.example.new": 3})


def scene_reload():
    server = Server()
    a, b = Site("a"), Site("b")
    path = os.path.join(directory, "a.json")

    def write(*names, text=None):
        link = {"name": "default", "url": server.url, "out": list(names), "in": ["com.example.*"]}
        pathlib.Path(path).write_text(text or json.dumps({"links": [link]}))

    write("com.example.a", "com.example.b", "com.example.end")
    a.relays("--config", path)
    b.link(server)
    a.connected(b)
    b.connected(a)
    checker = b.checker(1)
    poster = a.poster("com.example.a", 2000, 500)
    for text, line in [
        ('{"links": [\n{"name": "default",\n"urk": 1}]}', f'line 3: unknown key "urk" of a link'),
        ("{}", "no links"),
        ('{"links": [{"name": "a b", "url": "nats://x", "out": ["x"]}]}', 'link name "a b"'),
    ]:
        write(text=text)
        a.relay.process.send_signal(signal.SIGHUP)
        a.relay.says(line + ".*the links stay as they are")
    # Without the server, what is posted waits in the ring. The relay must go on before it.
    server.kill()
    a.relay.says("disconnected")
    a.post("com.example.b", 50)
    write("com.example.a", "com.example.b", "com.example.end", "com.example.new")
    a.relay.process.send_signal(signal.SIGHUP)
    a.relay.says("read .*: 1 link")
    server.start()
    a.connected(b)
    a.post("com.example.new", 3)
    expect(poster.wait() == 0, "the poster failed")
    a.post("com.example.end")
    balanced(checker, {"com.example.a": 2000, "com.example.b": 50, "com.example.new": 3})


def scene_idle():
    server = Server()
    a, b = pair(server)
    a.post("com.example.a", 10)
    wait_until(lambda: a.figure("unacknowledged") == 0)
    # What follows the last notification, or reaches a busy server late, is in the first of these times. Each lasts until
    # both relays have sent what an idle one sends in seconds.
    for _ in range(4):
        begin, before, used = time.monotonic(), server.messages(), cpu(a)
        sent = []

        def several():
            sent[:] = [now - then for now, then in zip(server.messages(), before)]
            return min(sent) >= 4

        wait_until(several)
        used, passed = cpu(a) - used, time.monotonic() - begin
        # A beat may lie at each end of the time.
        if max(sent) <= passed + 1 and used <= 0.02 * passed:
            break
    else:
        raise Wrong(f"messages of idle relays {sent} in {passed:.2f} s, with {used:.2f} s of processor time")


def cpu(site):
    fields = pathlib.Path(f"/proc/{site.relay.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def scene_bad():
    a, b = Site("a"), Site("b")

    def refused(line, *arguments, status=1):
        result = command("relay", *arguments, check=False)
        expect(result.returncode == status, arguments, result.returncode, result.stderr)
        expect(line in result.stderr, arguments, result.stderr)
        if status == 1:
            expect(result.stderr.count("\n") == 1, "more than one line:", result.stderr)

    server = Server()
    link = ("--center", "a", "--link", server.url, "--out", NAMES)
    refused("Give --link or --config", "--center", "a", status=64)
    refused("Give the names that pass", "--center", "a", "--link", server.url, status=64)
    refused('can\'t use link name "a.b": use 1 to 64 letters', *link, "--name", "a.b")
    refused('has the URL "http://x": use nats://', "--center", "a", "--link", "http://x", "--out", NAMES)
    refused('sends "com.*.x": use a name', "--center", "a", "--link", server.url, "--out", "com.*.x")
    refused("has lossless names that it does not send", *link, "--lossless", "com.third.a")
    refused("or names that begin with tidings.", "--center", "a", "--link", server.url, "--out", "*", "--lossless", "t*")
    refused("has lossless timeout 0.0 seconds", *link, "--lossless", NAMES, "--lossless-timeout", "0")
    refused("can't read /nowhere: No such file", "--config", "/nowhere")
    for text, line in [
        ("", "line 1: the file is no object"),
        ('{"links": []}', "no links"),
        ('{"links": [{"name": "x"}]}', 'a link without "url"'),
        ('{"links": [{"name": "x", "url": "nats://h",\n "out": "y"}]}', 'line 2: "out" is no list'),
        ('{"links": [{"name": "x", "url": "nats://h", "out": ["y"], "rate": 999}]}', "has rate 999"),
        ('{"links": [{"name": "x", "url": "nats://h", "out": ["y"], "maximum-payload": 0}]}', "maximum payload size 0"),
        ('{"links": [{"name": "x", "url": "nats://h", "out": ["y"], "name": "z"}]}', '"name" occurs twice'),
        ('{"links": [{"name": "x", "url": "nats://h", "out": ["y"]}, {"name": "x", "url": "nats://h", "in": ["y"]}]}',
         'two links have the name "x"'),
        ('{"links": [{"name": "x", "url": "nats://h", "out": ["y\n"]}]}', "a text ends with its line"),
        ('{"links": [{"name": "x", "url": "nats://h", "out": ["\\ud800"]}]}', "an escape is not JSON's"),
        ('{"lines": []}', 'unknown key "lines"'),
    ]:
        path = os.path.join(directory, "bad.json")
        pathlib.Path(path).write_text(text)
        refused(line, "--center", "a", "--config", path)

    # A server that is not there yet: one line, and then a connection.
    late = Server()
    late.kill()
    a.link(late)
    a.relay.says("link default: can't connect to nats://127.0.0.1:.*; trying again")
    late.start()
    # Nothing answers: one line.
    a.relay.says("no relay answers at nats://127.0.0.1:.*; start one with the link name default")
    # A second relay of the center.
    refused("another relay has it", *link)
    # Both ends without a common name.
    b.link(late, out="com.third.*", accepts="com.third.*")
    b.relay.says("neither end sends a name that the other one accepts")
    a.relay.says("neither end sends a name that the other one accepts")
    b.relay.process.terminate()
    expect(b.relay.process.wait() == 0, "SIGTERM has not ended a relay well")
    b.link(late)
    b.connected(a)
    # A third relay with the link's name.
    c = Site("c")
    c.link(late)
    a.relay.says("center c on .* uses this link name, too")
    wait_until(lambda: "uses this link name, too" in command("doctor").stdout)
    # Credentials that the server refuses, and a file that is none.
    locked = Server("--user", "u", "--pass", "p")
    d = Site("d")
    d.link(locked)
    d.relay.says("link default: can't connect to nats://.*uthorization.*trying again")
    locked_url = locked.url.replace("//", "//u:p@")
    e = Site("e")
    e.relays("--link", locked_url, "--out", NAMES)
    e.relay.says("no relay answers at nats://127")
    f = Site("f")
    f.link(late, "--credentials", "/nowhere")
    f.relay.says("link default: can't connect")
    # A server that is too old, or none at all.
    fake = FakeServer('{"server_id":"x","version":"2.8.4","proto":1,"max_payload":1048576}')
    g = Site("g")
    g.relays("--link", fake.url, "--out", NAMES)
    g.relay.says("2.8.4.*2.9")
    # A peer of another version.
    newer = Server()
    h = Site("h")
    h.link(newer)
    peer_of_version(2, newer)
    h.relay.says("the relay at the other end speaks version 2 of the link protocol, and this one version 1; install")
    # The center is removed: the relay ends.
    command("remove", "c", "--force")
    c.relay.says('center "c" was removed')
    expect(c.relay.process.wait() == 1, "a relay went on without its center")
    # The trouble that it made is forgotten after 10 s.
    wait_until(lambda: "uses this link name, too" not in command("doctor").stdout)


def peer_of_version(version, server):
    """Answers a relay's greeting with its own bytes, as a relay of another version would send them."""
    connection = socket.create_connection(("127.0.0.1", int(server.url.rsplit(":", 1)[1])))
    connection.sendall(b'CONNECT {"verbose":false}\r\nSUB tidings.link.default 1\r\n')
    with connection, connection.makefile("rb") as lines:
        for line in lines:
            if line.startswith(b"PING"):
                connection.sendall(b"PONG\r\n")
            elif line.startswith(b"MSG"):
                frame = bytearray(lines.read(int(line.split()[-1]) + 2)[:-2])
                # The format, two sessions, the kind, and the version: FrameCoding.swift.
                if frame[0] == 0xA7 and frame[17] == 1 and frame[18] == 1:
                    frame[1] ^= 0xFF
                    frame[18] = version
                    connection.sendall(b"PUB tidings.link.default %d\r\n%s\r\nPING\r\n" % (len(frame), frame))
                    while not lines.readline().startswith(b"PONG"):
                        pass
                    return


class FakeServer:
    """Says what a server says first, and answers nothing else but PONG."""

    def __init__(self, information):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"nats://127.0.0.1:{self.socket.getsockname()[1]}"
        self.information = information
        import threading
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        import threading
        while True:
            connection, _ = self.socket.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            connection.sendall(f"INFO {self.information}\r\n".encode())
            while data := connection.recv(65536):
                if b"PING" in data:
                    connection.sendall(b"PONG\r\n")
        except OSError:
            pass


def scene_stat():
    server = Server()
    a, b = pair(server)
    # What is sent while the peer's first comparison lasts is sent again. It has ended when the peer has posted something.
    a.post("com.example.a")
    wait_until(lambda: b.figure("posted") == 1)
    a.post("com.example.a", 7)
    b.post("com.example.end")
    wait_until(lambda: b.figure("posted") == 8)
    picture = text = None

    def agree():
        nonlocal picture, text
        picture = json.loads(command("stat", "--center", "a", "--json").stdout)
        text = command("stat", "--center", "a").stdout
        # The relay sets its state now and then, so one of the two may be older.
        sent = picture["relay"]["links"][0]["sent"]
        return sent in (8, 9) and f"{sent} sent" in text

    wait_until(agree)
    expect("default" in text and "connected with center b on" in text, text)
    expect(picture["relay"]["isAlive"], picture.get("relay"))
    server.kill()
    a.relay.says("disconnected")
    wait_until(lambda: "link default does not work: " in command("doctor").stdout)
    a.kill()
    wait_until(lambda: "its relay (process" in command("doctor").stdout)
    b.relay.process.terminate()
    expect(b.relay.process.wait() == 0, "SIGTERM has not ended a relay well")
    expect("relay" not in json.loads(command("stat", "--center", "b", "--json").stdout), "a state is left")


SCENES = {name[6:]: scene for name, scene in list(globals().items()) if name.startswith("scene_")}

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("command")
parser.add_argument("peer")
parser.add_argument("scenes", nargs="*", metavar="SCENE")
parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
parser.add_argument("--count", type=int, default=20000)
parser.add_argument("--hang", type=int, default=120, help="seconds after which a scene is ended")
options = parser.parse_args()
tidings, peer = os.path.abspath(options.command), os.path.abspath(options.peer)
chance = random.Random(options.seed)
print(f"seed {options.seed}", flush=True)
failed = 0
for name in options.scenes or SCENES:
    running, servers = [], {}
    directory = tempfile.mkdtemp(prefix="tidings-relay.", dir="/dev/shm")
    os.environ["TIDINGS_DIRECTORY"] = directory
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(Wrong(f"hangs: not done after {options.hang} s")))
    signal.alarm(options.hang)
    begin = time.monotonic()
    try:
        SCENES[name]()
        print(f"{name}: passed, {time.monotonic() - begin:.1f} s", flush=True)
    except (Wrong, SystemExit) as error:  # of an expectation, of a program that ended, or of the watchdog
        failed += 1
        traceback.print_exc()
        print(f"{name}: FAILED: {error}", flush=True)
    except Exception as error:
        failed += 1
        traceback.print_exc()
        print(f"{name}: FAILED by a fault of the scene: {error!r}", flush=True)
    finally:
        signal.alarm(0)
        for process in running:
            if process.poll() is None:
                process.kill()
            process.wait()
        shutil.rmtree(directory)
sys.exit(1 if failed else 0)
