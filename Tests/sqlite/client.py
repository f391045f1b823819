"""Two processes of Python's sqlite3 module, unchanged but for loading the extension: client.py EXTENSION DATABASE."""
import json
import select
import sqlite3
import subprocess
import sys
import threading

extension, path = sys.argv[1:3]
loader = sqlite3.connect(":memory:")
loader.enable_load_extension(True)
loader.load_extension(extension)
loader.close()
db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)


def one(sql, *values):
    return db.execute(sql, values).fetchone()[0]


if len(sys.argv) > 3:  # the other process: a commit for each line, and what it was told for the last one
    for line in sys.stdin:
        db.execute("INSERT INTO t VALUES(?)", (line.strip(),))
        print("committed", flush=True)
    sys.exit()

assert one("PRAGMA journal_mode=WAL") == "wal"
db.execute("CREATE TABLE t(x)")
other = subprocess.Popen([sys.executable, __file__, extension, path, "other"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         text=True)


def commit(text):
    print(text, file=other.stdin, flush=True)


assert one("SELECT tidings_wait('main', 0)") is None
counter = one("SELECT max(counter) FROM tidings_changes('main')")
for i in range(10):
    commit(f"row {i}")
    news = one("SELECT tidings_wait('main', -1)")
    assert news == counter + 1, (news, counter)
    assert db.execute("SELECT counter, pid, missed FROM tidings_changes('main', ?)", (counter,)).fetchall() == \
        [(news, other.pid, 0)]
    assert one("SELECT x FROM t ORDER BY rowid DESC") == f"row {i}"
    counter = news
    assert other.stdout.readline() == "committed\n"

# Its own commits do not wake it; with names of tables on request.
assert one("SELECT tidings_tables('main')") == 1
db.execute("INSERT INTO t VALUES('own')")
assert one("SELECT tidings_wait('main', 0)") is None
tables, pid = db.execute("SELECT tables, pid FROM tidings_changes('main', ?)", (counter,)).fetchone()
assert json.loads(tables) == {"t": ["insert"]}, tables

# An event loop.
descriptor = one("SELECT tidings_descriptor('main')")
assert one("SELECT tidings_wait('main', 0)") is None
assert select.select([descriptor], [], [], 0)[0] == []
commit("for the loop")
assert select.select([descriptor], [], [])[0] == [descriptor]
assert one("SELECT tidings_wait('main', 0)") is not None

# Another thread ends a wait.
ended = threading.Event()


def interrupt():
    while not ended.wait(0.001):
        db.interrupt()


thread = threading.Thread(target=interrupt)
thread.start()
try:
    one("SELECT tidings_wait('main', -1)")
    raise AssertionError("the wait was not interrupted")
except sqlite3.OperationalError as error:
    assert str(error) == "interrupted", error
ended.set()
thread.join()

# Python's own transactions and rollbacks.
legacy = sqlite3.connect(path)
before = one("SELECT count(*) FROM tidings_changes('main')")
legacy.execute("INSERT INTO t VALUES('undone')")
legacy.rollback()
assert one("SELECT count(*) FROM tidings_changes('main')") == before
with legacy:
    legacy.execute("INSERT INTO t VALUES('done')")
assert one("SELECT count(*) FROM tidings_changes('main')") == before + 1

# The death of the writer leaves nothing to clean up.
other.kill()
other.wait()
db.execute("INSERT INTO t VALUES('after')")
assert one("PRAGMA integrity_check") == "ok"
print(f"Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}: good")
