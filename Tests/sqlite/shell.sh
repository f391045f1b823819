#!/usr/bin/env bash
# Two sqlite3 shells, unchanged but for loading the extension: shell.sh EXTENSION DATABASE.
set -euo pipefail
extension=$1 path=$2
# Into a pipe the shell would keep its lines until it ends.
shell() { stdbuf -oL sqlite3 -batch -cmd ".load $extension" -cmd ".open $path" :memory: "$@"; }

shell 'PRAGMA journal_mode=WAL; CREATE TABLE t(x)' >/dev/null
coproc waiter { shell; }
pid=$!
echo "SELECT 'first', tidings_wait('main', 0) IS NULL; SELECT 'woken', tidings_wait('main', -1) > 0; SELECT count(*) FROM t;" >&"${waiter[1]}"
read -r line <&"${waiter[0]}"
[[ $line == 'first|1' ]] || { echo "the shell said '$line'"; exit 1; }
shell 'INSERT INTO t VALUES(1)'
read -r line <&"${waiter[0]}"
[[ $line == 'woken|1' ]] || { echo "the shell said '$line'"; exit 1; }
read -r line <&"${waiter[0]}"
[[ $line == 1 ]] || { echo "the shell said '$line'"; exit 1; }

# Control-C ends a wait. bash lets background processes ignore it, so the shell gets a fresh start.
python3 - "$extension" "$path" <<'PYTHON'
import signal, subprocess, sys
shell = subprocess.Popen(["stdbuf", "-oL", "sqlite3", "-batch", "-cmd", f".load {sys.argv[1]}", "-cmd", f".open {sys.argv[2]}", ":memory:"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
print("SELECT 'ready';\nSELECT tidings_wait('main', -1);", file=shell.stdin, flush=True)
assert shell.stdout.readline() == "ready\n"
while True:  # until it sleeps
    with open(f"/proc/{shell.pid}/syscall") as file:
        if file.read().split()[0] in ("202", "449", "98"):
            break
shell.send_signal(signal.SIGINT)
line = shell.stderr.readline()
assert "interrupted" in line, line
shell.kill()
PYTHON
kill "$pid" 2>/dev/null || true
echo "sqlite3 shell $(sqlite3 --version | cut -d' ' -f1): good"
