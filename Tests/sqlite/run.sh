#!/usr/bin/env bash
# The extension for SQLite: its tests in C with gcc, and with clang under the address sanitizer; Python's sqlite3 module
# and the sqlite3 shell, unchanged; a program in C that is linked with it; the mutants.
#
#   Tests/sqlite/run.sh [SEED]           what CI runs
#   Tests/sqlite/run.sh SEED TEST…       only these tests in C, with gcc
#   Tests/sqlite/run.sh --full [SEED]    a kill at every instruction (hours); --long: two writers and 20 waiters for ten
#                                        minutes, 2,000 exits and 500 kills of each kind; --thread: under gcc's thread
#                                        sanitizer
set -euo pipefail
root=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
cd "$root"
kind=
case ${1:-} in --full | --long | --thread) kind=$1; shift ;; esac
seed=${1:-20261127}
shift || true
if ! echo '#include <sqlite3ext.h>' | ${CC:-cc} -E -x c - >/dev/null 2>&1; then
    echo "NOT TRIED: sqlite3ext.h is missing; install libsqlite3-dev"
    exit 77
fi
build=${TIDINGS_SQLITE_BUILD:-$root/.build-sqlite}
work=$(mktemp -d "${TMPDIR:-/tmp}/tidings-sqlite.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work" # tests of other users load the extension from there
ulimit -c 0
strict=(-std=gnu17 -D_GNU_SOURCE -g -Wall -Wextra -Werror -ICShim/include -ICShim/sqlite/include)

make -s -j2 BUILD="$build" CFLAGS="-O2 -g -Werror" "$build/libtidings.so" "$build/tidings_sqlite.so" >"$work/make.log" 2>&1 ||
    { cat "$work/make.log"; exit 1; }
"${CC:-cc}" "${strict[@]}" -O1 Tests/sqlite/*.c "-L$build" "-Wl,-rpath,$build" -ltidings -lsqlite3 -lpthread -o "$work/SQLiteTests"
tests() { "$work/SQLiteTests" "$build/tidings_sqlite.so" "$seed" "$@"; }

case $kind in
    --full) TIDINGS_SQLITE_KILLS=all TIDINGS_TEST_HANG_TIMEOUT=0 tests a_writer_killed_anywhere_leaves_no_commit_unseen; exit ;;
    --long)
        export TIDINGS_SQLITE_SECONDS=600 TIDINGS_SQLITE_KILLS=500 TIDINGS_SQLITE_EXITS=2000 TIDINGS_TEST_HANG_TIMEOUT=3600
        tests writers_and_waiters_survive_kills_and_stops an_exit_in_a_commit_leaves_no_commit_unseen \
            a_writer_killed_anywhere_leaves_no_commit_unseen
        exit ;;
    --thread)
        how=(-fsanitize=thread -O1 -w -ICShim/src)
        mkdir "$work/thread"
        gcc "${strict[@]}" "${how[@]}" -fPIC -fvisibility=hidden -shared CShim/sqlite/src/*.c CShim/src/*/*.c -lpthread -ldl \
            -o "$work/thread/tidings_sqlite.so"
        gcc "${strict[@]}" "${how[@]}" Tests/sqlite/*.c CShim/src/*/*.c -lsqlite3 -lpthread -o "$work/thread/SQLiteTests"
        # Steps of a traced process are told from code without sanitizers.
        mapfile -t all < <("$work/thread/SQLiteTests" --list | grep -v a_writer_killed_anywhere)
        TSAN_OPTIONS="die_after_fork=0 report_thread_leaks=0 atexit_sleep_ms=10" TIDINGS_SQLITE_SECONDS=6 TIDINGS_SQLITE_EXITS=50 \
            "$work/thread/SQLiteTests" "$work/thread/tidings_sqlite.so" "$seed" "${all[@]}"
        exit ;;
esac
if [[ $# -gt 0 ]]; then tests "$@"; exit; fi

echo "--- gcc"
tests

echo "--- address and undefined-behaviour sanitizers"
sanitize=(-ICShim/src -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -fuse-ld=lld)
mkdir "$work/address"
clang "${strict[@]}" "${sanitize[@]}" -fPIC -fvisibility=hidden -shared-libasan -shared CShim/sqlite/src/*.c CShim/src/*/*.c \
    -lpthread -ldl -o "$work/address/tidings_sqlite.so" &
clang "${strict[@]}" "${sanitize[@]}" -shared-libasan Tests/sqlite/*.c CShim/src/*/*.c -lsqlite3 -lpthread -o "$work/address/SQLiteTests" &
wait -n
wait -n
runtime=$(dirname "$(clang -print-file-name=libclang_rt.asan-x86_64.so)")
# SQLite leaks nothing, but the tests leave handles open. Steps of a traced process are told from code without sanitizers.
mapfile -t all < <("$work/SQLiteTests" --list | grep -v a_writer_killed_anywhere)
LD_LIBRARY_PATH=$runtime ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS="print_stacktrace=1 halt_on_error=1" TIDINGS_SQLITE_SECONDS=4 \
    TIDINGS_SQLITE_EXITS=20 "$work/address/SQLiteTests" "$work/address/tidings_sqlite.so" "$seed" "${all[@]}"

echo "--- Python, the shell, a linked program"
Tests/sqlite/clients.sh "$build" "$work"

echo "--- mutants"
failed=0 known=0
attempt() { # attempt MUTANT TEST
    local folder=$work/$1
    mkdir "$folder"
    ln -s "$build/libtidings.so" "$folder/libtidings.so.0"
    "${CC:-cc}" "${strict[@]}" -O2 -fPIC -fvisibility=hidden "-D$1" -shared CShim/sqlite/src/*.c "-L$build" -Wl,-rpath,'$ORIGIN' \
        -ltidings -lpthread -ldl -o "$folder/tidings_sqlite.so"
    if TIDINGS_TEST_HANG_TIMEOUT=10 TIDINGS_SQLITE_KILLS=100 TIDINGS_SQLITE_EXITS=2000 "$work/SQLiteTests" \
        "$folder/tidings_sqlite.so" "$seed" "$2" >"$folder/report" 2>&1; then
        echo "$1: NOT FOUND by $2"
        return 1
    fi
    echo "$1: found by $2"
}
while read -r mutant test; do
    known=$((known + 1))
    if [[ $known -gt 2 ]]; then wait -n || failed=1; fi
    attempt "$mutant" "$test" &
done < <(.ci/check-mutants --list sqlite)
for _ in 1 2; do wait -n || failed=1; done
echo "$known mutants, $SECONDS s"
exit "$failed"
