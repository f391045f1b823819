#!/usr/bin/env bash
# Installs what `make` built into a directory of its own, and builds and runs a program that knows nothing else: as C11 and C++11, shared and static, by gcc and clang.
# installed.sh BUILD COMPILER C++COMPILER
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
build=$1 compiler=$2 plus=$3
at=$(mktemp -d "${TMPDIR:-/tmp}/installed.XXXXXX")
shared=$(mktemp -d /dev/shm/installed.XXXXXX)
trap 'rm -rf "$at" "$shared"' EXIT
make -s BUILD="$build" CC="$compiler" PREFIX="$at/usr" CFLAGS="-O2 -g -Werror" install >/dev/null
export TIDINGS_DIRECTORY=$shared TIDINGS_NOTIFY_CONFIGURATION=/nonexistent

# What pkg-config prints, without needing it: name, field, and what it requires.
flags() {
    local file=$at/usr/lib/pkgconfig/$1.pc required
    required=$(sed -n 's/^Requires: //p' "$file")
    [[ -z $required ]] || flags "$required" "$2"
    sed -n "s/^$2: //p" "$file" | sed -e "s|\${libdir}|$at/usr/lib|g; s|\${includedir}|$at/usr/include|g; s|\${dispatch}|$(sed -n 's/^dispatch=//p' "$file")|g"
}
if command -v pkg-config >/dev/null; then
    export PKG_CONFIG_PATH=$at/usr/lib/pkgconfig PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1
    pkg-config --exists tidings tidings-notify
fi

program=Tests/notify/installed/everything.c
run() { # run WHAT COMMAND…
    local what=$1
    shift
    "$@" -o "$at/app"
    env LD_LIBRARY_PATH="$at/usr/lib" timeout 60 "$at/app" | sed "s/^/$what: /"
    [[ ${PIPESTATUS[0]} -eq 0 ]]
}
read -ra own <<<"$(flags tidings-notify Cflags | tr '\n' ' ')"
read -ra link <<<"$(flags tidings-notify Libs | tr '\n' ' ')"
run "$compiler, C11, shared" "$compiler" -std=gnu11 -Wall -Wextra -Werror "${own[@]}" "$program" "${link[@]}"
# From a prefix that the loader knows nothing of: by what pkg-config says, and by one rpath and this library alone.
"$compiler" -std=gnu11 "${own[@]}" "$program" "${link[@]}" -o "$at/app"
env -u LD_LIBRARY_PATH timeout 60 "$at/app" | sed "s/^/$compiler, no LD_LIBRARY_PATH: /"
"$compiler" -std=gnu11 "${own[@]}" "$program" -L"$at/usr/lib" -Wl,-rpath,"$at/usr/lib" -Wl,--as-needed -ltidings-notify -o "$at/app"
env -u LD_LIBRARY_PATH timeout 60 "$at/app" | sed "s/^/$compiler, libtidings beside: /"
run "$plus, C++11, shared" "$plus" -std=gnu++11 -Wall -Wextra -Werror "${own[@]}" -x c++ "$program" "${link[@]}"
run "$compiler, C11, static" "$compiler" -std=gnu11 -Wall -Wextra -Werror "${own[@]}" "$program" "$at/usr/lib/libtidings-notify.a" "$at/usr/lib/libtidings.a" -lpthread
if [[ $compiler == clang && -e $at/usr/lib/pkgconfig/tidings-notify-dispatch.pc ]]; then
    read -ra own <<<"$(flags tidings-notify-dispatch Cflags | tr '\n' ' ')"
    read -ra link <<<"$(flags tidings-notify-dispatch Libs | tr '\n' ' ')"
    run "$compiler, blocks" "$compiler" -std=gnu11 -Wall -Wextra -Werror "${own[@]}" "$program" "${link[@]}"
fi

# As a packager installs it, below DESTDIR; and as the manual says how to build with it, in one line.
if command -v pkg-config >/dev/null; then
    make -s BUILD="$build" CC="$compiler" DESTDIR="$at/root" PREFIX=/opt/tidings install >/dev/null
    [[ -z $(find "$at/root" -type f -not -path "$at/root/opt/tidings/*") ]]
    (
        export PKG_CONFIG_PATH=$at/root/opt/tidings/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$at/root
        for language in "$compiler -x c" "$plus -x c++"; do
            # shellcheck disable=SC2046,SC2086
            $language $program $(pkg-config --cflags --libs tidings-notify) -o "$at/app"
            env LD_LIBRARY_PATH="$at/root/opt/tidings/lib" timeout 60 "$at/app" | sed "s/^/$language, pkg-config: /"
        done
        grep -q /opt/tidings "$PKG_CONFIG_PATH/tidings-notify.pc" && ! grep -q "$at" "$PKG_CONFIG_PATH"/*.pc
    )
    make -s BUILD="$build" CC="$compiler" DESTDIR="$at/root" PREFIX=/opt/tidings uninstall
    [[ -z $(find "$at/root" -type f) ]]
fi

# The libraries export what the headers declare, and nothing else that programs might come to use.
declared() { sed -n 's/^[a-z].*\b\(notify_[a-z_]*\)(.*/\1/p' "$at/usr/include/notify.h" "$at/usr/include/notify_private.h" | grep -v register_dispatch | sort -u; }
exported() { nm -D --defined-only "$at/usr/lib/libtidings-notify.so" | sed -n 's/.* T \(notify_[a-z_]*\)@.*/\1/p' | sort -u; }
diff <(declared) <(exported)
# And the program that was just run uses all of it.
for function in $(declared) notify_register_dispatch; do grep -q "$function(" Tests/notify/installed/everything.c; done
if nm -D --defined-only "$at/usr/lib/libtidings.so" | grep ' [A-Z] tidings__'; then exit 1; fi

# Under the names and versions that programs are linked with.
for library in libtidings libtidings-notify libtidings-notify-dispatch; do
    file=$at/usr/lib/$library.so
    [[ -e $file ]] || continue
    readelf -d "$file" | grep -qF "Library soname: [$library.so.0]"
    if nm -D --defined-only "$file" | grep ' T ' | grep -v '@@TIDINGS_\(NOTIFY_\)\?0$'; then exit 1; fi
    [[ $(readlink "$at/usr/lib/$library.so.0") == "$library.so.$(sed -n 's/^Version: //p' "$at/usr/lib/pkgconfig/tidings.pc")" ]]
done

# Each header by itself, in the languages as they are written down.
for header in tidings notify notify_private notify_keys; do
    program=$'#include <'$header$'.h>\nextern int something;\n'
    "$compiler" -std=c11 -pedantic-errors -Wall -Wextra -Werror -fsyntax-only -I"$at/usr/include" -x c - <<<"$program"
    "$plus" -std=c++11 -pedantic-errors -Wall -Wextra -Werror -fsyntax-only -I"$at/usr/include" -x c++ - <<<"$program"
done

# Those of notify(3) in the oldest languages that programs for it are written in, too.
for header in notify notify_private notify_keys; do
    program=$'#include <'$header$'.h>\nextern int something;\n'
    "$compiler" -std=c89 -pedantic-errors -Wall -Wextra -Werror -fsyntax-only -I"$at/usr/include" -x c - <<<"$program"
    "$plus" -std=c++98 -pedantic-errors -Wall -Wextra -Werror -fsyntax-only -I"$at/usr/include" -x c++ - <<<"$program"
done

# The manual is one.
for page in man1/notifyutil.1 man3/notify.3 man3/tidings.3; do
    test -s "$at/usr/share/man/$page"
    if command -v groff >/dev/null; then [[ -z $(groff -mandoc -ww -z -Tutf8 "$at/usr/share/man/$page" 2>&1) ]]; fi
done
for function in $(declared); do [[ $function == notify_simple_post ]] || grep -q "^\.F[on] $function" "$at/usr/share/man/man3/notify.3"; done

# Its declarations are the headers', its examples are C.
declarations() { # of a manual page, without blanks
    awk '/^\.Ft/ { sub(/^\.Ft /, ""); gsub(/"/, ""); type = $0 }
         /^\.Fn/ && type { sub(/^\.Fn /, ""); name = $1; sub(/^[^ ]+ */, ""); gsub(/" "/, ","); gsub(/"/, ""); print type name "(" $0 ");"; type = "" }' "$1" | tr -d ' '
}
example() { sed -n '/^\.Bd/,/^\.Ed/p' "$at/usr/share/man/man3/$1.3" | grep -v '^\.'; }
for page in notify tidings; do
    [[ $(declarations "$at/usr/share/man/man3/$page.3" | wc -l) -ge 7 ]]
    while read -r declaration; do
        cat "$at"/usr/include/*.h | tr -d ' \n' | grep -qF "$declaration" || { echo "$page.3: $declaration is declared otherwise"; exit 1; }
    done < <(declarations "$at/usr/share/man/man3/$page.3")
done
"$compiler" -std=c11 -Wall -Wextra -Werror -fsyntax-only -I"$at/usr/include" -x c - <<<$'#include <notify.h>\nvoid rebuild(void), f(void);\nvoid f(void) {\n'"$(example notify)}"
"$compiler" -std=c11 -Wall -Wextra -Werror -fsyntax-only -I"$at/usr/include" -x c - <<<$'#include <tidings.h>\nvoid play(const void *, size_t), f(void);\nvoid f(void) {\n'"$(example tidings)}"

# And the utility.
dispatch=
if [[ -e $at/usr/lib/pkgconfig/tidings-notify-dispatch.pc ]]; then dispatch=dispatch; fi
Tests/notify/utility.sh "$at/usr/bin/notifyutil" "$dispatch"
make -s BUILD="$build" CC="$compiler" PREFIX="$at/usr" uninstall
[[ -z $(find "$at/usr" -type f) ]] || { find "$at/usr" -type f; exit 1; }
