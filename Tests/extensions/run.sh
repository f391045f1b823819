#!/usr/bin/env bash
# The scenarios of the launcher and of extensions in C, with gcc, and with clang under the thread and the address sanitizer: run.sh [SEED [SCENARIO…]].
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=$(dirname "$(dirname "$here")")
seed=${1:-20261126}
shift || true
build=${TIDINGS_EXTENSIONS_BUILD:-$root/.build-extensions}
mkdir -p "$build"
flags=(-std=gnu17 -D_GNU_SOURCE -g -Wall -Wextra -Werror "-I$root/CShim/extensions/include" "-I$root/CShim/include" "-I$root/CShim/src")
library=("$root"/CShim/extensions/src/*.c "$root"/CShim/src/*/*.c)
# The thread sanitizer of a Swift toolchain needs Dispatch.
dispatch=$(dirname "$(dirname "$(readlink -f "$(command -v clang)")")")/lib/swift/linux
export TSAN_OPTIONS="die_after_fork=0 second_deadlock_stack=1 atexit_sleep_ms=10 ${TSAN_OPTIONS:-}"
export ASAN_OPTIONS="detect_leaks=1 ${ASAN_OPTIONS:-}" UBSAN_OPTIONS="print_stacktrace=1 halt_on_error=1"
export LSAN_OPTIONS="suppressions=$root/.ci/lsan.supp print_suppressions=0"

make() { # make NAME COMPILER FLAG…
    mkdir -p "$build/$1"
    "$2" "${flags[@]}" "${@:3}" "$here"/tests/*.c "${library[@]}" -lpthread -o "$build/$1/ExtensionTests"
}

# Without a sanitizer, which needs more addresses and descriptors than some scenarios allow.
clang "${flags[@]}" -O1 "$here/peer/peer.c" "${library[@]}" -lpthread -o "$build/ExtensionPeer" &
make gcc gcc -O2 &
wait -n
wait -n
make thread clang -O1 -fsanitize=thread -fuse-ld=lld "-L$dispatch" "-Wl,-rpath,$dispatch" -ldispatch -lBlocksRuntime &
make address clang -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -fuse-ld=lld &
wait -n
wait -n
failed=0
for kind in gcc thread address; do
    echo "--- $kind"
    "$build/$kind/ExtensionTests" "$build/ExtensionPeer" "$seed" "$@" || failed=1
done
exit "$failed"
