// What the machine can do at best, without any library.
#include "internal.h"

int bench_limit_fetch_add(uint64_t *samples, int count, int batch) {
    static _Alignas(BENCH_LINE) _Atomic uint64_t word;
    for (int i = 0; i < count; i++) {
        uint64_t start = bench_ticks();
        for (int j = 0; j < batch; j++) atomic_fetch_add(&word, 1);
        samples[i] = bench_picoseconds(bench_ticks() - start) / (uint64_t)batch;
    }
    return count;
}

// One line carries both ways: A makes it odd, B even. The processor then hands the line over whole, one transaction a
// way. With a line for each way the writer first has to take its line back from the side that polls it, which then
// fetches it again: two transactions, and that is what a slot of a ring costs at least. A pause between two looks helps
// the writer there, and costs latency with one line.
static inline void line_await(_Atomic uint32_t *line, uint32_t number, bool two) {
    while (atomic_load_explicit(line, memory_order_acquire) != number) {
        if (two) bench_pause();
    }
}

int bench_limit_line(bench_arena *arena, bool two, uint64_t *samples, int count, int batch) {
    _Atomic uint32_t *there = &arena->ping, *back = two ? &arena->pong : &arena->ping;
    uint32_t number = 0;
    for (int i = -count / 10; i < count; i++) {  // the first tenth is warm-up
        uint64_t start = bench_ticks();
        for (int j = 0; j < batch; j++, number += 2) {
            atomic_store_explicit(there, number + 1, memory_order_release);
            line_await(back, number + 2, two);
        }
        if (i >= 0) samples[i] = bench_picoseconds(bench_ticks() - start) / (uint64_t)(2 * batch);
    }
    atomic_store(&arena->stop, 1);
    atomic_store(there, number + 1);
    return count;
}

void bench_peer_line(bench_arena *arena, bool two) {
    _Atomic uint32_t *there = &arena->ping, *back = two ? &arena->pong : &arena->ping;
    bench_arena_ready(arena);
    for (uint32_t number = 0;; number += 2) {
        line_await(there, number + 1, two);
        // A line of its own, so it costs nothing while it says 0.
        if (atomic_load_explicit(&arena->stop, memory_order_relaxed) != 0) return;
        atomic_store_explicit(back, number + 2, memory_order_release);
    }
}

static void futex_send(_Atomic uint32_t *word, uint32_t number) {
    atomic_store(word, number);
    bench_futex_wake(word);
}

static uint32_t futex_receive(_Atomic uint32_t *word, uint32_t last) {
    uint32_t seen;
    while ((seen = atomic_load(word)) == last) bench_futex_wait(word, last);
    return seen;
}

int bench_limit_futex(bench_arena *arena, uint64_t hold_ns, uint64_t *samples, int count) {
    uint32_t number = 0;
    for (int i = -count / 10, tries = 0; i < count; i++) {
        bench_hold(hold_ns);
        const long sleeps = bench_sleeps();
        uint64_t start = bench_ticks();
        futex_send(&arena->ping, number + 1);
        futex_receive(&arena->pong, number++);
        uint64_t ticks = bench_ticks() - start - atomic_load(&arena->held);
        if (bench_sleeps() == sleeps && bench_retry(&tries, count)) {
            i--;
            continue;
        }
        if (i >= 0) samples[i] = bench_picoseconds(ticks) / 2;
    }
    futex_send(&arena->ping, BENCH_STOP);
    return count;
}

void bench_peer_futex(bench_arena *arena, uint64_t hold_ns) {
    bench_calibrate();
    bench_arena_ready(arena);
    for (uint32_t number = 0;; number++) {
        if (futex_receive(&arena->ping, number) == BENCH_STOP) return;
        atomic_store(&arena->held, hold_ns > 0 ? bench_hold(hold_ns) : 0);
        futex_send(&arena->pong, number + 1);
    }
}
