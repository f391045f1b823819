// Callers: make calls, and take their outcomes. design/7-requests.md.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "center/ends.h"
#include "platform/clock.h"
#include "platform/error.h"
#include "platform/futex.h"
#include "posting/publisher.h"
#include "receiving/observer.h"
#include "requests/requests.h"

// How long a caller polls for an outcome before it sleeps, if the last one came that soon. As an observer does.
#define SPIN_LONGEST_NS 20000u
#define SPIN_WORTH_NS 50000u

#define NONE UINT32_MAX
// More calls than these go back to all callers of the center.
#define IDLE_MOST 64u

// A call of this caller, by its index.
typedef struct own_call {
    uint64_t posted;          // its state when it was posted; 0: no call of this caller is in flight here
    uint32_t chunk;           // that holds the request, + 1; 0: none. Private: a peer may spoil the shared word
    uint32_t next, previous;  // in the order in which they were made
    bool taken;               // its part was taken, and its server may not go on yet
    bool unannounced;         // its server may go on, and was not told
} own_call;

// True while a call in this state has neither an outcome nor a part for its caller.
static bool in_work(uint64_t word, bool taken) {
    const uint32_t state = tidings__call_state(word);
    return state == TIDINGS__CALL_POSTED || (state == TIDINGS__CALL_CLAIMED && (taken || !(word & TIDINGS__CALL_PART)));
}

struct tidings_caller {
    tidings_center *center;
    tidings__sleeper sleeper;
    _Atomic uint32_t interrupted;
    uint32_t lane, fork_epoch, spin_ns;
    // One thread at a time makes, takes or cancels a call of this caller.
    pthread_mutex_t lock;
    own_call *calls;
    uint32_t capacity, first, last;
    // Calls that this caller has taken, and that are not in flight: for its next calls.
    uint32_t idle[IDLE_MOST], idle_count;
    uint32_t look_from;       // the index from which to search for a free call
    uint64_t known_at, name;  // the G at which `name`, as in a call, was looked up; 0: no server
    uint64_t last_wait_ns;
    tidings__copied reply;
    tidings_publisher *publisher;
    char name_text[TIDINGS_NAME_MAX + 1];
    _Alignas(8) uint8_t memory[TIDINGS_PUBLISHER_SIZE_MAX];
};

static const char *name_of(const tidings_caller *caller) { return caller->name_text + TIDINGS__REQUESTS_PREFIX_LENGTH; }

int tidings_caller_open(tidings_center *center, const char *name, size_t name_length, tidings_caller **result) {
    *result = NULL;
    const int error = tidings__requests_begin(center, "call servers in", name, name_length);
    if (error) return error;
    tidings_caller *caller = calloc(1, sizeof *caller);
    if (!caller) {
        tidings__requests_end(center, tidings__acquire(&center->fork_epoch));
        return tidings__fail(ENOMEM, "can't call \"%.*s\" in center \"%s\": no memory", (int)name_length, name,
                             center->segment.name);
    }
    caller->center = center;
    caller->first = caller->last = NONE;
    caller->known_at = UINT64_MAX;
    caller->last_wait_ns = UINT64_MAX;
    caller->spin_ns = TIDINGS__SPIN_ADAPTIVE;
    // Callers of a handle share its lanes in turns, so that few threads are woken for another one's outcome.
    static _Atomic uint32_t turn;
    caller->lane = tidings__fetch_add(&turn, 1) % TIDINGS__LANES;
    const size_t length = tidings__requests_name(caller->name_text, name, name_length);
    caller->publisher = (tidings_publisher *)(void *)caller->memory;
    tidings__publisher_prepare_at(caller->memory, center, caller->name_text, length, NULL, 0);
    caller->fork_epoch = caller->sleeper.fork_epoch = tidings__acquire(&center->fork_epoch);
    // Callers of other handles start elsewhere: each finds a free call at once.
    caller->look_from = center->participant * TIDINGS__CALLS_STEP;
    pthread_mutex_init(&caller->lock, NULL);
    tidings__end_watch(center, &caller->sleeper);
    if (tidings__end_look(center)) {
        tidings_caller_close(caller);
        return tidings__end_fail(center, "call servers in it");
    }
    *result = caller;
    return 0;
}

static int own(const tidings_caller *caller) {
    if (__builtin_expect(caller->fork_epoch != tidings__thread_self()->fork_epoch, 0))
        return tidings__fail(ECHILD,
                             "can't use a caller of center \"%s\" that was opened before a fork; open one in "
                             "this process",
                             caller->center->segment.name);
    return tidings__center_place(caller->center);
}

// MARK: Calls of the center

static bool take_at(tidings_caller *caller, uint32_t index, uint64_t *idle) {
    _Atomic uint64_t *state = &caller->center->segment.calls[index].state;
    uint64_t word = tidings__relaxed(state);
    *idle = tidings__call_anew(word, caller->center->participant, TIDINGS__CALL_IDLE);
    return tidings__call_state(word) == TIDINGS__CALL_FREE && tidings__cas(state, &word, *idle);
}

// True if the call that this caller keeps for its next calls is still its own. Otherwise peers took this participant
// for dead, and freed its calls. Generation 0 is a peer's: the id would be 0.
static bool is_kept(const tidings_caller *caller, uint64_t word) {
    return tidings__call_generation(word) != 0 && tidings__call_caller(word) == caller->center->participant &&
           tidings__call_state(word) == TIDINGS__CALL_IDLE;
}

// Gives another step of calls memory. 0 or an error.
static int grow(tidings__segment *s, uint32_t count) {
    const uint32_t more = count + TIDINGS__CALLS_STEP;
    const int error = tidings__back_calls(s, more);
    if (error) return error;
    uint64_t used = tidings__acquire(&s->header->calls_used.word);
    for (int tries = 0; tries < TIDINGS__TRIES && used < more; tries++)
        if (tidings__cas(&s->header->calls_used.word, &used, more)) break;
    return 0;
}

// True if this caller has a call in flight at `index`, whatever a peer has made of the call's state. Such a call is not
// taken once more: its outcome is -ECONNRESET.
static bool is_in_flight(const tidings_caller *caller, uint32_t index) {
    return index < caller->capacity && caller->calls[index].posted != 0;
}

// Takes a call that no other caller has. `*idle`: its state, by which it is posted or given back. 0 or an error.
static int take_call(tidings_caller *caller, uint32_t *index, uint64_t *idle) {
    tidings__segment *s = &caller->center->segment;
    while (caller->idle_count > 0) {
        *index = caller->idle[--caller->idle_count];
        *idle = tidings__relaxed(&s->calls[*index].state);
        if (is_kept(caller, *idle) && !is_in_flight(caller, *index)) return 0;
    }
    for (;;) {
        const uint32_t count = tidings__calls_end(s);
        for (uint32_t n = 0; n < count; n++) {
            const uint32_t i = (caller->look_from + n) % count;
            if (is_in_flight(caller, i) || !take_at(caller, i, idle)) continue;
            caller->look_from = i + 1;
            *index = i;
            return 0;
        }
        if (count + TIDINGS__CALLS_STEP > s->geometry.call_count)
            return tidings__fail(EUSERS,
                                 "can't call \"%s\" in center \"%s\": all its %u calls are in use; wait for outcomes, "
                                 "or create it with more slots",
                                 name_of(caller), s->name, s->geometry.call_count);
        const int error = grow(s, count);
        if (error) return error;
        // A peer may hold the number of calls down.
        if (tidings__calls_end(s) <= count)
            return tidings__fail(EBADMSG,
                                 "can't call \"%s\" in center \"%s\": a peer has damaged it; remove the center",
                                 name_of(caller), s->name);
    }
}

// After the state has changed: a server that has copied the request checks afterwards that the state is unchanged.
static void free_request(tidings_caller *caller, uint32_t index) {
    if (index >= caller->capacity || caller->calls[index].chunk == 0) return;
    tidings__chunk_release(&caller->center->segment, caller->center->participant, caller->calls[index].chunk - 1);
    caller->calls[index].chunk = 0;
}

// The call is not in flight any more. `word`: its state, which only this caller changes now.
static void give_back(tidings_caller *caller, uint32_t index, uint64_t word) {
    tidings__segment *s = &caller->center->segment;
    free_request(caller, index);
    tidings__reply_free(s, index, word);
    const bool keeps = caller->idle_count < IDLE_MOST;
    const uint64_t to = keeps ? tidings__call_anew(word, caller->center->participant, TIDINGS__CALL_IDLE)
                              : tidings__call_anew(word, 0, TIDINGS__CALL_FREE);
    // Fails if peers took this participant for dead.
    if (tidings__cas(&s->calls[index].state, &word, to) && keeps) caller->idle[caller->idle_count++] = index;
}

// MARK: Calls in flight

// Puts a call behind the others.
static void append(tidings_caller *caller, uint32_t index) {
    own_call *call = &caller->calls[index];
    call->next = NONE;
    call->previous = caller->last;
    if (caller->last == NONE)
        caller->first = index;
    else
        caller->calls[caller->last].next = index;
    caller->last = index;
}

static void put_in(tidings_caller *caller, uint32_t index, uint64_t posted) {
    caller->calls[index] = (own_call){.posted = posted, .chunk = caller->calls[index].chunk};
    append(caller, index);
}

static void unlink_call(tidings_caller *caller, uint32_t index) {
    const own_call *call = &caller->calls[index];
    if (call->previous == NONE)
        caller->first = call->next;
    else
        caller->calls[call->previous].next = call->next;
    if (call->next == NONE)
        caller->last = call->previous;
    else
        caller->calls[call->next].previous = call->previous;
}

static void take_out(tidings_caller *caller, uint32_t index) {
    unlink_call(caller, index);
    caller->calls[index].posted = 0;
}

// The index of a call in flight, or NONE.
static uint32_t in_flight(const tidings_caller *caller, uint64_t id) {
    const uint32_t index = tidings__ticket_index(id);
    return index < caller->capacity && caller->calls[index].posted &&
                   tidings__ticket_of(id, caller->calls[index].posted)
               ? index
               : NONE;
}

// Looks up the name's entry, if names or members have changed. False: no entry has this name, so no server serves it.
static bool look_up(tidings_caller *caller) {
    tidings__segment *s = &caller->center->segment;
    const uint64_t generation = tidings__acquire(&s->header->generation.word);
    if (generation != caller->known_at) {
        uint64_t of_entry = 0;
        const uint32_t entry = tidings__name_find_now(s, &caller->publisher->key, &of_entry);
        caller->name = entry == TIDINGS__NAME_NONE ? 0 : tidings__call_name(entry, of_entry);
        caller->known_at = generation;
    }
    return caller->name != 0;
}

static bool served(tidings_caller *caller) {
    uint32_t budget = TIDINGS__SERVED_CHECKS;
    return look_up(caller) && tidings__call_served(&caller->center->segment, caller->name, &budget);
}

static int no_server(const tidings_caller *caller) {
    return tidings__fail(ECONNREFUSED, "can't call \"%s\" in center \"%s\": no process serves it; start its server",
                         name_of(caller), caller->center->segment.name);
}

static int not_allowed(const tidings_caller *caller) {
    return tidings__fail(EBADF,
                         "can't call \"%s\" in center \"%s\": its process exits, or peers take this participant for "
                         "dead; open the center again",
                         name_of(caller), caller->center->segment.name);
}

// Posts the record of a ticket. 0 or the error of the post.
static int announce(const tidings_caller *caller, uint64_t ticket, int64_t timeout_ns) {
    const tidings_post_options post = {.timeout_ns = timeout_ns};
    return tidings_post(caller->publisher, &ticket, sizeof ticket, &post, NULL);
}

// Posts the call that was taken. `idle`: its state. 0: it is in flight. Under the lock.
static int post_call(tidings_caller *caller, uint32_t index, uint64_t idle, const tidings_call_options *options,
                     uint64_t *id) {
    tidings_center *center = caller->center;
    tidings__segment *s = &center->segment;
    _Atomic uint64_t *state = &s->calls[index].state;
    const uint64_t posted = tidings__call_with(idle, 0, TIDINGS__CALL_POSTED) |
                            (options->flags & TIDINGS_CALL_IDEMPOTENT ? TIDINGS__CALL_IDEMPOTENT : 0);
    uint32_t budget = TIDINGS__SERVED_CHECKS;
    int error = 0;
#ifdef MUTANT_CALL_POSTED_WITHOUT_BARRIER  // Found by: interleaving a_call_beside_a_closing_server
    tidings__set_release(state, posted);
#else
    // Fails if peers took this participant for dead, and freed its calls.
    if (!tidings__cas(state, &idle, posted)) {
        free_request(caller, index);
        return tidings__center_place(center) ? -EBADF : no_server(caller);
    }
#endif
    // Invariant C3: a server that was seen before may have ended. A participant that settles its calls sees this one,
    // or this thread sees that the server has ended.
    tidings__barrier_after_rmw();
    if (!tidings__calls_allowed(center)) error = not_allowed(caller);
#ifndef MUTANT_CALL_WITHOUT_SECOND_LOOK  // Found by: interleaving a_call_beside_a_closing_server
    else if (!tidings__call_served(s, tidings__relaxed(&s->calls[index].name), &budget))
        error = no_server(caller);
#endif
    const uint64_t ticket = tidings__ticket(index, posted);
    if (!error) error = announce(caller, ticket, options->timeout_ns);
    if (error) {
        // A server may have found the call by a search: then it is in flight.
        uint64_t word = posted;
        const uint64_t again = tidings__call_with(posted, 0, TIDINGS__CALL_IDLE) & ~TIDINGS__CALL_IDEMPOTENT;
        if (tidings__cas(state, &word, again)) {
            give_back(caller, index, again);
            return error;
        }
    }
    put_in(caller, index, posted);
    *id = ticket;
    return 0;
}

// Writes the request into a call that this caller has taken. 0 or an error.
static int write_request(tidings_caller *caller, uint32_t index, const void *payload, size_t size, uint8_t format) {
    tidings_center *center = caller->center;
    tidings__segment *s = &center->segment;
    tidings__call *call = &s->calls[index];
    uint64_t chunk = 0;
    int error = 0;
    own_call *reaching = tidings__reach_call(caller->calls, sizeof *reaching, &caller->capacity, index);
    if (reaching) {
        caller->calls = reaching;
        error = tidings__text_place(center, payload, size, 0, s->call_bodies[index].request, &chunk);
    } else {
        error = tidings__fail(ENOMEM, "can't call \"%s\" in center \"%s\": no memory", name_of(caller), s->name);
    }
    if (chunk) caller->calls[index].chunk = (uint32_t)chunk;
    tidings__set_relaxed(&call->request_chunk, chunk);
    tidings__set_relaxed(&call->reply_chunk, 0);
    tidings__set_relaxed(&call->name, caller->name);
    tidings__set_relaxed(&call->process, center->pid >> 32 | (center->poster & UINT32_MAX) << 32);
    tidings__set_relaxed(&call->request_text, (uint64_t)size | (uint64_t)format << 32 | (uint64_t)caller->lane << 40 |
                                                  TIDINGS__RESERVED << 43);
    tidings__set_relaxed(&call->made_at, tidings__frontier(s, tidings__relaxed(&center->hint)));
    return error;
}

// Takes a call, and writes the request into it. `*idle`: its state. 0 or an error. Under the lock.
static int prepare_call(tidings_caller *caller, const void *payload, size_t size, uint8_t format, uint32_t *index,
                        uint64_t *idle) {
    if (!tidings__calls_write(caller->center)) return not_allowed(caller);
    int error = take_call(caller, index, idle);
    if (!error) {
        error = write_request(caller, *index, payload, size, format);
        if (error) give_back(caller, *index, *idle);
    }
    tidings__calls_wrote(caller->center);
    return error;
}

int tidings_call(tidings_caller *caller, const void *payload, size_t size, const tidings_call_options *options,
                 uint64_t *id) {
    static const tidings_call_options standard;
    const tidings_call_options *o = options ? options : &standard;
    *id = 0;
    tidings__clear_error();
    int error = own(caller);
    if (error) return error;
    tidings_center *center = caller->center;
    const tidings__segment *s = &center->segment;
    if (size > s->shape.maximum_payload)
        return tidings__fail(EMSGSIZE,
                             "can't call \"%s\" with %zu bytes in center \"%s\": its maximum is %llu; create it with a "
                             "larger maximum_payload",
                             name_of(caller), size, s->name, (unsigned long long)s->shape.maximum_payload);
    pthread_mutex_lock(&caller->lock);
    // Again, if the last server ended meanwhile and another one began: the name may have another entry.
    error = -ECONNREFUSED;
    for (int tries = 0; tries < 3 && error == -ECONNREFUSED; tries++) {
        uint32_t index = 0;
        uint64_t idle = 0;
        if (!served(caller)) {
            error = tidings__end_look(center) ? tidings__end_fail(center, "call a server in it") : no_server(caller);
            break;
        }
        error = prepare_call(caller, payload, size, o->format, &index, &idle);
        if (!error) error = post_call(caller, index, idle, o, id);
    }
    if (error == -ECONNREFUSED) {
        // Observers of all names see calls without a server too: a host counts those that an extension may not make.
        // Without waiting: the caller learns at once that there is no server, also if an observer holds posts back.
        (void)announce(caller, TIDINGS__TICKET_SEARCH, 0);
        error = no_server(caller);
    }
    pthread_mutex_unlock(&caller->lock);
    return error;
}

// MARK: Outcomes

static void cancel(tidings_caller *caller, uint32_t index);

// If the call has ended, takes its outcome: 0. -EAGAIN without an error line: it has not ended. -ENOMEM. A part that
// waits is taken likewise, and the call stays in flight.
static int take_outcome(tidings_caller *caller, uint32_t index, tidings_outcome *outcome) {
    tidings__segment *s = &caller->center->segment;
    tidings__call *call = &s->calls[index];
    const uint64_t posted = caller->calls[index].posted, word = tidings__acquire(&call->state);
    const uint32_t state = tidings__call_state(word);
    const bool same = tidings__ticket_of(tidings__ticket(index, posted), word) &&
                      tidings__call_caller(word) == caller->center->participant;
    if (same && in_work(word, caller->calls[index].taken)) return -EAGAIN;
    const bool part = same && state == TIDINGS__CALL_CLAIMED;
    *outcome = (tidings_outcome){.error = -ECONNRESET, .id = tidings__ticket(index, posted), .payload = ""};
    if (same && state == TIDINGS__CALL_UNSERVED) outcome->error = -ECONNREFUSED;
    if (part || (same && state == TIDINGS__CALL_REPLIED)) {
        const uint64_t text = tidings__acquire(&call->reply_text), chunk = tidings__relaxed(&call->reply_chunk);
        const uint64_t held = tidings__reply_word(index, word);
        outcome->error = tidings__text_copy(s, text, chunk, s->call_bodies[index].reply, &caller->reply);
        if (outcome->error == -ENOMEM)
            return tidings__fail(ENOMEM, "can't take a reply in center \"%s\": no memory for it", s->name);
        if (outcome->error == 0 && chunk && tidings__acquire(&s->chunk_words[chunk - 1]) != held)
            outcome->error = -EBADMSG;
        if (outcome->error == 0) {
            outcome->code = (uint16_t)(text >> 40);
            outcome->format = tidings__call_format(text);
            outcome->size = tidings__call_size(text);
            outcome->payload = caller->reply.bytes;
        }
    }
    if (part && outcome->error) {
        cancel(caller, index);
        return 0;
    }
    if (part) {
        outcome->more = caller->calls[index].taken = true;
        // Behind the others: its next part may be there as soon as the program asks again.
        unlink_call(caller, index);
        append(caller, index);
#ifndef MUTANT_PART_FREED_LATE       // Found by: interleaving a_reply_in_parts
#ifndef MUTANT_PART_KEEPS_ITS_CHUNK  // Found by: interleaving a_reply_in_parts
        tidings__reply_free(s, index, word);
#endif
#endif
        return 0;
    }
    take_out(caller, index);
    if (same)
        give_back(caller, index, word);
    else
        free_request(caller, index);
    return 0;
}

// The outcome of call `id`, or of the earliest call that has ended. As `take_outcome`; -ENOENT: no call `id`.
static int look_for(tidings_caller *caller, uint64_t id, tidings_outcome *outcome) {
    pthread_mutex_lock(&caller->lock);
    int error = -EAGAIN;
    if (id) {
        const uint32_t index = in_flight(caller, id);
        error = index == NONE ? -ENOENT : take_outcome(caller, index, outcome);
    } else {
        for (uint32_t i = caller->first, next; i != NONE && error == -EAGAIN; i = next) {
            next = caller->calls[i].next;
            error = take_outcome(caller, i, outcome);
        }
    }
    pthread_mutex_unlock(&caller->lock);
    return error;
}

static bool take_interrupt(tidings_caller *caller) {
    return tidings__relaxed(&caller->interrupted) && tidings__fetch_and(&caller->interrupted, 0);
}

static uint32_t spin_time(const tidings_caller *caller) {
    if (caller->spin_ns == 0 || caller->spin_ns == TIDINGS__SPIN_FOREVER) return caller->spin_ns;
    if (tidings__processors() < 2) return 0;
    if (caller->spin_ns != TIDINGS__SPIN_ADAPTIVE) return caller->spin_ns;
    return caller->last_wait_ns < SPIN_WORTH_NS ? SPIN_LONGEST_NS : 0;
}

// Polls the state of a call for a while. True: look again.
static bool spin(tidings_caller *caller, uint64_t id, uint64_t deadline) {
    const uint32_t time = spin_time(caller);
    if (time == 0) return false;
    // A caller that spins without end looks at its other calls in between, and at what other threads did to this one.
    const uint32_t round = time == TIDINGS__SPIN_FOREVER ? SPIN_LONGEST_NS : time;
    pthread_mutex_lock(&caller->lock);
    const uint32_t index = id ? in_flight(caller, id) : caller->first;
    const bool taken = index != NONE && caller->calls[index].taken;
    pthread_mutex_unlock(&caller->lock);
    if (index == NONE) return false;
    const _Atomic uint64_t *state = &caller->center->segment.calls[index].state;
    uint64_t until = 0;
    for (uint32_t i = 1;; i++) {
        if (!in_work(tidings__acquire(state), taken)) return true;
        tidings__cpu_relax();
        if (i % 16 != 0) continue;
        if (tidings__relaxed(&caller->interrupted) || tidings__end_known(caller->center)) return true;
        const uint64_t now = tidings__monotonic_ns();
        if (until == 0) until = now + round > deadline ? deadline : now + round;
        if (now >= until) return time == TIDINGS__SPIN_FOREVER;
    }
}

// Announces that this caller sleeps, looks once more, and sleeps. Result as `look_for`.
static int sleep_once(tidings_caller *caller, uint64_t id, uint64_t deadline, tidings_outcome *outcome) {
    tidings_center *center = caller->center;
    const uint32_t own_value = tidings__acquire(&caller->sleeper.own_futex);
    _Atomic uint32_t *lane = tidings__lane(&center->segment, center->participant, caller->lane);
    // Invariant C6: before the last look.
    uint32_t value;
#ifndef MUTANT_SLEEP_ANNOUNCED_AFTER_LOOK  // Found by: interleaving a_reply_beside_a_sleep
    if (!tidings__lane_announce(lane, &value)) return -EAGAIN;
    tidings__barrier_after_rmw();
    const int error = look_for(caller, id, outcome);
#else
    const int error = look_for(caller, id, outcome);
    if (!tidings__lane_announce(lane, &value)) return -EAGAIN;
#endif
    if (error != -EAGAIN) return error;
    if (tidings__end_doubted(center) || tidings__relaxed(&caller->interrupted)) return -EAGAIN;
    const uint64_t now = tidings__monotonic_ns();
    int64_t timeout = deadline == UINT64_MAX ? -1 : now < deadline ? (int64_t)(deadline - now) : 0;
    const bool watched = tidings__end_watched(center) && !tidings__relaxed(&center->doubted_at);
    if (!watched && (timeout < 0 || timeout > TIDINGS__END_ASK_NS)) timeout = TIDINGS__END_ASK_NS;
    const tidings__futex_value words[2] = {{lane, value}, {&caller->sleeper.own_futex, own_value}};
    if (timeout != 0) (void)tidings__futex_wait_either(words, 2, timeout);
    caller->last_wait_ns = tidings__monotonic_ns() - now;
    if (!watched) tidings__end_look_seldom(center);
    return -EAGAIN;
}

int tidings_caller_next(tidings_caller *caller, uint64_t id, int64_t timeout_ns, tidings_outcome *outcome) {
    int error = own(caller);
    if (error) return error;
    tidings_center *center = caller->center;
    uint64_t deadline = 0;  // 0: the caller has not waited yet
    bool polled = false;
    for (;;) {
        if (take_interrupt(caller)) return -EINTR;
        error = look_for(caller, id, outcome);
        if (error == -ENOENT)
            return tidings__fail(ENOENT,
                                 "can't wait for \"%s\" in center \"%s\": no such call is in flight; call first",
                                 name_of(caller), center->segment.name);
        if (error != -EAGAIN) return error;
        if (tidings__end_doubted(center)) return tidings__end_fail(center, "wait for a reply in it");
        if (timeout_ns == 0) return -EAGAIN;
        if (deadline == 0) {
            const uint64_t begun = timeout_ns > 0 ? tidings__monotonic_ns() : 0, end = begun + (uint64_t)timeout_ns;
            deadline = timeout_ns < 0 || end < begun ? UINT64_MAX : end;
        }
        // Spin once for each sleep: spinning polls only one call, and `sleep_once` looks at all. A peer may have
        // changed the polled state without an outcome.
        if (!polled && spin(caller, id, deadline)) {
            polled = caller->spin_ns != TIDINGS__SPIN_FOREVER;
        } else {
            polled = false;
            error = sleep_once(caller, id, deadline, outcome);
            if (error != -EAGAIN) return error;
        }
        if (deadline != UINT64_MAX && tidings__monotonic_ns() >= deadline) {
            // A last look: a call that ended before the deadline has its outcome.
            error = look_for(caller, id, outcome);
            return error == -EAGAIN ? -ETIMEDOUT : error;
        }
    }
}

void tidings_caller_spin(tidings_caller *caller, uint32_t nanoseconds) { caller->spin_ns = nanoseconds; }

void tidings_caller_interrupt(tidings_caller *caller) {
    tidings__set_release(&caller->interrupted, 1);
    tidings__nudge(&caller->sleeper);
}

// Locks the caller, if call `id` is in flight: 0. Otherwise an error; `what` continues "can't".
static int lock_call(tidings_caller *caller, uint64_t id, const char *what, uint32_t *index) {
    tidings__clear_error();
    const int error = own(caller);
    if (error) return error;
    pthread_mutex_lock(&caller->lock);
    *index = in_flight(caller, id);
    if (*index != NONE) return 0;
    pthread_mutex_unlock(&caller->lock);
    return tidings__fail(ENOENT, "can't %s a call of \"%s\" in center \"%s\": no such call is in flight", what,
                         name_of(caller), caller->center->segment.name);
}

// MARK: Going on

// Under the lock. 0 or the error of a post.
static int go_on(tidings_caller *caller, uint32_t index) {
    own_call *call = &caller->calls[index];
    _Atomic uint64_t *state = &caller->center->segment.calls[index].state;
    uint64_t word = tidings__acquire(state);
    if (call->taken) {
        call->taken = false;
        // Invariant C9. If the call has ended, its outcome waits.
        call->unannounced = tidings__ticket_of(tidings__ticket(index, call->posted), word) &&
                            word & TIDINGS__CALL_PART && tidings__cas(state, &word, word & ~TIDINGS__CALL_PART);
    }
    if (!call->unannounced) return 0;
#ifdef MUTANT_PART_FREED_LATE
    tidings__reply_free(&caller->center->segment, index, word & ~TIDINGS__CALL_PART);
#endif
    const uint64_t ticket = tidings__ticket(index, call->posted);
    const int error = tidings_post(caller->publisher, &ticket, sizeof ticket, NULL, NULL);
    call->unannounced = error != 0;
    return error;
}

int tidings_call_continue(tidings_caller *caller, uint64_t id) {
    uint32_t index;
    int error = lock_call(caller, id, "continue", &index);
    if (error) return error;
    if (!caller->calls[index].taken && !caller->calls[index].unannounced)
        error = tidings__fail(EINVAL,
                              "can't continue a call of \"%s\" in center \"%s\": no part of its reply was taken; "
                              "take one first",
                              name_of(caller), caller->center->segment.name);
    else
        error = go_on(caller, index);
    pthread_mutex_unlock(&caller->lock);
    return error;
}

// MARK: Cancelling

static void cancel(tidings_caller *caller, uint32_t index) {
    tidings__segment *s = &caller->center->segment;
    tidings__call *call = &s->calls[index];
    const uint64_t posted = caller->calls[index].posted, ticket = tidings__ticket(index, posted);
    take_out(caller, index);
    for (int tries = 0; tries < TIDINGS__TRIES; tries++) {
        uint64_t word = tidings__acquire(&call->state);
        if (!tidings__ticket_of(ticket, word) || tidings__call_caller(word) != caller->center->participant) break;
        if (tidings__call_state(word) == TIDINGS__CALL_CLAIMED) {
            // Its server writes the reply, perhaps now. So the call is the server's, until it or a participant that
            // settles its calls frees it.
            const uint64_t to = tidings__call_with(word, tidings__call_server(word), TIDINGS__CALL_CANCELLED);
            if (!tidings__cas(&call->state, &word, to)) continue;
            free_request(caller, index);
            if (tidings_post(caller->publisher, &ticket, sizeof ticket, NULL, NULL) != 0) {
                // Its server may wait until the caller continues. The guard tells it when a post succeeds.
                tidings__fetch_add(&caller->center->untold, 1);
                tidings__futex_wake(&caller->center->untold, 1);
                tidings__clear_error();
            }
            return;
        }
        if (tidings__call_state(word) == TIDINGS__CALL_POSTED) {
            const uint64_t to = tidings__call_with(word, 0, TIDINGS__CALL_IDLE);
            if (!tidings__cas(&call->state, &word, to)) continue;
            word = to;
        }
        give_back(caller, index, word);
        return;
    }
    free_request(caller, index);  // peers took this participant for dead
}

int tidings_call_cancel(tidings_caller *caller, uint64_t id) {
    uint32_t index;
    const int error = lock_call(caller, id, "cancel", &index);
    if (error) return error;
    cancel(caller, index);
    pthread_mutex_unlock(&caller->lock);
    // A thread that waits for this call looks again, and finds that it is not in flight.
    tidings__nudge(&caller->sleeper);
    return 0;
}

void tidings_caller_close(tidings_caller *caller) {
    if (!caller) return;
    tidings_center *center = caller->center;
    if (own(caller) == 0) {
        while (caller->first != NONE) cancel(caller, caller->first);
        for (uint32_t i = 0; i < caller->idle_count; i++) {
            _Atomic uint64_t *state = &center->segment.calls[caller->idle[i]].state;
            uint64_t word = tidings__acquire(state);
            if (tidings__call_state(word) == TIDINGS__CALL_IDLE && tidings__call_caller(word) == center->participant)
                (void)tidings__cas(state, &word, tidings__call_anew(word, 0, TIDINGS__CALL_FREE));
        }
    }
    tidings__end_unwatch(center, &caller->sleeper);
    tidings__requests_end(center, caller->fork_epoch);
    pthread_mutex_destroy(&caller->lock);
    free(caller->calls);
    free(caller->reply.bytes);
    free(caller);
}
