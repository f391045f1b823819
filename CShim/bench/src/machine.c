// Cores and clocks.
#include "internal.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double picoseconds_per_tick = 1000;

int bench_pin_any(const int *cores, int count) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = 0; i < count; i++) CPU_SET(cores[i], &set);
    return sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : -errno;
}

int bench_pin(int core) { return bench_pin_any(&core, 1); }

int bench_cores(int *cores, int capacity) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return -errno;
    int found = 0;
    for (int core = 0; core < CPU_SETSIZE && found < capacity; core++) {
        if (CPU_ISSET(core, &set)) cores[found++] = core;
    }
    return found;
}

uint64_t bench_monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t bench_ticks(void) {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return bench_monotonic_ns();
#endif
}

void bench_calibrate(void) {
    uint64_t ns = bench_monotonic_ns(), ticks = bench_ticks(), end;
    do end = bench_monotonic_ns();
    while (end - ns < 50000000u);
    picoseconds_per_tick = (double)(end - ns) * 1000 / (double)(bench_ticks() - ticks);
}

uint64_t bench_picoseconds(uint64_t ticks) { return (uint64_t)((double)ticks * picoseconds_per_tick); }

uint64_t bench_hold(uint64_t ns) {
    uint64_t start = bench_ticks(), ticks = 0, enough = (uint64_t)((double)ns * 1000 / picoseconds_per_tick);
    while (ticks < enough) {
        bench_pause();
        ticks = bench_ticks() - start;
    }
    return ticks;
}

// Not FUTEX_PRIVATE: the other side is another process.
long bench_futex_wait(_Atomic uint32_t *word, uint32_t value) {
    return syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

long bench_futex_wake(_Atomic uint32_t *word) { return syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0); }

long bench_sleeps(void) {
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : 0;
}

bool bench_retry(int *tries, int most) {
    if ((*tries)++ >= most) return false;
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    return true;
}
