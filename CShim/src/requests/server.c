// Servers: receive requests, each of which one server has, and reply. design/7-requests.md.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "center/ends.h"
#include "platform/clock.h"
#include "platform/error.h"
#include "receiving/observer.h"
#include "requests/requests.h"

typedef struct found_call {
    uint64_t made_at, ticket;
} found_call;

struct tidings_server {
    tidings_center *center;
    tidings_observer *observer;
    uint64_t name;  // as in a call
    uint32_t fork_epoch;
    // One thread at a time claims, replies or frees a call of this server.
    pthread_mutex_t lock;
    // The states of the calls that it has claimed, by index; 0: none. With TIDINGS__CALL_PART until the program was
    // told that it may send the next part.
    uint64_t *claimed;
    uint32_t capacity;
    // The calls that a search has found, in the order in which they were made.
    found_call *found;
    uint32_t found_count, found_next;
    bool held;  // it claims no call
    // A search is owed: before the first request, after one that failed, and for calls announced while it was held.
    bool to_search;
    uint64_t searched_at;  // where the frontier was before the last search
    bool to_tell;          // a call of this server may have been cancelled or continued without a ticket
    uint32_t tell_next;    // the index from which to look for it
    uint64_t told_at;      // where the frontier was before the last look for it
    tidings__copied request;
};

int tidings_server_open(tidings_center *center, const char *name, size_t name_length, tidings_server **result) {
    *result = NULL;
    int error = tidings__requests_begin(center, "serve requests in", name, name_length);
    if (error) return error;
    tidings__segment *s = &center->segment;
    tidings_server *server = calloc(1, sizeof *server);
    if (!server) {
        tidings__requests_end(center, tidings__acquire(&center->fork_epoch));
        return tidings__fail(ENOMEM, "can't serve \"%.*s\" in center \"%s\": no memory", (int)name_length, name,
                             s->name);
    }
    server->center = center;
    server->fork_epoch = tidings__acquire(&center->fork_epoch);
    // A request may have been announced before this server was a member of the name, and its last server may have ended
    // since. Such a call stays, as this server can receive it.
    server->to_search = true;
    pthread_mutex_init(&server->lock, NULL);
    char text[TIDINGS_NAME_MAX + 1];
    const size_t length = tidings__requests_name(text, name, name_length);
    error = tidings_observer_open(center, 0, &server->observer);
    if (!error) {
        // Before the observer becomes a member of the name: from then on it is a server (invariant C3).
        tidings__set_release(&s->observers[server->observer->index].serves, 1);
        uint32_t subscription;
        error = tidings_observer_add(server->observer, text, length, NULL, 0, 0, &subscription);
    }
    if (!error) {
        tidings__key key;
        tidings__key_make(&key, text, length, NULL, 0);
        uint64_t generation;
        // The entry stays as long as its observer is a member.
        const uint32_t entry = tidings__name_find_now(s, &key, &generation);
        server->name = tidings__call_name(entry, generation);
    }
    if (error) {
        tidings_server_close(server);
        return error;
    }
    *result = server;
    return 0;
}

static int own(const tidings_server *server) {
    const int error = tidings__observer_own(server->observer);
    return error ? error : tidings__center_place(server->center);
}

static uint64_t cancelled_word(uint64_t claimed) {
    return tidings__call_with(claimed, tidings__call_server(claimed), TIDINGS__CALL_CANCELLED);
}

// Frees a call that its caller has cancelled. `claimed`: its state before that.
static void free_cancelled(tidings_server *server, uint32_t index, uint64_t claimed) {
    (void)tidings__call_free(&server->center->segment, index, cancelled_word(claimed));
}

// Gives up a call that this server has claimed. `claimed`: its state, as this server knows it. True: it was posted
// again.
static bool give_up(tidings_server *server, uint32_t index, uint64_t claimed) {
    tidings__segment *s = &server->center->segment;
    if (tidings__call_give_up(s, index, claimed)) return (claimed & TIDINGS__CALL_IDEMPOTENT) != 0;
#ifndef MUTANT_GIVEN_UP_WITH_ONE_TRY  // Found by: interleaving a_continuation_beside_a_closing_server
    // Its caller may have let this server go on meanwhile. After a part it is not idempotent.
    if (claimed & TIDINGS__CALL_PART && tidings__call_give_up(s, index, claimed & ~TIDINGS__CALL_PART)) return false;
#endif
    free_cancelled(server, index, claimed);
    return false;
}

void tidings_server_close(tidings_server *server) {
    if (!server) return;
    tidings_center *center = server->center;
    const bool ours = server->observer && own(server) == 0;
    tidings_observer_close(server->observer);
    bool again = false;
    for (uint32_t i = 0; ours && i < server->capacity; i++)
        if (server->claimed[i]) again |= give_up(server, i, server->claimed[i]);
    if (ours) {
        tidings__fence_full();
        tidings__calls_unserved(center);
        if (again) tidings__calls_posted_again(center, server->name);
    }
    tidings__requests_end(center, server->fork_epoch);
    pthread_mutex_destroy(&server->lock);
    free(server->claimed);
    free(server->found);
    free(server->request.bytes);
    free(server);
}

// MARK: Receiving

static int no_memory(const tidings_server *server) {
    return tidings__fail(ENOMEM, "can't receive a request in center \"%s\": no memory for it",
                         server->center->segment.name);
}

// Gives up a call that this server has claimed just now.
static void refuse(tidings_server *server, uint32_t index, uint64_t claimed) {
    if (give_up(server, index, claimed)) tidings__calls_posted_again(server->center, server->name);
}

// True if peers may have freed the chunk of a request: its caller has died.
static bool caller_gone(tidings__segment *s, uint64_t claimed) {
    const uint32_t caller = tidings__call_caller(claimed);
    return caller >= tidings__presence_end(s) || tidings__presence_dead(s, caller);
}

static int not_allowed(const tidings_server *server) {
    return tidings__fail(EBADF,
                         "can't receive requests in center \"%s\": its process exits, or peers take this "
                         "participant for dead; open the center again",
                         server->center->segment.name);
}

// Claims the call of a ticket, if no other server has. 0, or an error; -EAGAIN without an error line: it is another
// server's, or has ended.
static int claim(tidings_server *server, uint64_t ticket, tidings_request *request) {
    tidings_center *center = server->center;
    tidings__segment *s = &center->segment;
    const uint32_t index = tidings__ticket_index(ticket);
    if (index >= tidings__calls_end(s)) return -EAGAIN;
    tidings__call *call = &s->calls[index];
    uint64_t word = tidings__acquire(&call->state);
    if (tidings__call_state(word) != TIDINGS__CALL_POSTED || !tidings__ticket_of(ticket, word) ||
        tidings__relaxed(&call->name) != server->name)
        return -EAGAIN;
    // So a thread that goes on while its process exits claims nothing again and again.
    if (!tidings__calls_allowed(center)) return not_allowed(server);
    uint64_t *reaching = tidings__reach_call(server->claimed, sizeof *reaching, &server->capacity, index);
    if (!reaching) {
        server->to_search = true;  // the call stays, and the program may have memory later
        return no_memory(server);
    }
    server->claimed = reaching;
    const uint64_t claimed = tidings__call_with(word, center->participant, TIDINGS__CALL_CLAIMED);
#ifdef MUTANT_CALL_CLAIMED_BY_STORE  // Found by: interleaving two_servers_of_one_call
    tidings__set_release(&call->state, claimed);
    tidings__fence_full();
#else
    if (!tidings__cas(&call->state, &word, claimed)) return -EAGAIN;
    tidings__barrier_after_rmw();
#endif
#ifndef MUTANT_CLAIM_BY_THE_DEAD  // Found by: interleaving a_claim_beside_a_settlement
    if (!tidings__calls_allowed(center)) {
        // Peers take this participant for dead, or it exits. They may have settled its calls before this one.
        refuse(server, index, claimed);
        tidings__fence_full();
        tidings__calls_unserved(center);
        return not_allowed(server);
    }
#endif
    const uint64_t text = tidings__acquire(&call->request_text), process = tidings__relaxed(&call->process),
                   chunk = tidings__relaxed(&call->request_chunk);
    // Not copied in vain: a peer may have written thousands of calls, each with the largest text.
    bool gone = chunk && caller_gone(s, claimed);
    const int error = gone ? 0 : tidings__text_copy(s, text, chunk, s->call_bodies[index].request, &server->request);
    // Before the state is read again: if the caller has died, and this index is another participant's, its calls were
    // settled first.
    gone = gone || (chunk && caller_gone(s, claimed));
    if (tidings__acquire(&call->state) != claimed) {
        free_cancelled(server, index, claimed);
        return -EAGAIN;
    }
    if (gone || error == -EBADMSG) {
        // Not posted again, as each server would find the same.
        if (!tidings__call_end(s, index, claimed, center->participant, TIDINGS__CALL_ENDED))
            free_cancelled(server, index, claimed);
        return -EAGAIN;
    }
    if (error) {
        refuse(server, index, claimed);
        return no_memory(server);
    }
    server->claimed[index] = claimed;
    *request = (tidings_request){.kind = TIDINGS_REQUEST_NEW,
                                 .again = (claimed & TIDINGS__CALL_AGAIN) != 0,
                                 .idempotent = (claimed & TIDINGS__CALL_IDEMPOTENT) != 0,
                                 .own = tidings__call_caller(claimed) == center->participant,
                                 .format = tidings__call_format(text),
                                 .id = tidings__ticket(index, claimed),
                                 .payload = server->request.bytes,
                                 .size = tidings__call_size(text),
                                 .pid = (int32_t)(uint32_t)process,
                                 .uid = (uint32_t)(process >> 32),
                                 .participant = tidings__call_caller(claimed)};
    return 0;
}

// If this server has call `index` and it was cancelled: frees it, and tells the program. It also tells the program if
// the caller has taken a part.
static bool tell(tidings_server *server, uint32_t index, tidings_request *request) {
    if (index >= server->capacity || !server->claimed[index]) return false;
    const uint64_t claimed = server->claimed[index],
                   word = tidings__acquire(&server->center->segment.calls[index].state);
    int32_t kind;
    if (word == cancelled_word(claimed)) {
        free_cancelled(server, index, claimed);
        server->claimed[index] = 0;
        kind = TIDINGS_REQUEST_CANCELLED;
    } else if (claimed & TIDINGS__CALL_PART && word == (claimed & ~TIDINGS__CALL_PART)) {
        server->claimed[index] = word;
        kind = TIDINGS_REQUEST_CONTINUED;
    } else {
        return false;
    }
    *request = (tidings_request){.kind = kind, .id = tidings__ticket(index, word), .payload = ""};
    return true;
}

// Sorts calls by `made_at` modulo 2^64, a byte at a time from the lowest on: mostly two or three bytes differ. With
// thousands of calls in flight, each server that was lapped sorts them again, and comparisons take a fifth of the time
// of all calls. `least`: the earliest of them. `spare`: room for as many.
static void sort(found_call *calls, found_call *spare, uint32_t count, uint64_t least) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < count; i++) bits |= calls[i].made_at -= least;
    found_call *from = calls, *to = spare;
    for (uint32_t shift = 0; shift < 64; shift += 8) {
        if ((bits >> shift & 0xff) == 0) continue;
        uint32_t places[257] = {0};
        for (uint32_t i = 0; i < count; i++) places[(from[i].made_at >> shift & 0xff) + 1]++;
        for (uint32_t value = 1; value < 256; value++) places[value] += places[value - 1];
        for (uint32_t i = 0; i < count; i++) to[places[from[i].made_at >> shift & 0xff]++] = from[i];
        found_call *const sorted = to;
        to = from;
        from = sorted;
    }
    if (from != calls) memcpy(calls, from, count * sizeof *calls);
}

// Finds all calls of the name that no server has claimed.
static int search(tidings_server *server) {
    tidings__segment *s = &server->center->segment;
    server->to_search = true;
    const uint64_t frontier = tidings__frontier(s, tidings__relaxed(&server->center->hint));
    tidings__fence_full();
    const uint32_t count = tidings__calls_end(s);
    server->found_count = server->found_next = 0;
    found_call *found = realloc(server->found, 2 * (count + 1) * sizeof *found);
    if (!found) return no_memory(server);
    server->found = found;
    uint32_t n = 0;
    uint64_t least = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t word = tidings__acquire(&s->calls[i].state);
        if (tidings__call_state(word) != TIDINGS__CALL_POSTED || tidings__relaxed(&s->calls[i].name) != server->name)
            continue;
        found[n] = (found_call){tidings__relaxed(&s->calls[i].made_at), tidings__ticket(i, word)};
        if (n == 0 || (int64_t)(found[n].made_at - least) < 0) least = found[n].made_at;
        n++;
    }
    sort(found, found + count, n, least);
    server->found_count = n;
    server->searched_at = frontier;
    server->to_search = false;
    return 0;
}

// What the cancelled and continued calls, the last search and one that is owed have for the program. -EAGAIN: nothing.
static int take(tidings_server *server, tidings_request *request) {
    for (; server->to_tell && server->tell_next < server->capacity; server->tell_next++)
        if (tell(server, server->tell_next, request)) return 0;
    server->to_tell = false;
    while (!server->held) {
        while (server->found_next < server->found_count) {
            const int error = claim(server, server->found[server->found_next++].ticket, request);
            if (error != -EAGAIN) return error;
        }
        // What another search finds came after what the last one has found.
        if (!server->to_search) break;
        const int error = search(server);
        if (error) return error;
    }
    return -EAGAIN;
}

// One record of the name.
static int look_at(tidings_server *server, const tidings_delivery *d, tidings_request *request) {
    uint64_t ticket = TIDINGS__TICKET_SEARCH;
    if (d->kind == TIDINGS_DELIVERY_MESSAGE) {
        if (d->size != sizeof ticket) return -EAGAIN;  // of a program that posts under this name
        memcpy(&ticket, d->payload, sizeof ticket);
    }
    if (ticket == TIDINGS__TICKET_SEARCH) {
        // What was lost lies before the sequence.
        const uint64_t at = d->kind == TIDINGS_DELIVERY_MESSAGE ? d->sequence : d->sequence - 1;
        // Calls that were posted before the last search were found by it. It does not look for this server's calls.
        server->to_search |= (int64_t)(at - server->searched_at) >= 0;
#ifndef MUTANT_LAPPED_SERVER_LEARNS_NOTHING  // Found by: interleaving continuations_beside_a_lapped_server
        if ((int64_t)(at - server->told_at) >= 0) {
            server->to_tell = true;
            server->tell_next = 0;
            server->told_at = tidings__frontier(&server->center->segment, tidings__relaxed(&server->center->hint));
            tidings__fence_full();
        }
#endif
        return take(server, request);
    }
    if (tell(server, tidings__ticket_index(ticket), request)) return 0;
    if (!server->held) return claim(server, ticket, request);
    server->to_search = true;
    return -EAGAIN;
}

int tidings_server_next(tidings_server *server, int64_t timeout_ns, tidings_request *request) {
    int error = own(server);
    if (error) return error;
    // Only the thread that receives requests changes these.
    if (server->to_tell || server->to_search || server->found_next < server->found_count) {
        pthread_mutex_lock(&server->lock);
        error = take(server, request);
        pthread_mutex_unlock(&server->lock);
        if (error != -EAGAIN) return error;
    }
    const uint64_t begun = timeout_ns > 0 ? tidings__monotonic_ns() : 0;
    int64_t left = timeout_ns;
    // Records of requests that other servers receive may come without end.
    for (uint32_t records = 0;;) {
        tidings_delivery d;
        error = tidings_next(server->observer, left, &d);
        if (error) return error;
        pthread_mutex_lock(&server->lock);
        error = look_at(server, &d, request);
        pthread_mutex_unlock(&server->lock);
        if (error != -EAGAIN) return error;
        if (timeout_ns == 0 && ++records == server->center->segment.shape.slots) return -EAGAIN;
        if (timeout_ns <= 0) continue;
        const uint64_t passed = tidings__monotonic_ns() - begun;
        if (passed >= (uint64_t)timeout_ns) return -ETIMEDOUT;
        left = timeout_ns - (int64_t)passed;
    }
}

void tidings_server_hold(tidings_server *server, bool held) {
    pthread_mutex_lock(&server->lock);
    server->held = held;
    pthread_mutex_unlock(&server->lock);
}

void tidings_server_interrupt(tidings_server *server) { tidings_observer_interrupt(server->observer); }

void tidings_server_spin(tidings_server *server, uint32_t nanoseconds) {
    tidings_observer_spin(server->observer, nanoseconds);
}

int tidings_server_await_successor(tidings_server *server, int64_t timeout_ns) {
    return tidings_observer_await_successor(server->observer, timeout_ns);
}

// MARK: Replying

static int no_caller(const tidings_server *server) {
    return tidings__fail(ECANCELED,
                         "can't reply in center \"%s\": the caller does not wait for this reply any more; drop it",
                         server->center->segment.name);
}

// Writes the reply, and ends the call with it, unless it is a part. Under the lock.
static int reply(tidings_server *server, uint32_t index, const void *payload, size_t size, uint64_t text, bool part) {
    tidings_center *center = server->center;
    tidings__segment *s = &center->segment;
    tidings__call *call = &s->calls[index];
    const uint64_t claimed = server->claimed[index];
    uint64_t word = claimed, chunk;
    // Invariant C9. After its first part no other server receives the call: the caller would get parts twice.
#ifdef MUTANT_PART_STAYS_IDEMPOTENT  // Found by: interleaving a_server_dies_between_parts
    const uint64_t sent = claimed | TIDINGS__CALL_PART;
#else
    // It ends as a call that a server had, also if the program refuses it after its caller has continued.
    const uint64_t sent = (claimed & ~TIDINGS__CALL_IDEMPOTENT) | TIDINGS__CALL_PART | TIDINGS__CALL_AGAIN;
#endif
    const uint64_t replied = part ? sent : tidings__call_with(claimed, center->participant, TIDINGS__CALL_REPLIED);
    if (claimed & TIDINGS__CALL_PART) {
        if (tidings__acquire(&call->state) == cancelled_word(claimed)) {
            server->claimed[index] = 0;
            free_cancelled(server, index, claimed);
            return no_caller(server);
        }
        return tidings__fail(EBUSY,
                             "can't reply in center \"%s\": the caller has not taken the part before; wait for "
                             "TIDINGS_REQUEST_CONTINUED",
                             s->name);
    }
    const int error = tidings__text_place(center, payload, size, 0, s->call_bodies[index].reply, &chunk);
    if (error) return error;
#ifndef MUTANT_REPLY_CHUNK_NAMED_LATE  // Found by: interleaving a_server_dies_anywhere
    // Invariant C5: the call names the chunk before the chunk is a reply's. So the thread that frees the call frees it.
    tidings__set_release(&call->reply_chunk, chunk);
#endif
    if (chunk) {
        uint64_t owned = tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, center->participant, TIDINGS__CHUNK_OWNED);
        (void)tidings__cas(&s->chunk_words[chunk - 1], &owned, tidings__reply_word(index, claimed));
    }
#ifdef MUTANT_REPLY_CHUNK_NAMED_LATE
    tidings__set_release(&call->reply_chunk, chunk);
#endif
    tidings__set_relaxed(&call->reply_text, text);
    server->claimed[index] = part ? replied : 0;
    if (!tidings__cas(&call->state, &word, replied)) {
        server->claimed[index] = 0;
#ifndef MUTANT_LATE_REPLY_FREES_NOTHING  // Found by: interleaving a_reply_beside_a_cancellation
        uint64_t held = tidings__reply_word(index, claimed);
        if (chunk) (void)tidings__cas(&s->chunk_words[chunk - 1], &held, 0);
        free_cancelled(server, index, claimed);
#endif
        return no_caller(server);
    }
    tidings__barrier_after_rmw();
#ifdef MUTANT_PART_WAKES_NO_CALLER  // Found by: interleaving a_reply_in_parts
    if (part) return 0;
#endif
    tidings__call_wake(s, index, replied);
    return 0;
}

int tidings_reply(tidings_server *server, uint64_t id, const void *payload, size_t size,
                  const tidings_reply_options *options) {
    static const tidings_reply_options standard;
    const tidings_reply_options *o = options ? options : &standard;
    tidings__clear_error();
    int error = own(server);
    if (error) return error;
    const tidings__segment *s = &server->center->segment;
    if (size > s->shape.maximum_payload)
        return tidings__fail(
            EMSGSIZE,
            "can't reply with %zu bytes in center \"%s\": its maximum is %llu; create it with a larger "
            "maximum_payload",
            size, s->name, (unsigned long long)s->shape.maximum_payload);
    const uint64_t text = (uint64_t)size | (uint64_t)o->format << 32 | (uint64_t)o->code << 40 |
                          TIDINGS__RESERVED << 56;
    const uint32_t index = tidings__ticket_index(id);
    pthread_mutex_lock(&server->lock);
    if (index >= server->capacity || !server->claimed[index] || !tidings__ticket_of(id, server->claimed[index]) ||
        !tidings__calls_write(server->center)) {
        error = no_caller(server);
    } else {
        error = reply(server, index, payload, size, text, o->more);
        tidings__calls_wrote(server->center);
    }
    pthread_mutex_unlock(&server->lock);
    return error;
}

int tidings_request_end(tidings_server *server, uint64_t id, int error) {
    tidings__clear_error();
    const int refused = own(server);
    if (refused) return refused;
    tidings__segment *s = &server->center->segment;
    if (error != -ECONNRESET && error != -ECONNREFUSED)
        return tidings__fail(EINVAL,
                             "can't end a request in center \"%s\" with error %d; use -ECONNRESET or -ECONNREFUSED",
                             s->name, error);
    const uint32_t index = tidings__ticket_index(id);
    bool again = false;
    int result = 0;
    pthread_mutex_lock(&server->lock);
    if (index >= server->capacity || !server->claimed[index] || !tidings__ticket_of(id, server->claimed[index]) ||
        !tidings__calls_write(server->center)) {
        result = no_caller(server);
    } else {
        const uint64_t claimed = server->claimed[index];
        server->claimed[index] = 0;
        // A server has received it before, or this one has sent a part. After a part it is not idempotent.
        const uint32_t refused_as = claimed & TIDINGS__CALL_AGAIN ? TIDINGS__CALL_ENDED : TIDINGS__CALL_UNSERVED;
        if (error == -ECONNRESET || claimed & TIDINGS__CALL_PART)
            again = give_up(server, index, claimed);
        else if (!tidings__call_end(s, index, claimed, server->center->participant, refused_as))
            free_cancelled(server, index, claimed);
        tidings__calls_wrote(server->center);
    }
    pthread_mutex_unlock(&server->lock);
    if (again) tidings__calls_posted_again(server->center, server->name);
    return result;
}
