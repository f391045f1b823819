// Gives a center's file memory on demand. The file is sparse, and touching a page without memory in a full file system
// raises SIGBUS. So before a process touches a region that was not reserved at creation, it calls these functions, once
// per region. The result is cached, as a center's memory never shrinks while its file has a name.
#include <errno.h>
#include <string.h>

#include "platform/atomics.h"
#include "platform/error.h"
#include "platform/file.h"
#include "segment/internal.h"

const tidings__class *tidings__chunk_class(const tidings__segment *segment, uint32_t chunk) {
    const tidings__geometry *geometry = &segment->geometry;
#ifndef MUTANT_CHUNK_NUMBER_UNCHECKED  // Found by: fuzz image
    if (chunk >= geometry->chunk_count) return NULL;
#endif
    const tidings__class *found = &geometry->classes[0];
    for (uint32_t i = 1; i < geometry->class_count && geometry->classes[i].first <= chunk; i++)
        found = &geometry->classes[i];
    return found;
}

uint8_t *tidings__chunk_bytes(const tidings__segment *segment, uint32_t chunk, uint64_t *capacity) {
    const tidings__class *class = tidings__chunk_class(segment, chunk);
    if (!class) return NULL;
    if (capacity) *capacity = class->size;
    return segment->base + class->offset + (uint64_t)(chunk - class->first) * class->size;
}

static uint64_t pages_of(uint64_t bytes) { return (bytes + TIDINGS__PAGE - 1) / TIDINGS__PAGE; }

// Only raises the word: another thread may have stored a higher value. Relaxed: the value says something about the
// file, and orders no other words.
static void raise_to(_Atomic uint32_t *word, uint32_t value) {
    uint32_t known = tidings__relaxed(word);
    while (known < value && !tidings__cas(word, &known, value)) {}
}

// Gives [start, end) memory without changing its contents. Rounds to whole pages.
static int reserve(tidings__segment *segment, uint64_t start, uint64_t end) {
    start = start / TIDINGS__PAGE * TIDINGS__PAGE;
    end = pages_of(end) * TIDINGS__PAGE;
    const int fd = tidings__segment_descriptor(segment);
    if (fd < 0) return fd;
    const int result = tidings__file_reserve(fd, start, end - start);
    // Some network file systems can't reserve. There the kernel touches the pages, which takes the memory as well, and
    // returns an error in place of SIGBUS.
    return result == -EOPNOTSUPP ? tidings__map_touch(segment->base + start, end - start, false) : result;
}

// The same for a table that other processes ask for holes: a page that was reserved but never touched counts as one.
static int reserve_seen(tidings__segment *segment, uint64_t start, uint64_t end) {
    int result = reserve(segment, start, end);
    if (result == 0) result = tidings__map_touch(segment->base + start, end - start, true);
    const int fd = tidings__segment_descriptor(segment);
    if (result == 0 && fd >= 0 && !tidings__file_backed(fd, start, end - start))
        tidings__map_touch_each(segment->base + start, end - start);
    return result;
}

static int reserve_failed(const tidings__segment *segment, int error, const char *what, uint64_t bytes) {
    char needed[TIDINGS__AMOUNT_SIZE], there[TIDINGS__AMOUNT_SIZE];
    const char *slash = strrchr(segment->path, '/');
    const int length = slash ? (int)(slash - segment->path) : 0;
    uint64_t available = 0;
    if (error == ENOSPC && tidings__file_space(segment->fd, segment->path, &available)) {
        return tidings__fail(ENOSPC, "can't %s center \"%s\": %.*s is full (needs %s, %s free); make room there", what,
                             segment->name, length, segment->path, tidings__amount(bytes, needed),
                             tidings__amount(available, there));
    }
    if (error == EBADF)
        return tidings__fail(EBADF,
                             "can't %s center \"%s\": descriptor %d, which is its file's, was closed by this program; "
                             "close only your own, and open the center again",
                             what, segment->name, segment->fd);
    return tidings__fail(error, "can't %s center \"%s\": reserving %s in %.*s failed (%s); use another directory", what,
                         segment->name, tidings__amount(bytes, needed), length, segment->path, strerror(error));
}

static uint64_t offset_of(const tidings__segment *segment, uint32_t chunk, uint64_t *capacity) {
    return (uint64_t)(tidings__chunk_bytes(segment, chunk, capacity) - segment->base);
}

// Notes all chunks from `chunk` on that lie before `hole`: one system call often answers for many chunks.
static void note_run(tidings__segment *segment, uint32_t chunk, uint64_t hole) {
    for (; chunk < segment->geometry.chunk_count; chunk++) {
        uint64_t capacity = 0;
        const uint64_t offset = offset_of(segment, chunk, &capacity);
        if (offset >= hole) return;
        const uint64_t known = hole - offset < capacity ? (hole - offset) / TIDINGS__PAGE : pages_of(capacity);
        raise_to(&segment->chunk_backed[chunk], (uint32_t)known);
    }
}

// True if the program closed the descriptor, so that the kernel can't be asked where memory is, and these bytes can be
// touched nevertheless: without memory that is an error, and no SIGBUS.
static bool touched(const tidings__segment *segment, uint64_t offset, uint64_t bytes) {
    return tidings__segment_descriptor(segment) < 0 &&
           tidings__map_populate(segment->base + offset, bytes, segment->writable) == 0;
}

bool tidings__chunk_has_memory(tidings__segment *segment, uint32_t chunk, uint64_t bytes) {
    if (tidings__relaxed(&segment->chunk_backed[chunk]) >= pages_of(bytes)) return true;
    const uint64_t offset = offset_of(segment, chunk, NULL);
    // The end of the file as the answer tells a writer nothing: a file system that reports no holes answers the same.
    const uint64_t hole = tidings__file_hole(tidings__segment_descriptor(segment), offset);
    if (hole < offset + bytes) {
        // Without its descriptor a writer is taken for dead, and must not use a chunk. For a reader, a page that a
        // poster reserved and did not write (`tidings_reserve`) counts as a hole. Touched like this, a page without
        // memory is an error, and no SIGBUS.
        if (segment->writable || tidings__map_populate(segment->base + offset, bytes, false) != 0) return false;
        raise_to(&segment->chunk_backed[chunk], (uint32_t)pages_of(bytes));
        return true;
    }
    if (hole >= segment->size && segment->writable) return false;
    note_run(segment, chunk, hole);
    return true;
}

int tidings__back_chunk(tidings__segment *segment, uint32_t chunk, uint64_t bytes) {
    uint64_t capacity = 0;
    if (!tidings__chunk_bytes(segment, chunk, &capacity) || bytes > capacity) {
        return tidings__fail(
            EINVAL,
            "can't use %llu bytes of chunk %u of center \"%s\": there is no such room; the center may be damaged",
            (unsigned long long)bytes, chunk, segment->name);
    }
    // Invariant A3: memory before the first touch. A writer checks before it reserves as well: another process may have
    // reserved the memory, and the check is cheaper.
    if (tidings__chunk_has_memory(segment, chunk, bytes)) return 0;
    if (!segment->writable) {
        return tidings__fail(
            ENODATA, "can't read chunk %u of center \"%s\": there is no memory for it; the directory may be full",
            chunk, segment->name);
    }
    const uint64_t offset = offset_of(segment, chunk, NULL);
    const int result = reserve(segment, offset, offset + bytes);
    if (result != 0) return reserve_failed(segment, -result, "store a payload in", bytes);
    raise_to(&segment->chunk_backed[chunk], (uint32_t)pages_of(bytes));
    return 0;
}

static void publish_names(tidings__segment *segment, uint32_t count) {
    // The memory exists before the number says so. For other processes the number is only a hint: each process asks the
    // file itself before it touches an entry (invariant N9). It is raised before this process uses an entry, because a
    // process that found no memory for one asks again only when the number has grown.
    _Atomic uint64_t *backed = &segment->header->names_backed.word;
    uint64_t before = tidings__relaxed(backed);
    for (int tries = 0; segment->writable && tries < TIDINGS__TRIES && before < count; tries++)
        if (tidings__cas(backed, &before, count)) break;
    raise_to(&segment->names_known, count);
}

static uint64_t names_hole(const tidings__segment *segment, uint32_t known) {
    return tidings__file_hole(tidings__segment_descriptor(segment),
                              segment->geometry.names + (uint64_t)known * sizeof(tidings__name));
}

uint32_t tidings__names_there(tidings__segment *segment, uint32_t count) {
    const uint32_t known = tidings__relaxed(&segment->names_known);
    if (known >= count) return count;
    const uint64_t names = segment->geometry.names, hole = names_hole(segment, known);
    // The end of the file as the answer tells a writer nothing (see above). Only reserving makes sure then.
    if (hole >= segment->size && segment->writable) return tidings__back_names(segment, count) == 0 ? count : known;
    const uint64_t there = hole > names ? (hole - names) / sizeof(tidings__name) : 0;
    if (there <= known) return known;
    publish_names(segment, there < segment->shape.names ? (uint32_t)there : segment->shape.names);
    return there < count ? (uint32_t)there : count;
}

bool tidings__name_touched(tidings__segment *segment, uint32_t index) {
    return index < tidings__relaxed(&segment->header->names_backed.word) &&
           touched(segment, segment->geometry.names + (uint64_t)index * sizeof(tidings__name), sizeof(tidings__name));
}

int tidings__back_names(tidings__segment *segment, uint32_t count) {
    const uint32_t known = tidings__relaxed(&segment->names_known);
    if (known >= count) return 0;
    if (count > segment->shape.names) {
        return tidings__fail(ENOSPC,
                             "can't add a name to center \"%s\": all %u name entries are taken; remove observers, "
                             "or create it with more",
                             segment->name, segment->shape.names);
    }
    const uint64_t names = segment->geometry.names;
    const uint64_t start = names + (uint64_t)known * sizeof(tidings__name);
    const uint64_t hole = names_hole(segment, known);
    if (hole >= names + (uint64_t)count * sizeof(tidings__name) && (hole < segment->size || !segment->writable)) {
        const uint64_t there = (hole - names) / sizeof(tidings__name);
        publish_names(segment, there < segment->shape.names ? (uint32_t)there : segment->shape.names);
        return 0;
    }
    if (!segment->writable) {
        return tidings__fail(
            ENODATA, "can't read name %u of center \"%s\": nothing was written there; the center may be damaged",
            count - 1, segment->name);
    }
    // Grows by an eighth each time. Before the table grows, a participant that adds a name searches all entries for one
    // that can be taken out, so growth should be rare.
    const uint32_t steps[] = {count + known / 8, count};
    uint32_t target = 0;
    uint64_t end = 0;
    int result = -ENOSPC;
    for (int i = 0; i < 2 && result == -ENOSPC; i++) {
        target = (steps[i] + TIDINGS__NAMES_STEP - 1) / TIDINGS__NAMES_STEP * TIDINGS__NAMES_STEP;
        if (target > segment->shape.names) target = segment->shape.names;
        end = names + (uint64_t)target * sizeof(tidings__name);
        result = reserve_seen(segment, start, end);
    }
    if (result != 0) return reserve_failed(segment, -result, "add a name to", end - start);
    publish_names(segment, target);
    return 0;
}

// Makes sure that a table of `bytes` bytes has memory. `known`: whether this process knows that it has. `what` is for
// the error line.
static int back_table(tidings__segment *segment, _Atomic uint32_t *known, uint64_t start, uint64_t bytes,
                      const char *what) {
    if (tidings__relaxed(known)) return 0;
    const int fd = tidings__segment_descriptor(segment);
    // Also without its descriptor, a writer must move reports on when it evicts notices, and find holds.
    if (!touched(segment, start, bytes)) {
        if (!segment->writable) {
            if (fd < 0 || !tidings__file_backed(fd, start, bytes)) return -ENODATA;
        } else {
            const int result = reserve_seen(segment, start, start + bytes);
            if (result != 0) return reserve_failed(segment, -result, what, bytes);
        }
    }
    tidings__set_relaxed(known, 1);
    return 0;
}

int tidings__back_presence(tidings__segment *segment) {
    return back_table(segment, &segment->presence_known, segment->geometry.presence,
                      (uint64_t)segment->shape.participants * sizeof(tidings__presence), "announce a participant in");
}

int tidings__back_holds(tidings__segment *segment) {
    return back_table(segment, &segment->holds_known, segment->geometry.holds,
                      (uint64_t)segment->shape.participants * sizeof(tidings__holds), "hold a payload in");
}

static uint64_t hole_from(const tidings__segment *segment, uint64_t offset) {
    return tidings__file_hole(tidings__segment_descriptor(segment), offset);
}

uint32_t tidings__calls_there(tidings__segment *segment, uint32_t count) {
    const uint32_t known = tidings__relaxed(&segment->calls_known);
    if (count > segment->geometry.call_count) count = segment->geometry.call_count;
    if (known >= count) return count;
    const uint64_t calls = segment->geometry.calls + (uint64_t)known * sizeof(tidings__call),
                   bodies = segment->geometry.call_bodies + (uint64_t)known * sizeof(tidings__call_body);
    const uint64_t hole = hole_from(segment, calls), body_hole = hole_from(segment, bodies);
    // The end of the file as the answer tells a writer nothing (see above).
    if (hole >= segment->size || body_hole >= segment->size)
        return tidings__back_calls(segment, count) == 0 ? count : known;
    uint64_t there = hole > calls ? (hole - calls) / sizeof(tidings__call) : 0;
    const uint64_t bodies_there = body_hole > bodies ? (body_hole - bodies) / sizeof(tidings__call_body) : 0;
    if (bodies_there < there) there = bodies_there;
    if (there > count - known) there = count - known;
    raise_to(&segment->calls_known, known + (uint32_t)there);
    return known + (uint32_t)there;
}

int tidings__back_calls(tidings__segment *segment, uint32_t count) {
    count = (count + TIDINGS__CALLS_STEP - 1) / TIDINGS__CALLS_STEP * TIDINGS__CALLS_STEP;
    const uint32_t known = tidings__relaxed(&segment->calls_known);
    if (known >= count) return 0;
    const uint64_t start = segment->geometry.calls + (uint64_t)known * sizeof(tidings__call),
                   end = segment->geometry.calls + (uint64_t)count * sizeof(tidings__call);
    const uint64_t body_start = segment->geometry.call_bodies + (uint64_t)known * sizeof(tidings__call_body),
                   body_end = segment->geometry.call_bodies + (uint64_t)count * sizeof(tidings__call_body);
    int result = reserve_seen(segment, start, end);
    if (result == 0) result = reserve_seen(segment, body_start, body_end);
    if (result != 0) return reserve_failed(segment, -result, "call a server in", end - start + body_end - body_start);
    raise_to(&segment->calls_known, count);
    return 0;
}
