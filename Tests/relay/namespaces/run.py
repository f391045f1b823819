#!/usr/bin/env python3
"""The relay between hosts: each is a network namespace with a center, a relay, posters and observers of its own.

    Tests/relay/namespaces/run.py COMMAND [--transport nats|cluster|tls] [--hosts N] [--seconds S] [--posts N] [--seed N]
    Tests/relay/namespaces/run.py COMMAND --standby …                           a second relay at each host
    Tests/relay/namespaces/run.py COMMAND --self-test                           agents that err are found
    Tests/relay/namespaces/run.py COMMAND --program [--transport …] [--hosts N]   a program of each host (program.swift)
    Tests/relay/namespaces/run.py COMMAND --seconds 600 --posts 10e6 --hosts 5  the long form

COMMAND is the command `tidings` with the trait Relay. It needs root, ip (iproute2), /dev/net/tun, and a C compiler.
Without the permission to make namespaces it prints a line that begins with SKIPPED, and ends with status 77.

nats       a server on host 1, for all. Three hosts are linked with each other, five in a ring
cluster    a server on each host, which are a cluster
tls        direct connections: of two hosts, the lower one listens

A seed decides what happens, in rounds of a few seconds: hosts are cut off; packets are delayed, lost, repeated and put
out of order (wire.c); relays, servers, posters, setters and observers are killed and replaced. At the end of a round,
everything works again: from then on, the time is taken until all hosts have the same retained values.

Each poster numbers its notifications, and each host has an agent (host.c) that observes all. At the end each name gets
a last notification, and each agent's accounts are compared with what the origin's agent has seen:

    received + lost = counted = posted, for each name at each host; nothing twice; nothing out of order;
    each gap in the counts was told with the notification behind it

Unless --clocks is 0, each process has a CLOCK_REALTIME that is up to an hour before or behind the machine's (clock.c).
A process that replaces another one has another clock.
"""
import argparse
import atexit
import itertools
import json
import os
import pathlib
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / ".ci"))
import typecheck
HERE = pathlib.Path(__file__).resolve().parent
SERVER = shutil.which("nats-server") or "/usr/sbin/nats-server"
HANG = 60  # seconds that anything may take that is waited for
SHIFT = 3600  # seconds that a clock is wrong, at most
HEALED = 1.0  # seconds in which the values must be equal


class Wrong(Exception):
    pass


def tool(*arguments, check=True):
    arguments = [*map(str, arguments)]
    result = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if check and result.returncode:
        raise Wrong(f"{' '.join(arguments)}: {result.stdout.strip()}")
    return result


def ended_with_us():
    """In a child: the kernel kills it when this process ends."""
    import ctypes
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Answering:
    """A process that answers lines with lines."""

    def __init__(self, name, process):
        self.name = name
        self.process = process
        self.rest = b""

    def line(self):
        end = time.monotonic() + HANG
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            more = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
            if not more:
                raise Wrong(f"{self.name} does not answer")
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    def expect(self, text):
        got = self.line()
        if got != text:
            raise Wrong(f"{self.name}: {got}")

    def ask(self, question):
        os.write(self.process.stdin.fileno(), question.encode() + b"\n")
        return self.line()


class Network:
    """A namespace for each host, and the switch between them (wire.c)."""

    numbers = itertools.count()

    def __init__(self, wire, seed, count):
        self.prefix = f"td{os.getpid() % 100000}-{next(Network.numbers)}"
        self.hosts = []
        self.wire = None
        atexit.register(self.remove)
        for number in range(1, count + 1):
            self.hosts.append(f"{self.prefix}h{number}")
            tool("ip", "netns", "add", self.hosts[-1])
        self.wire = Answering("the switch", subprocess.Popen(
            [wire, str(seed), *self.hosts], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        self.wire.expect("ready")
        for number, space in enumerate(self.hosts, 1):
            tool("ip", "-n", space, "addr", "add", f"{address(number)}/24", "dev", "cable")
            tool("ip", "-n", space, "link", "set", "lo", "up")
            tool("ip", "-n", space, "link", "set", "cable", "up")

    def remove(self):
        kill(self.wire and self.wire.process)
        for space in self.hosts:
            tool("ip", "netns", "del", space, check=False)
        self.hosts = []

    def spoil(self, number, delay=0, jitter=0, loss=0, twice=0):
        self.wire.ask(f"{number} {delay} {jitter} {loss} {twice}")

    def cut(self, number):
        self.wire.ask(f"{number} cut")

    def join(self, number):
        self.wire.ask(f"{number} join")


def address(number):
    return f"10.77.0.{number}"


class Host:
    def __init__(self, run, number):
        self.run = run
        self.number = number
        self.directory = run.shared / f"h{number}"
        self.directory.mkdir()
        self.space = run.network.hosts[number - 1]
        self.names = []
        self.log = run.work / f"relay{number}.log"
        self.relay = self.standby = self.server = self.setter = self.watcher = None
        self.posters = {}
        self.relays = self.standbys = 0
        self.agent = self.start(run.host, "agent", "player", run.options.slots, run.options.fault, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.answering = Answering(f"the agent of host {number}", self.agent)
        self.answering.expect("ready")

    def start(self, *arguments, **options):
        environment = {**os.environ, "TIDINGS_DIRECTORY": str(self.directory), "LD_PRELOAD": str(self.run.clock),
                       "TIDINGS_TEST_CLOCK": str(self.run.random.randint(-SHIFT, SHIFT) * self.run.options.clocks)}
        return subprocess.Popen(["nsenter", f"--net=/run/netns/{self.space}", *map(str, arguments)], env=environment,
                                preexec_fn=ended_with_us, **options)

    def ask(self, question):
        return self.answering.ask(question)

    def report(self):
        rows, line = {}, self.ask("report")
        while not line.startswith("missed"):
            name, origin, *numbers = line.split()
            rows.setdefault(name, []).append((origin, *map(int, numbers)))
            line = self.answering.line()
        self.answering.expect(".")
        return rows, int(line.split()[1])

    def start_server(self):
        arguments = ["-a", address(self.number), "-p", "4222", "-l", self.run.work / f"nats{self.number}.log"]
        if self.run.options.transport == "cluster":
            configuration = self.run.work / f"nats{self.number}.conf"
            routes = ", ".join(f"nats://{address(other)}:6222" for other in self.run.numbers if other != self.number)
            # A route that is cut off ends soon, not after the minutes that are usual.
            configuration.write_text(
                f'ping_interval: "1s"\nping_max: 2\nwrite_deadline: "2s"\n'
                f"cluster {{ name: test, listen: \"{address(self.number)}:6222\", routes: [{routes}] }}\n")
            arguments += ["-c", configuration]
        self.server = self.start(SERVER, *arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start_relay(self, *options):
        with open(self.log, "a") as log:
            return self.start(self.run.options.command, "relay", "--center", "player", "--config",
                              self.run.work / f"relay{self.number}.json", *options, stdout=log, stderr=log)

    def kill_relay(self):
        """The one that stands by takes its place."""
        if self.run.options.standby:
            self.says("standing by", self.standbys)
            self.says("relaying", self.relays)
        kill(self.relay)
        self.relay, self.standby = self.standby, None
        self.relays += self.relay is not None

    def start_relays(self):
        """Those that the host lacks."""
        if not self.relay:
            self.relay = self.start_relay()
            self.relays += 1
        if self.run.options.standby and not self.standby:
            self.says("relaying", 1)
            self.standby = self.start_relay("--standby")
            self.standbys += 1

    def says(self, text, count):
        """Waits until the relays of this host have said so as often."""
        self.run.wait(f"{text}, {count} times", lambda: self.log.read_text().count(text) >= count)

    def start_poster(self, poster):
        name = f"ns.n.{self.number}.{poster}.{len(self.names)}"
        self.names.append(name)
        self.posters[poster] = self.start(self.run.host, "post", "player", name, self.run.each, self.run.pause)

    def start_setter(self):
        self.setter = self.start(self.run.host, "set", "player", self.run.random.randrange(1 << 30), self.number, 20000)

    def start_watcher(self):
        self.watcher = self.start(self.run.host, "watch", "player")

    def alive(self):
        """Whatever should run and does not, by itself, is a fault."""
        for what in ("relay", "standby", "server", "setter", "watcher", "agent"):
            process = getattr(self, what)
            if process and process.poll() is not None:
                raise Wrong(f"host {self.number}: the {what} ended with {process.returncode}: {self.tail()}")

    def tail(self):
        return " / ".join(self.log.read_text().splitlines()[-3:]) if self.log.exists() else ""


def kill(process):
    if process:
        process.kill()
        process.wait()


class Run:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="tidings-namespaces."))
        self.shared = pathlib.Path(tempfile.mkdtemp(prefix="tidings-namespaces.", dir="/dev/shm"))
        atexit.register(shutil.rmtree, self.shared, ignore_errors=True)
        atexit.register(lambda: None if self.keeps else shutil.rmtree(self.work, ignore_errors=True))
        self.keeps = True
        self.numbers = range(1, options.hosts + 1)
        # Each poster pauses 10 ms between bursts.
        self.pause = 10000
        self.each = max(1, round(options.posts / options.seconds / (options.hosts * options.posters) / 100))
        self.times = []
        self.counts = {}
        self.host = self.work / "host"
        self.build(self.host, "host.c", *sorted((ROOT / "CShim/src").rglob("*.c")))
        self.build(self.work / "wire", "wire.c")
        self.clock = self.work / "clock.so"
        self.build(self.clock, "clock.c", "-shared", "-fPIC")
        self.network = Network(self.work / "wire", options.seed, options.hosts)

    @staticmethod
    def build(program, source, *more):
        tool(os.environ.get("CC", "cc"), "-std=gnu17", "-D_GNU_SOURCE", "-O2", f"-I{ROOT}/CShim/include",
             f"-I{ROOT}/CShim/src", str(HERE / source), *map(str, more), "-pthread", "-o", str(program))

    def links(self):
        if len(self.numbers) <= 3:
            return [(a, b) for a in self.numbers for b in self.numbers if a < b]
        return [tuple(sorted((a, a % len(self.numbers) + 1))) for a in self.numbers]

    def configure(self):
        if self.options.transport == "tls":
            names = {"TIDINGS_TEST_NAMES": ",".join(f"IP:{address(number)}" for number in self.numbers)}
            subprocess.run(["bash", ROOT / "Tests/link/certificates.sh", self.work], check=True,
                           env={**os.environ, **names})
        for number in self.numbers:
            links = []
            for index, ends in enumerate(self.links()):
                if number not in ends:
                    continue
                link = {"name": f"link{ends[0]}-{ends[1]}", "out": ["ns.*"], "in": ["ns.*"], "retained": True}
                if self.options.program:
                    lists = ["com.example.*"]
                    link.update({"out": lists, "in": lists, "serve": lists, "call": lists, "announce": True, "show": True})
                if self.options.transport == "tls":
                    lower, port = min(ends), 4430 + index
                    link["url"] = f"tls-listen://0.0.0.0:{port}" if number == lower else f"tls://{address(lower)}:{port}"
                    link["tls-ca"] = f"{self.work}/authority.pem"
                    link["tls-cert"] = f"{self.work}/relay.pem"
                    link["tls-key"] = f"{self.work}/relay.key"
                else:
                    link["url"] = f"nats://{address(number if self.options.transport == 'cluster' else 1)}:4222"
                links.append(link)
            (self.work / f"relay{number}.json").write_text(json.dumps({"links": links}))

    def servers(self):
        return {"nats": [1], "cluster": list(self.numbers), "tls": []}[self.options.transport]

    def wait(self, what, condition):
        end = time.monotonic() + HANG
        while not condition():
            if time.monotonic() > end:
                raise Wrong(f"{what}: not within {HANG} s; " + "; ".join(
                    f"host {host.number}: {host.tail()}" for host in self.hosts))
            for host in self.hosts:
                host.alive()
            time.sleep(0.01)

    def begin(self):
        self.configure()
        self.hosts = [Host(self, number) for number in self.numbers]
        for number in self.servers():
            self.hosts[number - 1].start_server()
        for host in self.hosts:
            host.start_relays()
        # Names are counted from the first one on if all links work before it is posted.
        ends = {number: sum(number in link for link in self.links()) for number in self.numbers}
        self.wait("the first connection of all links", lambda: all(
            len(re.findall("connected with center", host.log.read_text())) >= ends[host.number] for host in self.hosts))

    def start_load(self):
        for host in self.hosts:
            for poster in range(self.options.posters):
                host.start_poster(poster)
            host.start_setter()
            host.start_watcher()

    def programs(self):
        """A program of each host uses its center as it would on one machine, and the last one is killed."""
        program = self.work / "program"
        build = pathlib.Path(self.options.command).parent
        objects = [line for line in (build / "tidings.product/Objects.LinkFileList").read_text().splitlines()
                   if re.search(r"/(Tidings|TidingsCoding|CTidings)\.build/", line)]
        tool("swiftc", *typecheck.of_modules(str(build)), HERE / "program.swift", *objects, "-o", program)
        answering = []
        for host in self.hosts:
            host.watcher = host.start(program, host.number, len(self.hosts), stdout=subprocess.PIPE)
            answering.append(Answering(f"the program of host {host.number}", host.watcher))
        happens = {"all programs are present", "all tracks have arrived", "the volume has arrived", "100 pages are rendered"}
        for one in answering:
            lines = {one.line() for _ in happens}
            if lines != happens:
                raise Wrong(f"{one.name}: {lines}")
        last = self.hosts[-1]
        kill(last.watcher)
        for one in answering[:-1]:
            one.expect(f"program {last.number} has left: died")
        last.watcher = None
        print(f"{len(self.hosts)} hosts, {self.options.transport}: a program of each one used its center as on one machine")

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def fault(self):
        """One thing goes wrong. What must be put right later is remembered."""
        host = self.random.choice(self.hosts)
        what = self.random.choice(["cut", "packets", "packets", "relay", "server", "poster", "poster", "watcher", "setter"])
        if what == "cut" and host not in self.cut:
            self.network.cut(host.number)
            self.cut.append(host)
        elif what == "packets":
            self.network.spoil(host.number, *self.random.choice(
                [(20, 1), (0, 0, 5), (0, 0, 0, 10), (1, 10), (5, 5, 1, 2)]))
        elif what == "relay":
            host.kill_relay()
            (self.random.random() < 0.5 or self.options.standby) and host.start_relays()
        elif what == "server" and self.servers():
            server = self.hosts[self.random.choice(self.servers()) - 1]
            kill(server.server)
            server.server = None
            self.random.random() < 0.5 and server.start_server()
        elif what == "poster":
            poster = self.random.randrange(self.options.posters)
            kill(host.posters[poster])
            host.start_poster(poster)
        elif what == "watcher":
            kill(host.watcher)
            host.start_watcher()
        elif what == "setter":
            kill(host.setter)
            host.start_setter()
        else:
            return
        self.count(what)

    def heal(self):
        """Everything works again. Returns the seconds until all values are equal."""
        for host in self.hosts:
            host.setter.send_signal(signal.SIGSTOP)
        for number in self.servers():
            if not self.hosts[number - 1].server:
                self.hosts[number - 1].start_server()
        for host in self.hosts:
            host.start_relays()
            self.network.spoil(host.number)
        for host in self.cut:
            self.network.join(host.number)
        self.cut = []
        begin = time.monotonic()
        self.wait("equal values", lambda: len({host.ask("values") for host in self.hosts}) == 1)
        seconds = time.monotonic() - begin
        for host in self.hosts:
            host.setter.send_signal(signal.SIGCONT)
        return seconds

    def notice(self):
        """A relay notices a cut by itself, before the kernel ends its connections."""
        host = self.hosts[-1]
        if host.number in self.servers():
            return  # the connections of its relay do not leave it
        self.network.cut(host.number)
        self.wait("a line about the cut", lambda: "the network is cut" in host.log.read_text())
        self.network.join(host.number)

    def play(self):
        self.cut = []
        self.notice()
        end = time.monotonic() + self.options.seconds
        while time.monotonic() < end:
            self.counts_before = dict(self.counts)
            for _ in range(self.random.randrange(3, 9)):
                self.fault()
                time.sleep(self.random.uniform(0.1, 0.8))
                for host in self.hosts:
                    host.alive()
            if self.cut and self.options.seconds > 120 and self.random.random() < 0.15:
                time.sleep(self.random.uniform(5, 60))
            what = {key for key, value in self.counts.items() if value != self.counts_before.get(key, 0)}
            seconds = self.heal()
            self.times.append((seconds, what))
            if self.options.verbose:
                print(f"values equal {seconds:.2f} s after {', '.join(sorted(what)) or 'nothing'}", flush=True)

    def finish(self):
        for host in self.hosts:
            for poster in host.posters.values():
                kill(poster)
            kill(host.setter)
            host.setter = None
        ends = [host.start(self.host, "end", "player", name) for host in self.hosts for name in host.names]
        for process in ends:
            if process.wait(HANG):
                raise Wrong("a last notification was not posted")
        total = len(ends)
        self.wait("the last notification of each name at each host",
                  lambda: all(int(host.ask("ends")) >= total for host in self.hosts))
        self.wait("equal values at the end", lambda: len({host.ask("values") for host in self.hosts}) == 1)

    def end(self):
        for host in getattr(self, "hosts", []):
            for process in (host.relay, host.standby, host.server, host.setter, host.watcher, host.agent, *host.posters.values()):
                kill(process)
        self.network.remove()

    def judge(self):
        reports = {host.number: host.report() for host in self.hosts}
        exact = self.options.standby and not any("this one has not read" in host.log.read_text() for host in self.hosts)
        in_all = sum(reports[host.number][0][name][0][1] for host in self.hosts for name in host.names)
        wrong, posted, lost, unsure, received, missed, silent = [], 0, 0, 0, 0, 0, 0
        for host in self.hosts:
            own, own_missed = reports[host.number]
            missed += own_missed
            for name in host.names:
                ((_, count, *_),) = own[name]
                posted += count
                for other in self.hosts:
                    if other is host:
                        continue
                    rows, other_missed = reports[other.number]
                    ((_, here, number, ended, gone, perhaps, base, counted, twice, order, untold),) = rows[name]
                    received += here
                    lost += gone
                    unsure += perhaps
                    line = (f"{name} at host {other.number}: posted {count}, received {here}, lost {gone} "
                            f"(perhaps {perhaps}), counted {counted} from {base}, twice {twice}, out of order {order}, "
                            f"untold {untold}")
                    silent += base
                    # Losses that are perhaps none are there only if a relay was away for longer than its ring (C3 of
                    # the design note), and so are accounts that begin later. If an agent was lapped itself, its numbers
                    # can't tell this.
                    if twice or order or not ended or exact and (perhaps or base):
                        wrong.append(line)
                    elif not other_missed and (untold or not 0 <= here + gone - (counted - base) <= perhaps):
                        wrong.append(line)
                    elif not own_missed and not 0 <= counted - count <= base + perhaps:
                        wrong.append(line)
                    # No ring has gone round.
                    elif (base or gone) and self.options.slots >= 2 * in_all:
                        wrong.append(line)
        summary = (f"{self.options.transport}, {len(self.hosts)} hosts, {len(self.links())} links: {posted} posted, {received} arrived "
                   f"elsewhere, {lost} told as lost ({unsure} of these perhaps not), {silent} before an account began, {missed} missed by agents; "
                   + ", ".join(f"{value} {key}" for key, value in sorted(self.counts.items())))
        if wrong:
            raise Wrong(summary + "".join(f"\n  {line}" for line in wrong[:20]) + f"\n  {len(wrong)} wrong accounts")
        times = sorted(seconds for seconds, _ in self.times)
        late = [f"{seconds:.2f} s ({', '.join(sorted(what))})" for seconds, what in self.times if seconds > HEALED]
        print(summary)
        print(f"values equal after {len(times)} rounds in {times[len(times) // 2]:.2f} s, at most {times[-1]:.2f} s"
              + (f"; later than {HEALED} s: {'; '.join(late)}" if late else ""))


def main():
    parser = argparse.ArgumentParser(add_help=True)
    parser.add_argument("command")
    parser.add_argument("--transport", choices=["nats", "cluster", "tls"], default="nats")
    parser.add_argument("--hosts", type=int, default=3)
    parser.add_argument("--posters", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--posts", type=float, default=60000)
    parser.add_argument("--seed", type=int, default=20261128)
    parser.add_argument("--slots", type=int, default=4096, help="of each center's ring")
    parser.add_argument("--fault", choices=["", "drop", "twice", "swap"], default="", help=argparse.SUPPRESS)
    parser.add_argument("--clocks", type=int, choices=[0, 1], default=1, help="0: all clocks are right")
    parser.add_argument("--self-test", action="store_true", help="agents that err must be found")
    parser.add_argument("--standby", action="store_true", help="each host has a second relay, and losses must be exact")
    parser.add_argument("--program", action="store_true", help="a program of each host, and no faults")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.command = str(pathlib.Path(options.command).resolve())
    if options.program:
        # The rings hold everything, so a relay that gets no processor for a while misses nothing.
        options.slots = max(options.slots, 1 << 16)
    if not shutil.which("ip"):
        print("SKIPPED: namespaces: no ip (apt-get install iproute2)")
        return 77
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        print("SKIPPED: namespaces: /dev/net/tun can't be opened, so there is no network between hosts")
        return 77
    probe = f"tdprobe{os.getpid() % 100000}"
    if tool("ip", "netns", "add", probe, check=False).returncode:
        print("SKIPPED: namespaces: this user may not make network namespaces (CAP_SYS_ADMIN, CAP_NET_ADMIN)")
        return 77
    tool("ip", "netns", "del", probe)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    print(f"seed {options.seed}", flush=True)
    if not options.self_test:
        return play(options)
    options.seconds, options.posts = 3, 20000
    missed = []
    for options.fault in ("drop", "twice", "swap"):
        print(f"agents that {options.fault} must be found: ", end="", flush=True)
        if play(options) == 0:
            missed.append(options.fault)
    if missed:
        print(f"NOT FOUND: {', '.join(missed)}")
    return 1 if missed else 0


def play(options):
    run = Run(options)
    try:
        run.begin()
        if options.program:
            run.programs()
            run.keeps = False
            return 0
        run.start_load()
        run.play()
        run.heal()
        run.finish()
        run.judge()
        run.keeps = False
    except Wrong as fault:
        if options.fault and "wrong accounts" in str(fault):
            print(str(fault).splitlines()[-1].strip())
            run.keeps = False
        else:
            print(f"FAILED (seed {options.seed}; logs: {run.work}): {fault}")
        return 1
    finally:
        run.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
