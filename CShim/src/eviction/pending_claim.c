#include "eviction/pending_claim.h"

#include "platform/clock.h"
#include "platform/futex.h"
#include "registry/observers.h"
#include "registry/prefixes.h"
#include "ring/verdict.h"

// How long a claim may stay uncommitted before it is revoked. A post takes tens of nanoseconds, some microseconds when
// it rings; a poster that lost its processor gets it back within a time slice or two (3 to 4 ms each). Revoking too
// early is harmless (it posts anew), so: under a time slice.
#define REVOKE_TIMEOUT_NS 2000000u
#define REVOKE_TIMEOUT_PER_MEMBER_NS                                                                                   \
    20000u  // a wake-up costs the poster 2 to 5 µs, and whom it woke wants a processor too
#define REVOKE_TIMEOUT_FOR_READERS_NS 2000000u  // it wakes them all in one call, and nobody knows how many they are
#define REVOKE_TIMEOUT_DOUBLINGS 5              // 64 ms for what nobody is rung for
#define REVOKE_TIMEOUT_MAX_NS 250000000u        // whatever hostile words would have us believe
#define READER_TIMEOUT_FACTOR 10u  // who can't revoke loses what is committed after all: worth a longer wait
#define READER_LOOKS 100u
#define SPIN_LOOKS 200  // at a claimed slot, before giving the processor away; some microseconds

static uint32_t members(tidings__segment *s, uint32_t entry) {
    const tidings__name *name = tidings__name_at(s, entry);
    return name ? tidings__name_members(name) : 0;
}

// Who looks by prefix, at whatever: each is rung once a post.
static uint32_t members_by_prefix(tidings__segment *s) {
    tidings__prefix_walk walk = tidings__prefixes(s);
    if (__builtin_expect(!tidings__prefixes_any(&walk), 1)) return 0;
    // A hint: of some of them, should a hostile peer have tied the chain to a ring.
    if (walk.steps > 32) walk.steps = 32;
    uint64_t members[TIDINGS__MAP_WORDS] = {0};
    for (uint32_t entry; (entry = tidings__prefix_next(s, &walk)) != TIDINGS__NAME_NONE;)
        for (uint32_t i = 0; i < TIDINGS__MAP_WORDS; i++) members[i] |= tidings__relaxed(&s->names[entry].members[i]);
    uint32_t count = 0;
    for (uint32_t i = 0; i < TIDINGS__MAP_WORDS; i++) count += (uint32_t)__builtin_popcountll(members[i]);
    return count;
}

// How long to wait for this claim. A poster rings before it commits, and a thousand wake-ups take several times
// REVOKE_TIMEOUT_NS: who woke first must not revoke what the poster is still ringing the others for, or it would begin
// anew, without end.
uint64_t tidings__revoke_timeout(tidings__segment *s, uint64_t position) {
    // What is claimed may not be written yet, or be an earlier record's: nothing but a hint.
    uint64_t route = tidings__relaxed(&tidings__cell_at(s, position)->route);
    uint64_t asked = members(s, (uint32_t)route & 0xffffff) + members(s, (uint32_t)(route >> 32) & 0xffffff) +
                     members(s, TIDINGS__NAME_ALL) + members_by_prefix(s);
    uint64_t longest = REVOKE_TIMEOUT_NS + asked * REVOKE_TIMEOUT_PER_MEMBER_NS +
                       (s->observable ? REVOKE_TIMEOUT_FOR_READERS_NS : 0);
    // Revoked several times on end, this poster isn't stopped, only slow: it has come back each time. Twice as long for
    // it each time.
    const uint64_t who = TIDINGS__W_FOREIGN | TIDINGS__W_OWNER_MASK;
    uint64_t owner = tidings__acquire(&tidings__cell_at(s, position)->claim) & who;
    for (uint32_t i = 1; i <= REVOKE_TIMEOUT_DOUBLINGS && i <= position; i++) {
        tidings__cell *before = tidings__cell_at(s, position - i);
        uint64_t w = tidings__acquire(&before->claim);
        if ((w & who) != owner || tidings__lap_ahead(w, tidings__lap_at(s, position - i)) != 0) break;
        if (!tidings__v_void(tidings__acquire(&before->verdict), position - i)) break;
        longest *= 2;
    }
    return longest < REVOKE_TIMEOUT_MAX_NS ? longest : REVOKE_TIMEOUT_MAX_NS;
}

void tidings__wait_claimed(tidings_center *center, tidings__pending_claim *stuck, uint64_t position, bool sleep) {
    tidings__segment *s = &center->segment;
    if (stuck->at != position) {
        stuck->at = position;
        stuck->calls = 0;
        stuck->over = false;
    }
    if (stuck->calls++ == 0) {
        stuck->since = tidings__monotonic_ns();
        if (tidings__processors() > 1) {
            for (int i = 0; i < SPIN_LOOKS; i++) {
                if (tidings__slot_status(s, position) != TIDINGS__CLAIMED) return;
                tidings__cpu_relax();
            }
        }
        tidings__yield();
        return;
    }
    // Asked anew: the poster may not have written the name yet when we first looked. But it is a walk along who is
    // rung: not at each of many short waits, only before it ends.
    const uint64_t waited = tidings__monotonic_ns() - stuck->since;
    if (stuck->calls <= 4 || stuck->calls % 32 == 0 || waited >= stuck->longest)
        stuck->longest = tidings__revoke_timeout(s, position);
    const uint64_t longest = stuck->longest;
    if (s->writable && waited >= longest) {
        tidings__revoke(s, position);
        stuck->calls = 0;  // claimed even now it is by somebody's rubbish, and waited for anew
        return;
    }
    // Of looks too: each lets others have the processor, who may revoke.
    stuck->over = stuck->calls > READER_LOOKS && waited >= READER_TIMEOUT_FACTOR * longest;
    if (stuck->over) return;
    if (!sleep) {
        tidings__yield();
        return;
    }
    // The poster has no processor, wakes many, or is stopped. Its commit is a plain store and wakes no thread, but
    // after many wake-ups the poster wakes the sleepers here (not where readers may be among them). So: steps, longer
    // each time.
    uint64_t step = stuck->calls < 8 ? UINT64_C(10000) << stuck->calls : longest;
    if (step > longest / 16) step = longest / 16;
    tidings__cell *cell = tidings__cell_at(s, position);
    uint64_t w = tidings__acquire(&cell->claim);
    if (tidings__slot_status(s, position) == TIDINGS__CLAIMED)
        tidings__futex_wait(tidings__claim_futex(cell), (uint32_t)w, (int64_t)step);
}
