#!/bin/sh
# Runs the models: run.sh [--quick|--full] [ring|wake|hold]. Builds in a temporary directory, two at a time. A line each; non-zero on any surprise.
#   good: no error, nothing cut short.   hole / bug: at least one error, in the first design as it stood (HOLE_*) or planted (BUG_*).
tier=quick
usage="usage: run.sh [--quick|--full] [ring|wake|hold]"
case "${1:---quick}" in --quick) ;; --full) tier=full ;; *) echo "$usage" >&2; exit 2 ;; esac
case "${2-}" in ''|ring|wake|hold) ;; *) echo "$usage" >&2; exit 2 ;; esac
here=$(cd "$(dirname "$0")" && pwd) || exit 2
command -v spin >/dev/null || { echo "run.sh: spin is missing" >&2; exit 2; }
cc=$(command -v clang || command -v gcc || command -v cc) || { echo "run.sh: no C compiler" >&2; exit 2; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
export here cc work tier

one() { # number, expectation, model, definitions
    number=$1 expect=$2 model=$3 defs=$4
    d=$work/$number; mkdir "$d"; cd "$d" || exit 1
    cp "$here/$model.pml" . 
    extra= flags= memory='-DCOLLAPSE -DMEMLIM=6000'
    # A short search ends before the optimizer would. A mistake is found early.
    optimized=-O2
    if [ "$tier" = quick ]; then case $expect in bug) optimized=-O0 ;; *) optimized=-O1 ;; esac; fi
    case $defs in *FREEZE*) extra=-DNOREDUCE flags=-E ;; esac # `provided` and the reduction do not mix; the frozen do not end
    # By 64 bits of hash: of 10^8 states one is taken for another with a probability of 1 to 3,000
    case $defs in *HASHED*) memory='-DHC4 -DMEMLIM=10000' flags="$flags -w28" ;; esac
    if ! spin -a $defs "$model.pml" >log 2>&1 || ! "$cc" $optimized -w -DSAFETY $memory $extra -o pan pan.c >>log 2>&1; then
        echo "SURPRISE $expect $model $defs: does not build"; : >"$work/surprise"; return
    fi
    ./pan -m2000000 $flags >out 2>&1
    states=$(awk '/states, stored/ {printf "%.0f", $1}' out)
    time=$(awk '/elapsed time/ {print $4}' out)
    errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' out)
    cut=$(grep -c -e 'max search depth too small' -e 'Search not completed' -e 'reached -DMEMLIM' -e 'out of memory' out)
    verdict=SURPRISE
    case $expect in
        good) [ "${errors:-x}" = 0 ] && [ "$cut" = 0 ] && verdict=ok ;;
        *) [ "${errors:-0}" -ge 1 ] && grep -q 'assertion violated' out && verdict=ok ;;
    esac
    [ $verdict = ok ] || : >"$work/surprise"
    printf '%-8s %-4s %-4s %-58s %11s states %6s s  %s\n' $verdict "$expect" "$model" "${defs:-(as it stands)}" "${states:-?}" "${time:-?}" "$(sed -n 's/^pan:1: \(.\{1,50\}\).*/\1/p' out)"
    rm -rf "$d"
}

list() {
    cat <<'LIST'
quick good ring -DLAST=3
quick good ring -DLAST=5 -DOBS=0 -DPOSTS=3
quick good ring -DLAST=4 -DOBS=0 -DDEATHS=1 -DREBORN
quick good ring -DLAST=3 -DOBS=0 -DFREEZE
quick good ring -DABANDON -DLAST=3
quick good ring -DABANDON -DLAST=4 -DOBS=0 -DDEATHS=1
quick good wake -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
quick hole ring -DHOLE_PHASE -DLAST=5 -DPOSTS=3 -DOBS=0 -DDEATHS=1 -DREBORN
quick hole ring -DHOLE_STALE_REVOKER -DLAST=3
quick hole ring -DHOLE_LATE_VERDICT -DLAST=3
full hole ring -DHOLE_TOMBSTONE -DLAST=3 -DDEATHS=1
quick hole ring -DHOLE_EARLY_CLEAR -DLAST=3 -DDEATHS=1
quick bug ring -DBUG_NO_MEMBARRIER -DLAST=4 -DPOSTS=3
quick bug ring -DBUG_PASS_UNKEPT -DLAST=4 -DPOSTS=3
quick bug ring -DBUG_REUSE_BUSY -DLAST=4 -DPOSTS=3
quick bug ring -DBUG_PHASE -DLAST=4 -DPOSTS=3
quick bug ring -DBUG_PENDING_LATE -DLAST=3 -DDEATHS=1
quick bug ring -DBUG_NO_LOOK_AT_V -DLAST=3
quick bug ring -DBUG_NO_LAP_CHECK -DLAST=4 -DPOSTS=3
quick bug ring -DBUG_TALLY_NO_END -DLAST=4 -DPOSTS=3
quick bug ring -DBUG_NO_EV_CHECK -DLAST=4 -DPOSTS=3
quick bug ring -DABANDON -DBUG_ABANDON_LATE -DLAST=3
quick bug ring -DBUG_WAIT_BUSY -DLAST=3 -DOBS=0 -DFREEZE
quick bug wake -DBUG_NO_SECOND_LOOK
quick bug wake -DBUG_COMMIT_FIRST
quick bug wake -DBUG_LOOK_FOR_COMMITTED
quick bug wake -DBUG_MAP_AFTER_LOOK
quick bug wake -DBUG_NO_EPOCH
quick bug wake -DBUG_EPOCH_GOES_BACK -DPOSTS=1 -DREVOKE=1
quick bug wake -DBUG_AWAKE_BY_STORE -DPOSTS=1 -DREVOKE=1
quick bug wake -DBUG_TICKET -DPOSTS=1 -DSPURIOUS=0
quick good wake -DWAKE_GROUP=1 -DOBS=1 -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
quick good wake -DWAKE_GROUP=1 -DOBS=1 -DSAME -DLIST0=1 -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
quick good wake -DWAKE_GROUP=1 -DOBS=1 -DALWAYS -DLIST0=1 -DREVOKE=1 -DLAST=2 -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
quick good wake -DWAKE_GROUP=2 -DLAST=1 -DALWAYS -DLIST0=1 -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
quick bug wake -DWAKE_GROUP=1 -DBUG_NO_BUMP -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
quick bug wake -DWAKE_GROUP=1 -DBUG_BUMP_AFTER_WAKE -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
quick bug wake -DWAKE_GROUP=1 -DBUG_NOT_QUEUED -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
quick bug wake -DWAKE_GROUP=1 -DBUG_WAKE_GROUP_AWAKE_BEFORE_WAKE -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
quick bug wake -DWAKE_GROUP=1 -DBUG_WAKE_GROUP_AWAKE_BEFORE_BUMP -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
quick bug wake -DWAKE_GROUP=1 -DBUG_GROUP_WAITS_NOT_CLEARED -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
quick bug wake -DWAKE_GROUP=1 -DBUG_GROUP_WAITS_AFTER_LOOK -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
quick bug wake -DWAKE_GROUP=1 -DBUG_WAKE_GROUP_AFTER_LOOK -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
quick bug wake -DWAKE_GROUP=1 -DBUG_WAKE_GROUP_AWAKE_BY_STORE -DREVOKE=1 -DLAST=2 -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
quick bug wake -DWAKE_GROUP=1 -DBUG_WAKE_GROUP_WRAPS -DOBS=1 -DSAME -DLIST0=1 -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
quick good hold -DCHUNKS=1 -DEVICTS=1
quick good hold -DPOSTS=3 -DEVICTS=1 -DKINDS=6
quick good hold -DCHUNKS=1 -DHOLDERS=2 -DHOLDS=1
quick good hold -DCHUNKS=1 -DPOSTERS=2 -DPOSTS=1
quick good hold -DCHUNKS=1 -DEVICTS=1 -DHOLDS=1 -DDEATHS=1
quick good hold -DCHUNKS=1 -DPOSTERS=2 -DPOSTS=1 -DHOLDS=1 -DDEATHS=1 -DMORTAL=2
quick good hold -DCHUNKS=1 -DFREEZE
quick bug hold -DBUG_NO_BARRIER -DCHUNKS=1
quick bug hold -DBUG_ENTRY_LAST -DCHUNKS=1
quick bug hold -DBUG_BIT_FIRST -DPOSTS=3 -DEVICTS=1
quick bug hold -DBUG_E_BEFORE_ENTRY -DCHUNKS=1
quick bug hold -DBUG_ROW_RAISED_LATE -DCHUNKS=1
quick bug hold -DBUG_NO_LOOK_AT_E -DCHUNKS=1
quick bug hold -DBUG_WORD_NOT_CHECKED -DCHUNKS=1 -DEVICTS=1
quick bug hold -DBUG_RELEASED_BEFORE_READ -DCHUNKS=1
quick bug hold -DBUG_ENTRIES_BEFORE_E -DCHUNKS=1 -DEVICTS=1
quick bug hold -DBUG_ENTRIES_BEFORE_WORD -DPOSTS=3 -DEVICTS=1 -DKINDS=2
quick bug hold -DBUG_TAKE_BY_STORE -DCHUNKS=1 -DPOSTERS=2
quick bug hold -DBUG_TAKE_RELOADED -DWORD_BEFORE_E -DCHUNKS=1 -DEVICTS=1
quick bug hold -DBUG_HELD_BIT_FOR_EVER -DCHUNKS=1
quick bug hold -DBUG_WAIT_HELD -DCHUNKS=1 -DFREEZE
quick bug hold -DBUG_DROPPED_IN_RING -DPOSTS=3 -DEVICTS=1 -DKINDS=2
quick bug hold -DBUG_HELD_FREED -DPOSTS=3 -DEVICTS=1
quick bug hold -DBUG_PROMOTED_WITHOUT_BIT -DPOSTS=3 -DEVICTS=1
quick bug hold -DBUG_PUBLISHED_BY_STORE -DCHUNKS=1
quick bug hold -DBUG_RECLAIMED_BY_STORE -DCHUNKS=1 -DPOSTERS=2 -DPOSTS=1 -DHOLDS=1 -DDEATHS=1 -DMORTAL=2
quick bug hold -DBUG_ROW_FREE_FIRST -DCHUNKS=1 -DDEATHS=1
quick bug hold -DBUG_ENTRY_NOT_CLEARED -DCHUNKS=1 -DDEATHS=1
quick bug hold -DBUG_DECLARED_ALIVE -DCHUNKS=1 -DDEATHS=1
full hole ring -DHOLE_JUMP -DLAST=4 -DPOSTS=3
full bug ring -DBUG_PENDING_DELIVERED -DLAST=3 -DDEATHS=1
full bug ring -DBUG_DIED_NO_SECOND_LOOK -DLAST=3 -DDEATHS=1
full bug ring -DBUG_TALLY_TORN -DLAST=4 -DPOSTS=3
full bug wake -DBUG_AWAKE_BEFORE_WAKE
full bug wake -DBUG_NO_LOOK_AT_G -DREG -DPOSTS=1 -DSPURIOUS=0
full bug wake -DBUG_G_NOT_MOVED -DREG -DPOSTS=1 -DSPURIOUS=0
full bug wake -DBUG_FRONTIER_BEFORE_G -DREG -DPOSTS=1 -DSPURIOUS=0
full good ring -DLAST=3 -DNAMES=2 -DEVMAX=2
full good ring -DLAST=4 -DPOSTS=3
full good ring -DLAST=3 -DDEATHS=1
full good ring -DLAST=3 -DFREEZE
full good ring -DLAST=3 -DPOSTS=1 -DOBS=2
full good ring -DHASHED -DLAST=3 -DOBS=2
full good ring -DHASHED -DN=3 -DLAST=4 -DOBS=2 -DOBSREVOKE=0
full good ring -DHASHED -DN=4 -DLAST=4 -DOBS=2 -DOBSREVOKE=0
full good ring -DHASHED -DN=4 -DLAST=5 -DOBS=2 -DPOSTS=3 -DOBSREVOKE=0
full good ring -DLAST=4 -DOBS=0 -DDEATHS=2
full good ring -DN=4 -DLAST=5 -DOBS=0 -DPOSTS=3
full bug wake -DWAKE_GROUP=1 -DBUG_WAKE_GROUP_AFTER_ANNOUNCE -DOBS=1 -DALWAYS -DLIST0=1 -DREVOKE=1 -DLAST=2 -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
full bug wake -DWAKE_GROUP=1 -DBUG_GROUP_WAITS_AFTER_ANNOUNCE -DOBS=1 -DLIST0=1 -DREVOKE=1 -DLAST=2 -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
full bug wake -DWAKE_GROUP=1 -DBUG_GROUP_WAITS_BEFORE_NAME_FUTEX -DOBS=1 -DLIST0=1 -DREVOKE=1 -DLAST=2 -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
full good wake -DWAKE_GROUP=1 -DOBS=1 -DLIST0=1 -DREVOKE=1 -DLAST=2 -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
full good wake -DWAKE_GROUP=1 -DWAKE_GROUP_RING_AFTER -DWAKE_GROUP_SAME_EPOCH -DOBS=1 -DALWAYS -DLIST0=1 -DREVOKE=1 -DLAST=2 -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
full good wake -DWAKE_GROUP=1 -DOBS=1 -DSAME -DLIST0=1 -DPOSTS=1 -DSPURIOUS=0
full good wake -DWAKE_GROUP=2 -DLAST=1 -DPOSTS=1 -DSPURIOUS=0 -DDEATHS=0
full good wake -DWAKE_GROUP=1 -DOBS=1 -DPOSTS=1
full good wake -DPOSTS=1 -DSPURIOUS=0
full good wake -DPOSTS=1 -DSPURIOUS=0 -DREG
full good wake -DHASHED -DPOSTS=1 -DREVOKE=1 -DDEATHS=0 -DSPURIOUS=0
full good hold -DLAST=4 -DPOSTS=4 -DEVICTS=1 -DKINDS=7 -DHOLDS=1
full good hold -DLAST=4 -DPOSTS=4 -DEVICTS=2 -DKINDS=6 -DHOLDS=1
full good hold -DPOSTERS=2 -DHOLDS=1
full good hold -DCHUNKS=1 -DPOSTERS=2
full good hold -DHOLDERS=2 -DHOLDS=1 -DPOSTS=3 -DEVICTS=1
full good hold -DCHUNKS=1 -DHOLDERS=2 -DEVICTS=1
full good hold -DCHUNKS=1 -DHOLDERS=2 -DEVICTS=1 -DHOLDS=1 -DDEATHS=1
full good hold -DPOSTS=3 -DEVICTS=1 -DDEATHS=1
full good hold -DPOSTS=3 -DEVICTS=1 -DKINDS=7 -DHOLDS=1 -DDEATHS=1 -DMORTAL=3
full good hold -DCHUNKS=1 -DPOSTERS=2 -DPOSTS=1 -DDEATHS=2 -DMORTAL=3
full good hold -DPOSTS=3 -DEVICTS=1 -DKINDS=7 -DFREEZE
full good hold -DE_BEFORE_WORD -DPOSTS=3 -DEVICTS=1
full good hold -DWORD_BEFORE_E -DPOSTS=3 -DEVICTS=1
full good hold -DE_BEFORE_WORD -DWORD_BEFORE_E -DPOSTS=3 -DEVICTS=1
LIST
}

# Two lanes, each taking the next that is open.
list | awk -v tier=$tier -v model="${2-}" '($1 == "quick" || tier == "full") && (!model || $3 == model)' >"$work/list"
export tier
lane() {
    while :; do
        mkdir "$work/lock" 2>/dev/null || { sleep 0.05; continue; }
        next=$(($(cat "$work/next" 2>/dev/null || echo 0) + 1)); echo $next >"$work/next"; rmdir "$work/lock"
        line=$(sed -n "${next}p" "$work/list"); [ -n "$line" ] || return 0
        set -- $line; shift; expect=$1 model=$2; shift 2
        one $next $expect $model "$*"
    done
}
lane & first=$!
lane & second=$!
wait $first $second
if [ -e "$work/surprise" ]; then echo "run.sh: SURPRISES"; exit 1; fi
echo "run.sh: all as expected ($tier)"
