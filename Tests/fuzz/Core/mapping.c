// Linked in front of the core's own mapping (--wrap): the same memory, between two stretches that no access may touch.
// The address sanitizer forbids what no correct reader reads: the fixed page, gaps, what has no memory yet, a chunk
// beyond the requested bytes. By itself it knows nothing of shared memory.
#include <errno.h>
#include <sanitizer/asan_interface.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "fuzz.h"
#include "ring/record.h"

#define GUARD (UINT64_C(1) << 30)  // a chunk number or a length gone wrong by 30 bits still lands here
#define ROOM 8u

int __wrap_tidings__map(int fd, uint64_t length, bool writable, uint8_t **base);
void __wrap_tidings__unmap(uint8_t *base, uint64_t length);
int __wrap_tidings__participant_take(tidings__segment *segment, uint32_t *index, bool *orphans);
int __real_tidings__participant_take(tidings__segment *segment, uint32_t *index, bool *orphans);
int __wrap_tidings__back_chunk(tidings__segment *segment, uint32_t chunk, uint64_t bytes);
int __real_tidings__back_chunk(tidings__segment *segment, uint32_t chunk, uint64_t bytes);
bool __wrap_tidings__chunk_has_memory(tidings__segment *segment, uint32_t chunk, uint64_t bytes);
bool __real_tidings__chunk_has_memory(tidings__segment *segment, uint32_t chunk, uint64_t bytes);
int __wrap_tidings__back_names(tidings__segment *segment, uint32_t count);
int __real_tidings__back_names(tidings__segment *segment, uint32_t count);
int __wrap_tidings__back_presence(tidings__segment *segment);
int __real_tidings__back_presence(tidings__segment *segment);
int __wrap_tidings__back_holds(tidings__segment *segment);
int __real_tidings__back_holds(tidings__segment *segment);
bool __wrap_tidings__name_touched(tidings__segment *segment, uint32_t index);
bool __real_tidings__name_touched(tidings__segment *segment, uint32_t index);
int __wrap_tidings__back_calls(tidings__segment *segment, uint32_t count);
int __real_tidings__back_calls(tidings__segment *segment, uint32_t count);
uint32_t __wrap_tidings__calls_there(tidings__segment *segment, uint32_t count);
uint32_t __real_tidings__calls_there(tidings__segment *segment, uint32_t count);
uint32_t __wrap_tidings__names_there(tidings__segment *segment, uint32_t count);
uint32_t __real_tidings__names_there(tidings__segment *segment, uint32_t count);
void *__wrap___asan_memcpy(void *to, const void *from, size_t size);
void *__real___asan_memcpy(void *to, const void *from, size_t size);

// Addresses are kept for the next mapping of this length, with their fences: to forbid megabytes anew for each input
// would take longer than all else.
#define CHUNKS 2048u
static struct {
    uint8_t *base;  // NULL: never used
    uint64_t length;
    bool mapped;
    const tidings__segment *fenced;
    bool fences;              // those of chunks stand from last time
    uint32_t opened[CHUNKS];  // bytes of each chunk that have been asked for
} maps[ROOM];

static uint64_t pages(uint64_t length) { return (length + 4095) / 4096 * 4096; }

static int find_room(uint64_t length) {
    int free = -1;
    for (int i = 0; i < (int)ROOM; i++) {
        if (maps[i].mapped) continue;
        if (maps[i].base && maps[i].length == length) return i;
        if (free < 0 || !maps[i].base) free = i;
    }
    MUST(free >= 0, ROOM);  // mappings are given back
    if (maps[free].base) {
        __asan_unpoison_memory_region(maps[free].base, maps[free].length);
        (void)munmap(maps[free].base - GUARD, pages(maps[free].length) + 2 * GUARD);
    }
    uint8_t *room = mmap(NULL, pages(length) + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                         0);
    maps[free].base = room == MAP_FAILED ? NULL : room + GUARD;
    maps[free].length = length;
    maps[free].fences = false;
    return free;
}

int __wrap_tidings__map(int fd, uint64_t length, bool writable, uint8_t **base) {
    const int i = find_room(length);
    if (!maps[i].base) return -ENOMEM;
    if (mmap(maps[i].base, length, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) ==
        MAP_FAILED)
        return -errno;
    maps[i].mapped = true;
    maps[i].fenced = NULL;
    *base = maps[i].base;
    return 0;
}

void __wrap_tidings__unmap(uint8_t *base, uint64_t length) {
    for (unsigned i = 0; base && i < ROOM; i++) {
        if (maps[i].base != base) continue;
        MUST(maps[i].mapped && maps[i].length == length, length);
        // A birth writes there. Chunks keep their fences.
        if (maps[i].fenced) __asan_unpoison_memory_region(base, maps[i].fenced->geometry.chunks);
        MUST(mmap(base, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == base,
             errno);
        maps[i].mapped = false;
        return;
    }
    MUST(base == NULL, 0);
}

// MARK: Fences

static void forbid(uint8_t *base, uint64_t from, uint64_t to) {
    if (to > from) __asan_poison_memory_region(base + from, to - from);
}

static void fence(const tidings__segment *s) {
    const tidings__geometry *g = &s->geometry;
    uint8_t *base = s->base;
    // Checked and copied at opening: a second read would read what a peer has changed since.
    forbid(base, 0, TIDINGS__PAGE);
    for (uint64_t at = offsetof(tidings__header, eviction); at < offsetof(tidings__header, asleep);
         at += sizeof(tidings__padded))
        forbid(base, at + 8, at + sizeof(tidings__padded));
    for (uint64_t at = offsetof(tidings__header, name_futexes); at < sizeof(tidings__header);
         at += sizeof(tidings__name_futex))
        forbid(base, at + 8, at + sizeof(tidings__name_futex));
    forbid(base, g->participants + s->shape.participants * sizeof(tidings__participant), g->observers);
    forbid(base, g->observers + s->shape.observers * sizeof(tidings__observer_entry), g->buckets);
    forbid(base, g->buckets + s->shape.buckets * sizeof(uint64_t), g->chunk_words);
    forbid(base, g->chunk_words + g->chunk_count * sizeof(uint64_t), g->cells);
    forbid(base, g->cells + s->shape.slots * sizeof(tidings__cell), g->names);
    forbid(base, g->names + tidings__relaxed(&s->names_known) * sizeof(tidings__name), g->chunks);
}

static void fence_chunks(const tidings__segment *s, unsigned i) {
    MUST(s->geometry.chunk_count <= CHUNKS, s->geometry.chunk_count);
    if (!maps[i].fences) forbid(s->base, s->geometry.chunks, s->size);
    for (uint32_t chunk = 0; maps[i].fences && chunk < s->geometry.chunk_count; chunk++)
        if (maps[i].opened[chunk])
            __asan_poison_memory_region(tidings__chunk_bytes(s, chunk, NULL), maps[i].opened[chunk]);
    if (maps[i].fences) forbid(s->base, s->geometry.calls, s->size);
    memset(maps[i].opened, 0, sizeof maps[i].opened);
    maps[i].fences = true;
}

void mapping_fence(const tidings__segment *segment) {
    for (unsigned i = 0; i < ROOM; i++) {
        if (maps[i].base != segment->base || maps[i].fenced) continue;
        maps[i].fenced = segment;
        fence(segment);
        fence_chunks(segment, i);
    }
}

// The first thing that is done with a mapping that has passed all checks, if it is for writing.
int __wrap_tidings__participant_take(tidings__segment *segment, uint32_t *index, bool *orphans) {
    mapping_fence(segment);
    return __real_tidings__participant_take(segment, index, orphans);
}

// Code that is to touch a chunk asks first, for as many bytes as it is to touch.
static void open_chunk(const tidings__segment *segment, uint32_t chunk, uint64_t bytes) {
    uint64_t capacity;
    const uint8_t *start = tidings__chunk_bytes(segment, chunk, &capacity);
    if (!start) return;
    if (tidings__round8(bytes) < capacity) capacity = tidings__round8(bytes);
    for (unsigned i = 0; i < ROOM; i++)
        if (maps[i].base == segment->base && maps[i].opened[chunk] < capacity)
            maps[i].opened[chunk] = (uint32_t)capacity;
    __asan_unpoison_memory_region(start, capacity);
}

int __wrap_tidings__back_chunk(tidings__segment *segment, uint32_t chunk, uint64_t bytes) {
    const int result = __real_tidings__back_chunk(segment, chunk, bytes);
    if (result == 0) open_chunk(segment, chunk, bytes);
    return result;
}

bool __wrap_tidings__chunk_has_memory(tidings__segment *segment, uint32_t chunk, uint64_t bytes) {
    const bool result = __real_tidings__chunk_has_memory(segment, chunk, bytes);
    if (result) open_chunk(segment, chunk, bytes);
    return result;
}

static void open_names(tidings__segment *segment) {
    const uint64_t known = tidings__relaxed(&segment->names_known);
    __asan_unpoison_memory_region(segment->base + segment->geometry.names, known * sizeof(tidings__name));
}

int __wrap_tidings__back_names(tidings__segment *segment, uint32_t count) {
    const int result = __real_tidings__back_names(segment, count);
    if (result == 0) open_names(segment);
    return result;
}

// An entry beyond the known ones, as another process added it.
bool __wrap_tidings__name_touched(tidings__segment *segment, uint32_t index) {
    const bool result = __real_tidings__name_touched(segment, index);
    const uint64_t offset = segment->geometry.names + (uint64_t)index * sizeof(tidings__name);
    if (result) __asan_unpoison_memory_region(segment->base + offset, sizeof(tidings__name));
    return result;
}

int __wrap_tidings__back_presence(tidings__segment *segment) {
    const int result = __real_tidings__back_presence(segment);
    const uint64_t bytes = segment->shape.participants * sizeof(tidings__presence);
    if (result == 0) __asan_unpoison_memory_region(segment->base + segment->geometry.presence, bytes);
    return result;
}

int __wrap_tidings__back_holds(tidings__segment *segment) {
    const int result = __real_tidings__back_holds(segment);
    const uint64_t bytes = segment->shape.participants * sizeof(tidings__holds);
    if (result == 0) __asan_unpoison_memory_region(segment->base + segment->geometry.holds, bytes);
    return result;
}

static void open_calls(tidings__segment *segment) {
    const uint64_t known = tidings__relaxed(&segment->calls_known);
    __asan_unpoison_memory_region(segment->base + segment->geometry.calls, known * sizeof(tidings__call));
    __asan_unpoison_memory_region(segment->base + segment->geometry.call_bodies, known * sizeof(tidings__call_body));
}

int __wrap_tidings__back_calls(tidings__segment *segment, uint32_t count) {
    const int result = __real_tidings__back_calls(segment, count);
    if (result == 0) open_calls(segment);
    return result;
}

uint32_t __wrap_tidings__calls_there(tidings__segment *segment, uint32_t count) {
    const uint32_t there = __real_tidings__calls_there(segment, count);
    open_calls(segment);
    return there;
}

uint32_t __wrap_tidings__names_there(tidings__segment *segment, uint32_t count) {
    const uint32_t there = __real_tidings__names_there(segment, count);
    open_names(segment);
    return there;
}

// MARK: Copies

// A cell's neighbours are read by others at any time, so no fence can tell a copy that runs on into them. It begins in
// a body and ends there.
static void within_body(const tidings__segment *s, uint64_t offset, size_t size) {
    const uint64_t in = (offset - s->geometry.cells) % sizeof(tidings__cell);
    MUST(in >= offsetof(tidings__cell, body) && in + size <= sizeof(tidings__cell), in + size);
}

void *__wrap___asan_memcpy(void *to, const void *from, size_t size) {
    uint64_t offset;
    if (mapping_find(from, 0, &offset)) {
        for (unsigned i = 0; i < ROOM; i++) {
            const tidings__segment *s = maps[i].fenced;
            if (!maps[i].mapped || !s || maps[i].base + offset != from) continue;
            if (offset >= s->geometry.cells && offset < s->geometry.names) within_body(s, offset, size);
        }
        // The words of a record's header in a chunk, and the first of what is copied.
        for (size_t i = 0; i < size && i < TIDINGS__CHUNK_HEADER; i += 8)
            changes_before_load((const uint8_t *)from + i, 8);
    }
    return __real___asan_memcpy(to, from, size);
}

bool mapping_find(const void *address, uint64_t length, uint64_t *offset) {
    const uint8_t *at = address;
    for (unsigned i = 0; i < ROOM; i++) {
        if (!maps[i].mapped || (length && maps[i].length != length) || at < maps[i].base ||
            at >= maps[i].base + maps[i].length)
            continue;
        *offset = (uint64_t)(at - maps[i].base);
        return true;
    }
    return false;
}

void mapping_forget(void) {
    for (unsigned i = 0; i < ROOM; i++) MUST(!maps[i].mapped, i);
}
