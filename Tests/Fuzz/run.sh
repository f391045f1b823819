#!/usr/bin/env bash
# Fuzzes: run.sh [--ci|--quick|--full|--replay|--self-test|--self-test-cold] [TARGET…]. What is covered, and what to do with a finding: README.md.
#   --ci       --self-test, then --quick
#   --quick    the found cases, then 15 s a target, which only reports
#   --full     the found cases, then 10 minutes a target, beginning elsewhere each time
#   --replay   the found cases alone;  run.sh --replay FILE TARGET  one case
#   --self-test       mistakes planted in copies of the sources (plants.py): what found each must find it still
#   --self-test-cold  each must be found anew, from the seeds alone, in 20,000 executions and 5 minutes
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=$(dirname "$(dirname "$here")")
tier=quick case=
targets=()
while [[ $# -gt 0 ]]; do
    case $1 in
        --ci | --quick | --full | --replay | --self-test | --self-test-cold) tier=${1#--} ;;
        image | opening | names | decoder | swift) targets+=("$1") ;;
        *) if [[ -f $1 ]]; then case=$(readlink -f "$1"); else echo "usage: run.sh [--ci|--quick|--full|--replay [FILE]|--self-test|--self-test-cold] [image|opening|names|decoder|swift]…" >&2; exit 64; fi ;;
    esac
    shift
done
[[ ${#targets[@]} -gt 0 ]] || targets=(image opening names decoder swift)

build=${TIDINGS_FUZZ_BUILD:-$root/.build-fuzz}
mkdir -p "$build/core" "$build/harness"
work=$(mktemp -d)
memory=$(mktemp -d /dev/shm/tidings-fuzz.XXXXXX) # the centers; who is ended by a limit leaves one behind
trap 'rm -rf "$work" "$memory"' EXIT
export TIDINGS_FUZZ_DIRECTORY=$memory
export SWIFT_BACKTRACE=enable=no # or an orphaned backtracer holds the pipe for ever
# SIGBUS too is a finding: nothing here truncates a file that is mapped.
export ASAN_OPTIONS="handle_sigbus=1 detect_leaks=1 ${ASAN_OPTIONS:-}" UBSAN_OPTIONS=print_stacktrace=1

flags=(-std=gnu17 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=undefined
    "-I$root/CShim/src" "-I$root/CShim/include" "-I$here/Core")
watched=(-fsanitize-coverage=inline-8bit-counters,pc-table,trace-loads)
wrapped=(tidings__{map,unmap,participant_take,back_chunk,chunk_has_memory,back_names,names_there,monotonic_ns,futex_wait,futex_wait_any,futex_wait_either,nap,yield,heavy_barrier,processors,random,thread_start,watch_add,watch_add_directory,watch_remove}
    pthread_atfork pthread_join __asan_memcpy)

build_core() { # build_core TARGET…
    local target name
    # Only the core is watched as it loads, and only its branches guide the fuzzer.
    {
        for name in "$root"/CShim/src/*/*.c; do printf '%s\0' "${watched[*]} -c $name -o $build/core/$(basename "$(dirname "$name")")_$(basename "$name").o"; done
        for name in "$here"/Core/*.c; do printf '%s\0' "-fsanitize-address-use-after-return=never -c $name -o $build/harness/$(basename "$name").o"; done
    } | xargs -0 -P 2 -I{} bash -c 'read -ra words <<<"$1"; clang "${@:2}" "${words[@]}"' - {} "${flags[@]}"
    for target in "$@"; do
        link_core "$target" "$build/$target" "$build"/core/*.o
    done
}

link_core() { # link_core TARGET PROGRAM OBJECT…: the core's objects
    local own=("$1" input mapping process words changes uses script watch)
    if [[ $1 != names ]]; then own+=(mutate); fi
    own=("${own[@]/%/.c.o}")
    clang "${flags[@]}" -fuse-ld=lld -fsanitize=fuzzer "${own[@]/#/$build/harness/}" "${@:3}" "${wrapped[@]/#/-Wl,--wrap=}" -lpthread -o "$2"
}

# The targets over Swift, products of one package: their names here, and there.
declare -A products=([decoder]=decoder [swift]=surface)

build_swift() { # build_swift FUZZ PACKAGE: the sources' Tests/Fuzz, and where to build
    # --sanitize=fuzzer alone instruments Swift in a way that libFuzzer has ceased to look at.
    # The linker's remarks on the sanitizer's symbols fill a page, hence the file.
    local how=(--package-path "$1/Decoder" --scratch-path "$build/$2" --sanitize=fuzzer --sanitize=address
        -Xswiftc -sanitize-coverage=edge,inline-8bit-counters,pc-table,trace-cmp) target
    # All products at once: to build one after the other compiles what they share twice.
    if ! swift build "${how[@]}" >"$work/build" 2>&1; then
        grep -v 'ld.gold: warning' "$work/build"
        return 1
    fi
    for target in "${!products[@]}"; do ln -sf "$(swift build "${how[@]}" --show-bin-path)/${products[$target]}" "$build/$target"; done
}

# One build for all planted mistakes of the targets over Swift, and for none: the environment says which.
build_planted_swift() {
    local copy=$build/planted-sources names
    rm -rf "$copy"
    mkdir -p "$copy/Tests"
    # With their times: what is the same is not built again.
    cp -rp "$root"/{Package.swift,CShim,Sources} "$copy"
    cp -rp "$here" "$copy/Tests"
    # What the package's other targets need to be there.
    for names in "$root"/Tests/* "$root"/{Examples,Snippets}; do
        if [[ -e $names && ! -e $copy/${names#"$root"/} ]]; then ln -s "$names" "$copy/${names#"$root"/}"; fi
    done
    mapfile -t names < <(python3 "$here/plants.py" --list "${!products[@]}" | cut -d' ' -f2)
    python3 "$here/plants.py" "${names[@]}" "$copy" >/dev/null
    build_swift "$copy/Tests/Fuzz" planted-package
}

over_swift() { [[ -n ${products[$1]:-} ]]; }

core=() swift=()
for target in "${targets[@]}"; do if over_swift "$target"; then swift+=("$target"); else core+=("$target"); fi; done
if [[ ${#swift[@]} -gt 0 ]]; then
    if [[ $tier == self-test* || $tier == ci ]]; then build_planted_swift & else build_swift "$here" decoder-package & fi
fi
if [[ ${#core[@]} -gt 0 ]]; then build_core "${core[@]}"; fi
wait -n 2>/dev/null || [[ $? -eq 127 ]] # 127: there was nothing of Swift to wait for

# The timeout is the last resort, generous as others may need the processors: the targets over the core look after their processor time themselves.
# Some hundred megabytes are the sanitizer's own. A single allocation of the core is twice the largest payload, 64 KiB here, at most.
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

# The core's stories: what finds a mistake that no input of the fuzzer finds for certain. Planted/TARGET/NAME.story names the one that does.
build_stories() {
    local name
    mkdir -p "$build/stories"
    for name in "$root"/CShim/src/*/*.c "$root"/Tests/CTestPeer/*.c; do
        printf '%s\0' "-c $name -o $build/stories/$(basename "$(dirname "$name")")_$(basename "$name").o"
    done | xargs -0 -P 2 -I{} bash -c 'read -ra words <<<"$1"; clang "${@:2}" "${words[@]}"' - {} "${story_flags[@]}"
    clang "$build"/stories/*.o -lpthread -o "$build/stories/whole"
}
story_flags=(-std=gnu17 -D_GNU_SOURCE -O1 -g "-I$root/CShim/src" "-I$root/CShim/include")

tell() { # tell PROGRAM STORY: true if it comes true in time
    local where status=0
    where=$(mktemp -d "$memory/story.XXXXXX")
    timeout 20 "$1" "$2" 1 "$where" >"$where.log" 2>&1 </dev/null || status=$?
    rm -rf "$where"
    return "$status"
}

# One planted mistake that a story finds: with it the story fails, or does not end; without it, it comes true.
seek_by_story() { # seek_by_story TARGET NAME
    local file object others=() story status=0
    story=$(<"$here/Planted/$1/$2.story")
    mkdir -p "$work/$2"
    cp -r "$root/CShim" "$work/$2"
    file=$(python3 "$here/plants.py" "$2" "$work/$2")
    clang "${story_flags[@]}" -w -c "$file" -o "$work/$2/planted.o"
    for object in "$build"/stories/*.o; do
        if [[ $object != "$build/stories/$(basename "$(dirname "$file")")_$(basename "$file").o" ]]; then others+=("$object"); fi
    done
    clang "$work/$2/planted.o" "${others[@]}" -lpthread -o "$build/plants/$2"
    if ! tell "$build/stories/whole" "$story"; then
        echo "FAILED: $story does not come true without the planted $2"
        : >"$work/failed"
    elif tell "$build/plants/$2" "$story"; then
        echo "NOT FOUND: $1 $2 by $story"
        : >"$work/failed"
    else
        echo "found: $1 $2 by $story"
        echo "$2" >"$work/$2.found"
    fi
}

# One planted mistake: built, and searched for until it is found.
seek() { # seek TARGET NAME
    local target=$1 name=$2 program=$build/plants/$2 log=$work/$2.log status=0 file environment=()
    if over_swift "$target"; then
        program=$build/$target environment=("TIDINGS_PLANTED=$name")
    else
        mkdir -p "$work/$name"
        cp -r "$root/CShim" "$work/$name"
        file=$(python3 "$here/plants.py" "$name" "$work/$name")
        local replaced others=() object
        replaced=$build/core/$(basename "$(dirname "$file")")_$(basename "$file").o
        for object in "$build"/core/*.o; do if [[ $object != "$replaced" ]]; then others+=("$object"); fi; done
        clang "${flags[@]}" "${watched[@]}" -w -c "$file" -o "$work/$name/planted.o"
        link_core "$target" "$program" "$work/$name/planted.o" "${others[@]}"
    fi
    mkdir -p "$work/$name/corpus"
    local from=$EPOCHREALTIME within=60 kept=$here/Planted/$target/$name executions seconds
    # What found it once shows whether it still would; if not, it is searched for.
    if [[ $tier != self-test-cold && -f $kept ]]; then
        env "${environment[@]}" "$program" "${limits[@]}" -print_final_stats=1 "$kept" >"$log" 2>&1 </dev/null || status=$?
    fi
    if [[ $status -eq 0 ]]; then
        local begin=("$work/seeds/$target")
        # Near to what found the others, unless it is to be found from nothing.
        if [[ $tier == self-test-cold ]]; then within=300; else begin+=("$here/Planted/$target"); fi
        env "${environment[@]}" "$program" "${limits[@]}" -seed="${TIDINGS_FUZZ_SEED:-1}" -runs=20000 -max_total_time="$within" -print_final_stats=1 \
            -exact_artifact_path="$build/planted/$target/$name" "$work/$name/corpus" "${begin[@]}" >"$log" 2>&1 </dev/null || status=$?
    fi
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log") seconds=$(((${EPOCHREALTIME/./} - ${from/./}) / 100000))
    seconds=$((seconds / 10)).$((seconds % 10))
    if [[ $status -eq 0 ]]; then
        echo "NOT FOUND: $target $name, ${executions:-?} executions, $seconds s"
        : >"$work/failed"
    else
        echo "$name" >"$work/$name.found"
        echo "found: $target $name after ${executions:-?} executions, $seconds s: $(grep -m 1 -oE 'ERROR: [A-Za-z]*: [^ ]*|not so: [^(]*|runtime error: .*|Fatal error.*' "$log" | cut -c1-100)"
    fi
}

fuzz() { # fuzz TARGET
    local target=$1 found=("$here/Found/$1"/*) corpus=$work/corpus-$1 seed=${TIDINGS_FUZZ_SEED:-1} seconds=15 executions edges
    if [[ -f ${found[0]} ]]; then
        run "$target" "${found[@]}"
        echo "$target: ${#found[@]} found cases run again"
    fi
    [[ $tier != replay ]] || return 0
    if [[ $tier == full ]]; then corpus=$build/corpus/$target seed=$((RANDOM * 32768 + RANDOM + 1)) seconds=600; fi
    mkdir -p "$corpus" "$build/crashes"
    # What chance finds is told, with all that it takes to see it again, and decides nothing: found cases do, and planted mistakes.
    local status=0 input
    rm -f "$build/crashes/$target-"*
    "$build/$target" "${limits[@]}" -seed="$seed" -max_total_time="$seconds" -artifact_prefix="$build/crashes/$target-" "$corpus" "$work/seeds/$target" "$here/Planted/$target" \
        >"$work/$target.log" 2>&1 </dev/null || status=$?
    if [[ $status -ne 0 ]]; then
        grep -v -e '^#[0-9]' -e 'Recommended dict' "$work/$target.log" | tail -n 40 | cut -c1-300
        echo "NEW: $target, seed $seed, status $status. Put the input into Tests/Fuzz/Found/$target and mend what it finds:"
        for input in "$build/crashes/$target-"*; do if [[ -f $input ]]; then base64 "$input"; fi; done
        return 0
    fi
    executions=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$work/$target.log")
    edges=$(sed -n 's/.*DONE *cov: \([0-9]*\).*/\1/p' "$work/$target.log")
    echo "$target: ${executions:-?} executions, ${edges:-?} edges, seed $seed"
    # One that goes blindly, or stood still, has found nothing, and proves nothing either. An input of `swift` passes from thread to thread, and
    # waits for its turn on a busy machine each time.
    local least=100
    if [[ $target == swift ]]; then least=20; fi
    if [[ ${executions:-0} -lt $least || ${edges:-0} -lt 300 ]]; then
        echo "FAILED: $target hardly ran, or nothing guided it"
        : >"$work/failed"
    fi
}

if [[ $tier == self-test* || $tier == ci ]]; then
    python3 "$here/seeds.py" "$work/seeds"
    for target in "${targets[@]}"; do mkdir -p "$build/plants" "$build/planted/$target" "$here/Planted/$target"; done
    python3 "$here/plants.py" --list "${targets[@]}" >"$work/plants"
    # What finds a mistake must find nothing without it: otherwise it finds something else, with the mistake or not.
    for target in "${targets[@]}"; do
        kept=()
        for name in "$here/Planted/$target"/*; do
            if [[ $name == *.story ]]; then by_story=yes; elif [[ -f $name ]]; then kept+=("$name"); fi
        done
        if [[ ${#kept[@]} -gt 0 ]]; then run "$target" "${kept[@]}"; fi
    done
    if [[ ${by_story:-} ]]; then build_stories; fi
    while read -r target name; do
        if [[ $(jobs -rp | wc -l) -ge 2 ]]; then wait -n; fi
        if [[ -f $here/Planted/$target/$name.story ]]; then seek_by_story "$target" "$name" & else seek "$target" "$name" & fi
    done <"$work/plants"
    wait
    # A mistake that could not be planted or built has said nothing.
    planted=$(grep -c . "$work/plants") told=$(cat "$work"/*.found 2>/dev/null | grep -c . || true)
    if [[ $told -ne $planted ]]; then
        echo "FAILED: $told of $planted planted mistakes were found"
        : >"$work/failed"
    fi
fi
if [[ -n $case ]]; then
    for target in "${targets[@]}"; do run "$target" "$case"; done
elif [[ $tier != self-test* ]]; then
    if [[ ! -d $work/seeds ]]; then python3 "$here/seeds.py" "$work/seeds"; fi
    # Two at a time.
    for target in "${targets[@]}"; do
        if [[ $(jobs -rp | wc -l) -ge 2 ]]; then wait -n; fi
        fuzz "$target" >"$work/$target.report" 2>&1 &
    done
    wait
    for target in "${targets[@]}"; do cat "$work/$target.report"; done
fi
[[ ! -e $work/failed ]]
