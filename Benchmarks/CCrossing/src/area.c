// The memory that all of one measurement share, and the few steps that every driver takes.
#include "internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

int crossing_area_open(const char *path, bool create, size_t bytes, crossing_area **area) {
    int descriptor = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_TRUNC : 0), 0600);
    if (descriptor < 0) return -errno;
    size_t mapped = sizeof(crossing_area) + bytes;
    struct stat status;
    int result = create ? -posix_fallocate(descriptor, 0, (off_t)mapped) : 0;
    if (!create) {
        if (fstat(descriptor, &status) != 0) result = -errno;
        mapped = (size_t)status.st_size;
    }
    if (result == 0) {
        const int flags = MAP_SHARED | (mapped - sizeof(crossing_area) > 0 ? MAP_POPULATE : 0);
        crossing_area *made = mmap(NULL, mapped, PROT_READ | PROT_WRITE, flags, descriptor, 0);
        if (made == MAP_FAILED) {
            result = -errno;
        } else {
            *area = made;
            if (create) {
                made->mapped = mapped;
                made->bytes = bytes;
            }
        }
    }
    close(descriptor);
    return result;
}

void crossing_area_close(crossing_area *area) { munmap(area, area->mapped); }

void crossing_ready(crossing_area *area) { atomic_fetch_add(&area->ready, 1); }

uint32_t crossing_members(crossing_area *area) { return atomic_load(&area->ready); }

void crossing_go(crossing_area *area) {
    atomic_fetch_add(&area->go, 1);
    crossing_futex_wake(&area->go, INT32_MAX);
}

void crossing_stop(crossing_area *area) {
    atomic_store(&area->go, CROSSING_STOP);
    crossing_futex_wake(&area->go, INT32_MAX);
}

int crossing_wait_done(crossing_area *area, uint32_t members) {
    uint64_t end = crossing_now_ns() + CROSSING_TIMEOUT_NS;
    const struct timespec step = {.tv_nsec = 100000};
    while (atomic_load(&area->done) < members) {
        if (crossing_now_ns() > end) return -ETIMEDOUT;
        nanosleep(&step, NULL);
    }
    return 0;
}

uint64_t crossing_value(crossing_area *area, uint32_t place, uint32_t index) {
    return atomic_load(&area->places[place].values[index]);
}

void crossing_set_value(crossing_area *area, uint32_t place, uint32_t index, uint64_t value) {
    atomic_store(&area->places[place].values[index], value);
}

unsigned char *crossing_memory(size_t size) {
    unsigned char *memory = aligned_alloc(4096, (size + 4096) / 4096 * 4096);
    if (memory != NULL) memset(memory, 0x5a, size);
    return memory;
}

int crossing_publisher(tidings_center *center, const char *name, tidings_publisher **publisher) {
    return tidings_publisher_open(center, name, strlen(name), NULL, 0, publisher);
}

int crossing_observe(tidings_center *center, const char *name, uint32_t flags, tidings_observer **observer) {
    uint32_t subscription;
    CROSSING_TRY(tidings_observer_open(center, flags, observer));
    return tidings_observer_add(*observer, name, strlen(name), NULL, 0, 0, &subscription);
}
