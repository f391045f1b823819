#!/usr/bin/python3
"""The example Prefork under load and kills: no answer is older than the last value that was put.

    Tests/examples/prefork.py BUILD [--seed SEED]     BUILD: the folder of a debug build, with the core and the command
    Tests/examples/prefork.py BUILD --mutants         each mutant must be found

Four workers serve. Clients put and get values of a few keys; each value is a number that grows. A get must return at
least the number that was put before it began. Workers are killed meanwhile. Other processes change files, and post.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "Examples/Prefork"
WORKERS = 4
KEYS = ["title", "artist", "year"]
KILLS = 8
SLOTS = 256  # of the ring: more invalidations than that, and a worker has missed some
LIMIT = 60  # seconds: a watchdog, also for a wait
NAME = "com.example.cache.invalidate"

MUTANTS = [
    ("takes no invalidations before it answers", "an old answer|answers",
     "        take_invalidations(observer);", "        if (getppid() == 0) take_invalidations(observer);"),
    ("keeps its cache when it has missed invalidations", "an old answer after missed",
     "delivery.kind == TIDINGS_DELIVERY_MISSED || delivery.size == 0", "delivery.size == 0 && !delivery.missed"),
    ("posts before it changes the file", "posts a key before",
     "        if (!store(key, value)) return", "        invalidate(key);\n        if (!store(key, value)) return"),
    ("invalidates nothing after a death", "an old answer from a put that was cut short",
     '            invalidate("");', "            "),
    ("replaces no worker", "workers answer",
     '            invalidate("");  // It may have changed a file, and not posted its key.\n            start_worker();',
     '            invalidate("");'),
]


class Wrong(Exception):
    pass


def built(build, code, folder):
    """Runs the example's Makefile, with the core of a debug build in place of an installed library."""
    (folder / "prefork.c").write_text(code)
    objects = [str(path) for path in sorted((build / "CTidings.build").resolve().rglob("*.o"))]
    if not objects:
        sys.exit(f"{build} has no objects of the core: swift build")
    subprocess.run(["ar", "rc", folder / "libtidings.a", *objects], check=True)
    tidings = f"-I{ROOT}/CShim/include -L. -ltidings -lpthread"
    subprocess.run(["make", "-s", "-f", EXAMPLE / "Makefile", "CFLAGS=-O1 -g -Werror", f"TIDINGS={tidings}", "prefork"],
                   cwd=folder, check=True)
    return folder / "prefork"


class Service:
    def __init__(self, program, command, folder, seed):
        self.chance, self.command, self.folder = random.Random(seed), command, folder
        self.environment = {**os.environ, "TIDINGS_DIRECTORY": str(folder)}
        self.values, self.socket = folder / "values", str(folder / "socket")
        self.values.mkdir()
        self.tidings("create", "com.example.cache", "--slots", str(SLOTS))
        self.process = subprocess.Popen(
            [program, self.socket, self.values, str(WORKERS)], stderr=subprocess.PIPE, text=True, env=self.environment)
        line = self.process.stderr.readline()
        if "workers serve" not in line:
            raise Wrong(f"it does not start: {line}")
        self.said = []
        threading.Thread(target=lambda: self.said.extend(self.process.stderr), daemon=True).start()
        self.put_numbers = {key: 0 for key in KEYS}
        self.hits = 0

    def tidings(self, *arguments):
        subprocess.run([self.command, *arguments], check=True, env=self.environment, timeout=LIMIT)

    def start(self, *arguments):
        return subprocess.Popen([self.command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env=self.environment)

    def ask(self, line):
        """The words of the answer. None: the worker was killed."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(LIMIT)
            try:
                client.connect(self.socket)
                client.sendall(f"{line}\n".encode())
                answer = b""
                while not answer.endswith(b"\n"):
                    more = client.recv(4096)
                    if not more:
                        return None
                    answer += more
            except (ConnectionError, socket.timeout) as error:
                if self.process.poll() is not None:
                    raise Wrong(f"it has ended with {self.process.returncode}: {''.join(self.said)}") from error
                if isinstance(error, socket.timeout):
                    raise Wrong(f"no worker answers within {LIMIT} s") from error
                return None
        return answer.decode().split()

    def asked(self, line):
        """The same, from another worker if one was killed."""
        while True:
            words = self.ask(line)
            if words:
                return words

    def put(self, key):
        """Changes a value. If the worker was killed, the value may be the old one or the new one."""
        number = self.put_numbers[key] + 1
        words = self.asked(f"PUT {key} {number}")
        if words[0] != "DONE":
            raise Wrong(f"PUT {key}: {words}")
        self.put_numbers[key] = number

    def get(self, key, when=""):
        least = self.put_numbers[key]
        words = self.asked(f"GET {key}")
        if words[0] not in ("HIT", "MISS") or int(words[2]) < least:
            raise Wrong(f"an old answer{when}: {' '.join(words)} to GET {key}, and {least} was put before")
        self.hits += words[0] == "HIT"
        return int(words[1])

    def workers(self):
        pid = self.process.pid
        return list(map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))

    def awaits(self, what, words):
        end = time.monotonic() + LIMIT / 6
        while not what():
            if time.monotonic() > end:
                raise Wrong(f"it does not become true that {words}")
            time.sleep(0.01)

    def every_worker(self, what):
        """Calls a function that returns a worker's process ID until each of the workers has answered."""
        seen, end = set(), time.monotonic() + LIMIT / 6
        while len(seen) < WORKERS:
            seen.add(what())
            if time.monotonic() > end:
                raise Wrong(f"only {len(seen)} of {WORKERS} workers answer")
        return seen

    # What is tried.

    def load_and_kills(self):
        """Three threads put, five get, and workers are killed."""
        ended = threading.Event()

        def until_ended(step, key):
            count = 0
            while not ended.is_set():
                step(key)
                count += 1
            return count

        with concurrent.futures.ThreadPoolExecutor() as pool:
            puts = [pool.submit(until_ended, self.put, key) for key in KEYS]
            gets = [pool.submit(until_ended, self.get, self.chance.choice(KEYS)) for _ in range(5)]
            try:
                for _ in range(KILLS):
                    before = set(self.workers())
                    os.kill(self.chance.choice(sorted(before)), signal.SIGKILL)
                    self.awaits(lambda: len(self.workers()) == WORKERS and set(self.workers()) != before
                                or any(future.done() for future in puts + gets), f"{WORKERS} workers answer")
            finally:
                ended.set()
        return sum(future.result() for future in puts), sum(future.result() for future in gets)

    def another_process(self):
        """A process that is no worker changes a file, and posts its key: each worker reads the file again."""
        for key in KEYS:
            self.every_worker(lambda: self.get(key))
            self.put_numbers[key] += 1
            (self.values / f".{key}.new").write_text(f"{self.put_numbers[key]}\n")
            (self.values / f".{key}.new").rename(self.values / key)
            self.tidings("post", NAME, "--center", "com.example.cache", "--text", key)
            self.every_worker(lambda: self.get(key))

    def more_than_the_ring(self):
        """All workers have a value. It changes, and more is posted than the ring has room for, before one looks."""
        key = KEYS[0]
        self.every_worker(lambda: self.get(key))
        self.put(key)
        self.tidings("post", NAME, "--center", "com.example.cache", "--text", "another", "--count", str(2 * SLOTS))
        self.every_worker(lambda: self.get(key, " after missed invalidations"))

    def a_put_that_is_cut_short(self):
        """A worker is killed after it has changed the file, and before it has posted the key.

        A stopped lossless observer holds its post back. When the observer dies, the parent's post follows.
        """
        key = KEYS[1]
        self.put(key)
        self.every_worker(lambda: self.get(key))
        observer = self.start("observe", NAME, "--center", "com.example.cache", "--lossless")
        if "observing" not in observer.stdout.readline():
            raise Wrong("tidings observe does not start")
        observer.send_signal(signal.SIGSTOP)
        try:
            full = subprocess.run([self.command, "post", NAME, "--center", "com.example.cache", "--text", "another",
                                   "--count", str(2 * SLOTS)], env=self.environment, stderr=subprocess.DEVNULL)
            if full.returncode != 1:
                raise Wrong(f"a stopped lossless observer holds no post back: {full.returncode}")
            number, waiting = self.put_numbers[key] + 1, []
            with concurrent.futures.ThreadPoolExecutor() as pool:
                cut_short = pool.submit(self.ask, f"PUT {key} {number}")
                # The worker that waits in a post. The others sleep in accept.
                self.awaits(lambda: waiting.extend(self.stalled()) or waiting, "a worker waits in a post")
                if (self.values / key).read_text().strip() != str(number):
                    raise Wrong("a worker posts a key before it has changed the file")
                os.kill(waiting[0], signal.SIGKILL)
                if cut_short.result():
                    raise Wrong("a worker that was killed has answered")
        finally:
            observer.kill()
            observer.wait()
            observer.stdout.close()
        self.put_numbers[key] = number
        # The new worker starts after the parent's post.
        self.awaits(lambda: len(set(self.workers()) - {waiting[0]}) == WORKERS, f"{WORKERS} workers answer")
        self.every_worker(lambda: self.get(key, " from a put that was cut short"))

    def stalled(self):
        """The workers that wait in a post."""
        return [pid for pid in self.workers() if "futex" in pathlib.Path(f"/proc/{pid}/wchan").read_text()]

    def bad_input(self):
        for line in ("", "GET", "GET ../secret", "GET .title.1", "PUT title", "PUT title " + "x" * 201,
                     "GET " + "k" * 65, "DELETE title"):
            words = self.asked(line)
            if words[0] != "ERROR":
                raise Wrong(f"the answer to '{line}' is {words}")
        with socket.socket(socket.AF_UNIX) as client:  # a line without an end gets no answer, and its worker serves on
            client.settimeout(LIMIT)
            client.connect(self.socket)
            client.sendall(b"x" * 4096)
            try:
                if client.recv(100):
                    raise Wrong("a line without an end got an answer")
            except ConnectionError:
                pass
        if self.asked("GET unknown")[0] != "NONE":
            raise Wrong("a key without a value has one")
        self.every_worker(lambda: self.get(KEYS[0]))

    def end(self):
        """SIGTERM: it ends with its workers, without an error."""
        workers = self.workers()
        self.process.terminate()
        if self.process.wait(timeout=LIMIT) != 0:
            raise Wrong(f"it ended with {self.process.returncode}: {''.join(self.said)}")
        left = [pid for pid in workers if os.path.exists(f"/proc/{pid}")]
        if left or os.path.exists(self.socket):
            raise Wrong(f"workers {left} or the socket are left")


def tried(build, code, seed):
    """What was wrong, or None."""
    with tempfile.TemporaryDirectory(prefix="tidings-prefork-", dir="/dev/shm") as folder:
        folder = pathlib.Path(folder)
        program = built(build, code, folder)
        service = Service(program, build / "tidings", folder, seed)
        watchdog = threading.Timer(LIMIT, service.process.kill)
        watchdog.start()
        try:
            for key in KEYS:
                service.put(key)
            service.another_process()
            service.more_than_the_ring()
            service.a_put_that_is_cut_short()
            puts, gets = service.load_and_kills()
            service.bad_input()
            service.end()
            print(f"prefork: {puts} puts and {gets} gets, {service.hits} from caches, {KILLS} kills")
            return None
        except Wrong as error:
            return str(error)
        finally:
            watchdog.cancel()
            service.process.kill()
            service.process.wait()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--mutants", action="store_true")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    code = (EXAMPLE / "prefork.c").read_text()
    for _, _, said, _ in MUTANTS:
        if code.count(said) != 1:
            sys.exit(f"prefork.c does not have this text once, which a mutant changes: {said}")
    if options.mutants:
        missed = 0
        for name, words, said, instead in MUTANTS:
            found = tried(options.build, code.replace(said, instead), options.seed) or "nothing was wrong"
            missed += not re.search(words, found)
            print(f"a process that {name}: {'found' if re.search(words, found) else 'NOT FOUND'}: {found}", flush=True)
        sys.exit(missed)
    wrong = tried(options.build, code, options.seed)
    if wrong:
        sys.exit(f"WRONG, seed {options.seed}: {wrong}")


main()
