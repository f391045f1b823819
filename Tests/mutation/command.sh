#!/usr/bin/env bash
# The mutants of the command: deliberate mistakes, each of which a test of the command must find.
#
#   Tests/mutation/command.sh [MUTANT…]
#
# Needs a debug build with the tests, `swift build --build-tests`.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
build=$(readlink -f .build/debug) # without SwiftPM, which would wait for another of its runs
.ci/swift-mutants "$build" command tidings tidings \
    "-Xcc -fmodule-map-file=$build/CTidingsBench.build/module.modulemap -Xcc -ICShim/bench/include -Xfrontend -entry-point-function-name -Xfrontend tidings_main" \
    "$@"
