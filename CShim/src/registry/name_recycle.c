// Takes names out of the table, without a lock, in four steps: decide (state), mark (link), unlink, free. If a
// participant dies in between, any other participant can finish the steps.
#include "registry/name_table.h"
#include "segment/position.h"

#define STATE(word) ((uint32_t)(word)&0xf)
#define PARTICIPANT(word) ((uint32_t)((word) >> 4) & 0xffff)
#define GENERATION(word) ((word) >> 20)

static uint64_t with_state(uint64_t word, uint32_t participant, uint32_t state) {
    return GENERATION(word) << 20 | (uint64_t)(participant & 0xffff) << 4 | state;
}

// Invariant N6: an entry with a value is not taken out. Nor is one with members.
static bool needed(const tidings__name *entry) {
    uint64_t retained = tidings__acquire(&entry->retained) & 0xffff;
    return (retained != 0 && retained != TIDINGS__RETAINED_EXPECTED) || tidings__name_observed(entry);
}

static _Atomic uint64_t *chain_of(const tidings__segment *s, const tidings__name *entry) {
    return tidings__name_chain(s, tidings__relaxed(&entry->hash),
                               tidings__relaxed(&entry->lengths) & TIDINGS__LENGTHS_PREFIX);
}

// How much one call examines, in slots. A link counts as LINK slots, because the next entry may lie anywhere in memory.
// In a sound table chains are a few links long. In a damaged table each entry can lead along all other entries, and
// each can ask for a search of the whole ring. The budget is a few milliseconds, and more than two searches of the
// whole ring or of the longest chain.
#define LINK 128u
uint64_t tidings__name_budget(const tidings__segment *s) { return (UINT64_C(1) << 20) + 2 * (uint64_t)s->shape.slots; }

static bool consume_budget(uint64_t *budget, uint64_t cost) {
    const bool enough = *budget >= cost;
    *budget -= enough ? cost : *budget;
    return enough;
}

// Unlinks a GONE entry from its chain. True if certainly no chain leads to it. A thread that is stopped in here for
// long may go on when the entry serves another name. Invariant N4: each change is a CAS of a value that was read
// *before* the state was found still GONE. Every re-use changes these values (tags). `*head`: the chain's head before
// the walk that did not find the entry.
static bool unlink_entry(tidings__segment *s, uint32_t index, uint64_t gone, uint64_t *budget, uint64_t *head) {
    tidings__name *entry = &s->names[index];
    uint64_t next = tidings__acquire(&entry->next);
    for (int tries = 0;; tries++) {
        if (tidings__acquire(&entry->state) != gone || tries > TIDINGS__TRIES) return false;
        if (next & TIDINGS__NEXT_MARK) break;
        if (tidings__cas(&entry->next, &next, next | TIDINGS__NEXT_MARK)) break;
    }
    _Atomic uint64_t *bucket = chain_of(s, entry);
    for (int round = 0; round < 64; round++) {
        _Atomic uint64_t *from = bucket;
        uint64_t link = *head = tidings__acquire(from);
        while ((uint32_t)link != index && (uint32_t)link != TIDINGS__NAME_NONE) {
            tidings__name *step = tidings__name_at(s, (uint32_t)link);
            if (!step) return false;
#ifndef MUTANT_UNLINKING_UNBOUNDED  // Found by: fuzz image
            if (!consume_budget(budget, LINK)) return false;
#endif
            from = &step->next;
            link = tidings__acquire(from);
        }
        if (tidings__acquire(&entry->state) != gone) return false;
        if ((uint32_t)link != index) return true;
        // A marked predecessor is being taken out itself, and its link must not change any more. It goes first; a later
        // call unlinks this entry.
        if (link & TIDINGS__NEXT_MARK) return false;
        tidings__cas(from, &link, ((link >> 33) + 1) << 33 | (uint32_t)next);
    }
    return false;
}

static bool finish(tidings__segment *s, uint32_t index, uint64_t state, uint64_t *budget) {
    // The search of a thread that adds a name may have come to this entry, and would follow another chain once the
    // entry is reused. The new tag of the head makes that thread's CAS fail. If the head has changed since the walk in
    // `unlink_entry`, the walk proves nothing, and is repeated: a participant that had stopped before it linked this
    // entry may have linked it meanwhile; or the walk came to an entry that was taken out and reused, and followed
    // another chain. The bound is for a hostile peer.
    _Atomic uint64_t *bucket = chain_of(s, &s->names[index]);
    uint64_t head;
    int rounds = 0;
    do {
        if (++rounds > 64 || !unlink_entry(s, index, state, budget, &head)) return false;
#ifdef MUTANT_HEAD_RETAGGED_UNSEEN  // Found by: interleaving value_in_a_full_table
        head = tidings__acquire(bucket);
#endif
    } while (!tidings__cas(bucket, &head, ((head >> 33) + 1) << 33 | (uint32_t)head));
    // Records that carry this entry's number were claimed before this increment of G; later posters resolve their names
    // anew. Quarantine: the entry is not used again while the ring may hold such records.
    tidings__fetch_add(&s->header->generation.word, 1);
    tidings__barrier_after_rmw();
    uint64_t end = tidings__frontier(s, tidings__oldest(s));
    uint64_t birth = tidings__acquire(&s->names[index].birth);
    if (tidings__acquire(&s->names[index].state) != state) return false;
    if (birth != end && !tidings__cas(&s->names[index].birth, &birth, end)) return false;
    return tidings__cas(&s->names[index].state, &state, with_state(state, 0, TIDINGS__NAME_FREE));
}

bool tidings__name_take_out(tidings__segment *s, uint32_t participant, uint32_t index, uint64_t *budget) {
    tidings__name *entry = &s->names[index];
    uint64_t state = tidings__acquire(&entry->state);
    if (STATE(state) == TIDINGS__NAME_GONE) return finish(s, index, state, budget);
    if (STATE(state) != TIDINGS__NAME_LINKED || needed(entry)) return false;
    // A new generation each time: two threads of one participant must not take each other's LEAVING for their own.
    uint64_t leaving = with_state(state + (UINT64_C(1) << 20), participant, TIDINGS__NAME_LEAVING);
    if (!tidings__cas(&entry->state, &state, leaving)) return false;
    tidings__barrier_after_rmw();
    // A member that joined before this check is seen here; one that joins later sees LEAVING and turns it back. So does
    // the poster of a retained record, which checks the state after its claim. A record that was claimed before is in
    // the ring now, or it was evicted and is the entry's value. So the ring is checked first, then the value.
    uint64_t expected = leaving;
    bool expects = tidings__acquire(&entry->retained) != 0;
    if ((expects && (!consume_budget(budget, s->shape.slots) || tidings__ring_may_hold(s, index, true))) ||
        needed(entry)) {
        tidings__cas(&entry->state, &expected, with_state(leaving, 0, TIDINGS__NAME_LINKED));
        return false;
    }
    uint64_t gone = with_state(leaving, participant, TIDINGS__NAME_GONE);
    return tidings__cas(&entry->state, &expected, gone) && finish(s, index, gone, budget);
}

bool tidings__name_half_way(const tidings__name *entry, uint64_t *participant) {
    uint64_t state = tidings__acquire(&entry->state);
    *participant = PARTICIPANT(state);
    return STATE(state) == TIDINGS__NAME_PREPARING || STATE(state) == TIDINGS__NAME_LEAVING ||
           STATE(state) == TIDINGS__NAME_GONE;
}

void tidings__name_reclaim(tidings__segment *s, const tidings__participant_set *dead,
                           const tidings__observer_set *observers) {
    uint64_t budget = tidings__name_budget(s);
    uint32_t end = tidings__names_end(s);
    // An entry is taken before it is counted in `names_used`. A participant that died in between left one uncounted
    // entry. There is never more than one, because the next thread that finds it counts it.
#ifndef MUTANT_UNCOUNTED_ENTRY_NOT_SCANNED  // Found by: interleaving dead_value_poster
    if (end < tidings__acquire(&s->header->names_backed.word)) end++;
#endif
    end = tidings__names_there(s, end < s->shape.names ? end : s->shape.names);
    const uint32_t words = tidings__observer_set_used(observers);
    for (uint32_t index = TIDINGS__NAME_ALL; index < end; index++) {
        tidings__name *entry = &s->names[index];
        tidings__name_ahead(s, index, end);
        for (uint32_t left = words & tidings__member_words(entry); left; left &= left - 1) {
            const uint32_t word = (uint32_t)__builtin_ctz(left);
            if (tidings__relaxed(&entry->members[word]) & observers->words[word])
                tidings__fetch_and(&entry->members[word], ~observers->words[word]);
        }
        uint64_t state = tidings__acquire(&entry->state);
        if (STATE(state) == TIDINGS__NAME_LINKED || STATE(state) == TIDINGS__NAME_FREE ||
            !tidings__participant_set_has(dead, PARTICIPANT(state)))
            continue;
        switch (STATE(state)) {
#ifndef MUTANT_ORPHAN_NAME_KEPT  // Found by: fault-injection registering
            case TIDINGS__NAME_PREPARING:
                tidings__cas(&entry->state, &state, with_state(state, 0, TIDINGS__NAME_FREE));
                break;
#endif
            case TIDINGS__NAME_LEAVING:
                tidings__cas(&entry->state, &state, with_state(state, 0, TIDINGS__NAME_LINKED));
                break;
            case TIDINGS__NAME_GONE: finish(s, index, state, &budget); break;
            default: break;
        }
    }
    if (words) tidings__fetch_add(&s->header->generation.word, 1);
}
