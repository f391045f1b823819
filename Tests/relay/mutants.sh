#!/usr/bin/env bash
# Builds a program of the relay with the mutants of a suite. The environment chooses the one that acts (TIDINGS_MUTANT).
#
#   Tests/relay/mutants.sh BUILD SUITE PRODUCT PROGRAM
#
# BUILD has the product, built with the trait Relay, by its real path: the modules have that path.
set -euo pipefail
build=$1 suite=$2 product=$3 program=$4 defines=(-D MUTANTS)
work=$(mktemp -d "${TMPDIR:-/tmp}/tidings-relay-mutants.XXXXXX")
trap 'rm -rf "$work"' EXIT
mapfile -t modules < <(python3 -c 'import sys; sys.path.insert(0, ".ci"); import typecheck; print(*typecheck.of_modules(sys.argv[1]), sep="\n")' "$build")
while read -r mutant _; do defines+=(-D "$mutant"); done < <(.ci/check-mutants --list "$suite")
# The name that SwiftPM gives to the package, from its folder.
package=$(basename "$PWD" | tr 'A-Z' 'a-z' | tr -c 'a-z0-9_\n' '_')
# TidingsCoding is built again, too: without mutants it does not have the function that chooses.
for module in TidingsCoding TidingsRelay; do
    swiftc -c -wmo -Onone -package-name "$package" -module-name "$module" -D SWIFT_PACKAGE -D DEBUG -D Relay -D Service \
        "${defines[@]}" -emit-module -emit-module-path "$work/$module.swiftmodule" -I "$work" "${modules[@]}" \
        $(find "Sources/$module" -name '*.swift') -o "$work/$module.o"
done
sed '\,/Tidings\(Coding\|Relay\)\.build/,d' "$build/$product.product/Objects.LinkFileList" >"$work/list"
swiftc -emit-executable -L "$build" "@$work/list" "$work/TidingsCoding.o" "$work/TidingsRelay.o" -lnats -lstdc++ \
    -Xlinker --defsym -Xlinker "main=${product}_main" -o "$program"
