// Calls: the states of a request and its reply, and what becomes of the calls of a participant that has ended.
// design/7-requests.md.
#ifndef TIDINGS__CALLS_H
#define TIDINGS__CALLS_H

#include "center/center.h"
#include "registry/presence.h"

#define TIDINGS__REQUESTS_PREFIX_LENGTH (sizeof TIDINGS_REQUESTS_PREFIX - 1)
// The payload of a record that announces requests: a ticket (see below), or this one: "search the calls".
#define TIDINGS__TICKET_SEARCH UINT64_MAX

static inline uint32_t tidings__call_state(uint64_t word) { return (uint32_t)word & 0x7; }
static inline uint32_t tidings__call_caller(uint64_t word) { return (uint32_t)(word >> 6) & 0xfff; }
static inline uint32_t tidings__call_server(uint64_t word) { return (uint32_t)(word >> 18) & 0xfff; }
static inline uint64_t tidings__call_generation(uint64_t word) { return word >> 31; }
// The word with another state and server. Generation, caller and flags stay, but no part waits.
static inline uint64_t tidings__call_with(uint64_t word, uint32_t server, uint32_t state) {
    return (word & ~UINT64_C(0x7ffc0007)) | (uint64_t)(server & 0xfff) << 18 | state;
}
// The word that begins the next generation of an entry, without flags and server. No call has generation 0: the ticket
// of entry 0 would be 0, and `tidings_caller_next` takes that for any call. A peer may have written the last
// generation.
static inline uint64_t tidings__call_anew(uint64_t word, uint32_t caller, uint32_t state) {
    const uint64_t next = (tidings__call_generation(word) + 1) << 31;
    return (next ? next : UINT64_C(1) << 31) | (uint64_t)(caller & 0xfff) << 6 | state;
}
// A ticket names a call of one generation: 13…0 index, 63…31 generation.
static inline uint64_t tidings__ticket(uint32_t index, uint64_t word) {
    return (word & ~UINT64_C(0x7fffffff)) | (index & (TIDINGS__CALLS_MAX - 1));
}
static inline uint32_t tidings__ticket_index(uint64_t ticket) { return (uint32_t)ticket & (TIDINGS__CALLS_MAX - 1); }
// True if the call's word is of the ticket's generation.
static inline bool tidings__ticket_of(uint64_t ticket, uint64_t word) { return (ticket ^ word) >> 31 == 0; }

static inline uint64_t tidings__call_name(uint32_t entry, uint64_t generation) {
    return (entry & 0xffffff) | generation << 24;
}
static inline uint32_t tidings__call_size(uint64_t text) { return (uint32_t)text; }
static inline uint8_t tidings__call_format(uint64_t text) { return (uint8_t)(text >> 32); }

// The chunk word of a reply to this call, by the server that `word` names. It differs before and after the call was
// posted again.
static inline uint64_t tidings__reply_word(uint32_t index, uint64_t word) {
    const uint64_t turn = word & TIDINGS__CALL_TURN ? UINT64_C(1) << 46 : 0;
    return (((tidings__call_generation(word) << 14 | index) ^ turn) | UINT64_C(1) << 47) << 16 |
           (uint64_t)tidings__call_server(word) << 4 | TIDINGS__CHUNK_REPLY;
}

// The number of calls that may be in use, and have memory.
uint32_t tidings__calls_end(tidings__segment *s);

// True if a living participant serves the name of this entry. `name`: as in a call. `*budget`: how many members may
// still be checked, as a peer can add them; true as well when it is used up. Call it after a full barrier that follows
// the post of the call (invariant C3).
#define TIDINGS__SERVED_CHECKS 65536u
bool tidings__call_served(tidings__segment *s, uint64_t name, uint32_t *budget);
// The same for participants other than `beside`.
bool tidings__call_served_beside(tidings__segment *s, uint64_t name, uint32_t beside, uint32_t *budget);

// True while this participant may claim and post calls: it is watched, and it is not known to have ended. Call it after
// a full barrier that follows the claim or the post (invariant C4).
bool tidings__calls_allowed(const tidings_center *center);

static inline void tidings__calls_wrote(tidings_center *center) { tidings__fetch_add(&center->writing, UINT32_MAX); }
// Call before a thread of this participant writes a request or a reply, and `_wrote` afterwards. False: the participant
// ends; write nothing, and do not call `_wrote`. Invariant C10.
static inline bool tidings__calls_write(tidings_center *center) {
    tidings__fetch_add(&center->writing, 1);
    tidings__barrier_after_rmw();
    if (__builtin_expect(!tidings__acquire(&center->leaves), 1)) return true;
    tidings__calls_wrote(center);
    return false;
}

// A word on which callers of this participant sleep. Its memory must be there: the participant has a guard.
static inline _Atomic uint32_t *tidings__lane(const tidings__segment *s, uint32_t participant, uint32_t number) {
    return &tidings__presence_line_at(s, participant)->replies[number % TIDINGS__LANES];
}

// Wakes the callers that sleep on the lane of this call. Call after a full barrier that follows the change of its
// state. `word`: its state.
void tidings__call_wake(tidings__segment *s, uint32_t index, uint64_t word);
// Announces a sleep on the lane, at `*value`. Look at the calls once more before you sleep. False: a peer changes the
// lane all the time.
bool tidings__lane_announce(_Atomic uint32_t *lane, uint32_t *value);

// Frees the chunk of the call's reply, if `word`, the call's state, is unchanged. A second call does nothing.
void tidings__reply_free(tidings__segment *s, uint32_t index, uint64_t word);

// Frees a call whose caller does not need it any more, and the chunk of its reply. `word`: its state. False: it has
// another state.
bool tidings__call_free(tidings__segment *s, uint32_t index, uint64_t word);

// Posts a record that makes servers of the name look: for this ticket, or for TIDINGS__TICKET_SEARCH. 0 or the error of
// the post.
int tidings__call_announce(tidings_center *center, uint64_t name, uint64_t ticket);

// Gives up a call that participant `server` has claimed: it is posted again if it is idempotent, and ends otherwise.
// `word`: its state. False: it has another state.
bool tidings__call_give_up(tidings__segment *s, uint32_t index, uint64_t word);
// Ends a call with `state`, and wakes its caller. `by`: the participant whose end is the reason. Whenever calls are
// settled, the wake-up is repeated. `word`: the call's state. False: it has another state.
bool tidings__call_end(tidings__segment *s, uint32_t index, uint64_t word, uint32_t by, uint32_t state);
// Call after calls of this name were posted again: makes its servers search, or ends these calls if that fails.
void tidings__calls_posted_again(tidings_center *center, uint64_t name);

// Participants that have died or end. `reports[i]` is 0 if participant `first` + i is not one of them. Otherwise it is
// the value of the participant's report from before the participant was found to have ended. If the report has another
// value by now, its calls may be those of a later participant, and stay.
#define TIDINGS__ENDED_MAX 512u
typedef struct tidings__ended {
    uint32_t first, count;
    uint64_t reports[TIDINGS__ENDED_MAX];
} tidings__ended;

static inline tidings__ended tidings__ended_alone(uint32_t participant, uint64_t report) {
    return (tidings__ended){.first = participant, .count = 1, .reports = {report}};
}

// The processor time for telling servers to search, in one call of the public interface. Honest servers need 1 to 8 µs
// each, and there are at most 1,024. Guards have no limit.
#define TIDINGS__TELLS_NS 8000000u
#define TIDINGS__TELLS_ALL UINT64_MAX

// Settles all calls of these participants: those that they claimed, those that they made, and those that no server is
// left for. One walk along the calls for each participant would take seconds after 500 deaths. Each step can be
// repeated, by any participant. Sets `reports` to 0 where the report has another value. `*tells`: the processor time
// that is left for telling servers. 0; -EINPROGRESS if that was not enough: some servers were not told; or the error of
// a post: repeat it.
int tidings__calls_settle(tidings_center *center, tidings__ended *ended, uint64_t *tells);
// Makes the servers of calls that this participant has cancelled search. 0, or the error of a post: repeat it.
int tidings__calls_tell_cancelled(tidings_center *center);
// Ends the calls that no server has claimed and no server is left for.
void tidings__calls_unserved(tidings_center *center);
// This participant ends: from now on its threads post, claim and write no call, and its observers are no servers. True:
// its calls are to be settled. False: a thread writes for long, and may go on. Then its calls must stay as they are.
bool tidings__calls_leave(tidings_center *center);

#endif
