#!/bin/bash
# Builds the core for this machine of ours, and plays the scenes.
#
#   run.sh --quick [SEED]       as CI has it: two seconds a scene, and four of the planted mistakes
#   run.sh --full [SEED]        all planted mistakes; each scene in all its schedules, a minute at random, and further than that for two minutes
#   run.sh --self-test          all planted mistakes
#   run.sh --build FILE         builds it there, to be used by hand
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=$(dirname "$(dirname "$here")")
[[ $(uname -m) == x86_64 ]] || { echo "run.sh: written for x86-64, whose stores it delays"; exit 77; }
command -v clang >/dev/null || { echo "run.sh: no clang"; exit 2; }
ulimit -c 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lanes=$(nproc)
[[ $lanes -le 4 ]] || lanes=4

# The platform's own files that say what the kernel does are kernel.c here.
ours="barrier|clock|futex|lock|thread|watch"
wraps=$(printf -- '-Wl,--wrap=%s ' malloc calloc realloc free aligned_alloc pthread_mutex_lock)
compile() { # compile CORE FILE OBJECT: one file of the core, seen by processor.c unless it is the platform's
    local shown=(-fsanitize=thread -mllvm -tsan-instrument-func-entry-exit=0)
    [[ $2 != */platform/* ]] || shown=()
    clang -std=gnu17 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Werror=implicit "${shown[@]}" -I"$here/Shim" -I"$1/src" -I"$1/include" -c "$2" -o "$3"
}
object() { echo "$1" | sed 's|.*/src/||; s|/|_|; s|$|.o|'; }
each() { # the core's files, but for those
    find "$1/src" -name '*.c' | grep -vE "/platform/($ours)\.c$" | sort
}
build_core() { # build_core CORE FOLDER
    mkdir -p "$2"
    each "$1" | while read -r file; do echo "$1 $file $2/$(object "$file")"; done | xargs -P "$lanes" -L 1 bash "$0" --compile
}
build_rest() { # build_rest CORE FOLDER
    mkdir -p "$2"
    local file
    for file in "$here"/*.c; do
        clang -std=gnu17 -D_GNU_SOURCE -O2 -g -Wall -Wextra ${TIDINGS_CI:+-Werror} -I"$here" -I"$here/Shim" -I"$1/src" -I"$1/include" -c "$file" -o "$2/$(basename "$file").o" &
    done
    wait
}
link() { # link OUT OBJECTS…
    local out=$1
    shift
    # shellcheck disable=SC2086
    clang "$@" -lpthread $wraps -o "$out"
}

# A mistake: planted in a copy of the core, and to be found.
plant() { # plant "NAME | SCENE | FILE | SED"
    local name scene file edit
    name=$(awk -F ' [|] ' '{print $1}' <<<"$1") scene=$(awk -F ' [|] ' '{print $2}' <<<"$1") file=$(awk -F ' [|] ' '{print $3}' <<<"$1")
    edit=${1#* | * | * | }
    local folder=$work/planted/$name
    mkdir -p "$folder"
    cp -r "$root/CShim" "$folder/core"
    sed -i -e "$edit" "$folder/core/src/$file"
    if cmp -s "$folder/core/src/$file" "$root/CShim/src/$file"; then echo "$name: sed changes nothing any more"; return 1; fi
    if [[ $file == *.h ]]; then
        lanes=1 build_core "$folder/core" "$folder/objects" 2>"$folder/log" || { echo "$name: doesn't build"; cat "$folder/log"; return 1; }
    else
        mkdir "$folder/objects"
        cp "$objects"/core/*.o "$folder/objects/"
        compile "$folder/core" "$folder/core/src/$file" "$folder/objects/$(object "/src/$file")" 2>"$folder/log" || { echo "$name: doesn't build"; cat "$folder/log"; return 1; }
    fi
    link "$folder/Schedules" "$folder"/objects/*.o "$objects"/rest/*.o
    local said status=0
    said=$(timeout 300 "$folder/Schedules" "$scene" --quiet --seed 1 --at-random 60 2>&1) || status=$?
    # At random is quicker; what only few schedules show is found by trying them all.
    [[ $status -ne 0 ]] || said=$(timeout 300 "$folder/Schedules" "$scene" --quiet --everywhere 200 2>&1) || status=$?
    rm -rf "$folder"
    if [[ $status -eq 1 ]]; then
        printf 'found      %-38s %s\n' "$name" "$(grep -oE '(VIOLATION|signal).*' <<<"$said" | head -n 1 | cut -c1-150)"
    else
        printf 'NOT FOUND  %-38s (status %d) %s\n' "$name" "$status" "$(tail -n 1 <<<"$said")"
        return 1
    fi
}

mistakes() { grep -v '^#' "$here/planted"; }

case ${1:-} in
    --compile) shift; compile "$@"; exit ;;
    --plant) objects=$3; plant "$2"; exit ;;
esac

seed=${2:-20261123}
objects=$work/objects
program=$work/Schedules
build_core "$root/CShim" "$objects/core"
build_rest "$root/CShim" "$objects/rest"
link "$program" "$objects"/core/*.o "$objects"/rest/*.o
failed=0

plants() {
    # Tabs apart: the fields have spaces and quotes.
    tr '\n' '\0' | xargs -0 -P "$lanes" -I '{}' bash "$0" --plant '{}' "$objects"
}
scenes() { # scenes OPTION…
    "$program" --list | xargs -P "$lanes" -I '{}' "$program" '{}' --seed "$seed" "$@" || failed=1
}

case ${1:-} in
    --build)
        cp "$program" "$2"
        ;;
    --self-test)
        mistakes | plants || failed=1
        ;;
    --quick)
        echo "seed $seed"
        mistakes | shuf -n 4 --random-source=<(yes "$seed") | plants || failed=1
        scenes --everywhere 1.5 --at-random 0.5
        ;;
    --full)
        echo "seed $seed"
        mistakes | plants || failed=1
        scenes --everywhere 0 --at-random 60
        scenes --changes 2 --everywhere 120
        ;;
    *)
        sed -n '2,8s/^# \{0,1\}//p' "$0"
        exit 2
        ;;
esac
[[ $failed -eq 0 ]] || { echo "run.sh: FAILED"; exit 1; }
echo "run.sh: as expected"
