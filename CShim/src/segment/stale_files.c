// Finds and deletes stale files: those of creators and removers that were killed before they were done. A process that
// still works on a file holds the file's removal lock.
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "platform/directory.h"
#include "platform/error.h"
#include "platform/file.h"
#include "platform/lock.h"
#include "platform/process.h"
#include "segment/internal.h"
#include "segment/names.h"

#define NUMBER_LENGTH 16  // hexadecimal digits of the random number in a file name

int tidings__birth_hold(int fd, const char *path) {
    int result = tidings__lock_try(fd, TIDINGS__LOCK_REMOVAL, true);
    // If the file system has no locks, the participant reports that when it joins.
    if (result != 0 && result != -EAGAIN) return 0;
    if (result == 0 && !tidings__file_same(fd, path)) result = -EAGAIN;
    return result;
}

void tidings__birth_release(int fd) { (void)tidings__lock_release(fd, TIDINGS__LOCK_REMOVAL); }

typedef struct search {
    const char *directory;
    char prefix[32];
    bool delete_them;
    bool (*each)(void *context, const tidings_stale_file *stale_file);
    void *context;
    uint32_t count;
    // Used while the center of a writers file is searched for.
    uint64_t instance;
    ino_t inode;
    bool needed;
} search;

// Opens the file of that name, if it is a regular file of this user. Returns its descriptor, or -1. Reads its identity;
// version 0: it is no center.
static int open_one(const search *search, const char *file, tidings__segment *segment, tidings__identity *identity,
                    struct stat *status) {
    memset(segment, 0, sizeof *segment);
    segment->fd = segment->writers_file_fd = -1;
    segment->owner = tidings__user_id();
    if (tidings__path_join(search->directory, file, segment->path, sizeof segment->path) != 0) return -1;
    const int fd = tidings__file_open(segment->path, true);
    if (fd < 0) return -1;
    if (tidings__file_status(fd, status) == 0 && S_ISREG(status->st_mode) && status->st_uid == segment->owner) {
        if (tidings__segment_read_identity(fd, identity)) return fd;
        identity->version = 0;
        return fd;
    }
    tidings__file_close(fd);
    return -1;
}

static bool report(search *search, int kind, const char *file, const struct stat *status, bool deleted) {
    const tidings_stale_file stale_file = {
        .kind = kind, .deleted = deleted, .memory = (uint64_t)status->st_blocks * 512, .file = file};
    search->count++;
    return search->each(search->context, &stale_file);
}

// Sets `needed` if the center in this file may need the writers file. A center of another version may, as its format is
// unknown.
static bool needs(void *context, const char *file) {
    search *search = context;
    const size_t length = strlen(search->prefix);
    if (strncmp(file, search->prefix, length) != 0 || file[length] == '.') return true;
    tidings__segment segment;
    tidings__identity identity;
    struct stat status;
    const int fd = open_one(search, file, &segment, &identity, &status);
    if (fd < 0) {
        // A file that can't be opened now (its mode, too many open files) may be the center.
        search->needed = tidings__path_status(segment.path, &status) == 0 && S_ISREG(status.st_mode) &&
                         status.st_uid == segment.owner;
        return !search->needed;
    }
    tidings__file_close(fd);
    search->needed = identity.version != 0 &&
                     (!tidings__identity_is_ours(&identity) ||
                      (identity.instance == search->instance && identity.writers_file == search->inode));
    return !search->needed;
}

// Checks the file "tidings.<uid>..<number>" or "tidings.<uid>..<number>.writers". `rest`: its name from the number on.
// False: the search ends here.
static bool look_beside(search *search, const char *file, const char *rest) {
    char *end;
    search->instance = strtoull(rest, &end, 16);
    if (end != rest + NUMBER_LENGTH || (*end != 0 && strcmp(end, TIDINGS__WRITERS_FILE_SUFFIX) != 0)) return true;
    const bool writers_file = *end != 0;
    tidings__segment segment;
    tidings__identity identity;
    struct stat status;
    const int fd = open_one(search, file, &segment, &identity, &status);
    if (fd < 0) return true;
    bool go_on = true;
    if (tidings__lock_try(fd, TIDINGS__LOCK_REMOVAL, true) == 0) {
        search->inode = status.st_ino;
        search->needed = false;
        // Searched while the lock is held: a creator holds the lock until its center has a name and can be found.
        if (writers_file && tidings__list(search->directory, needs, search) != 0)
            search->needed = true;  // the directory can't be listed, so the answer is unknown
        if (!search->needed && tidings__file_same(fd, segment.path)) {
            const bool deleted = search->delete_them && tidings__file_unlink(segment.path) == 0;
            go_on = report(search, writers_file ? TIDINGS_STALE_FILE_WRITERS_FILE : TIDINGS_STALE_FILE_UNFINISHED, file,
                           &status, deleted);
        }
        (void)tidings__lock_release(fd, TIDINGS__LOCK_REMOVAL);
    }
    tidings__file_close(fd);
    return go_on;
}

// A center is stale if it is marked as removed, still has its name, and no remover works on it.
static bool look_at_center(search *search, const char *file, const char *name) {
    tidings__segment segment;
    tidings__identity identity;
    struct stat status;
    const int fd = open_one(search, file, &segment, &identity, &status);
    if (fd < 0) return true;
    bool go_on = true;
    uint64_t removed = 0;
    if (tidings__identity_is_ours(&identity) && strlen(name) < sizeof segment.name &&
        tidings__file_read(fd, &removed, sizeof removed, offsetof(tidings__header, removed)) == 0 && removed != 0) {
        memcpy(segment.name, name, strlen(name) + 1);
        const int writers_file = tidings__writers_file_of(&segment, &identity);
        const int locks = writers_file >= 0 ? writers_file : fd;
        const bool unlocked = tidings__lock_try(locks, TIDINGS__LOCK_REMOVAL, true) == 0;
        if (unlocked) (void)tidings__lock_release(locks, TIDINGS__LOCK_REMOVAL);
        if (unlocked && tidings__file_same(fd, segment.path)) {
            const bool deleted = search->delete_them &&
                                 tidings__segment_unlink(&segment, fd, writers_file, false, "remove") == 0;
            go_on = report(search, TIDINGS_STALE_FILE_REMOVED, file, &status, deleted);
        }
        tidings__file_close(writers_file);
    }
    tidings__file_close(fd);
    return go_on;
}

static bool look(void *context, const char *file) {
    search *search = context;
    const size_t length = strlen(search->prefix);
    if (strncmp(file, search->prefix, length) != 0) return true;
    const char *rest = file + length;
    return *rest == '.' ? look_beside(search, file, rest + 1) : look_at_center(search, file, rest);
}

int tidings__stale_files(const char *configured, bool delete_them,
                         bool (*each)(void *context, const tidings_stale_file *stale_file), void *context) {
    char directory[TIDINGS__PATH_SIZE];
    int result = tidings__center_directory(configured, directory, sizeof directory);
    if (result != 0) return result;
    search search = {.directory = directory, .delete_them = delete_them, .each = each, .context = context};
    tidings__file_prefix(tidings__user_id(), search.prefix, sizeof search.prefix);
    result = tidings__list(directory, look, &search);
    if (result != 0)
        return tidings__fail(-result, "can't list %s: %s; check the directory", directory, strerror(-result));
    return (int)search.count;
}
