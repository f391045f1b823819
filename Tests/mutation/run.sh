#!/usr/bin/env bash
# Do the fault-injection scenarios find what they are for? Builds each mutant of the core that names such a scenario
# (`.ci/check-mutants --list fault-injection`), and tells the scenario of the mutant: it must not come true.
#
#   Tests/mutation/run.sh [MUTANT…]     all mutants, or only these: the names behind MUTANT_
#
# The scenarios are also told of the core without a mutant, where they must come true. x86-64 only, as single steps are.
set -euo pipefail

root=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
cd "$root"
if [[ $(uname -m) != x86_64 ]]; then echo "NOT TRIED: single steps are told from x86-64's registers"; exit 77; fi

# What the scenario must complain of, as a regular expression: any other complaint would be about something else.
declare -A complaints=(
    [POSITION_BEFORE_CLAIM]='it hangs|waiting for post'
    [POSTERS_SHARE_A_LOCK]='it hangs|went to sleep|of processor time'
    [COMMIT_BEFORE_RECORD]='torn:|came after|asleep, having heard'
    [RING_AFTER_COMMIT]='asleep, having heard'
    [EVICTION_COUNTED_TWICE]='received and [0-9]* missed of|heard [0-9]* and missed'
    [OWNER_IGNORES_REVOCATION]='of its 1 posts came'
    [CHUNKS_NOT_RECLAIMED]='is left as|chunks in use'
    [HOLDS_NOT_RECLAIMED]='a hold is left as an orphan'
    [ORPHAN_NAME_KEPT]='is left in state'
    [CHILD_KEEPS_PARTICIPANT_LOCK]='participants instead of|no participant died since'
    [LAPPED_READER_COUNTS_NOTHING]='it got'
    [LOSS_NOT_PUBLISHED]='[0-9]* missed, of'
    [POSITION_NOT_PUBLISHED]='[0-9]* away'
    [STATE_NOT_TOLD]='flags'
    [REQUIRED_SECTIONS_LEFT_OUT]='a reservation answers 0'
)

work=$(mktemp -d "${TMPDIR:-/tmp}/tidings-mutants.XXXXXX")
shared=$(mktemp -d /dev/shm/tidings-mutants.XXXXXX)
trap 'rm -rf "$work" "$shared"' EXIT
ulimit -c 0

# "MUTANT SCENARIO" lines. A scenario's whole name is SCENARIO, or SCENARIO_survives_a_fault_anywhere.
.ci/check-mutants --list fault-injection | sed 's/^MUTANT_//' >"$work/mutants"
if ! cut -d' ' -f1 "$work/mutants" | diff - <(printf '%s\n' "${!complaints[@]}" | sort) >"$work/difference"; then
    echo "the mutants in CShim/src (<) and the complaints in this script (>) differ:"
    cat "$work/difference"
    exit 1
fi
for mutant in "$@"; do
    if [[ -z ${complaints[$mutant]:-} ]]; then echo "there is no mutant $mutant"; exit 64; fi
done

compile() { # compile SOURCE OBJECT FLAG…
    ${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O1 -g1 -ICShim/src -ICShim/include "${@:3}" -c "$1" -o "$2"
}
export -f compile
mkdir "$work/objects"
printf '%s\n' CShim/src/*/*.c Tests/scenarios/*.c |
    xargs -P "$(nproc)" -I{} bash -c 'compile "$2" "$1/objects/${2//\//,}.o" -MMD' _ "$work" {}

tell() { # tell BINARY SCENARIO MOMENTS
    local directory scenario=$2 status=0
    directory=$(mktemp -d "$shared/XXXXXX")
    "$1" --list | grep " $2 " >/dev/null || scenario=$2_survives_a_fault_anywhere
    TIDINGS_TEST_HANG_TIMEOUT=${HANG_TIMEOUT:-15} TIDINGS_TEST_MOMENTS=$3 timeout -k 5 240 \
        "$1" "$scenario" "20261123" "$directory" </dev/null >"$directory.complaint" 2>&1 || status=$?
    rm -rf "$directory"
    head -c 600 "$directory.complaint" | tr '\0' ' ' | tail -n 1
    return "$status"
}

try() { # try MUTANT SCENARIO
    local objects=$work/objects.$1 source complaint status=0
    cp -r "$work/objects" "$objects"
    # A header with a hook changes each file that includes it.
    for source in $(grep -lF -- "$(grep -rlw "MUTANT_$1" CShim/src)" "$work"/objects/*.d); do
        source=$(basename "$source" .d)
        compile "${source//,//}" "$objects/$source.o" "-DMUTANT_$1"
    done
    ${CC:-cc} "$objects"/*.o -lpthread -o "$work/ScenarioPeer.$1"
    complaint=$(tell "$work/ScenarioPeer.$1" "$2" 150) || status=$?
    if [[ $status -eq 0 ]]; then echo "$1: NOT FOUND by $2"; return 1; fi
    if ! grep -qE "${complaints[$1]}" <<<"$complaint"; then
        echo "$1: found, but called something else: $complaint"
        return 1
    fi
    echo "$1: found: $complaint"
}

# Two at a time: one that hangs waits until it is ended.
attempt() {
    try "$@" >"$work/$1.report" 2>&1 || : >"$work/$1.failed"
}
known=0
while read -r mutant scenario; do
    if [[ $# -gt 0 && " $* " != *" $mutant "* ]]; then continue; fi
    known=$((known + 1))
    if [[ $known -gt 2 ]]; then wait -n; fi
    attempt "$mutant" "$scenario" &
done <"$work/mutants"
wait
cat "$work"/*.report
failed=$(find "$work" -maxdepth 1 -name '*.failed' | wc -l)

${CC:-cc} "$work"/objects/*.o -lpthread -o "$work/ScenarioPeer"
for scenario in a_small_post a_revoked_post; do
    if ! complaint=$(HANG_TIMEOUT=60 tell "$work/ScenarioPeer" "$scenario" 10); then
        echo "without a mutant $scenario fails: $complaint"
        failed=$((failed + 1))
    fi
done
echo "mutants: $((known - failed)) of $known found, $SECONDS s"
[[ $failed -eq 0 ]]
