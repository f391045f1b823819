// The layout of shared memory: every byte that processes share, and nothing else. Read ../../README.md and ../../design
// first: they define the terms, and say what happens if a writer dies.
//
// The layout depends on the architecture (byte order, 8- and 16-byte atomics). That is allowed, as a center is
// transient and never leaves the machine. Processes of several minor versions share a center: design/9-format.md says
// what may change here within a major version. Reserved words and bits are zero in memory of zeros, are written as zero
// (TIDINGS__RESERVED), and their readers ignore them.
//
// No struct here is protected by a lock in shared memory: a stopped or killed holder would block its peers. Before each
// struct, a comment states its writers, why it needs no lock, and what a stale read costs. Every word is untrusted: a
// peer may store any value, so readers bound each index and each loop.
#ifndef TIDINGS__LAYOUT_H
#define TIDINGS__LAYOUT_H

#include <stdint.h>

#define TIDINGS__FORMAT_MAJOR 1u
#ifdef TIDINGS__TEST_MINOR  // a later minor version that uses all that is reserved, for Tests/compatibility alone
#define TIDINGS__FORMAT_MINOR (1u + TIDINGS__TEST_MINOR)
#define TIDINGS__RESERVED UINT64_C(0xa55aa55aa55aa55a)
#define TIDINGS__OPTIONAL (UINT64_C(1) << 63)
#define TIDINGS__MORE TIDINGS__PAGE  // bytes of a part that no version 1.0 knows
#else
#define TIDINGS__FORMAT_MINOR 1u  // 0: without `progress` of observers
#define TIDINGS__RESERVED UINT64_C(0)
#define TIDINGS__OPTIONAL UINT64_C(0)  // the optional feature bits of a center that this build creates
#define TIDINGS__MORE UINT64_C(0)      // bytes of the parts after those of version 1.0
#endif
#define TIDINGS__REQUIRED UINT64_C(0)  // the required feature bits that this build knows
#define TIDINGS__FORMAT_VERSION (TIDINGS__FORMAT_MAJOR << 16 | TIDINGS__FORMAT_MINOR)
#define TIDINGS__MAGIC UINT64_C(0x0073676e69646954)  // "Tidings" in little endian byte order
// Bytes of a cache line on x86-64 and most ARM. Words are two lines apart where prefetching the neighbour line would
// hurt.
#define TIDINGS__LINE 64u
#define TIDINGS__PAGE 4096u
// Chunk sizes: 1 KiB, 8 KiB, 64 KiB, 512 KiB, 4 MiB and the maximum payload (geometry.c).
#define TIDINGS__CLASSES 6u
#define TIDINGS__OBSERVERS_MAX 1024u
#define TIDINGS__PARTICIPANTS_MAX 4096u  // 12 bits of a chunk word
#define TIDINGS__MAP_WORDS (TIDINGS__OBSERVERS_MAX / 64u)
#define TIDINGS__GROUP_WAITS 4u    // names on whose `wake_group` an observer can sleep at a time
#define TIDINGS__NAME_FUTEXES 32u  // one cache line each; a set of them fits a 32-bit word
#define TIDINGS__KEY_MAX 512u      // bytes of name and subject, each up to 255
// Offset of the participants' lock bytes. It is beyond the length of any center, so no I/O reaches these bytes.
#define TIDINGS__LOCK_BASE (INT64_C(1) << 40)
#define TIDINGS__NAME_NONE 0u  // entry 0 is not used
#define TIDINGS__NAME_ALL 1u   // entry 1: observers of all names; its `next` is the head of the chain of prefixes
#define TIDINGS__NAME_FIRST 2u
#define TIDINGS__CHUNK_NONE UINT32_MAX
// In a name's `retained`, in place of a chunk: there is no retained value, but the ring may hold a newer retained
// record. The upper bits are the position at which the value was cleared (0: the name never had one).
#define TIDINGS__RETAINED_EXPECTED UINT64_C(0xffff)

// MARK: The ring

#define TIDINGS__CELL_SIZE 256u
#define TIDINGS__BODY_WORDS 25u
#define TIDINGS__BODY_SIZE (TIDINGS__BODY_WORDS * 8u)  // bytes of payload + name + subject that fit a cell

// One slot of the ring. Words 0 to 6 and 8 bytes of body share the first cache line. So a payload of up to 8 bytes
// under an observed name moves one line.
//
// - Writers: `claim`: posters, to claim a position or to skip the slot; the kernel, when the owner dies; a participant
//   that reclaims a dead owner. `commit`: the claim's owner alone. `verdict`: a participant that revokes a claim or
//   finds a pending verdict; the owner. All other words: the claim's owner, between claim and commit.
// - No lock: W and V change by CAS (the kernel also uses one), except that the owner alone replaces dead(p). The
//   release store of C publishes the record.
// - Stale read: with a stale W, the CAS of a claim fails, or an observer loads it again. A stale C makes a committed
//   position look claimed; a revoker loads C again after a barrier. A stale or mixed record is detected after the copy,
//   as W then has a later lap, and is discarded.
typedef struct tidings__cell {
    _Alignas(TIDINGS__CELL_SIZE) _Atomic uint64_t claim;  // W; its lower half is a futex
    _Atomic uint64_t commit;                              // C
    _Atomic uint64_t verdict;                             // V
    _Atomic uint64_t time;                                // first word of the record's header
    _Atomic uint64_t size_pid;                            // 31…0 payload bytes, 63…32 pid
    // 31…0 uid, 47…32 participant, 55…48 subject bytes, 63…56 name bytes (0: the name entry has the text)
    _Atomic uint64_t poster;
    _Atomic uint64_t route;  // 23…0 name entry, 31…24 flags, 55…32 entry of name and subject, 63…56 format
    // Payload, then name, then subject, then sections, each from a multiple of 8 bytes; or the chunk's number in
    // body[0].
    _Atomic uint64_t body[TIDINGS__BODY_WORDS];
} tidings__cell;

// Flags in `route`.
#define TIDINGS__RECORD_RETAIN 1u
#define TIDINGS__RECORD_CHUNK 2u  // the body is in chunk number body[0]
#define TIDINGS__RECORD_CLEAR 4u  // with RETAIN: clears the retained value
#define TIDINGS__RECORD_IMMEDIATE 8u
#define TIDINGS__RECORD_NOTICE 16u    // a notice of presence; its poster words name the participant that it is about
#define TIDINGS__RECORD_WILL 32u      // a last will; its poster words name the dead participant
#define TIDINGS__RECORD_SECTIONS 64u  // sections lie behind payload, name and subject (ring/section.h)
#define TIDINGS__RECORD_RESERVED 128u

// W
#define TIDINGS__W_LAP_SHIFT 33
#define TIDINGS__W_PHASE (UINT64_C(1) << 32)
#define TIDINGS__W_SKIPPED (UINT64_C(1) << 31)  // FUTEX_WAITERS: the only bit that the kernel keeps at a death
#define TIDINGS__W_DIED (UINT64_C(1) << 30)     // FUTEX_OWNER_DIED: set by the kernel
// No TID has this bit (TIDs end at 2^22), so no kernel takes such a claim for a claim of its own thread.
#define TIDINGS__W_FOREIGN (UINT64_C(1) << 29)
#define TIDINGS__W_OWNER_MASK (TIDINGS__W_FOREIGN - 1)
// C
//
// A position that never comes, with phase 0. Slot 0 is created with it. The other slots are created with 0, as position
// 0 never lies in them.
#define TIDINGS__C_NEVER (~UINT64_C(1))
// V
#define TIDINGS__V_KNOWN UINT64_C(0)  // dead, and its poster has noticed; or abandoned
#define TIDINGS__V_PENDING UINT64_C(1)
#define TIDINGS__V_DEAD UINT64_C(2)
#define TIDINGS__V_ACCEPTED UINT64_C(3)
#define TIDINGS__V_NEVER (~UINT64_C(3))
// EV
#define TIDINGS__EV_START_SHIFT 12  // 52 bits of position: seven years at 20 million posts a second
#define TIDINGS__EV_EVICTING UINT64_C(0x800)
#define TIDINGS__EV_LOW_MASK UINT64_C(0x7ff)  // while evicting: the range's length; otherwise a tag
// Most positions evicted at a time: long enough to spread the cost of a tally over many posts, short enough to lose
// little history.
#define TIDINGS__EV_LENGTH_MAX 64u

// MARK: Participants, observers, names

// Describes one opened center of one process. The proof of life is not here: it is the file lock on this entry's byte.
//
// - Writers: the process that holds the file lock of this entry's byte. One exception: a participant that finds the
//   lock gone declares the participant dead, by a CAS of `instance` from odd to even.
// - No lock in memory: the file lock admits one writer, and the kernel releases it when that process dies.
// - Stale read: a dead participant counts as alive until the next check of its lock. The other words only serve
//   messages and lists.
typedef struct tidings__participant {
    _Alignas(128) _Atomic uint64_t instance;  // odd: random, in use; even: declared dead; 0: free or reclaimed
    _Atomic uint32_t pid;
    _Atomic uint32_t uid;
    _Atomic uint64_t pid_namespace;
    _Atomic uint64_t joined_at;
    _Atomic uint64_t executable[10];  // text, 79 bytes and NULs
    _Atomic uint64_t reserved[2];
} tidings__participant;

#define TIDINGS__LANES 8u

// The futexes of an announced participant, alone on a line. In a center with a writers file they are there, where no
// reader can map them (invariant P7).
//
// - Writers: `life`: its participant; the kernel, when the participant's guard dies. `poke`: participants
//   that announce themselves. `replies`: its participant; by CAS participants that end one of its calls.
// - No lock: the kernel replaces only a value that carries the thread's own TID. `poke` changes by atomic addition
//   only, `replies` by atomic read-modify-write.
// - Stale read: the kernel compares each word when the guard goes to sleep.
typedef struct tidings__presence_line {
    // life[0] and life[2] are used: FUTEX_WAITERS and the guard's TID; 0: left. Two words, as the kernel
    // wakes one sleeper of each. 8 bytes apart, as the nodes of a robust list are.
    _Alignas(TIDINGS__LINE) _Atomic uint32_t life[4];
    _Atomic uint32_t poke;
    // One for each lane of its callers: bit 0 says that callers sleep, above it the epoch (design/7-requests.md).
    _Atomic uint32_t replies[TIDINGS__LANES];
    _Atomic uint32_t reserved[3];
} tidings__presence_line;

#define TIDINGS__LIFE_DIED (UINT32_C(1) << 30)  // FUTEX_OWNER_DIED

// An announced participant, in the entry of the participant's own index. design/6-presence.md.
//
// - Writers: `report`: by CAS its participant, and each participant that reports its death. All other words: its
//   participant, while `report` says FREE, LEFT or PREPARING.
// - No lock: each change of `report` is one CAS. By a counter, a value comes again only after 256 changes, so a late
// CAS fails.
// - Stale read: the CAS fails. The description is read after `report` and counts only if the CAS that follows succeeds,
//   or serves lists.
typedef struct tidings__presence {
    tidings__presence_line line;  // unused in a center with a writers file
    // 63…24 a position modulo 2^40, 23…16 counter, 15…4 participant that reports, 3…0 state. Its lower half is a futex.
    _Atomic uint64_t report;
    _Atomic uint64_t announcement;  // the instance of its participant entry
    _Atomic uint64_t will;          // chunk + 1 of its last will; 0: none
    _Atomic uint64_t process;       // 31…0 pid, 63…32 uid
    _Atomic uint64_t role_size;     // 15…0 bytes of `role`; the other bits are reserved
    _Atomic uint64_t role[8];
    _Atomic uint64_t program[10];  // its executable: text, 79 bytes and NULs used
    _Atomic uint64_t id;           // random, below 2^52: another one for each announcement
} tidings__presence;

// The states of an announcement. The position in `report`: for JOINING, LEAVING, DYING and WILL, no record of this
// state's kind about this participant lies before it; for PREPARING, PRESENT and WATCHING, bits of the announcement.
#define TIDINGS__PRESENCE_FREE 0u
#define TIDINGS__PRESENCE_PREPARING 1u
#define TIDINGS__PRESENCE_JOINING 2u  // the notice "joined" is being posted
#define TIDINGS__PRESENCE_PRESENT 3u
#define TIDINGS__PRESENCE_LEAVING 4u   // "closed" is being posted
#define TIDINGS__PRESENCE_DYING 5u     // "died" is being posted
#define TIDINGS__PRESENCE_WILL 6u      // the will is being posted
#define TIDINGS__PRESENCE_LEFT 7u      // nothing is left to post; its participant's index may announce itself anew
#define TIDINGS__PRESENCE_WATCHING 8u  // it watches, and no notice is about it

// One observer.
//
// - Writers: `doorbell`: its observer's process; a participant or a remover that wakes the observer. `owner`: by CAS
//   the participant that takes the entry; to free the entry, that participant or one that reclaims it. `instance`:
//   likewise. `cursor`, `history`, `group_waits`, `serves` and `progress`: the owning participant.
// - No lock: `owner` is taken by CAS, so all other words but the doorbell have one writer. The doorbell changes by
//   atomic read-modify-write only, and its epoch makes a late CAS fail.
// - Stale read: at registration, EV changes after `cursor` and `history` are set, so an eviction decided on older
//   values fails. Later, stale values make eviction keep more than it must, or a poster wait for up to 1 ms more. A
//   stale doorbell can't lose a wake-up: sleeper and poster each have a full barrier before their check. A stale
//   `group_waits` belongs to an earlier epoch of the doorbell. `progress` is only shown.
typedef struct tidings__observer_entry {
    // Bit 0 asleep, above it the epoch; a futex. In a center with a writers file, this word is unused: its counterpart
    // is in the writers file.
    _Alignas(TIDINGS__LINE) _Atomic uint32_t doorbell;
    _Atomic uint32_t owner;     // participant + 1; 0: free
    _Atomic uint64_t cursor;    // lossless observers only: the first position that it still needs
    _Atomic uint64_t instance;  // the owner's instance; tells a stale `owner` from a live one
    _Atomic uint64_t history;   // lossless observers only: before this position it needs the records of every name
    // While asleep: the name entries on whose `wake_group` it also sleeps. Written before the sleep is announced.
    _Atomic uint32_t group_waits[TIDINGS__GROUP_WAITS];
    _Atomic uint64_t serves;  // 1: it belongs to a server, which answers the requests of its name
    // Of each observer since 1.1. 63 published, 62…32 the missed notifications that it has reported, modulo 2^31, 31…0
    // the next position that it needs, modulo 2^32. 0: not known.
    _Atomic uint64_t progress;
} tidings__observer_entry;

#define TIDINGS__PROGRESS(position, missed)                                                                            \
    (UINT64_C(1) << 63 | ((uint64_t)(missed)&0x7fffffff) << 32 | (uint32_t)(position))

// One line of the writers file, for the observer of the same number. Only participants can map the writers file, so
// only participants can sleep on these words.
//
// - Writers: `doorbell`: as in the observer entry. `waiting_posters`: a poster that waits for this lossless observer
//   sets bit 0; the observer counts the epoch up.
// - No lock: both words change by atomic read-modify-write only.
// - Stale read: a poster sleeps up to 1 ms longer, or the observer makes a needless system call.
typedef struct tidings__writers_file_line {
    _Alignas(TIDINGS__LINE) _Atomic uint32_t doorbell;
    _Atomic uint32_t waiting_posters;  // bit 0: posters wait; above it the epoch; a futex
} tidings__writers_file_line;

// How many records of a name lie before position `end`.
//
// - Writers: each evicting thread; a participant that gives the name entry to a new name.
// - No lock: both words change together, by one 16-byte CAS. `end` never goes back, so reading end, count, end again
//   gives a consistent pair.
// - Stale read: the CAS fails and is tried again. An observer that reads an older pair gets the count up to an older
//   position.
typedef struct tidings__tally {
    _Alignas(16) _Atomic uint64_t count;
    _Atomic uint64_t end;
} tidings__tally;

// One observed or retained name, or one prefix. `buckets` (not in a struct) holds the heads of the chains, in the
// format of `next`.
//
// - Writers: `tally`: see above. `next`, `state` and the buckets: participants that add or remove a name, by CAS; in
//   the state PREPARING, `next` is the preparing participant's. `hash`, `lengths`, `key`: the preparing participant.
//   `retained`: by CAS, evicting threads, and a participant that is about to post a retained record. `birth`: the
//   preparing participant, and by CAS the one that removes the name. `members` and `wake_group`: observers that join or
//   leave, and participants that reclaim; posters count `wake_group` up.
// - No lock: `state` gives the entry to one preparing participant. Links change by CAS, and their tags make a late CAS
//   fail. Bits change by atomic read-modify-write.
// - Stale read: a poster's lookup may be stale, but the poster checks G after its claim, and G moves after each change.
//   A stale member bit causes a needless wake-up. A reused entry is detected by its `state`, which has a generation.
typedef struct tidings__name {
    _Alignas(TIDINGS__LINE) tidings__tally tally;
    _Atomic uint64_t next;      // 31…0 next entry, 32 marked (being unlinked), 63…33 tag
    _Atomic uint64_t state;     // 3…0 state, 19…4 participant that prepares or removes it, 63…20 generation
    _Atomic uint64_t hash;      // of the key; written before the entry is linked
    _Atomic uint64_t retained;  // 63…16 position, 15…0 chunk + 1; 0: no value
    _Atomic uint64_t birth;     // no record before this position carries this entry's number
    _Atomic uint32_t lengths;   // 14…0 name bytes, 15 it is a prefix, 31…16 subject bytes + 1 (0: no subject)
    // A futex. 15…0: which words of `members` may be other than 0. Above: a count of the times that all its sleepers
    // were woken.
    _Atomic uint32_t wake_group;
    _Atomic uint64_t members[TIDINGS__MAP_WORDS];  // one bit per observer entry
    _Atomic uint64_t key[TIDINGS__KEY_MAX / 8];    // name, then subject
} tidings__name;

#define TIDINGS__NAME_FREE 0u
#define TIDINGS__NAME_PREPARING 1u
#define TIDINGS__NAME_LINKED 2u
#define TIDINGS__NAME_LEAVING 3u  // a participant checks whether the name is unused; a new member sets LINKED again
#define TIDINGS__NAME_GONE 4u     // decided: being unlinked; `birth` then becomes the end of its quarantine
#define TIDINGS__NEXT_MARK (UINT64_C(1) << 32)
#define TIDINGS__LENGTHS_PREFIX UINT32_C(0x8000)
#define TIDINGS__WAKE_GROUP_RUNG UINT32_C(0x10000)

// MARK: Chunks

// A chunk word: 63…16 position, 15…4 participant, 3…0 state. In the states IN_RING, RETAINED and DROPPED the
// participant is 0, but for the held bit.
//
// - Writers: the participant that owns the chunk; by CAS, a participant that takes a free chunk, an evicting thread
//   that makes it retained. Also by CAS, a participant that frees a chunk or reclaims a dead owner's chunk, and one
//   that sets the held bit.
// - No lock: a free chunk is taken by CAS, so a chunk has one owner. "In ring" with an evicted position means free, so
//   eviction frees a chunk without a store.
// - Stale read: the CAS fails. A thread that copies from a chunk reads the word again after the copy.
#define TIDINGS__CHUNK_FREE 0u
#define TIDINGS__CHUNK_OWNED 1u  // position TIDINGS__CHUNK_NOWHERE: its record has no position yet
#define TIDINGS__CHUNK_IN_RING 2u
#define TIDINGS__CHUNK_RETAINED 3u
// A last will; the position is bits of the announcement, with bit 47 set, so no record has it. A reporter frees it.
#define TIDINGS__CHUNK_WILL 4u
// A reply; the position is bits of the call, with bit 47 set. The process that frees the call frees it.
#define TIDINGS__CHUNK_REPLY 5u
// A value that was replaced or cleared while the held bit was set: free if no participant holds it.
#define TIDINGS__CHUNK_DROPPED 6u
// The held bit, only in IN_RING, RETAINED and DROPPED: participants may hold the chunk (design/8-holds.md).
#define TIDINGS__CHUNK_HELD UINT64_C(0x8000)
#define TIDINGS__CHUNK_NOWHERE UINT64_C(0xffffffffffff)

#define TIDINGS__HOLDS 31u  // chunks that a participant can hold: a poster that checks one chunk reads all rows

// The holds of one participant, in the row of its own index: the chunks whose payloads it reads in place.
// design/8-holds.md.
//
// - Writers: its participant; a participant that reclaims it.
// - No lock: an entry is taken and cleared by CAS. `held_end` grows by CAS, until the row is reclaimed.
// - Stale read: excluded for a poster that takes a chunk, by full barriers on both sides (invariants H1 and H3).
//   Elsewhere it makes a chunk look held, or a list of holders stale.
typedef struct tidings__holds {
    // Entries from this one on are unused. Most participants hold one or two chunks, and a poster reads one line of
    // each.
    _Alignas(TIDINGS__LINE) _Atomic uint64_t held_end;
    _Atomic uint64_t held[TIDINGS__HOLDS];        // 63…16 position, 15…0 chunk + 1; 0: none
    _Atomic uint64_t held_since[TIDINGS__HOLDS];  // CLOCK_REALTIME, nanoseconds
    _Atomic uint64_t reserved;
} tidings__holds;

// MARK: Calls

#define TIDINGS__CALLS_MAX 16384u  // 14 bits of a ticket
#define TIDINGS__CALLS_STEP 64u    // calls that get memory at a time: one page of entries, six of bodies
#define TIDINGS__CALL_WORDS 24u
#define TIDINGS__CALL_INLINE (TIDINGS__CALL_WORDS * 8u)  // bytes of a request, or of a reply, that need no chunk

// One call: a request, and what became of it. design/7-requests.md.
//
// - Writers: `state`: by CAS its caller, servers, and participants that settle the calls of a dead participant. `name`,
//   `process`, `request_text`, `request_chunk` and `made_at`: its caller, in IDLE. `reply_text` and `reply_chunk`: the
//   server that has CLAIMED it. The body has the same writers as these words.
// - No lock: each change of `state` is one CAS of a value that carries the call's generation.
// - Stale read: the CAS fails. Request and reply count only if `state` is unchanged after they were copied.
typedef struct tidings__call {
    // 2…0 state, 3 turn, 4 idempotent, 5 again, 17…6 caller, 29…18 server, 30 part, 63…31 generation
    _Alignas(TIDINGS__LINE) _Atomic uint64_t state;
    _Atomic uint64_t name;           // 23…0 name entry, 63…24 the entry's generation
    _Atomic uint64_t process;        // of the caller: 31…0 pid, 63…32 uid
    _Atomic uint64_t request_text;   // 31…0 bytes, 39…32 format, 42…40 lane of the caller; 63…43 reserved
    _Atomic uint64_t request_chunk;  // chunk + 1; 0: the request is in the body
    _Atomic uint64_t reply_text;     // 31…0 bytes, 39…32 format, 55…40 code; 63…56 reserved
    _Atomic uint64_t reply_chunk;    // chunk + 1; 0: the reply is in the body
    _Atomic uint64_t made_at;        // where the frontier was: earlier calls are served first
} tidings__call;

typedef struct tidings__call_body {
    _Alignas(TIDINGS__LINE) _Atomic uint64_t request[TIDINGS__CALL_WORDS];
    _Atomic uint64_t reply[TIDINGS__CALL_WORDS];
} tidings__call_body;

#define TIDINGS__CALL_FREE 0u
#define TIDINGS__CALL_IDLE 1u       // a caller has taken it, and has no call in it
#define TIDINGS__CALL_POSTED 2u     // no server has it yet
#define TIDINGS__CALL_CLAIMED 3u    // its server works on it
#define TIDINGS__CALL_REPLIED 4u    // the reply is complete
#define TIDINGS__CALL_ENDED 5u      // its server has ended without a reply
#define TIDINGS__CALL_UNSERVED 6u   // the last server of its name ended before one had claimed it
#define TIDINGS__CALL_CANCELLED 7u  // its caller no longer waits; its server frees it
// Changes each time that the call is posted again.
#define TIDINGS__CALL_TURN UINT64_C(0x8)
#define TIDINGS__CALL_IDEMPOTENT UINT64_C(0x10)
// A server has ended with it, and it is posted again; or a part of its reply was sent.
#define TIDINGS__CALL_AGAIN UINT64_C(0x20)
// Only in CLAIMED: the server has sent a part of the reply, and the caller has not let it go on yet.
#define TIDINGS__CALL_PART (UINT64_C(1) << 30)

// MARK: The header

// The numbers from which all offsets of a center follow (geometry.h).
//
// - Writer: the creator, before the center has its name; never changed after that, so no lock and no stale read. A peer
//   may damage it: each process checks it against bounds when it opens the center, and keeps a copy.
typedef struct tidings__shape {
    uint64_t maximum_payload;
    uint32_t slots, participants, observers, names, buckets, names_first;
} tidings__shape;

// A part of the file that a minor version after 1.0 has added, behind those whose offsets follow from the shape.
// Writer: the creator, as with the shape. A process that knows the part checks its place before it maps it.
typedef struct tidings__part {
    uint64_t kind;  // 0: none
    uint64_t offset, size;
} tidings__part;

#define TIDINGS__PARTS 16u

// One word alone on a pair of cache lines, so that its writers do not slow down users of its neighbours. Writers: see
// each use in the header.
typedef struct tidings__padded {
    _Alignas(2 * TIDINGS__LINE) _Atomic uint64_t word;
} tidings__padded;

// Counts the posts under the names that hash to it. Readers sleep on it: they have no write access, so they can't
// announce that they sleep.
//
// - Writers: posters, before each commit in an observable center; a remover. Both count up and wake.
// - No lock: the word changes by atomic addition only.
// - Stale read: the kernel compares the value when a reader goes to sleep, so a reader with a stale value does not
//   sleep.
typedef struct tidings__name_futex {
    _Alignas(TIDINGS__LINE) _Atomic uint32_t word;
} tidings__name_futex;

// The start of the file. Page 0 is constant; page 1 holds the words that all participants share.
//
// - Writers: page 0: the creator, before the center has its name. Page 1: see each word.
// - No lock: the words are independent of each other. Each changes by atomic read-modify-write, or is a hint, or is set
//   by a plain atomic store of a constant (`removed`).
// - Stale read: see each word.
typedef struct tidings__header {
    // Page 0
    uint64_t magic;
    uint32_t version;         // of the creator: 31…16 major, 15…0 minor
    uint32_t layout_stamp;    // folds in the sizes of the structs above
    uint64_t file_size;       // with the parts of later minor versions
    uint64_t instance;        // random: tells a center from its successor of the same name
    uint64_t home_namespace;  // pid namespace of the TIDs in claims; 0: unknown, so all claims are foreign
    uint64_t born_at;
    uint64_t writers_file;  // inode of the writers file; 0: none, so locks and doorbells are in this file
    tidings__shape shape;
    uint64_t birthplace;  // inode of the file it was created in; any other inode: a copy; 0: unknown
    // Feature bits. A process that does not know one of `required` refuses the center. It ignores unknown bits of
    // `optional`.
    uint64_t required, optional;
    tidings__part parts[TIDINGS__PARTS];
    // The rest of page 0 is reserved.
    // Page 1: one word for each pair of lines.
    //
    // EV. By CAS: evicting threads; participants that change its tag alone, so that a decided eviction can't begin.
    // Stale: the CAS fails, or an evicted position is found to be lapped.
    _Alignas(TIDINGS__PAGE) tidings__padded eviction;
    tidings__padded frontier_hint;  // posters, relaxed. Stale or wrong: a longer walk
    // G. Participants, by atomic addition after each change of names or members. Stale: excluded by the full barrier
    // that follows a claim.
    tidings__padded generation;
    tidings__padded names_used;  // participants that add names, by CAS; grows only. Entries below may have been used
    // Participants, by CAS; grows only. Entries below have memory. A hint, as each process asks the file itself.
    tidings__padded names_backed;
    tidings__padded revoked;  // revokers, by atomic addition. For statistics
    // 1: the center is removed, or its file has lost its name; posts return -ESTALE. Removers; participants that saw
    // link count 0. Stale: a post goes to a center that has ended.
    tidings__padded removed;
    // A futex in the lower half: bit 0 says that posters wait for a lossless observer, above it the epoch. A hint, as
    // posters wait in steps of a millisecond. Unused in a center with a writers file. Writers: posters and observers.
    tidings__padded waiting_posters;
    // One bit per observer that sleeps. Set and cleared by its observer; also cleared by a participant that reclaims
    // the observer. Stale: a set bit costs a load of the doorbell; a missed bit is excluded by full barriers (see
    // design/3-wake-ups.md).
    _Alignas(2 * TIDINGS__LINE) _Atomic uint64_t asleep[TIDINGS__MAP_WORDS];
    // One bit per lossless observer. Written as `asleep`. Stale: a set bit delays eviction; a missed bit is excluded,
    // as EV changes after the bit is set, so an eviction decided without the bit fails.
    _Alignas(2 * TIDINGS__LINE) _Atomic uint64_t lossless[TIDINGS__MAP_WORDS];
    tidings__name_futex name_futexes[TIDINGS__NAME_FUTEXES];  // used only in a center with a writers file
    // Participants that announce themselves, by CAS; grows only. Presence entries from this index on were never used.
    tidings__padded presence_used;
    tidings__padded
        calls_used;  // participants that take calls, by CAS; grows only. Calls from this index on are unused
    tidings__padded
        holds_used;  // participants that hold a chunk, by CAS; grows only. Rows from this index on are unused
    tidings__padded reserved[3];
} tidings__header;

_Static_assert(sizeof(tidings__cell) == TIDINGS__CELL_SIZE, "a cell is four lines");
_Static_assert(sizeof(tidings__participant) == 128, "two lines");
_Static_assert(sizeof(tidings__presence_line) == TIDINGS__LINE, "one line");
_Static_assert(sizeof(tidings__presence) == 256, "four lines");
_Static_assert(sizeof(tidings__observer_entry) == 64, "one line");
_Static_assert(sizeof(tidings__holds) == 512, "eight lines");
_Static_assert(sizeof(tidings__call) == 64, "one line");
_Static_assert(sizeof(tidings__call_body) == 384, "six lines");
_Static_assert(TIDINGS__CALLS_STEP * sizeof(tidings__call) == TIDINGS__PAGE, "a step of calls is a page");
_Static_assert(sizeof(tidings__writers_file_line) == TIDINGS__LINE, "one line");
_Static_assert(sizeof(tidings__name) == 704, "one line, two of members, eight of text");
_Static_assert(sizeof(tidings__header) == 2 * TIDINGS__PAGE, "header is two pages");
_Static_assert(TIDINGS__BODY_SIZE + 56 == TIDINGS__CELL_SIZE, "header and body fill the cell");

#endif
