#!/usr/bin/env bash
# Gets all rivals, from Debian's packages and from PyPI (into Benchmarks/.build/rivals, nowhere else), and prints the versions found. As an
# ordinary user it installs no packages and names those that are missing. What can't be had is named; the rest goes on. May be run again at
# any time.
#
#   Benchmarks/Rivals/install.sh               exit status 0: all there, 1: something is missing
set -euo pipefail

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
venv=../.build/rivals/venv

# rival: Debian's packages. The first one's version is the rival's.
rivals=(
    "dbus: dbus-daemon libsystemd-dev"
    "redis: redis-server libhiredis-dev"
    "zeromq: libzmq3-dev"
    "iceoryx: iceoryx libiceoryx-binding-c-dev libiceoryx-posh-dev"
    "gnustep: libgnustep-base-dev gnustep-base-runtime gobjc"
    "nats: nats-server libnats-dev"
    "mosquitto: mosquitto libmosquitto-dev"
    "building: gcc pkg-config python3-venv"
)

version() { # PACKAGE: its installed version, or nothing
    dpkg-query -W -f '${db:Status-Status} ${Version}\n' "$1" 2>/dev/null | sed -n 's/^installed //p'
}

# Debian starts a daemon as soon as it is installed, unless this file says no; ours are private, and started when they are measured.
policy=/usr/sbin/policy-rc.d
without_daemons() {
    local made=0 status=0
    if [[ ! -e $policy ]]; then
        printf '#!/bin/sh\nexit 101\n' >$policy && chmod +x $policy && made=1
    fi
    "$@" || status=$?
    [[ $made == 0 ]] || rm -f $policy
    return $status
}

if ! command -v apt-get >/dev/null; then
    echo "no apt-get here: only what is there already can be measured"
    exit 1
fi

wanted=()
for entry in "${rivals[@]}"; do
    for package in ${entry#*: }; do
        [[ -n $(version "$package") ]] || wanted+=("$package")
    done
done

if [[ ${#wanted[@]} -gt 0 ]]; then
    if [[ $(id -u) -ne 0 ]]; then
        echo "NOT ROOT: no package installed. As root: apt-get install --no-install-recommends ${wanted[*]}"
    else
        apt-get update -qq || echo "apt-get update failed; trying with what is known"
        known=()
        for package in "${wanted[@]}"; do
            if [[ -n $(apt-cache policy "$package" 2>/dev/null | sed -n 's/^  Candidate: \([^(].*\)/\1/p') ]]; then known+=("$package"); fi
        done
        export DEBIAN_FRONTEND=noninteractive
        if [[ ${#known[@]} -gt 0 ]]; then
            echo "installing ${known[*]}"
            # One by one if they don't go together, so that what can be had is had.
            without_daemons apt-get install -y -qq --no-install-recommends "${known[@]}" >/dev/null ||
                for package in "${known[@]}"; do without_daemons apt-get install -y -qq --no-install-recommends "$package" >/dev/null || true; done
        fi
    fi
fi

problem=""
if ! "$venv/bin/python" -c 'import iceoryx2' 2>/dev/null; then
    mkdir -p "$(dirname "$venv")"
    problem=$( (python3 -m venv "$venv" && "$venv/bin/python" -m pip install --quiet --disable-pip-version-check iceoryx2) 2>&1 | tail -n 1 || true)
fi

missing=0
for entry in "${rivals[@]}"; do
    absent=()
    for package in ${entry#*: }; do
        [[ -n $(version "$package") ]] || absent+=("$package")
    done
    first=${entry#*: }
    first=${first%% *}
    if [[ ${#absent[@]} -eq 0 ]]; then
        printf '%-10s %s %s\n' "${entry%%:*}" "$first" "$(version "$first")"
    else
        printf '%-10s MISSING %s\n' "${entry%%:*}" "${absent[*]}"
        missing=1
    fi
done
if found=$("$venv/bin/python" -c 'from importlib.metadata import version; import iceoryx2; print(version("iceoryx2"))' 2>/dev/null); then
    printf '%-10s PyPI %s\n' iceoryx2 "$found"
else
    printf '%-10s MISSING from PyPI: %s\n' iceoryx2 "${problem:-it can not be imported}"
    missing=1
fi
exit $missing
