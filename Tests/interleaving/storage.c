// The memory that a schedule changes: the center, the core's heap, and all globals, put back as they were for the next
// one.
#include "storage.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "center/center.h"

#define ARENA (4u << 20)
#define LINE 64

mapping mappings[HANDLES], writers_files[HANDLES];
static uint32_t mapping_count, writers_file_count;

#define BLOCK 128u  // each allocation takes whole blocks
uint8_t *arena;
static size_t arena_used;
// The size of the allocation that begins with this block. Not put back: memory is given out once in each schedule.
static uint32_t *sizes;

// What a schedule begins with. Outside of what is put back, as are the fibers' stacks.
static struct start {
    uint8_t *globals, *arena, *center, *writers_file;
    uint8_t *dirty;  // by line
    uint32_t *lines, line_count;
} * start;

extern char __data_start, _end;
static char *globals(void) {
    char *all = &__data_start;
    // To the compiler this is one byte, and nothing to do with our variables.
    __asm__ volatile("" : "+r"(all) : : "memory");
    return all;
}

void *pages(size_t size) {
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED) abort();
    return bytes;
}

// The core's own memory: from one place that can be put back as a whole. What was freed or never written reads as
// neither 0 nor anything true.
void *__wrap_malloc(size_t size) {
    const size_t whole = (size + BLOCK) / BLOCK * BLOCK;
    if (!arena || size > ARENA || arena_used + whole > ARENA) return NULL;
    uint8_t *bytes = arena + arena_used;
    sizes[arena_used / BLOCK] = (uint32_t)size;
    arena_used += whole;
    memset(bytes, 0xa5, whole);
    machine.live++;
    return bytes;
}
void *__wrap_calloc(size_t count, size_t size) {
    void *bytes = __wrap_malloc(count * size);
    if (bytes) memset(bytes, 0, count * size);
    return bytes;
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) { return alignment <= BLOCK ? __wrap_malloc(size) : NULL; }
static size_t size_of(const uint8_t *bytes) { return sizes[(size_t)(bytes - arena) / BLOCK]; }
void __wrap_free(void *bytes) {
    if (!bytes) return;
    machine.live--;
    size_t size = size_of(bytes);
    memset(bytes, 0xdd, size);
}
void *__wrap_realloc(void *old, size_t size) {
    uint8_t *bytes = __wrap_malloc(size);
    if (!bytes || !old) return bytes;
    size_t before = size_of(old);
    memcpy(bytes, old, before < size ? before : size);
    __wrap_free(old);
    return bytes;
}

// One center, mapped once per handle: the same byte has one name here.
static uintptr_t in_first(uintptr_t at, const mapping *all, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (at - (uintptr_t)all[i].base < all[i].length) return (uintptr_t)all[0].base + (at - (uintptr_t)all[i].base);
    return at;
}
uintptr_t machine_canonical(const volatile void *address) {
    return in_first(in_first((uintptr_t)address, mappings, mapping_count), writers_files, writers_file_count);
}
bool in_writers_file(uintptr_t canonical) {
    return writers_file_count > 0 && canonical - (uintptr_t)writers_files[0].base < writers_files[0].length;
}
bool machine_inside(uintptr_t canonical) {
    return (mapping_count > 0 && canonical - (uintptr_t)mappings[0].base < mappings[0].length) ||
           in_writers_file(canonical);
}

void machine_dirty(uintptr_t canonical, size_t size) {
    if (!start->dirty || size == 0 || in_writers_file(canonical)) return;  // that one is put back as a whole
    uint64_t offset = canonical - (uintptr_t)mappings[0].base;
    for (uint64_t line = offset / LINE; line <= (offset + size - 1) / LINE; line++) {
        if (start->dirty[line]) continue;
        start->dirty[line] = 1;
        start->lines[start->line_count++] = (uint32_t)line;
    }
}

static size_t globals_size(void) { return (size_t)(&_end - &__data_start); }

void machine_ready(void) {
    start->center = pages(mappings[0].length);
    memcpy(start->center, mappings[0].base, mappings[0].length);
    if (writers_file_count) {
        start->writers_file = pages(writers_files[0].length);
        memcpy(start->writers_file, writers_files[0].base, writers_files[0].length);
    }
    start->lines = pages(mappings[0].length / LINE * sizeof *start->lines);
    start->arena = pages(ARENA);
    memcpy(start->arena, arena, arena_used);
    start->globals = pages(globals_size());
    start->dirty = pages(mappings[0].length / LINE + 1);
    memcpy(start->globals, globals(), globals_size());
}

void machine_restore(void) {
    bool trace = machine.trace;
    memcpy(globals(), start->globals, globals_size());
    (void)globals();
    machine.trace = trace;
    memcpy(arena, start->arena, arena_used);
    if (writers_file_count) memcpy(writers_files[0].base, start->writers_file, writers_files[0].length);
    for (uint32_t i = 0; i < start->line_count; i++) {
        uint64_t line = start->lines[i];
        memcpy(mappings[0].base + line * LINE, start->center + line * LINE, LINE);
        start->dirty[line] = 0;
    }
    start->line_count = 0;
}

void storage_boot(void) {
    arena = pages(ARENA);
    sizes = pages(ARENA / BLOCK * sizeof sizes[0]);
    start = pages(sizeof *start);
}

void storage_map(const tidings_center *center) {
    mappings[mapping_count].base = center->segment.base;
    mappings[mapping_count++].length = center->segment.size;
    if (center->segment.writers_file_base)
        writers_files[writers_file_count++] = (mapping){center->segment.writers_file_base, TIDINGS__PAGE};
}
