// Checks whether a file is a center that this process may use. These functions write nothing, and nothing is mapped
// before all checks have passed.
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "platform/directory.h"
#include "platform/error.h"
#include "platform/file.h"
#include "platform/process.h"
#include "segment/internal.h"

// If a file system has no rename without replacing, a new center has two names for a moment (tidings__file_rename). So
// a file with two names is checked again this many times.
#define LINK_LOOKS 5

static const char *kind_of(mode_t mode) {
    switch (mode & S_IFMT) {
        case S_IFDIR: return "a directory";
        case S_IFIFO: return "a FIFO";
        case S_IFSOCK: return "a socket";
        case S_IFLNK: return "a symbolic link";
        case S_IFCHR:
        case S_IFBLK: return "a device";
        default: return "no regular file";
    }
}

int tidings__segment_unopenable(const tidings__segment *segment, int error, uint32_t flags, const char *verb) {
    if (error == ENOENT) return -ENOENT;
    struct stat status;
    const bool seen = tidings__path_status(segment->path, &status) == 0;
    if (seen && !S_ISREG(status.st_mode)) {
        return tidings__segment_refuse(segment, EBADMSG, verb, "%s is %s; remove it or choose another name",
                                       segment->path, kind_of(status.st_mode));
    }
    if (error == EACCES && seen && status.st_uid != segment->owner && !(flags & TIDINGS__OPEN_ANY_OWNER)) {
        return tidings__segment_refuse(segment, EPERM, verb, "%s belongs to user %u; choose another name or directory",
                                       segment->path, (unsigned)status.st_uid);
    }
    if (error == EACCES && seen && segment->owner != tidings__user_id()) {
        return tidings__segment_refuse(
            segment, EACCES, verb, "user %u lets this process %s (mode %04o); %s", segment->owner,
            tidings__path_readable(segment->path) ? "only observe it" : "neither post nor observe",
            (unsigned)status.st_mode & 07777,
            tidings__path_readable(segment->path) ? "open it read-only" : "have its owner choose a wider mode");
    }
    const char *advice = error == EACCES || error == EPERM    ? "check its permissions and its directory's"
                         : error == EROFS                     ? "its file system is read-only, use another directory"
                         : error == EMFILE || error == ENFILE ? "close some files or raise the limit (ulimit -n)"
                         : error == ENOTDIR                   ? "set TIDINGS_DIRECTORY to a directory"
                                                              : "check the directory";
    return tidings__segment_refuse(segment, error, verb, "%s: %s; %s", segment->path, strerror(error), advice);
}

#define ALLOW_SHARED                                                                                                   \
    "allow it (TIDINGS_OPEN_SHARED_DIRECTORY, in Swift allowsSharedDirectory, with the command --shared-directory)"

int tidings__segment_check_directory(const tidings__segment *segment, uint32_t flags, const char *verb) {
    if (flags & TIDINGS_OPEN_SHARED_DIRECTORY) return 0;
    char directory[TIDINGS__PATH_SIZE];
    tidings__segment_directory(segment, directory);
    struct stat status;
    const int result = tidings__directory_status(directory, &status);
    if (result != 0) return tidings__segment_unopenable(segment, -result, flags, verb);
    const unsigned mode = (unsigned)status.st_mode & 07777;
    // With an access control list, the group bits are its mask: the most that any user or group in the list may do.
    if (mode & (S_IWGRP | S_IWOTH) && !(mode & S_ISVTX)) {
        return tidings__segment_refuse(segment, EPERM, verb,
                                       "in %s (mode %04o) %s may rename files, and so replace the center; "
                                       "run chmod %s on it, or " ALLOW_SHARED,
                                       directory, mode, mode & S_IWOTH ? "every user" : "its group",
                                       mode & S_IWOTH ? "+t or go-w" : "+t or g-w");
    }
    // A directory's owner may rename in it, sticky or not. In a user namespace, root's /dev/shm seems to belong to a
    // user that the namespace does not have.
    const uint32_t owner = status.st_uid;
    if (owner == 0 || owner == segment->owner || owner == tidings__user_id() || !tidings__user_known(owner)) return 0;
    return tidings__segment_refuse(
        segment, EPERM, verb,
        "%s belongs to user %u; this user may rename files there, and so replace the center; "
        "use another directory, or " ALLOW_SHARED,
        directory, (unsigned)owner);
}

// Reads the fields of the first page into private memory. They are not mapped, so a peer can't change them between the
// checks and their use.
static int read_fixed(int fd, tidings__identity *identity, uint64_t *magic) {
    uint8_t raw[offsetof(tidings__header, required) + sizeof(uint64_t)];
    const int result = tidings__file_read(fd, raw, sizeof raw, 0);
    if (result != 0) return result;
    memcpy(magic, raw + offsetof(tidings__header, magic), sizeof *magic);
    memcpy(&identity->version, raw + offsetof(tidings__header, version), sizeof identity->version);
    memcpy(&identity->layout_stamp, raw + offsetof(tidings__header, layout_stamp), sizeof identity->layout_stamp);
    memcpy(&identity->file_size, raw + offsetof(tidings__header, file_size), sizeof identity->file_size);
    memcpy(&identity->instance, raw + offsetof(tidings__header, instance), sizeof identity->instance);
    memcpy(&identity->home_namespace, raw + offsetof(tidings__header, home_namespace), sizeof identity->home_namespace);
    memcpy(&identity->writers_file, raw + offsetof(tidings__header, writers_file), sizeof identity->writers_file);
    memcpy(&identity->birthplace, raw + offsetof(tidings__header, birthplace), sizeof identity->birthplace);
    memcpy(&identity->shape, raw + offsetof(tidings__header, shape), sizeof identity->shape);
    memcpy(&identity->required, raw + offsetof(tidings__header, required), sizeof identity->required);
    return 0;
}

bool tidings__identity_is_ours(const tidings__identity *identity) {
    return identity->version >> 16 == TIDINGS__FORMAT_MAJOR && identity->layout_stamp == tidings__layout_stamp() &&
           (identity->required & ~TIDINGS__REQUIRED) == 0;
}

bool tidings__segment_read_identity(int fd, tidings__identity *identity) {
    uint64_t magic = 0;
    return read_fixed(fd, identity, &magic) == 0 && magic == TIDINGS__MAGIC;
}

int tidings__segment_identify(const tidings__segment *segment, int fd, uint32_t flags, const char *verb,
                              tidings__identity *identity) {
    struct stat status;
    int result = tidings__file_status(fd, &status);
    if (result == 0 && S_ISREG(status.st_mode) && status.st_nlink > 1 && segment->looks < LINK_LOOKS &&
        !segment->sealed)
        return TIDINGS__LATER;
    if (result != 0) return tidings__segment_unopenable(segment, -result, flags, verb);
    if (!S_ISREG(status.st_mode)) {
        return tidings__segment_refuse(segment, EBADMSG, verb, "%s is %s; remove it or choose another name",
                                       segment->path, kind_of(status.st_mode));
    }
    if (status.st_uid != segment->owner && !(flags & TIDINGS__OPEN_ANY_OWNER)) {
        return tidings__segment_refuse(segment, EPERM, verb, "%s belongs to user %u; choose another name or directory",
                                       segment->path, (unsigned)status.st_uid);
    }
    if (status.st_nlink == 0 && !segment->sealed) return -ENOENT;
    if (status.st_nlink > 1) {
        return tidings__segment_refuse(segment, EBADMSG, verb,
                                       "%s has %lu names (hard links), a center has one; remove its other names",
                                       segment->path, (unsigned long)status.st_nlink);
    }
    char length[TIDINGS__AMOUNT_SIZE];
    if (status.st_size < (off_t)sizeof(tidings__header)) {
        return tidings__segment_refuse(segment, EBADMSG, verb,
                                       "%s is not a center (only %s long); remove it or choose another name",
                                       segment->path, tidings__amount((uint64_t)status.st_size, length));
    }
    uint64_t magic = 0;
    result = read_fixed(fd, identity, &magic);
    if (result != 0) return tidings__segment_unopenable(segment, -result, flags, verb);
    if (magic != TIDINGS__MAGIC) {
        return tidings__segment_refuse(segment, EBADMSG, verb,
                                       "%s is not a center (other contents); remove it or choose another name",
                                       segment->path);
    }
    identity->device = status.st_dev;
    identity->inode = status.st_ino;
    identity->length = (uint64_t)status.st_size;
    return 0;
}

int tidings__segment_validate(const tidings__segment *segment, const char *verb, const tidings__identity *identity) {
    const uint32_t major = identity->version >> 16, minor = identity->version & UINT16_MAX;
    // Invariant F1: any minor version of this major one will do.
    if (major != TIDINGS__FORMAT_MAJOR
#ifdef MUTANT_MINOR_REFUSED  // Found by: compatibility
        || minor != TIDINGS__FORMAT_MINOR
#endif
    ) {
        return tidings__segment_refuse(
            segment, EPROTO, verb,
            "%s has format version %u.%u, this program uses %u.%u; update the older one and remove the center",
            segment->path, major, minor, TIDINGS__FORMAT_MAJOR, TIDINGS__FORMAT_MINOR);
    }
    // Invariant F2.
    if (identity->required & ~TIDINGS__REQUIRED) {
        return tidings__segment_refuse(
            segment, EPROTO, verb,
            "%s of format version %u.%u needs features (bits %llx) that this program, of version %u.%u, does not have; "
            "update this program, or remove the center and create it without them",
            segment->path, major, minor, (unsigned long long)(identity->required & ~TIDINGS__REQUIRED),
            TIDINGS__FORMAT_MAJOR, TIDINGS__FORMAT_MINOR);
    }
    if (identity->layout_stamp != tidings__layout_stamp()) {
        return tidings__segment_refuse(
            segment, EPROTO, verb,
            "%s has another layout (stamp %08x, this program's is %08x); build both alike and remove the center",
            segment->path, identity->layout_stamp, tidings__layout_stamp());
    }
    if (
#ifndef MUTANT_SHAPE_UNCHECKED  // Found by: fuzz opening
        !tidings__shape_valid(&identity->shape) ||
#endif
        identity->instance == 0) {
        return tidings__segment_refuse(segment, EBADMSG, verb,
                                       "%s is damaged (impossible sizes); delete it when no process uses it",
                                       segment->path);
    }
    tidings__geometry geometry;
    tidings__geometry_of(&identity->shape, &geometry);
    if (
#ifndef MUTANT_FILE_LENGTH_UNCHECKED  // Found by: fuzz opening
        identity->length != identity->file_size ||
#endif
#ifdef MUTANT_LONGER_FILE_REFUSED  // Found by: compatibility
        identity->file_size != geometry.file_size ||
#endif
        identity->file_size < geometry.file_size || identity->file_size > TIDINGS__LOCK_BASE) {
        return tidings__segment_refuse(segment, EBADMSG, verb,
                                       "%s is damaged (%llu bytes long, its header says %llu and its sizes make at "
                                       "least %llu); delete it when no process uses it",
                                       segment->path, (unsigned long long)identity->length,
                                       (unsigned long long)identity->file_size, (unsigned long long)geometry.file_size);
    }
    return 0;
}
