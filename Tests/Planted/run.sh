#!/usr/bin/env bash
# Does harm find what it is there for? Scratch copies of the core, each with one mistake planted, and the story that must not come true of it.
#
#   Tests/Planted/run.sh [MISTAKE…]     all of them, or only these
#
# Each story is also told of the core as it is, where it must come true. x86-64 only, as single steps are.
set -euo pipefail

root=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
cd "$root"
if [[ $(uname -m) != x86_64 ]]; then echo "NOT TRIED: single steps are told from x86-64's registers"; exit 77; fi

# mistake | file of CShim/src | story, without "_harmed_anywhere_harms_nobody" | what it must be called
mistakes=(
    "ticket|ring/claim.h|a_small_post|it hangs|waiting for post"
    "lock|center/post.c|a_small_post|it hangs|went to sleep|of processor time"
    "early_commit|center/post.c|a_small_post|torn:|came after|asleep, having heard"
    "late_ring|center/post.c|a_small_post|asleep, having heard"
    "double_count|registry/tally.h|an_eviction|received and [0-9]* missed of|heard [0-9]* and missed"
    "deaf_owner|ring/claim.h|a_revoked_post|of its 1 posts came"
    "lost_chunk|center/tidy.c|a_chunk_post|is left as|chunks in use"
    "lost_name|registry/name_recycle.c|registering|is left in state"
    "kept_lock|center/open.c|a_small_post|participants instead of|nobody died since"
    "lapped_reader|center/reader.c|reading|it got"
)

plant() { # plant MISTAKE FILE: by what the lines say, so that a change of them is noticed
    local lock='(_Atomic uint64_t *)(void *)\&center->segment.observers[center->segment.shape.observers - 1].unused[1]'
    case $1 in
        # A place in the order is taken before its slot says so.
        ticket) sed -i "$2" \
            -e 's/^    uint64_t position = tidings__relaxed(hint);$/    static _Thread_local uint64_t ticket = UINT64_MAX;\n    if (ticket == UINT64_MAX) ticket = tidings__fetch_add(\&s->header->frontier_hint.word, 1);\n    uint64_t position = ticket;/' \
            -e 's/if (position != start && steps == 0) {/if (steps == UINT32_MAX) {/' \
            -e 's/if (__builtin_expect(position % 64 == 0, 0)) tidings__set_relaxed(&s->header->frontier_hint.word, position + 1);/ticket = UINT64_MAX;/' ;;
        # Posters take turns.
        lock) sed -i "$2" \
            -e "s/^    uint64_t time = tidings__stamp(thread);\$/    uint64_t nobody = 0, mine = 1;\n    while (!tidings__cas($lock, \&nobody, mine)) nobody = 0;\n&/" \
            -e "s/^    tell_early(&claim, rung);\$/    tidings__set_release($lock, 0);\n&/" ;;
        early_commit) sed -i "$2" -e 's/^    tidings__cell \*cell = claim->cell;$/&\n    tidings__set_release(\&cell->commit, tidings__c_of(claim->position, claim->phase));/' ;;
        late_ring) sed -i "$2" -e 's/^    if (resolved) \*rung = ring(topic, resolved);$/    late = resolved;/' \
            -e 's/^#define AGAIN 1 .*$/&\nstatic _Thread_local uint64_t late;/' \
            -e 's/^    tell_early(&claim, rung);$/    if (late) rung = ring(topic, late);\n    late = 0;\n&/' ;;
        # Who helps counts once more.
        double_count) sed -i "$2" -e '0,/if ((int64_t)(end - range_end) >= 0) return;/s//if ((int64_t)(end - range_end) > 0) return;/' ;;
        # A poster doesn't ask whether it was revoked.
        deaf_owner) sed -i "$2" -e 's/^    return counts;$/    (void)counts;\n    return true;/' ;;
        lost_chunk) sed -i "$2" -e '/^    tidings__chunk_tidy(s, dead);$/d' ;;
        lost_name) sed -i "$2" -e 's/case TIDINGS__NAME_PREPARING: .*$/case TIDINGS__NAME_PREPARING: break;/' ;;
        # A forked child keeps its parent's place.
        kept_lock) sed -i "$2" -e '/^        tidings__segment_reopen(&center->segment);$/d' ;;
        # A reader that was lapped doesn't ask how many went.
        lapped_reader) sed -i "$2" -e 's/^    tidings__account(s, in, in->resolved);$//' ;;
        *) echo "no mistake \"$1\" is known"; return 64 ;;
    esac
}

work=$(mktemp -d "${TMPDIR:-/tmp}/tidings-planted.XXXXXX")
shared=$(mktemp -d /dev/shm/tidings-planted.XXXXXX)
trap 'rm -rf "$work" "$shared"' EXIT
ulimit -c 0

compile() { # compile CORE SOURCE OBJECT
    ${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O1 -g1 -I"$1" -ICShim/include -MMD -c "$2" -o "$3"
}
export -f compile
mkdir "$work/objects"
cp -r CShim/src "$work/src"
printf '%s\n' "$work"/src/*/*.c Tests/CTestPeer/*.c |
    xargs -P "$(nproc)" -I{} bash -c 'compile "$1/src" "$2" "$1/objects/$(basename "$(dirname "$2")"),$(basename "$2").o"' _ "$work" {}

tell() { # tell BINARY STORY MOMENTS
    local directory status=0
    directory=$(mktemp -d "$shared/XXXXXX")
    TIDINGS_TEST_PATIENCE=${PATIENCE:-15} TIDINGS_TEST_MOMENTS=$3 timeout -k 5 240 \
        "$1" "$2_harmed_anywhere_harms_nobody" "20261123" "$directory" </dev/null >"$directory.complaint" 2>&1 || status=$?
    rm -rf "$directory"
    head -c 600 "$directory.complaint" | tr '\0' ' ' | tail -n 1
    return "$status"
}

try() { # try MISTAKE FILE STORY EXPECTED
    local objects=$work/objects.$1 source complaint status=0
    cp -r "$work/objects" "$objects"
    cp -r CShim/src "$work/src.$1"
    plant "$1" "$work/src.$1/$2"
    if cmp -s "CShim/src/$2" "$work/src.$1/$2"; then echo "$1: NOT PLANTED: $2 has changed, change Tests/Planted/run.sh too"; return 1; fi
    for source in $(grep -l -- "$work/src/$2" "$work"/objects/*.d); do
        source=$(basename "$source" .d)
        source=${source%.o}
        compile "$work/src.$1" "$(ls "$work/src.$1/${source/,//}" 2>/dev/null || echo "Tests/${source/,//}")" "$objects/$source.o"
    done
    ${CC:-cc} "$objects"/*.o -lpthread -o "$work/CTestPeer.$1"
    complaint=$(tell "$work/CTestPeer.$1" "$3" 150) || status=$?
    if [[ $status -eq 0 ]]; then echo "$1: NOT FOUND by $3"; return 1; fi
    if ! grep -qE "$4" <<<"$complaint"; then echo "$1: found, but called something else: $complaint"; return 1; fi
    echo "$1: found: $complaint"
}

known=0
# Two at a time: one that hangs waits until it is ended.
attempt() {
    try "$@" >"$work/$1.report" 2>&1 || : >"$work/$1.failed"
}
for entry in "${mistakes[@]}"; do
    IFS='|' read -r mistake file story expected <<<"$entry"
    if [[ $# -gt 0 && " $* " != *" $mistake "* ]]; then continue; fi
    known=$((known + 1))
    if [[ $known -gt 2 ]]; then wait -n; fi
    attempt "$mistake" "$file" "$story" "$expected" &
done
wait
if [[ $known -eq 0 || ($# -gt 0 && $known -ne $#) ]]; then echo "there is no such mistake"; exit 64; fi
cat "$work"/*.report
failed=$(find "$work" -maxdepth 1 -name '*.failed' | wc -l)

${CC:-cc} "$work"/objects/*.o -lpthread -o "$work/CTestPeer"
for story in a_small_post a_revoked_post; do
    if ! complaint=$(PATIENCE=60 tell "$work/CTestPeer" "$story" 10); then
        echo "nothing planted, and yet $story: $complaint"
        failed=$((failed + 1))
    fi
done
echo "planted: $((known - failed)) of $known found, $SECONDS s"
[[ $failed -eq 0 ]]
