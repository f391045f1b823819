#!/usr/bin/env bash
# The core and its scenarios on another processor: built for aarch64 by Debian's cross compiler, told under qemu's user mode.
#
#   Tests/aarch64/run.sh [--quick] [SCENARIO…]      all it can tell, the quick ones, or only these
#
# What it shows: nothing in the core is x86-64's alone, not a struct, an atomic, a system call's number or flag. What it can't show:
# memory orders weaker than the host's, since qemu's translation inherits the host's; those are the models' (Tests/model).
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=$(dirname "$(dirname "$here")")
quick=
if [[ ${1:-} == --quick ]]; then quick=yes; shift; fi
compiler=aarch64-linux-gnu-gcc qemu=qemu-aarch64-static
for tool in "$compiler" "$qemu"; do
    command -v "$tool" >/dev/null || { echo "$tool is missing: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static"; exit 1; }
done

work=$(mktemp -d "${TMPDIR:-/tmp}/tidings-aarch64.XXXXXX")
mkdir "$work/results"
scenarios=$(mktemp -d /dev/shm/tidings-aarch64.XXXXXX) # shared memory, as centers are
chmod 755 "$scenarios" # scenarios of other users pass through it
trap 'rm -rf "$work" "$scenarios"' EXIT

# Static: qemu needs no second system's libraries then.
compile() { "$compiler" -std=gnu17 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -ICShim/src -ICShim/include -c "$1" -o "$2/${1//\//,}.o"; }
export -f compile
export compiler
cd "$root"
printf '%s\0' CShim/src/*/*.c Tests/scenarios/*.c | xargs -0 -P "$(nproc)" -I{} bash -c 'compile "$1" "$2"' _ {} "$work"
"$compiler" -static "$work"/*.o -lpthread -o "$work/ScenarioPeer"

# SCENARIO # reason, KIND: # reason, with [quick] before it if it only takes too long.
declare -A reason=() kind_reason=()
while IFS= read -r line; do
    [[ -z $line || $line == '#'* ]] && continue
    [[ $line =~ ^(\[quick\]\ )?([a-z0-9_/]+)(:?)\ \#\ (.+)$ ]] || { echo "left-out: not a line of it: $line"; exit 1; }
    if [[ -n ${BASH_REMATCH[1]} && -z $quick ]]; then continue; fi
    if [[ -n ${BASH_REMATCH[3]} ]]; then kind_reason[${BASH_REMATCH[2]}]=${BASH_REMATCH[4]}; else reason[${BASH_REMATCH[2]}]=${BASH_REMATCH[4]}; fi
done <"$here/left-out"

skipped=0
declare -A known=()
: >"$work/told"
while read -r kind name _; do
    known[$name]=1 known[$kind]=1
    if [[ $# -gt 0 ]]; then
        if [[ " $* " == *" $name "* ]]; then echo "$name" >>"$work/told"; fi
        continue
    fi
    if [[ -n ${kind_reason[$kind]:-} ]]; then
        why=${kind_reason[$kind]}
    elif [[ -n ${reason[$name]:-} ]]; then
        why=${reason[$name]}
    else
        echo "$name" >>"$work/told"
        continue
    fi
    skipped=$((skipped + 1))
    echo "SKIPPED $name: $why"
done < <("$qemu" "$work/ScenarioPeer" --list)
for name in "${!reason[@]}" "${!kind_reason[@]}" "$@"; do
    [[ -n ${known[$name]:-} ]] || { echo "there is no scenario, nor kind of scenario, \"$name\""; exit 1; }
done

tell() { # tell SCENARIO: its complaint, seed and status go to files; none inherits a pipe
    local seed=20261123 status=0
    mkdir "$scenarios/${1//\//,}"
    timeout -s KILL 400 "$qemu" "$work/ScenarioPeer" "$1" "$seed" "$scenarios/${1//\//,}" </dev/null >"$work/complaint.${1//\//,}" 2>&1 || status=$?
    rm -rf "$scenarios/${1//\//,}"
    if [[ $status -ne 0 ]]; then
        echo "FAILED: $1, seed $seed, ended with status $status: $(tail -n 3 "$work/complaint.${1//\//,}")" >"$work/results/${1//\//,}"
    else
        : >"$work/results/${1//\//,}"
    fi
}
export -f tell
export qemu work scenarios
xargs -a "$work/told" -P "$(nproc)" -I{} bash -c 'tell "$1"' _ {}

told=$(wc -l <"$work/told")
ended=$(find "$work/results" -type f | wc -l)
failed=$(find "$work/results" -type f -size +0 | wc -l)
cat "$work"/results/*
echo "aarch64: $((told - failed)) of $told scenarios came true, $skipped skipped (reasons above, from Tests/aarch64/left-out), $SECONDS s"
[[ $told -gt 0 && $ended -eq $told && $failed -eq 0 ]]
