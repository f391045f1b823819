// The states of calls, and what becomes of the calls of a participant that has ended. Declared and described in
// calls.h.
#include "calls/calls.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "platform/clock.h"
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

// True if this observer entry belongs to a server whose participant lives, and is not `beside`.
static bool serves(tidings__segment *s, uint32_t observer, uint32_t beside) {
    const tidings__observer_entry *entry = &s->observers[observer];
    if (!tidings__acquire(&entry->serves)) return false;
    const uint32_t participant = tidings__acquire(&entry->owner) - 1;
    if (participant >= tidings__presence_end(s) || participant == beside) return false;
    return tidings__presence_alive_in(tidings__report_state(tidings__acquire(&s->presence[participant].report))) &&
           tidings__acquire(&entry->instance) == tidings__acquire(&s->presence[participant].announcement) &&
           !tidings__presence_dead(s, participant);
}

bool tidings__call_served(tidings__segment *s, uint64_t name, uint32_t *budget) {
    return tidings__call_served_beside(s, name, UINT32_MAX, budget);
}

#define NO_SERVER UINT32_MAX
#define ANY_SERVER (UINT32_MAX - 1)  // the budget was used up before one was found

// The observer of the first server of a name.
static uint32_t server_of(tidings__segment *s, uint64_t name, uint32_t beside, uint32_t *budget) {
    const tidings__name *entry = tidings__name_at(s, (uint32_t)name & 0xffffff);
    if (!entry) return NO_SERVER;
    for (uint32_t words = tidings__member_words(entry); words; words &= words - 1) {
        const uint32_t word = (uint32_t)__builtin_ctz(words);
        for (uint64_t bits = tidings__acquire(&entry->members[word]); bits; bits &= bits - 1) {
            const uint32_t observer = 64 * word + (uint32_t)__builtin_ctzll(bits);
            if (*budget == 0) return ANY_SERVER;
            --*budget;
            if (observer < s->shape.observers && serves(s, observer, beside))
                return tidings__name_generation(entry) << 24 == (name & ~UINT64_C(0xffffff)) ? observer : NO_SERVER;
        }
    }
    return NO_SERVER;
}

bool tidings__call_served_beside(tidings__segment *s, uint64_t name, uint32_t beside, uint32_t *budget) {
    return server_of(s, name, beside, budget) != NO_SERVER;
}

bool tidings__calls_allowed(const tidings_center *center) {
    const tidings__segment *s = &center->segment;
    const uint32_t own = center->participant, state = tidings__report_state(tidings__acquire(&s->presence[own].report));
    return !tidings__acquire(&center->leaves) &&
           (state == TIDINGS__PRESENCE_PRESENT || state == TIDINGS__PRESENCE_WATCHING) &&
           !tidings__presence_dead(s, own);
}

// MARK: Wake-ups

void tidings__call_wake(tidings__segment *s, uint32_t index, uint64_t word) {
    const uint32_t caller = tidings__call_caller(word);
    // Its memory: a caller has a presence entry before it has a call.
    if (caller >= tidings__presence_end(s)) return;
    // Invariant C6: the state was changed before. Invariant C7: no reader can sleep there, so all are woken.
    const uint32_t number = (uint32_t)(tidings__relaxed(&s->calls[index].request_text) >> 40) & 7;
    _Atomic uint32_t *lane = tidings__lane(s, caller, number);
    uint32_t was = tidings__relaxed(lane);
    for (int tries = 0; was & 1 && tries < TIDINGS__TRIES; tries++) {
        // A new value with the flag still set, as of a doorbell (invariant W3). If this thread stops or dies before the
        // wake-up, the next one that ends or settles a call of the lane wakes its sleepers.
        uint32_t rung = was + 2;
        if (!tidings__cas(lane, &was, rung)) continue;
        tidings__futex_wake(lane, INT_MAX);
        // The flag is cleared only if no caller has announced another sleep meanwhile.
        (void)tidings__cas(lane, &rung, rung & ~1u);
        return;
    }
}

bool tidings__lane_announce(_Atomic uint32_t *lane, uint32_t *value) {
    uint32_t was = tidings__relaxed(lane);
    for (int tries = 0; tries < TIDINGS__TRIES; tries++) {
        // A new value: a thread that wakes the sleepers before this one does not clear the flag.
        *value = (was + 2) | 1;
        if (tidings__cas(lane, &was, *value)) return true;
    }
    return false;
}

// MARK: One call

void tidings__reply_free(tidings__segment *s, uint32_t index, uint64_t word) {
    const uint64_t chunk = tidings__acquire(&s->calls[index].reply_chunk);
    if (chunk == 0 || chunk > s->geometry.chunk_count) return;
    tidings__fence_acquire();
    if (tidings__acquire(&s->calls[index].state) != word) return;
    // The word carries call, generation and server. So the chunk of another reply is not freed.
    uint64_t held = tidings__reply_word(index, word);
    (void)tidings__cas(&s->chunk_words[chunk - 1], &held, 0);
}

bool tidings__call_free(tidings__segment *s, uint32_t index, uint64_t word) {
    tidings__reply_free(s, index, word);
    return tidings__cas(&s->calls[index].state, &word, tidings__call_anew(word, 0, TIDINGS__CALL_FREE));
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

// Invariant C1: the value names call and server, so a second try to end it fails.
bool tidings__call_end(tidings__segment *s, uint32_t index, uint64_t word, uint32_t by, uint32_t state) {
    const uint64_t to = tidings__call_with(word, by, state);
    if (!tidings__cas(&s->calls[index].state, &word, to)) return false;
    tidings__barrier_after_rmw();
    tidings__call_wake(s, index, to);
    return true;
}

bool tidings__call_give_up(tidings__segment *s, uint32_t index, uint64_t word) {
    // The caller frees the chunk of a part that waits: it may be copying it.
    if (!(word & TIDINGS__CALL_IDEMPOTENT))
        return tidings__call_end(s, index, word, tidings__call_server(word), TIDINGS__CALL_ENDED);
    tidings__reply_free(s, index, word);
    uint64_t to = tidings__call_with(word, 0, TIDINGS__CALL_POSTED) | TIDINGS__CALL_AGAIN;
#ifndef MUTANT_POSTED_AGAIN_WITHOUT_TURN  // Found by: interleaving a_settlement_beside_the_same_claim
    // A later participant of the server's index may claim the call. Its word differs from the one before, so a late CAS
    // of a participant that settles fails.
    to ^= TIDINGS__CALL_TURN;
#endif
    if (!tidings__cas(&s->calls[index].state, &word, to)) return false;
    tidings__barrier_after_rmw();
    return true;
}

void tidings__calls_posted_again(tidings_center *center, uint64_t name) {
    if (tidings__call_announce(center, name, TIDINGS__TICKET_SEARCH) == 0) return;
    tidings__segment *s = &center->segment;
    const uint32_t count = tidings__calls_end(s);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t word = tidings__acquire(&s->calls[i].state);
        if (tidings__call_state(word) == TIDINGS__CALL_POSTED && word & TIDINGS__CALL_AGAIN &&
            tidings__acquire(&s->calls[i].name) == name)
            (void)tidings__call_end(s, i, word, center->participant, TIDINGS__CALL_ENDED);
    }
}

// MARK: All calls

// Calls whose states are read before the servers of their names (invariant C3).
#define BATCH 512u
// Of a batch: the names that were looked up last. Most calls of a center have few names. So a call costs no walk along
// the members of its name, of which dead servers may be many.
#define NAMES 16u
typedef struct lookups {
    uint64_t name[NAMES];
    uint32_t server[NAMES];
    uint32_t count;
} lookups;

static uint32_t look_up(tidings__segment *s, lookups *known, uint64_t name, uint32_t *budget) {
    for (uint32_t i = 0; i < known->count && i < NAMES; i++)
        if (known->name[i] == name) return known->server[i];
    const uint32_t at = known->count++ % NAMES;
    known->name[at] = name;
    known->server[at] = server_of(s, name, UINT32_MAX, budget);
    return known->server[at];
}

// The report of a participant that has ended, or NULL.
static uint64_t *report_in(tidings__ended *ended, uint32_t participant) {
    const uint32_t i = participant - ended->first;
    return i < ended->count && ended->reports[i] ? &ended->reports[i] : NULL;
}

// What servers were told to search. A server has an observer of its own, with one name. So each name is told once. A
// peer may have made observers members of other names, and a record of such a name may need a walk along all names.
typedef struct told {
    uint64_t observers[TIDINGS__MAP_WORDS];
    uint64_t *left;  // the processor time that is left for this
    int error;
} told;

static void tell(tidings_center *center, told *t, uint32_t server, uint64_t name) {
    if (server != ANY_SERVER) {
        const uint64_t bit = UINT64_C(1) << server % 64;
        if (t->observers[server / 64] & bit) return;
        t->observers[server / 64] |= bit;
    }
    if (*t->left == 0) {
        if (!t->error) t->error = -EINPROGRESS;
        return;
    }
    const uint64_t begun = tidings__thread_ns();
    const int error = tidings__call_announce(center, name, TIDINGS__TICKET_SEARCH);
    tidings__spend(t->left, begun);
    // A name that has a server has an entry. So without room for an entry, there is no server to tell.
    if (error && error != -ENOSPC && error != -EBADMSG) t->error = error;
}

static bool has_ended(uint32_t state) { return state == TIDINGS__CALL_ENDED || state == TIDINGS__CALL_UNSERVED; }

// Ends the calls that no server has claimed and no server is left for. `by`: as of `tidings__call_end`. Unless
// `tells` is NULL, servers are told to search for calls that were posted again, perhaps by a participant that died
// before it announced that, and for those that callers in `of` have left to them.
static int walk(tidings_center *center, uint32_t by, tidings__ended *of, uint64_t *tells) {
    tidings__segment *s = &center->segment;
    const uint32_t count = tidings__calls_end(s);
    uint32_t budget = TIDINGS__SERVED_CHECKS;
    told t = {.left = tells};
    for (uint32_t first = 0; first < count; first += BATCH) {
        const uint32_t most = count - first < BATCH ? count - first : BATCH;
        uint64_t words[BATCH];
        lookups known = {.count = 0};
        for (uint32_t i = 0; i < most; i++) words[i] = tidings__acquire(&s->calls[first + i].state);
        tidings__fence_full();  // invariant C6, for the calls that have ended
        for (uint32_t i = 0; i < most; i++) {
            const uint32_t state = tidings__call_state(words[i]);
#ifndef MUTANT_ENDED_CALL_NOT_WOKEN  // Found by: interleaving a_death_beside_one_of_a_server
            // Another participant may have stopped or died between the change of the state and the wake-up. Whose end
            // the reason was does not matter: that one may have been reported.
            if (has_ended(state)) tidings__call_wake(s, first + i, words[i]);
#endif
            const bool left = state == TIDINGS__CALL_CANCELLED && report_in(of, tidings__call_caller(words[i]));
            if (state != TIDINGS__CALL_POSTED && !left) continue;
            const uint64_t name = tidings__acquire(&s->calls[first + i].name);
            const bool again = words[i] & TIDINGS__CALL_AGAIN;
            const uint32_t server = look_up(s, &known, name, &budget);
            if (server != NO_SERVER) {
                if (tells && (left || again)) tell(center, &t, server, name);
                continue;
            }
            // If its last server has ended, the call ends: with the server, if that had it. Invariant C3: the state was
            // read before the servers, and is unchanged if the CAS succeeds.
            if (left ||
                tidings__call_end(s, first + i, words[i], by, again ? TIDINGS__CALL_ENDED : TIDINGS__CALL_UNSERVED))
                continue;
            const uint64_t now = tidings__acquire(&s->calls[first + i].state);
            tidings__fence_full();
            if (has_ended(tidings__call_state(now))) tidings__call_wake(s, first + i, now);
        }
    }
    return t.error;
}

int tidings__calls_tell_cancelled(tidings_center *center) {
    tidings__ended own = tidings__ended_alone(center->participant, 1);
    uint64_t tells = TIDINGS__TELLS_ALL;
    return walk(center, center->participant, &own, &tells);
}

void tidings__calls_unserved(tidings_center *center) {
    (void)walk(center, center->participant, &(tidings__ended){.count = 0}, NULL);
}

// Settles a call that has this state, if it is the participant's. True: nothing is left to do.
static bool settle(tidings__segment *s, uint32_t index, uint64_t word, uint32_t ended) {
    const bool made = tidings__call_caller(word) == ended, has = tidings__call_server(word) == ended;
    switch (tidings__call_state(word)) {
        case TIDINGS__CALL_CLAIMED:
            if (made && has) return tidings__call_free(s, index, word);
            if (has) return tidings__call_give_up(s, index, word);
            // Its server learns that no caller waits for the reply, and frees the call.
            return !made || tidings__cas(&s->calls[index].state, &word,
                                         tidings__call_with(word, tidings__call_server(word), TIDINGS__CALL_CANCELLED));
        case TIDINGS__CALL_POSTED:
        case TIDINGS__CALL_IDLE: return !made || tidings__call_free(s, index, word);
        case TIDINGS__CALL_CANCELLED: return !has || tidings__call_free(s, index, word);
        case TIDINGS__CALL_REPLIED:
        case TIDINGS__CALL_ENDED:
        case TIDINGS__CALL_UNSERVED:
            if (made) return tidings__call_free(s, index, word);
#ifndef MUTANT_DEAD_SERVER_WAKES_NO_CALLER  // Found by: interleaving a_server_dies_anywhere
            // The participant may have died between the change of the state and the wake-up.
            if (has) tidings__call_wake(s, index, word);
#endif
            return true;
        default: return true;
    }
}

// Settles a call, if it is a call of this participant. False: later participants may have this index.
static bool settle_one(tidings__segment *s, uint32_t index, uint32_t ended, uint64_t report, uint32_t *tries) {
    // Its server or its caller may change the call meanwhile. Then the call is settled in its new state.
    for (; *tries > 0; --*tries) {
        const uint64_t word = tidings__acquire(&s->calls[index].state);
        // Invariant C8, after the state was read: while the report has this value, no later participant has taken
        // this index. If the CAS succeeds, the call is one of the participant that has ended.
#ifndef MUTANT_SUCCESSOR_SETTLED  // Found by: interleaving a_settlement_beside_a_successor
        if (tidings__acquire(&s->presence[ended].report) != report) return false;
#endif
        if (settle(s, index, word, ended)) break;
#ifdef MUTANT_SETTLED_WITH_ONE_TRY  // Found by: interleaving a_dead_caller_beside_its_server
        break;
#endif
    }
    return true;
}

int tidings__calls_settle(tidings_center *center, tidings__ended *ended, uint64_t *tells) {
    tidings__segment *s = &center->segment;
    const uint32_t count = tidings__calls_end(s);
    // Invariants C3 and C4: the participants were found to have ended before this barrier.
    tidings__fence_full();
    // A peer could change calls all the time.
    uint32_t tries = 2 * count + TIDINGS__TRIES;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t word = tidings__acquire(&s->calls[i].state);
        // Two of them may have to do with one call.
        const uint32_t caller = tidings__call_caller(word), server = tidings__call_server(word);
        uint64_t *report = report_in(ended, caller);
        if (report && !settle_one(s, i, caller, *report, &tries)) *report = 0;
#ifdef MUTANT_ONE_OF_TWO_SETTLED  // Found by: interleaving two_deaths_settled_together
        if (report) continue;
#endif
        report = report_in(ended, server);
        if (report && !settle_one(s, i, server, *report, &tries)) *report = 0;
    }
    for (uint32_t i = 0; i < ended->count; i++)
        if (ended->reports[i]) return walk(center, ended->first + i, ended, tells);
    return 0;
}

// A text is written in microseconds. But the exit may run in a signal handler, above the thread that writes.
#define WRITTEN_TRIES 100
#define WRITTEN_NAP_NS 1000000

bool tidings__calls_leave(tidings_center *center) {
    tidings__segment *s = &center->segment;
    tidings__set_release(&center->leaves, 1);
    if (tidings__relaxed(&center->requesting) == 0) return true;
    for (uint32_t i = 0; i < s->shape.observers; i++) {
        tidings__observer_entry *entry = &s->observers[i];
        if (tidings__relaxed(&entry->owner) == center->participant + 1 &&
            tidings__relaxed(&entry->instance) == center->instance)
            tidings__set_release(&entry->serves, 0);
    }
#ifndef MUTANT_EXIT_BESIDE_A_WRITE  // Found by: interleaving a_reply_beside_an_exit
    // Invariant C10: a thread that writes is seen, or it sees that this participant ends.
    tidings__fence_full();
    for (int tries = 0; tidings__acquire(&center->writing) != 0; tries++) {
        if (tries == WRITTEN_TRIES) return false;
        tidings__nap(WRITTEN_NAP_NS);
    }
#endif
    return true;
}
