// EVERY byte that processes share, and nothing else. Read ../../README.md first: it says who writes what, and what if
// they die.
//
// The layout is architecture-specific (byte order, 8- and 16-byte atomics) because it is transient: it never leaves the
// machine. Any change here is a change of TIDINGS__FORMAT_VERSION, unless the layout stamp (struct sizes) already tells
// the two apart.
#ifndef TIDINGS__LAYOUT_H
#define TIDINGS__LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>

#define TIDINGS__FORMAT_VERSION 4u
#define TIDINGS__MAGIC UINT64_C(0x0073676e69646954)  // "Tidings", as a little endian machine writes it
#define TIDINGS__LINE 64u  // x86-64 and most ARM; apart by two where a neighbour prefetch would hurt
#define TIDINGS__PAGE 4096u
#define TIDINGS__CLASSES                                                                                               \
    6u  // 1 KiB, 8 KiB, 64 KiB, 512 KiB, 4 MiB, the maximum payload: × 8, so at most 7/8 wasted, mostly far less
#define TIDINGS__OBSERVERS_MAX 1024u
#define TIDINGS__PARTICIPANTS_MAX 4096u  // 12 bits of a chunk word
#define TIDINGS__MAP_WORDS (TIDINGS__OBSERVERS_MAX / 64u)
#define TIDINGS__GROUP_WAITS 4u    // names whose crowd an observer can sleep in at a time
#define TIDINGS__NAME_FUTEXES 32u  // one line each, and a word of bits says which
#define TIDINGS__KEY_MAX 512u      // name, subject, each up to 255 bytes
#define TIDINGS__LOCK_BASE                                                                                             \
    (INT64_C(1) << 40)         // participants' lock bytes: beyond any file length we make, so no I/O ever meets them
#define TIDINGS__NAME_NONE 0u  // entry 0 is nobody's
#define TIDINGS__NAME_ALL 1u   // entry 1: those who look at all names; its `next` begins the chain of prefixes
#define TIDINGS__NAME_FIRST 2u
#define TIDINGS__CHUNK_NONE UINT32_MAX
#define TIDINGS__RETAINED_EXPECTED                                                                                     \
    UINT64_C(0xffff)  // no value: cleared at the position above it (0: never had one); the ring may hold a newer record

// MARK: The ring

#define TIDINGS__CELL_SIZE 256u
#define TIDINGS__BODY_WORDS 25u
#define TIDINGS__BODY_SIZE (TIDINGS__BODY_WORDS * 8u)  // bytes of payload + name + subject that fit a cell

// Words 0 to 6 and 8 bytes of body share the first line: a payload of up to 8 bytes under an observed name moves one
// line.
typedef struct tidings__cell {
    _Alignas(TIDINGS__CELL_SIZE) _Atomic uint64_t
        claim;                  // W: CAS by posters; its lower half also by the kernel at the owner's death
    _Atomic uint64_t commit;    // C: plain release store by the claim's owner
    _Atomic uint64_t verdict;   // V: CAS by whoever waits no longer, and by the owner
    _Atomic uint64_t time;      // header, by the claim's owner between claim and commit
    _Atomic uint64_t size_pid;  // 31…0 payload bytes, 63…32 pid
    _Atomic uint64_t
        poster;  // 31…0 uid, 47…32 participant, 55…48 subject bytes, 63…56 name bytes (0: the entry has it)
    _Atomic uint64_t route;  // 23…0 name entry, 31…24 flags, 55…32 entry of name and subject, 63…56 format
    _Atomic uint64_t body[TIDINGS__BODY_WORDS];  // payload, then name, then subject, each from a multiple of 8; or the
                                                 // chunk's number
} tidings__cell;

#define TIDINGS__RECORD_RETAIN 1u  // flags in `topic`
#define TIDINGS__RECORD_CHUNK 2u   // the body is in chunk number body[0]
#define TIDINGS__RECORD_CLEAR 4u   // retained: but as "there is none any more"
#define TIDINGS__RECORD_IMMEDIATE 8u

// W
#define TIDINGS__W_LAP_SHIFT 33
#define TIDINGS__W_PHASE (UINT64_C(1) << 32)
#define TIDINGS__W_SKIPPED (UINT64_C(1) << 31)  // FUTEX_WAITERS: the one bit the kernel keeps when it marks a death
#define TIDINGS__W_DIED (UINT64_C(1) << 30)     // FUTEX_OWNER_DIED: written by the kernel
#define TIDINGS__W_FOREIGN                                                                                             \
    (UINT64_C(1) << 29)  // no TID has it (they end at 2^22), so no kernel takes such a claim for its own thread's
#define TIDINGS__W_OWNER_MASK (TIDINGS__W_FOREIGN - 1)
// C
#define TIDINGS__C_NEVER                                                                                               \
    (~UINT64_C(                                                                                                        \
        1))  // a position that never comes, phase 0. Slot 0 is born so, others with 0: position 0 never comes to them
// V
#define TIDINGS__V_KNOWN UINT64_C(0)  // dead, and its poster has taken note
#define TIDINGS__V_PENDING UINT64_C(1)
#define TIDINGS__V_DEAD UINT64_C(2)
#define TIDINGS__V_ACCEPTED UINT64_C(3)
#define TIDINGS__V_NEVER (~UINT64_C(3))
// EV
#define TIDINGS__EV_START_SHIFT 12  // 52 bits of position: seven years at 20 million posts a second
#define TIDINGS__EV_EVICTING UINT64_C(0x800)
#define TIDINGS__EV_LOW_MASK UINT64_C(0x7ff)  // while evicting: the range's length; otherwise a tag
#define TIDINGS__EV_LENGTH_MAX                                                                                         \
    64u  // long enough to spread the cost of a tally over many posts, short enough to lose little history

// MARK: Participants, observers, names

typedef struct tidings__participant {
    _Alignas(128) _Atomic uint64_t instance;  // random, odd; even: declared dead; 0: tidied. Written under the lock of
                                              // this entry's byte, but for the declaration: a CAS of the odd value
    _Atomic uint32_t pid;
    _Atomic uint32_t uid;
    _Atomic uint64_t pid_namespace;
    _Atomic uint64_t joined_at;
    _Atomic uint64_t executable[12];  // text, 79 bytes and NULs used
} tidings__participant;

typedef struct tidings__observer_entry {
    _Alignas(TIDINGS__LINE) _Atomic uint32_t doorbell;  // bit 0 asleep, above it the epoch; a futex. Where there is a
                                                        // companion: not this one, its copy there
    _Atomic uint32_t owner;     // participant + 1, 0: free. CAS to take, owner or tidier to free
    _Atomic uint64_t cursor;    // lossless only: the first position it still needs
    _Atomic uint64_t instance;  // of the owner, so that a stale owner number says nothing
    _Atomic uint64_t history;   // lossless only: before this it needs every record, by whatever name
    _Atomic uint32_t group_waits[TIDINGS__GROUP_WAITS];  // while asleep: the name entries whose `crowd` it sleeps on as
                                                         // well; the owner's, before it announces
    uint64_t unused[2];
} tidings__observer_entry;

// One line of the companion, for the observer of the same number. Participants alone map the companion, so participants
// alone sleep on these words.
typedef struct tidings__writers_file_line {
    _Alignas(TIDINGS__LINE) _Atomic uint32_t doorbell;  // as the observer entry's
    _Atomic uint32_t waiting_posters;                   // as the header's, but of posters that wait for this observer
} tidings__writers_file_line;

// How many records of a name lie before `end`. Changed together by a 16-byte CAS; `end` never goes back, so that
// reading end, count, end again gives a pair.
typedef struct tidings__tally {
    _Alignas(16) _Atomic uint64_t count;
    _Atomic uint64_t end;
} tidings__tally;

typedef struct tidings__name {
    _Alignas(TIDINGS__LINE) tidings__tally tally;  // eviction
    _Atomic uint64_t next;                         // 31…0 next entry, 32 marked (being unlinked), 63…33 tag
    _Atomic uint64_t state;       // 3…0 state, 19…4 participant that prepares it, 63…20 generation
    _Atomic uint64_t hash;        // of the key; written before the entry is linked
    _Atomic uint64_t retained;    // 63…16 position, 15…0 chunk + 1; 0: none
    _Atomic uint64_t birth;       // no record before this position carries this entry's number
    _Atomic uint32_t lengths;     // 14…0 name bytes, 15 it is a prefix, 31…16 subject bytes + 1 (0: no subject)
    _Atomic uint32_t wake_group;  // 15…0 which words of `members` may be other than 0; above, counts up as all who
                                  // sleep on it are rung: a futex
    _Atomic uint64_t members[TIDINGS__MAP_WORDS];  // one bit per observer entry
    _Atomic uint64_t key[TIDINGS__KEY_MAX / 8];    // name, then subject
} tidings__name;

#define TIDINGS__NAME_FREE 0u
#define TIDINGS__NAME_PREPARING 1u
#define TIDINGS__NAME_LINKED 2u
#define TIDINGS__NAME_LEAVING 3u  // somebody checks whether it may go; a new member turns it back
#define TIDINGS__NAME_GONE 4u     // decided: being unlinked; `birth` is where its quarantine ends
#define TIDINGS__NEXT_MARK (UINT64_C(1) << 32)
#define TIDINGS__LENGTHS_PREFIX UINT32_C(0x8000)
#define TIDINGS__WAKE_GROUP_RUNG UINT32_C(0x10000)

// MARK: Chunks

#define TIDINGS__CHUNK_FREE 0u
#define TIDINGS__CHUNK_OWNED 1u  // position 0xffffffffffff: not claimed yet
#define TIDINGS__CHUNK_IN_RING 2u
#define TIDINGS__CHUNK_RETAINED 3u
#define TIDINGS__CHUNK_NOWHERE UINT64_C(0xffffffffffff)

// MARK: The header

// What a center is made from; its creator's, checked against bounds by everybody else. All offsets follow from it
// (geometry.h).
typedef struct tidings__shape {
    uint64_t maximum_payload;
    uint32_t slots, participants, observers, names, buckets, names_first;
} tidings__shape;

typedef struct tidings__padded {
    _Alignas(2 * TIDINGS__LINE) _Atomic uint64_t word;
} tidings__padded;

// A futex that counts the posts under the names that hash to it: what those sleep on who may not write, and so can't
// say that they sleep.
typedef struct tidings__name_futex {
    _Alignas(TIDINGS__LINE) _Atomic uint32_t word;
} tidings__name_futex;

typedef struct tidings__header {
    // Page 0: written at birth, never again.
    uint64_t magic;
    uint32_t version;
    uint32_t layout_stamp;  // folds in the sizes of the structs above
    uint64_t file_size;
    uint64_t instance;        // random: tells one center from its successor of the same name
    uint64_t home_namespace;  // pid namespace whose TIDs stand in claims; 0: unknown, everybody is foreign
    uint64_t born_at;
    uint64_t writers_file;  // inode of the file of those who may write, 0: there is none, locks and doorbells are in
                            // this one
    tidings__shape shape;
    uint64_t birthplace;  // the inode it was born in; another one's is a copy, 0: unknown
    // Page 1: one word, one line pair.
    _Alignas(TIDINGS__PAGE) tidings__padded eviction;  // EV
    tidings__padded frontier_hint;                     // relaxed; wrong means a longer walk
    tidings__padded generation;                        // G
    tidings__padded names_used;                        // entries below this may have been used; grows only
    tidings__padded names_backed;                      // entries below this have memory; grows only
    tidings__padded revoked;                           // statistics
    tidings__padded removed;                           // 1: the file has lost its name, post says -ESTALE
    // Futex in its lower half: bit 0 says that posters wait for a lossless observer, above it the epoch. A hint:
    // posters wait in steps of a millisecond. Not used where there is a companion.
    tidings__padded waiting_posters;
    _Alignas(2 * TIDINGS__LINE) _Atomic uint64_t asleep[TIDINGS__MAP_WORDS];
    _Alignas(2 * TIDINGS__LINE) _Atomic uint64_t lossless[TIDINGS__MAP_WORDS];
    tidings__name_futex name_futexes[TIDINGS__NAME_FUTEXES];  // only where there is a companion
} tidings__header;

_Static_assert(sizeof(tidings__cell) == TIDINGS__CELL_SIZE, "a cell is four lines");
_Static_assert(sizeof(tidings__participant) == 128, "two lines");
_Static_assert(sizeof(tidings__observer_entry) == 64, "one line");
_Static_assert(sizeof(tidings__writers_file_line) == TIDINGS__LINE, "one line");
_Static_assert(sizeof(tidings__name) == 704, "one line, two of members, eight of text");
_Static_assert(sizeof(tidings__header) <= 2 * TIDINGS__PAGE, "header is two pages");
_Static_assert(TIDINGS__BODY_SIZE + 56 == TIDINGS__CELL_SIZE, "header and body fill the cell");

#endif
