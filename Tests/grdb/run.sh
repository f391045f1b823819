#!/usr/bin/env bash
# The tests of TidingsGRDB, with the trait GRDB, in a build of its own: bash Tests/grdb/run.sh [swift test's options]
#
# TIDINGS_SQLITE_EXTENSION: the extension TidingsSQLite, for the tests of both. Unless it is set, the extension is built
# if the tree has it.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."

# Into a variable: with `grep -q` at its end, a pipe would fail if `swift` is still writing.
unasked=$(swift package show-dependencies --format flatlist)
if grep -qi grdb <<<"$unasked"; then
    echo "GRDB is a dependency without the trait GRDB"
    exit 1
fi
if [[ -z ${TIDINGS_SQLITE_EXTENSION:-} && -d CShim/sqlite ]]; then
    make -s BUILD=.build-grdb/c .build-grdb/c/tidings_sqlite.so
    export TIDINGS_SQLITE_EXTENSION=$PWD/.build-grdb/c/tidings_sqlite.so
fi
export TIDINGS_GRDB_ALONE=1
.ci/line-by-line swift test --traits GRDB --scratch-path .build-grdb "$@"
build=$(swift build --traits GRDB --scratch-path .build-grdb --show-bin-path)
.ci/check-documentation "$build" --grdb
.ci/check-examples "$build" --grdb
