#!/usr/bin/env bash
# Processes of three versions of the core share one center: run.sh [--seconds N] [SEED]. Version 1.0 is that of the commit that Tests/compatibility/base names; "later" is the present tree with a higher minor version.
#   --seconds N   how long the stress test runs (25; 600 by hand)
# Ends with 1 in a full clone without that commit. In a shallow clone, or without git, it says so, and runs the other two versions.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=$(dirname "$(dirname "$here")")
seconds=25 seed=20261127
while [[ $# -gt 0 ]]; do
    case $1 in
        --seconds) seconds=$2; shift ;;
        [0-9]*) seed=$1 ;;
        *) echo "usage: run.sh [--seconds N] [SEED]" >&2; exit 64 ;;
    esac
    shift
done
build=${TIDINGS_COMPATIBILITY_BUILD:-$root/.build-compatibility}
rm -rf "$build"
mkdir -p "$build"
directory=$(mktemp -d /dev/shm/compatibility.XXXXXX)
trap 'rm -rf "$directory"' EXIT
export TIDINGS_DIRECTORY=$directory
compiler=$(command -v clang || command -v cc)
git=(git -C "$root" -c "safe.directory=$root")

# Prints the commit of version 1.0. Fails if this clone has no such commit.
base_commit() {
    local commit shallow
    shallow=$("${git[@]}" rev-parse --is-shallow-repository) || return 1
    commit=$(grep -xE '[0-9a-f]{40}' "$here/base" | tail -n 1) || true
    # In a shallow clone, the oldest commit seems to add all files.
    if [[ -z $commit && $shallow == false ]]; then
        commit=$("${git[@]}" log --diff-filter=A --format=%H -- Tests/compatibility/base | tail -n 1)
    fi
    [[ $commit ]] || return 1
    if ! "${git[@]}" cat-file -e "$commit^{commit}" 2>/dev/null; then
        "${git[@]}" fetch --quiet --depth 1 origin "$commit" 2>/dev/null || return 1
    fi
    echo "$commit"
}

versions=(present later)
if commit=$(base_commit 2>/dev/null); then
    mkdir "$build/tree"
    "${git[@]}" archive "$commit" CShim/src CShim/include | tar -x -C "$build/tree"
    versions=(1.0 present later)
    echo "compatibility: 1.0 is commit $commit"
elif [[ $("${git[@]}" rev-parse --is-shallow-repository 2>/dev/null || echo none) == false ]]; then
    echo "compatibility: this clone has no commit of version 1.0, which Tests/compatibility/base names; fetch the whole history, or write the commit's hash into that file" >&2
    exit 1
else
    echo "compatibility: NOT TESTED with version 1.0: this clone is shallow, or no git repository, and has no such commit; run git fetch --unshallow"
fi

declare -A tree=([1.0]=$build/tree [present]=$root [later]=$root) flags=([1.0]="-DHEADER_OF_1_0" [present]="" [later]="-DTIDINGS__TEST_MINOR=1")
# Compiles the core of a version; one object per file, so that a mutant compiles one file.
core() { # core VERSION
    local source jobs=0
    mkdir -p "$build/$1"
    for source in "${tree[$1]}"/CShim/src/*/*.c; do
        # shellcheck disable=SC2086
        "$compiler" -std=gnu17 -D_GNU_SOURCE -O1 -g ${flags[$1]} -I"${tree[$1]}/CShim/src" -I"${tree[$1]}/CShim/include" -c "$source" -o "$build/$1/$(basename "$(dirname "$source")")-$(basename "$source" .c).o" &
        jobs=$((jobs + 1))
        if [[ $jobs -ge $(nproc) ]]; then wait -n; fi
    done
    for ((; jobs > 0; jobs--)); do wait -n || [[ $? -eq 127 ]]; done
}
for version in "${versions[@]}"; do core "$version"; done

# Links the sources of a test program with the core of a version, and compiles them with that version's header. The
# sources are those of this tree for each version: the processes of the stress test share memory of their own, and
# faults of a test can be corrected. So these sources call only what version 1.0 has.
program() { # program VERSION NAME SOURCE…
    local version=$1 name=$2
    shift 2
    # shellcheck disable=SC2086
    "$compiler" -std=gnu17 -D_GNU_SOURCE -O1 -g ${flags[$version]:-} -I"${tree[$version]}/CShim/include" "$@" "$build/$version"/*.o -lpthread -o "$build/$name-$version"
}
for version in "${versions[@]}"; do
    program "$version" stress "$root"/Tests/stress/*.c &
    program "$version" pair "$root/Tests/compatibility/pair.c" &
    wait -n
    wait -n
done

pair() { # pair FIRST PEER: the executables of two versions
    rm -rf "${directory:?}"/*
    "$1" "$2"
}
for one in "${versions[@]}"; do
    for other in "${versions[@]}"; do
        pair "$build/pair-$one" "$build/pair-$other" || { echo "compatibility: $one with a peer of $other fails"; exit 1; }
    done
done
echo "compatibility: each pair of ${versions[*]} passed"

# What an observer of each version publishes of itself, as this version reads it.
program present checker -DPUBLISHES "$root/Tests/compatibility/published.c"
for version in "${versions[@]}"; do
    program "$version" published "$root/Tests/compatibility/published.c"
    rm -rf "${directory:?}"/*
    known=1
    if [[ $version == 1.0 ]]; then known=0; fi
    "$build/checker-present" "$build/published-$version" $known || { echo "compatibility: what an observer of $version publishes is not known"; exit 1; }
done
echo "compatibility: what observers of ${versions[*]} publish is read as it is"

# The deliberate mistakes of an older process beside a later one.
"$root/.ci/check-mutants" --list compatibility | while read -r mutant _; do
    cp -r "$build/present" "$build/mutant"
    grep -rl "$mutant" "$root"/CShim/src/*/*.c | while read -r source; do
        "$compiler" -std=gnu17 -D_GNU_SOURCE -O1 "-D$mutant" -I"$root/CShim/src" -I"$root/CShim/include" -c "$source" -o "$build/mutant/$(basename "$(dirname "$source")")-$(basename "$source" .c).o"
    done
    tree[mutant]=$root
    program mutant pair "$root/Tests/compatibility/pair.c"
    if { pair "$build/pair-mutant" "$build/pair-later" && pair "$build/pair-later" "$build/pair-mutant"; } >/dev/null 2>&1; then
        echo "compatibility: $mutant is not found"
        exit 1
    fi
    echo "found: $mutant"
    rm -rf "$build/mutant"
done

programs=()
for version in "${versions[@]}"; do programs+=("$build/stress-$version"); done
"$build/stress-present" --seconds "$seconds" "$seed" "${programs[@]}"
