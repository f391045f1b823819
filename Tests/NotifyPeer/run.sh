#!/usr/bin/env bash
# notify(3) built by `make` with gcc and with clang, its stories told by both and under the thread and the address sanitizer, and what `make install` installs, used.
#
#   Tests/NotifyPeer/run.sh --quick [SEED]     the soak takes 100,000 actions under a sanitizer; about three minutes on two cores
#   Tests/NotifyPeer/run.sh [SEED]             a million everywhere
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

quick=
if [[ ${1:-} == --quick ]]; then
    quick=1
    shift
fi
seed=${1:-20261123}
work=$(mktemp -d "${TMPDIR:-/tmp}/notify.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "seed $seed"

build() { # build NAME COMPILER FLAGS TARGET…
    local name=$1 compiler=$2 flags=$3
    shift 3
    make -s -j"$(nproc)" BUILD="$work/$name" CC="$compiler" CFLAGS="$flags" "${@/#/$work/$name/}"
}

for compiler in gcc clang; do
    echo "--- $compiler"
    make -s -j"$(nproc)" BUILD="$work/$compiler" CC="$compiler" CFLAGS="-O2 -g -Werror" all
    build "$compiler" "$compiler" "-O2 -g -Werror" NotifyPeer
    Tests/NotifyPeer/tell.sh "$work/$compiler/NotifyPeer" "$seed"
    Tests/NotifyPeer/installed.sh "$work/$compiler" "$compiler" "${compiler/gcc/g}++"
done

export TIDINGS_SOAK_ACTIONS=${quick:+100000}
TIDINGS_SOAK_ACTIONS=${TIDINGS_SOAK_ACTIONS:-1000000}
# Children of a process with threads start some of their own, which the thread sanitizer would rather they didn't.
export TSAN_OPTIONS="die_after_fork=0 second_deadlock_stack=1 atexit_sleep_ms=10" ASAN_OPTIONS="detect_leaks=1" UBSAN_OPTIONS="print_stacktrace=1"
# With clang: it knows blocks, and a child of fork can allocate under its address sanitizer. Under gcc 12's, the child waits for ever for a lock of the allocator that
# another thread held at the fork.
for sanitizer in thread address,undefined; do
    echo "--- $sanitizer sanitizer"
    LDFLAGS=-fuse-ld=lld build "$sanitizer" clang "-O1 -g -fsanitize=$sanitizer -fno-sanitize-recover=all" NotifyPeer
    Tests/NotifyPeer/tell.sh "$work/$sanitizer/NotifyPeer" "$seed"
done
