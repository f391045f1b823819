// Removes a center: marks it as removed, deletes its name, and wakes its observers.
#include <errno.h>
#include <string.h>

#include "platform/atomics.h"
#include "platform/clock.h"
#include "platform/error.h"
#include "platform/file.h"
#include "platform/futex.h"
#include "platform/lock.h"
#include "platform/process.h"
#include "segment/internal.h"
#include "segment/names.h"

// Attempts to get the removal lock. A remover holds it for some ten microseconds, or for a tenth of a second if it gets
// no processor on a busy machine. The bound is for a remover that is stopped while it holds the lock.
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
    // Mapped, not written: at the process's limit on file sizes, a write raises SIGXFSZ, which kills the process.
    uint8_t *bytes = NULL;
    if (!tidings__file_backed(fd, 0, sizeof(tidings__header)))
        return 0;  // a hole in the header: a copy that no process has opened yet, so none would see the mark
    const int result = tidings__map(fd, sizeof(tidings__header), true, &bytes);
    if (result != 0) return result;
    tidings__header *header = (void *)bytes;
    tidings__set_seq_cst(&header->removed.word, value);
    tidings__unmap(bytes, sizeof(tidings__header));
    return 0;
}

// Deletes only the file that was checked. The path may lead to a successor by now, so it is checked under the removal
// lock. A remover takes a name away only while it holds the lock on that name's file. So if this thread holds the lock
// and the name leads to this file, the name keeps leading to it until the unlink.
int tidings__segment_unlink(const tidings__segment *segment, int fd, int writers_file, bool mark, const char *verb) {
    const int locks = writers_file >= 0 ? writers_file : fd;
    int result = take_lock(segment, locks, verb);
    if (result != 0) return result;
    if (tidings__file_same(fd, segment->path)) {
        char directory[TIDINGS__PATH_SIZE];
        tidings__segment_directory(segment, directory);
        // In a sticky directory like /dev/shm, a user with write access to another user's center can't delete its file.
        // Such a remover must not mark the center before the file is deleted.
        const bool kept = tidings__file_kept(fd, directory);
        // The mark comes before the unlink. If this process is killed between the two, posters see the mark, and the
        // next process that opens the name completes the removal. In the other order, no mark would inform the posters.
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
        (void)mark_removed(fd, 1);  // the name was deleted by `rm` or replaced: informs the participants
    }
    if (result == 0 && segment->writers_file) tidings__writers_file_unlink(segment, segment->instance);
    (void)tidings__lock_release(locks, TIDINGS__LOCK_REMOVAL);
    return result;
}

// Readers woken on each name futex. Further ones are informed by the kernel (design/5-access.md).
#define READERS_WOKEN 1024

static void ring_all(uint8_t *doorbells, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        _Atomic uint32_t *doorbell = (void *)(doorbells + (uint64_t)i * TIDINGS__LINE);
        // Bit 0: asleep. The epoch is counted up as well: if the sleeper has not reached the kernel yet, it finds
        // another value and does not sleep.
        if (!(tidings__seq_cst(doorbell) & 1)) continue;
        tidings__fetch_add(doorbell, 2);
        (void)tidings__futex_wake(doorbell, 2);
    }
}

// True if the first `length` bytes can be touched in a mapping. Pages that were reserved at creation and never touched
// count as holes. Reserving them again changes nothing, and succeeds.
static bool has_memory(int fd, uint64_t length) {
    return tidings__file_backed(fd, 0, length) || tidings__file_reserve(fd, 0, length) == 0;
}

// Wakes the sleeping observers of a center that was just marked. This is about speed only: an observer that is not
// woken here learns of the end from its own process.
static void wake_observers(int fd, int writers_file, const tidings__identity *identity) {
    tidings__geometry geometry;
    tidings__geometry_of(&identity->shape, &geometry);
    const uint64_t length = geometry.observers + identity->shape.observers * sizeof(tidings__observer_entry);
    uint8_t *bytes = NULL;
    if (!has_memory(fd, length) || tidings__map(fd, length, true, &bytes) != 0) return;
    if (identity->writers_file == 0) ring_all(bytes + geometry.observers, identity->shape.observers);
    tidings__name_futex *name_futexes = ((tidings__header *)(void *)bytes)->name_futexes;
    for (uint32_t i = 0; identity->writers_file != 0 && i < TIDINGS__NAME_FUTEXES; i++) {
        tidings__fetch_add(&name_futexes[i].word, 1);
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
        // In a center of another version only the magic has a known offset, so it can't be marked.
        const bool ours = tidings__identity_is_ours(&identity);
        if (ours) result = tidings__segment_validate(&segment, "remove", &identity);
        char directory[TIDINGS__PATH_SIZE];
        tidings__segment_directory(&segment, directory);
        // Checked before the mark is set, as posters act on the mark at once.
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
