#!/usr/bin/env bash
# Attacks plain and sanitized targets in C and Swift: run.sh [--seconds N] [--c] [SEED]. Without --c it needs the products TestPeer of .build and .build-asan.
#   --seconds N   how long (30; 600 by hand)
#   --c           the C targets alone
#   --readers     instead: what sleeping readers cost a poster (readers.c), measured; nothing else should run
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=$(dirname "$(dirname "$here")")
seconds=30 swift=yes seed=20261123 readers=
while [[ $# -gt 0 ]]; do
    case $1 in
        --seconds) seconds=$2; shift ;;
        --c) swift= ;;
        --readers) readers=yes ;;
        [0-9]*) seed=$1 ;;
        *) echo "usage: run.sh [--seconds N] [--c] [SEED], or run.sh --readers" >&2; exit 64 ;;
    esac
    shift
done
build=${TIDINGS_ADVERSARY_BUILD:-$root/.build-adversary}
mkdir -p "$build"
export SWIFT_BACKTRACE=enable=no # or an orphaned backtracer holds the pipe for ever
export ASAN_OPTIONS="handle_sigbus=1 detect_leaks=1 ${ASAN_OPTIONS:-}" UBSAN_OPTIONS="print_stacktrace=1 halt_on_error=1"
flags=(-std=gnu17 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Werror "-I$root/CShim/src" "-I$root/CShim/include" "-I$root/Tests/fuzz/Core")
sources=("$root"/CShim/src/*/*.c)
if [[ $readers ]]; then
    clang "${flags[@]}" -O2 "$here/readers.c" "${sources[@]}" -lpthread -o "$build/readers"
    directory=$(mktemp -d /dev/shm/readers.XXXXXX)
    trap 'rm -rf "$directory"' EXIT
    TIDINGS_DIRECTORY=$directory "$build/readers"
    exit
fi
clang "${flags[@]}" "$here/target.c" "${sources[@]}" -lpthread -o "$build/target" &
clang "${flags[@]}" -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -fuse-ld=lld "$here/target.c" "${sources[@]}" -lpthread -o "$build/target-sanitized" &
clang "${flags[@]}" "$here/adversary.c" "$root/Tests/fuzz/Core/words.c" "${sources[@]}" -lpthread -o "$build/adversary" &
for job in 1 2 3; do wait -n; done
# What the leak sanitizer reports of the runtime itself is no leak of this project.
export LSAN_OPTIONS="suppressions=$root/.ci/lsan.supp print_suppressions=0 ${LSAN_OPTIONS:-}"
targets=("$build/target" "sanitized:$build/target-sanitized")
if [[ $swift ]]; then
    for how in "" sanitized; do
        # As `.ci/run` builds, so that nothing is built again.
        scratch=$root/.build flag=($(<"$root/.ci/debug-options"))
        if [[ $how ]]; then scratch=$root/.build-asan flag+=(--sanitize=address -Xcc -fsanitize=undefined -Xcc -fno-sanitize-recover=undefined -Xcc -fno-omit-frame-pointer); fi
        swift build --package-path "$root" --scratch-path "$scratch" --product TestPeer "${flag[@]}" >"$build/swift.log" 2>&1 || { tail -n 20 "$build/swift.log"; exit 1; }
        targets+=("${how:+sanitized:}swift:$(swift build --package-path "$root" --scratch-path "$scratch" "${flag[@]}" --show-bin-path)/TestPeer")
    done
fi
# What the deliberate mistakes of the self-test print is not shown: it would look like a failure.
"$build/adversary" --self-test "$seed" "$build/target" "$build/target-sanitized" >"$build/self-test.log" 2>&1 || { cat "$build/self-test.log"; exit 1; }
grep '^found:' "$build/self-test.log"
"$build/adversary" --seconds "$seconds" "$seed" "${targets[@]}"
