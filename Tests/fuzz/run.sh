#!/usr/bin/env bash
# Fuzzes: run.sh [--ci|--quick|--full|--replay|--self-test|--self-test-cold] [TARGET…] [MUTANT…].
# What is covered, and what to do with a finding: README.md.
#   --ci       --self-test, then --quick
#   --quick    the found cases, then 5 s a target, which only reports
#   --full     the found cases, then 10 minutes a target, beginning elsewhere each time
#   --replay   the found cases alone;  run.sh --replay FILE TARGET  one case
#   --self-test       builds each mutant (`.ci/check-mutants --list fuzz`); the input or scenario kept for a mutant must find it
#   --self-test-cold  finds each mutant anew, from the seeds alone, in 20,000 executions and 5 minutes
#   MUTANT      the name behind MUTANT_, such as RECORD_SIZE_UNCHECKED: the self-test builds only the named mutants
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=$(dirname "$(dirname "$here")")
tier=quick case=
targets=() chosen=()
while [[ $# -gt 0 ]]; do
    case $1 in
        [A-Z]*_*) if [[ -f $1 ]]; then case=$(readlink -f "$1"); else chosen+=("$1"); fi ;;
        --ci | --quick | --full | --replay | --self-test | --self-test-cold) tier=${1#--} ;;
        image | opening | names | decoder | swift | link) targets+=("$1") ;;
        *)
            if [[ ! -f $1 ]]; then
                echo "usage: run.sh [--ci|--quick|--full|--replay [FILE]|--self-test|--self-test-cold]" \
                    "[image|opening|names|decoder|swift|link]… [MUTANT]…" >&2
                exit 64
            fi
            case=$(readlink -f "$1") ;;
    esac
    shift
done
[[ ${#targets[@]} -gt 0 ]] || targets=(image opening names decoder swift link)

# The mutants are in the sources. The first `#if` of each names the target that finds it. Prints "TARGET MUTANT" lines.
mutants_of() { # mutants_of TARGET…
    local target
    for target in "$@"; do
        "$root/.ci/check-mutants" --list fuzz | awk -v target="$target" \
            '$2 == target { sub(/^MUTANT_/, "", $1); print target, $1 }'
    done
}
if [[ ${#chosen[@]} -gt 0 ]]; then
    if [[ $tier != self-test* ]]; then echo "run.sh: name mutants with --self-test or --self-test-cold" >&2; exit 64; fi
    found=$(for name in "${chosen[@]}"; do
        mutants_of "${targets[@]}" | grep " $name\$" || echo "run.sh: no mutant $name for: ${targets[*]}" >&2
    done)
    if [[ $(grep -c . <<<"$found") -ne ${#chosen[@]} ]]; then exit 64; fi
    mapfile -t targets < <(cut -d' ' -f1 <<<"$found" | sort -u)
fi

build=${TIDINGS_FUZZ_BUILD:-$root/.build-fuzz}
mkdir -p "$build/core" "$build/harness"
work=$(mktemp -d)
memory=$(mktemp -d /dev/shm/tidings-fuzz.XXXXXX) # the centers; a process ended by a limit leaves one behind
trap 'rm -rf "$work" "$memory"' EXIT
export TIDINGS_FUZZ_DIRECTORY=$memory
export SWIFT_BACKTRACE=enable=no # or an orphaned backtracer holds the pipe for ever
# SIGBUS too is a finding: nothing here truncates a file that is mapped.
export ASAN_OPTIONS="handle_sigbus=1 detect_leaks=1 ${ASAN_OPTIONS:-}" UBSAN_OPTIONS=print_stacktrace=1
export LSAN_OPTIONS="suppressions=$here/lsan.supp print_suppressions=0 ${LSAN_OPTIONS:-}"

flags=(-std=gnu17 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=undefined
    "-I$root/CShim/src" "-I$root/CShim/include" "-I$here/Core")
watched=(-fsanitize-coverage=inline-8bit-counters,pc-table,trace-loads)
wrapped=(tidings__{map,unmap,participant_take,back_chunk,chunk_has_memory,back_names,back_presence,back_holds,back_calls,calls_there,names_there,name_touched,monotonic_ns,futex_wait,futex_wait_any,futex_wait_either,nap,yield,heavy_barrier,processors,random,thread_start,guard_start,guard_stop,watch_add,watch_add_directory,watch_runs,watch_remove}
    pthread_atfork pthread_join __asan_memcpy)

build_core() { # build_core TARGET…
    local target name
    # Only the core is watched as it loads, and only its branches guide the fuzzer.
    {
        for name in "$root"/CShim/src/*/*.c; do printf '%s\0' "${watched[*]} -c $name -o $build/core/$(basename "$(dirname "$name")")_$(basename "$name").o"; done
        for name in "$here"/Core/*.c; do printf '%s\0' "-fsanitize-address-use-after-return=never -c $name -o $build/harness/$(basename "$name").o"; done
    } | xargs -0 -P 2 -I{} bash -c 'read -ra words <<<"$1"; clang "${@:2}" "${words[@]}"' - {} "${flags[@]}" -MMD
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

# Targets over Swift, products of one package: their names here, and there.
declare -A products=([decoder]=decoder [swift]=surface)

build_swift() { # build_swift SCRATCH FLAG…: where to build, and more flags
    # --sanitize=fuzzer alone instruments Swift in a way that libFuzzer has ceased to look at.
    # The linker's remarks on the sanitizer's symbols fill a page, hence the file.
    local how=(--package-path "$here/Decoder" --scratch-path "$build/$1" --sanitize=fuzzer --sanitize=address $(<"$root/.ci/debug-options")
        -Xswiftc -sanitize-coverage=edge,inline-8bit-counters,pc-table,trace-cmp "${@:2}") target
    # All products at once: to build one after the other compiles what they share twice.
    if ! swift build "${how[@]}" >"$work/build" 2>&1; then
        grep -v 'ld.gold: warning' "$work/build"
        return 1
    fi
    for target in "${!products[@]}"; do
        ln -sf "$(swift build "${how[@]}" --show-bin-path)/${products[$target]}" "$build/$target"
    done
}

# The target `link` is one module: the link core needs no other one.
build_link() { # build_link FLAG…
    if ! swiftc -O -wmo -swift-version 6 -parse-as-library -package-name tidings -module-name linkfuzz -gline-tables-only \
        -sanitize=fuzzer,address -sanitize-coverage=edge,inline-8bit-counters,pc-table,trace-cmp "$@" \
        "$root"/Sources/TidingsLink/*.swift "$root/Sources/TidingsCoding/Mutants.swift" "$root/Tests/link/Center.swift" \
        "$here"/Link/*.swift -o "$build/link" >"$work/build-link" 2>&1; then
        grep -v 'ld.gold: warning' "$work/build-link"
        return 1
    fi
}

# One build has all mutants in Swift; each acts only if TIDINGS_MUTANT names it. A build for each would take minutes.
build_targets() { # build_targets TARGET…: those in Swift
    local name defines=() flags=() scratch=decoder-package
    if [[ $tier == self-test* || $tier == ci ]]; then
        scratch=mutants-package defines=(-DMUTANTS)
        while read -r _ name; do defines+=("-DMUTANT_$name"); done < <(mutants_of "${!products[@]}" link)
    fi
    if [[ " $* " == *" link "* ]]; then build_link "${defines[@]}"; fi
    for name in "${defines[@]}"; do flags+=(-Xswiftc "$name"); done
    if [[ "$*" != link ]]; then build_swift "$scratch" "${flags[@]}"; fi
}

over_swift() { [[ $1 == link || -n ${products[$1]:-} ]]; }

core=() swift=()
for target in "${targets[@]}"; do if over_swift "$target"; then swift+=("$target"); else core+=("$target"); fi; done
# Swift compiles a module on one processor. What needs the core alone begins meanwhile.
building=
if [[ ${#swift[@]} -gt 0 ]]; then
    # Its end is told by a file: the shell keeps the status of an ended process by its number, which is given out anew.
    { build_targets "${swift[@]}"; : >"$work/built"; } &
    building=$!
fi
if [[ ${#core[@]} -gt 0 ]]; then build_core "${core[@]}"; fi
swift_is_built() {
    if [[ -z $building ]]; then return; fi
    wait "$building" || true
    building=
    [[ -e $work/built ]]
}

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

# Some mutants are found for certain by a scenario of the core, and by no input. Mutants/TARGET/NAME.scenario names the scenario.
build_scenarios() {
    local name
    mkdir -p "$build/scenarios"
    for name in "$root"/CShim/src/*/*.c "$root"/Tests/scenarios/*.c; do
        printf '%s\0' "-c $name -o $build/scenarios/$(basename "$(dirname "$name")")_$(basename "$name").o"
    done | xargs -0 -P 2 -I{} bash -c 'read -ra words <<<"$1"; clang "${@:2}" "${words[@]}"' - {} "${scenario_flags[@]}" -MMD
    clang "$build"/scenarios/*.o -lpthread -o "$build/scenarios/whole"
}
scenario_flags=(-std=gnu17 -D_GNU_SOURCE -O1 -g "-I$root/CShim/src" "-I$root/CShim/include")

# True if it comes true. It ends after 20 s of processor time of a process, of which the scenarios take hundredths: what
# goes on for ever hangs, however busy the machine is. The wait of 300 s is a watchdog.
tell() { # tell PROGRAM SCENARIO
    local where status=0
    where=$(mktemp -d "$memory/scenario.XXXXXX")
    (ulimit -t 20; exec timeout 300 "$1" "$2" 1 "$where") >"$where.log" 2>&1 </dev/null || status=$?
    rm -rf "$where"
    return "$status"
}

# Builds the sources that see the mutant's macro, and prints all objects of the mutant, one a line.
build_mutant() { # build_mutant MUTANT OBJECTS FLAG…: the directory with the objects of the true code
    local name object source files
    mkdir -p "$work/$1.objects"
    files=$(grep -rlw "MUTANT_$1" "$root/CShim/src")
    for object in "$2"/*.o; do
        # A header with a hook changes each file that includes it.
        if ! grep -qF "$files" "${object%.o}.d"; then echo "$object"; continue; fi
        name=$(basename "$object" .o)
        source=$root/CShim/src/${name/_//}
        if [[ ! -f $source ]]; then source=$root/Tests/${name/_//}; fi
        clang "${@:3}" -w "-DMUTANT_$1" -c "$source" -o "$work/$1.objects/$name.o"
        echo "$work/$1.objects/$name.o"
    done
}

kept_name() { tr 'A-Z_' 'a-z-' <<<"$1"; } # kept_name MUTANT: of the file in Mutants/TARGET

# A mutant that a scenario finds: with the mutant the scenario fails, or hangs; without it, the scenario comes true. Both
# have the same limits.
seek_by_scenario() { # seek_by_scenario TARGET MUTANT
    local objects scenario name
    name=$(kept_name "$2")
    scenario=$(<"$here/Mutants/$1/$name.scenario")
    objects=$(build_mutant "$2" "$build/scenarios" "${scenario_flags[@]}")
    mapfile -t objects <<<"$objects"
    clang "${objects[@]}" -lpthread -o "$build/mutants/$name"
    if ! tell "$build/scenarios/whole" "$scenario"; then
        echo "FAILED: $scenario does not come true without the mutant $2"
        : >"$work/failed"
    elif tell "$build/mutants/$name" "$scenario"; then
        echo "NOT FOUND: $1 $2 by $scenario"
        : >"$work/failed"
    else
        echo "found: $1 $2 by $scenario"
        echo "$2" >"$work/$2.found"
    fi
}

# Builds one mutant, and searches until it is found.
seek() { # seek TARGET MUTANT
    local target=$1 mutant=$2 name program log=$work/$2.log status=0 objects environment=()
    name=$(kept_name "$mutant")
    if over_swift "$target"; then
        program=$build/$target environment=("TIDINGS_MUTANT=$mutant")
    else
        program=$build/mutants/$name
        objects=$(build_mutant "$mutant" "$build/core" "${flags[@]}" "${watched[@]}")
        mapfile -t objects <<<"$objects"
        link_core "$target" "$program" "${objects[@]}"
    fi
    mkdir -p "$work/$name/corpus"
    local from=$EPOCHREALTIME within=60 kept=$here/Mutants/$target/$name executions seconds
    # CI relies on the kept input alone. A search would depend on the machine's speed.
    if [[ $tier != self-test-cold ]]; then
        if [[ ! -f $kept ]]; then
            echo "FAILED: no input is kept for $target $mutant; find one with --self-test-cold $target $mutant"
            : >"$work/failed"
            return 0
        fi
        env "${environment[@]}" "$program" "${limits[@]}" -print_final_stats=1 "$kept" >"$log" 2>&1 </dev/null || status=$?
        if [[ $status -eq 0 ]]; then
            echo "FAILED: the input kept for $target $mutant finds nothing any more; find one with --self-test-cold $target $mutant"
            : >"$work/failed"
            return 0
        fi
    else
        local begin=("$work/seeds/$target")
        within=300
        env "${environment[@]}" "$program" "${limits[@]}" -seed="${TIDINGS_FUZZ_SEED:-1}" -runs=20000 \
            -max_total_time="$within" -print_final_stats=1 -exact_artifact_path="$build/artifacts/$target/$name" \
            "$work/$name/corpus" "${begin[@]}" >"$log" 2>&1 </dev/null || status=$?
    fi
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log") seconds=$(((${EPOCHREALTIME/./} - ${from/./}) / 100000))
    seconds=$((seconds / 10)).$((seconds % 10))
    if [[ $status -eq 0 ]]; then
        echo "NOT FOUND: $target $mutant, ${executions:-?} executions, $seconds s"
        : >"$work/failed"
    else
        echo "$mutant" >"$work/$mutant.found"
        echo "found: $target $mutant after ${executions:-?} executions, $seconds s: $(grep -m 1 -oE \
            'ERROR: [A-Za-z]*: [^ ]*|not so: [^(]*|runtime error: .*|Fatal error.*' "$log" | cut -c1-100)"
    fi
}

# Whether what is kept for the target's mutants is of use. Sets `by_scenario` if a scenario is kept for one.
check_kept() { # check_kept TARGET
    local target=$1 kept=() name mutant
    # A hook that is misspelt is no mutant: what was kept for it, or a target without any, shows that.
    if ! grep -q "^$target " "$work/mutants"; then
        echo "FAILED: no mutant for $target in the sources"
        : >"$work/failed"
    fi
    kept=()
    for name in "$here/Mutants/$target"/*; do
        if [[ ! -f $name ]]; then continue; fi
        mutant=$(basename "$name" .scenario | tr 'a-z-' 'A-Z_')
        if ! grep -qx "$target $mutant" "$work/mutants"; then
            echo "FAILED: ${name#"$root"/} is kept for MUTANT_$mutant, which the sources do not have for $target"
            : >"$work/failed"
        fi
        if [[ $name == *.scenario ]]; then by_scenario=yes; else kept+=("$name"); fi
    done
    # What finds a mutant must find nothing without it: otherwise it finds something else, with the mutant or not.
    if [[ ${#kept[@]} -gt 0 ]]; then run "$target" "${kept[@]}"; fi
}

seek_all() { # seek_all TARGET…: two mutants at a time
    local target name by_scenario=
    for target in "$@"; do check_kept "$target"; done
    if [[ $by_scenario ]]; then build_scenarios; fi
    while read -r target name; do
        if [[ $(jobs -rp | wc -l) -ge 2 ]]; then wait -n; fi
        if [[ -f $here/Mutants/$target/$(kept_name "$name").scenario ]]; then
            seek_by_scenario "$target" "$name" &
        else
            seek "$target" "$name" &
        fi
    done < <(for target in "$@"; do grep "^$target " "$work/sought" || true; done)
}

fuzz() { # fuzz TARGET
    local target=$1 found=("$here/Found/$1"/*) corpus=$work/corpus-$1 seed=${TIDINGS_FUZZ_SEED:-1} seconds=5 executions edges
    if [[ -f ${found[0]} ]]; then
        run "$target" "${found[@]}"
        echo "$target: ${#found[@]} found cases run again"
    fi
    [[ $tier != replay ]] || return 0
    if [[ $tier == full ]]; then corpus=$build/corpus/$target seed=$((RANDOM * 32768 + RANDOM + 1)) seconds=600; fi
    mkdir -p "$corpus" "$build/crashes"
    # What chance finds is told, with all that it takes to see it again, and decides nothing: found cases do, and mutants.
    local status=0 input
    rm -f "$build/crashes/$target-"*
    "$build/$target" "${limits[@]}" -seed="$seed" -max_total_time="$seconds" -artifact_prefix="$build/crashes/$target-" "$corpus" "$work/seeds/$target" "$here/Mutants/$target" \
        >"$work/$target.log" 2>&1 </dev/null || status=$?
    if [[ $status -ne 0 ]]; then
        grep -v -e '^#[0-9]' -e 'Recommended dict' "$work/$target.log" | tail -n 40 | cut -c1-300
        echo "NEW: $target, seed $seed, status $status. Put the input into Tests/fuzz/Found/$target and mend what it finds:"
        for input in "$build/crashes/$target-"*; do if [[ -f $input ]]; then base64 "$input"; fi; done
        return 0
    fi
    executions=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$work/$target.log")
    edges=$(sed -n 's/.*DONE *cov: \([0-9]*\).*/\1/p' "$work/$target.log")
    echo "$target: ${executions:-?} executions, ${edges:-?} edges, seed $seed"
    # The number of executions depends on the machine, so a small one is reported and fails nothing.
    if [[ ${executions:-0} -lt 100 ]]; then
        echo "NOTE: $target ran only ${executions:-0} times in $seconds s"
    elif [[ ${edges:-0} -lt 300 ]]; then
        echo "FAILED: $target ran ${executions} times, and nothing guided it"
        : >"$work/failed"
    fi
}

if [[ $tier == self-test* || $tier == ci ]]; then
    python3 "$here/seeds.py" "$work/seeds"
    for target in "${targets[@]}"; do mkdir -p "$build/mutants" "$build/artifacts/$target" "$here/Mutants/$target"; done
    mutants_of "${targets[@]}" >"$work/mutants"
    grep -E " ($(IFS='|'; echo "${chosen[*]:-.*}"))\$" "$work/mutants" >"$work/sought"
    seek_all "${core[@]}"
    swift_is_built
    seek_all "${swift[@]}"
    wait
    # A mutant that could not be built has said nothing.
    mutants=$(grep -c . "$work/sought") told=$(cat "$work"/*.found 2>/dev/null | grep -c . || true)
    if [[ $told -ne $mutants ]]; then
        echo "FAILED: $told of $mutants mutants were found"
        : >"$work/failed"
    fi
fi
if [[ -n $case ]]; then
    swift_is_built
    for target in "${targets[@]}"; do run "$target" "$case"; done
elif [[ $tier != self-test* ]]; then
    if [[ ! -d $work/seeds ]]; then python3 "$here/seeds.py" "$work/seeds"; fi
    swift_is_built
    # Two at a time.
    for target in "${targets[@]}"; do
        if [[ $(jobs -rp | wc -l) -ge 2 ]]; then wait -n; fi
        fuzz "$target" >"$work/$target.report" 2>&1 &
    done
    wait
    for target in "${targets[@]}"; do cat "$work/$target.report"; done
fi
[[ ! -e $work/failed ]]
