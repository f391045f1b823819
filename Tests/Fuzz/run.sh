#!/usr/bin/env bash
# Fuzzes: run.sh [--quick|--full|--replay] [TARGET…]. What is covered, and what to do with a finding: README.md.
#   --quick    the found cases, then 60 s in all, the same runs each time it is called (CI)
#   --full     the found cases, then 10 minutes a target, beginning elsewhere each time
#   --replay   the found cases alone;  run.sh --replay FILE TARGET  one case
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=$(dirname "$(dirname "$here")")
tier=quick case=
targets=()
while [[ $# -gt 0 ]]; do
    case $1 in
        --quick | --full | --replay) tier=${1#--} ;;
        image | opening | names | decoder) targets+=("$1") ;;
        *) if [[ -f $1 ]]; then case=$(readlink -f "$1"); else echo "usage: run.sh [--quick|--full|--replay [FILE]] [image|opening|names|decoder]…" >&2; exit 64; fi ;;
    esac
    shift
done
[[ ${#targets[@]} -gt 0 ]] || targets=(image opening names decoder)
declare -A quick=([image]=25 [opening]=15 [names]=5 [decoder]=15) # seconds: by how much there is to go wrong

build=${TIDINGS_FUZZ_BUILD:-$root/.build-fuzz}
mkdir -p "$build/core"
work=$(mktemp -d)
memory=$(mktemp -d /dev/shm/tidings-fuzz.XXXXXX) # the centers; who is ended by a limit leaves one behind
trap 'rm -rf "$work" "$memory"' EXIT
export TIDINGS_FUZZ_DIRECTORY=$memory
export SWIFT_BACKTRACE=enable=no # or an orphaned backtracer holds the pipe for ever
# SIGBUS too is a finding: nothing here truncates a file that is mapped.
export ASAN_OPTIONS="handle_sigbus=1 detect_leaks=1 ${ASAN_OPTIONS:-}" UBSAN_OPTIONS=print_stacktrace=1

build_core() { # build_core TARGET…
    local flags=(-std=gnu17 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=undefined
        "-I$root/CShim/src" "-I$root/CShim/include" "-I$here/Core")
    local source shared=()
    # Only the core is watched as it loads, and only its branches guide the fuzzer.
    printf '%s\0' "$root"/CShim/src/*/*.c | build=$build xargs -0 -P 2 -I{} bash -c \
        'name=${1#*/CShim/src/}; clang "${@:2}" -fsanitize=fuzzer-no-link -fsanitize-coverage=trace-loads -c "$1" -o "$build/core/${name//\//_}.o"' - {} "${flags[@]}"
    for source in input mapping time changes script watch; do shared+=("$here/Core/$source.c"); done
    for target in "$@"; do
        clang "${flags[@]}" -fuse-ld=lld -fsanitize=fuzzer "${shared[@]}" "$here/Core/$target.c" "$build"/core/*.o \
            -Wl,--wrap=tidings__map,--wrap=tidings__unmap,--wrap=tidings__monotonic_ns,--wrap=tidings__futex_wait,--wrap=tidings__nap,--wrap=tidings__heavy_barrier -lpthread -o "$build/$target"
    done
}

build_decoder() {
    # The linker's remarks on the sanitizer's symbols fill a page, hence the file.
    if ! swift build --package-path "$here/Decoder" --scratch-path "$build/decoder-package" --sanitize=fuzzer --sanitize=address --product decoder >"$work/build" 2>&1; then
        grep -v 'ld.gold: warning' "$work/build"
        return 1
    fi
    ln -sf "$(swift build --package-path "$here/Decoder" --scratch-path "$build/decoder-package" --show-bin-path)/decoder" "$build/decoder"
}

core=()
for target in "${targets[@]}"; do if [[ $target != decoder ]]; then core+=("$target"); fi; done
if [[ " ${targets[*]} " == *" decoder "* ]]; then build_decoder & fi
if [[ ${#core[@]} -gt 0 ]]; then build_core "${core[@]}"; fi
wait -n 2>/dev/null || [[ $? -eq 127 ]] # 127: there was no decoder to wait for

# The timeout is the last resort, generous as others may need the processors: the targets over the core look after their processor time themselves. Some hundred megabytes are the sanitizer's own. A single allocation of the core is twice the largest payload, 64 KiB here, at most.
limits=(-timeout=100 -rss_limit_mb=2048 -malloc_limit_mb=16 -max_len=600 -len_control=0)
run() { # run TARGET ARGUMENT…: what it said is printed if it failed
    local target=$1 status=0
    shift
    "$build/$target" "${limits[@]}" "$@" >"$work/$target.log" 2>&1 </dev/null || status=$?
    [[ $status -ne 0 ]] || return 0
    grep -v -e '^#[0-9]' -e 'Recommended dict' "$work/$target.log" | tail -n 60 | cut -c1-300
    echo "FAILED: $target, status $status"
    : >"$work/failed"
}

fuzz() { # fuzz TARGET
    local target=$1 found=("$here/Found/$1"/*) corpus=$work/corpus-$1 seed=1 seconds=${quick[$1]} executions edges
    if [[ -f ${found[0]} ]]; then
        run "$target" "${found[@]}"
        echo "$target: ${#found[@]} found cases run again"
    fi
    [[ $tier != replay ]] || return 0
    if [[ $tier == full ]]; then corpus=$build/corpus/$target seed=$((RANDOM * 32768 + RANDOM + 1)) seconds=600; fi
    mkdir -p "$corpus" "$build/crashes"
    run "$target" -seed="$seed" -max_total_time="$seconds" -artifact_prefix="$build/crashes/$target-" "$corpus" "$work/seeds/$target"
    executions=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$work/$target.log")
    edges=$(sed -n 's/.*DONE *cov: \([0-9]*\).*/\1/p' "$work/$target.log")
    echo "$target: ${executions:-?} executions, ${edges:-?} edges, seed $seed"
    # One that stood still has found nothing, and proves nothing either.
    if [[ ${executions:-0} -lt 100 ]]; then
        echo "FAILED: $target hardly ran"
        : >"$work/failed"
    fi
}

if [[ -n $case ]]; then
    for target in "${targets[@]}"; do run "$target" "$case"; done
else
    python3 "$here/seeds.py" "$work/seeds"
    # Two at a time.
    for target in "${targets[@]}"; do
        if [[ $(jobs -rp | wc -l) -ge 2 ]]; then wait -n; fi
        fuzz "$target" >"$work/$target.report" 2>&1 &
    done
    wait
    for target in "${targets[@]}"; do cat "$work/$target.report"; done
fi
[[ ! -e $work/failed ]]
