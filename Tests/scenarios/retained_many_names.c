// Retained values for observers of several names: which values come, in which order, and that none is lost or doubled
// between the retained ones and the live ones.
#include <sys/resource.h>
#include <time.h>

#include "by_hand.h"
#include "center/center.h"
#include "eviction/evict.h"
#include "observable.h"
#include "peer.h"
#include "posting/publisher.h"
#include "ring/chunk.h"
#include "segment/position.h"

static uint64_t set(tidings_center *center, const char *name, uint32_t value) {
    uint64_t sequence;
    OK(tidings_post(publisher_of(center, name), &value, sizeof value,
                    &(tidings_post_options){.flags = TIDINGS_POST_RETAIN}, &sequence));
    return sequence;
}

static tidings_observer *looks(tidings_center *center, const char *prefix, uint32_t flags) {
    uint32_t subscription;
    tidings_observer *observer = observer_of_nothing(center);
    OK(tidings_observer_add(observer, prefix, prefix ? strlen(prefix) : 0, NULL, 0,
                            (prefix ? TIDINGS_ADD_PREFIX : 0) | flags, &subscription));
    return observer;
}

static void comes(tidings_observer *observer, bool kept, const char *name, uint32_t value, uint64_t sequence) {
    const tidings_delivery delivery = receive(observer);
    uint32_t number;
    CHECK(delivery.size == sizeof number, "%zu bytes of %s", delivery.size, delivery.name);
    memcpy(&number, delivery.payload, sizeof number);
    CHECK(strcmp(delivery.name, name) == 0 && number == value && delivery.sequence == sequence,
          "%s %u at %lu, not %s %u at %lu", delivery.name, number, (unsigned long)delivery.sequence, name, value,
          (unsigned long)sequence);
    CHECK(delivery.subject_length == 0, "about \"%s\"", delivery.subject);
    CHECK(!!(delivery.flags & TIDINGS_DELIVERY_RETAINED) == kept, "%s %u is%s kept", name, value, kept ? " not" : "");
}

static void nothing_comes(tidings_observer *observer) {
    tidings_delivery delivery;
    const int result = tidings_next(observer, 0, &delivery);
    CHECK(result == -EAGAIN, "%d: %s", result, result ? "" : delivery.name);
}

static void turn(tidings_center *center) {
    for (uint32_t i = 0; i < 600; i++) post_number(publisher_of(center, "filler"), i);
}

void retained_values_come_to_observers_of_many_names(void) {
    tidings_center *center = join_center(256);
    for (uint32_t turned = 0; turned < 2; turned++) {
        set(center, "kept.a", 1);
        const uint64_t b = set(center, "kept.b", 2), other = set(center, "kept", 3);
        set(center, "kept.c", 4);
        OK(tidings_state_set(publisher_of(center, "kept.c"), NULL, 0, NULL, NULL));
        const uint64_t a = set(center, "kept.a", 5);
        if (turned) turn(center);
        const uint64_t d = set(center, "kept.d", 6);
        tidings_observer *begins = looks(center, "kept.", TIDINGS_ADD_RETAINED),
                         *all = looks(center, NULL, TIDINGS_ADD_RETAINED);
        tidings_observer *indifferent[] = {looks(center, "kept.", 0), looks(center, NULL, 0),
                                           looks(center, "kept..", TIDINGS_ADD_RETAINED)};
        comes(begins, true, "kept.b", 2, b);
        comes(begins, true, "kept.a", 5, a);
        comes(begins, true, "kept.d", 6, d);
        comes(all, true, "kept.b", 2, b);
        comes(all, true, "kept", 3, other);
        comes(all, true, "kept.a", 5, a);
        comes(all, true, "kept.d", 6, d);
        nothing_comes(begins);
        nothing_comes(all);
        for (uint32_t i = 0; i < 3; i++) nothing_comes(indifferent[i]);
        const uint64_t live = set(center, "kept.a", 7);
        comes(begins, false, "kept.a", 7, live);
        comes(all, false, "kept.a", 7, live);
        comes(indifferent[0], false, "kept.a", 7, live);
        tidings_observer_close(begins);
        tidings_observer_close(all);
        for (uint32_t i = 0; i < 3; i++) tidings_observer_close(indifferent[i]);
    }
    // It waits already, and is woken by the retained value.
    tidings_observer *observer = observer_of_nothing(center);
    const pid_t child = fork();
    if (child == 0) {
        observer = observer_of(center, "until here");
        uint32_t subscription;
        OK(tidings_observer_add(observer, "kept.", 5, NULL, 0, TIDINGS_ADD_PREFIX | TIDINGS_ADD_RETAINED,
                                &subscription));
        for (uint32_t i = 0; i < 3; i++) CHECK(receive(observer).flags & TIDINGS_DELIVERY_RETAINED, "number %u", i);
        _exit(0);
    }
    ends_well(child);
}

void values_listed_in_the_history_do_not_come_twice(void) {
    tidings_center *center = join_center(256);
    const uint64_t before = set(center, "kept.a", 2);
    turn(center);
    const uint64_t first = set(center, "kept.b", 4), second = set(center, "kept.b", 6);
    tidings_observer *observer = observer_of_nothing(center);
    OK(tidings_observer_seek(observer, 0));
    uint32_t subscription;
    OK(tidings_observer_add(observer, "kept.", 5, NULL, 0,
                            TIDINGS_ADD_PREFIX | TIDINGS_ADD_RETAINED | TIDINGS_ADD_HISTORY, &subscription));
    comes(observer, true, "kept.a", 2, before);
    comes(observer, false, "kept.b", 4, first);
    comes(observer, false, "kept.b", 6, second);
    nothing_comes(observer);
}

// Between being listed and being given: by one that is still in the ring beside it, and by one that has taken its
// place.
void a_value_that_was_replaced_comes_once(void) {
    tidings_center *center = join_center(256);
    const uint64_t first = set(center, "kept.a", 2);
    tidings_observer *observer = looks(center, "kept.", TIDINGS_ADD_RETAINED);
    const uint64_t second = set(center, "kept.a", 4);
    comes(observer, true, "kept.a", 2, first);
    comes(observer, false, "kept.a", 4, second);
    tidings_observer *late = looks(center, "kept.", TIDINGS_ADD_RETAINED);
    const uint64_t third = set(center, "kept.a", 6);
    turn(center);
    tidings_delivery delivery;
    OK(tidings_next(late, 0, &delivery));
    CHECK(delivery.kind == TIDINGS_DELIVERY_MISSED && delivery.missed == 1,
          "the one it gets was posted after it looked, and is gone: kind %u", delivery.kind);
    nothing_comes(late);
    comes(looks(center, "kept.", TIDINGS_ADD_RETAINED), true, "kept.a", 6, third);
}

void a_cleared_name_taken_by_another_keeps_nothing(void) {
    tidings_center *center = join_center(256);
    set(center, "kept.a", 2);
    turn(center);
    tidings_observer *observer = looks(center, "kept.", TIDINGS_ADD_RETAINED);
    OK(tidings_state_set(publisher_of(center, "kept.a"), NULL, 0, NULL, NULL));
    turn(center);
    // Its entry goes to one of these, that don't begin so.
    for (uint32_t i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "other.%u", i);
        set(center, name, i);
    }
    turn(center);
    tidings_delivery delivery;
    OK(tidings_next(observer, 0, &delivery));
    CHECK(delivery.kind == TIDINGS_DELIVERY_MISSED && delivery.missed == 1, "the clearing was missed: kind %u",
          delivery.kind);
    nothing_comes(observer);
}

// MARK: Second reading

// An observer's history is what the ring holds when the observer adds a name. A value that has left the ring by then
// isn't part of it, and comes as a retained one.
void a_value_evicted_before_the_history_was_listed_comes_as_retained(void) {
    static const char *const prefixes[] = {"kept.a", "kept.", NULL};
    for (uint32_t i = 0; i < 3; i++) {
        tidings_center *center = join_center(256);
        tidings_observer *observer = observer_of_nothing(center);
        const uint64_t sequence = set(center, "kept.a", 2 + 2 * i);
        turn(center);
        const char *prefix = prefixes[i];
        uint32_t subscription;
        OK(tidings_observer_add(observer, prefix, prefix ? strlen(prefix) : 0, NULL, 0,
                                (i == 1 ? TIDINGS_ADD_PREFIX : 0) | TIDINGS_ADD_RETAINED | TIDINGS_ADD_HISTORY,
                                &subscription));
        comes(observer, true, "kept.a", 2 + 2 * i, sequence);
    }
}

// It is told that there was one, at least: -ENOMEM, and what was missed.
void a_retained_value_without_memory_is_reported_as_missed(void) {
    if (SANITIZED) return;  // the sanitizer maps whenever it likes
    tidings_center *center = join_center(256);
    static uint8_t large[4 << 20];
    OK(tidings_post(publisher_of(center, "kept.a"), large, sizeof large,
                    &(tidings_post_options){.flags = TIDINGS_POST_RETAIN}, NULL));
    for (uint32_t many = 0; many < 2; many++) {
        tidings_observer *observer = many ? looks(center, "kept.", TIDINGS_ADD_RETAINED)
                                          : observer_with(center, "kept.a", 0, TIDINGS_ADD_RETAINED);
        struct rlimit was;
        OK(getrlimit(RLIMIT_AS, &was));
        OK(setrlimit(RLIMIT_AS, &(struct rlimit){1 << 20, was.rlim_max}));
        tidings_delivery delivery;
        const int result = tidings_next(observer, 0, &delivery);
        OK(setrlimit(RLIMIT_AS, &was));
        CHECK(result == -ENOMEM, "%d", result);
        OK(tidings_next(observer, 0, &delivery));
        CHECK(delivery.kind == TIDINGS_DELIVERY_MISSED && delivery.missed == 1, "kind %u", delivery.kind);
        nothing_comes(observer);
    }
}

// A reader can't decide a pending claim, and goes on without it. If the value is committed after all, it replaces the
// older one.
void a_reader_is_given_a_value_that_was_committed_late(void) {
    for (uint32_t many = 0; many < 2; many++) {
        tidings_center *center = observable_center(256);
        const uint64_t before = set(center, "kept.a", 2);
        const uint64_t late = claim_by(center, TIDINGS__W_FOREIGN | 77);
        write_record(center, late);
        tidings__cell *cell = tidings__cell_at(&center->segment, late);
        tidings__set_relaxed(&cell->route, tidings__relaxed(&tidings__cell_at(&center->segment, before)->route));
        tidings_center *theirs = open_to_read();
        tidings_observer *observer = observer_with(theirs, many ? NULL : "kept.a", 0, TIDINGS_ADD_RETAINED);
        tidings__set_relaxed(&center->segment.chunk_words[tidings__relaxed(&cell->body[0])],
                             late << 16 | TIDINGS__CHUNK_IN_RING);
        commit_at(center, late);
        tidings_delivery delivery = receive(observer);
        CHECK(delivery.flags & TIDINGS_DELIVERY_RETAINED && delivery.sequence == late, "%lu, not %lu",
              (unsigned long)delivery.sequence, (unsigned long)late);
    }
}

// Words that agree with each other, and a record that can't be: looked at once, not once for each of the ring's slots.
void impossible_retained_values_are_skipped(void) {
    tidings_center *center = join_center(65536);
    tidings__segment *s = &center->segment;
    char name[32];
    for (uint32_t i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "kept.%u", i);
        set(center, name, 2 * i);
    }
    for (uint32_t i = 0; i < 2 * 65536; i++) post_number(publisher_of(center, "filler"), i);
    const uint64_t position = tidings__frontier(s, tidings__oldest(s)) - 1;
    uint32_t spoilt = 0;
    for (uint32_t entry = TIDINGS__NAME_FIRST; entry < tidings__acquire(&s->header->names_used.word); entry++) {
        _Atomic uint64_t *word = &tidings__name_at(s, entry)->retained;
        const uint32_t chunk = (uint32_t)tidings__acquire(word) & 0xffff;
        if (chunk == 0 || chunk == TIDINGS__RETAINED_EXPECTED) continue;
        tidings__set_relaxed(word, position << 16 | chunk);
        tidings__set_relaxed(&s->chunk_words[chunk - 1], position << 16 | TIDINGS__CHUNK_RETAINED);
        uint64_t capacity;
        ((uint64_t *)(uintptr_t)tidings__chunk_bytes(s, chunk - 1, &capacity))[1] |= UINT32_MAX;  // its size
        spoilt++;
    }
    CHECK(spoilt == 300, "%u", spoilt);
    const clock_t begun = clock();
    nothing_comes(looks(center, "kept.", TIDINGS_ADD_RETAINED));
    CHECK(clock() - begun < 10 * CLOCKS_PER_SEC, "%ld s of processor time",
          (long)((clock() - begun) / CLOCKS_PER_SEC));  // a hundredth of one; a minute, otherwise
}

// What no poster has posted is no value: position 0 is the first, and the frontier the first that is free.
static void is_no_value(tidings_center *center, uint64_t position) {
    tidings__segment *s = &center->segment;
    tidings_publisher *publisher = publisher_of(center, "kept");
    _Atomic uint64_t *word = &tidings__name_at(s, tidings__name_find(s, &publisher->key))->retained;
    const uint32_t chunk = (uint32_t)tidings__acquire(word) & 0xffff;
    tidings__set_relaxed(word, position << 16 | chunk);
    tidings__set_relaxed(&s->chunk_words[chunk - 1], position << 16 | TIDINGS__CHUNK_RETAINED);
    nothing_comes(looks(center, NULL, TIDINGS_ADD_RETAINED));
    nothing_comes(looks(center, "ke", TIDINGS_ADD_RETAINED));
    nothing_comes(observer_with(center, "kept", 0, TIDINGS_ADD_RETAINED));
    uint32_t value;
    size_t size = sizeof value;
    uint64_t sequence = 0;
    const int result = tidings_state_get(publisher, &value, &size, NULL, &sequence);
    CHECK(result == -ENOENT, "%d: a value at %lu, kept at %lu", result, (unsigned long)sequence,
          (unsigned long)position);
}

void a_retained_value_lies_between_the_first_position_and_the_frontier(void) {
    tidings_center *center = join_center(256);
    set(center, "kept", 1);
    turn(center);
    const uint64_t frontier = tidings__frontier(&center->segment, tidings__oldest(&center->segment));
    is_no_value(center, (UINT64_C(1) << 48) - 2);
    is_no_value(center, UINT64_C(1) << 47);
    is_no_value(center, frontier);
    // Eviction moves on, and leaves room in the ring.
    uint32_t holder;
    OK(tidings__evict_to(center, frontier, &(tidings__effort){0}, &holder));
    is_no_value(center, frontier);
    is_no_value(center, frontier + 200);
}

static uint64_t behind(tidings_center *center) {
    tidings_participant_observers own;
    tidings_participant_observers_get(center, (uint32_t)center->participant, &own);
    CHECK(own.observers == 1 && own.lossless == 1, "%u, %u", own.observers, own.lossless);
    return own.behind;
}

void an_observer_that_holds_posters_back_is_the_whole_ring_behind(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *filler = publisher_of(center, "filler");
    tidings_observer *observer = observer_of_nothing(center);
    tidings_observer_close(observer);
    OK(tidings_observer_open(center, TIDINGS_OBSERVE_LOSSLESS, &observer));
    uint32_t subscription;
    OK(tidings_observer_add(observer, "rare", 4, NULL, 0, 0, &subscription));
    for (uint32_t i = 0; i < 600; i++) post_number(filler, i);
    CHECK(behind(center) == 0, "it needs nothing, and is %lu behind", (unsigned long)behind(center));
    post_number(publisher_of(center, "rare"), 1);
    for (uint32_t i = 0; i < 50; i++) post_number(filler, i);
    CHECK(behind(center) == 51, "%lu", (unsigned long)behind(center));
    while (tidings_post(filler, "", 0, NULL, NULL) == 0) continue;
    CHECK(behind(center) == 256, "%lu", (unsigned long)behind(center));
    tidings_observer_close(observer);
}

// MARK: The seam

#define VALUES 3

static _Atomic bool *enough;

static void sets_and_sets(void) {
    tidings_center *center = join_center(256);
    static const char *const names[VALUES] = {"kept.a", "kept.b", "kept.c"};
    tidings_publisher *publishers[VALUES];
    for (uint32_t i = 0; i < VALUES; i++) publishers[i] = publisher_of(center, names[i]);
    for (uint32_t i = 0; !atomic_load(enough); i++)
        OK(tidings_post(publishers[i % VALUES], &i, sizeof i, &(tidings_post_options){.flags = TIDINGS_POST_RETAIN},
                        NULL));
}

// One poster counts up, so each name's values are three apart. The first to come may be any value, retained or not.
// Each later one follows it or was told as missed.
void retained_and_posted_values_meet_without_a_seam(void) {
    enough = shared_memory(sizeof *enough);
    tidings_center *center = join_center(256);
    tidings_observer *first = observer_of(center, "kept.c");
    const pid_t poster = start(sets_and_sets);
    tidings_delivery any;
    OK(tidings_next(first, -1, &any));
    tidings_observer_close(first);
    uint32_t kept = 0;
    for (uint32_t round = 0; round < ROUNDS(300); round++) {
        tidings_observer *observer = looks(center, round % 2 ? "kept." : NULL, TIDINGS_ADD_RETAINED);
        uint64_t next[VALUES] = {0}, missed = 0, gap = 0;
        bool seen[VALUES] = {false};
        for (uint32_t i = 0; i < 20; i++) {
            tidings_delivery delivery;
            OK(tidings_next(observer, -1, &delivery));
            if (delivery.kind == TIDINGS_DELIVERY_MISSED) {
                missed += delivery.missed;
                continue;
            }
            uint32_t number;
            memcpy(&number, delivery.payload, sizeof number);
            const uint32_t which = number % VALUES;
            CHECK(delivery.name[5] == 'a' + (char)which, "%u as %s", number, delivery.name);
            kept += delivery.flags & TIDINGS_DELIVERY_RETAINED;
            CHECK(!(delivery.flags & TIDINGS_DELIVERY_RETAINED) || i < VALUES, "kept after %u others", i);
            CHECK(!seen[which] || number >= next[which], "%u again, or before its time: %lu", number,
                  (unsigned long)next[which]);
            if (seen[which]) gap += (number - next[which]) / VALUES;
            seen[which] = true;
            next[which] = number + VALUES;
        }
        CHECK(gap <= missed, "%lu are lacking, %lu told as missed", (unsigned long)gap, (unsigned long)missed);
        tidings_observer_close(observer);
    }
    CHECK(kept > 0, "nothing was kept");
    atomic_store(enough, true);
    ends_well(poster);
}
