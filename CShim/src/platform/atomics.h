// Every atomic access and every barrier of the core, in one file: a test can replace it, and run the protocols under a
// scheduler. `.ci/check-layers` refuses atomic operations elsewhere, also C's operators on an `_Atomic` object: these
// are sequentially consistent, and do not say so.
#ifndef TIDINGS__ATOMICS_H
#define TIDINGS__ATOMICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define tidings__relaxed(word) atomic_load_explicit((word), memory_order_relaxed)
#define tidings__acquire(word) atomic_load_explicit((word), memory_order_acquire)
#define tidings__seq_cst(word) atomic_load_explicit((word), memory_order_seq_cst)
#define tidings__set_relaxed(word, value) atomic_store_explicit((word), (value), memory_order_relaxed)
#define tidings__set_release(word, value) atomic_store_explicit((word), (value), memory_order_release)
#define tidings__set_seq_cst(word, value) atomic_store_explicit((word), (value), memory_order_seq_cst)
#define tidings__exchange(word, value) atomic_exchange_explicit((word), (value), memory_order_seq_cst)
#define tidings__cas(word, expected, desired)                                                                          \
    atomic_compare_exchange_strong_explicit((word), (expected), (desired), memory_order_seq_cst, memory_order_acquire)
#define tidings__fetch_add(word, value) atomic_fetch_add_explicit((word), (value), memory_order_seq_cst)
#define tidings__fetch_add_relaxed(word, value) atomic_fetch_add_explicit((word), (value), memory_order_relaxed)
#define tidings__fetch_or(word, value) atomic_fetch_or_explicit((word), (value), memory_order_seq_cst)
#define tidings__fetch_and(word, value) atomic_fetch_and_explicit((word), (value), memory_order_seq_cst)

// The most tries of a CAS outside the claim of a post. A try fails if another thread changed the word after it was
// loaded. Honest participants never make so many tries fail in a row. Without the bound, a peer that changes the word
// all the time could keep the caller for ever.
#define TIDINGS__TRIES 1000

// Touches the page of this word for writing, and changes nothing. An atomic "or" with 0, because a peer may write the
// word meanwhile. Volatile: otherwise clang drops it.
static inline void tidings__touch(void *word) {
    atomic_fetch_or_explicit((volatile _Atomic uint64_t *)word, 0, memory_order_relaxed);
}

// Follows a sequentially consistent read-modify-write: no later load may be satisfied before it. On x86 the locked
// instruction already is that barrier, and a fence would cost 15 ns. On other processors a fence is needed: ARM's CASAL
// lets later loads pass its store.
static inline void tidings__barrier_after_rmw(void) {
#if defined(__x86_64__) || defined(__i386__)
    atomic_signal_fence(memory_order_seq_cst);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

// ThreadSanitizer doesn't model the stand-alone fences below, and warns of them. In its build, all accesses that they
// order are atomic, except those to the bytes of chunks (ring/record.h).
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TIDINGS__TSAN 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define TIDINGS__TSAN 1
#endif

static inline void tidings__fence_acquire(void) { atomic_thread_fence(memory_order_acquire); }
static inline void tidings__fence_release(void) { atomic_thread_fence(memory_order_release); }
static inline void tidings__fence_full(void) { atomic_thread_fence(memory_order_seq_cst); }
// Keeps the compiler from moving accesses. The processor's ordering comes from a revoker's membarrier, or isn't needed.
static inline void tidings__fence_compiler(void) { atomic_signal_fence(memory_order_seq_cst); }

// Requests exclusive ownership of a cache line, ahead of a store. Without -mprfchw, x86-64 compilers turn
// `__builtin_prefetch(p, 1)` into a prefetch for *reading*. That is worse than none, because the line would have to be
// requested twice. Every x86-64 processor executes prefetchw, the oldest as a no-op.
static inline void tidings__prefetch_own(const void *line) {
#ifdef MEASURE_WITHOUT_PREFETCH  // Measured by: Benchmarks/Regressions/without
    (void)line;
#elif defined(__x86_64__)
    __asm__ __volatile__("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

// Compare and swap of two adjacent words, aligned to 16 bytes. A full barrier if it succeeds.
static inline bool tidings__cas_pair(_Atomic uint64_t *pair, uint64_t expected0, uint64_t expected1, uint64_t desired0,
                                     uint64_t desired1) {
#if defined(__x86_64__)
    // Inline assembly: compilers emit the instruction only under -mcx16, which a package without unsafe flags can't
    // request. Every x86-64 processor since 2006 has the instruction.
    bool done;
    __asm__ __volatile__("lock cmpxchg16b %1"
                         : "=@ccz"(done), "+m"(*(unsigned __int128 *)(void *)pair), "+a"(expected0), "+d"(expected1)
                         : "b"(desired0), "c"(desired1)
                         : "memory");
    return done;
#elif defined(__aarch64__)
    uint64_t seen0, seen1;
    uint32_t failed;
    do {
        __asm__ __volatile__("ldaxp %0, %1, [%2]" : "=&r"(seen0), "=&r"(seen1) : "r"(pair) : "memory");
        if (seen0 != expected0 || seen1 != expected1) {
            __asm__ __volatile__("clrex" ::: "memory");
            return false;
        }
        __asm__ __volatile__("stlxp %w0, %1, %2, [%3]"
                             : "=&r"(failed)
                             : "r"(desired0), "r"(desired1), "r"(pair)
                             : "memory");
    } while (failed);
    atomic_thread_fence(memory_order_seq_cst);
    return true;
#else
#error "Tidings needs a 16-byte compare and swap: add this processor's here"
#endif
}

#endif
