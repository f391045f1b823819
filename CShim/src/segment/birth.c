// Creates a center. Its file has no name, or a name that no center can have, until its memory is reserved and its
// contents are written. Only then the file gets the center's name, so no process can open an unfinished center. A
// creator that is killed before leaves nothing. If the file system needs a name for each file, it leaves a file
// "tidings.<uid>..<random>" (stale_files.c).
#include <errno.h>
#include <string.h>

#include "platform/atomics.h"
#include "platform/clock.h"
#include "platform/error.h"
#include "platform/file.h"
#include "platform/process.h"
#include "segment/internal.h"
#include "segment/names.h"

// Writes all words of a new center that are not 0.
static void write_contents(tidings__segment *segment) {
    tidings__header *header = segment->header;
    // All stores are relaxed: the file has no name yet, so no other process reads it. The system call that gives it a
    // name orders the stores. Cells are created as zeros: W says "lap 0, no owner", and C and V name position 0, which
    // lies in slot 0. So only slot 0 needs other values.
    tidings__set_relaxed(&segment->cells[0].commit, TIDINGS__C_NEVER);
    tidings__set_relaxed(&segment->cells[0].verdict, TIDINGS__V_NEVER);
    tidings__set_relaxed(&segment->names[TIDINGS__NAME_ALL].state, TIDINGS__NAME_LINKED);
    tidings__set_relaxed(&header->names_used.word, TIDINGS__NAME_FIRST);
    tidings__set_relaxed(&header->names_backed.word, segment->shape.names_first);
    header->version = segment->version;
    header->layout_stamp = tidings__layout_stamp();
    header->file_size = segment->file_size;
    header->optional = TIDINGS__OPTIONAL;
    for (size_t i = 0; TIDINGS__RESERVED && i < sizeof header->reserved / sizeof header->reserved[0]; i++)
        tidings__set_relaxed(&header->reserved[i].word, TIDINGS__RESERVED);
    if (TIDINGS__MORE) header->parts[0] = (tidings__part){UINT16_MAX, segment->geometry.file_size, TIDINGS__MORE};
    header->instance = segment->instance;
    header->home_namespace = segment->home_namespace;
    header->born_at = tidings__realtime_ns();
    header->writers_file = segment->writers_file;
    header->birthplace = segment->inode;
    header->shape = segment->shape;
    header->magic = TIDINGS__MAGIC;
}

static int give_memory(tidings__segment *segment) {
    const uint64_t base = segment->geometry.base_size;
    if (segment->giving_memory) segment->giving_memory(segment, true);
    int result = tidings__file_resize(segment->fd, segment->size);
    if (result == 0) result = tidings__file_reserve(segment->fd, 0, base);
    if (result == -EOPNOTSUPP) result = tidings__file_zero(segment->fd, 0, base);
    if (segment->giving_memory) segment->giving_memory(segment, false);
    if (result != 0) return result;
    // Pages of zeros are not touched. They are reserved already, and the first touch of a reserved page costs as much
    // as its reservation.
    return tidings__map(segment->fd, segment->size, true, &segment->base);
}

int tidings__segment_no_directory(const tidings__segment *segment) {
    char directory[TIDINGS__PATH_SIZE];
    tidings__segment_directory(segment, directory);
    return tidings__segment_refuse(segment, ENOENT, "open",
                                   "directory %s does not exist; create it or set TIDINGS_DIRECTORY", directory);
}

static int explain(const tidings__segment *segment, int error) {
    char needed[TIDINGS__AMOUNT_SIZE], there[TIDINGS__AMOUNT_SIZE];
    uint64_t available = 0;
    char directory[TIDINGS__PATH_SIZE];
    tidings__segment_directory(segment, directory);
    switch (error) {
        case ENOSPC:
            if (!tidings__file_space(segment->fd, directory, &available))
                available = UINT64_MAX;
            else if (segment->fd >= 0)
                available += tidings__file_memory(segment->fd);  // this file is deleted, which frees its memory
            if (available < segment->geometry.base_size) {
                return tidings__segment_refuse(
                    segment, error, "open", "%s is full (needs %s, %s free); make room there or set TIDINGS_DIRECTORY",
                    directory, tidings__amount(segment->geometry.base_size, needed), tidings__amount(available, there));
            }
            return tidings__segment_refuse(segment, error, "open",
                                           "%s has no room for another file of %s (files or quota used up); make room "
                                           "there or set TIDINGS_DIRECTORY",
                                           directory, tidings__amount(segment->geometry.base_size, needed));
        case ENOENT: return tidings__segment_no_directory(segment);
        case ENOTDIR:
            return tidings__segment_refuse(segment, error, "open",
                                           "%s is not a directory; set TIDINGS_DIRECTORY to one", directory);
        case EDOM:
            return tidings__segment_refuse(
                segment, EPERM, "open",
                "this process may not give a file to that group; use one that it is a member of");
        case EACCES:
        case EPERM:
            return tidings__segment_refuse(
                segment, error, "open",
                "no permission to create files in %s; set TIDINGS_DIRECTORY to a directory of yours", directory);
        case EROFS:
            return tidings__segment_refuse(segment, error, "open",
                                           "%s is read-only; set TIDINGS_DIRECTORY to a directory that can be written",
                                           directory);
        case EFBIG:
            return tidings__segment_refuse(segment, error, "open",
                                           "its file is %s long (mostly without memory), which this process may not "
                                           "create; raise the limit (ulimit -f)",
                                           tidings__amount(segment->size, needed));
        case ENOMEM:
            return tidings__segment_refuse(segment, error, "open",
                                           "no room for %s of addresses; raise the limit (ulimit -v)",
                                           tidings__amount(segment->size, needed));
        case EMFILE:
        case ENFILE:
            return tidings__segment_refuse(segment, error, "open",
                                           "too many open files; close some or raise the limit (ulimit -n)");
        default:
            return tidings__segment_refuse(segment, error, "open",
                                           "creating it in %s failed (%s); set TIDINGS_DIRECTORY to another directory",
                                           directory, strerror(error));
    }
}

// Makes an open, empty file a finished center without a name. Returns 0 or a negative errno.
static int make(tidings__segment *segment, uint32_t mode, const uint32_t *group) {
    segment->writable = true;
    int result = give_memory(segment);
    if (result != 0) return result;
    struct stat status;
    result = tidings__file_status(segment->fd, &status);
    if (result != 0) return result;
    segment->device = status.st_dev;
    segment->inode = status.st_ino;
    result = tidings__segment_attach(segment);
    if (result != 0) return result;
    segment->observable = tidings__mode_observable(mode);
    if (segment->observable) result = tidings__writers_file_birth(segment, mode, group);
    if (result != 0) return result;
    write_contents(segment);
    return tidings__file_access(segment->fd, mode, group);
}

static void begin(tidings__segment *segment) {
    tidings__geometry_of(&segment->shape, &segment->geometry);
    segment->version = TIDINGS__FORMAT_VERSION;
    segment->size = segment->file_size = segment->geometry.file_size + TIDINGS__MORE;
    segment->instance = tidings__random();
    segment->home_namespace = tidings__pid_namespace();
}

int tidings__segment_birth_sealed(tidings__segment *segment, uint32_t mode, const uint32_t *group) {
    begin(segment);
    segment->fd = tidings__file_create_memory(segment->name);
    int result = segment->fd < 0 ? segment->fd : make(segment, mode, group);
    if (result == 0) result = tidings__file_seal(segment->fd);
    if (result == 0 && !segment->writers_file) result = tidings__segment_separate(segment);
    return result;
}

int tidings__segment_birth(tidings__segment *segment, uint32_t mode, const uint32_t *group) {
    begin(segment);
    char other[TIDINGS__PATH_SIZE];  // directory, then temporary name
    tidings__segment_directory(segment, other);

    segment->fd = tidings__file_create_unnamed(other);
    int result = segment->fd < 0 ? segment->fd : make(segment, mode, group);
    // Invariant A1: the name is the last step.
    if (result == 0) result = tidings__file_publish(segment->fd, segment->path);
    if (result == -EOPNOTSUPP) {
        // This file system needs a name for each file, or can't name a file later.
        if (segment->writers_file) tidings__writers_file_unlink(segment, segment->instance);
        tidings__segment_close(segment);
        if (tidings__beside_path(segment->path, segment->owner, segment->instance, "", other, sizeof other) != 0)
            return explain(segment, ENAMETOOLONG);
        segment->fd = tidings__file_create_named(other);
        result = segment->fd < 0 ? segment->fd : tidings__birth_hold(segment->fd, other);
        if (result == 0) result = make(segment, mode, group);
        if (result == 0) {
            result = tidings__file_rename(other, segment->path);
            if (result == -ENOENT)
                result = -EAGAIN;  // a process deleted the file, or the directory: then the next attempt reports that
        }
        if (result != 0 && segment->fd >= 0) (void)tidings__file_unlink(other);
        if (result == 0) tidings__birth_release(segment->fd);
    }
    if (result == 0 && segment->writers_file) tidings__birth_release(segment->writers_file_fd);
    if (result == 0 && !segment->writers_file) {
        result = tidings__segment_separate(segment);
        if (result == -ESTALE || result == -ENOENT)
            result = -EEXIST;  // the center is removed already, and may have a successor: try again
    }
    if (result == 0) return 0;
    // Writes the error line before the descriptor is closed: `explain` uses the descriptor to get the free space of the
    // file system that was full.
    if (result != -EEXIST && result != -EAGAIN) result = explain(segment, -result);
    if (segment->writers_file) tidings__writers_file_unlink(segment, segment->instance);
    tidings__segment_close(segment);
    return result;
}
