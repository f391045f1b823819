// Observers that may only read, harmed at any moment: others can't be hurt by what can't write, but for the locks and the sleeping places that it has.
#include "harm.h"

static void joins_to_read(void) {
    const tidings_configuration reading = {.flags = TIDINGS_OPEN_READ_ONLY};
    const int result = tidings_open("story", &reading, &own_center);
    if (result != 0) atomic_store(&board->result, result);
}

static void observes(const char *name, const char *subject, uint32_t flags) {
    uint32_t interest;
    const int result = tidings_observer_add(own_observer, name, strlen(name), subject, subject ? strlen(subject) : 0, flags, &interest);
    if (result != 0) atomic_store(&board->result, result);
}

static void opens(void) {
    const int result = tidings_observer_open(own_center, 0, &own_observer);
    if (result != 0) atomic_store(&board->result, result);
}

static void has_joined(void) {
    OK(tidings_open("story", &(tidings_configuration){.flags = TIDINGS_OPEN_READ_ONLY}, &own_center));
}

static void is_an_observer(void) {
    has_joined();
    opens();
    observes(NAME, NULL, 0);
    tidings_observer_spin(own_observer, 0);
}

// From when its observer began, which may have been at any moment of the section.
static void got_no_more_than_there_is(void) {
    const uint64_t got = atomic_load(&board->received) + atomic_load(&board->missed);
    const uint32_t since = posted_under_name() - world.named_before;
    SO(got <= since && (got == since || !world.registered), "it got %lu of %u%s", (unsigned long)got, since, world.registered ? ", and had been registered" : "");
}

static void accounts_for_all(void) {
    const uint64_t got = atomic_load(&board->received) + atomic_load(&board->missed);
    SO(got == posted_under_name() - world.named_before, "it got %lu of %u", (unsigned long)got, posted_under_name() - world.named_before);
}

// MARK: Coming

void joining_to_read_harmed_anywhere_harms_nobody(void) {
    harm_anywhere(&(struct operation){.text = "joining to read", .act = joins_to_read, .readable = true});
}

static void registers(void) {
    opens();
    observes(NAME, NULL, 0);
    atomic_store(&board->registered, 1);
    observes("brand-new", "subject", TIDINGS_ADD_RETAINED);
}

void registering_to_read_harmed_anywhere_harms_nobody(void) {
    harm_anywhere(&(struct operation){.text = "registering to read",
                                      .prepare = has_joined,
                                      .act = registers,
                                      .settle = drain_as_victim,
                                      .verify = got_no_more_than_there_is,
                                      .readable = true});
}

// MARK: Reading

static void more_than_the_ring_holds(void) {
    for (uint32_t i = 0; i < SLOTS + 40; i++) {
        judge_posts(i % 16 == 3, i % 32 == 3 ? 300 : 24, 0);
        if (i % 32 == 31) judge_sees();
    }
    judge_sees();
}

void reading_harmed_anywhere_harms_nobody(void) {
    harm_anywhere(&(struct operation){.text = "reading",
                                      .prepare = is_an_observer,
                                      .at_begin = more_than_the_ring_holds,
                                      .act = drain_as_victim,
                                      .settle = drain_as_victim,
                                      .verify = accounts_for_all,
                                      .readable = true});
}

static void waits(void) { next_as_victim(-1); }

static void one_is_posted(void) {
    judge_posts(true, 24, 0);
    listener_rests();
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
