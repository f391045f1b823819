// Faults at any moment in an observer.
#include "faults.h"
#include "receiving/observer.h"

static void observes(const char *name, const char *subject, uint32_t flags, uint32_t *subscription) {
    const int result = tidings_observer_add(own_observer, name, strlen(name), subject, subject ? strlen(subject) : 0,
                                            flags, subscription);
    if (result != 0) atomic_store(&board->result, result);
}

static void opens(uint32_t flags) {
    const int result = tidings_observer_open(own_center, flags, &own_observer);
    if (result != 0) atomic_store(&board->result, result);
}

// MARK: Registering

static void registers(void) {
    uint32_t subscription;
    opens(0);
    observes(NAME, NULL, 0, &subscription);
    atomic_store(&board->registered, 1);
    observes("brand-new", NULL, 0, &subscription);
    observes("brand-new", "subject", TIDINGS_ADD_RETAINED, &subscription);
}

// What was posted after its registration it gets, or is told of: once.
static void got_what_came_after(void) {
    const uint64_t got = atomic_load(&board->received) + atomic_load(&board->missed);
    const uint32_t since = posted_under_name() - world.named_before;
    SO(got <= since, "it got %lu of %u", (unsigned long)got, since);
    SO(got == since || !world.registered, "it got %lu of %u, and had been registered", (unsigned long)got, since);
}

void registering_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "registering",
                                       .prepare = join_as_target,
                                       .act = registers,
                                       .settle = drain_as_target,
                                       .verify = got_what_came_after});
}

static void registers_by_prefix(void) {
    uint32_t subscription;
    opens(0);
    const size_t shorter = strlen(NAME) - 2;
    int result = tidings_observer_add(own_observer, NAME, shorter, NULL, 0, TIDINGS_ADD_PREFIX | TIDINGS_ADD_RETAINED,
                                      &subscription);
    atomic_store(&board->registered, 1);
    // And a prefix that no other observer has: it comes into the table, and goes again.
    if (result == 0)
        result = tidings_observer_add(own_observer, "brand-new", 9, NULL, 0, TIDINGS_ADD_PREFIX, &subscription);
    if (result == 0) result = tidings_observer_remove(own_observer, subscription);
    if (result != 0) atomic_store(&board->result, result);
}

void registering_by_prefix_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "registering by prefix",
                                       .prepare = join_as_target,
                                       .act = registers_by_prefix,
                                       .settle = drain_as_target,
                                       .verify = got_what_came_after,
                                       .prefixes = true});
}

static void registers_for_good(void) {
    uint32_t subscription;
    opens(TIDINGS_OBSERVE_LOSSLESS);
    if (tidings_observer_seek(own_observer, 0) != 0) atomic_store(&board->result, -EINVAL);
    observes(NAME, NULL, TIDINGS_ADD_RETAINED | TIDINGS_ADD_HISTORY, &subscription);
    observes("brand-new", NULL, TIDINGS_ADD_RETAINED, &subscription);
}

static void some_history(void) {
    for (uint32_t i = 0; i < 20; i++) checker_posts(i % 2, 64, i == 7 ? TIDINGS_POST_RETAIN : 0);
    checker_sees();
}

static void missed_nothing(void) {
    SO(atomic_load(&board->missed) == 0, "a lossless observer missed %lu", (unsigned long)atomic_load(&board->missed));
}

void registering_for_good_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "registering for good",
                                       .set_scene = some_history,
                                       .prepare = join_as_target,
                                       .act = registers_for_good,
                                       .settle = drain_as_target,
                                       .verify = missed_nothing,
                                       .flags = TIDINGS_POST_RETAIN,
                                       .lossless = true});
}

// MARK: Receiving

static uint32_t own_subscriptions[2];

static void is_an_observer(void) {
    join_as_target();
    opens(0);
    observes(NAME, NULL, 0, own_subscriptions);
    tidings_observer_spin(own_observer, 0);
}

static void has_missed_some(void) {
    for (uint32_t i = 0; i < SLOTS; i++) checker_posts(false, 8, 0);
    for (uint32_t i = 0; i < 3; i++) {
        checker_sees();
        checker_posts(true, 300, 0);
        checker_posts(true, 24, 0);
        for (uint32_t filler = 0; i == 0 && filler < SLOTS; filler++) {
            checker_posts(false, 8, 0);
            if (filler % 32 == 0) checker_sees();
        }
    }
    checker_sees();
}

// Every post since it was there is one that it got, or was told to have missed.
static void accounts_for_all(void) {
    const uint64_t got = atomic_load(&board->received) + atomic_load(&board->missed);
    SO(got == posted_under_name() - world.named_before, "it got %lu and missed %lu of %u",
       (unsigned long)atomic_load(&board->received), (unsigned long)atomic_load(&board->missed),
       posted_under_name() - world.named_before);
}

void receiving_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "receiving",
                                       .prepare = is_an_observer,
                                       .at_begin = has_missed_some,
                                       .act = drain_as_target,
                                       .settle = drain_as_target,
                                       .verify = accounts_for_all});
}

static void waits(void) { next_as_target(-1); }

static void one_is_posted(void) {
    checker_posts(true, 24, 0);
    listener_rests();
}

void being_woken_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "being woken",
                                       .prepare = is_an_observer,
                                       .at_begin = one_is_posted,
                                       .act = waits,
                                       .settle = drain_as_target,
                                       .verify = accounts_for_all,
                                       .sleeps = true});
}

// MARK: Without loss

static void is_an_observer_for_good(void) {
    join_as_target();
    opens(TIDINGS_OBSERVE_LOSSLESS);
    observes(NAME, NULL, 0, own_subscriptions);
    tidings_observer_spin(own_observer, 0);
}

static void all_are_held_back(void) {
    for (uint32_t i = 0; checker_posts(i % 16 == 0, i % 7 == 3 ? 300 : 24, 0); i++)
        if (i % 32 == 31) checker_sees();
    checker_sees();
}

static void accounts_for_all_without_loss(void) {
    missed_nothing();
    accounts_for_all();
}

void receiving_without_loss_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "receiving without loss",
                                       .prepare = is_an_observer_for_good,
                                       .at_begin = all_are_held_back,
                                       .act = drain_as_target,
                                       .settle = drain_as_target,
                                       .verify = accounts_for_all_without_loss,
                                       .lossless = true});
}

// MARK: In place

static tidings_held held[2];

static void reads_in_place(void) {
    join_as_target();
    opens(0);
    tidings_observer_in_place(own_observer, 0);
    observes(NAME, NULL, 0, own_subscriptions);
    tidings_observer_spin(own_observer, 0);
}

static void large_ones_are_posted(void) {
    for (uint32_t i = 0; i < 4; i++) checker_posts(true, i % 2 ? 900 : 300, 0);
    checker_sees();
}

static void releases_whole(uint32_t which) {
    if (held[which].payload && !payload_is_whole(held[which].payload, held[which].size))
        atomic_store(&board->result, -EBADMSG);
    tidings_release(&held[which]);
}

// Each one is kept until the next but one.
static void holds_what_it_receives(void) {
    tidings_delivery delivery;
    int result;
    for (uint32_t i = 0; (result = tidings_next(own_observer, 0, &delivery)) == 0; i++) {
        if (delivery.kind == TIDINGS_DELIVERY_MISSED) {
            atomic_fetch_add(&board->missed, delivery.missed);
            continue;
        }
        atomic_fetch_add(&board->received, 1);
        releases_whole(i % 2);
        if (delivery.size == 0) continue;
        if (!payload_is_whole(delivery.payload, delivery.size)) result = -EBADMSG;
        if (result == 0) result = tidings_hold(own_observer, &delivery, &held[i % 2]);
        if (result != 0) break;
    }
    if (result != -EAGAIN) atomic_store(&board->result, result);
}

static void holds_and_releases_the_rest(void) {
    holds_what_it_receives();
    releases_whole(0);
    releases_whole(1);
}

void a_held_payload_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "holding payloads",
                                       .prepare = reads_in_place,
                                       .at_begin = large_ones_are_posted,
                                       .act = holds_what_it_receives,
                                       .settle = holds_and_releases_the_rest,
                                       .verify = accounts_for_all});
}

// MARK: Leaving

static void is_about_to_leave(void) {
    join_as_target();
    opens(TIDINGS_OBSERVE_LOSSLESS);
    observes(NAME, NULL, 0, &own_subscriptions[0]);
    observes("brand-new", "subject", 0, &own_subscriptions[1]);
}

static void cancels_and_leaves(void) {
    int result = tidings_observer_remove(own_observer, own_subscriptions[1]);
    if (result == 0) result = tidings_observer_remove(own_observer, own_subscriptions[0]);
    if (result == 0 && next_as_target(0)) result = -EEXIST;
    if (result != 0) atomic_store(&board->result, result);
    tidings_observer_close(own_observer);
    own_observer = NULL;
}

void cancelling_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){
        .text = "cancelling", .prepare = is_about_to_leave, .act = cancels_and_leaves, .lossless = true});
}

// MARK: Faults in a reader. It can't write, so it can disturb other processes only by its locks and its place to sleep.

void registering_to_read_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "registering to read",
                                       .prepare = join_as_target,
                                       .act = registers,
                                       .settle = drain_as_target,
                                       .verify = got_what_came_after,
                                       .readable = true});
}

void reading_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "reading",
                                       .prepare = is_an_observer,
                                       .at_begin = has_missed_some,
                                       .act = drain_as_target,
                                       .settle = drain_as_target,
                                       .verify = accounts_for_all,
                                       .readable = true});
}

void a_reader_being_woken_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "a reader being woken",
                                       .prepare = is_an_observer,
                                       .at_begin = one_is_posted,
                                       .act = waits,
                                       .settle = drain_as_target,
                                       .verify = accounts_for_all,
                                       .sleeps = true,
                                       .readable = true});
}

static void leaves(void) {
    tidings_observer_close(own_observer);
    own_observer = NULL;
    tidings_close(own_center);
    own_center = NULL;
}

void a_reader_leaving_survives_a_fault_anywhere(void) {
    fault_anywhere(
        &(struct operation){.text = "a reader leaving", .prepare = is_an_observer, .act = leaves, .readable = true});
}
