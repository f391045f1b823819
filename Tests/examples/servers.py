#!/usr/bin/python3
"""The examples of the package Servers: what they promise, under load, with processes that are killed.

    Tests/examples/servers.py SERVERS COMMAND [SCENE…] [--seconds N] [--seed SEED]
    Tests/examples/servers.py SERVERS COMMAND --mutants [WORD…]    each mutant, or those so named, must be found

SERVERS is the folder of the built package, and COMMAND the one with the command `tidings`. The scenes:

workers      Eight workers share a port and their settings. Clients make requests all the time, while the settings are
             changed 25 times, once to what no worker can read, and the center is removed. No request may fail. Each
             answer has the greeting of its version, no worker goes back, and all workers have the new settings.
publisher    A subscriber receives what it has asked for, and how much it has missed.
events       Server-sent events: each client receives each message once, in order, from whichever server, or its loss.
kills        The same for N seconds (default 4), while servers are killed and restarted at random.
shop         A service for N seconds: clients put and get prices, a factor is set for all processes, processes are
             killed, and `tidings top` runs beside. No answer is an error. At the end all processes have the last price
             of each product and the last factor. SIGTERM ends them well.
"""
import argparse
import collections
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / ".ci"))
from program import Program

LIMIT = 60  # seconds: how long a test waits for one event
HANG = 180  # seconds for a scene
WORKERS = 8
RELOADS = 25
SLOTS = 256  # of the ring of events
WEB, CHAT, PLAYER = "com.example.web", "com.example.chat", "com.example.player"

SOURCES = ROOT / "Examples/Servers/Sources"
MUTANTS = [  # a name, the scene that finds it, the program, the file, the text, and what stands in its place
    ("keeps the first settings", "workers", "Workers/Workers.swift",
     "settings = try notification", "settings = settings.version > 0 ? settings : try notification"),
    ("serves before it has the settings", "workers", "Workers/Workers.swift",
     "try loop.flatSubmit { worker.value.follow() }.wait()",
     "loop.scheduleTask(in: .milliseconds(500)) { worker.value.follow() }"),
    ("does not follow the settings of the next center", "workers", "Workers/Workers.swift",
     "channel.closeFuture.whenComplete { _ in worker.value.followAgain() }", "_ = channel"),
    ("takes one delivery of several", "workers", "Workers/ObserverChannel.swift",
     "while let delivery = try observer.next() { receive(delivery) }",
     "if let delivery = try observer.next() { receive(delivery) }"),
    ("sends more than was asked for", "publisher", "Publisher/MessagePublisher.swift",
     "while demand > 0, let", "while let"),
    ("does not end", "publisher", "Publisher/MessagePublisher.swift",
     "Task.isCancelled ? () : subscriber.receive(completion: .finished)", "()"),
    ("forgets the last ID", "events", "Events/Events.swift", "after: request.headers[.lastEventID]", "after: nil"),
    ("sends the last message again", "events", "Events/EventStream.swift",
     ".after(sequence, in", ".after(sequence - 1, in"),
    ("does not tell what has left the ring", "events", "Events/EventStream.swift",
     "var (position, missed) = (position, 0 as UInt64)", "var (position, missed) = (nil as UInt64?, 0 as UInt64)"),
    ("does not tell what a slow client missed", "events", "Events/EventStream.swift",
     "missed += UInt64(count)", "missed += UInt64(count - count)"),
    ("tells twice what a client missed", "events", "Events/EventStream.swift",
     '"\\(missed)", id: id)', '"\\(missed)", id: id.isEmpty ? id : nil)'),
    ("gives a new client no ID", "kills", "Events/EventStream.swift", "(end > 0 ?", "(end > 1 << 40 ?"),
    ("takes another center's ID for its own", "events", "Events/EventStream.swift",
     "let isSame = incarnation == center.incarnation", "let isSame = incarnation > 0"),
]


class Wrong(Exception):
    pass


class Stage:
    """A directory of centers of its own, and the processes that use it."""

    def __init__(self, servers, command, directory, chance):
        self.servers, self.command, self.directory, self.chance = servers, command, directory, chance
        self.environment = {"TIDINGS_DIRECTORY": directory}
        self.programs, self.sockets, self.hangs = [], [], False

    def start(self, name, *arguments):
        program = Program(str(self.servers / name), *map(str, arguments), **self.environment)
        self.programs.append(program)
        return program

    def tidings(self, *arguments):
        return subprocess.run([self.command / "tidings", *arguments], check=True, timeout=LIMIT, stdout=subprocess.PIPE,
                              env={**os.environ, **self.environment}).stdout

    def revoked(self, center):
        """The posts that were revoked, because their process stood still in them.

        Each has used another position, and a gap of positions counts it.
        """
        return json.loads(self.tidings("stat", "--center", center, "--json"))["revoked"]

    def port(self):
        """A free port. The socket keeps it from other processes, and accepts nothing."""
        holder = socket.socket()
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind(("127.0.0.1", 0))
        self.sockets.append(holder)
        return holder.getsockname()[1]

    def hang(self):
        """What waits for a process sees its end."""
        self.hangs = True
        self.end()

    def end(self):
        for program in self.programs:
            program.end()
        for holder in self.sockets:
            holder.close()


def awaits(what, words):
    end = time.monotonic() + LIMIT
    while not what():
        if time.monotonic() > end:
            raise Wrong(f"it does not become true that {words}")
        time.sleep(0.01)


# ---- workers

class Load:
    """Clients that make requests until the end. Each connection takes some, so that all workers get some."""

    def __init__(self, port, clients):
        self.port, self.least, self.ended, self.lock = port, 0, False, threading.Lock()
        self.versions, self.answers, self.wrong = {}, 0, []
        self.threads = [threading.Thread(target=self.client, daemon=True) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def client(self):
        while not self.ended and not self.wrong:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
            try:
                for _ in range(10):
                    least = self.least
                    connection.request("GET", "/")
                    response = connection.getresponse()
                    self.check(least, response.status, response.read().decode())
            except (OSError, http.client.HTTPException) as error:
                self.wrong.append(f"a request failed: {error!r}")
            finally:
                connection.close()

    def check(self, least, status, body):
        match = re.fullmatch(r"(\d+) (.*) (\d+)\n", body)
        if status != 200 or not match:
            return self.wrong.append(f"a request failed: {status} {body}")
        version, greeting, worker = int(match[1]), match[2], int(match[3])
        with self.lock:
            self.answers += 1
            before = self.versions.get(worker, 0)
            self.versions[worker] = max(version, before)
        if greeting != (f"greeting {version}" if version else "Welcome"):
            self.wrong.append(f"an answer from two versions: {body}")
        # Two answers of one worker can be read in any order, so `before` is no bound. What all workers have had is one.
        if version < least:
            self.wrong.append(f"worker {worker} answers with version {version}, and had {least}")

    def end(self):
        self.ended = True
        for thread in self.threads:
            thread.join()
        if self.wrong:
            raise Wrong(self.wrong[0])


def workers(stage):
    port = stage.port()
    some = [stage.start("Workers", port) for _ in range(WORKERS // 2)]
    for worker in some:
        worker.says("serves port")

    def change(version, *payload):
        stage.tidings("state", "set", "com.example.web.settings", "--center", WEB,
                      *payload or [f'{{"version":{version},"greeting":"greeting {version}"}}'])

    change(1)
    for worker in some:
        worker.says("has version 1$")
    load = Load(port, 6)
    try:
        load.least = 1
        # They start later, and have the settings before they serve.
        late = [stage.start("Workers", port) for _ in range(WORKERS - len(some))]
        for worker in late:
            worker.says("has version 1$")
            worker.says("serves port")
        everyone = some + late
        awaits(lambda: load.wrong or len(load.versions) == WORKERS, f"{WORKERS} workers answer")

        def reload(version):
            before = load.answers
            change(version)
            for worker in everyone:
                worker.says(f"has version {version}$")
            load.least = version
            awaits(lambda: load.wrong or load.answers > before + 20, "requests are answered")

        for version in range(2, RELOADS + 2):
            reload(version)
        change(0, '{"version":"a"}')
        for worker in everyone:
            worker.says(f"keeps version {RELOADS + 1}: ")
        reload(RELOADS + 2)
        file, = [name for name in os.listdir(stage.directory) if name.endswith(f".{WEB}")]
        os.remove(os.path.join(stage.directory, file))
        # Each one opens or creates the next center, at some time.
        change(RELOADS + 3)
        for worker in everyone:
            worker.says(f"has version {RELOADS + 3}$")
        load.least = RELOADS + 3
        reload(RELOADS + 4)
    finally:
        load.end()
    print(f"workers: {load.answers} answers of {len(load.versions)} workers, {RELOADS + 3} reloads, none failed")


# ---- publisher

def publisher(stage):
    def post(title, count=1):
        stage.tidings("post", "com.example.player.trackChanged", "--center", PLAYER, "--json", f'{{"title":"{title}"}}',
                      "--count", str(count))

    program = stage.start("Publisher")
    program.says_next("observing")
    post("So What")
    program.says_next("now playing So What")
    # The subscriber has asked for nothing, so the messages wait for it: 1,024 of them.
    post("Giant Steps", 2000)
    post("Naima")
    program.says("^now playing Naima")
    program.tell("2")
    counted = program.says("^missed")
    program.says("^#[0-9]+ Giant Steps$")
    program.tell("1")
    program.says("^#[0-9]+ Giant Steps$")
    if abs(int(counted.split()[1]) - (2002 - 1024)) > 1:
        raise Wrong(f"{counted}, of 2,002 messages of which 1,024 wait")
    # The center ends: so do the publishers.
    file, = os.listdir(stage.directory)
    os.remove(os.path.join(stage.directory, file))
    program.tell("2000")
    program.says("^the center was removed")
    program.says("^finished")
    program.ends_well()
    print(f"publisher: a subscriber {counted} of 2002, and was told")


# ---- events

class Client(threading.Thread):
    """As a browser: it receives events, and after a loss connects again, to any server, with the last ID."""

    def __init__(self, ports, chance, last=None):
        super().__init__(daemon=True)
        self.ports, self.chance, self.last = ports, chance, last
        self.received, self.missed, self.connections, self.ended = [], [], 0, False
        self.gap = None  # the ID of the first loss
        self.socket, self.changed, self.wrong = None, threading.Condition(), None
        self.start()

    def run(self):
        while not self.ended:
            connection = http.client.HTTPConnection("127.0.0.1", self.chance.choice(self.ports), timeout=LIMIT)
            try:
                connection.connect()
                self.socket = connection.sock
                connection.request("GET", "/events", headers={"Last-Event-ID": self.last} if self.last else {})
                response = connection.getresponse()
                if response.status != 200:
                    self.wrong = f"a client that continues after {self.last} gets status {response.status}"
                    return
                with self.changed:
                    self.connections += 1
                    self.changed.notify_all()
                self.read(response)
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.02)
            finally:
                connection.close()

    def read(self, response):
        fields = {}
        while True:
            line = response.readline().decode()
            if not line:
                return
            if line != "\n":
                name, _, value = line.rstrip("\n").partition(": ")
                fields[name] = fields[name] + "\n" + value if name in fields else value
                continue
            with self.changed:
                if "event" in fields:
                    (self.received if fields["event"] == "message" else self.missed).append(fields["data"])
                    self.gap = self.gap or fields["event"] == "missed" and fields.get("id")
                self.last = fields.get("id", self.last)
                self.changed.notify_all()
            fields = {}

    def total(self):
        return len(self.received) + sum(map(int, self.missed))

    def awaits(self, what, words):
        with self.changed:
            if not self.changed.wait_for(lambda: self.wrong or what(self), LIMIT):
                raise Wrong(f"a client has not {words}: it has {len(self.received)} messages, the last ones "
                            f"{self.received[-3:]}, and missed {self.missed[-3:]}")
        if self.wrong:
            raise Wrong(self.wrong)

    def disconnect(self):
        """Shuts its connection down; it connects again."""
        self.socket.shutdown(socket.SHUT_RDWR)

    def end(self):
        self.ended = True
        try:
            self.disconnect()
        except OSError:
            pass
        self.join()


def say(port, text):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
    connection.request("POST", "/said", body=text.encode())
    if connection.getresponse().status != 204:
        raise Wrong(f"can't say {text}")
    connection.close()


def events_servers(stage, count):
    stage.tidings("create", CHAT, "--slots", str(SLOTS))
    ports = [stage.port() for _ in range(count)]
    return ports, [started(stage, port) for port in ports]


def started(stage, port):
    server = stage.start("Events", port)
    server.says("listening on")
    return server


def post(stage, text, count):
    stage.tidings("post", "com.example.chat.said", "--center", CHAT, "--json", f'{{"text":"{text}"}}',
                  "--count", str(count))


def events(stage):
    ports, (first, second) = events_servers(stage, 2)
    near, far = Client(ports[:1], stage.chance), Client(ports[1:], stage.chance)
    clients = [near, far]
    try:
        for client in clients:
            client.awaits(lambda client: client.connections, "connected")
        # What one server's client says, all servers' clients receive.
        say(ports[0], "one\ntwo lines")
        for client in clients:
            client.awaits(lambda client: client.received == ["one\ntwo lines"], "received a message")
        if near.last != far.last:
            raise Wrong(f"one message has two IDs, {near.last} and {far.last}")
        # A server dies: its client continues at another one, and misses nothing.
        first.end()
        near.ports = ports[1:]
        say(ports[1], "two")
        say(ports[1], "three")
        for client in clients:
            client.awaits(lambda client: client.received[1:] == ["two", "three"], "received two more")
        near.awaits(lambda client: client.connections == 2, "connected again")
        # More is posted than the ring has room for, while a client is away.
        first = started(stage, ports[0])
        last = near.last
        near.end()
        post(stage, "more", SLOTS + 50)
        post(stage, "the end", 1)
        far.awaits(lambda client: client.received[-1] == "the end", "received all")
        if far.total() != 3 + SLOTS + 51:
            raise Wrong(f"a client got, or was told of, {far.total()} of {3 + SLOTS + 51} messages")
        near = clients[0] = Client(ports, stage.chance, last)
        near.awaits(lambda client: client.received[-1:] == ["the end"], "received what is in the ring")
        if len(near.missed) != 1 or not SLOTS + 51 <= near.total() <= SLOTS + 51 + stage.revoked(CHAT):
            raise Wrong(f"a client got {len(near.received)} messages and missed {near.missed}, of {SLOTS + 51}")
        # A client that loses its connection just after it was told of a loss is not told again.
        again = Client(ports, stage.chance, near.gap)
        clients.append(again)
        again.awaits(lambda client: client.received == near.received, "received what is in the ring")
        if again.missed:
            raise Wrong(f"a client was told twice of {again.missed} messages")
        # Positions that mean nothing here.
        for last, missed in (("1-5", ["an unknown number"]), ("nonsense", []), ("-", []), ("5-", []), ("1-2-3", []),
                             ("9" * 400 + "-1", [])):
            client = Client(ports, stage.chance, last)
            clients.append(client)
            client.awaits(lambda client: client.connections, "connected")
            say(ports[0], f"after {last[:9]}")
            client.awaits(lambda client: client.received[-1:] == [f"after {last[:9]}"], "received a message")
            if client.missed != missed:
                raise Wrong(f"a client that continues after {last[:9]} missed {client.missed}, and not {missed}")
            client.end()
        connection = http.client.HTTPConnection("127.0.0.1", ports[0], timeout=LIMIT)
        incarnation = far.last.split("-")[0]
        connection.request("GET", "/events", headers={"Last-Event-ID": f"{incarnation}-18446744073709551615"})
        if connection.getresponse().status < 400:
            raise Wrong("a client continues after a position that was never reached")
        connection.close()
        # A client that does not read keeps no other one waiting, and then receives or has missed everything.
        slow = socket.create_connection(("127.0.0.1", ports[0]))
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        slow.sendall(b"GET /events HTTP/1.1\r\nHost: a\r\n\r\n")
        text = slow.recv(4096)
        before = far.total()
        post(stage, "x" * 2000, 6000)
        say(ports[0], "the last one")
        far.awaits(lambda client: client.received[-1:] == ["the last one"], "received the last one")
        while b"the last one" not in text[-200:]:
            text += slow.recv(1 << 16)
        slow.close()
        text = text.decode()
        counts = [int(count) for count in re.findall(r"event: missed\n(?:id: .*\n)?data: (\d+)", text)]
        if text.count("event: message") + sum(counts) != 6001 or not counts:
            raise Wrong(f"a slow client got {text.count('event: message')} messages and missed {counts}, of 6001")
        near.awaits(lambda client: client.received[-1:] == ["the last one"], "received the last one")
        if far.total() - before != 6001:
            raise Wrong(f"a client got, or was told of, {far.total() - before} of 6001 messages")
        # SIGTERM ends a server with clients.
        for server in (first, second):
            server.process.terminate()
            server.ends_well()
    finally:
        for client in clients:
            client.end()
    print(f"events: {len(far.received)} messages; a slow client missed {sum(counts)} of 6001, and was told")


def kills(stage, seconds):
    ports, servers = events_servers(stage, 3)
    say(ports[0], "the first one")  # from here on, a new client has an ID to continue after
    clients = [Client(ports, random.Random(stage.chance.random())) for _ in range(6)]
    try:
        for client in clients:
            client.awaits(lambda client: client.last, "an ID")
        poster = subprocess.Popen(
            [stage.command / "tidings", "post", "com.example.chat.said", "--center", CHAT, "--json-lines"],
            stdin=subprocess.PIPE, text=True, env={**os.environ, **stage.environment})
        number, count, end = 0, 0, time.monotonic() + seconds
        while time.monotonic() < end:
            # Sometimes more than the ring has room for.
            for _ in range(stage.chance.choice([1, 5, 20, 400])):
                number += 1
                poster.stdin.write(f'{{"text":"{number}"}}\n')
            poster.stdin.flush()
            if stage.chance.random() < 0.2:
                dead = stage.chance.randrange(len(servers))
                servers[dead].end()
                servers[dead] = started(stage, ports[dead])
                count += 1
            time.sleep(0.02)
        poster.stdin.write('{"text":"0"}\n')  # the end
        poster.stdin.close()
        poster.wait(timeout=LIMIT)
        revoked = stage.revoked(CHAT)
        for client in clients:
            client.awaits(lambda client: client.received[-1:] == ["0"], "received the end")
            numbers = list(map(int, client.received[:-1]))
            if any(a >= b for a, b in zip(numbers, numbers[1:])):
                raise Wrong("a client received a message twice, or out of order")
            if not number + 1 <= client.total() <= number + 1 + revoked:
                raise Wrong(f"a client got, or was told of, {client.total()} of {number + 1} messages; "
                            f"{revoked} were revoked")
    finally:
        for client in clients:
            client.end()
    print(f"kills: {count} servers were killed; {number} messages; the clients connected "
          f"{sum(client.connections for client in clients)} times and missed "
          f"{sum(client.total() - len(client.received) for client in clients)}, and were told of each")


# ---- shop

SHOP, PRODUCTS = "com.example.shop", [f"product{number}" for number in range(20)]


def asked(port, method, path, body=None):
    """The status and the text of an answer. None: the server was killed."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, response.read().decode()
    except (OSError, http.client.HTTPException):
        return None, ""
    finally:
        connection.close()


class Customers:
    """Clients that put and get prices, each of products of its own, until the end."""

    def __init__(self, ports, chance, count):
        self.ports, self.ended, self.last, self.wrong = ports, False, dict.fromkeys(PRODUCTS, 0), []
        self.statuses = collections.Counter()
        self.threads = [threading.Thread(
            target=self.run, args=(PRODUCTS[each::count], random.Random(chance.random())), daemon=True)
            for each in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self, products, chance):
        while not self.ended and not self.wrong:
            product, port = chance.choice(products), chance.choice(self.ports)
            if chance.random() < 0.3:
                self.last[product] += 1  # also if there is no answer: the price may have changed
                method, body, good = "PUT", str(self.last[product]), (204, None)
            else:
                method, body, good = "GET", None, (200, 404, None)
            status, text = asked(port, method, f"/price/{product}", body)
            self.statuses[f"{method} {status}"] += 1
            if status not in good:
                self.wrong.append(f"{method} of {product}: {status} {text}")
            time.sleep(0.005)  # a second has room for the other processes, too

    def end(self):
        self.ended = True
        for thread in self.threads:
            thread.join()
        if self.wrong:
            raise Wrong(self.wrong[0])


def shop(stage, seconds):
    def start(port):
        server = stage.start("Shop", port)
        server.says("listening on")
        return server

    def factor(value):
        stage.tidings("state", "set", f"{SHOP}.config", f'{{"values":{{"price.factor":{value}}}}}', "--center", SHOP)

    ports = [stage.port() for _ in range(3)]
    servers = [start(port) for port in ports]
    terminal = ["tmux", "-L", f"shop{os.getpid()}", "-f", "/dev/null"]
    top = f"{stage.command}/tidings top --center {SHOP}"
    subprocess.run([*terminal, "new-session", "-d", "-x", "80", "-y", "24", top], check=True,
                   env={**os.environ, **stage.environment})

    def screen():
        return subprocess.run([*terminal, "capture-pane", "-p"], check=True, capture_output=True, text=True).stdout

    customers, count, end = Customers(ports, stage.chance, 4), 0, time.monotonic() + seconds
    try:
        while time.monotonic() < end and not customers.wrong:
            time.sleep(stage.chance.uniform(0.2, 1))
            factor(round(stage.chance.uniform(0.5, 2), 3))
            dead = stage.chance.randrange(len(servers))
            servers[dead].end()
            servers[dead] = start(ports[dead])
            stage.programs = stage.programs[-10:]
            count += 1
        awaits(lambda: f"{SHOP}.priceChanged" in screen() and "Shop" in screen(), "tidings top shows the shop")
        customers.end()
        factor(1.5)
        for product in PRODUCTS:
            customers.last[product] += 1
            if asked(ports[0], "PUT", f"/price/{product}", str(customers.last[product]))[0] != 204:
                raise Wrong(f"a price of {product} is not accepted")
        for port in ports:
            for product in PRODUCTS:
                price = str(customers.last[product] * 1.5)
                awaits(lambda: asked(port, "GET", f"/price/{product}") == (200, price), f"{product} costs {price}")
            if not re.search(f'tidings_delivered_total{{center="{SHOP}".*}} [1-9]', asked(port, "GET", "/metrics")[1]):
                raise Wrong("the metrics count no deliveries")
        for server in servers:
            server.process.terminate()
            server.ends_well()
    finally:
        customers.ended = True
        subprocess.run([*terminal, "kill-server"], check=True)
    print(f"shop: {dict(customers.statuses)}; {count} processes were killed")


SCENES = {"workers": workers, "publisher": publisher, "events": events, "kills": kills, "shop": shop}


def played(name, servers, command, options):
    """Plays a scene. What was wrong, or None."""
    with tempfile.TemporaryDirectory(prefix="tidings-servers-", dir="/dev/shm") as directory:
        stage = Stage(servers, command, directory, random.Random(options.seed))
        watchdog = threading.Timer(HANG + options.seconds, stage.hang)
        watchdog.daemon = True
        watchdog.start()
        try:
            SCENES[name](stage, *[options.seconds] if name in ("kills", "shop") else [])
        except (Wrong, SystemExit) as error:
            said = [f"{program.name}: {line}" for program in stage.programs for line in program.lines[-3:] if line]
            return "\n".join([f"{name}{' hangs' if stage.hangs else ''}: {error}", *said])
        finally:
            watchdog.cancel()
            stage.end()
    return None


def mutants(options):
    """Builds and plays each mutant, in a copy of the package that shares the libraries which were built."""
    global HANG, LIMIT
    HANG, LIMIT, missed = 40, 15, 0
    with tempfile.TemporaryDirectory(prefix="tidings-servers-") as folder:
        package = pathlib.Path(folder, "Servers")
        shutil.copytree(SOURCES.parent, package)
        manifest = (package / "Package.swift").read_text()
        (package / "Package.swift").write_text(manifest.replace('path: "../.."', f'path: "{ROOT}"'))
        for name, scene, file, said, instead in MUTANTS:
            if options.scenes and not any(word in name for word in options.scenes):
                continue
            path, text = package / "Sources" / file, (SOURCES / file).read_text()
            path.write_text(text.replace(said, instead))
            subprocess.run(
                ["swift", "build", "--package-path", package, "--scratch-path", options.servers.parents[1],
                 "--product", file.split("/")[0], *(ROOT / ".ci/debug-options").read_text().split()],
                check=True, stdout=subprocess.DEVNULL)
            found = played(scene, options.servers, options.command, options)
            missed += not found
            print(f"one that {name}: {'found: ' + found.split(chr(10))[0] if found else 'NOT FOUND'}", flush=True)
            path.write_text(text)
    return missed


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("servers", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("command", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("scenes", nargs="*")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--mutants", action="store_true")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    for _, _, file, said, _ in MUTANTS:
        if (SOURCES / file).read_text().count(said) != 1:
            sys.exit(f"{file} does not have this text once, which a mutant changes: {said}")
    if options.mutants:
        sys.exit(mutants(options))
    for name in options.scenes or SCENES:
        wrong = played(name, options.servers, options.command, options)
        if wrong:
            sys.exit(f"WRONG, seed {options.seed}: {wrong}")
        sys.stdout.flush()


main()
