// The page both sides of a measurement map.
#include "internal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int bench_arena_open(const char *path, bool create, bench_arena **arena) {
    int descriptor = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_TRUNC : 0), 0600);
    if (descriptor < 0) return -errno;
    int result = create ? -posix_fallocate(descriptor, 0, sizeof(bench_arena)) : 0;
    if (result == 0) {
        const int flags = MAP_SHARED | MAP_POPULATE;
        void *memory = mmap(NULL, sizeof(bench_arena), PROT_READ | PROT_WRITE, flags, descriptor, 0);
        if (memory == MAP_FAILED) {
            result = -errno;
        } else {
            *arena = memory;
        }
    }
    close(descriptor);
    return result;
}

void bench_arena_close(bench_arena *arena) { munmap(arena, sizeof *arena); }

void bench_arena_ready(bench_arena *arena) { atomic_fetch_add(&arena->ready, 1); }

void bench_arena_stop(bench_arena *arena) { atomic_store(&arena->stop, 1); }

uint32_t bench_arena_peers(bench_arena *arena) { return atomic_load(&arena->ready); }

int bench_arena_wait_received(bench_arena *arena, uint64_t received) {
    uint64_t end = bench_monotonic_ns() + BENCH_TIMEOUT_NS;
    while (atomic_load_explicit(&arena->received, memory_order_acquire) < received) {
        if (bench_monotonic_ns() > end) return -ETIMEDOUT;
        bench_pause();
    }
    return 0;
}

// The ring's slots: no measurement uses both.
uint64_t *bench_arena_samples(bench_arena *arena) { return arena->slots[0].words; }

uint64_t bench_arena_received(bench_arena *arena) { return atomic_load(&arena->received); }
uint64_t bench_arena_missed(bench_arena *arena) { return atomic_load(&arena->missed); }
uint64_t bench_arena_wrong(bench_arena *arena) { return atomic_load(&arena->wrong); }

// `received` is stored last: a reader of `received` also sees the other two.
void bench_arena_count(bench_arena *arena, uint64_t received, uint64_t missed, uint64_t wrong) {
    atomic_store(&arena->missed, missed);
    atomic_store(&arena->wrong, wrong);
    atomic_store(&arena->received, received);
}
