// What the files of this target share.
#ifndef CROSSING_INTERNAL_H
#define CROSSING_INTERNAL_H

#include "crossing.h"

#include <benchmarks.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <tidings.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
static inline void crossing_pause(void) { _mm_pause(); }
#elif defined(__aarch64__)
static inline void crossing_pause(void) { __asm__ volatile("isb" ::: "memory"); }
#else
static inline void crossing_pause(void) {}
#endif

#define CROSSING_LINE 128u               // two lines: processors fetch neighbours in pairs
#define CROSSING_STOP UINT32_MAX         // in place of a round's number
#define CROSSING_TIMEOUT_NS 10000000000  // how long one process waits for another

#define CROSSING_TRY(call)                                                                                             \
    do {                                                                                                               \
        int crossing_result = (call);                                                                                  \
        if (crossing_result < 0) return crossing_result;                                                               \
    } while (0)

typedef struct crossing_place {
    _Alignas(CROSSING_LINE) _Atomic uint64_t values[CROSSING_VALUES];
} crossing_place;

struct crossing_area {
    size_t mapped;
    size_t bytes;
    crossing_flow flow;
    _Alignas(CROSSING_LINE) _Atomic uint32_t ready;
    _Alignas(CROSSING_LINE) _Atomic uint32_t go;     // 0, or the number of the round, or CROSSING_STOP
    _Alignas(CROSSING_LINE) _Atomic uint32_t done;   // how many are through, of all rounds
    _Alignas(CROSSING_LINE) _Atomic uint32_t lying;  // how many have lain down to sleep, of all rounds
    _Alignas(CROSSING_LINE) _Atomic uint64_t head;   // A writes, in copy.c
    _Alignas(CROSSING_LINE) _Atomic uint64_t tail;   // B writes
    crossing_place places[CROSSING_PLACES];
    _Alignas(4096) unsigned char payloads[];
};

static inline uint64_t crossing_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Not FUTEX_PRIVATE: the others are other processes.
static inline long crossing_futex_wait(_Atomic uint32_t *word, uint32_t value) {
    return syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static inline long crossing_futex_wake(_Atomic uint32_t *word, int most) {
    return syscall(SYS_futex, word, FUTEX_WAKE, most, NULL, NULL, 0);
}

// Stamped at both ends, which are what a torn or mixed-up copy would have wrong. Less than 16 bytes aren't stamped.
static inline void crossing_stamp(unsigned char *payload, size_t size, uint32_t poster, uint64_t number) {
    if (size < 16) return;
    uint64_t word = (uint64_t)poster << 48 | number;
    memcpy(payload, &word, sizeof word);
    memcpy(payload + size - sizeof word, &word, sizeof word);
}

static inline uint64_t crossing_stamp_of(const unsigned char *payload) {
    uint64_t word;
    memcpy(&word, payload, sizeof word);
    return word;
}

static inline bool crossing_stamped(const unsigned char *payload, size_t size, uint32_t poster, uint64_t number) {
    if (size < 16) return true;
    uint64_t word = (uint64_t)poster << 48 | number;
    return crossing_stamp_of(payload) == word && crossing_stamp_of(payload + size - sizeof word) == word;
}

// The whole of a payload whose size is a multiple of 8: every word is that of the stamps.
static inline void crossing_fill(unsigned char *payload, size_t size, uint32_t poster, uint64_t number) {
    uint64_t word = (uint64_t)poster << 48 | number;
    for (size_t i = 0; i < size; i += sizeof word) memcpy(payload + i, &word, sizeof word);
}

static inline uint64_t crossing_sum(const unsigned char *payload, size_t size) {
    uint64_t sum = 0, word;
    for (size_t i = 0; i < size; i += sizeof word) {
        memcpy(&word, payload + i, sizeof word);
        sum += word;
    }
    return sum;
}

// Memory of this process's own, every page there.
unsigned char *crossing_memory(size_t size);

// Of a flow (flow.c), what a poster or an observer notes in its place.
enum { CROSSING_FIRST, CROSSING_LAST, CROSSING_COUNT, CROSSING_MISSED, CROSSING_WRONG };

void crossing_await_go(crossing_area *area);
// Notes it, and that this member is through.
void crossing_note(crossing_area *area, uint32_t place, uint64_t first, uint64_t count, uint64_t missed,
                   uint64_t wrong);

int crossing_publisher(tidings_center *center, const char *name, tidings_publisher **publisher);
// Nothing here is closed again by members: their process ends instead.
int crossing_observe(tidings_center *center, const char *name, uint32_t flags, tidings_observer **observer);

#endif
