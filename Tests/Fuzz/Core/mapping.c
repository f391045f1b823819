// Linked in front of the core's own mapping (--wrap): the same memory, between two stretches that nobody may touch. The address sanitizer knows nothing of shared
// memory, so this is what catches a read beyond it.
#include <errno.h>
#include <sys/mman.h>

#include "fuzz.h"

#define GUARD (UINT64_C(1) << 30)  // a chunk number or a length gone wrong by 30 bits still lands here
#define ROOM 8u

int __wrap_tidings__map(int fd, uint64_t length, bool writable, uint8_t **base);
void __wrap_tidings__unmap(uint8_t *base, uint64_t length);

static struct {
    uint8_t *base;
    uint64_t length;
} maps[ROOM];

int __wrap_tidings__map(int fd, uint64_t length, bool writable, uint8_t **base)
{
    const uint64_t pages = (length + 4095) / 4096 * 4096;
    for (unsigned i = 0; i < ROOM; i++) {
        if (maps[i].base) continue;
        uint8_t *room = mmap(NULL, pages + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (room == MAP_FAILED) return -errno;
        if (mmap(room + GUARD, length, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
            const int error = errno;
            (void)munmap(room, pages + 2 * GUARD);
            return -error;
        }
        maps[i].base = *base = room + GUARD;
        maps[i].length = length;
        return 0;
    }
    fuzz_fail("mappings are given back", ROOM);
}

void __wrap_tidings__unmap(uint8_t *base, uint64_t length)
{
    for (unsigned i = 0; base && i < ROOM; i++) {
        if (maps[i].base != base) continue;
        MUST(maps[i].length == length, length);
        (void)munmap(base - GUARD, (length + 4095) / 4096 * 4096 + 2 * GUARD);
        maps[i].base = NULL;
        return;
    }
    MUST(base == NULL, 0);
}

uint8_t *mapping_base(unsigned index)
{
    for (unsigned i = 0; i < ROOM; i++)
        if (maps[i].base && index-- == 0) return maps[i].base;
    return NULL;
}

uint64_t mapping_length(unsigned index)
{
    for (unsigned i = 0; i < ROOM; i++)
        if (maps[i].base && index-- == 0) return maps[i].length;
    return 0;
}

bool mapping_contains(const void *address)
{
    const uint8_t *at = address;
    for (unsigned i = 0; i < ROOM; i++)
        if (maps[i].base && at >= maps[i].base && at < maps[i].base + maps[i].length) return true;
    return false;
}

void mapping_forget(void) { MUST(mapping_base(0) == NULL, 0); }
