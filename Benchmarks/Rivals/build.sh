#!/usr/bin/env bash
# Builds one executable a rival into Benchmarks/.build/rivals/bin. What can't be built here is named with the reason, and the rest goes on.
#
#   Benchmarks/Rivals/build.sh [RIVAL…]        exit status 1 if nothing at all could be built
#   Benchmarks/Rivals/build.sh grpc            only if it is named: fetches its packages, and takes some ten minutes
set -euo pipefail

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
out=../.build/rivals
bin=$out/bin
objects=$out/objects
mkdir -p "$bin" "$objects"

cc=${CC:-$(command -v clang || command -v cc)}
flags=(-std=gnu17 -D_GNU_SOURCE -O2 -g -Wall -Wextra -I. -I../../CShim/bench/include -I../../CShim/bench/src)
[[ ${TIDINGS_CI:-} == 1 ]] && flags+=(-Werror)

# Debian keeps its headers in a folder of the version's.
iceoryx=$(dirname "$(ls -d /usr/include/iceoryx/*/iceoryx_binding_c 2>/dev/null | tail -n 1)")
# name | what its header is looked up by: pkg-config's name, or a file | compiler's flags | linker's flags
rivals=(
    "tidings||-I../../CShim/include|$objects/core.a"
    "eventfd|||"
    "mqueue|||-lrt"
    "unixgram|||"
    "unixstream|||"
    "iceoryx|$iceoryx/iceoryx_binding_c|-I$iceoryx|-liceoryx_binding_c"
    "iceoryx2|../.build/rivals/venv/bin/python||"
    "gnustep|/usr/include/GNUstep/Foundation/Foundation.h||"
    "redis|hiredis||-lhiredis"
    "zeromq|libzmq||-lzmq"
    "dbus|libsystemd||-lsystemd"
    "mosquitto|libmosquitto||-lmosquitto"
    "nats|libnats||-lnats"
    "grpc|$(command -v swift || echo swift)||"
)

# What all share; loops that fill in and check messages are the same machine code for all of them.
shared=()
for source in rival process await; do
    "$cc" "${flags[@]}" -O3 -c $source.c -o "$objects/$source.o"
    shared+=("$objects/$source.o")
done
"$cc" "${flags[@]}" -c ../../CShim/bench/src/machine.c -o "$objects/machine.o"
shared+=("$objects/machine.o")

core() {
    local source object made=()
    for source in ../../CShim/src/*/*.c ../../CShim/bench/src/{post,arena,process}.c; do
        object=$objects/core-$(basename "$(dirname "$source")")-$(basename "$source" .c).o
        "$cc" "${flags[@]}" -DNDEBUG -I../../CShim/include -I../../CShim/src -c "$source" -o "$object"
        made+=("$object")
    done
    rm -f "$objects/core.a"
    ar crs "$objects/core.a" "${made[@]}"
}

there() { # NAME: whether pkg-config knows it, or it is a file
    [[ -z $1 || -e $1 ]] || pkg-config --exists "$1" 2>/dev/null
}

built=0
for entry in "${rivals[@]}"; do
    IFS='|' read -r name needs compile link <<<"$entry"
    [[ $# -eq 0 && $name != grpc || " $* " == *" $name "* ]] || continue
    if ! there "$needs"; then
        echo "$name: not built, $needs is missing (install.sh)"
        rm -f "$bin/$name"
        continue
    fi
    case $name in
        iceoryx2) # no executable of its own: a script, for the Python that has the binding
            printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$(realpath --no-symlinks "$needs")" "$PWD/iceoryx2-python.py" >"$bin/$name"
            chmod +x "$bin/$name"
            ;;
        gnustep) # its Objective-C is the one of gcc's runtime
            # shellcheck disable=SC2046 # flags are words
            gcc -std=gnu17 -D_GNU_SOURCE -I. $(gnustep-config --objc-flags) -c gnustep.m -MF "$objects/gnustep.d" -o "$objects/gnustep.o"
            # shellcheck disable=SC2046
            gcc "$objects/gnustep.o" "${shared[@]}" $(gnustep-config --base-libs) -o "$bin/$name"
            ;;
        grpc)
            swift build -c release --package-path grpc --scratch-path "$out/grpc" --product grpc-rival
            cp "$out/grpc/release/grpc-rival" "$bin/$name"
            ;;
        *)
            [[ $name != tidings ]] || core
            # shellcheck disable=SC2086
            "$cc" "${flags[@]}" $compile $name.c "${shared[@]}" $link -lpthread -o "$bin/$name"
            ;;
    esac
    echo "$name: built"
    built=$((built + 1))
done
[[ $built -gt 0 ]]
