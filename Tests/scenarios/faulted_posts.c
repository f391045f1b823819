// Faults at any moment in a post.
#include "center/center.h"
#include "faults.h"

static void posts(void) { post_as_target(0); }

void a_small_post_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){
        .text = "posting 64 bytes", .prepare = join_as_target, .act = posts, .posts = 1, .size = 64});
}

void a_chunk_post_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){
        .text = "posting 300 bytes", .prepare = join_as_target, .act = posts, .posts = 1, .size = 300});
}

void a_retained_post_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "posting a value",
                                       .prepare = join_as_target,
                                       .act = posts,
                                       .posts = 1,
                                       .size = 64,
                                       .flags = TIDINGS_POST_RETAIN});
}

void a_revoked_post_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "posting anew what was revoked",
                                       .prepare = join_as_target,
                                       .act = posts,
                                       .posts = 1,
                                       .size = 300,
                                       .revoked = true});
}

// Where the kernel doesn't tell of its death: in another pid namespace, or without a robust list.
static void joins_from_abroad(void) {
    join_as_target();
    own_center->in_creation_pid_namespace = false;
}

void a_post_from_abroad_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){
        .text = "posting from abroad", .prepare = joins_from_abroad, .act = posts, .posts = 1, .size = 64});
}

// MARK: Into a full ring

static void fills_the_ring(void) {
    join_as_target();
    tidings_publisher *filler;
    uint8_t bytes[sizeof(stamp)];
    fill_payload(bytes, sizeof bytes, 3, 0);
    OK(tidings_publisher_open(own_center, "filler", 6, NULL, 0, &filler));
    for (uint64_t there = 0; there < SLOTS;) {
        OK(tidings_post(filler, bytes, sizeof bytes, NULL, NULL));
        const tidings_statistics now = statistics_of(own_center);
        there = now.posted - now.retained_from;
    }
    tidings_publisher_close(filler);
}

// What is about to leave the ring: a value, and what several observers account for.
static void values_in_the_ring(void) {
    for (uint32_t i = 0; i < 20; i++) checker_posts(i % 2, 64, i % 10 == 1 ? TIDINGS_POST_RETAIN : 0);
    checker_sees();
}

void an_eviction_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "evicting",
                                       .set_scene = values_in_the_ring,
                                       .prepare = fills_the_ring,
                                       .act = posts,
                                       .posts = 1,
                                       .size = 300,
                                       .flags = TIDINGS_POST_RETAIN});
}

// The same; and the evicting thread that finishes the eviction counts each position for a prefix as well.
void an_eviction_for_prefixes_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "evicting, counted by prefix",
                                       .set_scene = values_in_the_ring,
                                       .prepare = fills_the_ring,
                                       .act = posts,
                                       .posts = 1,
                                       .size = 300,
                                       .flags = TIDINGS_POST_RETAIN,
                                       .prefixes = true});
}

// MARK: Held back

static tidings_observer *holder;

static void an_observer_holds_all_back(void) {
    uint32_t subscription;
    OK(tidings_observer_open(world.center, TIDINGS_OBSERVE_LOSSLESS, &holder));
    OK(tidings_observer_add(holder, NAME, strlen(NAME), NULL, 0, 0, &subscription));
    for (uint32_t i = 0; checker_posts(true, 24, 0); i++)
        if (i % 32 == 31) checker_sees();
    checker_sees();
}

static void joins_a_full_ring(void) {
    const tidings_configuration existing = {.flags = TIDINGS_OPEN_EXISTING};
    OK(tidings_open("scenario", &existing, &own_center));
    OK(tidings_publisher_open(own_center, NAME, strlen(NAME), NULL, 0, &own_publisher));
}

static void waits_and_posts(void) {
    const tidings_post_options options = {.timeout_ns = -1};
    const int result = tidings_post(own_publisher, own_payloads[0], operation->size, &options, NULL);
    if (result != 0)
        atomic_store(&board->result, result);
    else
        atomic_fetch_add(&board->returned, 1);
}

static void closes_the_holder(void) { tidings_observer_close(holder); }

// It waits for a lossless observer, which has just gone.
void a_post_held_back_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "posting once let",
                                       .set_scene = an_observer_holds_all_back,
                                       .prepare = joins_a_full_ring,
                                       .at_begin = closes_the_holder,
                                       .act = waits_and_posts,
                                       .posts = 1,
                                       .size = 64,
                                       .lossless = true,
                                       .sleeps = true});
}

// MARK: In memory of the center

static void reserves_and_posts(void) {
    tidings_reservation reservation;
    int result = tidings_reserve(own_center, 400, &reservation);
    if (result == 0) {
        memcpy(reservation.bytes, own_payloads[0], 400);
        result = tidings_reserve_more(own_center, &reservation, 400, operation->size);
        memcpy(reservation.bytes, own_payloads[0], operation->size);
        if (result == 0) result = tidings_post_reserved(own_publisher, &reservation, operation->size, NULL, NULL);
        if (result == 0) atomic_fetch_add(&board->returned, 1);
        if (result == 0) result = tidings_reserve(own_center, 900, &reservation);
        if (result == 0) tidings_abandon(own_center, &reservation);
    }
    atomic_store(&board->result, result);
}

void a_reservation_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){
        .text = "reserving", .prepare = join_as_target, .act = reserves_and_posts, .posts = 1, .size = 800});
}

// MARK: Values

static void has_a_value(void) {
    checker_posts(true, 200, TIDINGS_POST_RETAIN);
    checker_sees();
}

static void clears(void) {
    const int result = tidings_state_set(own_publisher, NULL, 0, NULL, NULL);
    if (result != 0) atomic_store(&board->result, result);
}

void clearing_a_value_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "clearing a value",
                                       .set_scene = has_a_value,
                                       .prepare = join_as_target,
                                       .act = clears,
                                       .empties = 1,
                                       .flags = TIDINGS_POST_RETAIN});
}

static void reads_the_value(void) {
    uint8_t value[1000];
    size_t size = sizeof value;
    int result = tidings_state_get(own_publisher, value, &size, NULL, NULL);
    if (result == 0 && !payload_is_whole(value, size)) result = -EBADMSG;
    atomic_store(&board->result, result);
}

// Others set it again and again meanwhile: it is always one of theirs.
void reading_a_value_survives_a_fault_anywhere(void) {
    fault_anywhere(&(struct operation){.text = "reading a value",
                                       .set_scene = has_a_value,
                                       .prepare = join_as_target,
                                       .act = reads_the_value,
                                       .flags = TIDINGS_POST_RETAIN});
}
