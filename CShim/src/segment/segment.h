// One opened center: its mapping, and our own copy of everything that decides where things lie. Layers above reach
// shared memory through this struct.
#ifndef TIDINGS__SEGMENT_H
#define TIDINGS__SEGMENT_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "segment/geometry.h"
#include "segment/layout.h"
#include "segment/sets.h"
#include "tidings.h"

#define TIDINGS__PATH_SIZE 4096u

// In `configuration.flags`, not public: accepts a file of another owner, as only whether it is a center counts.
#define TIDINGS__OPEN_ANY_OWNER 0x200u

typedef struct tidings__segment {
    int fd;  // for locks and questions; not the description that is mapped, which forked children share. -1: a child
             // could not open it anew
    bool writable;    // opened for reading alone otherwise: everything that would write must look at it first
    bool sealed;      // memory without a file's name, whose size is fixed
    bool observable;  // others may read who may not write: they are told by bells
    uint8_t *base;
    uint64_t size;
    tidings__header *header;
    tidings__participant *participants;
    tidings__observer_entry *observers;
    _Atomic uint64_t *buckets;
    _Atomic uint64_t *chunk_words;
    tidings__cell *cells;
    tidings__name *names;
    tidings__shape shape;        // our copy: the header's is never read again, whoever changes it
    tidings__geometry geometry;  // likewise
    uint32_t slot_shift, slot_mask;
    uint64_t instance, home_namespace;
    uint8_t *doorbells;   // one line each: the observers' entries, or the companion
    int writers_file_fd;  // where there is a companion and we may write: its locks' description. -1 otherwise
    uint8_t *writers_file_base;
    ino_t writers_file;  // its inode; 0: there is none
    uint32_t owner;
    _Atomic uint32_t *chunk_backed;  // ours: pages of each chunk, from its start, known to have memory
    _Atomic uint32_t names_known;    // ours: name entries known to have memory
    dev_t device;
    ino_t inode;
    uint32_t looks;  // how often this opening, or removal, has been told to look again later
    char path[TIDINGS__PATH_SIZE];
    char name[TIDINGS_CENTER_NAME_MAX + 1];
} tidings__segment;

// Another process is at work on the file: nothing is left open, and the caller begins anew after this time, with
// `looks` one higher. It naps without any lock: opening and closing other centers, and forks, go on meanwhile. Without
// an error line.
#define TIDINGS__LATER (-EINPROGRESS)
#define TIDINGS__LATER_NS 1000000

// Opens or creates, as the flags say. Errors as `tidings_open`, and TIDINGS__LATER. On failure nothing is left open and
// `segment` may be forgotten.
int tidings__segment_open(const char *name, const tidings_configuration *configuration, tidings__segment *segment);

// sealed.c: centers that are memory without a name. `hand`: descriptors for a peer, to be closed when they have been
// sent; `adopt` takes them over.
int tidings__segment_create_sealed(const char *name, const tidings_configuration *configuration,
                                   tidings__segment *segment);
int tidings__segment_hand(const tidings__segment *segment, bool writable, int descriptors[3], int *count);
int tidings__segment_adopt(const char *name, const int *descriptors, int count, uint64_t largest,
                           tidings__segment *segment);

void tidings__segment_close(tidings__segment *segment);  // a second time does nothing
// The part of it that takes microseconds: the descriptors, and with them the locks. The kernel's work follows in
// `tidings__segment_close`: to unmap a large center takes 50 ms.
void tidings__segment_close_files(tidings__segment *segment);

// The directory part of segment->path.
void tidings__segment_directory(const tidings__segment *segment, char directory[TIDINGS__PATH_SIZE]);

// In a forked child: a new open file description (so that locks are the child's own), the inherited one is closed
// whatever happens. The mapping stays. Async-signal-safe. On failure `fd` is -1; no error line.
int tidings__segment_reopen(tidings__segment *segment);

// The descriptor for questions, if it still leads to the center's file. -EBADF: the program has closed what wasn't its
// own, and the number may be another file's by now. A system call; async-signal-safe.
int tidings__segment_descriptor(const tidings__segment *segment);
// Likewise the one for locks: the same, or the companion's. -EBADF also for who opened for reading alone, where there
// is a companion.
int tidings__segment_locks(const tidings__segment *segment);

static inline _Atomic uint32_t *tidings__doorbell(const tidings__segment *segment, uint32_t observer) {
    return (_Atomic uint32_t *)(void *)(segment->doorbells + (uint64_t)observer * TIDINGS__LINE);
}

// The futex of posters that wait for this lossless observer. Its observer wakes all sleepers there, so it must not lie
// in a file that readers can map: each of their sleepers would cost the observer time.
static inline _Atomic uint32_t *tidings__waiting_posters(const tidings__segment *segment, uint32_t observer) {
#ifdef MUTANT_POSTERS_WAIT_WHERE_READERS_SLEEP  // Found by: interleaving lossless_beside_readers
    (void)observer;
#else
    if (segment->writers_file_base)
        return &((tidings__writers_file_line *)(void *)segment->writers_file_base)[observer].waiting_posters;
#endif
    return (_Atomic uint32_t *)(void *)&segment->header->waiting_posters.word;
}

// Deletes a center's file, after making sure that it is one: of this version and whole, or at least one of another
// version by its magic. -ENOENT, -EBADMSG, -EPERM …
int tidings__segment_remove(const char *name, const tidings_configuration *configuration);
// Likewise for `tidings_stale_files`.
int tidings__stale_files(const char *directory, bool delete_them,
                         bool (*each)(void *context, const tidings_stale_file *stale_file), void *context);

// Makes sure that the first `bytes` of a chunk have memory before they are touched; cheap when known already. A
// writable segment reserves what is missing: -ENOSPC with amounts. A read-only one can't: -ENODATA, nobody can have
// written there. -EINVAL: no such chunk, or it isn't that large (a hostile number).
int tidings__back_chunk(tidings__segment *segment, uint32_t chunk, uint64_t bytes);
// Only asks, for a chunk there is.
bool tidings__chunk_has_memory(tidings__segment *segment, uint32_t chunk, uint64_t bytes);

// The same for the first `count` name entries. Reserves by steps of TIDINGS__NAMES_STEP and moves header->names_backed
// forward.
int tidings__back_names(tidings__segment *segment, uint32_t count);
// How many of them have memory: asks the file at most, and reserves nothing (but where a file system can't tell).
uint32_t tidings__names_there(tidings__segment *segment, uint32_t count);

// Where a chunk lies and how much it holds; NULL for a number that no chunk has. Not to be touched before
// `tidings__back_chunk`.
uint8_t *tidings__chunk_bytes(const tidings__segment *segment, uint32_t chunk, uint64_t *capacity);

#endif
