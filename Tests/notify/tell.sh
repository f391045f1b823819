#!/usr/bin/env bash
# Tells the stories of notify(3), each in a process and a directory of its own: tell.sh NOTIFYPEER [SEED [PATTERN]]. A failure is named with its seed.
set -uo pipefail
peer=$1 seed=${2:-20261123} pattern=${3:-.}
directory=$(mktemp -d /dev/shm/notify-stories.XXXXXX)
chmod 755 "$directory"
trap 'rm -rf "$directory"' EXIT
told=0 failed=0 skipped=0
while read -r kind story; do
    [[ $story =~ $pattern ]] || continue
    if [[ $kind == others && $(id -u) -ne 0 ]]; then
        echo "skipped $story: it needs root"
        skipped=$((skipped + 1))
        continue
    fi
    mkdir "$directory/$story"
    status=0
    timeout -k 5 530 "$peer" "$story" "$seed" "$directory/$story" >"$directory/output" 2>&1 || status=$?
    rm -rf "${directory:?}/$story"
    told=$((told + 1))
    if [[ $status -ne 0 ]]; then
        failed=$((failed + 1))
        echo "FAILED $story, seed $seed, status $status:"
        head -n 60 "$directory/output"
    fi
done < <("$peer" --list)
echo "$told stories told, $failed failed, $skipped skipped"
[[ $told -gt 0 && $failed -eq 0 ]]
