// What payloads cost without any library: a copy into shared memory, and one out of it, by two processes at a time.
#include "internal.h"

#include <stdlib.h>

int crossing_limit_memcpy(size_t size, uint64_t *samples, int count, int batch) {
    unsigned char *from = crossing_memory(size), *to = crossing_memory(size);
    int result = from != NULL && to != NULL ? count : -ENOMEM;
    for (int i = -count / 10; i < result; i++) {  // the first tenth is warm-up
        uint64_t start = bench_ticks();
        for (int j = 0; j < batch; j++) {
            memcpy(to, from, size);
            __asm__ volatile("" ::"r"(to) : "memory");  // it is wanted
        }
        if (i >= 0) samples[i] = bench_picoseconds(bench_ticks() - start) / (uint64_t)batch;
    }
    free(from);
    free(to);
    return result;
}

int crossing_limit_system_call(uint64_t *samples, int count, int batch) {
    for (int i = -count / 10; i < count; i++) {
        uint64_t start = bench_ticks();
        for (int j = 0; j < batch; j++) syscall(SYS_getppid);
        if (i >= 0) samples[i] = bench_picoseconds(bench_ticks() - start) / (uint64_t)batch;
    }
    return count;
}

static unsigned char *slot(crossing_area *area, size_t size, uint64_t number, uint32_t slots) {
    size_t stride = (size + 63) / 64 * 64;  // whole lines
    return area->payloads + (size_t)(number % slots) * stride;
}

int crossing_limit_copy(crossing_area *area, size_t size, uint32_t slots, uint64_t *samples, int count, int batch) {
    unsigned char *from = crossing_memory(size);
    if (from == NULL) return -ENOMEM;
    uint64_t head = 0, tail = 0, start = 0;
    for (int i = -count / 10 - 1; i < count; i++) {
        if (i == 0) start = bench_ticks();
        for (int j = 0; j < batch; j++, head++) {
            while (head - tail >= slots) {
                tail = atomic_load_explicit(&area->tail, memory_order_acquire);
                if (head - tail >= slots) crossing_pause();
            }
            crossing_stamp(from, size, 0, head);
            memcpy(slot(area, size, head, slots), from, size);
            atomic_store_explicit(&area->head, head + 1, memory_order_release);
        }
        if (i < 0) continue;
        uint64_t end = bench_ticks();
        samples[i] = bench_picoseconds(end - start) / (uint64_t)batch;
        start = end;
    }
    atomic_store(&area->go, CROSSING_STOP);
    free(from);
    CROSSING_TRY(crossing_wait_done(area, 1));
    return crossing_value(area, 0, 0) == head && crossing_value(area, 0, 1) == 0 ? count : -EBADMSG;
}

int crossing_peer_copy(crossing_area *area, size_t size, uint32_t slots) {
    unsigned char *to = crossing_memory(size);
    if (to == NULL) return -ENOMEM;
    uint64_t head = 0, tail = 0, wrong = 0;
    crossing_ready(area);
    for (;; tail++) {
        while (tail == head) {
            bool last = atomic_load_explicit(&area->go, memory_order_acquire) == CROSSING_STOP;
            head = atomic_load_explicit(&area->head, memory_order_acquire);
            if (tail != head) break;
            if (last) {
                crossing_set_value(area, 0, 0, tail);
                crossing_set_value(area, 0, 1, wrong);
                atomic_fetch_add(&area->done, 1);
                return 0;
            }
            crossing_pause();
        }
        memcpy(to, slot(area, size, tail, slots), size);
        wrong += !crossing_stamped(to, size, 0, tail);
        atomic_store_explicit(&area->tail, tail + 1, memory_order_release);
    }
}

// The word counts the ways: A makes it odd, B even.
static void pass(crossing_area *area, uint32_t number, bool awake) {
    atomic_store(&area->go, number);
    if (!awake) crossing_futex_wake(&area->go, 1);
}

static uint32_t await(crossing_area *area, uint32_t number, bool awake) {
    uint32_t seen;
    while ((seen = atomic_load_explicit(&area->go, memory_order_acquire)) != number && seen != CROSSING_STOP) {
        if (!awake) crossing_futex_wait(&area->go, seen);
    }
    return seen;
}

int crossing_limit_copy_pingpong(crossing_area *area, size_t size, bool awake, uint64_t *samples, int count) {
    unsigned char *own = crossing_memory(size);
    if (own == NULL) return -ENOMEM;
    uint32_t number = 0;
    for (int i = -count / 10 - 1; i < count; i++, number += 2) {
        uint64_t start = bench_ticks();
        memcpy(slot(area, size, 0, 2), own, size);
        pass(area, number + 1, awake);
        await(area, number + 2, awake);
        memcpy(own, slot(area, size, 1, 2), size);
        if (i >= 0) samples[i] = bench_picoseconds(bench_ticks() - start) / 2;
    }
    pass(area, CROSSING_STOP, false);
    free(own);
    return count;
}

int crossing_peer_copy_pingpong(crossing_area *area, size_t size, bool awake) {
    unsigned char *own = crossing_memory(size);
    if (own == NULL) return -ENOMEM;
    crossing_ready(area);
    for (uint32_t number = 0;; number += 2) {
        if (await(area, number + 1, awake) == CROSSING_STOP) return 0;
        memcpy(own, slot(area, size, 0, 2), size);
        memcpy(slot(area, size, 1, 2), own, size);
        pass(area, number + 2, awake);
    }
}
