#!/usr/bin/env bash
# SQLite's own tests (veryquick.test, about 298,000 of them) without the extension, and with its VFS as the default one.
# Half an hour on two cores. Needs tcl-dev, and as root setpriv, because the tests don't run as root.
#
#   Tests/sqlite/upstream.sh DIRECTORY    of Debian's source package (apt-get source sqlite3)
#
# With the extension two groups of tests may differ. init-* lets each allocation fail while SQLite is initialised, and
# here the extension is loaded then, which allocates too. memsubsys* compare SQLite's use of memory with fixed numbers.
set -euo pipefail
source=$(readlink -f "$1")
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
build=${TIDINGS_SQLITE_BUILD:-$PWD/.build-sqlite}
make -s -j2 BUILD="$build" "$build/libtidings.so" "$build/tidings_sqlite.so" >/dev/null
work=$(mktemp -d /dev/shm/tidings-sqlite-upstream.XXXXXX)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir "$work/build" "$work/without" "$work/with" "$work/centers" "$work/library"
cp "$build/libtidings.so" "$work/library/libtidings.so.0"
cp "$build/tidings_sqlite.so" "$work/library"

(
    cd "$work/build"
    "$source/configure" --enable-all --with-tcl="$(dirname "$(find /usr/lib -name tclConfig.sh -path '*/tcl8*' | head -n 1)")"
    make -s sqlite3.h sqlite3.c
) >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
cc -O1 -DSQLITE_EXTRA_INIT -I"$work/build" -c Benchmarks/SQLite/loader.c -o "$work/build/loader.o"
make -s -C "$work/build" testfixture OPTS="-w -DSQLITE_EXTRA_INIT=load_extension_of_environment" \
    TLIBS="$work/build/loader.o -lm -lz -ldl -lpthread" >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }

as=()
if [[ $(id -u) -eq 0 ]]; then
    chown -R nobody "$work/without" "$work/with" "$work/centers"
    as=(setpriv --reuid=nobody --clear-groups --)
fi
run() { # run FOLDER [VARIABLE=VALUE]
    (cd "$work/$1" && "${as[@]}" env "${@:2}" "$work/build/testfixture" "$source/test/veryquick.test" >"$work/$1.log" 2>&1) || true
    sed -n 's/^! \([^ ]*\) expected:.*/\1/p' "$work/$1.log" | sort -u >"$work/$1.failed"
    grep -E 'errors out of' "$work/$1.log" | sed "s/^/$1: /" || { tail -n 5 "$work/$1.log"; exit 1; }
}
run without &
run with EXTENSION="$work/library/tidings_sqlite.so" LD_LIBRARY_PATH="$work/library" TIDINGS_DIRECTORY="$work/centers" &
wait -n
wait -n
[[ -s $work/without.failed ]] && { echo "without the extension these fail:"; cat "$work/without.failed"; }
differ=$(comm -13 "$work/without.failed" "$work/with.failed")
echo "with the extension $(grep -c . <<<"$differ" || true) more differ, of these $(grep -cE '^(init|memsubsys[12])-' <<<"$differ" || true) of init-* and memsubsys*"
! grep -vE '^(init|memsubsys[12])-|^$' <<<"$differ"
