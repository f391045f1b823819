// The processor: every access to memory that the compiler reports (-fsanitize=thread, with these functions in place of
// that sanitizer's) is a point at which fibers may change places, and every store that is not a full barrier may be
// late, as on x86: a store buffer per fiber, first in, first out.
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "machine.h"

// MARK: Atomic accesses

static void full_barrier(void) { machine_drain(machine.current); }

// The newest of our own stores to this address, if it is still on its way. One that overlaps otherwise goes to memory
// first.
static const buffered_store *forwarded(uintptr_t at, uint32_t size) {
    fiber *f = machine.current;
    for (uint32_t i = f->buffered; i-- > 0;) {
        const buffered_store *store = &f->buffer[i];
        if (store->address == at && store->size == size) return store;
        if (store->address < at + size && at < store->address + store->size) {
            full_barrier();
            return NULL;
        }
    }
    return NULL;
}

static bool held_back(uintptr_t at, uint64_t value, uint32_t size, int order) {
    fiber *f = machine.current;
    if (!f || !machine.buffers || machine.over) return false;
    if (order == __ATOMIC_SEQ_CST) {
        full_barrier();
        return false;
    }
    if (!f->late) {
        const option options[] = {{STORE_NOW, 0}, {STORE_LATE, 0}};
        f->late = explorer_choose(options, 2, (int)(f - machine.fibers)) == 1;
        if (!f->late) return false;
    }
    if (f->buffered == BUFFER) full_barrier();
    f->late = true;
    f->buffer[f->buffered++] = (buffered_store){at, value, size};
    if (machine.trace) printf("        that store is late: %#llx\n", (unsigned long long)value);
    return true;
}

#define ATOMICS(bits, type)                                                                                            \
    type __tsan_atomic##bits##_load(const volatile type *word, int order) {                                            \
        (void)order;                                                                                                   \
        machine_point("load", word, sizeof(type), false);                                                              \
        const buffered_store *own = machine.current && machine.current->buffered                                       \
                                        ? forwarded(machine_canonical(word), sizeof(type))                             \
                                        : NULL;                                                                        \
        return own ? (type)own->value : *word;                                                                         \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile type *word, type value, int order) {                                     \
        machine_point("store", word, sizeof(type), true);                                                              \
        uintptr_t at = machine_canonical(word);                                                                        \
        if (held_back(at, value, sizeof(type), order)) return;                                                         \
        if (machine_inside(at)) machine_dirty(at, sizeof(type));                                                       \
        *word = value;                                                                                                 \
        if (machine.trace && machine.current) printf("        = %#llx\n", (unsigned long long)value);                  \
    }                                                                                                                  \
    static void __attribute__((unused)) changing##bits(volatile type *word, const char *what) {                        \
        machine_point(what, word, sizeof(type), true);                                                                 \
        full_barrier();                                                                                                \
        uintptr_t at = machine_canonical(word);                                                                        \
        if (machine_inside(at)) machine_dirty(at, sizeof(type));                                                       \
    }                                                                                                                  \
    CHANGE(bits, type, exchange, value)                                                                                \
    CHANGE(bits, type, fetch_add, before + value)                                                                      \
    CHANGE(bits, type, fetch_sub, before - value)                                                                      \
    CHANGE(bits, type, fetch_and, before &value)                                                                       \
    CHANGE(bits, type, fetch_or, before | value)                                                                       \
    CHANGE(bits, type, fetch_xor, before ^ value)                                                                      \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *word, type expected, type desired, int order,       \
                                                    int failed) {                                                      \
        (void)order, (void)failed;                                                                                     \
        changing##bits(word, "compare, swap");                                                                         \
        type before = *word;                                                                                           \
        if (before == expected) *word = desired;                                                                       \
        if (machine.trace && machine.current)                                                                          \
            printf("        %s %#llx\n", before == expected ? "=" : "not",                                             \
                   (unsigned long long)(before == expected ? desired : expected));                                     \
        return before;                                                                                                 \
    }                                                                                                                  \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type *word, type *expected, type desired, int order,    \
                                                      int failed) {                                                    \
        type before = __tsan_atomic##bits##_compare_exchange_val(word, *expected, desired, order, failed);             \
        bool done = before == *expected;                                                                               \
        *expected = before;                                                                                            \
        return done;                                                                                                   \
    }                                                                                                                  \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type *word, type *expected, type desired, int order,      \
                                                    int failed) {                                                      \
        return __tsan_atomic##bits##_compare_exchange_strong(word, expected, desired, order, failed);                  \
    }
#define CHANGE(bits, type, verb, result)                                                                               \
    type __tsan_atomic##bits##_##verb(volatile type *word, type value, int order) {                                    \
        (void)order;                                                                                                   \
        changing##bits(word, #verb);                                                                                   \
        type before = *word;                                                                                           \
        *word = (type)(result);                                                                                        \
        if (machine.trace && machine.current) printf("        = %#llx\n", (unsigned long long)*word);                  \
        return before;                                                                                                 \
    }

ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

void __tsan_atomic_thread_fence(int order) {
    if (order == __ATOMIC_SEQ_CST) full_barrier();
}
void __tsan_atomic_signal_fence(int order) { (void)order; }

void machine_pair(_Atomic uint64_t *pair) {
    machine_point("swap a pair", pair, 8, true);
    machine_point("swap a pair", pair + 1, 8, true);
    full_barrier();
    uintptr_t at = machine_canonical(pair);
    if (machine_inside(at)) machine_dirty(at, 16);
}

// MARK: Plain accesses

void machine_reading(const void *from) { machine_system_call("copy out", from); }

// Told before it happens, and carried out by the program itself: never late. What is written plainly in shared memory
// are payloads, in chunks.
static void plain_write(void *address, uint32_t size) {
    fiber *f = machine.current;
    uintptr_t at = machine_canonical(address);
    if (machine_inside(at)) {
        machine_system_call("write", address);
        machine_dirty(at, size);
    } else if (f && at == (uintptr_t)&f->pending && f->mortal) {
        machine_system_call("pending", NULL);
    }
}

void __tsan_init(void) {}
#define PLAIN(size)                                                                                                    \
    void __tsan_read##size(void *address) { (void)address; }                                                           \
    void __tsan_unaligned_read##size(void *address) { (void)address; }                                                 \
    void __tsan_write##size(void *address) { plain_write(address, size); }                                             \
    void __tsan_unaligned_write##size(void *address) { plain_write(address, size); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

// In two halves, so that another fiber may see the first half without the second.
void *__tsan_memcpy(void *to, const void *from, size_t size) {
    uintptr_t at = machine_canonical(to);
    if (!machine_inside(at)) return memcpy(to, from, size);
    size_t half = size / 2;
    machine_system_call("copy", to);
    machine_dirty(at, size);
    memcpy(to, from, half);
    machine_system_call("copy on", to);
    memcpy((char *)to + half, (const char *)from + half, size - half);
    return to;
}
void *__tsan_memmove(void *to, const void *from, size_t size) { return __tsan_memcpy(to, from, size); }
void *__tsan_memset(void *to, int byte, size_t size) {
    uintptr_t at = machine_canonical(to);
    if (machine_inside(at)) machine_dirty(at, size);
    return memset(to, byte, size);
}
