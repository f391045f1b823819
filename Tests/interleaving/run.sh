#!/bin/bash
# Builds the core for a simulated machine, and plays the scenes on it.
#
#   run.sh --quick [SEED]       what CI runs: a second of processor time a scene, and four of the mutants
#   run.sh --full [SEED]        all mutants; every schedule of every scene, one minute at random, two minutes beyond
#   run.sh --self-test          all mutants
#   run.sh --build FILE         builds the program and copies it to FILE
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=$(dirname "$(dirname "$here")")
core=$root/CShim
[[ $(uname -m) == x86_64 ]] || { echo "run.sh: the simulated machine delays stores as x86-64 does: not run here"; exit 77; }
command -v clang >/dev/null || { echo "run.sh: no clang"; exit 2; }
ulimit -c 0
lanes=$(nproc)
[[ $lanes -le 4 ]] || lanes=4

# kernel.c replaces these files of src/platform.
replaced="barrier|clock|futex|lock|thread|watch"
wraps=$(printf -- '-Wl,--wrap=%s ' malloc calloc realloc free aligned_alloc pthread_create pthread_mutex_lock)
core_files() { find "$core/src" -name '*.c' | grep -vE "/platform/($replaced)\.c$" | sort; }
object() { echo "$1" | sed 's|.*/src/||; s|/|_|; s|$|.o|'; }
compile() { # compile FILE OBJECT [FLAG]: one file of the core. processor.c sees its accesses, except the platform's.
    local file=$1 object=$2 instrumented=(-fsanitize=thread -mllvm -tsan-instrument-func-entry-exit=0)
    shift 2
    [[ $file != */platform/* ]] || instrumented=()
    clang -std=gnu17 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Werror=implicit "${instrumented[@]}" "$@" \
        -I"$here/Shim" -I"$core/src" -I"$core/include" -c "$file" -o "$object"
}
build_rest() { # build_rest FOLDER: the machine and the scenes
    mkdir -p "$1"
    local file
    for file in "$here"/*.c; do
        clang -std=gnu17 -D_GNU_SOURCE -O2 -g -Wall -Wextra ${TIDINGS_CI:+-Werror} \
            -I"$here" -I"$here/Shim" -I"$core/src" -I"$core/include" -c "$file" -o "$1/$(basename "$file").o" &
    done
    wait
}
link() { # link OUT OBJECTS…
    local out=$1
    shift
    # shellcheck disable=SC2086
    clang "$@" -lpthread $wraps -o "$out"
}

# Builds the files that mention the mutant once more, with its macro defined. A header concerns all files.
build_mutant() { # build_mutant MUTANT FOLDER
    local file mentions
    mkdir -p "$2/objects"
    cp "$objects"/core/*.o "$2/objects/"
    mentions=$(grep -rlw "$1" "$core/src")
    for file in $(core_files); do
        if grep -q '\.h$' <<<"$mentions" || grep -qxF "$file" <<<"$mentions"; then
            compile "$file" "$2/objects/$(object "$file")" "-D$1" || return 1
        fi
    done
    link "$2/Schedules" "$2"/objects/*.o "$objects"/rest/*.o
}
find_mutant() { # find_mutant MUTANT SCENE: fails unless the scene fails
    local folder=$objects/mutants/$1 said status=0
    mkdir -p "$folder"
    if ! build_mutant "$1" "$folder" 2>"$folder/log"; then
        echo "$1: cannot be built"
        cat "$folder/log"
        return 1
    fi
    said=$(timeout 2000 "$folder/Schedules" "$2" --quiet --seed 1 --at-random 60 2>&1) || status=$?
    # Random schedules are quicker. A mutant that few schedules show is found by trying them all.
    [[ $status -ne 0 ]] || said=$(timeout 2000 "$folder/Schedules" "$2" --quiet --everywhere 200 2>&1) || status=$?
    rm -rf "$folder"
    if [[ $status -eq 1 ]]; then
        printf 'found      %-40s %s\n' "$1" "$(grep -oE '(VIOLATION|signal).*' <<<"$said" | head -n 1 | cut -c1-150)"
    else
        printf 'NOT FOUND  %-40s (status %d) %s\n' "$1" "$status" "$(tail -n 1 <<<"$said")"
        return 1
    fi
}

# This script calls itself for each file and each mutant, to use all lanes.
case ${1:-} in
    --compile) shift; compile "$@"; exit ;;
    --find) objects=$2; find_mutant "$3" "$4"; exit ;;
    --build | --self-test | --quick | --full) ;;
    *)
        sed -n '2,8s/^# \{0,1\}//p' "$0"
        exit 2
        ;;
esac

mutants=$("$root/.ci/check-mutants" --list interleaving)
[[ -n $mutants ]] || { echo "run.sh: no mutant names this suite"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seed=${2:-20261123}
objects=$work
program=$work/Schedules
mkdir "$objects/core"
core_files | while read -r file; do echo "$file $objects/core/$(object "$file")"; done |
    xargs -P "$lanes" -L 1 bash "$0" --compile
build_rest "$objects/rest"
link "$program" "$objects"/core/*.o "$objects"/rest/*.o
failed=0

find_mutants() { xargs -P "$lanes" -L 1 bash "$0" --find "$objects" || failed=1; }
scenes() { # scenes OPTION…
    "$program" --list | xargs -P "$lanes" -I '{}' "$program" '{}' --seed "$seed" "$@" || failed=1
}

case $1 in
    --build)
        cp "$program" "$2"
        ;;
    --self-test)
        find_mutants <<<"$mutants"
        ;;
    --quick)
        echo "seed $seed"
        find_mutants < <(shuf -n 4 --random-source=<(yes "$seed") <<<"$mutants")
        scenes --everywhere 0.75 --at-random 0.25
        ;;
    --full)
        echo "seed $seed"
        find_mutants <<<"$mutants"
        scenes --everywhere 0 --at-random 60
        scenes --changes 2 --everywhere 120
        ;;
esac
[[ $failed -eq 0 ]] || { echo "run.sh: FAILED"; exit 1; }
echo "run.sh: as expected"
