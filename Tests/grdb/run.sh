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
options=(--traits GRDB --scratch-path .build-grdb -Xswiftc -gline-tables-only)

if [[ $kind != --mutants ]]; then
    # Into a variable: with `grep -q` at its end, a pipe would fail if `swift` is still writing.
    unasked=$(swift package show-dependencies --format flatlist)
    if grep -qi grdb <<<"$unasked"; then
        echo "GRDB is a dependency without the trait GRDB"
        exit 1
    fi
    export TIDINGS_GRDB_ALONE=1
    .ci/line-by-line swift test "${options[@]}" "$@"
    if [[ $kind == --tests ]]; then exit; fi
    build=$(swift build "${options[@]}" --show-bin-path)
    .ci/check-documentation "$build" --grdb
    .ci/check-examples "$build" --grdb
    # The example, in the same place, so that little is built for it.
    swift build --package-path Examples/JobQueue --scratch-path .build-grdb -Xswiftc -gline-tables-only
    Tests/grdb/jobs.py "$build" --seconds 6 --idle 2 --seed "${TIDINGS_JOBS_SEED:-20261127}"
fi
export TIDINGS_GRDB_ALONE=1
build=$(swift build "${options[@]}" --show-bin-path)
[[ $kind != --mutants ]] || swift build --build-tests "${options[@]}"

# SwiftPM would build each mutant together with the tests. They only call the module, so its objects are replaced.
mapfile -t modules < <(python3 -c 'import sys; sys.path.insert(0, ".ci"); import typecheck; print(*typecheck.of_modules(sys.argv[1]), sep="\n")' "$build")
work=$(mktemp -d "${TMPDIR:-/tmp}/tidings-grdb.XXXXXX")
# A test that is ended leaves its files.
TIDINGS_GRDB_STAGES=$(mktemp -d /dev/shm/tidings-grdb.XXXXXX)
export TIDINGS_GRDB_STAGES
trap 'rm -rf "$work" "$TIDINGS_GRDB_STAGES"' EXIT
chmod 755 "$TIDINGS_GRDB_STAGES"
link() { # link MUTANT PRODUCT FILE OPTION…
    sed '\,/TidingsGRDB\.build/,d' "$build/$2.product/Objects.LinkFileList" >"$work/$1/$2.list"
    swiftc -emit-executable -module-name "$2" -L "$build" "@$work/$1/$2.list" "$work/$1/mutant.o" -o "$work/$1/$3" "${@:4}"
}
attempt() { # attempt MUTANT TEST: a test that waits for what the mutant does not do is ended. Without, none takes 3 s
    local status=0
    timeout -k 5 10 "$work/$1/tidingsPackageTests.xctest" --testing-library swift-testing --filter "/$2\(" \
        >"$work/$1/report" 2>&1 || status=$?
    if [[ $status -eq 0 ]]; then
        echo "$1: NOT FOUND by $2"
        return 1
    fi
    if [[ $status -eq 124 ]]; then echo "$1: found by $2, which waits"; else echo "$1: found by $2"; fi
    grep -Eq 'recorded an issue' "$work/$1/report" || [[ $status -eq 124 ]] || { cat "$work/$1/report"; return 1; }
}
failed=0 jobs=()
while read -r mutant test; do
    if [[ $# -gt 0 && " $* " != *" $mutant "* ]]; then continue; fi
    mkdir "$work/$mutant"
    swiftc -c -wmo -Onone -enable-testing -package-name tidings -module-name TidingsGRDB -D GRDB -D "$mutant" "${modules[@]}" \
        Sources/TidingsGRDB/*.swift -o "$work/$mutant/mutant.o"
    link "$mutant" tidingsPackageTests tidingsPackageTests.xctest
    link "$mutant" GRDBPeer GRDBPeer -Xlinker --defsym -Xlinker main=GRDBPeer_main
    attempt "$mutant" "$test" &
    jobs+=($!)
done < <(.ci/check-mutants --list grdb)
for job in "${jobs[@]}"; do wait "$job" || failed=1; done
echo "${#jobs[@]} mutants, $SECONDS s"
exit "$failed"
