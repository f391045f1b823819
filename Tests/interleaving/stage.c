#include "stage.h"

#include <errno.h>
#include <string.h>

#include "calls/calls.h"
#include "center/center.h"
#include "platform/clock.h"
#include "receiving/observer.h"
#include "registry/observers.h"
#include "ring/chunk.h"
#include "segment/eviction.h"
#include "segment/position.h"

// MARK: A small center

tidings_center *director;
uint32_t mode;

// A handle decides by its own copy of the shape, so a small part of a small center is made by lying to it: as many
// slots as the protocol can live with (eviction is by a quarter of the ring), and so few chunks, observers and names
// that all run out.
static tidings_center *handle_for(uint32_t flags) {
    const tidings_configuration smallest = {.slots = 256,
                                            .participants = 8,
                                            .observers = 8,
                                            .names = 64,
                                            .maximum_payload = 1000,
                                            .mode = mode,
                                            .flags = flags};
    tidings_center *center = machine_open(&smallest);
    tidings__segment *s = &center->segment;
    s->shape.slots = SLOTS;
    s->slot_mask = SLOTS - 1;
    for (s->slot_shift = 0; 1u << s->slot_shift < SLOTS;) s->slot_shift++;
    s->shape.names = NAMES;
    s->shape.buckets = 1;
    s->geometry.class_count = 1;
    s->geometry.classes[0].count = s->geometry.chunk_count = CHUNKS;
    // Or each schedule would begin with the same questions to the file.
    for (uint32_t i = 0; i < CHUNKS && s->writable; i++) tidings__back_chunk(s, i, s->geometry.classes[0].size);
    s->geometry.call_count = CALLS;
    if (s->writable) tidings__back_calls(s, CALLS);
    if (s->writable) tidings__back_holds(s);
    return center;
}
tidings_center *handle(void) { return handle_for(0); }

tidings_publisher *publisher(tidings_center *center, const char *name) {
    tidings_publisher *result;
    if (tidings_publisher_open(center, name, strlen(name), NULL, 0, &result) != 0)
        machine_violation("%s", tidings_last_error());
    return result;
}

// MARK: Posters

poster posters[3];
uint32_t poster_count;

static void post(void *argument) {
    poster *p = argument;
    for (uint32_t i = 0; i < p->posts; i++) {
        bool rare = p->rare && i == p->rarely;
        int result = board_send(rare ? p->rare : p->publisher, rare ? "k" : p->name, p->size, &p->options);
        // Chunks may run out while other posters fill theirs.
        if (result != 0 && !(result == -EAGAIN && (p->size > 200 || p->may_be_refused)))
            machine_violation("tidings_post: %d", result);
    }
}

poster *add_poster_of(const char *who, tidings_center *center, const char *name, uint32_t posts) {
    poster *p = &posters[poster_count++];
    *p = (poster){
        .publisher = publisher(center, name), .name = name, .posts = posts, .size = 24, .options = {.timeout_ns = -1}};
    p->fiber = machine_fiber(who, center, post, p);
    return p;
}
poster *add_poster(const char *who, const char *name, uint32_t posts) {
    return add_poster_of(who, handle(), name, posts);
}

// MARK: Observers

static void watch(void *argument) { board_watch(argument); }

void begin_watching(watcher *w) {
    int result = tidings_observer_open(w->center, w->lossless ? TIDINGS_OBSERVE_LOSSLESS : 0, &w->observer);
    if (result == 0 && w->in_place) tidings_observer_in_place(w->observer, 0);
    if (result == 0 && w->flags & TIDINGS_ADD_HISTORY) result = tidings_observer_seek(w->observer, 0);
    if (result == 0) w->first = w->observer->cursor;
    w->adding = machine.current ? ++board.events : 0;
    // In a full table: until the thread that takes entries out is done, or the entries of one that died at it are
    // reclaimed.
    for (int tries = 0; result == 0 && tries < 30; tries++) {
        result = tidings_observer_add(w->observer, w->name, w->name ? strlen(w->name) : 0, NULL, 0, w->flags,
                                      &w->subscription);
        if (result != -ENOSPC || tries == 29) break;
        result = 0;
        tidings__yield();
    }
    if (result != 0) machine_violation("can't observe: %d, %s", result, tidings_last_error());
    w->added = machine.current ? ++board.events : 0;
    w->entry = tidings__relaxed(&w->observer->table)->of[0]->entry;
    w->entry_since = board.events;
}

static watcher *add(const char *who, tidings_center *center, const char *name, watcher kind) {
    watcher *w = board_watcher(name, 0);
    w->center = center;
    w->lossless = kind.lossless;
    w->in_place = kind.in_place;
    w->holds = kind.holds;
    w->fiber = machine_fiber(who, center, watch, w);
    w->fiber->bystander = true;
    begin_watching(w);
    return w;
}
watcher *add_watcher_of(const char *who, tidings_center *center, const char *name, bool lossless) {
    return add(who, center, name, (watcher){.lossless = lossless});
}
watcher *add_watcher_in_place(const char *who, const char *name, bool lossless, bool holds) {
    return add(who, handle(), name, (watcher){.lossless = lossless, .in_place = true, .holds = holds});
}
watcher *add_watcher(const char *who, const char *name) { return add_watcher_of(who, handle(), name, false); }

void register_and_watch(void *argument) {
    begin_watching(argument);
    board_watch(argument);
}
watcher *add_reader(const char *who, const char *name, bool later) {
    watcher *w = later ? board_watcher(name, 0) : add_watcher_of(who, handle_for(TIDINGS_OPEN_READ_ONLY), name, false);
    w->reader = true;
    if (!later) return w;
    w->center = handle_for(TIDINGS_OPEN_READ_ONLY);
    w->fiber = machine_fiber(who, w->center, register_and_watch, w);
    w->fiber->bystander = true;
    return w;
}

watcher *add_newcomer(const char *who, const char *name, uint32_t flags) {
    watcher *w = board_watcher(name, flags);
    w->center = handle();
    w->fiber = machine_fiber(who, w->center, register_and_watch, w);
    w->fiber->bystander = true;
    return w;
}

void prefill(const char *name, uint32_t count) {
    tidings_publisher *before = publisher(director, name);
    for (uint32_t i = 0; i < count; i++) board_send(before, name, 16, NULL);
}

void open_center(void) { director = handle(); }

// MARK: What is left

// Everything has been evicted, so everything has been counted: each once.
static void count_of_each_name(const tidings__segment *s) {
    for (uint32_t i = 0; i < board.watcher_count; i++) {
        const watcher *w = &board.watchers[i];
        if (w->added || w->reader || !w->name || !w->entry) continue;
        uint64_t least = 0, maybe = 0, count = s->names[w->entry].tally.count;
        for (uint32_t j = 0; j < board.post_count; j++) {
            const board_post *post = &board.posts[j];
            if (post->begun <= w->entry_since || !board_matches(w, post)) continue;
            if (post->known)
                least++;
            else if (!post->returned)
                maybe++;
        }
        if (count < least || count > least + maybe)
            machine_violation("%llu of \"%s\" were counted, of %llu", (unsigned long long)count, w->name,
                              (unsigned long long)least);
    }
}

// Each chain ends, and leads to no entry that may be used for another name.
static void chains_are_sound(const tidings__segment *s) {
    for (uint32_t i = 0; i < s->shape.buckets; i++) {
        uint32_t index = (uint32_t)s->buckets[i];
        for (uint32_t steps = 0; index != TIDINGS__NAME_NONE; index = (uint32_t)s->names[index].next, steps++) {
            const uint32_t state = (uint32_t)s->names[index].state & 0xf;
            if (state == TIDINGS__NAME_FREE || state == TIDINGS__NAME_PREPARING)
                machine_violation("name entry %u is linked and free", index);
            if (steps > s->shape.names) machine_violation("a chain of names is a cycle");
        }
    }
}

void stage_orphans(void) {
    tidings__segment *s = &director->segment;
    for (uint32_t i = 0; i < machine.fiber_count; i++) {
        fiber *f = &machine.fibers[i];
        if (f->state == DEAD) continue;
        if (f->state != ENDED) machine_violation("%s never ended", f->name);
        if (f->pending || f->thread.inside) machine_violation("%s is still inside a post", f->name);
    }
    chains_are_sound(s);
    tidings_reclaim(director);
    for (uint32_t i = 0; i < machine.fiber_count; i++) {
        fiber *f = &machine.fibers[i];
        if (f->state != DEAD || !f->center->segment.writable) continue;
        if (tidings__relaxed(&s->participants[f->center->participant].instance) != 0)
            machine_violation("%s was not reclaimed", f->name);
    }
    for (uint32_t i = 0; i < SLOTS; i++)
        if (tidings__busy(s->cells[i].claim, s->cells[i].commit, s->cells[i].verdict))
            machine_violation("slot %u is held for ever", i);
    // The ring still works, and forgets all that was.
    tidings_publisher *last = publisher(director, "z");
    for (uint32_t i = 0; i < 2 * SLOTS; i++) {
        uint64_t nothing = 0;
        int result = tidings_post(last, &nothing, sizeof nothing, NULL, NULL);
        if (result != 0) machine_violation("afterwards, tidings_post: %d, %s", result, tidings_last_error());
    }
    tidings_publisher_close(last);
    uint64_t oldest = tidings__oldest(s);
    count_of_each_name(s);
    for (uint32_t i = 0; i < TIDINGS__MAP_WORDS; i++)
        if (s->header->asleep[i] || s->header->lossless[i]) machine_violation("bits of observers that have gone");
    for (uint32_t i = 0; i < s->shape.observers; i++)
        if (s->observers[i].owner || *tidings__doorbell(s, i) & 1)
            machine_violation("observer place %u was left behind", i);
    uint32_t kept = 0, retained = 0;
    for (uint32_t i = TIDINGS__NAME_ALL; i < s->shape.names; i++) {
        uint32_t state = (uint32_t)s->names[i].state & 0xf, chunk = (uint32_t)s->names[i].retained & 0xffff;
        // (A free one is cleared when it is taken.)
        if (state != TIDINGS__NAME_FREE && tidings__name_members(&s->names[i]))
            machine_violation("name entry %u still has members", i);
        if (state == TIDINGS__NAME_PREPARING || state == TIDINGS__NAME_LEAVING)
            machine_violation("name entry %u is half made", i);
        kept += chunk != 0 && chunk != TIDINGS__RETAINED_EXPECTED;
    }
    tidings_reclaim(director);
    for (uint32_t i = 0; i < CHUNKS; i++) {
        uint64_t word = s->chunk_words[i];
        uint32_t state = tidings__chunk_state(word);
        retained += state == TIDINGS__CHUNK_RETAINED;
        if (state == TIDINGS__CHUNK_OWNED) machine_violation("chunk %u is still owned", i);
        if (state == TIDINGS__CHUNK_REPLY) machine_violation("chunk %u is still of a reply", i);
        if (state == TIDINGS__CHUNK_IN_RING && !tidings__chunk_before(word, oldest))
            machine_violation("chunk %u is still in the ring", i);
    }
    for (uint32_t i = 0; i < tidings__calls_end(s); i++)
        if (tidings__call_state(s->calls[i].state) != TIDINGS__CALL_FREE)
            machine_violation("call %u is left in state %u", i, tidings__call_state(s->calls[i].state));
    for (uint32_t i = 0; i < s->shape.participants * TIDINGS__HOLDS; i++)
        if (s->holds[i / TIDINGS__HOLDS].held[i % TIDINGS__HOLDS])
            machine_violation("participant %u still holds a chunk", i / TIDINGS__HOLDS);
    if (retained != kept) machine_violation("%u chunks are kept, for %u values", retained, kept);
}
