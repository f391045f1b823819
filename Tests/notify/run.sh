#!/usr/bin/env bash
# notify(3) built by `make` with gcc and with clang, its scenarios told by both and under the thread and the address sanitizer, and what `make install` installs, used.
#
#   Tests/notify/run.sh --quick [SEED]     the soak takes 100,000 actions, and 25,000 under a sanitizer; with clang, the scenarios are as short as under a sanitizer
#   Tests/notify/run.sh [SEED]             a million everywhere, and whole scenarios with both compilers
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

plain=1000000 sanitized=1000000 short=
if [[ ${1:-} == --quick ]]; then
    plain=100000 sanitized=25000 short=-DSANITIZED=1
    shift
fi
seed=${1:-20261123}
work=$(mktemp -d "${TMPDIR:-/tmp}/notify.XXXXXX")
trap 'cat "$work"/*.log 2>/dev/null || true; rm -rf "$work"' EXIT # also where the watchdog of CI ends it
echo "seed $seed"

build() { # build NAME COMPILER FLAGS TARGET…
    local name=$1 compiler=$2 flags=$3
    shift 3
    make -s -j"$(nproc)" BUILD="$work/$name" CC="$compiler" CFLAGS="$flags" "${@/#/$work/$name/}"
}

plain() { # plain COMPILER [FLAG…]: of the scenarios
    echo "--- $1"
    make -s -j"$(nproc)" BUILD="$work/$1" CC="$1" CFLAGS="-O2 -g -Werror" all
    build "$1" "$1" "-O2 -g -Werror ${*:2}" NotifyPeer
    TIDINGS_SOAK_ACTIONS=$plain Tests/notify/tell.sh "$work/$1/NotifyPeer" "$seed"
    Tests/notify/installed.sh "$work/$1" "$1" "${1/gcc/g}++"
}

# With clang: it knows blocks, and a child of fork can allocate under its address sanitizer. Under gcc 12's, the child waits for ever for a lock of the allocator that
# another thread held at the fork.
sanitized() { # sanitized SANITIZER
    echo "--- $1 sanitizer"
    export TIDINGS_SOAK_ACTIONS=$sanitized
    # Children of a process with threads start some of their own, which the thread sanitizer would rather they didn't.
    export TSAN_OPTIONS="die_after_fork=0 second_deadlock_stack=1 atexit_sleep_ms=10" ASAN_OPTIONS="detect_leaks=1" UBSAN_OPTIONS="print_stacktrace=1"
    LDFLAGS=-fuse-ld=lld build "$1" clang "-O1 -g -fsanitize=$1 -fno-sanitize-recover=all" NotifyPeer
    Tests/notify/tell.sh "$work/$1/NotifyPeer" "$seed"
}

# Two at a time: a scenario waits more than it computes.
(plain gcc; plain clang $short) >"$work/plain.log" 2>&1 &
(sanitized thread; sanitized address,undefined) >"$work/sanitized.log" 2>&1 &
failed=0
for lane in 1 2; do wait -n || failed=1; done
exit "$failed"
