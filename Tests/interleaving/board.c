#include "board.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "center/center.h"

struct board board;

// Word i of a post's payload; all different, so that a mixture shows.
static uint64_t word_of(uint32_t post, uint32_t i) { return (uint64_t)(post + 1) << 32 | (i + 1); }

static uint32_t begin(const char *name, uint32_t size, bool value, uint64_t *payload) {
    uint32_t index = board.post_count++;
    board.posts[index] = (board_post){.name = name, .size = size, .value = value, .begun = ++board.events};
    for (uint32_t i = 0; i < size / 8; i++) payload[i] = word_of(index, i);
    return index;
}
static int end(board_post *post, int result) {
    post->returned = ++board.events;
    post->result = result;
    post->known = result == 0;
    if (tidings__thread_state.inside) machine_violation("still inside a post after it");
    if (machine.current && machine.current->pending)
        machine_violation("the pending operation was not cleared after a post");
    return result;
}

int board_send(tidings_publisher *publisher, const char *name, uint32_t size, const tidings_post_options *options) {
    uint64_t payload[64];
    board_post *post = &board.posts[begin(name, size, options && options->flags & TIDINGS_POST_RETAIN, payload)];
    return end(post, tidings_post(publisher, payload, size, options, &post->sequence));
}
int board_send_many(tidings_publisher *publisher, const char *name, uint32_t count,
                    const tidings_post_options *options) {
    uint64_t bytes[4][3], sequences[4];
    board_post *posts[4];
    tidings_payload payloads[4];
    for (uint32_t i = 0; i < count; i++) {
        posts[i] = &board.posts[begin(name, sizeof bytes[i], false, bytes[i])];
        payloads[i] = (tidings_payload){bytes[i], sizeof bytes[i]};
    }
    size_t posted;
    const int result = tidings_post_many(publisher, payloads, count, options, &posted, sequences);
    if (posted != count && result == 0) machine_violation("%zu of %u were posted", posted, count);
    for (uint32_t i = 0; i < posted; i++) {
        if (i > 0 && sequences[i] <= sequences[i - 1]) machine_violation("a batch is not in its order");
        posts[i]->sequence = sequences[i];
        (void)end(posts[i], 0);
    }
    return result;
}
int board_send_reserved(tidings_publisher *publisher, const char *name, uint32_t size,
                        tidings_reservation *reservation) {
    uint64_t payload[64];
    board_post *post = &board.posts[begin(name, size, false, payload)];
    memcpy(reservation->bytes, payload, size);
    return end(post, tidings_post_reserved(publisher, reservation, size, NULL, &post->sequence));
}

watcher *board_watcher(const char *name, uint32_t flags) {
    watcher *w = &board.watchers[board.watcher_count++];
    *w = (watcher){.name = name, .flags = flags};
    return w;
}

bool board_matches(const watcher *w, const board_post *post) {
    return !w->name || (w->flags & TIDINGS_ADD_PREFIX ? strncmp(w->name, post->name, strlen(w->name))
                                                      : strcmp(w->name, post->name)) == 0;
}

void board_note(watcher *w, const tidings_delivery *d) {
    if (w->removed) machine_violation("told of something after its removal had returned");
    if (w->count == TOLD) machine_violation("told more than was posted");
    told *t = &w->told[w->count++];
    *t = (told){.when = ++board.events, .sequence = d->sequence, .kept = d->flags & TIDINGS_DELIVERY_RETAINED};
    if (d->kind == TIDINGS_DELIVERY_MISSED) {
        t->missed = d->missed;
        if (w->lossless) machine_violation("a lossless observer has missed %llu", (unsigned long long)d->missed);
        return;
    }
    const uint64_t *payload = d->payload;
    if (d->size < 8 || d->size % 8 != 0) machine_violation("a payload of %zu bytes, which was never posted", d->size);
    t->post = (uint32_t)(payload[0] >> 32) - 1;
    if (t->post >= board.post_count)
        machine_violation("torn: a payload that was never posted begins with %#llx", (unsigned long long)payload[0]);
    board_post *post = &board.posts[t->post];
    if (post->size != d->size)
        machine_violation("post %u has %u bytes, and came with %zu", t->post, post->size, d->size);
    for (uint32_t i = 0; i < d->size / 8; i++)
        if (payload[i] != word_of(t->post, i))
            machine_violation("torn: word %u of post %u is %#llx", i, t->post, (unsigned long long)payload[i]);
    if (strcmp(d->name, post->name) != 0)
        machine_violation("post %u was posted as \"%s\", and came as \"%s\"", t->post, post->name, d->name);
    if (!board_matches(w, post))
        machine_violation("post %u, as \"%s\", came to an observer of \"%s\"", t->post, post->name, w->name);
    if (post->known && post->sequence != d->sequence)
        machine_violation("post %u is at %llu, and was told as at %llu", t->post, (unsigned long long)post->sequence,
                          (unsigned long long)d->sequence);
    if (post->returned && post->result != 0) machine_violation("post %u was refused, and came", t->post);
    post->known = true;
    post->sequence = d->sequence;
    if (t->kept) {
        // The newest that had been posted before it asked, or a newer one.
        for (uint32_t i = 0; i < board.post_count; i++)
            if (board.posts[i].value && board.posts[i].known && board.posts[i].returned &&
                board.posts[i].returned < w->adding && strcmp(board.posts[i].name, post->name) == 0 &&
                board.posts[i].sequence > d->sequence)
                machine_violation("%s was told of a kept value at %llu, older than the one at %llu", w->fiber->name,
                                  (unsigned long long)d->sequence, (unsigned long long)board.posts[i].sequence);
        // Of many names in their order, and before what is posted.
        for (uint32_t i = 0; i + 1 < w->count; i++)
            if (!w->told[i].kept || w->told[i].sequence >= d->sequence)
                machine_violation("%s was told of a kept value at %llu too late", w->fiber->name,
                                  (unsigned long long)d->sequence);
        return;
    }
    for (uint32_t i = 0; i + 1 < w->count; i++)
        if (w->told[i].missed == 0 && !w->told[i].kept && w->told[i].sequence >= d->sequence)
            machine_violation("%s was told of %llu after %llu", w->fiber->name, (unsigned long long)d->sequence,
                              (unsigned long long)w->told[i].sequence);
}

void board_rest(watcher *w, watcher *late) {
    tidings_delivery d;
    int result = tidings_next(w->observer, 0, &d);
    // What it went on without, because its poster was stopped, and what became of that. (It looks each second.)
    while (w->reader && result == 0 && d.kind == TIDINGS_DELIVERY_MISSED) {
        board_note(late, &d);
        result = tidings_next(w->observer, 0, &d);
    }
    if (result == 0)
        machine_violation("%s slept on %s %llu", w->fiber->name, d.kind ? "a loss before" : "notification",
                          (unsigned long long)d.sequence);
    if (result != -EAGAIN) machine_violation("tidings_next without waiting: %d", result);
    board_leave(w);
}

void board_still_whole(tidings_center *center, const void *payload, uint32_t post) {
    const uint64_t *words = payload;
    for (uint32_t i = 0; i < board.posts[post].size / 8; i++) {
        // Other fibers may go on here.
        if (i % 8 == 0) (void)tidings_nothing_since(center, board.posts[post].sequence);
        if (words[i] != word_of(post, i))
            machine_violation("torn in place: word %u of post %u is %#llx", i, post, (unsigned long long)words[i]);
    }
}

static void release(watcher *w) {
    if (!w->held.payload) return;
    board_still_whole(w->center, w->held.payload, w->held_post);
    tidings_release(&w->held);
}

// Reads the payload again, and keeps it.
static void note_in_place(watcher *w, const tidings_delivery *d) {
    if (d->kind != TIDINGS_DELIVERY_MESSAGE || d->size <= TIDINGS__BODY_SIZE) return;
    const uint32_t post = w->told[w->count - 1].post;
    board_still_whole(w->center, d->payload, post);
    release(w);
    if (!w->holds) return;
    w->held_post = post;
    const int result = tidings_hold(w->observer, d, &w->held);
    if (result != 0) machine_violation("tidings_hold: %d", result);
}

void board_watch(watcher *w) {
    tidings_delivery d;
    for (;;) {
        int result = tidings_next(w->observer, -1, &d);
        if (result == 0) {
            board_note(w, &d);
            if (w->in_place) note_in_place(w, &d);
        } else if (result == -EINTR && machine.over) {
            break;
        } else if (result != -EINTR) {
            machine_violation("tidings_next: %d", result);
        }
    }
    board_rest(w, w);
}

void board_leave(watcher *w) {
    tidings_observer_close(w->observer);
    w->observer = NULL;
    w->left = true;
    release(w);
}

// MARK: Afterwards

// Posts at an unknown position: their poster died in the call, and no living observer was given them.
static uint32_t unknown(const watcher *w) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < board.post_count; i++)
        count += !board.posts[i].known && !board.posts[i].returned && board_matches(w, &board.posts[i]);
    return count;
}

// How many were posted there, in the open interval.
static uint32_t between(const watcher *w, uint64_t low, uint64_t high, uint64_t since_begun, uint64_t until_returned) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < board.post_count; i++) {
        const board_post *post = &board.posts[i];
        if (!post->known || !board_matches(w, post) || post->sequence < low || post->sequence >= high) continue;
        if (post->begun < since_begun || (until_returned && post->returned && post->returned < until_returned))
            continue;
        count++;
    }
    return count;
}

static void account(const watcher *w) {
    if (!w->left) return;  // killed
    uint64_t from = w->first, missed = 0;
    bool history = w->flags & TIDINGS_ADD_HISTORY, begun = w->added == 0;  // where it begins is known exactly
    uint32_t maybe = unknown(w);
    if (w->reader) {
        // It may tell of a loss later than where it was: all in all it is as much.
        uint64_t told = 0;
        for (uint32_t i = 0; i < w->count; i++) told += w->told[i].missed ? w->told[i].missed : 1;
        uint32_t least = between(w, from, UINT64_MAX, begun ? 0 : w->added, 0),
                 most = between(w, from, UINT64_MAX, 0, begun ? 0 : w->adding) + maybe;
        if (w->removing) least = 0;
        if (told < least || told > most)
            machine_violation("%s was told of %llu, or that it missed them; it is %u%s", w->fiber->name,
                              (unsigned long long)told, least, least == most ? "" : " at least");
        return;
    }
    for (uint32_t i = 0; i <= w->count; i++) {
        bool end = i == w->count;
        if (!end && w->told[i].missed) {
            missed += w->told[i].missed;
            continue;
        }
        if (!end && w->told[i].kept) continue;
        uint64_t to = end ? UINT64_MAX : w->told[i].sequence;
        // An observer that registers meanwhile gets each post that began after the registration. It gets no post that
        // had returned before the registration began.
        uint32_t least = between(w, from, to, begun ? 0 : w->added, 0),
                 most = between(w, from, to, 0, begun || history ? 0 : w->adding) + maybe;
        if ((w->removing && end) || (history && from == w->first)) least = 0;
        if (missed < least || missed > most)
            machine_violation("%s was told that it missed %llu from %llu to %lld; it is %u%s", w->fiber->name,
                              (unsigned long long)missed, (unsigned long long)from, end ? -1LL : (long long)to, least,
                              least == most ? "" : " at least");
        missed = 0;
        begun = true;
        from = to + 1;
    }
}

// A value of a later post of its name, or of one that may be later.
static bool replaced(const board_post *value) {
    for (uint32_t i = 0; i < board.post_count; i++) {
        const board_post *post = &board.posts[i];
        if (post != value && post->value && strcmp(post->name, value->name) == 0 &&
            (post->known ? post->sequence > value->sequence : !post->returned))
            return true;
    }
    return false;
}

// The newest value of each name: kept, or as it was posted.
static void values_came(const watcher *w) {
    if (!(w->flags & TIDINGS_ADD_RETAINED) || !w->left || w->removing) return;
    for (uint32_t i = 0; i < board.post_count; i++) {
        const board_post *post = &board.posts[i];
        if (!post->value || !post->known || !board_matches(w, post) || replaced(post)) continue;
        bool told = false;
        for (uint32_t j = 0; j < w->count; j++) told |= w->told[j].missed > 0 || w->told[j].post == i;
        if (!told)
            machine_violation("%s was never told of the value at %llu", w->fiber->name,
                              (unsigned long long)post->sequence);
    }
}

void board_verify(void) {
    for (uint32_t i = 0; i < board.post_count; i++) {
        const board_post *a = &board.posts[i];
        if (!a->known) continue;
        for (uint32_t j = 0; j < board.post_count; j++) {
            const board_post *b = &board.posts[j];
            if (i == j || !b->known) continue;
            if (a->sequence == b->sequence)
                machine_violation("posts %u and %u are both at %llu", i, j, (unsigned long long)a->sequence);
            if (a->returned && a->returned < b->begun && a->sequence > b->sequence)
                machine_violation("post %u began after post %u had returned, and stands before it", j, i);
        }
    }
    for (uint32_t i = 0; i < board.watcher_count; i++) {
        account(&board.watchers[i]);
        values_came(&board.watchers[i]);
    }
}

void board_print(void) {
    for (uint32_t i = 0; i < board.post_count; i++) {
        const board_post *post = &board.posts[i];
        printf("  post %u, \"%s\": ", i, post->name);
        if (post->known) printf("at %llu", (unsigned long long)post->sequence);
        printf(post->returned ? post->result ? ", refused\n" : "\n" : ", has not returned\n");
    }
    for (uint32_t i = 0; i < board.watcher_count; i++) {
        const watcher *w = &board.watchers[i];
        printf("  %s, from %llu on:", w->fiber->name, (unsigned long long)w->first);
        for (uint32_t j = 0; j < w->count; j++) {
            if (w->told[j].missed)
                printf(" %llu missed;", (unsigned long long)w->told[j].missed);
            else
                printf(" %s%llu,", w->told[j].kept ? "kept " : "", (unsigned long long)w->told[j].sequence);
        }
        printf("\n");
    }
}
