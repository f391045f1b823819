#!/usr/bin/env bash
# Programs that know nothing of the extension but how it is loaded: clients.sh BUILD WORK.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=$(dirname "$(dirname "$here")")
build=$1 work=$2
extension=$build/tidings_sqlite.so
TIDINGS_DIRECTORY=$(mktemp -d /dev/shm/tidings-sqlite.XXXXXX)
export TIDINGS_DIRECTORY
trap 'rm -rf "$TIDINGS_DIRECTORY"' EXIT
status=0

# Python's sqlite3 module is often built without extensions: Debian's has them.
python=
for candidate in python3 /usr/bin/python3; do
    "$candidate" -c 'import sqlite3; sqlite3.connect(":memory:").enable_load_extension(True)' 2>/dev/null && python=$candidate && break
done
if [[ -n $python ]]; then
    timeout 60 "$python" "$here/client.py" "$extension" "$work/python.db" || status=1
else
    echo "NOT TRIED with Python: no sqlite3 module here loads extensions; install Debian's python3"
    status=1
fi

if command -v sqlite3 >/dev/null; then
    timeout 60 "$here/shell.sh" "$extension" "$work/shell.db" || status=1
else
    echo "NOT TRIED with the shell: sqlite3 is missing; install it"
    status=1
fi

# From the files of `make install`.
make -s -C "$root" BUILD="$build" PREFIX="$work/installed" install >"$work/install.log" 2>&1 || { cat "$work/install.log"; exit 1; }
"${CC:-cc}" -std=c11 -Wall -Wextra -Werror -I"$work/installed/include" "$here/linked/main.c" -L"$work/installed/lib" \
    -Wl,-rpath,"$work/installed/lib" -l:tidings_sqlite.so -lsqlite3 -o "$work/linked"
timeout 60 "$work/linked" "$work/linked.db" || status=1
exit "$status"
