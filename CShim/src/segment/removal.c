// Taking a center's name away.
#include <errno.h>
#include <string.h>

#include "platform/clock.h"
#include "platform/error.h"
#include "platform/file.h"
#include "platform/futex.h"
#include "platform/lock.h"
#include "platform/process.h"
#include "segment/internal.h"
#include "segment/names.h"

// A remover holds its lock for some ten microseconds, or, without a processor on a busy machine, for a tenth of a
// second. One that is stopped there must not hold us for ever.
#define LOCK_LOOKS 2000

static int take_lock(const tidings__segment *segment, int fd, const char *verb) {
    const int result = tidings__lock_try(fd, TIDINGS__LOCK_REMOVAL, true);
    if (result == 0) return 0;
    if (result != -EAGAIN)
        return tidings__segment_refuse(segment, -result, verb, "locking %s failed (%s); check its file system",
                                       segment->path, strerror(-result));
    if (segment->looks < LOCK_LOOKS) return TIDINGS__LATER;
    return tidings__segment_refuse(segment, ESTALE, verb, "another process is just removing %s; try again",
                                   segment->path);
}

static int mark_removed(int fd, uint64_t value) {
    // Mapped, not written: a write could meet the process's limit on file sizes, which kills.
    uint8_t *bytes = NULL;
    if (!tidings__file_backed(fd, 0, sizeof(tidings__header)))
        return 0;  // holes where every center has memory: then nobody looks there either
    const int result = tidings__map(fd, sizeof(tidings__header), true, &bytes);
    if (result != 0) return result;
    tidings__header *header = (void *)bytes;
    atomic_store(&header->removed.word, value);
    tidings__unmap(bytes, sizeof(tidings__header));
    return 0;
}

// Deletes only what was checked. The path could lead to a successor by now, and between looking and deleting it could
// come to: but the name of an inode is only ever taken by who holds this lock on that inode, so while we hold it and
// the name is ours, it stays ours.
int tidings__segment_unlink(const tidings__segment *segment, int fd, int writers_file, bool mark, const char *verb) {
    const int locks = writers_file >= 0 ? writers_file : fd;
    int result = take_lock(segment, locks, verb);
    if (result != 0) return result;
    if (tidings__file_same(fd, segment->path)) {
        char directory[TIDINGS__PATH_SIZE];
        tidings__segment_directory(segment, directory);
        // Of somebody else's center in a directory like /dev/shm, one who may write to it can't delete the file, and
        // must not say that it is gone before it is.
        const bool kept = tidings__file_kept(fd, directory);
        // Marked first. Killed in between, posters hear of it all the same, and the next to open the name finishes
        // this. The other way round nobody would tell them.
        if (mark && !kept) result = mark_removed(fd, 1);
        if (result == 0) {
            result = tidings__file_unlink(segment->path);
            if (result == -ENOENT) result = 0;
            if (mark && !kept && result != 0) (void)mark_removed(fd, 0);
            if (mark && kept && result == 0) (void)mark_removed(fd, 1);
        }
        if (kept && result == -EPERM) {
            (void)tidings__segment_refuse(segment, EPERM, verb,
                                          "in %s only its owner, user %u, may delete it; have it removed by that user",
                                          directory, (unsigned)segment->owner);
        } else if (result != 0) {
            (void)tidings__segment_unopenable(segment, -result, TIDINGS__OPEN_ANY_OWNER, verb);
        }
    } else if (mark) {
        (void)mark_removed(fd, 1);  // somebody used `rm`: those who have it open should know
    }
    if (result == 0 && segment->writers_file) tidings__writers_file_unlink(segment, segment->instance);
    (void)tidings__lock_release(locks, TIDINGS__LOCK_REMOVAL);
    return result;
}

#define READERS_WOKEN 1024  // on each bell; any more are told by the kernel (README.md, "End of a center")

static void ring_all(uint8_t *doorbells, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        _Atomic uint32_t *doorbell = (void *)(doorbells + (uint64_t)i * TIDINGS__LINE);
        // Bit 0: asleep. By 2, as the sleeper may not have reached its futex yet.
        if (!(atomic_load(doorbell) & 1)) continue;
        atomic_fetch_add(doorbell, 2);
        (void)tidings__futex_wake(doorbell, 2);
    }
}

// Whether a mapping of the first `length` bytes can be touched. Pages that were reserved at birth and never touched
// count as holes: reserving them again changes nothing, and says so.
static bool has_memory(int fd, uint64_t length) {
    return tidings__file_backed(fd, 0, length) || tidings__file_reserve(fd, 0, length) == 0;
}

// Wakes all who sleep in a center that was just marked. Only a hint: an observer that isn't woken here is told by its
// own process.
static void wake_observers(int fd, int writers_file, const tidings__identity *identity) {
    tidings__geometry geometry;
    tidings__geometry_of(&identity->shape, &geometry);
    const uint64_t length = geometry.observers + identity->shape.observers * sizeof(tidings__observer_entry);
    uint8_t *bytes = NULL;
    if (!has_memory(fd, length) || tidings__map(fd, length, true, &bytes) != 0) return;
    if (identity->writers_file == 0) ring_all(bytes + geometry.observers, identity->shape.observers);
    tidings__name_futex *name_futexes = ((tidings__header *)(void *)bytes)->name_futexes;
    for (uint32_t i = 0; identity->writers_file != 0 && i < TIDINGS__NAME_FUTEXES; i++) {
        atomic_fetch_add(&name_futexes[i].word, 1);
        (void)tidings__futex_wake(&name_futexes[i].word, READERS_WOKEN);
    }
    tidings__unmap(bytes, length);
    const uint64_t size = (uint64_t)identity->shape.observers * TIDINGS__LINE;
    struct stat status;
    uint8_t *doorbells = NULL;
    if (writers_file < 0 || tidings__file_status(writers_file, &status) != 0 || (uint64_t)status.st_size < size ||
        !has_memory(writers_file, size) || tidings__map(writers_file, size, true, &doorbells) != 0)
        return;
    ring_all(doorbells, identity->shape.observers);
    tidings__unmap(doorbells, size);
}

static int remove_once(const char *name, const tidings_configuration *configuration, uint32_t looks) {
    tidings__segment segment;  // for its name and path only
    memset(&segment, 0, sizeof segment);
    segment.fd = -1;
    segment.looks = looks;
    int result = tidings__check_center_name(name);
    if (result != 0) return result;
    memcpy(segment.name, name, strlen(name) + 1);
    const uint32_t flags = configuration ? configuration->flags : 0;
    segment.owner = flags & TIDINGS_OPEN_OWNER ? configuration->owner : tidings__user_id();
    result = tidings__center_path(name, configuration ? configuration->directory : NULL, segment.owner, segment.path,
                                  sizeof segment.path);
    if (result != 0) return result;

    const int fd = tidings__file_open(segment.path, true);
    tidings__identity identity;
    result = fd < 0 ? tidings__segment_unopenable(&segment, -fd, flags, "remove")
                    : tidings__segment_identify(&segment, fd, flags, "remove", &identity);
    if (result == -ENOENT)
        (void)tidings__segment_refuse(&segment, ENOENT, "remove", "there is none (%s); check name and directory",
                                      segment.path);
    if (result == 0) {
        // Of another version nothing but the magic is known: no word to mark in it.
        const bool ours = tidings__identity_is_ours(&identity);
        if (ours) result = tidings__segment_validate(&segment, "remove", &identity);
        char directory[TIDINGS__PATH_SIZE];
        tidings__segment_directory(&segment, directory);
        // Before the mark is set, as posters look at it at once.
        if (result == 0) {
            result = tidings__directory_writable(directory);
            if (result != 0) result = tidings__segment_unopenable(&segment, -result, TIDINGS__OPEN_ANY_OWNER, "remove");
        }
        const int writers_file = result == 0 && ours ? tidings__writers_file_of(&segment, &identity) : -1;
        if (result == 0) result = tidings__segment_unlink(&segment, fd, writers_file, ours, "remove");
        if (result == 0 && ours) wake_observers(fd, writers_file, &identity);
        tidings__file_close(writers_file);
    }
    tidings__file_close(fd);
    return result;
}

int tidings__segment_remove(const char *name, const tidings_configuration *configuration) {
    int result;
    for (uint32_t looks = 0; (result = remove_once(name, configuration, looks)) == TIDINGS__LATER; looks++)
        tidings__nap(TIDINGS__LATER_NS);
    return result;
}
