#!/usr/bin/env bash
# The scenarios that stop at each instruction, in full: single steps, and fault injection. CI takes samples of them. Compiled
# as the tables of Docs/Testing.md say, because the compiler decides how many instructions a section has. Prints one line for
# each scenario: what it did, and how long it took.
#
#   Tests/scenarios/full.sh [SCENARIO…]    all stepped scenarios, or these, in as many processes as there are processors
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
work=$(mktemp -d /dev/shm/tidings-full.XXXXXX)
trap 'rm -rf "$work"' EXIT
clang -std=gnu17 -D_GNU_SOURCE -O1 -g -ICShim/src -ICShim/include Tests/scenarios/*.c CShim/src/*/*.c -lpthread -o "$work/peer"

# More than an hour for each of these, with all instructions. Fault injection makes more checks of the same operations.
sampled=" killed_anywhere_while_observing killed_anywhere_while_reclaiming "

one() { # one SCENARIO: its line; 1 if it failed
    local scenario=$1 status=0 from=$SECONDS
    mkdir "$work/$scenario"
    export TIDINGS_TEST_FULL=1 TIDINGS_TEST_HANG_TIMEOUT=${TIDINGS_TEST_HANG_TIMEOUT:-1200}
    if [[ $sampled == *" $scenario "* ]]; then unset TIDINGS_TEST_FULL; fi
    "$work/peer" "$scenario" "${TIDINGS_FULL_SEED:-20261128}" "$work/$scenario" >"$work/$scenario.report" 2>&1 || status=$?
    rm -rf "${work:?}/$scenario"
    if [[ $status -eq 0 ]]; then
        echo "$scenario: $(paste -sd ';' "$work/$scenario.report" | cut -c1-400), $((SECONDS - from)) s"
    else
        echo "$scenario: FAILED, status $status: $(tail -n 3 "$work/$scenario.report" | paste -sd ';' | cut -c1-600)"
    fi
    return "$status"
}

export -f one
export work sampled
if [[ $# -gt 0 ]]; then printf '%s\n' "$@"; else "$work/peer" --list | awk '$1 == "stepped" { print $2 }'; fi |
    xargs -P "$(nproc)" -I{} bash -c 'one "$1"' _ {}
