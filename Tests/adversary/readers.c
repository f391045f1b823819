// What sleeping readers cost a poster: readers [POSTS]. Three groups: threads that sleep on a name futex, on the claims
// of the coming slots, and on the word on which posters wait where no reader maps the file. Prints microseconds of a
// post (median; of lossless posts the mean), and the ratio to the first row of the group.
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "center/center.h"
#include "posting/publisher.h"
#include "ring/cell.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#define WORDS_MOST 128
#define LOSSLESS_POSTS 40000u

typedef enum place { NAME_FUTEX, CLAIMS, WAITING_POSTERS } place;

typedef struct sleepers {
    const char *name;
    bool first;                            // of its group
    bool lossless;                         // one lossless observer, and posts that wait for it
    unsigned observers, readers, hostile;  // threads: honest with and without write access, and hostile readers
    unsigned words;                        // how many words each hostile thread sleeps on
    place on;
} sleepers;

static const sleepers kinds[] = {
    {"1 honest reader", .first = true, .readers = 1},
    {"20 honest readers", .readers = 20},
    {"500 hostile threads, the name futex", .hostile = 500, .words = 1, .on = NAME_FUTEX},
    {"500 hostile threads, the name futex 128 times", .hostile = 500, .words = WORDS_MOST, .on = NAME_FUTEX},
    {"8 observers", .first = true, .observers = 8},
    {"8, 500 hostile threads, a claim each", .observers = 8, .hostile = 500, .words = 1, .on = CLAIMS},
    {"8, 500 hostile threads, 128 claims each", .observers = 8, .hostile = 500, .words = WORDS_MOST, .on = CLAIMS},
    {"a lossless observer", .first = true, .lossless = true},
    {"it, 500 hostile threads, one word each", .lossless = true, .hostile = 500, .words = 1, .on = WAITING_POSTERS},
    {"it, 500 hostile threads, 128 words each", .lossless = true, .hostile = 500, .words = WORDS_MOST,
     .on = WAITING_POSTERS},
};

typedef struct board {
    _Atomic unsigned ready, awake;
    _Atomic uint64_t last;  // when the last honest thread had its delivery, in nanoseconds
} board;

static board *shared;
static tidings_center *read_only;
static uint32_t name_futex;
static const sleepers *now;

static void fail(const char *what) {
    fprintf(stderr, "readers: can't %s: %s\n", what, tidings_last_error());
    exit(1);
}

static uint64_t nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static _Atomic uint32_t *word_at(uint64_t frontier, unsigned i) {
    const tidings__segment *s = &read_only->segment;
    if (now->on == CLAIMS) return tidings__claim_futex(tidings__cell_at(s, frontier + i));
    return now->on == NAME_FUTEX ? &s->header->name_futexes[name_futex].word
                                 : (_Atomic uint32_t *)(void *)&s->header->waiting_posters.word;
}

static void *hostile(void *nothing) {
    struct {
        uint64_t value, address;
        uint32_t flags, reserved;
    } waits[WORDS_MOST] = {{0}};
    uint64_t frontier = 0;
    atomic_fetch_add(&shared->ready, 1);
    for (;;) {
        if (now->on == CLAIMS) frontier = tidings__frontier(&read_only->segment, frontier);
        for (unsigned i = 0; i < now->words; i++) {
            waits[i].address = (uintptr_t)word_at(frontier, i);
            waits[i].value = atomic_load(word_at(frontier, i));
            waits[i].flags = 2;  // 32 bits
        }
        if (now->words == 1)
            syscall(SYS_futex, waits[0].address, FUTEX_WAIT, waits[0].value, NULL, NULL, 0);
        else
            syscall(SYS_futex_waitv, waits, now->words, 0, NULL, CLOCK_MONOTONIC);
    }
    return nothing;
}

static void *honest(void *center) {
    tidings_observer *observer;
    uint32_t subscription;
    tidings_delivery delivery;
    if (tidings_observer_open(center, now->lossless ? TIDINGS_OBSERVE_LOSSLESS : 0, &observer)) fail("observe");
    if (tidings_observer_add(observer, "name", 4, NULL, 0, 0, &subscription)) fail("observe");
    if (!now->lossless) tidings_observer_spin(observer, 0);
    atomic_fetch_add(&shared->ready, 1);
    while (tidings_next(observer, -1, &delivery) == 0) {
        // Slower than the poster, which therefore waits.
        if (now->lossless)
            for (volatile int i = 0; i < 1500; i++) continue;
        const uint64_t time = nanoseconds();
        uint64_t last = atomic_load(&shared->last);
        while (last < time && !atomic_compare_exchange_weak(&shared->last, &last, time)) continue;
        atomic_fetch_add(&shared->awake, 1);
    }
    return NULL;
}

static pid_t threads_of_another_process(bool writes, unsigned count, void *(*body)(void *)) {
    if (count == 0) return 0;
    const unsigned ready = atomic_load(&shared->ready) + count;
    const pid_t process = fork();
    if (process != 0) {
        while (atomic_load(&shared->ready) < ready) usleep(1000);
        return process;
    }
    // Another user's, if this one may become another user.
    const uid_t owner = geteuid();
    if (!writes && owner == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) exit(1);
    tidings_configuration configuration = {.mode = 0644, .owner = owner};
    if (!writes) configuration.flags = TIDINGS_OPEN_READ_ONLY | TIDINGS_OPEN_OWNER;
    if (tidings_open("readers", &configuration, &read_only)) fail("open the center");
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (unsigned i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &small, body, read_only) != 0) fail("start a thread");
    }
    for (;;) pause();
}

static int by_size(const void *left, const void *right) {
    const double one = *(const double *)left, other = *(const double *)right;
    return (one > other) - (one < other);
}

// Microseconds of a post; `*last`: until the last honest thread was awake.
static double median_post(tidings_publisher *publisher, unsigned posts, double *last) {
    double *took = calloc(posts, sizeof *took), *until = calloc(posts, sizeof *until);
    const unsigned honests = now->readers + now->observers;
    for (unsigned i = 0; i < posts; i++) {
        usleep(2000);  // all sleep again
        atomic_store(&shared->awake, 0);
        atomic_store(&shared->last, 0);
        const uint64_t begun = nanoseconds();
        if (tidings_post(publisher, "x", 1, NULL, NULL)) fail("post");
        took[i] = (double)(nanoseconds() - begun) / 1e3;
        // Asleep meanwhile: a loop here would take one of the processors from the readers.
        while (atomic_load(&shared->awake) < honests) usleep(500);
        until[i] = (double)(atomic_load(&shared->last) - begun) / 1e3;
    }
    qsort(took, posts, sizeof *took, by_size);
    qsort(until, posts, sizeof *until, by_size);
    *last = until[posts / 2];
    const double median = took[posts / 2];
    free(took);
    free(until);
    return median;
}

static double lossless_post(tidings_publisher *publisher) {
    const uint64_t begun = nanoseconds();
    for (unsigned i = 0; i < LOSSLESS_POSTS; i++)
        if (tidings_post(publisher, "x", 1, &(tidings_post_options){.timeout_ns = -1}, NULL)) fail("post");
    return (double)(nanoseconds() - begun) / 1e3 / LOSSLESS_POSTS;
}

static void end(pid_t process) {
    if (process == 0) return;
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
}

int main(int count, char **arguments) {
    const unsigned posts = count > 1 ? (unsigned)atoi(arguments[1]) : 1000;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double first = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        tidings_center *center;
        tidings_publisher *publisher;
        now = &kinds[k];
        if (tidings_open("readers", &(tidings_configuration){.mode = 0644, .slots = now->lossless ? 256 : 0}, &center))
            fail("open a center");
        if (tidings_publisher_open(center, "name", 4, NULL, 0, &publisher)) fail("open a center");
        name_futex = tidings__name_futex_of(&publisher->key);
        atomic_store(&shared->ready, 0);
        const pid_t observers = threads_of_another_process(true, now->observers + now->lossless, honest);
        const pid_t readers = threads_of_another_process(false, now->readers, honest);
        const pid_t hostiles = threads_of_another_process(false, now->hostile, hostile);
        double last = 0;
        const double post = now->lossless ? lossless_post(publisher) : median_post(publisher, posts, &last);
        tidings_statistics statistics;
        if (tidings_statistics_get(center, &statistics)) fail("look at the center");
        if (now->first) first = post;
        printf("%-41s a post %7.1f us, %5.1f times", now->name, post, post / first);
        if (now->readers + now->observers > 0) printf("; the last is awake after %7.1f us", last);
        printf("; %llu revoked\n", (unsigned long long)statistics.revoked);
        fflush(stdout);
        end(hostiles);
        end(readers);
        end(observers);
        tidings_publisher_close(publisher);
        tidings_close(center);
        if (tidings_remove("readers", NULL)) fail("remove the center");
    }
    return 0;
}
