// The states of calls, and what becomes of the calls of a participant that has ended. Declared and described in
// calls.h.
#include "calls/calls.h"

#include <limits.h>
#include <string.h>

#include "platform/futex.h"
#include "posting/publisher.h"

uint32_t tidings__calls_end(tidings__segment *s) {
    // Clamp: the shared word is untrusted.
    const uint64_t used = tidings__acquire(&s->header->calls_used.word);
    if (used == 0) return 0;
    const uint32_t count = used < s->geometry.call_count ? (uint32_t)used : s->geometry.call_count;
    if (__builtin_expect(tidings__relaxed(&s->calls_known) >= count, 1)) return count;
    return tidings__calls_there(s, count);
}

// True if this observer entry belongs to a server whose participant lives.
static bool serves(tidings__segment *s, uint32_t observer) {
    const tidings__observer_entry *entry = &s->observers[observer];
    if (!tidings__acquire(&entry->serves)) return false;
    const uint32_t participant = tidings__acquire(&entry->owner) - 1;
    if (participant >= tidings__presence_end(s)) return false;
    return tidings__presence_alive_in(tidings__report_state(tidings__acquire(&s->presence[participant].report))) &&
           tidings__acquire(&entry->instance) == tidings__acquire(&s->presence[participant].announcement) &&
           !tidings__presence_dead(s, participant);
}

bool tidings__call_served(tidings__segment *s, uint64_t name, uint32_t *budget) {
    const tidings__name *entry = tidings__name_at(s, (uint32_t)name & 0xffffff);
    if (!entry) return false;
    for (uint32_t words = tidings__member_words(entry); words; words &= words - 1) {
        const uint32_t word = (uint32_t)__builtin_ctz(words);
        for (uint64_t bits = tidings__acquire(&entry->members[word]); bits; bits &= bits - 1) {
            const uint32_t observer = 64 * word + (uint32_t)__builtin_ctzll(bits);
            if (*budget == 0) return true;
            --*budget;
            if (observer < s->shape.observers && serves(s, observer))
                return tidings__name_generation(entry) << 24 == (name & ~UINT64_C(0xffffff));
        }
    }
    return false;
}

bool tidings__calls_allowed(const tidings_center *center) {
    const tidings__segment *s = &center->segment;
    const uint32_t own = center->participant, state = tidings__report_state(tidings__acquire(&s->presence[own].report));
    return (state == TIDINGS__PRESENCE_PRESENT || state == TIDINGS__PRESENCE_WATCHING) &&
           !tidings__presence_dead(s, own);
}

void tidings__call_wake(tidings__segment *s, uint32_t index, uint64_t word) {
    const uint32_t caller = tidings__call_caller(word);
    // Its memory: a caller has a presence entry before it has a call.
    if (caller >= tidings__presence_end(s)) return;
    // Invariant C6: the state was changed before. Invariant C7: no reader can sleep there, so all are woken.
    const uint32_t number = (uint32_t)(tidings__relaxed(&s->calls[index].request_text) >> 40);
    _Atomic uint32_t *lane = tidings__lane(s, caller, number);
    uint32_t value = tidings__relaxed(lane);
    for (int tries = 0; value & 1 && tries < TIDINGS__TRIES; tries++) {
        if (!tidings__cas(lane, &value, (value & ~1u) + 2)) continue;
        tidings__futex_wake(lane, INT_MAX);
        return;
    }
}

void tidings__reply_free(tidings__segment *s, uint32_t index, uint64_t word) {
    const uint64_t chunk = tidings__acquire(&s->calls[index].reply_chunk);
    if (chunk == 0 || chunk > s->geometry.chunk_count) return;
    tidings__fence_acquire();
    if (tidings__acquire(&s->calls[index].state) != word) return;
    // The word carries call, generation and server. So the chunk of another reply is not freed.
    uint64_t held = tidings__reply_word(index, word);
    (void)tidings__cas(&s->chunk_words[chunk - 1], &held, 0);
}

int tidings__call_announce(tidings_center *center, uint64_t name, uint64_t ticket) {
    tidings__segment *s = &center->segment;
    char text[TIDINGS_NAME_MAX + 1];
    uint32_t length;
    const uint32_t entry = (uint32_t)name & 0xffffff;
    // A name without text has no server. Neither has one that is not of requests: a peer wrote the call.
    if (!tidings__name_at(s, entry) || !tidings__name_text(s, entry, text, &length, NULL, NULL)) return 0;
    if (length <= TIDINGS__REQUESTS_PREFIX_LENGTH ||
        memcmp(text, TIDINGS_REQUESTS_PREFIX, TIDINGS__REQUESTS_PREFIX_LENGTH) != 0)
        return 0;
    _Alignas(8) uint8_t memory[TIDINGS_PUBLISHER_SIZE_MAX];
    tidings__publisher_prepare_at(memory, center, text, length, NULL, 0);
    return tidings_post((tidings_publisher *)(void *)memory, &ticket, sizeof ticket, NULL, NULL);
}

// Frees a call whose caller does not need it any more. `word`: its state.
static void release(tidings__segment *s, uint32_t index, uint64_t word) {
    tidings__reply_free(s, index, word);
    (void)tidings__cas(&s->calls[index].state, &word, tidings__call_anew(word, 0, TIDINGS__CALL_FREE));
}

// Invariant C1: the value names call and server, so a second try to end it fails.
static bool end(tidings__segment *s, uint32_t index, uint64_t word, uint32_t state) {
    const uint64_t to = tidings__call_with(word, tidings__call_server(word), state);
    if (!tidings__cas(&s->calls[index].state, &word, to)) return false;
    tidings__barrier_after_rmw();
    tidings__call_wake(s, index, to);
    return true;
}

bool tidings__call_give_up(tidings__segment *s, uint32_t index, uint64_t word) {
    tidings__reply_free(s, index, word);
    if (!(word & TIDINGS__CALL_IDEMPOTENT)) return end(s, index, word, TIDINGS__CALL_ENDED);
    const uint64_t to = tidings__call_with(word, 0, TIDINGS__CALL_POSTED) | TIDINGS__CALL_AGAIN;
    if (!tidings__cas(&s->calls[index].state, &word, to)) return false;
    tidings__barrier_after_rmw();
    return true;
}

// A call that no server has claimed. If its last server has ended, the call ends: with the server, if that had it.
static bool end_unserved(tidings__segment *s, uint32_t index, uint64_t word, uint32_t *budget) {
    if (tidings__call_served(s, tidings__acquire(&s->calls[index].name), budget)) return false;
    // Invariant C3: the state was read before the servers, and is unchanged if the CAS succeeds.
    return end(s, index, word, word & TIDINGS__CALL_AGAIN ? TIDINGS__CALL_ENDED : TIDINGS__CALL_UNSERVED);
}

void tidings__calls_unserved(tidings__segment *s) {
    const uint32_t count = tidings__calls_end(s);
    uint32_t budget = TIDINGS__SERVED_CHECKS;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t word = tidings__acquire(&s->calls[i].state);
        if (tidings__call_state(word) == TIDINGS__CALL_POSTED) (void)end_unserved(s, i, word, &budget);
    }
}

// Settles one call. True: servers of its name must search.
static bool settle(tidings__segment *s, uint32_t index, uint32_t ended, uint32_t *budget) {
    tidings__call *call = &s->calls[index];
    uint64_t word = tidings__acquire(&call->state);
    const bool made = tidings__call_caller(word) == ended, has = tidings__call_server(word) == ended;
    switch (tidings__call_state(word)) {
        case TIDINGS__CALL_CLAIMED:
            if (made && !has)
                // Its server learns that no caller waits for the reply, and frees the call.
                return tidings__cas(&call->state, &word,
                                    tidings__call_with(word, tidings__call_server(word), TIDINGS__CALL_CANCELLED));
            if (!has) return false;
            if (made)
                release(s, index, word);
            else
                (void)tidings__call_give_up(s, index, word);
            break;
        case TIDINGS__CALL_POSTED:
        case TIDINGS__CALL_IDLE:
            if (made) release(s, index, word);
            break;
        case TIDINGS__CALL_CANCELLED:
            if (has) release(s, index, word);
            return false;
        case TIDINGS__CALL_REPLIED:
        case TIDINGS__CALL_ENDED:
        case TIDINGS__CALL_UNSERVED:
            if (made) {
                release(s, index, word);
            } else if (has) {
                tidings__fence_full();
                tidings__call_wake(s, index, word);  // the server may have died between reply and wake-up
            }
            return false;
        default: return false;
    }
    word = tidings__acquire(&call->state);
    if (tidings__call_state(word) != TIDINGS__CALL_POSTED || end_unserved(s, index, word, budget)) return false;
    // Posted again, perhaps by a participant that died before it announced that.
    return word & TIDINGS__CALL_AGAIN;
}

// A peer may have made up calls of many names.
#define ANNOUNCED_MOST 64

int tidings__calls_settle(tidings_center *center, uint32_t ended) {
    tidings__segment *s = &center->segment;
    const uint32_t count = tidings__calls_end(s);
    uint32_t budget = TIDINGS__SERVED_CHECKS, announced = 0;
    uint64_t last = 0;
    int result = 0;
    // Invariants C3 and C4: the participant was found to have ended before this barrier.
    tidings__fence_full();
    for (uint32_t i = 0; i < count; i++) {
        if (!settle(s, i, ended, &budget)) continue;
        // One record serves all calls of a name that lie side by side.
        const uint64_t name = tidings__acquire(&s->calls[i].name);
        if (name == last || announced == ANNOUNCED_MOST) continue;
        const int error = tidings__call_announce(center, name, TIDINGS__TICKET_SEARCH);
        if (error) result = error;
        announced++;
        last = name;
    }
    return result;
}
