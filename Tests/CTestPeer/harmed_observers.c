// Observers that are harmed at any moment.
#include "center/observer.h"
#include "harm.h"

static void observes(const char *name, const char *subject, uint32_t flags, uint32_t *subscription) {
    const int result = tidings_observer_add(own_observer, name, strlen(name), subject, subject ? strlen(subject) : 0, flags, subscription);
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

void registering_harmed_anywhere_harms_nobody(void) {
    harm_anywhere(&(struct operation){.text = "registering",
                                      .prepare = join_as_victim,
                                      .act = registers,
                                      .settle = drain_as_victim,
                                      .verify = got_what_came_after});
}

static void registers_by_prefix(void) {
    uint32_t subscription;
    opens(0);
    const size_t shorter = strlen(NAME) - 2;
    int result = tidings_observer_add(own_observer, NAME, shorter, NULL, 0, TIDINGS_ADD_PREFIX | TIDINGS_ADD_RETAINED, &subscription);
    atomic_store(&board->registered, 1);
    // And one that nobody else looks at: it comes into the table, and goes again.
    if (result == 0) result = tidings_observer_add(own_observer, "brand-new", 9, NULL, 0, TIDINGS_ADD_PREFIX, &subscription);
    if (result == 0) result = tidings_observer_remove(own_observer, subscription);
    if (result != 0) atomic_store(&board->result, result);
}

void registering_by_prefix_harmed_anywhere_harms_nobody(void) {
    harm_anywhere(&(struct operation){.text = "registering by prefix",
                                      .prepare = join_as_victim,
                                      .act = registers_by_prefix,
                                      .settle = drain_as_victim,
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
    for (uint32_t i = 0; i < 20; i++) judge_posts(i % 2, 64, i == 7 ? TIDINGS_POST_RETAIN : 0);
    judge_sees();
}

static void missed_nothing(void) {
    SO(atomic_load(&board->missed) == 0, "a lossless observer missed %lu", (unsigned long)atomic_load(&board->missed));
}

void registering_for_good_harmed_anywhere_harms_nobody(void) {
    harm_anywhere(&(struct operation){.text = "registering for good",
                                      .set_scene = some_history,
                                      .prepare = join_as_victim,
                                      .act = registers_for_good,
                                      .settle = drain_as_victim,
                                      .verify = missed_nothing,
                                      .flags = TIDINGS_POST_RETAIN,
                                      .lossless = true});
}

// MARK: Receiving

static uint32_t own_subscriptions[2];

static void is_an_observer(void) {
    join_as_victim();
    opens(0);
    observes(NAME, NULL, 0, own_subscriptions);
    tidings_observer_spin(own_observer, 0);
}

static void has_missed_some(void) {
    for (uint32_t i = 0; i < SLOTS; i++) judge_posts(false, 8, 0);
    for (uint32_t i = 0; i < 3; i++) {
        judge_sees();
        judge_posts(true, 300, 0);
        judge_posts(true, 24, 0);
        for (uint32_t filler = 0; i == 0 && filler < SLOTS; filler++) {
            judge_posts(false, 8, 0);
            if (filler % 32 == 0) judge_sees();
        }
    }
    judge_sees();
}

// Every post since it was there is one that it got, or was told to have missed.
static void accounts_for_all(void) {
    const uint64_t got = atomic_load(&board->received) + atomic_load(&board->missed);
    SO(got == posted_under_name() - world.named_before, "it got %lu and missed %lu of %u", (unsigned long)atomic_load(&board->received),
       (unsigned long)atomic_load(&board->missed), posted_under_name() - world.named_before);
}

void receiving_harmed_anywhere_harms_nobody(void) {
    harm_anywhere(&(struct operation){.text = "receiving",
                                      .prepare = is_an_observer,
                                      .at_begin = has_missed_some,
                                      .act = drain_as_victim,
                                      .settle = drain_as_victim,
                                      .verify = accounts_for_all});
}

static void waits(void) { next_as_victim(-1); }

static void one_is_posted(void) {
    judge_posts(true, 24, 0);
    listener_rests();
}

void being_woken_harmed_anywhere_harms_nobody(void) {
    harm_anywhere(&(struct operation){.text = "being woken",
                                      .prepare = is_an_observer,
                                      .at_begin = one_is_posted,
                                      .act = waits,
                                      .settle = drain_as_victim,
                                      .verify = accounts_for_all,
                                      .sleeps = true});
}

// MARK: Without loss

static void is_an_observer_for_good(void) {
    join_as_victim();
    opens(TIDINGS_OBSERVE_LOSSLESS);
    observes(NAME, NULL, 0, own_subscriptions);
    tidings_observer_spin(own_observer, 0);
}

static void all_are_held_back(void) {
    for (uint32_t i = 0; judge_posts(i % 16 == 0, i % 7 == 3 ? 300 : 24, 0); i++)
        if (i % 32 == 31) judge_sees();
    judge_sees();
}

static void accounts_for_all_without_loss(void) {
    missed_nothing();
    accounts_for_all();
}

void receiving_without_loss_harmed_anywhere_harms_nobody(void) {
    harm_anywhere(&(struct operation){.text = "receiving without loss",
                                      .prepare = is_an_observer_for_good,
                                      .at_begin = all_are_held_back,
                                      .act = drain_as_victim,
                                      .settle = drain_as_victim,
                                      .verify = accounts_for_all_without_loss,
                                      .lossless = true});
}

// MARK: Leaving

static void is_about_to_leave(void) {
    join_as_victim();
    opens(TIDINGS_OBSERVE_LOSSLESS);
    observes(NAME, NULL, 0, &own_subscriptions[0]);
    observes("brand-new", "subject", 0, &own_subscriptions[1]);
}

static void cancels_and_leaves(void) {
    int result = tidings_observer_remove(own_observer, own_subscriptions[1]);
    if (result == 0) result = tidings_observer_remove(own_observer, own_subscriptions[0]);
    if (result == 0 && next_as_victim(0)) result = -EEXIST;
    if (result != 0) atomic_store(&board->result, result);
    tidings_observer_close(own_observer);
    own_observer = NULL;
}

void cancelling_harmed_anywhere_harms_nobody(void) {
    harm_anywhere(&(struct operation){.text = "cancelling", .prepare = is_about_to_leave, .act = cancels_and_leaves, .lossless = true});
}

// MARK: By who may only read: others can't be hurt by what can't write, but for the locks and the sleeping places that it has

void registering_to_read_harmed_anywhere_harms_nobody(void) {
    harm_anywhere(&(struct operation){.text = "registering to read",
                                      .prepare = join_as_victim,
                                      .act = registers,
                                      .settle = drain_as_victim,
                                      .verify = got_what_came_after,
                                      .readable = true});
}

void reading_harmed_anywhere_harms_nobody(void) {
    harm_anywhere(&(struct operation){.text = "reading",
                                      .prepare = is_an_observer,
                                      .at_begin = has_missed_some,
                                      .act = drain_as_victim,
                                      .settle = drain_as_victim,
                                      .verify = accounts_for_all,
                                      .readable = true});
}

void a_reader_being_woken_harmed_anywhere_harms_nobody(void) {
    harm_anywhere(&(struct operation){.text = "a reader being woken",
                                      .prepare = is_an_observer,
                                      .at_begin = one_is_posted,
                                      .act = waits,
                                      .settle = drain_as_victim,
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

void a_reader_leaving_harmed_anywhere_harms_nobody(void) {
    harm_anywhere(&(struct operation){.text = "a reader leaving", .prepare = is_an_observer, .act = leaves, .readable = true});
}
