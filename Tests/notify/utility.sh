#!/usr/bin/env bash
# notifyutil, option by option: utility.sh NOTIFYUTIL. Each wait ends by what it waits for.
set -euo pipefail
utility=$1
directory=$(mktemp -d /dev/shm/utility.XXXXXX)
export TIDINGS_DIRECTORY=$directory TIDINGS_NOTIFY_CONFIGURATION=/nonexistent
started=()
trap '[[ ${#started[@]} -eq 0 ]] || kill "${started[@]}" 2>/dev/null; rm -rf "$directory"' EXIT

fail() {
    echo "notifyutil: $*" >&2
    exit 1
}

# run WHAT COMMAND…: in the background, its output in files; ready once it has set the state of "ready.WHAT", which it does after registering.
run() {
    local what=$1
    shift
    timeout 60 "$utility" "$@" -s "ready.$what" 1 >"$directory/$what.output" 2>&1 &
    started+=($!)
    until [[ $("$utility" -q -g "ready.$what") == "ready.$what 1" ]]; do kill -0 $! 2>/dev/null || break; done
}

# ends WHAT: the last one that was started ends by itself, and well.
ends() {
    wait "${started[-1]}" || fail "$1 ended with $?: $(cat "$directory/$1.output")"
    unset 'started[-1]'
}

# lines WHAT COUNT: until its output has so many.
lines() {
    for _ in {1..600}; do
        [[ $(wc -l <"$directory/$1.output") -lt $2 ]] || return 0
        sleep 0.1
    done
    fail "$1 printed $(cat "$directory/$1.output")"
}

expect() { # expect WHAT TEXT: all that it has printed
    [[ $(cat "$directory/$1.output") == "$2" ]] || fail "$1 printed \"$(cat "$directory/$1.output")\", not \"$2\""
}

kinds=(port file check plain signal 'signal 10' 'sig 12')
if [[ ${2:-} == dispatch ]]; then kinds+=(dispatch); fi
for kind in "${kinds[@]}"; do
    # shellcheck disable=SC2086
    run "kind" -$kind -1 com.example.a -2 com.example.b
    "$utility" -p com.example.a
    lines kind 1
    "$utility" -p com.example.b -p com.example.other
    lines kind 2
    "$utility" -p com.example.b
    ends kind
    expect kind $'com.example.a\ncom.example.b\ncom.example.b'
    "$utility" -s ready.kind 0
done
run default -1 com.example.a
"$utility" -p com.example.a
ends default
expect default com.example.a

# Each number of notifications, and no more than that: one post for each, and one more that the utility no longer waits
# for.
for number in 1 2 3 4 5 6 7 8 9 12; do
    posts=() printed=()
    for ((i = 0; i < number; i++)); do posts+=(-p com.example.n) printed+=(com.example.n); done
    [[ $("$utility" -$number com.example.n "${posts[@]}" -p com.example.n) == "$(printf '%s\n' "${printed[@]}")" ]] || fail "-$number"
    run waits -$number com.example.n
    [[ $number -eq 1 ]] || "$utility" "${posts[@]:2}"
    lines waits $((number - 1))
    kill -0 "${started[-1]}" || fail "-$number ended after $((number - 1))"
    "$utility" -p com.example.n
    ends waits
    expect waits "$(printf '%s\n' "${printed[@]}")"
    "$utility" -s ready.waits 0
done

# What holds for the whole line does so wherever it stands.
[[ -z $("$utility" -1 com.example.own -p com.example.own -q) ]] || fail "-q at the end"
[[ $("$utility" -1 com.example.own -p com.example.own -v) =~ \"com.example.own\"\ 0\ file$ ]] || fail "-v at the end"

# -z pauses after each post. The clock says that at least so much has gone by; the upper bound is not checked.
begun=$(date +%s%N)
"$utility" -p com.example.a -z 150 -p com.example.a
[[ $(($(date +%s%N) - begun)) -ge 300000000 ]] || fail "-z 150 took $((($(date +%s%N) - begun) / 1000000)) ms for two posts"
"$utility" -z 0 -p com.example.a

# Posts, waits, and states, in one command and from left to right. -q leaves only what -g prints.
[[ $("$utility" -s com.example.s 010 -g com.example.s -s com.example.s 18446744073709551615 -g com.example.s) == $'com.example.s 10\ncom.example.s 18446744073709551615' ]] || fail "-s, -g"
[[ $("$utility" -1 com.example.own -p com.example.own) == com.example.own ]] || fail "an own post"
[[ $("$utility" -q -1 com.example.own -p com.example.own -g com.example.s) == "com.example.s 18446744073709551615" ]] || fail "-q"

[[ $("$utility" -s com.example.s -1 -g com.example.s -s com.example.s -5 -g com.example.s) == $'com.example.s 18446744073709551615\ncom.example.s 18446744073709551611' ]] || fail "-s with a minus"
# -g is printed at once, though the line goes on to wait.
run flushed -g com.example.s -w com.example.nothing
lines flushed 1
expect flushed "com.example.s 18446744073709551611"
kill "${started[-1]}"
unset 'started[-1]'
# Any number of notifications.
run thousands -12345678901 com.example.t
"$utility" -p com.example.t
lines thousands 1
kill -0 "${started[-1]}" || fail "-12345678901 ended after one"
kill "${started[-1]}"
unset 'started[-1]'

# -w goes on; -v says when, what, its state and how; -t says when.
"$utility" -s com.example.w 7
run verbose -v -file -w com.example.w
run timed -t -check -w com.example.w
for count in 1 2 3; do
    "$utility" -p com.example.w
    lines verbose $count
    lines timed $count
done
grep -qE '^[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6} "com\.example\.w" 7 file$' "$directory/verbose.output" || fail "-v printed $(cat "$directory/verbose.output")"
grep -qE '^[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6} com\.example\.w$' "$directory/timed.output" || fail "-t printed $(cat "$directory/timed.output")"
kill "${started[@]}"
wait "${started[@]}" 2>/dev/null || true
started=()

# -R goes on in the successor of a removed center; -M changes nothing. Its first news there is that something may have been lost.
run again -M -R -3 com.example.a
"$utility" -p com.example.a
lines again 1
rm "$directory"/tidings.*
lines again 2
"$utility" -p com.example.a
ends again

# What can't be is said, with a status.
refused() { # refused STATUS ARGUMENT…
    local wanted=$1 status=0
    shift
    "$utility" "$@" >"$directory/refused" 2>&1 || status=$?
    [[ $status -eq $wanted && -s $directory/refused ]] || fail "$* ended with $status: $(cat "$directory/refused")"
}
refused 64
refused 64 -x
refused 64 -p
refused 64 -s com.example.a
refused 64 -s com.example.a 0x10
refused 64 -s com.example.a 18446744073709551616
refused 64 -s com.example.a ''
refused 64 -99999999999999999999 com.example.a
refused 64 -s com.example.a 12x
refused 64 -z
refused 64 -z x
refused 64 -z -1
refused 64 -w
refused 64 -g
refused 64 -3
refused 64 -s
refused 64 -0 com.example.a
refused 64 -s com.example.untouched 5 -p com.example.a -x
[[ $("$utility" -q -g com.example.untouched) == "com.example.untouched 0" ]] || fail "a line that is wrong did something"
refused 1 -p ''
refused 1 -signal 9 -1 com.example.a
refused 1 -w ''
refused 1 -g ''
refused 1 -s '' 1
for option in -h -help --help; do [[ $("$utility" $option | head -n 1) == usage:* ]] || fail "$option"; done
if [[ ${2:-} != dispatch ]]; then refused 1 -dispatch -1 com.example.a; fi
echo "notifyutil: every option does what it says"
