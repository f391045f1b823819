#!/usr/bin/env bash
# The tests of TidingsGRDB, with the trait GRDB, in a build of its own; then its mutants: deliberate mistakes, each of
# which a test must find.
#
#   Tests/grdb/run.sh                       what CI runs
#   Tests/grdb/run.sh --tests [OPTION…]     the tests alone, with these options of swift test
#   Tests/grdb/run.sh --mutants [MUTANT…]   the mutants alone
#
# TIDINGS_SQLITE_EXTENSION: the extension TidingsSQLite, for the tests of both. Unless it is set, it is built.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
kind=
case ${1:-} in --tests | --mutants) kind=$1; shift ;; esac

if [[ -z ${TIDINGS_SQLITE_EXTENSION:-} ]]; then
    make -s BUILD=.build-grdb/c .build-grdb/c/tidings_sqlite.so
    export TIDINGS_SQLITE_EXTENSION=$PWD/.build-grdb/c/tidings_sqlite.so
fi
options=(--traits GRDB --scratch-path .build-grdb $(<.ci/debug-options))

if [[ $kind != --mutants ]]; then
    export TIDINGS_GRDB_ALONE=1
    .ci/line-by-line swift test "${options[@]}" "$@"
    if [[ $kind == --tests ]]; then exit; fi
    build=$(swift build "${options[@]}" --show-bin-path)
    .ci/check-documentation "$build" --grdb
    .ci/check-examples "$build" --grdb
    # The example, in the same place, so that little is built for it.
    swift build --package-path Examples/JobQueue --scratch-path .build-grdb $(<.ci/debug-options)
    Tests/grdb/jobs.py "$build" --seconds 6 --idle 2 --seed "${TIDINGS_JOBS_SEED:-20261127}"
fi
export TIDINGS_GRDB_ALONE=1
build=$(swift build "${options[@]}" --show-bin-path)
[[ $kind != --mutants ]] || swift build --build-tests "${options[@]}"

# A test that is ended leaves its files.
TIDINGS_GRDB_STAGES=$(mktemp -d /dev/shm/tidings-grdb.XXXXXX)
export TIDINGS_GRDB_STAGES
trap 'rm -rf "$TIDINGS_GRDB_STAGES"' EXIT
chmod 755 "$TIDINGS_GRDB_STAGES"
# Without a mutant, no test takes 3 s.
.ci/swift-mutants "$build" grdb TidingsGRDB GRDBPeer "-D GRDB" "$@"
