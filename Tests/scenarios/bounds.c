// The processor time of each public call, in centers that are large, full of the dead, or spoiled. tidings.h states the
// bounds: 20 ms in a center of the default shape, 250 ms in the
// largest. What a call waits for is no processor time. Each call meets its center as a process does that has touched
// none of its pages yet.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include "calls/calls.h"
#include "center/center.h"
#include "peer.h"
#include "posting/publisher.h"
#include "receiving/observer.h"
#include "registry/name_table.h"
#include "registry/presence.h"
#include "registry/tally.h"
#include "ring/chunk.h"
#include "segment/eviction.h"
#include "segment/position.h"

// The bounds hold for optimized code where this is developed. What is asserted leaves room for a machine of a quarter
// of its speed, and for code that is not optimized. The faults that this looks for took 50 to 400 times the bound.
#ifdef __OPTIMIZE__
#define PLAIN_SLOWER 4.0
#else
#define PLAIN_SLOWER 12.0
#endif
#define SLOWER (SANITIZED ? 60.0 : PLAIN_SLOWER)
#define DEFAULT_MS 20.0
#define LARGEST_MS 250.0

static const char *world;  // what was done to the center, for the line that tells of a failure
static double bound_ms;
static tidings_center *center;

static double processor_ms(void) {
    struct timespec used;
    CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0, "%s", strerror(errno));
    return (double)used.tv_sec * 1e3 + (double)used.tv_nsec / 1e6;
}

static void untouched(void) {
    if (center) madvise(center->segment.base, center->segment.size, MADV_DONTNEED);
}

static void within(double used, double bound, const char *call) {
    const char *figures =
        getenv("TIDINGS_TEST_FIGURES");  // prints what takes at least so many milliseconds, and goes on
    if (figures && used >= atof(figures)) printf("%-24s %9.3f ms of %3.0f  %s\n", world, used, bound, call);
    CHECK(figures || used <= bound * SLOWER, "%s: %s took %.1f ms of processor time, more than %.0f", world, call, used,
          bound);
}

#define MEASURED(bound, call)                                                                                          \
    do {                                                                                                               \
        untouched();                                                                                                   \
        const double before = processor_ms();                                                                          \
        (void)(call);                                                                                                  \
        within(processor_ms() - before, bound, #call);                                                                 \
    } while (0)
#define BOUNDED(call) MEASURED(bound_ms, call)

static bool count_it(void *context, const tidings_stale_file *stale_file) {
    (void)stale_file;
    ++*(uint32_t *)context;
    return true;
}

// MARK: Each call once

static void opening(const char *name) {
    tidings_center *another = NULL;
    BOUNDED(tidings_open(name, NULL, &another));
    if (another) BOUNDED(tidings_close(another));
    another = NULL;
    BOUNDED(tidings_open(name, &(tidings_configuration){.flags = TIDINGS_OPEN_READ_ONLY}, &another));
    if (another) BOUNDED(tidings_close(another));
    BOUNDED(tidings_path(center));
    BOUNDED(tidings_incarnation(center));
    BOUNDED(tidings_ended(center));
    BOUNDED(tidings_last_error());
    BOUNDED(tidings_last_error_set("a line"));
    BOUNDED(tidings_default_directory());
    uint32_t stale_files = 0;
    BOUNDED(tidings_stale_files(NULL, false, count_it, &stale_files));
}

static void posting(void) {
    static _Alignas(8) char memory[TIDINGS_PUBLISHER_SIZE_MAX];
    static char large[100000];
    tidings_publisher *publisher = NULL, *other = NULL;
    BOUNDED(tidings_publisher_open(center, NAME, strlen(NAME), "subject", 7, &publisher));
    BOUNDED(tidings_publisher_size(3, 3));
    BOUNDED(tidings_publisher_place(center, "new", 3, NULL, 0, memory, sizeof memory, &other));
    const tidings_post_options retain = {.flags = TIDINGS_POST_RETAIN};
    tidings_reservation reservation = {0};
    for (int i = 0; i < 2; i++) {
        tidings_publisher *of = i == 0 ? publisher : other;
        BOUNDED(tidings_post(of, "x", 1, NULL, NULL));
        BOUNDED(tidings_post(of, large, sizeof large, NULL, NULL));
        tidings_holder holder;
        BOUNDED(tidings_last_error_holder(&holder));
        const tidings_payload payloads[] = {{"x", 1}, {large, sizeof large}, {"x", 1}};
        BOUNDED(tidings_post_many(of, payloads, 3, NULL, NULL, NULL));
        BOUNDED(tidings_post(of, "x", 1, &retain, NULL));
        BOUNDED(tidings_state_set(of, large, 3000, NULL, NULL));
        size_t size = sizeof large;
        BOUNDED(tidings_state_get(of, large, &size, NULL, NULL));
        BOUNDED(tidings_state_set(of, NULL, 0, NULL, NULL));
        if (tidings_reserve(center, 3000, &reservation) == 0) BOUNDED(tidings_abandon(center, &reservation));
        BOUNDED(tidings_reserve(center, 3000, &reservation));
        BOUNDED(tidings_reserve_more(center, &reservation, 10, 30000));
        BOUNDED(tidings_post_reserved(of, &reservation, 20000, NULL, NULL));
    }
    BOUNDED(tidings_publisher_close(publisher));
}

static void observing_with(uint32_t flags) {
    tidings_observer *observer = NULL;
    tidings_delivery delivery;
    uint32_t subscription[4] = {0};
    int descriptor;
    BOUNDED(tidings_observer_open(center, flags, &observer));
    if (!observer) return;
    BOUNDED(tidings_observer_seek_after(observer, tidings_incarnation(center), 0));
    BOUNDED(tidings_observer_seek(observer, 0));
    const uint32_t history = TIDINGS_ADD_HISTORY | TIDINGS_ADD_RETAINED;
    // Once before the names, which may reclaim and take out what a prefix would find.
    if (flags) BOUNDED(tidings_observer_add(observer, "c", 1, NULL, 0, history | TIDINGS_ADD_PREFIX, &subscription[2]));
    BOUNDED(tidings_observer_add(observer, NAME, strlen(NAME), "subject", 7, history, &subscription[0]));
    BOUNDED(tidings_observer_add(observer, NULL, 0, NULL, 0, history, &subscription[1]));
    BOUNDED(tidings_observer_add(observer, "com", 3, NULL, 0, history | TIDINGS_ADD_PREFIX, &subscription[2]));
    BOUNDED(tidings_observer_add(observer, "one more", 8, NULL, 0, history, &subscription[3]));
    BOUNDED(tidings_observer_spin(observer, 0));
    BOUNDED(tidings_observer_lend(observer, 1, NULL, NULL));
    BOUNDED(tidings_observer_in_place(observer, 0));
    tidings_held held;
    for (int i = 0; i < 3; i++) {
        BOUNDED(tidings_next(observer, 0, &delivery));
        BOUNDED(tidings_hold(observer, &delivery, &held));
        BOUNDED(tidings_release(&held));
    }
    tidings_delivery deliveries[4];
    BOUNDED(tidings_next_many(observer, 0, deliveries, 4));
    void *detached;
    BOUNDED(tidings_observer_detach(observer, &delivery, 1, &detached));
    free(detached);
    BOUNDED(tidings_observer_position(observer));
    BOUNDED(tidings_posted(center));
    BOUNDED(tidings_nothing_since(center, tidings_observer_position(observer)));
    for (int i = 0; i < 2; i++) BOUNDED(tidings_observer_remove(observer, subscription[i]));
    BOUNDED(tidings_observer_remove_many(observer, &subscription[2], 2));
    BOUNDED(tidings_next(observer, 0, &delivery));
    BOUNDED(tidings_observer_interrupt(observer));
    BOUNDED(tidings_next(observer, -1, &delivery));
    BOUNDED(tidings_observer_await_successor(observer, 0));
    if (!flags) BOUNDED(tidings_observer_descriptor(observer, &descriptor));
    BOUNDED(tidings_observer_close(observer));
}

static void looking(void) {
    tidings_statistics statistics;
    tidings_participant_info participant;
    tidings_participant_observers observers;
    tidings_participant_holds holds;
    tidings_name_info name;
    tidings_orphans orphans;
    BOUNDED(tidings_statistics_get(center, &statistics));
    for (uint32_t i = 0; i < 2; i++) {
        BOUNDED(tidings_participant(center, i, &participant));
        BOUNDED(tidings_participant_observers_get(center, i, &observers));
        BOUNDED(tidings_participant_holds_get(center, i, &holds));
    }
    for (uint32_t i = 0; i < 4; i++) BOUNDED(tidings_name(center, i, &name));
    BOUNDED(tidings_orphans_get(center, &orphans));
    uint32_t values, values_max;
    BOUNDED(tidings_values(center, &values, &values_max));
    // As many sections as there may be, and none of the type.
    static const uint64_t sections[TIDINGS_SECTIONS_MAX / 8 - 1];
    const tidings_delivery delivery = {
        .flags = TIDINGS_DELIVERY_SECTIONS, .sections = sections, .sections_size = sizeof sections};
    size_t size;
    BOUNDED(tidings_delivery_section(&delivery, TIDINGS_SECTION_ORIGIN, &size));
}

static void announcing(void) {
    const tidings_will will = {.name = NAME, .name_length = strlen(NAME), .payload = "x", .size = 1};
    BOUNDED(tidings_presence_watch(center));
    BOUNDED(tidings_announce(center, "role", 4, &will, 0));
    BOUNDED(tidings_withdraw(center));
    const tidings_delivery delivery = {.flags = TIDINGS_DELIVERY_PRESENCE, .payload = "", .size = 1};
    tidings_presence presence;
    BOUNDED(tidings_presence_read(&delivery, &presence));
}

#define SERVICE "s"

static bool go_on(void *context, const char *name, size_t name_length) {
    (void)context, (void)name, (void)name_length;
    return true;
}

static void requesting(void) {
    static char large[3000];
    static const tidings_reply_options part = {.more = true};
    tidings_server *server = NULL;
    tidings_caller *caller = NULL;
    tidings_request request = {0};
    BOUNDED(tidings_server_open(center, SERVICE, 1, &server));
    BOUNDED(tidings_caller_open(center, SERVICE, 1, &caller));
    uint64_t id[3] = {0};
    if (caller) {
        BOUNDED(tidings_call(caller, "x", 1, NULL, &id[0]));
        BOUNDED(tidings_call(caller, large, sizeof large, NULL, &id[1]));
        BOUNDED(tidings_call(caller, "x", 1, &(tidings_call_options){.flags = TIDINGS_CALL_IDEMPOTENT}, &id[2]));
    }
    BOUNDED(tidings_served(center, go_on, NULL));
    if (server) {
        BOUNDED(tidings_server_spin(server, 0));
        for (int i = 0; i < 2; i++) {
            BOUNDED(tidings_server_next(server, 0, &request));
            BOUNDED(tidings_reply(server, request.id, large, sizeof large, i ? &part : NULL));
        }
        BOUNDED(tidings_server_hold(server, true));
        BOUNDED(tidings_server_next(server, 0, &request));
        BOUNDED(tidings_server_hold(server, false));
        BOUNDED(tidings_server_next(server, 0, &request));
        BOUNDED(tidings_request_end(server, request.id, -ECONNRESET));
        BOUNDED(tidings_server_await_successor(server, 0));
        BOUNDED(tidings_server_interrupt(server));
    }
    if (caller) {
        tidings_outcome outcome;
        BOUNDED(tidings_caller_spin(caller, 0));
        BOUNDED(tidings_caller_next(caller, id[0], 0, &outcome));
        BOUNDED(tidings_caller_next(caller, 0, 0, &outcome));
        BOUNDED(tidings_call_continue(caller, id[1]));
        if (server) BOUNDED(tidings_server_next(server, 0, &request));
        BOUNDED(tidings_call_cancel(caller, id[2]));
        BOUNDED(tidings_caller_interrupt(caller));
        BOUNDED(tidings_caller_close(caller));
    }
    if (server) BOUNDED(tidings_server_close(server));
    BOUNDED(tidings_withdraw(center));
}

// MARK: The worlds

// Prepares for one call: everything else is done to the world again and again, as a call mends some of it.
static void fill_ring(const char *name) {
    tidings_publisher *publisher = publisher_of(center, name);
    for (uint32_t i = 0; i < center->segment.shape.slots; i++) OK(tidings_post(publisher, "x", 1, NULL, NULL));
}

// Each entry of the table linked, in chains of the length that as many honest ones would have, and named by a text of
// its own.
static void fill_names(void) {
    tidings__segment *s = &center->segment;
    OK(tidings__back_names(s, s->shape.names));
    for (uint32_t i = 0; i < s->shape.buckets; i++) atomic_store(&s->buckets[i], TIDINGS__NAME_NONE);
    for (uint32_t i = TIDINGS__NAME_FIRST; i < s->shape.names; i++) {
        tidings__name *name = &s->names[i];
        char text[16];
        tidings__key key;
        const int length = snprintf(text, sizeof text, "name %u", i);
        tidings__key_make(&key, text, (size_t)length, NULL, 0);
        memcpy((void *)name->key, text, (size_t)length);
        atomic_store(&name->hash, key.hash);
        atomic_store(&name->lengths, (uint32_t)length);
        _Atomic uint64_t *chain = tidings__name_chain(s, key.hash, false);
        atomic_store(&name->next, atomic_load(chain));
        atomic_store(&name->state, TIDINGS__NAME_LINKED);
        atomic_store(chain, i);
        atomic_store(&name->members[i / 64 % TIDINGS__MAP_WORDS], UINT64_C(1) << i % 64);
        atomic_store(&name->wake_group, 1u << i / 64 % TIDINGS__MAP_WORDS);
    }
    atomic_store(&s->header->names_used.word, s->shape.names);
}

// What dead participants leave: their entries are described, and no process holds their locks. Each observer belongs to
// one of them.
static void fill_dead(void) {
    tidings__segment *s = &center->segment;
    for (uint32_t i = 0; i < s->shape.participants; i++)
        if (i != center->participant) atomic_store(&s->participants[i].instance, 2 * i + 1);
    for (uint32_t i = 0; i < s->shape.observers; i++) {
        uint32_t owner = i * (s->shape.participants / s->shape.observers + 1) % s->shape.participants;
        if (owner == center->participant) owner++;
        atomic_store(&s->observers[i].owner, owner + 1);
        atomic_store(&s->observers[i].instance, 2 * owner + 1);
    }
}

static void as_it_is(void) {}
static void of_many_names(void) { fill_names(); }

static void of_the_dead(void) {
    fill_names();
    fill_dead();
}

static void of_the_dead_without_loss(void) {
    fill_names();
    fill_dead();
    tidings__segment *s = &center->segment;
    for (uint32_t i = 0; i < TIDINGS__MAP_WORDS; i++) atomic_store(&s->header->lossless[i], UINT64_MAX);
    for (uint32_t i = 0; i < s->shape.observers; i++) atomic_store(&s->observers[i].cursor, 0);
    for (uint32_t i = 0; i < TIDINGS__MAP_WORDS; i++) atomic_store(&s->names[TIDINGS__NAME_ALL].members[i], UINT64_MAX);
}

// Each name is being taken out, by a dead participant, and all are in one chain: in the order of the table, or in a
// random one.
static void of_one_chain(bool at_random) {
    fill_names();
    fill_dead();
    tidings__segment *s = &center->segment;
    const uint32_t count = s->shape.names - TIDINGS__NAME_FIRST;
    uint32_t *order = malloc(count * sizeof *order);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t other = at_random ? (uint32_t)random_below(i + 1) : i;
        order[i] = order[other];
        order[other] = TIDINGS__NAME_FIRST + i;
    }
    for (uint32_t i = 0; i < count; i++) {
        tidings__name *name = &s->names[order[i]];
        atomic_store(&name->state, (uint64_t)(i % s->shape.participants) << 4 | TIDINGS__NAME_GONE);
        atomic_store(&name->hash, 0);
        atomic_store(&name->next, TIDINGS__NEXT_MARK | (i + 1 < count ? order[i + 1] : TIDINGS__NAME_NONE));
    }
    for (uint32_t i = 0; i < s->shape.buckets; i++) atomic_store(&s->buckets[i], TIDINGS__NEXT_MARK | order[0]);
    free(order);
}
static void of_names_that_go(void) { of_one_chain(false); }
static void of_names_that_go_at_random(void) { of_one_chain(true); }

// Each name asks whether the ring holds its value, and no record answers.
static void of_values_to_come(void) {
    fill_names();
    tidings__segment *s = &center->segment;
    for (uint32_t i = TIDINGS__NAME_FIRST; i < s->shape.names; i++) {
        atomic_store(&s->names[i].retained, TIDINGS__RETAINED_EXPECTED);
        for (uint32_t word = 0; word < TIDINGS__MAP_WORDS; word++) atomic_store(&s->names[i].members[word], 0);
    }
}

// All free, and the ring may hold records of each.
static void of_names_in_quarantine(void) {
    fill_names();
    tidings__segment *s = &center->segment;
    const uint64_t end = tidings__frontier(s, tidings__oldest(s));
    for (uint32_t i = TIDINGS__NAME_FIRST; i < s->shape.names; i++) {
        atomic_store(&s->names[i].birth, end);
        atomic_store(&s->names[i].state, TIDINGS__NAME_FREE);
    }
    for (uint32_t i = 0; i < s->shape.buckets; i++) atomic_store(&s->buckets[i], 0);
}

// As many prefixes as there may be, of which each fits what is in the ring.
static void of_prefixes(void) {
    tidings__segment *s = &center->segment;
    uint32_t last = TIDINGS__NAME_NONE;
    OK(tidings__back_names(s, 300));
    for (uint32_t i = 40; i < 40 + TIDINGS_PREFIXES_MAX; i++) {
        tidings__name *name = &s->names[i];
        atomic_store(&name->lengths, TIDINGS__LENGTHS_PREFIX | 8);
        memcpy((void *)name->key, NAME, 8);
        atomic_store(&name->state, TIDINGS__NAME_LINKED);
        atomic_store(&name->next, last);
        for (uint32_t word = 0; word < TIDINGS__MAP_WORDS; word++) atomic_store(&name->members[word], UINT64_MAX);
        atomic_store(&name->wake_group, 0xffff);
        last = i;
    }
    atomic_store(&s->names[TIDINGS__NAME_ALL].next, last);
    if (atomic_load(&s->header->names_used.word) < 300) atomic_store(&s->header->names_used.word, 300);
}

// All of it at once: prefixes in a circle, dead lossless observers that look at everything.
static void of_prefixes_and_the_dead(void) {
    of_the_dead_without_loss();
    of_prefixes();
    atomic_store(&center->segment.names[40].next, 295);
}

// Each living name is taken, and what is evicted for one more has to be counted for each prefix.
static void of_prefixes_among_many_names(void) {
    fill_names();
    of_prefixes();
}

// As many prefixes as there may be, a ring of small records whose names have no entries, and each chunk in a later
// record: a post that needs a chunk evicts the ring. A lossless observer is behind, of a prefix that fits no record.
static void of_prefixes_and_large_posts(void) {
    tidings__segment *s = &center->segment;
    static _Alignas(8) char memory[TIDINGS_PUBLISHER_SIZE_MAX];
    char text[64];
    // Of the part before, in a center that was made anew in its place.
    for (uint32_t word = 0; word < TIDINGS__MAP_WORDS; word++) atomic_store(&s->header->lossless[word], 0);
    atomic_store(&s->names[TIDINGS__NAME_ALL].next, TIDINGS__NAME_NONE);
    // In an observable center each name gets an entry. So there are fewer names than entries: a post of one name more
    // would search the whole table.
    for (uint32_t i = 0; i < s->shape.slots; i++) {
        const uint32_t n = i % (s->shape.names / 2);
        const int length = snprintf(text, sizeof text, "org.example.level %u.%u", n * 7919 % TIDINGS_PREFIXES_MAX, n);
        tidings_publisher *publisher;
        OK(tidings_publisher_place(center, text, (size_t)length, NULL, 0, memory, sizeof memory, &publisher));
        OK(tidings_post(publisher, "x", 1, NULL, NULL));
    }
    of_prefixes();
    uint32_t behind = 0;
    while (atomic_load(&s->observers[behind].owner) != 0) behind++;
    const uint64_t bit = UINT64_C(1) << behind % 64;
    for (uint32_t i = 40; i < 40 + TIDINGS_PREFIXES_MAX; i++) {
        tidings__name *name = &s->names[i];
        const int length = snprintf(text, sizeof text, "org.example.level %u%s", i - 40, i == 295 ? "0" : "");
        memcpy((void *)name->key, text, (size_t)length + 1);
        atomic_store(&name->lengths, TIDINGS__LENGTHS_PREFIX | (uint32_t)length);
        if (i != 295)
            atomic_fetch_and(&name->members[behind / 64], ~bit);
        else
            atomic_store(&name->members[behind / 64], bit);
    }
    atomic_store(&s->observers[behind].owner, center->participant + 1);
    atomic_store(&s->observers[behind].instance, center->instance);
    atomic_store(&s->observers[behind].cursor, 0);
    atomic_fetch_or(&s->header->lossless[behind / 64], bit);
    const uint64_t last = tidings__frontier(s, tidings__oldest(s)) - 1;
    for (uint32_t i = 0; i < s->geometry.chunk_count; i++)
        atomic_store(&s->chunk_words[i], tidings__chunk_word(last, 0, TIDINGS__CHUNK_IN_RING));
}

// The ring names entries that have no memory, but that have some if a word of a peer is to be believed.
static void of_names_without_memory(void) {
    tidings__segment *s = &center->segment;
    fill_ring(NAME);
    const uint64_t first = tidings__oldest(s), last = tidings__frontier(s, first) - 1;
    for (uint64_t p = first; p <= last; p++) {
        const uint32_t index = s->shape.names - 1 - 2 * (uint32_t)(p % (s->shape.names / 4));
        atomic_store(&tidings__cell_at(s, p)->route, tidings__route_word(index, index - 1, 0, 0));
    }
    atomic_store(&s->header->names_backed.word, UINT64_MAX);
    for (uint32_t i = 0; i < s->geometry.chunk_count; i++)
        atomic_store(&s->chunk_words[i], tidings__chunk_word(last, 0, TIDINGS__CHUNK_IN_RING));
}

// Each slot claimed by a participant that is there and goes on with none of them.
static void of_claims_by(bool honest) {
    tidings__segment *s = &center->segment;
    for (uint64_t p = tidings__oldest(s); p < tidings__oldest(s) + s->shape.slots; p++) {
        tidings__cell *cell = tidings__cell_at(s, p);
        const uint64_t phase = ~atomic_load(&cell->commit) & 1;
        // An honest participant has committed no later position of these slots. A hostile one says that it has, so that
        // no revocation ends its claims.
        atomic_store(&cell->commit, honest ? !phase : UINT64_MAX - 2 * (uint64_t)s->shape.slots + !phase - 1);
        atomic_store(&cell->claim, tidings__lap_at(s, p) << TIDINGS__W_LAP_SHIFT | (uint64_t)!phase << 32 |
                                       TIDINGS__W_FOREIGN | center->participant);
    }
}

static void of_claims(void) { of_claims_by(true); }
static void of_claims_without_end(void) { of_claims_by(false); }

// Observers of a participant that lives, of everything that there is, and without loss: all but one have taken what is
// in the ring, and that one looks at no name.
static void of_observers_ahead(void) {
    of_prefixes();
    tidings__segment *s = &center->segment;
    for (uint32_t i = 0; i < s->shape.observers; i++) {
        if (atomic_load(&s->observers[i].owner) != 0) continue;
        atomic_store(&s->observers[i].owner, center->participant + 1);
        atomic_store(&s->observers[i].instance, center->instance);
        atomic_store(&s->observers[i].cursor, i == 63 ? 0 : UINT64_MAX >> 1);
    }
    for (uint32_t word = 0; word < TIDINGS__MAP_WORDS; word++) {
        atomic_store(&s->header->lossless[word], UINT64_MAX);
        atomic_store(&s->names[TIDINGS__NAME_ALL].members[word], word == 0 ? UINT64_MAX >> 1 : UINT64_MAX);
        for (uint32_t i = 40; i < 40 + TIDINGS_PREFIXES_MAX; i++)
            atomic_store(&s->names[i].members[word], word == 0 ? UINT64_MAX >> 1 : UINT64_MAX);
    }
}

// All are asleep, and look at everything.
static void of_sleepers(void) {
    of_prefixes();
    tidings__segment *s = &center->segment;
    for (uint32_t i = 0; i < s->shape.observers; i++) atomic_store(&s->observers[i].doorbell, 1);
    for (uint32_t word = 0; word < TIDINGS__MAP_WORDS; word++) {
        atomic_store(&s->header->asleep[word], UINT64_MAX);
        atomic_store(&s->names[TIDINGS__NAME_ALL].members[word], UINT64_MAX);
    }
    atomic_store(&s->names[TIDINGS__NAME_ALL].wake_group, 0xffff);
}

// Each place for a payload is a dead one's, or holds a value of no name.
static void of_chunks(void) {
    fill_dead();
    tidings__segment *s = &center->segment;
    for (uint32_t i = 0; i < s->geometry.chunk_count; i++)
        atomic_store(&s->chunk_words[i], tidings__chunk_word(i, i % s->shape.participants,
                                                             i % 2 ? TIDINGS__CHUNK_OWNED : TIDINGS__CHUNK_RETAINED));
}

// Each chunk is of an evicted record and held, and the rows of holds are full.
static void of_holds(void) {
    fill_ring(NAME);
    fill_ring(NAME);
    tidings__segment *s = &center->segment;
    OK(tidings__back_holds(s));
    for (uint32_t i = 0; i < s->geometry.chunk_count; i++)
        atomic_store(&s->chunk_words[i], tidings__chunk_word(0, 0, TIDINGS__CHUNK_IN_RING) | TIDINGS__CHUNK_HELD);
    for (uint32_t i = 0; i < s->shape.participants; i++) {
        uint64_t unused = 0;
        (void)tidings__cas(&s->participants[i].instance, &unused, 1);
        atomic_store(&s->holds[i].held_end, UINT64_MAX);
        for (uint32_t at = 0; at < TIDINGS__HOLDS; at++)
            // From the last row on, so that no search finds a hold early.
            atomic_store(&s->holds[i].held[at], (s->shape.participants - 1 - i) * TIDINGS__HOLDS + at + 1);
    }
    atomic_store(&s->header->holds_used.word, UINT64_MAX);
}

// A value that is where it can't be found: each look at the ring ends at a chunk of another position.
static void of_a_value_nowhere(void) {
    tidings__segment *s = &center->segment;
    tidings_publisher *publisher = publisher_of(center, NAME);
    OK(tidings_state_set(publisher, "x", 1, NULL, NULL));
    const uint32_t entry = tidings__name_find(s, &publisher->key);
    fill_ring(NAME);
    fill_ring(NAME);
    const uint64_t retained = atomic_load(&s->names[entry].retained);
    CHECK((retained & 0xffff) != 0 && retained > TIDINGS__RETAINED_EXPECTED, "no value: %lx", (unsigned long)retained);
    atomic_fetch_add(&s->chunk_words[(retained & 0xffff) - 1], UINT64_C(1) << 16);
}

// A report of each participant has been begun, with the whole ring to search.
static void of_reports(void) {
    tidings__segment *s = &center->segment;
    OK(tidings__back_presence(s));
    fill_ring(NAME);
    for (uint32_t i = 0; i < s->shape.participants; i++) {
        atomic_store(&s->presence[i].announcement, i + 1);
        atomic_store(&s->presence[i].report,
                     tidings__report_next(0, tidings__oldest(s), i,
                                          i % 2 ? TIDINGS__PRESENCE_DYING : TIDINGS__PRESENCE_PRESENT));
    }
    atomic_store(&s->header->presence_used.word, s->shape.participants);
}

// The name of SERVICE, which an observer observes.
static uint32_t service_entry(uint64_t *generation) {
    tidings__key key;
    tidings__key_make(&key, TIDINGS_REQUESTS_PREFIX SERVICE, strlen(TIDINGS_REQUESTS_PREFIX SERVICE), NULL, 0);
    const uint32_t entry = tidings__name_find_now(&center->segment, &key, generation);
    CHECK(entry != TIDINGS__NAME_NONE, "no name");
    return entry;
}

// All calls are in use, of dead callers and dead servers: each is settled, and looks for a server among as many dead
// ones as there can be.
static void of_calls(void) {
    of_reports();
    fill_dead();
    tidings__segment *s = &center->segment;
    CHECK(observer_of(center, TIDINGS_REQUESTS_PREFIX SERVICE), "no observer");
    uint64_t generation;
    const uint32_t entry = service_entry(&generation);
    for (uint32_t word = 0; word < TIDINGS__MAP_WORDS; word++) atomic_store(&s->names[entry].members[word], UINT64_MAX);
    for (uint32_t i = 0; i < s->shape.observers; i++) atomic_store(&s->observers[i].serves, 1);
    OK(tidings__back_calls(s, s->geometry.call_count));
    for (uint32_t i = 0; i < s->geometry.call_count; i++) {
        tidings__call *call = &s->calls[i];
        static const uint64_t states[] = {TIDINGS__CALL_POSTED,
                                          TIDINGS__CALL_CLAIMED,
                                          TIDINGS__CALL_CLAIMED | TIDINGS__CALL_IDEMPOTENT,
                                          TIDINGS__CALL_POSTED | TIDINGS__CALL_AGAIN,
                                          TIDINGS__CALL_CANCELLED,
                                          TIDINGS__CALL_CLAIMED | TIDINGS__CALL_PART};
        const uint64_t caller = i * 7 % s->shape.participants, server = i * 5 % s->shape.participants;
        // Of one name, or of as many as there are calls.
        atomic_store(&call->name, i % 2 ? tidings__call_name(entry, generation)
                                        : tidings__call_name(i % s->shape.names, generation));
        atomic_store(&call->request_chunk, 1 + i % s->geometry.chunk_count);
        atomic_store(&call->reply_chunk, 1 + i % s->geometry.chunk_count);
        atomic_store(&call->state, UINT64_C(5) << 31 | server << 18 | caller << 6 | states[i % 6]);
    }
    atomic_store(&s->header->calls_used.word, s->geometry.call_count);
}

// A server that lives as long as the process. It is kept, so that it is no leak.
static void server_that_stays(void) {
    static tidings_server *servers[64];
    static uint32_t count;
    OK(tidings_server_open(center, SERVICE, 1, &servers[count++ % 64]));
}

// All calls wait for servers, each of a name of its own. Half of the observers are servers that live, and have these
// names in turns. They are to be told, again for each dead participant.
static void of_calls_that_stay(void) {
    // The largest center is made anew in its place, and then has no room for one more name.
    static uint64_t incarnation;
    if (incarnation != tidings_incarnation(center)) server_that_stays();
    incarnation = tidings_incarnation(center);
    tidings__segment *s = &center->segment;
    uint32_t observer = 0;
    while (observer < s->shape.observers && !atomic_load(&s->observers[observer].serves)) observer++;
    CHECK(observer < s->shape.observers, "no server");
    const uint32_t servers = s->shape.observers / 2;
    const uint32_t owner = atomic_load(&s->observers[observer].owner);
    const uint64_t instance = atomic_load(&s->observers[observer].instance);
    tidings__presence *own = &s->presence[center->participant];
    const uint64_t report = atomic_load(&own->report), announcement = atomic_load(&own->announcement);
    of_reports();
    fill_names();
    for (uint32_t i = TIDINGS__NAME_FIRST; i < s->shape.names; i++) {
        tidings__name *name = &s->names[i];
        char text[64];
        const int length = snprintf(text, sizeof text, TIDINGS_REQUESTS_PREFIX "%u", i);
        memcpy((void *)name->key, text, (size_t)length);
        atomic_store(&name->lengths, (uint32_t)length);
        for (uint32_t word = 0; word < TIDINGS__MAP_WORDS; word++)
            atomic_store(&name->members[word], word == i % servers / 64 ? UINT64_C(1) << i % servers % 64 : 0);
        atomic_store(&name->wake_group, 0xffff);
    }
    fill_dead();
    for (uint32_t i = 0; i < servers; i++) {
        atomic_store(&s->observers[i].owner, owner);
        atomic_store(&s->observers[i].instance, instance);
        atomic_store(&s->observers[i].serves, 1);
    }
    atomic_store(&own->report, report);
    atomic_store(&own->announcement, announcement);
    OK(tidings__back_calls(s, s->geometry.call_count));
    for (uint32_t i = 0; i < s->geometry.call_count; i++) {
        const uint32_t entry = TIDINGS__NAME_FIRST + i % (s->shape.names - TIDINGS__NAME_FIRST);
        tidings__call *call = &s->calls[i];
        atomic_store(&call->name, tidings__call_name(entry, tidings__name_generation(&s->names[entry])));
        atomic_store(&call->state, UINT64_C(5) << 31 | (uint64_t)center->participant << 6 | TIDINGS__CALL_POSTED |
                                       TIDINGS__CALL_AGAIN);
    }
    atomic_store(&s->header->calls_used.word, s->geometry.call_count);
}

// All calls are of one name and of a dead caller, and each has the same largest text.
static void of_calls_with_large_texts(void) {
    tidings__segment *s = &center->segment;
    // Without a server that lives, the calls would end before the first look at them.
    server_that_stays();
    uint64_t generation;
    const uint32_t entry = service_entry(&generation);
    const size_t size = s->shape.maximum_payload;
    uint8_t *large = calloc(1, size);
    OK(tidings_post(publisher_of(center, NAME), large, size, NULL, NULL));
    free(large);
    uint32_t chunk = s->geometry.chunk_count - 1;
    while (!tidings__chunk_has_memory(s, chunk, size)) chunk--;
    OK(tidings__back_calls(s, s->geometry.call_count));
    for (uint32_t i = 0; i < s->geometry.call_count; i++) {
        tidings__call *call = &s->calls[i];
        atomic_store(&call->name, tidings__call_name(entry, generation));
        atomic_store(&call->request_text, size);
        atomic_store(&call->request_chunk, chunk + 1);
        atomic_store(&call->state, UINT64_C(5) << 31 | UINT64_C(4095) << 6 | TIDINGS__CALL_POSTED);
    }
    atomic_store(&s->header->calls_used.word, s->geometry.call_count);
}

// Each notice of a death needs an entry for its name, and a walk along the full table finds none.
static void of_deaths_among_many_names(void) {
    of_reports();
    fill_names();
    fill_dead();
    tidings__segment *s = &center->segment;
    for (uint32_t i = 0; i < s->shape.participants; i++) {
        atomic_store(&s->presence[i].announcement, 2 * i + 1);
        atomic_store(&tidings__presence_line_at(s, i)->life[0], TIDINGS__LIFE_DIED);
        atomic_store(&s->presence[i].report,
                     tidings__report_next(0, tidings__report_bits(2 * i + 1), i, TIDINGS__PRESENCE_PRESENT));
    }
}

// Observers of a participant that lives, which need no record of the ring: the prefixes differ from the names in their
// last byte, or no observer has any of them.
static void of_prefixes_that_fit_nothing(bool observed) {
    of_prefixes();
    tidings__segment *s = &center->segment;
    char text[248];
    memset(text, 'x', sizeof text);
    // In the cells there is no room for so long a name, and in chunks there is room for few.
    for (uint32_t i = 0; i < s->shape.slots; i++) {
        atomic_fetch_and(&s->cells[i].poster, UINT64_MAX >> 8);
        atomic_store(&s->cells[i].route, 299);
    }
    atomic_store(&s->names[299].lengths, sizeof text);
    memcpy((void *)s->names[299].key, text, sizeof text);
    text[sizeof text - 1] = 'y';
    for (uint32_t i = 40; i < 40 + TIDINGS_PREFIXES_MAX; i++) {
        atomic_store(&s->names[i].lengths, TIDINGS__LENGTHS_PREFIX | sizeof text);
        memcpy((void *)s->names[i].key, text, sizeof text);
        for (uint32_t word = 0; word < TIDINGS__MAP_WORDS; word++)
            atomic_store(&s->names[i].members[word], observed ? UINT64_MAX : 0);
    }
    atomic_store(&s->names[40].next, 40 + TIDINGS_PREFIXES_MAX - 1);
    for (uint32_t i = 1; i < s->shape.observers; i++) {
        atomic_store(&s->observers[i].owner, center->participant + 1);
        atomic_store(&s->observers[i].instance, center->instance);
        atomic_store(&s->observers[i].cursor, 0);
        atomic_store(&s->observers[i].progress, UINT64_C(1) << 63);
        atomic_fetch_or(&s->header->lossless[i / 64], UINT64_C(1) << i % 64);
    }
}
static void of_long_prefixes(void) { of_prefixes_that_fit_nothing(true); }
static void of_unused_prefixes(void) { of_prefixes_that_fit_nothing(false); }

// Each name is being taken out, and dead observers have all prefixes there may be. One more prefix is being taken out,
// and is in no chain of its hash. A few entries of observers are free.
static void of_prefixes_of_the_dead(void) {
    of_names_that_go_at_random();
    of_prefixes();
    tidings__segment *s = &center->segment;
    for (uint32_t i = 0; i < 8; i++) atomic_store(&s->observers[i].owner, 0);
    for (uint32_t i = 40; i < 40 + TIDINGS_PREFIXES_MAX; i++) {
        char text[16];
        snprintf(text, sizeof text, "%08u", i);
        memcpy((void *)s->names[i].key, text, 8);
        atomic_store(&s->names[i].members[0], UINT64_MAX << 8);
    }
    atomic_store(&s->names[40].next, 30);
    atomic_store(&s->names[30].next, TIDINGS__NEXT_MARK);
}

static const struct {
    const char *name;
    void (*make)(void);
    bool largest;   // in the largest center too, where each takes some seconds
    uint32_t mode;  // of the default center
} worlds[] = {
    {"as it is", as_it_is, false, 0},
    {"many names", of_many_names, false, 0},
    {"the dead", of_the_dead, false, 0},
    {"the dead, lossless", of_the_dead_without_loss, true, 0},
    {"names that go", of_names_that_go, true, 0},
    {"names that go, at random", of_names_that_go_at_random, true, 0},
    {"values to come", of_values_to_come, true, 0},
    {"names in quarantine", of_names_in_quarantine, true, 0},
    {"prefixes", of_prefixes, false, 0},
    {"prefixes and the dead", of_prefixes_and_the_dead, false, 0},
    {"prefixes, many names", of_prefixes_among_many_names, true, 0},
    {"prefixes and large posts", of_prefixes_and_large_posts, true, 0},
    {"names without memory", of_names_without_memory, true, 0},
    {"claims", of_claims, false, 0},
    {"claims without end", of_claims_without_end, false, 0},
    {"observers ahead", of_observers_ahead, false, 0},
    {"sleepers", of_sleepers, false, 0},
    {"chunks", of_chunks, false, 0},
    {"holds", of_holds, true, 0},
    {"a value nowhere", of_a_value_nowhere, true, 0},
    {"reports", of_reports, true, 0},
    {"calls", of_calls, true, 0},
    {"calls that stay", of_calls_that_stay, true, 0},
    {"calls with large texts", of_calls_with_large_texts, false, 0},
    {"long prefixes", of_long_prefixes, true, 0},
    {"unused prefixes", of_unused_prefixes, true, 0},
    {"prefixes of the dead", of_prefixes_of_the_dead, true, 0},
    {"deaths, many names, readers", of_deaths_among_many_names, false, 0644},
};

// Worlds of the largest center take longest. Of these, a run takes one in five, from the one that `chosen` says: each
// may be chosen, however many there are. In full, or if a world is asked for: all.
#define LARGEST_SHARE 5u

static bool is_taken(size_t world_index, bool largest, uint64_t chosen) {
    const char *only = getenv("TIDINGS_TEST_WORLD");
    if (only) return strcmp(only, worlds[world_index].name) == 0 && (!largest || worlds[world_index].largest);
    if (!largest) return true;
    uint64_t before = 0;
    for (size_t i = 0; i < world_index; i++) before += worlds[i].largest;
    return worlds[world_index].largest && (full() || before % LARGEST_SHARE == chosen);
}

static void each_call_in_each_world(tidings_configuration configuration, double bound, bool largest) {
    bound_ms = bound;
    const bool all = full() || getenv("TIDINGS_TEST_WORLD");
    const uint64_t chosen = random_below(LARGEST_SHARE);
    for (size_t i = 0; i < sizeof worlds / sizeof worlds[0]; i++) {
        if (!is_taken(i, largest, chosen)) continue;
        const int taken = (int)random_below(3);
        for (int part = 0; part < 6; part++) {
            // In full, or in a world that is asked for: each part. Otherwise two of the six, which the seed chooses.
            if (!largest && !all && part % 3 != taken) continue;
            char name[40];
            snprintf(name, sizeof name, "bounds %zu %d", i, largest ? 0 : part);
            world = "a new center";
            // A new one for each part. The largest is made anew in its place: giving it its memory takes a second.
            if (part == 0 || !largest) {
                center = NULL;
                if (!largest) configuration.mode = worlds[i].mode;
                OK(tidings_open(name, &configuration, &center));
                fill_ring(NAME);
            }
            worlds[i].make();
            world = worlds[i].name;
            switch (part) {
                case 0: opening(name); break;
                case 1: posting(); break;
                case 2: observing_with(0); break;
                case 3: observing_with(TIDINGS_OBSERVE_LOSSLESS); break;
                case 4: looking(), announcing(), requesting(); break;
                default: BOUNDED(tidings_reclaim(center)); break;
            }
            if (part < 5 && largest) continue;
            BOUNDED(tidings_remove(name, NULL));
            tidings_center *closing = center;
            center = NULL;
            BOUNDED(tidings_close(closing));
        }
    }
}

// MARK: Deaths

#define DEATHS (SANITIZED ? 511u / 8 : 511u)
#define FEW_NAMES 4u
#define MANY_NAMES 127u  // of each observer: those of 511 dead participants fill the default table, but for 1 %

static uint32_t born, names_each;

static void observes_and_dies(void) {
    tidings_center *own = join_center(0);
    for (uint32_t i = 0; i < 2; i++) {
        tidings_observer *observer = observer_of_nothing(own);
        for (uint32_t k = 0; k < names_each; k++) {
            char name[32];
            uint32_t subscription;
            const int length = snprintf(name, sizeof name, "of %u %u", born, names_each * i + k);
            OK(tidings_observer_add(observer, name, (size_t)length, NULL, 0, 0, &subscription));
        }
    }
    _exit(0);
}

static void remain(tidings_center *own, uint32_t participants, uint32_t observers, uint32_t names) {
    tidings_orphans orphans;
    OK(tidings_orphans_get(own, &orphans));
    CHECK(orphans.participants == participants && orphans.observers == observers && orphans.names == names,
          "%u dead with %u observers of %u names, not %u, %u, %u", orphans.participants, orphans.observers,
          orphans.names, participants, observers, names);
}

static tidings_center *after_the_deaths(uint32_t names) {
    center = NULL;
    names_each = names;
    tidings_center *own = join_center(0);
    CHECK(own->segment.shape.participants == 512 && own->segment.shape.observers == 1024, "another default");
    for (born = 0; born < DEATHS; born++) ends_well(start(observes_and_dies));
    remain(own, DEATHS, 2 * DEATHS, 2 * names * DEATHS);
    return own;
}

static void opens_observers(uint32_t count) {
    tidings_observer *observer;
    for (uint32_t i = 0; i < count; i++) {
        MEASURED(bound_ms, tidings_observer_open(center, 0, &observer));
        CHECK(observer, "no place");
    }
}

// Two observer entries are free. The third opening reclaims what the dead left, in one walk along all names.
static void a_process_that_lives_opens(uint32_t names) {
    center = after_the_deaths(names);
    opens_observers(3);
    if (!SANITIZED) remain(center, 0, 0, 0);
}

// All participant entries are taken, so opening the center reclaims one dead participant. The fifth observer reclaims
// the rest of the dead.
static void opens_the_center_and_observers(void) {
    tidings_center *opened;
    MEASURED(bound_ms, tidings_open("scenario", NULL, &opened));
    center = opened;
    opens_observers(5);
    fflush(NULL);  // the figures, if they are asked for
}

static void a_new_process_opens(uint32_t names) {
    tidings_center *own = after_the_deaths(names);
    ends_well(start(opens_the_center_and_observers));
    if (!SANITIZED) remain(own, 1, 5, 0);  // that process, which closed nothing
}

// As a center finds them whose clients crash one after the other, while no process opened an observer all day.
void an_observer_opens_at_once_after_five_hundred_deaths(void) {
    bound_ms = 10;
    world = "511 deaths";
    a_process_that_lives_opens(FEW_NAMES);
}

void a_new_process_opens_an_observer_at_once_after_five_hundred_deaths(void) {
    bound_ms = 10;
    world = "511 deaths, a new process";
    a_new_process_opens(FEW_NAMES);
}

// A walk along a full table maps 88 MiB into a process that has touched none of it, which takes most of the time.
void an_observer_opens_within_its_bound_after_five_hundred_deaths_among_many_names(void) {
    bound_ms = DEFAULT_MS;
    world = "511 deaths, many names";
    a_process_that_lives_opens(MANY_NAMES);
}

void a_new_process_opens_an_observer_within_its_bound_among_many_names(void) {
    bound_ms = DEFAULT_MS;
    world = "511 deaths, many names, a new process";
    a_new_process_opens(MANY_NAMES);
}

static void makes_dead_observers(void) {
    tidings_center *own = join_center(0);
    tidings__segment *s = &own->segment;
    // Entries that belong to no process: no process holds their locks, whatever the entries say. There are many of
    // them: while one is found dead, this loop makes the rest look alive again.
    const uint32_t first = s->shape.participants / 4, many = s->shape.participants / 2;
    atomic_store(&s->names[TIDINGS__NAME_ALL].wake_group, 0xffff);
    for (uint64_t instance = 1;; instance += 2) {
        for (uint32_t i = 0; i < s->shape.observers; i++) {
            const uint32_t dead = first + i % many, owner = atomic_load(&s->observers[i].owner);
            if (owner != 0 && owner != dead + 1) continue;
            atomic_store(&s->participants[dead].instance, instance);
            atomic_store(&s->observers[i].owner, dead + 1);
            atomic_store(&s->observers[i].instance, instance);
            atomic_store(&s->observers[i].cursor, 0);
            atomic_fetch_or(&s->names[TIDINGS__NAME_ALL].members[i / 64], UINT64_C(1) << i % 64);
            atomic_fetch_or(&s->header->lossless[i / 64], UINT64_C(1) << i % 64);
        }
    }
}

// Each dead one is passed by, and there is always one more.
void a_peer_that_makes_dead_lossless_observers_holds_no_post(void) {
    world = "dead observers without end";
    bound_ms = DEFAULT_MS;
    center =
        join_center_with((tidings_configuration){.slots = ROUNDS(4096) < 4096 ? 512 : 4096, .names = ROUNDS(131072)});
    // To reclaim one takes a walk along many names: time enough for the peer to make the next.
    tidings__segment *s = &center->segment;
    OK(tidings__back_names(s, s->shape.names));
    atomic_store(&s->header->names_used.word, s->shape.names);
    const pid_t peer = start(makes_dead_observers);
    // For payloads in slots, and in chunks: each place is needed again and again.
    tidings_publisher *publisher = publisher_of(center, NAME);
    static char large[100000];
    uint32_t refused = 0;
    for (uint32_t i = 0; i < 4 * s->shape.slots && refused < 20; i++) {
        int result;
        MEASURED(DEFAULT_MS, result = tidings_post(publisher, large, i % 64 == 63 ? sizeof large : 1, NULL, NULL));
        CHECK(result == 0 || result == -EAGAIN, "%d", result);
        refused += result == -EAGAIN;
    }
    const int result = tidings_post(publisher, "x", 1, &(tidings_post_options){.timeout_ns = 20000000}, NULL);
    CHECK(result == 0 || result == -ETIMEDOUT, "%d", result);
    kill_and_reap(peer);
}

// MARK: Words that change meanwhile

static void ends_each_eviction(void) {
    _Atomic uint64_t *word = &join_center(0)->segment.header->eviction.word;
    for (;;) {
        uint64_t ev = atomic_load(word);
        if (tidings__ev_length(ev) != 0) (void)tidings__cas(word, &ev, tidings__ev_idle(tidings__ev_start(ev), ev + 1));
    }
}

static tidings_center *large_center(void) {
    return join_center_with((tidings_configuration){.slots = SANITIZED ? 1024 : 1u << 20});
}

// What was evicted is to be evicted again, each time.
void a_peer_that_ends_each_eviction_holds_no_post(void) {
    world = "evictions that move nothing";
    center = large_center();
    fill_ring(NAME);
    of_prefixes();
    tidings_publisher *publisher = publisher_of(center, NAME);
    const pid_t peer = start(ends_each_eviction);
    for (uint32_t i = 0; i < ROUNDS(20000); i++) {
        int result;
        MEASURED(LARGEST_MS, result = tidings_post(publisher, "x", 1, NULL, NULL));
        CHECK(result == 0 || result == -EBADMSG, "%d", result);
    }
    kill_and_reap(peer);
}

#define FREE_ENTRY 5000u

static void frees_each_new_name(void) {
    tidings__segment *s = &join_center(0)->segment;
    OK(tidings__back_names(s, s->shape.names));
    tidings__key keys[2];
    tidings__key_make(&keys[0], "new", 3, NULL, 0);
    tidings__key_make(&keys[1], NAME, strlen(NAME), NULL, 0);
    _Atomic uint64_t *state = &s->names[FREE_ENTRY].state;
    for (;;) {
        uint64_t found = atomic_load(state);
        if ((found & 0xf) != TIDINGS__NAME_FREE)
            (void)tidings__cas(state, &found, ((found >> 20) + 1) << 20 | TIDINGS__NAME_FREE);
        for (int i = 0; i < 2; i++) {
            _Atomic uint64_t *chain = tidings__name_chain(s, keys[i].hash, false);
            uint64_t head = atomic_load(chain);
            if ((uint32_t)head == FREE_ENTRY) (void)tidings__cas(chain, &head, ((head >> 33) + 1) << 33);
        }
    }
}

// One entry of the table is free, and is free again whenever a call has taken it, after a walk along the whole table.
void a_peer_that_frees_each_new_name_holds_no_call(void) {
    world = "a name that is never added";
    center = join_center_with((tidings_configuration){.names = SANITIZED ? 8192 : 0});
    fill_ring(NAME);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *observer = observer_of(center, NAME);
    fill_names();
    atomic_store(&center->segment.names[FREE_ENTRY].state, TIDINGS__NAME_FREE);
    atomic_store(&center->segment.names[FREE_ENTRY].birth, 0);
    const pid_t peer = start(frees_each_new_name);
    for (uint32_t i = 0; i < 20; i++) {
        int result;
        uint32_t subscription;
        MEASURED(DEFAULT_MS, result = tidings_observer_add(observer, "new", 3, NULL, 0, 0, &subscription));
        CHECK(result == 0 || result == -ENOSPC || result == -EBADMSG, "%d", result);
        MEASURED(DEFAULT_MS, result = tidings_state_set(publisher, "x", 1, NULL, NULL));
        CHECK(result == 0 || result == -ENOSPC || result == -EBADMSG || result == -EBUSY, "%d", result);
    }
    kill_and_reap(peer);
}

// MARK: Sleepers

static void puts_all_to_sleep(void) {
    tidings__segment *s = &join_center(0)->segment;
    for (uint32_t sleep = 1;; sleep += 2)
        for (uint32_t i = 0; i < s->shape.observers; i++)
            if (!(atomic_load(tidings__doorbell(s, i)) & 1)) atomic_store(tidings__doorbell(s, i), sleep);
}

// Each prefix of the post has all of these observers as members.
void a_peer_that_puts_observers_to_sleep_again_holds_no_post(void) {
    for (int readers = 0; readers < 2; readers++) {
        world = readers ? "sleepers without end, with readers" : "sleepers without end";
        bound_ms = DEFAULT_MS;
        center = join_center_with((tidings_configuration){.mode = readers ? 0644 : 0});
        of_sleepers();
        tidings_publisher *publisher = publisher_of(center, NAME);
        pid_t peers[4];
        for (int i = 0; i < 4; i++) peers[i] = start(puts_all_to_sleep);
        for (int i = 0; i < 100; i++) BOUNDED(tidings_post(publisher, "x", 1, NULL, NULL));
        for (int i = 0; i < 4; i++) kill_and_reap(peers[i]);
        OK(tidings_remove("scenario", NULL));
    }
}

// The entry of NAME seems to be another one each time that a reader looks.
static void renews_a_name(void) {
    tidings_center *own = join_center(0);
    const uint32_t entry = tidings__name_find(&own->segment, &publisher_of(own, NAME)->key);
    for (;;) atomic_fetch_add(&own->segment.names[entry].birth, 1);
}

void a_peer_that_renews_a_name_holds_no_reader(void) {
    world = "a name without end";
    bound_ms = LARGEST_MS;
    tidings_center *own = join_center_with((tidings_configuration){.slots = SANITIZED ? 1024 : 1u << 20, .mode = 0644});
    CHECK(observer_of(own, NAME), "no observer");
    center = own;
    fill_ring(NAME);
    const pid_t peer = start(renews_a_name);
    usleep(20000);
    OK(tidings_open("scenario", &(tidings_configuration){.flags = TIDINGS_OPEN_READ_ONLY}, &center));
    tidings_observer *observer = NULL;
    OK(tidings_observer_open(center, 0, &observer));
    uint32_t subscription;
    BOUNDED(tidings_observer_add(observer, NAME, strlen(NAME), NULL, 0, 0, &subscription));
    kill_and_reap(peer);
}

#define SLEEPERS ROUNDS(500)

static _Atomic uint64_t *taken;  // deliveries, of all sleepers

static void *takes_for_ever(void *observer) {
    for (;;) {
        receive(observer);
        atomic_fetch_add(taken, 1);
    }
    return NULL;
}

static void sleeps_in_threads(void) {
    tidings_center *own = join_center(0);
    pthread_t thread;
    for (uint32_t i = 0; i < SLEEPERS; i++) {
        tidings_observer *observer = observer_of(own, NAME);
        tidings_observer_spin(observer, 0);
        CHECK(pthread_create(&thread, NULL, takes_for_ever, observer) == 0, "no thread");
    }
    pause();
}

// All sleep again, and have taken so many posts before.
static void until_all_sleep(pid_t pid, uint32_t posts) {
    while (atomic_load(taken) < (uint64_t)posts * SLEEPERS) usleep(100);
    until_asleep(pid, center, SLEEPERS);
}

// The threads that the contents "sleepers" only describe: in wake groups, and, where readers are allowed, each on its
// own futex.
void a_post_to_five_hundred_sleeping_threads_ends_within_its_bound(void) {
    static char large[3000];
    const tidings_payload payloads[] = {{"x", 1}, {"x", 1}, {"x", 1}};
    bound_ms = DEFAULT_MS;
    taken = shared_memory(sizeof *taken);
    for (int readers = 0; readers < 2; readers++) {
        world = readers ? "sleepers, with readers" : "sleepers";
        center = join_center_with((tidings_configuration){.mode = readers ? 0644 : 0});
        tidings_publisher *publisher = publisher_of(center, NAME);
        atomic_store(taken, 0);
        const pid_t pid = start(sleeps_in_threads);
        until_all_sleep(pid, 0);
        BOUNDED(tidings_post(publisher, "x", 1, NULL, NULL));
        until_all_sleep(pid, 1);
        // The sleepers that the first post wakes come back while the next ones are posted.
        MEASURED(3 * bound_ms, tidings_post_many(publisher, payloads, 3, NULL, NULL, NULL));
        until_all_sleep(pid, 4);
        BOUNDED(tidings_state_set(publisher, large, sizeof large, NULL, NULL));
        until_all_sleep(pid, 5);
        kill_and_reap(pid);
        OK(tidings_remove("scenario", NULL));
    }
}

// MARK: In each world

void each_call_ends_within_its_bound(void) {
    // A sanitizer looks for other faults here: in a small center.
    each_call_in_each_world(SANITIZED ? (tidings_configuration){.slots = 512, .names = 4096}
                                      : (tidings_configuration){0},
                            DEFAULT_MS, false);
}

// A sanitizer looks for other faults here: in a smaller center.
static tidings_configuration largest(uint32_t mode) {
    return SANITIZED ? (tidings_configuration){.slots = 1024, .participants = 4096, .names = 16384, .mode = mode}
                     : (tidings_configuration){.slots = 1u << 20, .participants = 4096, .names = 1000000, .mode = mode};
}

void each_call_ends_within_its_bound_in_the_largest_center(void) {
    each_call_in_each_world(largest(0), LARGEST_MS, true);
}

// MARK: Many subscriptions

// The `count` names "name 2", "name 3", …: those that `fill_names` writes.
static void add_many(tidings_observer *observer, uint32_t count, uint32_t flags) {
    for (uint32_t i = 0; i < count; i++) {
        char name[16];
        uint32_t subscription;
        const int length = snprintf(name, sizeof name, "name %u", TIDINGS__NAME_FIRST + i);
        OK(tidings_observer_add(observer, name, (size_t)length, NULL, 0, flags, &subscription));
    }
}

static tidings_observer *observer_of_many(tidings_center *of, uint32_t count, uint32_t flags) {
    tidings_observer *observer = observer_of_nothing(of);
    add_many(observer, count, flags);
    return observer;
}

static tidings_center *reading(void) {
    tidings_center *read_only;
    OK(tidings_open("many", &(tidings_configuration){.flags = TIDINGS_OPEN_READ_ONLY}, &read_only));
    keep(read_only);
    return read_only;
}

static void next_of_many(tidings_center *of, tidings_observer *observer, uint32_t calls) {
    tidings_delivery delivery;
    tidings_center *own = center;
    center = of;
    for (uint32_t i = 0; i < calls; i++) BOUNDED(tidings_next(observer, 0, &delivery));
    center = own;
}

// A reader has skipped 32 positions, and all have been evicted since.
static void of_skipped_positions(uint32_t count) {
    (void)observer_of_many(center, count, 0);
    tidings_center *read_only = reading();
    tidings_observer *observer = observer_of_many(read_only, count, 0);
    tidings_delivery delivery;
    (void)tidings_next(observer, 0, &delivery);
    const uint64_t first = observer->cursor;
    fill_ring(NAME);
    observer->cursor = first + center->segment.shape.slots;
    tidings_post(publisher_of(center, NAME), "x", 1, NULL, NULL);
    for (uint32_t i = 0; i < TIDINGS__SKIPPED_MAX; i++)
        observer->skipped[observer->skipped_count++] = (tidings__skipped){first - TIDINGS__SKIPPED_MAX + i, 0,
                                                                          observer->youngest};
    next_of_many(read_only, observer, 3);
}

// No name has an entry, and all chains are one of all entries.
static void of_readers_chains(uint32_t count) {
    tidings_center *read_only = reading();
    tidings_observer *observer = observer_of_many(read_only, count, 0);
    tidings_delivery delivery;
    (void)tidings_next(observer, 0, &delivery);
    fill_ring(NAME);
    fill_ring(NAME);
    fill_names();
    tidings__segment *s = &center->segment;
    for (uint32_t i = TIDINGS__NAME_FIRST; i < s->shape.names; i++) {
        memcpy((void *)s->names[i].key, "other", 5);
        atomic_store(&s->names[i].next, i + 1 < s->shape.names ? i + 1 : TIDINGS__NAME_FIRST);
    }
    for (uint32_t i = 0; i < s->shape.buckets; i++)
        atomic_store(&s->buckets[i], TIDINGS__NAME_FIRST + i % (s->shape.names - TIDINGS__NAME_FIRST));
    next_of_many(read_only, observer, 3);
}

// Positions behind the cursor are claimed for the next lap, and none is evicted. The frontier is before the cursor.
static void of_laps_without_eviction(uint32_t count) {
    tidings_observer *observer = observer_of_many(center, count, 0);
    tidings__segment *s = &center->segment;
    const uint64_t oldest = tidings__oldest(s);
    observer->cursor = oldest + 1;
    atomic_fetch_sub(&tidings__cell_at(s, oldest)->claim, UINT64_C(1) << TIDINGS__W_LAP_SHIFT);
    for (uint32_t i = 1; i < s->shape.slots; i++)
        atomic_fetch_add(&tidings__cell_at(s, oldest + i)->claim, UINT64_C(1) << TIDINGS__W_LAP_SHIFT);
    next_of_many(center, observer, 3);
}

// Values that a peer took away before the first delivery.
static void of_lost_values(uint32_t count) {
    if (count > 10000) count = 10000;
    tidings_publisher *publisher = publisher_of(center, "value");
    OK(tidings_state_set(publisher, "x", 1, NULL, NULL));
    fill_ring(NAME);
    fill_ring(NAME);
    tidings_observer *observer = observer_of_nothing(center);
    uint32_t subscription;
    for (uint32_t i = 0; i < count; i++)
        OK(tidings_observer_add(observer, "value", 5, NULL, 0, TIDINGS_ADD_RETAINED, &subscription));
    atomic_store(&center->segment.names[tidings__name_find(&center->segment, &publisher->key)].retained, 0);
    next_of_many(center, observer, 3);
}

static void posts_for_ever(void) {
    tidings_center *own;
    OK(tidings_open("many", NULL, &own));
    tidings_publisher *publisher = publisher_of(own, NAME);
    for (;;) (void)tidings_post(publisher, "x", 1, NULL, NULL);
}

// A process posts another name as fast as it can: the observer is lapped again and again. Other processes use the
// processors' caches meanwhile, so it is measured in the full form alone.
static void of_fast_posts(uint32_t count) {
    if (!full() && !getenv("TIDINGS_TEST_WORLD")) return;
    tidings_observer *observer = observer_of_many(center, count, 0);
    const pid_t pid = start(posts_for_ever);
    for (int i = 0; i < 100; i++) {
        usleep(5000);
        next_of_many(center, observer, 1);
    }
    kill_and_reap(pid);
    tidings_observer_close(observer);
}

// The one record in the history is the newest.
static void of_late_history(uint32_t count) {
    tidings_observer *observer = observer_of_nothing(center);
    fill_ring(NAME);
    OK(tidings_observer_seek(observer, 0));
    OK(tidings_post(publisher_of(center, "value"), "x", 1, NULL, NULL));
    uint32_t subscription;
    OK(tidings_observer_add(observer, "value", 5, NULL, 0, TIDINGS_ADD_HISTORY, &subscription));
    add_many(observer, count, 0);
    next_of_many(center, observer, 3);
}

// Records with the largest payloads, in slots that are claimed for the lap before.
static void of_large_payloads_without_claims(uint32_t count) {
    (void)count;
    tidings__segment *s = &center->segment;
    uint8_t *large = calloc(1, s->shape.maximum_payload);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *observer = observer_of(center, NAME);
    for (uint32_t i = 0; i < 16; i++) OK(tidings_post(publisher, large, s->shape.maximum_payload, NULL, NULL));
    for (uint32_t i = 0; i < 16; i++) OK(tidings_post(publisher, large, s->shape.maximum_payload / 5, NULL, NULL));
    for (uint32_t i = 0; i < 16; i++) OK(tidings_post(publisher, large, s->shape.maximum_payload / 17, NULL, NULL));
    free(large);
    for (uint32_t i = 0; i < s->shape.slots; i++)
        atomic_fetch_sub(&s->cells[i].claim, UINT64_C(1) << TIDINGS__W_LAP_SHIFT);
    next_of_many(center, observer, 3);
}

// As many prefixes as there may be, and none is of a record's name, which differs from nearly all in its last bytes.
// The name is observed, so the records do not carry it.
static void of_foreign_prefixes(uint32_t count) {
    (void)count;
    char name[TIDINGS_NAME_MAX + 1];
    memset(name, 'a', TIDINGS_NAME_MAX);
    name[TIDINGS_NAME_MAX] = 0;
    (void)observer_of(center, name);
    tidings_observer *observer = observer_of_nothing(center);
    uint32_t subscription;
    OK(tidings_observer_add(observer, "b", 1, NULL, 0, TIDINGS_ADD_PREFIX, &subscription));
    for (uint32_t i = 1; i < TIDINGS_PREFIXES_MAX; i++) {
        char prefix[TIDINGS_NAME_MAX + 1];
        const int length = snprintf(prefix, sizeof prefix, "%.250sb%u", name, i);
        OK(tidings_observer_add(observer, prefix, (size_t)length, NULL, 0, TIDINGS_ADD_PREFIX, &subscription));
    }
    fill_ring(name);
    next_of_many(center, observer, 3);
}

// As many values in the ring as it has slots.
static void of_a_ring_of_values(uint32_t count) {
    (void)count;
    fill_names();
    tidings__segment *s = &center->segment;
    for (uint32_t i = 0; i < s->shape.slots; i++)
        atomic_store(
            &s->cells[i].route,
            tidings__route_word(TIDINGS__NAME_FIRST + (uint32_t)random_below(s->shape.names - TIDINGS__NAME_FIRST), 0,
                                TIDINGS__RECORD_RETAIN, 0));
    tidings_observer *observer = observer_of_nothing(center);
    uint32_t subscription;
    BOUNDED(tidings_observer_add(observer, NULL, 0, NULL, 0, TIDINGS_ADD_RETAINED, &subscription));
    next_of_many(center, observer, 3);
    tidings_observer *another = observer_of_nothing(center);
    OK(tidings_observer_seek(another, 0));
    BOUNDED(tidings_observer_add(another, NULL, 0, NULL, 0, TIDINGS_ADD_RETAINED | TIDINGS_ADD_HISTORY, &subscription));
    next_of_many(center, another, 3);
}

// Each makes its content, with an observer of so many names, and measures its deliveries.
static const struct {
    const char *name;
    void (*next)(uint32_t count);
    bool count;     // takes as many subscriptions
    uint32_t mode;  // of the default center
} many[] = {
    {"skipped positions", of_skipped_positions, true, 0644},
    {"chains of readers", of_readers_chains, true, 0644},
    {"laps without eviction", of_laps_without_eviction, true, 0},
    {"lost values", of_lost_values, true, 0},
    {"late history", of_late_history, true, 0},
    {"fast posts", of_fast_posts, true, 0},
    {"large payloads, no claims", of_large_payloads_without_claims, false, 0},
    {"foreign prefixes", of_foreign_prefixes, false, 0},
    {"a ring of values", of_a_ring_of_values, false, 0},
};

static void next_of_each(tidings_configuration configuration, double bound) {
    const uint32_t counts[] = {1000, full() || getenv("TIDINGS_TEST_WORLD") ? 100000 : 20000};
    bound_ms = bound;
    const char *only = getenv("TIDINGS_TEST_WORLD");
    for (size_t i = 0; i < sizeof many / sizeof many[0]; i++) {
        if (only && strcmp(only, many[i].name) != 0) continue;
        // In the largest center, each addition walks along its ring: many subscriptions take minutes.
        if (bound == LARGEST_MS && many[i].count && !full() && !only) continue;
        for (size_t k = 0; k < (many[i].count && bound < LARGEST_MS ? 2 : 1); k++) {
            world = many[i].name;
            center = NULL;
            configuration.mode = many[i].mode;
            OK(tidings_open("many", &configuration, &center));
            keep(center);
            fill_ring(NAME);
            many[i].next(SANITIZED ? counts[k] / 100 : counts[k]);
            OK(tidings_remove("many", NULL));
        }
    }
}

void each_delivery_among_many_subscriptions_ends_within_its_bound(void) {
    next_of_each(SANITIZED ? (tidings_configuration){.slots = 512, .names = 4096} : (tidings_configuration){0},
                 DEFAULT_MS);
}

void each_delivery_among_many_subscriptions_of_the_largest_center_ends_within_its_bound(void) {
    next_of_each(largest(0), LARGEST_MS);
}

// Made once, which the kernel's giving of the memory is a part of; handed over and received in each world.
static void sealed_in_each_world(tidings_configuration configuration, double bound, bool largest) {
    bound_ms = bound;
    int sockets[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "%s", strerror(errno));
    const uint64_t chosen = random_below(LARGEST_SHARE);
    for (size_t i = 0; i < sizeof worlds / sizeof worlds[0]; i++) {
        if (!is_taken(i, largest, chosen)) continue;
        tidings_center *sealed = NULL, *received = NULL;
        center = NULL;
        world = "a new center";
        BOUNDED(tidings_create_sealed("sealed", &configuration, &sealed));
        CHECK(sealed, "no center: %s", tidings_last_error());
        center = sealed;
        fill_ring(NAME);
        worlds[i].make();
        world = worlds[i].name;
        for (uint32_t flags = 0; flags <= TIDINGS_SEND_READ_ONLY; flags += TIDINGS_SEND_READ_ONLY) {
            int sent;
            BOUNDED(sent = tidings_send(center, sockets[0], flags));
            CHECK(flags || sent == 0, "%d", sent);
            if (sent != 0) continue;
            BOUNDED(tidings_receive_at_most(sockets[1], UINT64_MAX, &received));
            if (received) BOUNDED(tidings_close(received));
            received = NULL;
            OK(tidings_send(center, sockets[0], flags));
            BOUNDED(tidings_receive(sockets[1], &received));
            if (received) BOUNDED(tidings_close(received));
            received = NULL;
        }
        center = NULL;
        BOUNDED(tidings_close(sealed));
    }
    close(sockets[0]);
    close(sockets[1]);
}

void each_call_of_a_sealed_center_ends_within_its_bound(void) {
    sealed_in_each_world(SANITIZED ? (tidings_configuration){.slots = 512, .names = 4096, .mode = 0644}
                                   : (tidings_configuration){.mode = 0644},
                         DEFAULT_MS, false);
}

void each_call_of_the_largest_sealed_center_ends_within_its_bound(void) {
    sealed_in_each_world(largest(0644), LARGEST_MS, true);
}
