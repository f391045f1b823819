// Declarations that only the files of this folder use. "Without an error line" means: `tidings__last_error` is not set.
#ifndef TIDINGS__SEGMENT_INTERNAL_H
#define TIDINGS__SEGMENT_INTERNAL_H

#include "segment/segment.h"

// Clears the segment, except for `looks` and `giving_memory`, which its caller has set.
void tidings__segment_begin(tidings__segment *segment);

// Creates the center at segment->path from `segment->shape`. The file gets its name only when it is finished. `group`:
// NULL, or the group that gets the file. -EEXIST or -EAGAIN without an error line: another process was faster, or
// interfered; try again.
int tidings__segment_birth(tidings__segment *segment, uint32_t mode, const uint32_t *group);

// Writes the error line "directory … does not exist".
int tidings__segment_no_directory(const tidings__segment *segment);

// Creates a center without a name, in sealed memory. On failure: no error line, and nothing is closed. -EDOM: this
// process may not give the file to that group.
int tidings__segment_birth_sealed(tidings__segment *segment, uint32_t mode, const uint32_t *group);

// Opens the existing center at segment->path, if it passes all checks. -ENOENT without an error line: there is none.
int tidings__segment_join(tidings__segment *segment, uint32_t flags);

// What a file's constant first page and its status say about the center.
typedef struct tidings__identity {
    uint32_t version;
    uint32_t layout_stamp;
    uint64_t file_size;
    uint64_t instance;
    uint64_t home_namespace;
    uint64_t writers_file;
    uint64_t birthplace;
    uint64_t required;
    tidings__shape shape;
    dev_t device;
    ino_t inode;
    uint64_t length;
} tidings__identity;

// Makes the checks of design/5-access.md (Opening) in their order, on a descriptor, before anything is mapped.
// `identify` makes the first half, up to the magic: a file that passes is a center of some version. `validate` makes
// the second half. `verb` is for the error line: "open", "remove" or "receive". -ENOENT without an error line: the
// center has just been removed.
int tidings__segment_identify(const tidings__segment *segment, int fd, uint32_t flags, const char *verb,
                              tidings__identity *identity);
// Reads the first page without any check but the magic. False: it is no center, or it can't be read.
bool tidings__segment_read_identity(int fd, tidings__identity *identity);
// True if this build can use a center with this version, layout stamp and required features.
bool tidings__identity_is_ours(const tidings__identity *identity);
int tidings__segment_validate(const tidings__segment *segment, const char *verb, const tidings__identity *identity);
// Writes the error line that says why the path could not be opened. -ENOENT without an error line.
int tidings__segment_unopenable(const tidings__segment *segment, int error, uint32_t flags, const char *verb);

// -EPERM if another user may rename files in segment->path's directory, and so replace the center, unless `flags` allow
// that. -ENOENT without an error line: there is no such directory. Makes one `stat` of the directory; its parents are
// not checked.
int tidings__segment_check_directory(const tidings__segment *segment, uint32_t flags, const char *verb);

// Deletes the center's name if it still leads to this file. Holds the removal lock, so two removers can't interfere. 0
// also if the name is gone already. `writers_file`: the writers file's descriptor, or -1. `mark`: also marks the center
// as removed. TIDINGS__LATER: another process holds the lock.
int tidings__segment_unlink(const tidings__segment *segment, int fd, int writers_file, bool mark, const char *verb);

// MARK: Unfinished files (stale_files.c)

// A file may get its name before its center has one. Its creator then holds the removal lock, so that no process takes
// the file for stale. -EAGAIN: a process has just done so and deleted the file; start again.
int tidings__birth_hold(int fd, const char *path);
void tidings__birth_release(int fd);

// MARK: The writers file (writers_file.c)

// True if this mode gives some users read access without write access.
bool tidings__mode_observable(uint32_t mode);
// Creates the writers file of a new center, gives it its name, and notes it in the segment. On failure there is none.
int tidings__writers_file_birth(tidings__segment *segment, uint32_t mode, const uint32_t *group);
// Opens and maps the writers file of an existing center. Errors have an error line, except -ENOENT: the center has just
// been removed.
int tidings__writers_file_join(tidings__segment *segment, const char *verb);
// Takes the writers file from two received descriptors, one to map and one for locks. Errors have an error line. Closes
// neither descriptor.
int tidings__writers_file_adopt(tidings__segment *segment, int mapped, int locks);
// Opens the writers file and checks it, but does not map it. Returns its descriptor or a negative errno.
int tidings__writers_file_open(const tidings__segment *segment, uint64_t instance, ino_t inode);
// The same for a center that was identified, but not opened. Notes the writers file in the segment. -ENOENT if the
// center has none.
int tidings__writers_file_of(tidings__segment *segment, const tidings__identity *identity);
#define TIDINGS__WRITERS_FILE_SUFFIX ".writers"
void tidings__writers_file_unlink(const tidings__segment *segment, uint64_t instance);
void tidings__writers_file_close(tidings__segment *segment);
int tidings__writers_file_reopen(tidings__segment *segment);

// Maps the checked file from segment->fd. Errors have an error line.
int tidings__segment_map(tidings__segment *segment, const tidings__identity *identity);

// Sets the pointers and private tables. `fd` and `base` must be set. -ENOMEM.
int tidings__segment_attach(tidings__segment *segment);

// Call after mapping: replaces the descriptor by one with an open file description of its own. -ESTALE, -ENOENT: the
// file can't be reached any more.
int tidings__segment_separate(tidings__segment *segment);

// Writes the error line: "can't <verb> center "x": ", then the formatted text. Returns -error.
int tidings__segment_refuse(const tidings__segment *segment, int error, const char *verb, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// The length of the directory part of segment->path, for "%.*s".
int tidings__segment_directory_length(const tidings__segment *segment);

#endif
