// Waiting for a claim that is not committed yet: how long, in which steps, and when to revoke it.
#include "eviction/pending_claim.h"

#include "platform/clock.h"
#include "platform/futex.h"
#include "registry/observers.h"
#include "registry/prefixes.h"
#include "ring/verdict.h"

// How long a claim may stay uncommitted before it is revoked. A post takes tens of nanoseconds, or some microseconds if
// it wakes observers. A poster that lost its processor gets it back within a time slice or two (3 to 4 ms each).
// Revoking too early is harmless, because the poster claims again. So the timeout is below a time slice.
#define REVOKE_TIMEOUT_NS 2000000u
// A wake-up costs the poster 2 to 5 µs, and the observer that it woke needs a processor too.
// The one reader that a post in an observable center wakes is included in REVOKE_TIMEOUT_NS.
#define REVOKE_TIMEOUT_PER_MEMBER_NS 20000u
#define REVOKE_TIMEOUT_DOUBLINGS 5        // 2 ms become 64 ms for a record that wakes no observer
#define REVOKE_TIMEOUT_MAX_NS 250000000u  // bounds what hostile words can cause
// A reader cannot revoke, and misses a record that is committed after it went on. So it waits longer: 40 ms for a
// record that wakes no observer. A poster that lost its processor on a busy machine gets it back within several time
// slices.
#define READER_TIMEOUT_FACTOR 20u
#define READER_TIMEOUT_MAX_NS 2500000000u  // bounds what hostile words can cause
#define READER_CHECKS 100u                 // calls; each yields the processor to participants, which may revoke
#define SPIN_CHECKS 200                    // of a claimed slot, before giving the processor away; some microseconds

static uint32_t members(tidings__segment *s, uint32_t entry) {
    const tidings__name *name = tidings__name_at(s, entry);
    return name ? tidings__name_members(name) : 0;
}

// How many observers observe any prefix. A poster wakes each of them once a post.
static uint32_t members_by_prefix(tidings__segment *s) {
    tidings__prefix_walk walk = tidings__prefixes(s);
    if (__builtin_expect(!tidings__prefixes_any(&walk), 1)) return 0;
    // Bounded: a hostile peer may have closed the chain to a cycle. For a hint, some of the prefixes are enough.
    if (walk.steps > 32) walk.steps = 32;
    uint64_t members[TIDINGS__MAP_WORDS] = {0};
    for (uint32_t entry; (entry = tidings__prefix_next(s, &walk)) != TIDINGS__NAME_NONE;)
        for (uint32_t i = 0; i < TIDINGS__MAP_WORDS; i++) members[i] |= tidings__relaxed(&s->names[entry].members[i]);
    uint32_t count = 0;
    for (uint32_t i = 0; i < TIDINGS__MAP_WORDS; i++) count += (uint32_t)__builtin_popcountll(members[i]);
    return count;
}

// How long to wait for this claim. A poster wakes observers before it commits, and a thousand wake-ups take several
// times REVOKE_TIMEOUT_NS. The observers that are awake first must not revoke the claim while the poster still wakes
// the other ones. Otherwise the poster would claim again without end.
uint64_t tidings__revoke_timeout(tidings__segment *s, uint64_t position) {
    // The claimed record may not be written yet, or the route word may be an earlier record's: this is only a hint.
    const uint64_t route = tidings__route(tidings__cell_at(s, position));
    uint64_t woken = members(s, tidings__route_name(route)) + members(s, tidings__route_name_subject(route)) +
                     members(s, TIDINGS__NAME_ALL) + members_by_prefix(s);
    uint64_t timeout = REVOKE_TIMEOUT_NS + woken * REVOKE_TIMEOUT_PER_MEMBER_NS;
    // If the same poster was revoked at the positions just before, it is slow, not stopped: it came back each time.
    // Each of these revocations doubles the timeout.
    const uint64_t owner_bits = TIDINGS__W_FOREIGN | TIDINGS__W_OWNER_MASK;
    uint64_t owner = tidings__acquire(&tidings__cell_at(s, position)->claim) & owner_bits;
    for (uint32_t i = 1; i <= REVOKE_TIMEOUT_DOUBLINGS && i <= position; i++) {
        tidings__cell *before = tidings__cell_at(s, position - i);
        uint64_t w = tidings__acquire(&before->claim);
        if ((w & owner_bits) != owner || tidings__lap_ahead(w, tidings__lap_at(s, position - i)) != 0) break;
        if (!tidings__v_void(tidings__acquire(&before->verdict), position - i)) break;
        timeout *= 2;
    }
    return timeout < REVOKE_TIMEOUT_MAX_NS ? timeout : REVOKE_TIMEOUT_MAX_NS;
}

void tidings__wait_claimed(tidings_center *center, tidings__pending_claim *claim, uint64_t position, bool sleep) {
    tidings__segment *s = &center->segment;
    if (claim->at != position) {
        claim->at = position;
        claim->calls = 0;
        claim->over = false;
    }
    if (claim->calls++ == 0) {
        claim->since = tidings__monotonic_ns();
        if (tidings__processors() > 1) {
            for (int i = 0; i < SPIN_CHECKS; i++) {
                if (tidings__slot_status(s, position) != TIDINGS__CLAIMED) return;
                tidings__cpu_relax();
            }
        }
        tidings__yield();
        return;
    }
    // Computed again, because the poster may not have written the name when this position was first checked. The
    // computation counts the observers to be woken. So it is not done at each of many short waits, but always before
    // the wait ends.
    const uint64_t waited = tidings__monotonic_ns() - claim->since;
    if (claim->calls <= 4 || claim->calls % 32 == 0 || waited >= claim->timeout)
        claim->timeout = tidings__revoke_timeout(s, position);
    const uint64_t timeout = claim->timeout;
    if (s->writable && waited >= timeout) {
        tidings__revoke(s, position);
        claim->calls = 0;  // if it is claimed even now, the slot is damaged, and the wait starts again
        return;
    }
    uint64_t reader_timeout = READER_TIMEOUT_FACTOR * timeout;
    if (reader_timeout > READER_TIMEOUT_MAX_NS) reader_timeout = READER_TIMEOUT_MAX_NS;
    claim->over = claim->calls > READER_CHECKS && waited >= reader_timeout;
    if (claim->over) return;
    if (!sleep) {
        tidings__yield();
        return;
    }
    // The poster has no processor, wakes many observers, or is stopped. Its commit is a plain store, which wakes no
    // thread. After many wake-ups the poster also wakes the sleepers on the claim, but not in an observable center. So
    // sleep in steps, each longer than the last. A reader's steps are twice as long, because it takes many more.
    const uint64_t longest_step = timeout / (s->writable ? 16 : 8);
    uint64_t step = claim->calls < 8 ? UINT64_C(10000) << claim->calls : timeout;
    if (step > longest_step) step = longest_step;
    tidings__cell *cell = tidings__cell_at(s, position);
    uint64_t w = tidings__acquire(&cell->claim);
    if (tidings__slot_status(s, position) == TIDINGS__CLAIMED)
        tidings__futex_wait(tidings__claim_futex(cell), (uint32_t)w, (int64_t)step);
}
