// The limit of lossless 1 → 1: a ring for one producer and one consumer. Each side keeps its own index and a copy of
// the other's, and looks at the other's line only when the copy says full or empty; every message is published and
// released by itself. Messages are whole lines, filled in and checked as in bench_lossless.
//
// Such a ring has two gaits. As long as the consumer trails by many messages, neither waits for the other's lines. Once
// the two run neck and neck they fetch each other's lines for every single message, which is three to ten times slower,
// and they stay like that: the shorter the ring, the likelier. 4,096 slots is what a center has. With `ahead` the
// producer asks for the line it will write in eight messages' time, and the consumer for the one it will read, which
// keeps them apart.
#include "internal.h"

// As the owner: a plain prefetch for writing becomes prefetcht0 unless the compiler is told that the processor has this
// one.
static inline void prefetch_to_write(const void *line) {
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" ::"m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

int bench_limit_ring(bench_arena *arena, uint32_t slots, uint32_t ahead, uint64_t *samples, int count, int batch) {
    uint64_t head = 0, tail = 0, mask = slots - 1, total = (uint64_t)count * (uint64_t)batch;
    uint64_t start = bench_ticks();
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < batch; j++, head++) {
            while (head - tail >= slots) {
                tail = atomic_load_explicit(&arena->tail, memory_order_acquire);
                if (head - tail >= slots) bench_pause();
            }
            if (ahead > 0) prefetch_to_write(&arena->slots[(head + ahead) & mask]);
            bench_message message;
            bench_fill(&message, head);
            arena->slots[head & mask] = message;
            atomic_store_explicit(&arena->head, head + 1, memory_order_release);
        }
        uint64_t end = bench_ticks();
        samples[i] = bench_picoseconds(end - start) / (uint64_t)batch;
        start = end;
    }
    atomic_store(&arena->stop, 1);
    int result = bench_arena_wait_received(arena, total);
    return result != 0 ? result : count;
}

void bench_peer_ring(bench_arena *arena, uint32_t slots, uint32_t ahead) {
    uint64_t head = 0, tail = 0, mask = slots - 1, wrong = 0;
    bench_arena_ready(arena);
    for (;; tail++) {
        while (tail == head) {
            bool last = atomic_load_explicit(&arena->stop, memory_order_acquire);
            head = atomic_load_explicit(&arena->head, memory_order_acquire);
            if (tail != head) break;
            if (last) {
                bench_arena_count(arena, tail, 0, wrong);
                return;
            }
            bench_pause();
        }
        if (ahead > 0) __builtin_prefetch(&arena->slots[(tail + ahead) & mask]);
        bench_message message = arena->slots[tail & mask];
        wrong += !bench_check(&message, tail);
        atomic_store_explicit(&arena->tail, tail + 1, memory_order_release);
    }
}
