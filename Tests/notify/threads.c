// Threads that register, cancel, post and ask, for all they are worth: each with tokens of its own, and all with the
// same.
#include <pthread.h>
#include <sched.h>

#include "peer.h"

#define THREADS 8
static _Atomic uint64_t actions;

static uint64_t next_of(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int shared_token;
static _Atomic uint64_t reports;
static _Atomic bool reported_all;

static void *checks(void *argument) {
    (void)argument;
    // Only few checks are followed by a yield, so that most threads that the kernel interrupts are in a check.
    for (uint32_t i = 1; !atomic_load(&reported_all); i++) {
        if (is_new(shared_token)) atomic_fetch_add(&reports, 1);
        if (i % 4096 == 0) sched_yield();
    }
    return NULL;
}

void threads_that_check_one_token_report_each_post_once(void) {
    pthread_t threads[THREADS];
    shared_token = check_of("com.example.a");
    CHECK(is_new(shared_token), "first");
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, checks, NULL);
    const uint64_t wanted = SANITIZED ? 300 : 5000;
    for (uint64_t posts = 1; posts <= wanted; posts++) {
        OK(notify_post("com.example.a"));
        while (atomic_load(&reports) < posts) sched_yield();
        CHECK(atomic_load(&reports) == posts, "%llu reports of %llu posts", (unsigned long long)reports,
              (unsigned long long)posts);
    }
    atomic_store(&reported_all, true);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    CHECK(!is_new(shared_token) && atomic_load(&reports) == wanted, "once each");
}

static void *races(void *argument) {
    uint64_t state = seed * 977 + (uintptr_t)argument + 1;
    const uint64_t wanted = SANITIZED ? 100000 : 1000000;
    while (atomic_fetch_add(&actions, 1) < wanted) {
        char name[32], own[32];
        snprintf(name, sizeof name, "com.example.%u", (unsigned)(next_of(&state) % 16));
        snprintf(own, sizeof own, "com.example.of.%u", (unsigned)(uintptr_t)argument);
        int token, second, check, descriptor = -1;
        OK(notify_register_check(next_of(&state) % 2 ? name : own, &token));
        OK(notify_check(token, &check));
        CHECK(check == 1, "the first check");
        switch (next_of(&state) % 32) {
            case 0:
                OK(notify_register_file_descriptor(name, &descriptor, 0, &second));
                OK(notify_post(name));
                CHECK(read_token(descriptor) == second, "delivered");
                OK(notify_cancel(second));
                break;
            case 1:
                OK(notify_register_signal(name, SIGURG, &second));  // ignored, unless there is a handler
                OK(notify_suspend(second));
                OK(notify_post(name));
                OK(notify_resume(second));
                OK(notify_cancel(second));
                break;
            default:
                OK(notify_cancel(token));
                OK(notify_register_check(own, &token));
                OK(notify_check(token, &check));
                OK(notify_post(own));
                OK(notify_check(token, &check));
                CHECK(check == 1, "an own post to a name of one's own");
                OK(notify_check(token, &check));
                CHECK(check == 0, "told once");
        }
        OK(notify_cancel(token));
        CHECK(!notify_is_valid_token(token), "canceled");
    }
    return NULL;
}

void a_million_races_of_register_cancel_and_post_from_eight_threads(void) {
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, races, (void *)i) == 0, "no thread");
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

// Threads register, and other threads cancel the same tokens, independently of each other.
#define RACERS 32
#define PLACES 64
static _Atomic int shared[PLACES];
static _Atomic uint64_t turns, registered, canceled;

static void *cancels(void *argument) {
    uint64_t state = seed * 977 + (uintptr_t)argument + 1;
    const uint64_t wanted = SANITIZED ? 100000 : 1000000;
    while (atomic_fetch_add(&turns, 1) < wanted) {
        _Atomic int *place = &shared[next_of(&state) % PLACES];
        char name[32];
        snprintf(name, sizeof name, "com.example.%u", (unsigned)(next_of(&state) % 16));
        int token = *place, check, none = 0;
        uint64_t value;
        uint32_t status;
        if (token == 0) {
            int descriptor = -1;
            if (next_of(&state) % 8 == 0)
                OK(notify_register_file_descriptor(name, &descriptor, 0, &token));
            else
                OK(notify_register_check(name, &token));
            registered++;
            if (atomic_compare_exchange_strong(place, &none, token)) continue;
            OK(notify_cancel(token));
            canceled++;
            continue;
        }
        switch (next_of(&state) % 8) {
            case 0: status = notify_check(token, &check); break;
            case 1: status = notify_suspend(token); break;
            case 2: status = notify_resume(token); break;
            case 3: status = notify_get_state(token, &value); break;
            case 4: status = notify_post(name); break;
            default:
                status = notify_cancel(token);
                if (status != NOTIFY_STATUS_OK) break;
                canceled++;
                CHECK(!notify_is_valid_token(token), "token %d, canceled", token);
                atomic_compare_exchange_strong(place, &token, 0);
        }
        CHECK(status == NOTIFY_STATUS_OK || status == NOTIFY_STATUS_INVALID_TOKEN, "status %u", status);
    }
    return NULL;
}

void a_token_that_many_threads_cancel_is_canceled_once(void) {
    pthread_t threads[RACERS];
    for (uintptr_t i = 0; i < RACERS; i++)
        CHECK(pthread_create(&threads[i], NULL, cancels, (void *)i) == 0, "no thread");
    for (int i = 0; i < RACERS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < PLACES; i++) {
        if (shared[i] == 0) continue;
        OK(notify_cancel(shared[i]));
        canceled++;
    }
    CHECK(registered == canceled, "%llu registered, %llu canceled", (unsigned long long)registered,
          (unsigned long long)canceled);
}
