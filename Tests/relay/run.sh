#!/usr/bin/env bash
# The relay: the scenes of relay.py with the command, built with the trait Relay, and a real nats-server; then the mutants
# of TidingsRelay: deliberate mistakes, each of which a scene must find.
#
#   Tests/relay/run.sh [SEED]                  what CI runs
#   Tests/relay/run.sh --scenes [OPTION…]      the scenes alone, with these options of relay.py
#   Tests/relay/run.sh --mutants [MUTANT…]     the mutants alone
#   Tests/relay/run.sh --hosts [OPTION…]       hosts as network namespaces alone, with these options of namespaces/run.py
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/tidings-relay.XXXXXX")
trap 'rm -rf "$work"' EXIT
if [[ ! -x /usr/sbin/nats-server || ! -e /usr/include/nats/nats.h ]]; then
    echo "NOT TRIED: the relay needs nats-server and libnats-dev (apt-get install nats-server libnats-dev)"
    exit 1
fi
kind=
case ${1:-} in --scenes | --mutants | --hosts) kind=$1; shift ;; esac

options=(--traits Relay --scratch-path .build-service $(<.ci/debug-options))
export TIDINGS_SERVICE_ALONE=1
.ci/line-by-line swift build "${options[@]}" --product tidings
build=$(swift build "${options[@]}" --show-bin-path)
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -ICShim/src -ICShim/include Tests/relay/peer.c CShim/src/*/*.c -lpthread \
    -o "$work/peer"
scenes() { Tests/relay/relay.py "$1" "$work/peer" "${@:2}"; }

# Says what a scene makes of a mutant. It is found by an expectation of the scene. A scene that waits for what never comes
# ends by its watchdog: that counts if the mutant's comment says "hangs". Without the mutant, the scene passes under the
# same watchdog.
mutant() { # mutant MUTANT SCENE [hangs]
    local report=$work/$1.report status=0 found
    TIDINGS_MUTANT=${1#MUTANT_} scenes "$work/tidings" "$2" >"$report" 2>&1 || status=$?
    found=$(grep -m 1 "^$2: FAILED: " "$report" || true)
    if [[ $status -ne 1 || -z $found || ${3:-} != hangs && $found == *': FAILED: hangs: '* ]]; then
        echo "$1: NOT FOUND by $2: status $status"
        tail -n 20 "$report"
        : >"$work/not-found"
    else
        echo "$1: found by $found"
    fi
}

mutants() { # mutants MUTANT…: all, unless some are named. One build has all; the environment chooses the one that acts
    local lines line name rest
    mapfile -t lines < <(.ci/check-mutants --list relay | sort -s -k3,3r) # those that hang first
    .ci/swift-mutants-build "$build" relay TidingsRelay "$work" tidings -D Relay -D Service -lnats -lstdc++
    for line in "${lines[@]}"; do
        read -r name rest <<<"$line"
        if [[ $# -gt 0 && " $* " != *" $name "* ]]; then continue; fi
        # Eight at a time: a scene that hangs computes nothing.
        while [[ $(jobs -pr | wc -l) -ge 8 ]]; do wait -n; done
        mutant "$name" $rest &
    done
    wait
    [[ ! -e $work/not-found ]]
}

# 77: this machine has no namespaces, and a line says so.
hosts() { [[ $1 -eq 77 ]]; }

case $kind in
    --scenes) scenes "$build/tidings" "$@" ;;
    --mutants) mutants "$@" ;;
    --hosts) Tests/relay/namespaces/run.py "$build/tidings" "$@" ;;
    *)
        scenes "$build/tidings" --seed "${1:-20261128}"
        .ci/check-documentation "$build" --relay
        .ci/check-examples "$build" --relay
        mutants
        Tests/relay/namespaces/run.py "$build/tidings" --program || hosts $?
        # With rings that hold everything, everything must arrive; with small ones, losses must balance. With relays that
        # stand by, no loss may be an upper bound.
        Tests/relay/namespaces/run.py "$build/tidings" --transport tls --seconds 8 --posts 20000 --slots 65536 || hosts $?
        Tests/relay/namespaces/run.py "$build/tidings" --transport nats --seconds 8 --posts 30000 --slots 2048 --standby || hosts $?
        ;;
esac
