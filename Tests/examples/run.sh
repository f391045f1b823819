#!/usr/bin/env bash
# The examples of servers: what they promise, with processes that are killed, and the files for their deployment.
#
#   Tests/examples/run.sh [SEED]     what CI runs, after `swift build` and Tests/service/run.sh
#   Tests/examples/run.sh --soak     ten minutes of server-sent events, while servers are killed
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
build=$(readlink -f .build/debug) # without SwiftPM, which would wait for another of its runs
if [[ ${1:-} == --soak ]]; then exec Tests/examples/servers.py .build-service/debug "$build" kills --seconds 600; fi
seed=${1:-20261127}

Tests/examples/deployment.py "$build"
Tests/examples/prefork.py "$build" --seed "$seed"
# They wait more than they compute.
mutants=$(mktemp)
trap 'cat "$mutants"; rm "$mutants"' EXIT
Tests/examples/prefork.py "$build" --mutants >"$mutants" 2>&1 &
# In the place of Tests/service/run.sh, which has built SwiftNIO and most of the other packages.
options=(--scratch-path .build-service --disable-build-manifest-caching $(<.ci/debug-options))
for product in Events Publisher Workers Shop; do swift build --package-path Examples/Servers "${options[@]}" --product "$product"; done
Tests/examples/servers.py .build-service/debug "$build" --seed "$seed"
status=0
Tests/examples/browser.py .build-service/debug "$build" || status=$?
[[ $status -eq 77 ]] || [[ $status -eq 0 ]]
# Another program of the same name, so it comes last.
swift build --package-path Examples/Service "${options[@]}"
timeout 60 Tests/examples/shop.py .build-service/debug
wait %1
