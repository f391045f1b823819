#!/usr/bin/env bash
# The tests of TidingsService and TidingsTesting, with the trait Service, in a build of its own; then the mutants of
# TidingsService: deliberate mistakes, each of which a test must find.
#
#   Tests/service/run.sh                       what CI runs
#   Tests/service/run.sh --tests [OPTION…]     the tests alone, with these options of swift test
#   Tests/service/run.sh --mutants [MUTANT…]   the mutants alone
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
kind=
case ${1:-} in --tests | --mutants) kind=$1; shift ;; esac
# The steps link, relay and servers build in the same place: the trait of the first two enables this one.
options=(--traits Relay --scratch-path .build-service $(<.ci/debug-options))

export TIDINGS_SERVICE_ALONE=1
build=$(swift build "${options[@]}" --show-bin-path)
if [[ $kind == --mutants ]]; then
    swift build --build-tests "${options[@]}"
else
    .ci/line-by-line swift test "${options[@]}" "$@"
    if [[ $kind == --tests ]]; then exit; fi
    .ci/check-documentation "$build" --service
    .ci/check-examples "$build" --service
fi

# Without a mutant, no test takes 5 s.
.ci/swift-mutants "$build" service TidingsService ServicePeer "-D Service -lnats -lstdc++" "$@"
