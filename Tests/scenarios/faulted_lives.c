// Faults at any moment while a participant joins, leaves, or reclaims after dead participants.
#include "center/center.h"
#include "faults.h"

static void nothing(void) {}

static void joins(void) {
    const int result = open_as_target();
    if (result != 0) atomic_store(&board->result, result);
}

void joining_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "joining", .prepare = nothing, .act = joins});
}

void joining_to_read_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "joining to read", .prepare = nothing, .act = joins, .readable = true});
}

// The handles are the scenario's: a forked child's first use of them.
static void uses_what_it_inherited(void) { own_publisher = world.publisher; }

static void posts(void) { post_as_target(0); }

static void forgets_what_it_inherited(void) { own_publisher = NULL; }

void joining_after_a_fork_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "joining after a fork",
                                       .prepare = uses_what_it_inherited,
                                       .act = posts,
                                       .settle = forgets_what_it_inherited,
                                       .posts = 1,
                                       .size = 300});
}

static void has_a_reservation(void) {
    tidings_reservation reservation;
    join_as_target();
    tidings_publisher_close(own_publisher);
    own_publisher = NULL;
    OK(tidings_reserve(own_center, 500, &reservation));
}

static void closes(void) {
    tidings_close(own_center);
    own_center = NULL;
}

void leaving_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "leaving", .prepare = has_a_reservation, .act = closes});
}

// MARK: After the dead

static void dies(void) {
    join_as_target();
    observer_of(own_center, NAME);
    observer_with(own_center, "remains", TIDINGS_OBSERVE_LOSSLESS, 0);
    tidings_reservation reservation;
    OK(tidings_reserve(own_center, 100, &reservation));
    uint8_t bytes[300];
    fill_payload(bytes, sizeof bytes, 3, 0);
    OK(tidings_post(publisher_of(own_center, "remains"), bytes, sizeof bytes, NULL, NULL));
    kill(getpid(), SIGKILL);
}

static void die(uint32_t count) {
    pid_t dying[PLACES];
    for (uint32_t i = 0; i < count; i++) dying[i] = start(dies);
    for (uint32_t i = 0; i < count; i++) {
        int status;
        CHECK(waitpid(dying[i], &status, 0) == dying[i], "%s", strerror(errno));
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "remains: status %x", (unsigned)status);
    }
    checker_sees();
}

static void one_has_died(void) { die(1); }

static void reclaims(void) {
    const int result = tidings_reclaim(own_center);
    if (result < 0) atomic_store(&board->result, result);
}

void reclaiming_up_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){
        .text = "reclaiming", .set_scene = one_has_died, .prepare = join_as_target, .act = reclaims});
}

static void all_places_are_of_the_dead(void) {
    // Two were killed; the other entries hold nothing but their place.
    die(2);
    for (uint32_t i = 0; i < PLACES; i++) {
        tidings__participant *place = &world.center->segment.participants[i];
        if (atomic_load(&place->instance) == 0) atomic_store(&place->instance, 0xdead0 + 2 * i + 1);
    }
}

void taking_a_dead_place_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){
        .text = "taking a dead place", .set_scene = all_places_are_of_the_dead, .prepare = nothing, .act = joins});
}

// MARK: Looking on

static void looks_on(void) {
    tidings_participant_info participant;
    tidings_name_info name;
    for (uint32_t i = 0; tidings_participant(own_center, i, &participant) != -ERANGE; i++) {}
    for (uint32_t i = 0; i < 4; i++) (void)tidings_name(own_center, i, &name);
}

void looking_on_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "looking on", .prepare = join_as_target, .act = looks_on});
}
