// Between the files of this folder only.
#ifndef TIDINGS__SEGMENT_INTERNAL_H
#define TIDINGS__SEGMENT_INTERNAL_H

#include "segment/segment.h"

// Creates the center under segment->path from `segment->shape`, finished before it has a name. -EEXIST without an error
// line: somebody was quicker. `group`: NULL, or whom the file is given to.
int tidings__segment_birth(tidings__segment *segment, uint32_t mode, const uint32_t *group);

// Says that there is no directory to create it in.
int tidings__segment_no_directory(const tidings__segment *segment);

// The same without a name. Errors without a line (-EDOM: it may not be given to that group); nothing is closed.
int tidings__segment_birth_sealed(tidings__segment *segment, uint32_t mode, const uint32_t *group);

// Opens what is there under segment->path, if it passes all checks. -ENOENT without an error line: nothing there.
int tidings__segment_join(tidings__segment *segment, uint32_t flags);

// What a look at the fixed page of a file says.
typedef struct tidings__identity {
    uint32_t version;
    uint32_t layout_stamp;
    uint64_t file_size;
    uint64_t instance;
    uint64_t home_namespace;
    uint64_t writers_file;
    uint64_t birthplace;
    tidings__shape shape;
    dev_t device;
    ino_t inode;
    uint64_t length;
} tidings__identity;

// The checks in the README's order, on a descriptor, before anything is mapped. `verb` is "open" or "remove". The first
// half, up to the magic, is enough to know that a file is a center of some version; -ENOENT without an error line: it
// has just been removed.
int tidings__segment_identify(const tidings__segment *segment, int fd, uint32_t flags, const char *verb,
                              tidings__identity *identity);
// Only what the file says of itself. False: it is no center.
bool tidings__segment_read_identity(int fd, tidings__identity *identity);
// Is it laid out as this build lays out its own?
bool tidings__identity_is_ours(const tidings__identity *identity);
int tidings__segment_validate(const tidings__segment *segment, const char *verb, const tidings__identity *identity);
// Why the path could not be opened at all. -ENOENT without an error line.
int tidings__segment_unopenable(const tidings__segment *segment, int error, uint32_t flags, const char *verb);

// -EPERM if another user may rename files in segment->path's directory, and so put another center in this one's place,
// unless `flags` allow that. -ENOENT without an error line: there is no such directory. One `stat` of the directory;
// its parents are not looked at.
int tidings__segment_check_directory(const tidings__segment *segment, uint32_t flags, const char *verb);

// Deletes the name if it is still this file's, under a lock that makes this one decision for everybody. 0 also if the
// name has gone already. `companion`: its descriptor, or -1.
int tidings__segment_unlink(const tidings__segment *segment, int fd, int writers_file, bool mark, const char *verb);

// MARK: Files on their way (leftovers.c)

// A file that has a name before its center does is held by a lock, so that nobody takes its creator for dead; -EAGAIN:
// somebody just did, begin anew.
int tidings__birth_hold(int fd, const char *path);
void tidings__birth_release(int fd);

// MARK: The companion (companion.c)

// Does this mode let somebody read who may not write?
bool tidings__mode_observable(uint32_t mode);
// Makes the companion of a newborn center, gives it its name, and notes it in the segment. On failure there is none.
int tidings__writers_file_birth(tidings__segment *segment, uint32_t mode, const uint32_t *group);
// Opens and maps that of an existing one. Errors with the line written; -ENOENT without: the center has just been
// removed.
int tidings__writers_file_join(tidings__segment *segment, const char *verb);
// Takes it over from descriptors that were handed: one to map, one for locks. With the line written; closes neither.
int tidings__writers_file_adopt(tidings__segment *segment, int mapped, int locks);
// Only its descriptor, checked, or a negative errno.
int tidings__writers_file_open(const tidings__segment *segment, uint64_t instance, ino_t inode);
// The same for a center that was only looked at, and notes it in the segment; negative also if there is none.
int tidings__writers_file_of(tidings__segment *segment, const tidings__identity *identity);
#define TIDINGS__WRITERS_FILE_SUFFIX ".writers"
void tidings__writers_file_unlink(const tidings__segment *segment, uint64_t instance);
void tidings__writers_file_close(tidings__segment *segment);
int tidings__writers_file_reopen(tidings__segment *segment);

// Maps what was checked, from segment->fd. With the line written.
int tidings__segment_map(tidings__segment *segment, const tidings__identity *identity);

// Fills in pointers and private tables; `fd` and `base` are there. -ENOMEM.
int tidings__segment_attach(tidings__segment *segment);

// Once mapped: exchanges the descriptor for one of a description of its own. -ESTALE, -ENOENT: the file can't be
// reached any more.
int tidings__segment_separate(tidings__segment *segment);

// Writes "can't <verb> center "x": " and the rest.
int tidings__segment_refuse(const tidings__segment *segment, int error, const char *verb, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// The directory part of segment->path, for "%.*s".
int tidings__segment_directory_length(const tidings__segment *segment);

#endif
