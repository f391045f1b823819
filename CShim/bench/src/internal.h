// What the files of this target share.
#ifndef BENCH_INTERNAL_H
#define BENCH_INTERNAL_H

#include "benchmarks.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
static inline void bench_pause(void) { _mm_pause(); }
#elif defined(__aarch64__)
static inline void bench_pause(void) { __asm__ volatile("isb" ::: "memory"); }
#else
static inline void bench_pause(void) {}
#endif

#define BENCH_LINE 128u                // two lines: processors fetch neighbours in pairs
#define BENCH_STOP UINT32_MAX          // in place of a round's number
#define BENCH_TIMEOUT_NS 10000000000u  // how long one side waits for the other, where it can look at a clock
#define BENCH_RING_SLOTS_MAX 65536u

typedef struct bench_message {
    uint64_t words[8];
} bench_message;

struct bench_arena {
    _Alignas(BENCH_LINE) _Atomic uint32_t ready;
    _Alignas(BENCH_LINE) _Atomic uint32_t stop;
    _Alignas(BENCH_LINE) _Atomic uint64_t received;
    _Atomic uint64_t missed;
    _Atomic uint64_t wrong;
    _Alignas(BENCH_LINE) _Atomic uint32_t ping;  // A writes; the cache-line limit uses it for both ways
    _Alignas(BENCH_LINE) _Atomic uint32_t pong;  // B writes
    _Atomic uint64_t held;                       // B's, before its last pong: ticks
    _Alignas(BENCH_LINE) _Atomic uint64_t head;  // ring: the producer's
    _Alignas(BENCH_LINE) _Atomic uint64_t tail;  // ring: the consumer's
    _Alignas(4096) bench_message slots[BENCH_RING_SLOTS_MAX];
};

// Every word depends on the number, so that a torn or mixed-up message can't pass.
static inline void bench_fill(bench_message *message, uint64_t number) {
    for (unsigned i = 0; i < 8; i++) message->words[i] = number + i * UINT64_C(0x9e3779b97f4a7c15);
}

static inline bool bench_check(const bench_message *message, uint64_t number) {
    uint64_t difference = 0;
    for (unsigned i = 0; i < 8; i++) difference |= message->words[i] ^ (number + i * UINT64_C(0x9e3779b97f4a7c15));
    return difference == 0;
}

#define BENCH_HISTOGRAM_COUNTS 2304u  // 128, and 64 for each of 34 powers of two

struct bench_histogram {
    uint64_t total, most;
    uint64_t counts[BENCH_HISTOGRAM_COUNTS];
};

uint64_t bench_monotonic_ns(void);
long bench_futex_wait(_Atomic uint32_t *word, uint32_t value);
long bench_futex_wake(_Atomic uint32_t *word);

#endif
