// The 64-bit state of a name.
#include <time.h>

#include "peer.h"

void a_state_is_what_was_set_last(void) {
    int token;
    uint64_t state = 1;
    OK(notify_register_plain("com.example.a", &token));
    const int other = check_of("com.example.a"), different = check_of("com.example.b");
    OK(notify_get_state(token, &state));
    CHECK(state == 0, "it was never set: %llu", (unsigned long long)state);
    const uint64_t values[] = {1, 23, 24, 255, 256, 65535, 65536, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX, 0, 5, 0};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        OK(notify_set_state(i % 2 ? token : other, values[i]));
        OK(notify_get_state(token, &state));
        CHECK(state == values[i], "%llu", (unsigned long long)state);
        OK(notify_get_state(other, &state));
        CHECK(state == values[i], "%llu by another token", (unsigned long long)state);
        OK(notify_get_state(different, &state));
        CHECK(state == 0, "%llu of another name", (unsigned long long)state);
    }
}

static void sets(void) {
    const int token = check_of("com.example.a");
    OK(notify_set_state(token, 4711));
    OK(notify_cancel(token));
}

void a_state_outlives_its_registrations(void) {
    ends_well(start(sets));
    // Long after, when the ring has gone round many times.
    for (int i = 0; i < 20000; i++) OK(notify_post("com.example.noise"));
    uint64_t state;
    const int token = check_of("com.example.a");
    OK(notify_get_state(token, &state));
    CHECK(state == 4711, "%llu", (unsigned long long)state);
    ends_well(start(sets));
    OK(notify_get_state(token, &state));
    CHECK(state == 4711, "%llu", (unsigned long long)state);
}

void a_state_set_often_is_always_one_that_was_set(void) {
    const int token = check_of("com.example.a");
    const pid_t pid = fork();
    CHECK(pid >= 0, "errno %d", errno);
    if (pid == 0) {
        for (uint64_t i = 1; i < (SANITIZED ? 2000 : 20000); i++) OK(notify_set_state(token, i << 32 | i));
        OK(notify_set_state(token, UINT64_MAX));
        _exit(0);
    }
    uint64_t before = 0, state = 0;
    while (state != UINT64_MAX) {
        OK(notify_get_state(token, &state));
        CHECK(state == UINT64_MAX || (uint32_t)state == state >> 32, "%llx", (unsigned long long)state);
        CHECK(state >= before, "%llx after %llx", (unsigned long long)state, (unsigned long long)before);
        before = state;
    }
    ends_well(pid);
}

static uint32_t set_many(const int *tokens, int count, int *set) {
    uint32_t status = NOTIFY_STATUS_OK;
    while (*set < count && (status = notify_set_state(tokens[*set], (uint64_t)*set + 1)) == NOTIFY_STATUS_OK) ++*set;
    return status;
}

static void post_payload(size_t size) {
    tidings_center *center = default_center();
    tidings_publisher *publisher;
    CHECK(tidings_publisher_open(center, "com.example.7", 13, NULL, 0, &publisher) == 0, "no publisher");
    void *payload = calloc(1, size);
    CHECK(tidings_post(publisher, payload, size, NULL, NULL) == 0, "no room for payloads");
    free(payload);
    tidings_publisher_close(publisher);
    tidings_close(center);
}

// A default center has 896 places for payloads, and each state takes one.
void where_no_more_states_fit_it_is_said_and_all_else_goes_on(void) {
    enum { MOST = 2000 };
    static int tokens[MOST];
    char name[64];
    int set = 0;
    uint64_t state;
    for (int i = 0; i < MOST; i++) {
        snprintf(name, sizeof name, "com.example.%d", i);
        tokens[i] = check_of(name);
        CHECK(is_new(tokens[i]), "first");
    }
    EXPECT(NOTIFY_STATUS_FAILED, set_many(tokens, MOST, &set));
    CHECK(set == 896 / 4 * 3, "%d", set);
    for (int i = 0; i < MOST; i++) {
        OK(notify_get_state(tokens[i], &state));
        CHECK(state == (i < set ? (uint64_t)i + 1 : 0), "%d has %llu", i, (unsigned long long)state);
    }
    OK(notify_post("com.example.7"));
    CHECK(is_new(tokens[7]) && !is_new(tokens[8]), "posted");
    for (int i = 0; i < 100; i++) post_payload(i % 10 ? 1000 : 100000);
    // Those that are set can be set anew, all of them; and one that is set to 0 makes room for another.
    for (int i = 0; i < set; i++) OK(notify_set_state(tokens[i], (uint64_t)i + 5000));
    OK(notify_set_state(tokens[0], 0));
    OK(notify_set_state(tokens[set], 4711));
    EXPECT(NOTIFY_STATUS_FAILED, notify_set_state(tokens[set + 1], 4712));
    for (int i = 0; i < MOST; i++) {
        OK(notify_get_state(tokens[i], &state));
        CHECK(state == (i == set           ? 4711
                        : i > 0 && i < set ? (uint64_t)i + 5000
                                           : 0),
              "%d has %llu", i, (unsigned long long)state);
    }
    for (int i = 0; i <= set; i++) OK(notify_set_state(tokens[i], 0));
    set = 0;
    EXPECT(NOTIFY_STATUS_FAILED, set_many(tokens, MOST, &set));
    CHECK(set == 896 / 4 * 3, "%d", set);
}

enum { STATES = 896 / 4 * 3 };

static int token_of_state(const char *kind, int number) {
    char name[64];
    snprintf(name, sizeof name, "com.example.%s.%d", kind, number);
    return check_of(name);
}

static void takes_all_states(void) {
    for (int i = 0; i < STATES; i++) OK(notify_set_state(token_of_state("theirs", i), 1));
}

// Another process set them: this one knows of none.
void a_state_that_is_there_can_be_set_and_a_cleared_one_makes_room_at_once(void) {
    ends_well(start(takes_all_states));
    uint64_t state;
    const int more = token_of_state("more", 0);
    EXPECT(NOTIFY_STATUS_FAILED, notify_set_state(more, 5));
    CHECK(strstr(tidings_last_error(), "can't set the state of \"com.example.more.0\"") != NULL, "no line");
    for (int i = 0; i < STATES; i++) {
        const int token = token_of_state("theirs", i);
        OK(notify_set_state(token, (uint64_t)i + 2));
        OK(notify_get_state(token, &state));
        CHECK(state == (uint64_t)i + 2, "%d has %llu", i, (unsigned long long)state);
        OK(notify_cancel(token));
    }
    for (int i = 0; i < 20; i++) {
        EXPECT(NOTIFY_STATUS_FAILED, notify_set_state(token_of_state("more", i), 6));
        OK(notify_set_state(token_of_state("theirs", i), 0));
        OK(notify_set_state(token_of_state("more", i), 6));
    }
    // All at once, by a process that didn't set them; then as many others.
    for (int i = 0; i < STATES; i++) OK(notify_set_state(token_of_state(i < 20 ? "more" : "theirs", i), 0));
    for (int i = 0; i < STATES; i++) OK(notify_set_state(token_of_state("others", i), 7));
    EXPECT(NOTIFY_STATUS_FAILED, notify_set_state(more, 8));
}

// Bounds processor time, not the clock: a walk along this table took a thousand times as long as a look at the chunks.
void a_refused_state_does_not_walk_the_table_of_names(void) {
    enum { NAMES = SANITIZED ? 4000 : 60000, REFUSED = SANITIZED ? 100 : 1000 };
    struct timespec begun, ended;
    for (int i = 0; i < NAMES; i++) (void)token_of_state("name", i);
    for (int i = 0; i < STATES; i++) OK(notify_set_state(token_of_state("state", i), 1));
    const int more = token_of_state("more", 0);
    CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun) == 0, "errno %d", errno);
    for (int i = 0; i < REFUSED; i++) {
        EXPECT(NOTIFY_STATUS_FAILED, notify_set_state(more, 5));
        OK(notify_post("com.example.noise"));  // so that the center is not as it was at the last refusal
    }
    CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended) == 0, "errno %d", errno);
    const long long each = ((ended.tv_sec - begun.tv_sec) * 1000000000LL + ended.tv_nsec - begun.tv_nsec) / REFUSED;
    printf("a refused state takes %lld ns of processor time among %d names\n", each, NAMES);
    CHECK(SANITIZED || each < 1000000, "%lld ns for each refused state", each);
}
