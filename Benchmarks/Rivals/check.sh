#!/usr/bin/env bash
# Whether each rival that is built does what it is measured for: 100 round trips, 1,000 messages and 100 calls (whose contents both sides look at),
# and leaves no process and no file behind, also when it is killed in the middle.
#
#   Benchmarks/Rivals/check.sh [RIVAL…]        exit status 1 if one fails
set -uo pipefail

bin=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.build/rivals/bin
[[ -d $bin ]] || { echo "nothing is built (build.sh)"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mapfile -t cores < <(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | while IFS=- read -r first last; do seq "$first" "${last:-$first}"; done)
[[ ${#cores[@]} -ge 2 ]] || { echo "needs two processors"; exit 1; }
passed=0
failed=0

# Processes and files that carry the mark: every process of a rival inherits this variable, and every file that a rival makes outside of its own
# mounts has its process's number in it.
processes() { # MARK
    grep -lzxF "RIVAL_CHECK=$1" /proc/[0-9]*/environ 2>/dev/null
    grep -lF tidings-rival. /proc/[0-9]*/cmdline 2>/dev/null # daemons that write their title over what they inherited
}

leftovers() { # MARK
    processes "$1"
    find /dev/shm /tmp /dev/mqueue -maxdepth 2 \
        \( -name 'tidings-rival*' -o -name 'iox*' -o -name 'iceoryx*' -o -name 'roudi*' -o -name 'GNUstepSecure*' \) 2>/dev/null
}

nothing_left() { # MARK: waits for it
    local left
    for _ in {1..500}; do
        left=$(leftovers "$1" | grep -vxF -- "$before")
        [[ -z $left ]] && return 0
        sleep 0.01
    done
    echo "    left behind: $left"
    return 1
}

complain() { # NAME SENTENCE
    echo "$1: FAILED: $2"
    [[ -s $work/errors ]] && sed 's/^/    /' "$work/errors"
}

has_messages() { [[ $1 != unixstream && $1 != grpc ]]; }
has_calls() { [[ $1 =~ ^(tidings|dbus|zeromq|unixstream|grpc)$ ]]; }

orders() { # NAME
    has_messages "$1" && printf 'latency 100 64\nthroughput 1000 64\n'
    has_messages "$1" && [[ $1 != eventfd ]] && printf 'throughput 100 4096\n'
    has_calls "$1" && printf 'call 100 64\n'
    printf 'quit\n'
}

measured() { # NAME: what it says, to orders
    orders "$1" | RIVAL_CHECK=$$.$1 timeout -k 5 60 "$bin/$1" --cpus "${cores[0]},${cores[1]}" >"$work/answers" 2>"$work/errors" || return 1
    local lines order ns at=1
    mapfile -t lines <"$work/answers"
    [[ ${lines[0]} == "ready $1 "* ]] || { echo "    not ready: ${lines[0]}"; return 1; }
    while read -r order _; do
        local count=1
        case $order in quit) break ;; latency | call) count=100 ;; esac
        for ns in "${lines[@]:at:count}"; do [[ $ns =~ ^[1-9][0-9]*$ ]] || { echo "    $order: not a time, or something was lost: $ns"; return 1; }; done
        at=$((at + count))
        [[ $count == 1 || -z ${lines[at++]} ]] || { echo "    $order: more times than round trips"; return 1; }
    done < <(orders "$1")
    [[ ${#lines[@]} -eq $at ]] || { echo "    says ${#lines[@]} lines in place of $at"; return 1; }
}

# Killed while messages are on their way.
killed() { # NAME
    local pipe=$work/orders.$1 child
    mkfifo "$pipe"
    RIVAL_CHECK=$$.$1 "$bin/$1" --cpus "${cores[0]},${cores[1]}" <"$pipe" >"$work/answers" 2>"$work/errors" &
    child=$!
    exec 9>"$pipe"
    if has_messages "$1"; then printf 'latency 50 64\nthroughput 100000000 64\n' >&9; else printf 'call 50 64\ncall 10000000 64\n' >&9; fi
    local middle=0
    for _ in {1..6000}; do
        [[ $(wc -l <"$work/answers") -ge 52 ]] && middle=1 && break
        kill -0 "$child" 2>/dev/null || break
        sleep 0.01
    done
    kill -9 "$child" 2>/dev/null || { exec 9>&-; echo "    ended by itself"; return 1; }
    [[ $middle == 1 ]] || { exec 9>&-; echo "    did not get that far in a minute: $(cat "$work/answers")"; return 1; }
    wait "$child" 2>/dev/null
    exec 9>&-
}

if [[ $# -gt 0 ]]; then names=("$@"); else mapfile -t names < <(find "$bin" -maxdepth 1 -type f -printf '%f\n' | sort); fi
for name in "${names[@]}"; do
    before=$(leftovers none; echo nothing)
    if ! measured "$name"; then complain "$name" "doesn't do what it is measured for"
    elif ! nothing_left "$$.$name"; then complain "$name" "leaves something behind"
    elif ! killed "$name"; then complain "$name" "could not be killed in the middle"
    elif ! nothing_left "$$.$name"; then complain "$name" "leaves something behind when it is killed"
    else
        echo "$name: $(sed -n 's/^ready [^ ]* //p' "$work/answers"), as it should be"
        passed=$((passed + 1))
        continue
    fi
    failed=$((failed + 1))
done
echo "$passed passed, $failed failed"
[[ $failed -eq 0 && $passed -gt 0 ]]
