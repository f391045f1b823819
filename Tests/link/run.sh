#!/usr/bin/env bash
# The link core of the relay, simulated (README.md), and its mutants: deliberate mistakes, each of which a kept seed finds.
#
#   Tests/link/run.sh [SEED [COUNT]]        what CI runs: the kept seeds, COUNT schedules (8,000) from SEED on, the mutants
#   Tests/link/run.sh --seeds FIRST COUNT   schedules alone
#   Tests/link/run.sh --hostile FIRST COUNT   schedules alone, with frames that are changed on their way
#   Tests/link/run.sh --standbys FIRST COUNT   schedules alone, in which each center has a relay that stands by
#   Tests/link/run.sh --calls [--hostile] FIRST COUNT   schedules of requests and participants
#   Tests/link/run.sh --transports [TEST…]  the conformance suite over NATS and TLS
#   Tests/link/run.sh --figures [COUNT [BYTES [NAMES]]]   what the link core costs for each notification
#   Tests/link/run.sh --transport-mutants [MUTANT…]   the mutants of the transports alone
#   Tests/link/run.sh --transport-figures   each transport beside its library alone, optimized
#   Tests/link/run.sh --mutants [MUTANT…]   the mutants alone
#   Tests/link/run.sh --find [MUTANT…]      searches the first seed that finds each mutant
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/tidings-link.XXXXXX")
trap 'rm -rf "$work"' EXIT

# One module, so that the optimizer sees all of it. The package needs no other module.
build() { # build PROGRAM OPTION…
    swiftc -wmo -swift-version 6 -package-name tidings -module-name simulation "${@:2}" \
        Sources/TidingsLink/*.swift Tests/link/*.swift -o "$1"
}

figures() { # figures COUNT BYTES NAMES
    swiftc -O -wmo -swift-version 6 -package-name tidings -module-name figures Sources/TidingsLink/*.swift \
        Tests/link/Center.swift Tests/link/figures/main.swift -o "$work/figures"
    timeout -k 5 300 "$work/figures" "$@"
}

mode() { # mode SEED-OR-ARGUMENTS: the options of the schedule that finds a mutant
    local word
    for word in $1; do if [[ $word == --* ]]; then echo "$word"; fi; done
}

# What the mutants are linked with: each file compiled without one, by itself. Without the optimizer one schedule is faster.
sources=(Sources/TidingsLink/*.swift Tests/link/*.swift)
module=(-Onone -swift-version 6 -package-name tidings -module-name simulation)
objects() {
    mkdir "$work/objects"
    (cd "$work/objects" && swiftc -c "${module[@]}" "${sources[@]/#/$OLDPWD/}")
}

try() { # try MUTANT ARGUMENTS FIRST COUNT: true if it is found. Only the files that mention the mutant are compiled
    local status=0 file object linked=() other
    for file in "${sources[@]}"; do
        object=$(basename "$file" .swift).o
        if grep -qw "$1" "$file"; then
            mapfile -t other < <(printf '%s\n' "${sources[@]}" | grep -vxF "$file")
            swiftc -frontend -c "${module[@]}" -D "$1" -primary-file "$file" "${other[@]}" -o "$work/$1.$object"
            linked+=("$work/$1.$object")
        else
            linked+=("$work/objects/$object")
        fi
    done
    swiftc -emit-executable "${linked[@]}" -o "$work/$1"
    # shellcheck disable=SC2046
    timeout -k 5 300 "$work/$1" $(mode "$2") "$3" "$4" >"$work/$1.report" 2>&1 || status=$?
    rm -f "$work/$1".*.o
    [[ $status -ne 0 ]]
}

mutant() { # mutant MUTANT ARGUMENTS: 0 if it is found, and the same schedule passes without it
    local seed=${2##* } status=0
    if try "$1" "$2" "$seed" 1; then
        echo "${1#MUTANT_}: found: $(grep -m 1 '^seed ' "$work/$1.report" || tail -n 1 "$work/$1.report")" | cut -c1-160
    else
        echo "${1#MUTANT_}: NOT FOUND by $2"
        status=1
    fi
    # shellcheck disable=SC2046
    if ! "$work/simulation" $(mode "$2") "$seed" 1 >"$work/$1.without" 2>&1; then
        echo "${1#MUTANT_}: without it, $(tail -n 1 "$work/$1.without")"
        status=1
    fi
    rm -f "$work/$1"
    return "$status"
}

mutants() { # mutants MUTANT…: all, unless some are named. Two at a time
    local failed=0 name arguments running=0
    objects
    while read -r name arguments; do
        if [[ $# -gt 0 && " $* " != *" ${name#MUTANT_} "* ]]; then continue; fi
        if [[ $running -eq 2 ]]; then
            wait -n || failed=1
            running=1
        fi
        mutant "$name" "$arguments" 2>&1 &
        running=$((running + 1))
    done < <(.ci/check-mutants --list link)
    while [[ $running -gt 0 ]]; do
        wait -n || failed=1
        running=$((running - 1))
    done
    return "$failed"
}

# transports CONFIGURATION TEST…: over NATS, then over TLS.
transports() {
    local kind status=0
    if [[ ! -x /usr/sbin/nats-server || ! -e /usr/include/nats/nats.h ]]; then
        echo "NOT TRIED: the transports need nats-server and libnats-dev (apt-get install nats-server libnats-dev)"
        return 1
    fi
    local options=(-c "$1" --traits Relay --scratch-path .build-service --product LinkTransports)
    if [[ $1 == debug ]]; then options+=($(<.ci/debug-options)); fi
    TIDINGS_SERVICE_ALONE=1 swift build "${options[@]}" >"$work/build" 2>&1 || { cat "$work/build"; return 1; }
    bash Tests/link/certificates.sh "$work"
    python3 Tests/link/credentials.py "$work"
    # A test that hangs is ended. The ports are this process's own, so that two runs do not meet.
    for kind in nats tls; do
        timeout -k 5 900 ".build-service/$1/LinkTransports" "$kind" "$work" $((20000 + $$ % 1000 * 10)) "${@:2}" || status=1
    done
    return "$status"
}

# Each test of the suite that must find a mutant of a transport. One build has all; the environment chooses the one that acts.
transport_mutants() { # transport_mutants MUTANT…: all, unless some are named
    local build lines line mutant kind test failed=0
    build=.build-service/debug
    mapfile -t lines < <(.ci/check-mutants --list transports)
    .ci/swift-mutants-build "$build" transports TidingsRelay "$work" LinkTransports -D Relay -D Service -lnats -lstdc++
    for line in "${lines[@]}"; do
        read -r mutant kind test <<<"$line"
        if [[ $# -gt 0 && " $* " != *" ${mutant#MUTANT_} "* ]]; then continue; fi
        if TIDINGS_MUTANT=${mutant#MUTANT_} timeout -k 5 60 "$work/LinkTransports" "$kind" "$work" $((20000 + $$ % 1000 * 10)) \
            "$test" >"$work/report" 2>&1; then
            echo "${mutant#MUTANT_}: NOT FOUND by $kind $test"
            failed=1
        else
            echo "${mutant#MUTANT_}: found: $(grep -m 1 FAILED "$work/report" | cut -c1-160 || echo "it ended")"
        fi
    done
    return "$failed"
}

find_seeds() {
    local mutant arguments
    objects
    while read -r mutant arguments; do
        if [[ $# -gt 0 && " $* " != *" ${mutant#MUTANT_} "* ]]; then continue; fi
        if try "$mutant" "$arguments" 1 "${FIND_COUNT:-4000}"; then
            echo "${mutant#MUTANT_}: $(grep -m 1 '^seed ' "$work/$mutant.report")"
        else
            echo "${mutant#MUTANT_}: no seed finds it"
        fi
        rm -f "$work/$mutant"
    done < <(.ci/check-mutants --list link)
}

if [[ ! ${1:-} =~ ^--(find|transports|figures|transport-figures|transport-mutants)$ ]]; then build "$work/simulation" -O; fi
case ${1:-} in
    --seeds) "$work/simulation" "$2" "$3" ;;
    --hostile | --standbys) "$work/simulation" "$1" "$2" "$3" ;;
    --calls) "$work/simulation" "$@" ;;
    --mutants) mutants "${@:2}" ;;
    --figures) figures "${@:2}" ;;
    --find) find_seeds "${@:2}" ;;
    --transports) transports debug "${@:2}" ;;
    --transport-figures) transports release figures ;;
    --transport-mutants)
        transports debug addresses
        transport_mutants "${@:2}"
        ;;
    *)
        seed=${1:-20261128} count=${2:-8000}
        # Seeds that once failed.
        while read -r kept; do "$work/simulation" "$kept" 1 >"$work/report" || { cat "$work/report"; exit 1; }; done <Tests/link/found
        "$work/simulation" "$seed" "$count"
        "$work/simulation" --hostile "$seed" "$((count / 4))"
        "$work/simulation" --standbys "$seed" "$((count / 2))"
        "$work/simulation" --calls "$seed" "$count"
        "$work/simulation" --calls --hostile "$seed" "$((count / 4))"
        mutants
        transports debug
        transport_mutants
        ;;
esac
