// What sleeping readers cost a poster: readers [POSTS]. Prints microseconds (median) of a post, and until the last honest reader is awake, and how many times a post beside one honest reader that is.
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

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#define WORDS_MOST 128

typedef struct readers {
    const char *name;
    unsigned threads, words;  // words: 0: honest; else how many words each hostile thread sleeps on
} readers;

typedef struct board {
    _Atomic unsigned ready, awake;
    _Atomic uint64_t last;  // when the last honest reader had its delivery, in nanoseconds
} board;

static board *shared;
static _Atomic uint32_t *bell;

static void fail(const char *what) {
    fprintf(stderr, "readers: can't %s: %s\n", what, tidings_last_error());
    exit(1);
}

static uint64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void *hostile(void *argument) {
    const unsigned words = (unsigned)(uintptr_t)argument;
    struct {
        uint64_t value, address;
        uint32_t flags, reserved;
    } waits[WORDS_MOST];
    atomic_fetch_add(&shared->ready, 1);
    for (;;) {
        const uint32_t value = atomic_load(bell);
        for (unsigned i = 0; i < words; i++) {
            waits[i].value = value;
            waits[i].address = (uintptr_t)bell;
            waits[i].flags = 2;  // 32 bits
            waits[i].reserved = 0;
        }
        if (words == 1) syscall(SYS_futex, bell, FUTEX_WAIT, value, NULL, NULL, 0);
        else syscall(SYS_futex_waitv, waits, words, 0, NULL, CLOCK_MONOTONIC);
    }
    return NULL;
}

static void *honest(void *argument) {
    tidings_observer *observer;
    uint32_t interest;
    tidings_delivery delivery;
    if (tidings_observer_open(argument, 0, &observer) || tidings_observer_add(observer, "name", 4, NULL, 0, 0, &interest)) fail("observe");
    tidings_observer_spin(observer, 0);
    atomic_fetch_add(&shared->ready, 1);
    while (tidings_next(observer, -1, &delivery) == 0) {
        const uint64_t now = nanoseconds();
        uint64_t last = atomic_load(&shared->last);
        while (last < now && !atomic_compare_exchange_weak(&shared->last, &last, now)) continue;
        atomic_fetch_add(&shared->awake, 1);
    }
    return NULL;
}

static void read_in_another_process(const readers *of, const tidings_topic *topic) {
    tidings_center *center;
    const tidings_configuration configuration = {.flags = TIDINGS_OPEN_READ_ONLY};
    if (tidings_open("readers", &configuration, &center)) fail("open the center");
    bell = &center->segment.header->bells[tidings__bell_of(&topic->key)].word;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (unsigned i = 0; i < of->threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &small, of->words ? hostile : honest, of->words ? (void *)(uintptr_t)of->words : center) != 0) fail("start a thread");
    }
    for (;;) pause();
}

static int by_size(const void *left, const void *right) {
    const double one = *(const double *)left, other = *(const double *)right;
    return (one > other) - (one < other);
}

int main(int count, char **arguments) {
    const unsigned posts = count > 1 ? (unsigned)atoi(arguments[1]) : 1000;
    double *post = calloc(posts, sizeof *post), *last = calloc(posts, sizeof *last);
    const readers kinds[] = {{"1 honest reader", 1, 0}, {"20 honest readers", 20, 0}, {"500 hostile threads, a word each", 500, 1}, {"500 hostile threads, 128 words each", 500, WORDS_MOST}};
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double alone = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        tidings_center *center;
        tidings_topic *topic;
        if (tidings_open("readers", &(tidings_configuration){.mode = 0644}, &center) || tidings_topic_open(center, "name", 4, NULL, 0, &topic)) fail("open a center");
        atomic_store(&shared->ready, 0);
        const pid_t reader = fork();
        if (reader == 0) read_in_another_process(&kinds[k], topic);
        while (atomic_load(&shared->ready) < kinds[k].threads) usleep(1000);
        for (unsigned i = 0; i < posts; i++) {
            usleep(2000);  // all sleep again
            atomic_store(&shared->awake, 0);
            atomic_store(&shared->last, 0);
            const uint64_t begun = nanoseconds();
            if (tidings_post(topic, "x", 1, NULL, NULL)) fail("post");
            post[i] = (double)(nanoseconds() - begun) / 1e3;
            // Asleep meanwhile: a loop here would take one of the processors from the readers.
            while (!kinds[k].words && atomic_load(&shared->awake) < kinds[k].threads) usleep(500);
            last[i] = (double)(atomic_load(&shared->last) - begun) / 1e3;
        }
        tidings_statistics statistics;
        if (tidings_statistics_get(center, &statistics)) fail("look at the center");
        qsort(post, posts, sizeof *post, by_size);
        qsort(last, posts, sizeof *last, by_size);
        if (k == 0) alone = post[posts / 2];
        printf("%-36s a post %7.1f us, %5.1f times", kinds[k].name, post[posts / 2], post[posts / 2] / alone);
        if (!kinds[k].words) printf("; the last is awake after %7.1f us", last[posts / 2]);
        printf("; %llu revoked\n", (unsigned long long)statistics.revoked);
        fflush(stdout);
        kill(reader, SIGKILL);
        waitpid(reader, NULL, 0);
        tidings_topic_close(topic);
        tidings_close(center);
        if (tidings_remove("readers", NULL)) fail("remove the center");
    }
    return 0;
}
