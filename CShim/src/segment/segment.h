// One opened center: its mapping, and a private copy of the numbers from which all addresses follow. Higher layers
// access shared memory through this struct.
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

// In `configuration.flags`, not public: accepts a file of another owner.
#define TIDINGS__OPEN_ANY_OWNER 0x200u

typedef struct tidings__segment {
    // For system calls, and for locks if there is no writers file. A descriptor for locks never shares the open file
    // description that is mapped (tidings__segment_separate). -1: a forked child could not open the file again.
    int fd;
    bool writable;    // false: opened read-only; code that writes to the center must check this first
    bool sealed;      // memory without a file name, whose size is fixed
    bool observable;  // readers may open the center; posters wake them by name futexes
    uint8_t *base;
    uint64_t size;       // bytes mapped: the parts that this build knows
    uint64_t file_size;  // of a center that a later minor version created, it may be more
    tidings__header *header;
    tidings__participant *participants;
    tidings__observer_entry *observers;
    _Atomic uint64_t *buckets;
    _Atomic uint64_t *chunk_words;
    tidings__cell *cells;
    tidings__name *names;
    tidings__presence *presence;  // touch an entry only after `tidings__back_presence`
    tidings__holds *holds;        // touch a row only after `tidings__back_holds`
    tidings__call *calls;         // touch an entry, or its body, only below `tidings__calls_there`
    tidings__call_body *call_bodies;
    // A private copy: the header's shape is never read again, as a hostile peer may change it.
    tidings__shape shape;
    tidings__geometry geometry;  // follows from `shape`; private as well
    uint32_t slot_shift, slot_mask;
    uint32_t version;  // as in the header
    uint64_t instance, home_namespace;
    uint8_t *doorbells;  // one line each: in the observers' entries, or in the writers file
    uint8_t *lives;      // presence lines, `lives_apart` bytes apart: in the presence entries, or in the writers file
    uint32_t lives_apart;
    int writers_file_fd;  // for locks, if there is a writers file and this process may write; -1 otherwise
    uint8_t *writers_file_base;
    ino_t writers_file;              // inode; 0: there is no writers file
    uint32_t owner;                  // uid
    _Atomic uint32_t *chunk_backed;  // private: for each chunk, its first pages that are known to have memory
    _Atomic uint32_t names_known;    // private: name entries that are known to have memory
    // private: the entry for which the file last had no memory, and in the upper half, `names_backed` + 1 as of then.
    // 0: it had memory for each
    _Atomic uint64_t names_missing;
    _Atomic uint32_t names_refused;   // private: how often that was so; counts up to a small number
    _Atomic uint32_t presence_known;  // private: 1: the presence entries are known to have memory
    _Atomic uint32_t holds_known;     // private: 1: the rows of holds are known to have memory
    _Atomic uint32_t calls_known;     // private: calls that are known to have memory
    dev_t device;
    ino_t inode;
    uint32_t looks;  // how often this opening or removal has returned TIDINGS__LATER
    // Called before (`begin`) and after the kernel gives a new center its memory, which takes long. The caller of an
    // opening sets it to give up its lock meanwhile; NULL: it holds none. The segment has one descriptor then, `fd`,
    // and no mapping.
    void (*giving_memory)(struct tidings__segment *segment, bool begin);
    char path[TIDINGS__PATH_SIZE];
    char name[TIDINGS_CENTER_NAME_MAX + 1];
} tidings__segment;

// Another process works on the file. Nothing is left open, and there is no error line. The caller sleeps for
// TIDINGS__LATER_NS nanoseconds, adds 1 to `looks`, and tries again. It must hold no lock while it sleeps, so that
// other threads can open and close centers and fork.
#define TIDINGS__LATER (-EINPROGRESS)
#define TIDINGS__LATER_NS 1000000

// Opens or creates a center, as the flags say. Errors: those of `tidings_open`, and TIDINGS__LATER. On failure nothing
// is left open, and `segment` needs no close.
int tidings__segment_open(const char *name, const tidings_configuration *configuration, tidings__segment *segment);

// sealed.c: centers in memory without a file name. `hand` opens descriptors for a peer, which the caller closes when
// they have been sent. `adopt` takes received descriptors over, also on failure.
int tidings__segment_create_sealed(const char *name, const tidings_configuration *configuration,
                                   tidings__segment *segment);
int tidings__segment_hand(const tidings__segment *segment, bool writable, int descriptors[3], int *count);
int tidings__segment_adopt(const char *name, const int *descriptors, int count, uint64_t largest,
                           tidings__segment *segment);

void tidings__segment_close(tidings__segment *segment);  // a second call does nothing
// The part of `tidings__segment_close` that takes microseconds: closes the descriptors, and so releases the locks. The
// rest, to unmap a large center, takes the kernel 50 ms.
void tidings__segment_close_files(tidings__segment *segment);

// Copies the directory part of segment->path.
void tidings__segment_directory(const tidings__segment *segment, char directory[TIDINGS__PATH_SIZE]);

// In a forked child: opens a new file description, so that the child has locks of its own. Closes the inherited
// descriptor, also on failure. The mapping stays. Async-signal-safe. On failure the descriptor for locks is -1, and
// there is no error line. Does nothing if the center was opened read-only.
int tidings__segment_reopen(tidings__segment *segment);

// The descriptor for system calls, if it still leads to the center's file. -EBADF: the program has closed a descriptor
// that was not its own, and the number may belong to another file now. Costs a system call. Async-signal-safe.
int tidings__segment_descriptor(const tidings__segment *segment);
// The descriptor for locks: the same one, or the writers file's. -EBADF also if there is a writers file and the center
// was opened read-only.
int tidings__segment_locks(const tidings__segment *segment);

// The futexes of a presence entry. Needs write access, and `tidings__back_presence`.
static inline tidings__presence_line *tidings__presence_line_at(const tidings__segment *segment, uint32_t index) {
    return (tidings__presence_line *)(void *)(segment->lives + (uint64_t)index * segment->lives_apart);
}

static inline _Atomic uint32_t *tidings__doorbell(const tidings__segment *segment, uint32_t observer) {
    return (_Atomic uint32_t *)(void *)(segment->doorbells + (uint64_t)observer * TIDINGS__LINE);
}

// The futex of posters that wait for this lossless observer, which wakes all sleepers of the word. So the word must not
// lie in a file that readers can map: each reader that sleeps on it would cost the observer time (invariant W8).
static inline _Atomic uint32_t *tidings__waiting_posters(const tidings__segment *segment, uint32_t observer) {
#ifdef MUTANT_POSTERS_WAIT_WHERE_READERS_SLEEP  // Found by: interleaving lossless_beside_readers
    (void)observer;
#else
    if (segment->writers_file_base)
        return &((tidings__writers_file_line *)(void *)segment->writers_file_base)[observer].waiting_posters;
#endif
    return (_Atomic uint32_t *)(void *)&segment->header->waiting_posters.word;
}

// Deletes a center's file. Checks first that the file is a center: of this version and undamaged, or of another version
// with the magic. -ENOENT, -EBADMSG, -EPERM …
int tidings__segment_remove(const char *name, const tidings_configuration *configuration);
// Implements `tidings_stale_files`. Returns the number of stale files.
int tidings__stale_files(const char *directory, bool delete_them,
                         bool (*each)(void *context, const tidings_stale_file *stale_file), void *context);

// Makes sure that the first `bytes` of a chunk have memory. Call before touching them; cheap if already known. A
// writable segment reserves missing memory.
// - -ENOSPC: no memory is left; the error line has the amounts.
// - -ENODATA: the segment is read-only, and the kernel has no memory for what no participant has written.
// - -EINVAL: there is no such chunk, or it is smaller (a hostile number).
int tidings__back_chunk(tidings__segment *segment, uint32_t chunk, uint64_t bytes);
// True if the first `bytes` of a chunk have memory. In a writable segment it reserves nothing; in a read-only one,
// pages that no participant has written get memory. `chunk` must be a valid number.
bool tidings__chunk_has_memory(tidings__segment *segment, uint32_t chunk, uint64_t bytes);

// Makes sure that the first `count` name entries have memory. Reserves in steps of TIDINGS__NAMES_STEP, and moves
// header->names_backed forward.
int tidings__back_names(tidings__segment *segment, uint32_t count);
// How many of the first `count` name entries have memory. Reserves nothing, except if the file system can't report
// holes.
uint32_t tidings__names_there(tidings__segment *segment, uint32_t count);
// Makes sure that the presence entries have memory. A writable segment reserves it. -ENODATA without an error line: the
// segment is read-only, and no participant has announced itself yet.
int tidings__back_presence(tidings__segment *segment);
// The same for the rows of holds.
int tidings__back_holds(tidings__segment *segment);
// Makes sure that the first `count` calls have memory, in steps of TIDINGS__CALLS_STEP. For writable segments.
int tidings__back_calls(tidings__segment *segment, uint32_t count);
// How many of the first `count` calls have memory. Reserves nothing, except if the file system can't report holes.
uint32_t tidings__calls_there(tidings__segment *segment, uint32_t count);
// For a program that closed the center's descriptor, so that the kernel can't be asked where memory is. True if the
// entry can be used, because its pages could be touched. An index that a peer made up takes no memory, unless the peer
// also changed header->names_backed.
bool tidings__name_touched(tidings__segment *segment, uint32_t index);

// The chunk's class; NULL if there is no such chunk.
const tidings__class *tidings__chunk_class(const tidings__segment *segment, uint32_t chunk);
// A chunk's address, and its size in bytes; NULL if there is no such chunk. Touch it only after `tidings__back_chunk`.
uint8_t *tidings__chunk_bytes(const tidings__segment *segment, uint32_t chunk, uint64_t *capacity);

#endif
