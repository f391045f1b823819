#!/usr/bin/python3
"""The example JobQueue under kills: two producers, three workers and a view, which are killed and restarted at random.

    Tests/grdb/jobs.py BUILD [--seconds N] [--seed SEED]     BUILD: the folder with the program Jobs
    Tests/grdb/jobs.py BUILD --mutants [WORD…]               each mutant must be found, or those whose name has a word

TIDINGS_SQLITE_EXTENSION names the extension for SQLite. Afterwards each job must have been produced once and done once,
in the numbers that the producers printed. A job may be claimed again only after its worker was killed. The database
must be sound, the view must show the last counts, and sleeping processes must not run for IDLE seconds.

Triggers record each change of a job in the same transaction. The test itself sleeps in `tidings_wait`.
"""
import argparse
import fcntl
import glob
import os
import pathlib
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / ".ci"))
import typecheck

EXAMPLE = ROOT / "Examples/JobQueue"
PAUSE = 0.1  # seconds between two kills, at most: a worker needs about 0.05 to start
IDLE = 5  # seconds for which sleeping processes must not run
WINDOWS = 3  # how often that is tried: what still works off the last commit falls into the first one
MORE = 200  # jobs that must be done after a sleep, more than the producers' limit

RECORD = """
CREATE TABLE record (id INTEGER PRIMARY KEY, job INTEGER, before TEXT, after TEXT, worker INTEGER);
CREATE TRIGGER record AFTER UPDATE OF state ON job BEGIN
    INSERT INTO record (job, before, after, worker)
    VALUES (new.id, old.state, new.state, ifnull(new.worker, old.worker));
END;
"""


class Wrong(Exception):
    pass


class Member:
    """One of the six programs. It can be killed, and started again."""

    def __init__(self, name, *command):
        self.name, self.command, self.kills, self.starts = name, command, 0, 0
        self.process = self.reader = None
        self.lines, self.last, self.said = 0, None, threading.Condition()
        self.numbers = []  # what a producer printed, over all its lives

    def start(self):
        self.starts += 1
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.reader = threading.Thread(target=self.read, args=(self.process.stdout,), daemon=True)
        self.reader.start()

    def read(self, output):
        for line in output:
            with self.said:
                self.lines, self.last = self.lines + 1, line.rstrip("\n")
                if self.name.startswith("producer") and line.endswith("\n"):
                    self.numbers.append(self.last)
                self.said.notify_all()

    def kill(self):
        """Kills it, and reads what it had printed."""
        if self.process.poll() is not None:
            raise Wrong(f"{self.name} ended by itself with {self.process.returncode}: {self.last}")
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.process, self.kills = None, self.kills + 1

    def awaits(self, line, seconds):
        """Waits until the last line matches."""
        with self.said:
            if not self.said.wait_for(lambda: self.last and re.fullmatch(line, self.last), seconds):
                raise Wrong(f"{self.name} shows '{self.last}' instead of '{line}'")

    def switches(self):
        """How often each thread has gone to sleep.

        Without the thread in which Dispatch waits for its own events. In a Swift program that has run a task, Dispatch
        looks at its threads there once a second. What a timer of the program causes runs on another thread.
        """
        counts = {}
        for thread in glob.glob(f"/proc/{self.process.pid}/task/*"):
            try:
                waits, status = (open(f"{thread}/{file}").read() for file in ("wchan", "status"))
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended
            if "epoll" not in waits:
                counts[thread] = int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.M).group(1))
        return counts


class Test:
    def __init__(self, program, producer, folder, seed, limit):
        self.seed, self.chance, self.limit = seed, random.Random(seed), limit
        self.path = os.path.join(folder, "jobs.db")
        loader = sqlite3.connect(":memory:")
        loader.enable_load_extension(True)
        loader.load_extension(os.environ["TIDINGS_SQLITE_EXTENSION"])
        self.db = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.executescript((EXAMPLE / "Sources/Jobs/schema.sql").read_text() + RECORD)
        self.folder, self.program, self.producer = folder, program, producer
        self.members(self.path)

    def members(self, path):
        self.producers = [Member(f"producer {name}", "/usr/bin/python3", str(self.producer), path, name)
                          for name in ("alice", "bob")]
        self.workers = [Member(f"worker {number}", str(self.program), "work", path) for number in (1, 2, 3)]
        self.view = Member("view", str(self.program), "view", path)
        self.all = [*self.producers, *self.workers, self.view]

    def births(self):
        """All create the file: they wait for one lock, and then start at once."""
        path = os.path.join(self.folder, "birth.db")
        self.members(path)
        with open(f"{path}.lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for member in self.all:
                member.start()
            waiter, end, count = f"-> FLOCK.*:{os.fstat(lock.fileno()).st_ino} ", time.monotonic() + self.limit, 0
            while count < len(self.all):
                if time.monotonic() > end:
                    raise Wrong(f"{count} of {len(self.all)} processes wait for the lock before they create the file")
                time.sleep(0.02)
                count = len(re.findall(waiter, open("/proc/locks").read()))
        self.view.awaits(r".* [1-9]\d* done, .*, workers: 3", self.limit)
        for member in self.all:
            member.kill()
        self.members(self.path)

    def one(self, sql):
        return self.db.execute(sql).fetchone()[0]

    def until(self, sql, what):
        """Sleeps from commit to commit until a query gives a true value."""
        while not self.one(sql):
            if self.one(f"SELECT tidings_wait('main', {self.limit * 1000})") is None:
                states = dict(self.db.execute("SELECT state, count(*) FROM job GROUP BY state"))
                raise Wrong(f"no commit for {self.limit} s, while the test waits until {what}; jobs: {states}")

    def more(self):
        done = self.one("SELECT count(*) FROM job WHERE state = 'done'")
        self.until(f"SELECT count(*) >= {done + MORE} FROM job WHERE state = 'done'", f"{MORE} more jobs are done")

    def kills(self, seconds):
        """Kills and restarts members, until the time is over."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(self.chance.uniform(0, PAUSE))
            member = self.chance.choice(self.all)
            if member.process:
                member.kill()
                if self.chance.random() < 0.5:
                    continue  # another turn starts it
            member.start()
        for member in self.all:
            if not member.process:
                member.start()

    def idle(self, members):
        """None of them runs for IDLE seconds."""
        for window in range(WINDOWS):
            before = {member: member.switches() for member in members}
            time.sleep(IDLE)
            # A thread that has ended does not count: Dispatch ends its threads when they have been idle for 5 s.
            ran = {}
            for member in members:
                counts = member.switches().items()
                ran[member.name] = sum(count - before[member].get(thread, 0) for thread, count in counts)
            if not any(ran.values()):
                return
        raise Wrong(f"processes that have nothing to do woke up in {IDLE} s, window {window + 1}: {ran}")

    def orphan(self):
        """Kills a worker that has a job, and returns the job. The producers and the other workers run."""
        worker = self.chance.choice(self.workers)
        busy = "SELECT id FROM job WHERE state = 'running'"
        while True:
            time.sleep(self.chance.uniform(0, PAUSE))
            os.kill(worker.process.pid, signal.SIGSTOP)
            jobs = set(self.db.execute(busy))
            done = self.one("SELECT max(id) FROM record")
            # What the others have is done soon. If nothing is, then the stopped worker has SQLite's write lock.
            while self.one(f"SELECT max(id) < {done + 20} FROM record"):
                if self.one("SELECT tidings_wait('main', 1000)") is None:
                    break
            else:
                jobs &= set(self.db.execute(busy))
                if jobs:
                    worker.kill()
                    return min(jobs)[0]
            os.kill(worker.process.pid, signal.SIGCONT)

    def drained(self):
        for producer in self.producers:
            producer.kill()
        self.until("SELECT NOT EXISTS (SELECT 1 FROM job WHERE state <> 'done')", "every job is done")

    def run(self, seconds):
        self.births()
        for member in self.all:
            member.start()
        self.kills(seconds)
        self.drained()
        self.idle([*self.workers, self.view])
        for producer in self.producers:
            producer.start()
        self.more()  # by workers that slept
        job = self.orphan()
        for worker in self.workers:
            if worker.process:
                worker.kill()
        # A producer that finds the queue full sleeps.
        self.until("SELECT count(*) >= 100 FROM job WHERE state = 'queued'", "the queue is full")
        self.idle([*self.producers, self.view])
        for worker in self.workers:
            worker.start()
        self.more()  # of producers that slept
        if self.one(f"SELECT state <> 'done' FROM job WHERE id = {job}"):
            raise Wrong(f"job {job} of a dead worker is not done by workers that were started later")
        self.orphan()  # The other workers do its job.
        self.drained()
        self.check()

    def check(self):
        jobs = self.one("SELECT count(*) FROM job")
        self.view.awaits(rf"0 queued, 0 running, {jobs} done, \d+ per second, workers: 2", self.limit)
        for member in self.all:
            if member.process:
                member.kill()
        wrong = []
        for producer in self.producers:
            name = producer.name.split()[1]
            stored = [number for number, in self.db.execute(
                "SELECT number FROM job WHERE producer = ? ORDER BY number", (name,))]
            if stored != list(range(1, len(stored) + 1)):
                wrong.append(f"the numbers of {name}'s jobs have gaps")
            printed = [int(number) for number in producer.numbers]
            if printed != sorted(set(printed)):
                wrong.append(f"{producer.name} printed a number twice")
            if not set(printed) <= set(stored):
                wrong.append(f"jobs of {name} are lost: {sorted(set(printed) - set(stored))[:10]}")
            # A kill between a commit and the line hides one number.
            if len(stored) - len(printed) > producer.kills:
                wrong.append(f"{len(stored)} jobs of {name} in {producer.kills + 1} lives, and {len(printed)} lines")
        changes = {}
        released = set()
        for job, before, after, worker in self.db.execute("SELECT job, before, after, worker FROM record ORDER BY id"):
            if changes.get(job, "queued") != before or (before, after) not in (
                    ("queued", "running"), ("running", "queued"), ("running", "done")):
                wrong.append(f"job {job} was {before}, and worker {worker} made it {after}")
            changes[job] = after
            if after == "queued":
                released.add(worker)
            elif worker in released:
                wrong.append(f"worker {worker} made job {job} {after} after its jobs were released: it was alive")
        if len(changes) != jobs or set(changes.values()) != {"done"}:
            wrong.append(f"{len(changes)} of {jobs} jobs were taken, and {list(changes.values()).count('done')} done")
        again = self.one("SELECT count(*) FROM record WHERE after = 'queued'")
        done = self.one("SELECT count(*) FROM record WHERE after = 'done'")
        if done != jobs:
            wrong.append(f"{done} results for {jobs} jobs")
        if len(released) > sum(worker.kills for worker in self.workers):
            wrong.append(f"{len(released)} workers were taken for dead, more than were killed")
        results = self.one("SELECT count(*) FROM job WHERE result IS NULL OR length(result) <> length(task)")
        if results:
            wrong.append(f"{results} wrong results")
        for worker in self.workers:
            if worker.lines:
                wrong.append(f"{worker.name} complained: {worker.last}")
        sound = self.one("PRAGMA integrity_check")
        if sound != "ok":
            wrong.append(f"integrity_check: {sound}")
        if wrong:
            raise Wrong(f"{len(wrong)} faults: " + "; ".join(wrong[:5]))
        kills = [sum(member.kills for member in members) for members in (self.producers, self.workers, [self.view])]
        print(f"kills: {kills[0]} of producers, {kills[1]} of workers, {kills[2]} of views; {jobs} jobs produced, "
              f"{done} done, each once; {again} taken again after a death; {self.view.lines} redraws; 0 wake-ups in "
              f"{IDLE} s of 3 workers and the view, and of 2 producers and the view; integrity_check ok")

    def end(self):
        for member in self.all:
            if member.process and member.process.poll() is None:
                member.process.kill()
                member.process.wait()


def tried(program, producer, seconds, seed, limit=60):
    """Runs the test. None: nothing was wrong."""
    with tempfile.TemporaryDirectory(prefix="tidings-jobs-", dir="/dev/shm") as folder:
        os.environ["TIDINGS_DIRECTORY"] = folder
        test = Test(program, producer, folder, seed, limit)

        def hung():
            print(f"it hangs: {[(member.name, member.last) for member in test.all]}", flush=True)
            test.end()
            os._exit(1)

        watchdog = threading.Timer(seconds + 2 * WINDOWS * IDLE + 6 * limit, hung)
        watchdog.daemon = True
        watchdog.start()
        try:
            test.run(seconds)
        except Wrong as wrong:
            return str(wrong)
        finally:
            watchdog.cancel()
            test.end()
            test.db.close()


# Each is a name, what the test must say (an expression), the file, its text, and that of the mutant. The example has no
# hooks, because its code is there to be copied. Text that is not in the file once is an error.
MUTANTS = (
    ("claims without a transaction", "was running, and worker", "JobQueue.swift", """
        try await database.write { db in
            try Job.fetchAll(
                db,
                sql: \"\"\"
                    UPDATE job SET state = 'running', worker = ?
                    WHERE id = (SELECT id FROM job WHERE state = 'queued' ORDER BY id LIMIT 1)
                    RETURNING id, task, worker
                    \"\"\",
                arguments: [Int64(bitPattern: worker)]
            ).first
        }
""", """
        let sql = "SELECT id, task, ? AS worker FROM job WHERE state = 'queued' ORDER BY id LIMIT 1"
        let arguments: StatementArguments = [Int64(bitPattern: worker)]
        let job = try await database.read { db in try Job.fetchOne(db, sql: sql, arguments: arguments) }
        guard let job else { return nil }
        try await database.write { db in
            try db.execute(
                sql: "UPDATE job SET state = 'running', worker = ? WHERE id = ?", arguments: [job.worker, job.id])
        }
        return job
"""),
    ("ignores the commits of other processes", "no commit for|100 queued, 0 running", "JobQueue.swift",
     "sharing = try DatabaseSharing(database)\n",
     "sharing = try DatabaseSharing(database)\n        if CommandLine.arguments[1] == \"work\" { sharing.cancel() }\n"),
    ("creates the file without a lock", "wait for the lock", "JobQueue.swift", ", flock(lock, LOCK_EX) == 0", ""),
    ("keeps the jobs of the dead", "no commit for", "Worker.swift",
     "case .left(let worker, _): try await queue.release(jobsOf: worker.id)", "case .left: break"),
    ("releases the jobs of the living", "it was alive", "Worker.swift",
     "case .joined(let worker): suspects.remove(worker.id)",
     "case .joined(let worker): try await queue.release(jobsOf: worker.id)"),
    ("polls", "woke up", "producer.py", "tidings_wait('main', -1)", "tidings_wait('main', 50)"),
)


SOURCES = {path.name: path for path in [*(EXAMPLE / "Sources/Jobs").glob("*.swift"), EXAMPLE / "producer.py"]}


def mutants(build, seed, wanted):
    missed = []
    for name, words, file, said, says in MUTANTS:
        if wanted and not set(wanted) & set(name.split()):
            continue
        text = SOURCES[file].read_text()
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            mutant = folder / file
            mutant.write_text(text.replace(said, says))
            program, producer = build / "Jobs", SOURCES["producer.py"]
            if file == "producer.py":
                # The schema is beside it.
                producer = mutant
                (folder / "Sources").symlink_to(EXAMPLE / "Sources")
            else:
                program = folder / "Jobs"
                swift = [path for key, path in SOURCES.items() if key not in (file, "producer.py")]
                objects = [path for target in ("Tidings", "TidingsCoding", "CTidings", "TidingsGRDB", "CTidingsGRDB",
                                               "GRDB")
                           for path in glob.glob(str(build / f"{target}.build/**/*.o"), recursive=True)]
                command = ["swiftc", "-module-name", "Jobs", "-o", program, *typecheck.of_modules(str(build)), mutant,
                           *swift, build / "Jobs.build/DerivedSources/embedded_resources.swift", *objects, "-lsqlite3"]
                result = subprocess.run(list(map(str, command)), capture_output=True, text=True)
                if result.returncode:
                    sys.exit(f"the mutant that {name} is not built:\n{result.stderr}")
            found = tried(program, producer, 3, seed, limit=5) or "nothing was wrong"
            if not re.search(words, found):
                missed.append(name)
            print(f"a process that {name}: {'NOT FOUND' if name in missed else 'found'}: {found}", flush=True)
    return missed


def main():
    global IDLE
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--idle", type=float, default=IDLE)
    parser.add_argument("--mutants", nargs="*", metavar="WORD")
    options = parser.parse_args()
    IDLE = options.idle
    seed = random.randrange(1 << 32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    for _, _, file, said, _ in MUTANTS:
        if SOURCES[file].read_text().count(said) != 1:
            sys.exit(f"{file} does not have this text once, which a mutant changes: {said}")
    if options.mutants is not None:
        sys.exit(1 if mutants(options.build, seed, options.mutants) else 0)
    wrong = tried(options.build / "Jobs", EXAMPLE / "producer.py", options.seconds, seed)
    if wrong:
        sys.exit(f"WRONG, seed {seed}: {wrong}")


main()
