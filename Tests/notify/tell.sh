#!/usr/bin/env bash
# Tells the scenarios of notify(3), each in a process and a directory of its own: tell.sh NOTIFYPEER [SEED [PATTERN]]. A failure is named with its seed.
set -uo pipefail
peer=$1 seed=${2:-20261123} pattern=${3:-.}
directory=$(mktemp -d /dev/shm/notify-scenarios.XXXXXX)
chmod 755 "$directory"
trap 'rm -rf "$directory"' EXIT
told=0 failed=0 skipped=0
while read -r kind scenario; do
    [[ $scenario =~ $pattern ]] || continue
    if [[ $kind == others && $(id -u) -ne 0 ]]; then
        echo "skipped $scenario: it needs root"
        skipped=$((skipped + 1))
        continue
    fi
    mkdir "$directory/$scenario"
    status=0
    timeout -k 5 530 "$peer" "$scenario" "$seed" "$directory/$scenario" >"$directory/output" 2>&1 || status=$?
    rm -rf "${directory:?}/$scenario"
    told=$((told + 1))
    if [[ $status -ne 0 ]]; then
        failed=$((failed + 1))
        echo "FAILED $scenario, seed $seed, status $status:"
        head -n 60 "$directory/output"
    fi
done < <("$peer" --list)
echo "$told scenarios told, $failed failed, $skipped skipped"
[[ $told -gt 0 && $failed -eq 0 ]]
