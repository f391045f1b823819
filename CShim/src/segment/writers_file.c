// The writers file: a second file beside an observable center. Only users with write access can open it. It has the
// participants' locks and the doorbells, out of the readers' reach (design/5-access.md):
// - Locks: a shared lock needs only a descriptor for reading, and would keep a participant's lock off its byte for
//   ever.
// - Doorbells and the futexes of announced participants: FUTEX_REQUEUE needs only a mapping for reading, and moves a
//   sleeper to a futex that no process wakes.
#include <errno.h>
#include <string.h>

#include "platform/error.h"
#include "platform/file.h"
#include "platform/lock.h"
#include "segment/internal.h"
#include "segment/names.h"

bool tidings__mode_observable(uint32_t mode) { return (mode & 0444) >> 1 & ~mode & 0222; }

// The mode of the writers file: each class of users that may write may also read, and no other class may.
static uint32_t writers_only(uint32_t mode) { return (mode & 0222) | (mode & 0222) << 1; }

static uint64_t in_pages(uint64_t bytes) { return (bytes + TIDINGS__PAGE - 1) / TIDINGS__PAGE * TIDINGS__PAGE; }

// The doorbells' pages, then those of the presence lines.
static uint64_t lives_at(const tidings__segment *segment) {
    return in_pages((uint64_t)segment->shape.observers * TIDINGS__LINE);
}
static uint64_t writers_file_size(const tidings__segment *segment) {
    return lives_at(segment) + in_pages((uint64_t)segment->shape.participants * TIDINGS__LINE);
}

static void attach(tidings__segment *segment) {
    segment->doorbells = segment->writers_file_base;
    segment->lives = segment->writers_file_base + lives_at(segment);
    segment->lives_apart = sizeof(tidings__presence_line);
}

static int path_of(const tidings__segment *segment, uint64_t instance, char path[TIDINGS__PATH_SIZE]) {
    return tidings__beside_path(segment->path, segment->owner, instance, TIDINGS__WRITERS_FILE_SUFFIX, path,
                                TIDINGS__PATH_SIZE);
}

static int give_memory(tidings__segment *segment, int fd, uint32_t mode, const uint32_t *group) {
    const uint64_t size = writers_file_size(segment);
    int result = tidings__file_resize(fd, size);
    if (result != 0) return result;
    result = tidings__file_reserve(fd, 0, size);
    if (result == -EOPNOTSUPP) result = tidings__file_zero(fd, 0, size);
    if (result == 0) result = tidings__file_access(fd, writers_only(mode), group);
    if (result == 0) result = tidings__map(fd, size, true, &segment->writers_file_base);
    return result;
}

// The description that is mapped must not hold locks: see tidings__segment_separate.
static int separate(tidings__segment *segment, int fd, const char *path) {
    struct stat status;
    int result = tidings__file_status(fd, &status);
    const int locks = result == 0 ? tidings__file_reopen(fd, true, path) : -1;
    if (result == 0 && locks < 0) result = locks;
    if (result != 0) return result;
    segment->writers_file_fd = locks;
    segment->writers_file = status.st_ino;
    attach(segment);
    return 0;
}

static int birth_sealed(tidings__segment *segment, uint32_t mode, const uint32_t *group) {
    const int fd = tidings__file_create_memory(segment->name);
    int result = fd < 0 ? fd : give_memory(segment, fd, mode, group);
    if (result == 0) result = tidings__file_seal(fd);
    if (result == 0) result = separate(segment, fd, segment->path);
    tidings__file_close(fd);
    return result;
}

int tidings__writers_file_adopt(tidings__segment *segment, int mapped, int locks) {
    struct stat status;
    const bool right = tidings__file_sealed(mapped) &&
                       tidings__file_is(mapped, segment->device, segment->writers_file) &&
                       tidings__file_is(locks, segment->device, segment->writers_file) &&
                       tidings__file_status(mapped, &status) == 0 &&
                       (uint64_t)status.st_size == writers_file_size(segment);
    if (!right)
        return tidings__segment_refuse(
            segment, EBADMSG, "receive",
            "the descriptors that came with it belong to another one; have it sent by this library");
    const int result = tidings__map(mapped, writers_file_size(segment), true, &segment->writers_file_base);
    if (result != 0)
        return tidings__segment_refuse(segment, -result, "receive",
                                       "mapping it failed (%s); raise the limit (ulimit -v)", strerror(-result));
    segment->writers_file_fd = locks;
    attach(segment);
    return 0;
}

int tidings__writers_file_birth(tidings__segment *segment, uint32_t mode, const uint32_t *group) {
    char path[TIDINGS__PATH_SIZE], directory[TIDINGS__PATH_SIZE];
    int result = path_of(segment, segment->instance, path);
    if (result != 0) return result;
    if (segment->sealed) return birth_sealed(segment, mode, group);
    tidings__segment_directory(segment, directory);
    int fd = tidings__file_create_unnamed(directory);
    result = fd < 0 ? fd : give_memory(segment, fd, mode, group);
    if (result == 0) result = tidings__file_publish(fd, path);
    if (result == -EOPNOTSUPP) {
        tidings__writers_file_close(segment);
        tidings__file_close(fd);
        // The writers file may have its name while it is unfinished: no process opens it before the center has a name.
        fd = tidings__file_create_named(path);
        result = fd < 0 ? fd : give_memory(segment, fd, mode, group);
    }
    if (result == 0) result = separate(segment, fd, path);
    if (result == 0) result = tidings__birth_hold(segment->writers_file_fd, path);
    if (result != 0) {
        if (fd >= 0) (void)tidings__file_unlink(path);
        tidings__writers_file_close(segment);
    }
    tidings__file_close(fd);
    return result;
}

int tidings__writers_file_open(const tidings__segment *segment, uint64_t instance, ino_t inode) {
    char path[TIDINGS__PATH_SIZE];
    struct stat status;
    int result = path_of(segment, instance, path);
    if (result != 0) return result;
    const int fd = tidings__file_open(path, true);
    if (fd < 0) return fd;
    result = tidings__file_status(fd, &status);
    // The center's header has the inode of its writers file. A file with another inode is foreign.
    if (result == 0 && (!S_ISREG(status.st_mode) || status.st_uid != segment->owner || status.st_ino != inode))
        result = -EBADMSG;
    if (result == 0) return fd;
    tidings__file_close(fd);
    return result;
}

int tidings__writers_file_of(tidings__segment *segment, const tidings__identity *identity) {
    segment->instance = identity->instance;
    segment->writers_file = (ino_t)identity->writers_file;
    return identity->writers_file != 0 ? tidings__writers_file_open(segment, segment->instance, segment->writers_file)
                                       : -ENOENT;
}

int tidings__writers_file_join(tidings__segment *segment, const char *verb) {
    char path[TIDINGS__PATH_SIZE];
    struct stat status;
    const int fd = tidings__writers_file_open(segment, segment->instance, segment->writers_file);
    int result = fd < 0 ? fd : tidings__file_status(fd, &status);
    if (result == 0 && (uint64_t)status.st_size != writers_file_size(segment)) result = -EBADMSG;
    if (result == 0) result = path_of(segment, segment->instance, path);
    if (result == 0 && !tidings__file_backed(fd, 0, writers_file_size(segment)))
        result = tidings__file_reserve(fd, 0, writers_file_size(segment));
    if (result == 0) result = tidings__map(fd, writers_file_size(segment), true, &segment->writers_file_base);
    if (result == 0) result = separate(segment, fd, path);
    tidings__file_close(fd);
    if (result == 0) return 0;
    tidings__writers_file_close(segment);
    // A remover deletes the center's name before the writers file. So if the center's name is gone, it was removed.
    if ((result == -ENOENT || result == -ESTALE) && !tidings__file_same(segment->fd, segment->path)) return -ENOENT;
    (void)path_of(segment, segment->instance, path);
    const char *reason = result == -EBADMSG || result == -ESTALE ? "it is another one" : strerror(-result);
    return tidings__segment_refuse(
        segment, result == -ENOENT || result == -ESTALE ? EBADMSG : -result, verb,
        "%s, which belongs to it, can't be used (%s); remove the center when no process uses it, or open it read-only",
        path, reason);
}

void tidings__writers_file_unlink(const tidings__segment *segment, uint64_t instance) {
    char path[TIDINGS__PATH_SIZE];
    if (path_of(segment, instance, path) == 0) (void)tidings__file_unlink(path);
}

int tidings__segment_locks(const tidings__segment *segment) {
    if (!segment->writers_file) return tidings__segment_descriptor(segment);
    return tidings__file_is(segment->writers_file_fd, segment->device, segment->writers_file) ? segment->writers_file_fd
                                                                                              : -EBADF;
}

void tidings__writers_file_close(tidings__segment *segment) {
    if (segment->writers_file_base) tidings__unmap(segment->writers_file_base, writers_file_size(segment));
    segment->writers_file_base = NULL;
    if (segment->writers_file && tidings__segment_locks(segment) >= 0) tidings__file_close(segment->writers_file_fd);
    segment->writers_file_fd = -1;
    segment->writers_file = 0;
}

int tidings__writers_file_reopen(tidings__segment *segment) {
    char path[TIDINGS__PATH_SIZE];
    const int inherited = tidings__segment_locks(segment);
    int again = inherited < 0 ? inherited : tidings__file_reopen(inherited, true, "");
    // By its path, if there is no /proc.
    if (inherited >= 0 && again < 0 && path_of(segment, segment->instance, path) == 0)
        again = tidings__file_reopen(inherited, true, path);
    if (inherited >= 0) tidings__file_close(inherited);
    segment->writers_file_fd = again < 0 ? -1 : again;
    return again < 0 ? again : 0;
}
