// The record in a cell: its header and body, and how both are read and written. All accesses are relaxed or plain,
// without order. An observer may read while the poster of a later lap writes, and detects that after the copy
// (`tidings__slot_valid_after_copy`).
#ifndef TIDINGS__RECORD_H
#define TIDINGS__RECORD_H

#include <string.h>

#include "ring/cell.h"
#include "segment/route.h"

// A private copy of a record's header. The words come from a peer and are untrusted. Check every length against the
// size of the cell or chunk before use.
typedef struct tidings__record {
    uint64_t time;
    uint32_t size, pid, uid;
    uint16_t participant;
    uint8_t subject_length, name_length;  // bytes; name_length 0: the name entry has the text
    uint32_t name, name_subject;          // name entries of the name, and of name with subject; 0: none
    uint8_t flags, format;
    uint32_t chunk;  // valid only with TIDINGS__RECORD_CHUNK in `flags`
} tidings__record;

static inline uint64_t tidings__round8(uint64_t size) { return (size + 7) & ~UINT64_C(7); }

static inline uint64_t tidings__round16(uint64_t size) { return (size + 15) & ~UINT64_C(15); }

// A record's header as words, in the order in which a cell and a chunk hold it.
typedef struct tidings__record_header {
    uint64_t time, size_pid, poster, route;
} tidings__record_header;

static inline void tidings__header_write(tidings__cell *cell, const tidings__record_header header) {
    tidings__set_relaxed(&cell->time, header.time);
    tidings__set_relaxed(&cell->size_pid, header.size_pid);
    tidings__set_relaxed(&cell->poster, header.poster);
    tidings__set_relaxed(&cell->route, header.route);
}

static inline void tidings__record_unpack(const tidings__record_header header, uint32_t chunk, tidings__record *r) {
    r->time = header.time;
    r->size = (uint32_t)header.size_pid;
    r->pid = (uint32_t)(header.size_pid >> 32);
    r->uid = (uint32_t)header.poster;
    r->participant = (uint16_t)(header.poster >> 32);
    r->subject_length = (uint8_t)(header.poster >> 48);
    r->name_length = (uint8_t)(header.poster >> 56);
    r->name = tidings__route_name(header.route);
    r->flags = tidings__route_flags(header.route);
    r->name_subject = tidings__route_name_subject(header.route);
    r->format = tidings__route_format(header.route);
    r->chunk = chunk;
}

// The record in a cell. `tidings__chunk_record` reads the copy in a chunk.
static inline void tidings__record_read(const tidings__cell *cell, tidings__record *r) {
    const tidings__record_header header = {tidings__relaxed(&cell->time), tidings__relaxed(&cell->size_pid),
                                           tidings__relaxed(&cell->poster), tidings__route(cell)};
    tidings__record_unpack(header, (uint32_t)tidings__relaxed(&cell->body[0]), r);
}

// Copies to and from a cell's body. An observer's copy may mix two laps. `tidings__slot_valid_after_copy` detects that,
// and the observer discards the copy. So the bytes need no order among themselves, and plain wide accesses are allowed.
// ThreadSanitizer would report these accesses as races, so its build uses relaxed atomics.
#ifdef TIDINGS__TSAN
static inline void tidings__body_write(_Atomic uint64_t *body, const void *bytes, size_t size) {
    for (size_t done = 0; done < size; done += 8) {
        uint64_t word = 0;
        memcpy(&word, (const uint8_t *)bytes + done, size - done < 8 ? size - done : 8);
        tidings__set_relaxed(&body[done / 8], word);
    }
}
static inline void tidings__text_write(_Atomic uint64_t *body, const uint64_t *text, size_t words) {
    for (size_t i = 0; i < words; i++) tidings__set_relaxed(&body[i], text[i]);
}
static inline void tidings__body_read(const _Atomic uint64_t *body, void *bytes, size_t size) {
    for (size_t done = 0; done < size; done += 8) {
        uint64_t word = tidings__relaxed(&body[done / 8]);
        memcpy((uint8_t *)bytes + done, &word, 8);
    }
}
#else
typedef struct tidings__16 {
    uint64_t half[2];
} __attribute__((packed, may_alias)) tidings__16;

// Sizes are small and vary. The last 64 (or 32, 16, 8, 4) bytes may be moved twice, in place of a loop over single
// bytes. Such a loop would make narrow stores, and a wide load of the same bytes would follow, which is slow. A call to
// memcpy costs as much as all of this.
static inline void tidings__move(uint8_t *to, const uint8_t *from, size_t size) {
    for (size_t i = 0; i < size; i += 16) *(tidings__16 *)(to + i) = *(const tidings__16 *)(from + i);
}
static inline void tidings__copy(uint8_t *to, const uint8_t *from, size_t size) {
    if (size >= 64) {
        const size_t last = size - 64;
        for (size_t done = 0; done < last; done += 64) tidings__move(to + done, from + done, 64);
        tidings__move(to + last, from + last, 64);
    } else if (size >= 32) {
        tidings__move(to, from, 32);
        tidings__move(to + size - 32, from + size - 32, 32);
    } else if (size >= 16) {
        tidings__move(to, from, 16);
        tidings__move(to + size - 16, from + size - 16, 16);
    } else if (size >= 8) {
        memcpy(to, from, 8);
        memcpy(to + size - 8, from + size - 8, 8);
    } else if (size >= 4) {
        memcpy(to, from, 4);
        memcpy(to + size - 4, from + size - 4, 4);
    } else {
        for (size_t i = 0; i < size; i++) to[i] = from[i];
    }
}
static inline void tidings__body_write(_Atomic uint64_t *body, const void *bytes, size_t size) {
    tidings__copy((uint8_t *)body, bytes, size);
}
static inline void tidings__body_read(const _Atomic uint64_t *body, void *bytes, size_t size) {
    tidings__copy(bytes, (const uint8_t *)body, size);
}
// Moves units of 16 bytes. So if `words` is odd, `text` and `body` must have room for one more word.
static inline void tidings__text_write(_Atomic uint64_t *body, const uint64_t *text, size_t words) {
#pragma GCC unroll 1
    for (size_t i = 0; i < words; i += 2) *(tidings__16 *)(void *)&body[i] = *(const tidings__16 *)&text[i];
}
#endif

// Bytes at the start of a chunk for a copy of the record's header, which takes 32 of them: a retained record outlives
// its cell. The next 32 are undefined. Payload, name, subject and sections follow.
#define TIDINGS__CHUNK_HEADER 64u

// Copies from a chunk. The chunk's next owner may already write to it; `tidings__chunk_holds` detects that after the
// copy, and the caller discards the copy. The writer may be user code (an encoder) with plain stores. ThreadSanitizer
// would report them as a race, so this copy is hidden from it.
#ifdef TIDINGS__TSAN
__attribute__((no_sanitize("thread"), noinline, unused)) static void tidings__bytes_read(void *to, const uint8_t *from,
                                                                                         size_t size) {
    for (size_t i = 0; i < size; i++) ((volatile uint8_t *)to)[i] = ((const volatile uint8_t *)from)[i];
}
#else
static inline void tidings__bytes_read(void *to, const uint8_t *from, size_t size) { memcpy(to, from, size); }
#endif

#endif
