#!/usr/bin/python3
"""Adds jobs to the queue in FILE, in the name of a producer: producer.py FILE NAME

Sleeps while LIMIT jobs are queued, until a worker's commit. A producer that was killed goes on after its last job.
The environment variable TIDINGS_SQLITE_EXTENSION says where the extension is, unless it is in /usr/local/lib.
"""
import fcntl
import os
import pathlib
import signal
import sqlite3
import sys

LIMIT = 100
SCHEMA = pathlib.Path(__file__).with_name("Sources") / "Jobs/schema.sql"


def opened(path):
    """A connection that posts its commits, and can wait for those of others."""
    loader = sqlite3.connect(":memory:")
    loader.enable_load_extension(True)
    loader.load_extension(os.environ.get("TIDINGS_SQLITE_EXTENSION", "/usr/local/lib/tidings_sqlite.so"))
    db = sqlite3.connect(path, timeout=10, isolation_level=None)
    # SQLite does not wait if several processes switch a new file to WAL at once.
    with open(f"{path}.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript("BEGIN IMMEDIATE;" + SCHEMA.read_text() + "COMMIT")
    return db


def add(db, name):
    """Adds one job in one transaction, and returns its number. None: LIMIT jobs are queued."""
    db.execute("BEGIN IMMEDIATE")
    with db:  # commits, or rolls back after an error
        queued, = db.execute("SELECT count(*) FROM job WHERE state = 'queued'").fetchone()
        if queued >= LIMIT:
            return None
        last, = db.execute("SELECT ifnull(max(number), 0) FROM job WHERE producer = ?", (name,)).fetchone()
        db.execute("INSERT INTO job (producer, number, task) VALUES (?, ?, ?)", (name, last + 1, f"{name} {last + 1}"))
        return last + 1


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C also ends a wait, in which Python runs no handler
    try:
        db = opened(sys.argv[1])
        while True:
            number = add(db, sys.argv[2])
            if number is None:
                db.execute("SELECT tidings_wait('main', -1)").fetchone()
            else:
                print(number, flush=True)
    except (OSError, sqlite3.Error) as error:
        sys.exit(f"producer: can't add jobs to {sys.argv[1]}: {error}")


main()
