#!/usr/bin/env bash
# The mutants of the command: deliberate mistakes, each of which a test of the command must find.
#
#   Tests/mutation/command.sh [MUTANT…]
#
# Needs a debug build with the tests, `swift build --build-tests`. One build has all mutants. In each process, the
# environment chooses the one that acts.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
build=$(readlink -f .build/debug) # without SwiftPM, which would wait for another of its runs
work=$(mktemp -d "${TMPDIR:-/tmp}/tidings-command.XXXXXX")
# A test that is ended leaves its terminal, in which the command goes on.
trap 'pkill -KILL -f "$work/tidings" || true; rm -rf "$work"' EXIT

# The command's objects are replaced. What else the tests start stands beside them.
mapfile -t modules < <(python3 -c 'import sys; sys.path.insert(0, ".ci"); import typecheck; print(*typecheck.of_modules(sys.argv[1]), sep="\n")' "$build")
mapfile -t mutants < <(.ci/check-mutants --list command)
defines=(-D MUTANTS)
for line in "${mutants[@]}"; do defines+=(-D "${line%% *}"); done
# The name that SwiftPM gives to the package, from its folder.
package=$(basename "$PWD" | tr 'A-Z' 'a-z' | tr -c 'a-z0-9_\n' '_')
swiftc -c -wmo -Onone -enable-testing -package-name "$package" -module-name tidings -D SWIFT_PACKAGE -D DEBUG "${defines[@]}" \
    "${modules[@]}" -Xcc "-fmodule-map-file=$build/CTidingsBench.build/module.modulemap" -Xcc -ICShim/bench/include \
    -Xfrontend -entry-point-function-name -Xfrontend tidings_main Sources/tidings-cli/*.swift Sources/tidings-cli/*/*.swift \
    -o "$work/mutants.o"
link() { # link PRODUCT FILE OPTION…
    sed '\,/tidings\.build/,d' "$build/$1.product/Objects.LinkFileList" >"$work/$1.list"
    swiftc -emit-executable -module-name "$1" -L "$build" "@$work/$1.list" "$work/mutants.o" -o "$work/$2" "${@:3}"
}
link tidings tidings -Xlinker --defsym -Xlinker main=tidings_main
link tidingsPackageTests tidingsPackageTests.xctest
for program in TestPeer ScenarioPeer NotifyPeer; do ln -s "$build/$program" "$work/$program"; done

attempt() { # attempt MUTANT TEST: a test that waits for what the mutant does not do is ended
    local status=0
    TIDINGS_MUTANT=${1#MUTANT_} timeout -k 5 30 "$work/tidingsPackageTests.xctest" --testing-library swift-testing \
        --filter "/$2\(" >"$work/$1.report" 2>&1 || status=$?
    if [[ $status -eq 0 ]]; then
        echo "$1: NOT FOUND by $2"
        return 1
    fi
    if [[ $status -eq 124 ]]; then echo "$1: found by $2, which waits"; else echo "$1: found by $2"; fi
    # A test that ends with a fault of the process records nothing.
    grep -Eq 'recorded an issue' "$work/$1.report" || [[ $status -ge 124 ]] || { cat "$work/$1.report"; return 1; }
}
failed=() attempted=() tests=()
for line in "${mutants[@]}"; do
    read -r mutant test <<<"$line"
    tests+=("$test")
    if [[ $# -gt 0 && " $* " != *" $mutant "* ]]; then continue; fi
    attempted+=("$mutant")
    # Into a file: the shell keeps the status of an ended process by its number, which a busy machine gives out anew.
    { attempt "$mutant" "$test" && status=0 || status=$?; echo "$status" >"$work/$mutant.status"; } &
    while [[ $(jobs -rp | wc -l) -ge 4 ]]; do wait -n || true; done
done
wait
for mutant in "${attempted[@]}"; do
    status=$(cat "$work/$mutant.status" 2>/dev/null || echo none)
    if [[ $status != 0 ]]; then failed+=("$mutant (status $status)"); fi
done
# Without a mutant, the same build passes: what was found is the mutant, and not the build.
if [[ $# -eq 0 ]]; then
    filter=$(printf '|/%s\\(' "${tests[@]}")
    "$work/tidingsPackageTests.xctest" --testing-library swift-testing --filter "${filter:1}" >"$work/report" 2>&1 || { failed+=("no mutant (status $?)"); cat "$work/report"; }
fi
echo "${#attempted[@]} mutants, $SECONDS s"
if [[ ${#failed[@]} -gt 0 ]]; then printf 'failed: %s\n' "${failed[@]}"; exit 1; fi
