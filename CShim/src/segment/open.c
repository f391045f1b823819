// Opens a center, maps its file, and closes both again.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/atomics.h"
#include "platform/clock.h"
#include "platform/error.h"
#include "platform/file.h"
#include "platform/lock.h"
#include "platform/process.h"
#include "segment/internal.h"
#include "segment/names.h"

_Static_assert(TIDINGS__LOCK_FIRST == TIDINGS__LOCK_BASE, "platform/lock.h and layout.h mean the same bytes");

// How often an opening may find no center and then fail to create one, because another process did so meanwhile. Then
// it reports that the file keeps appearing and disappearing.
#define ATTEMPTS 100

int tidings__segment_refuse(const tidings__segment *segment, int error, const char *verb, const char *format, ...) {
    char text[TIDINGS__PATH_SIZE + 256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return tidings__fail(error, "can't %s center \"%s\": %s", verb, segment->name, text);
}

int tidings__segment_directory_length(const tidings__segment *segment) {
    const char *slash = strrchr(segment->path, '/');
    return slash && slash != segment->path ? (int)(slash - segment->path) : 1;
}

void tidings__segment_directory(const tidings__segment *segment, char directory[TIDINGS__PATH_SIZE]) {
    const int length = tidings__segment_directory_length(segment);
    memcpy(directory, segment->path, (size_t)length);
    directory[length] = 0;
}

int tidings__segment_attach(tidings__segment *segment) {
    const tidings__geometry *geometry = &segment->geometry;
    uint8_t *base = segment->base;
    segment->header = (void *)base;
    segment->participants = (void *)(base + geometry->participants);
    segment->observers = (void *)(base + geometry->observers);
    segment->buckets = (void *)(base + geometry->buckets);
    segment->chunk_words = (void *)(base + geometry->chunk_words);
    segment->cells = (void *)(base + geometry->cells);
    segment->names = (void *)(base + geometry->names);
    segment->presence = (void *)(base + geometry->presence);
    segment->holds = (void *)(base + geometry->holds);
    segment->calls = (void *)(base + geometry->calls);
    segment->call_bodies = (void *)(base + geometry->call_bodies);
    segment->lives = base + geometry->presence;
    segment->lives_apart = sizeof(tidings__presence);
    segment->doorbells = (void *)segment->observers;
    segment->slot_mask = segment->shape.slots - 1;
    segment->slot_shift = (uint32_t)__builtin_ctz(segment->shape.slots);
    // Both callers have made sure that all of base_size has memory. Relaxed: no other thread uses the segment yet.
    tidings__set_relaxed(&segment->names_known, segment->shape.names_first);
    tidings__set_relaxed(&segment->names_missing, 0);
    tidings__set_relaxed(&segment->names_refused, 0);
    segment->chunk_backed = calloc(geometry->chunk_count, sizeof *segment->chunk_backed);
    return segment->chunk_backed ? 0 : -ENOMEM;
}

// Makes sure that the file has memory up to `base_size`. It has since its creation, but a copy of it may have holes
// there. Only copies are checked, as the kernel walks all these pages for it.
static int ensure_base(tidings__segment *segment, uint64_t birthplace) {
    const uint64_t base = segment->geometry.base_size;
    if (birthplace == segment->inode || tidings__file_backed(segment->fd, 0, base)) return 0;
    if (!segment->writable) {
        return tidings__segment_refuse(segment, EBADMSG, "open",
                                       "parts of %s have no memory; open it once with write access", segment->path);
    }
    int result = tidings__file_reserve(segment->fd, 0, base);
    if (result == 0 || result == -EOPNOTSUPP) result = tidings__map_touch(segment->base, base, result == 0);
    if (result == 0) return 0;
    char needed[TIDINGS__AMOUNT_SIZE];
    return tidings__segment_refuse(segment, -result, "open", "reserving %s in %.*s failed (%s); make room there",
                                   tidings__amount(base, needed), tidings__segment_directory_length(segment),
                                   segment->path, strerror(-result));
}

// The descriptor for locks must not be the one that was mapped. A mapping keeps its open file description alive, and a
// forked child inherits the mapping. With one description for both, a child would keep the locks of its dead parent,
// even after it has closed the descriptor.
int tidings__segment_separate(tidings__segment *segment) {
    const int locking = tidings__file_reopen(segment->fd, segment->writable, segment->path);
    if (locking < 0) return locking;
    tidings__file_close(segment->fd);
    segment->fd = locking;
    return 0;
}

int tidings__segment_map(tidings__segment *segment, const tidings__identity *identity) {
    segment->shape = identity->shape;
    tidings__geometry_of(&segment->shape, &segment->geometry);
    // Invariant F3: only what this build knows is mapped.
    segment->size = segment->geometry.file_size;
    // Version 1.0 has no part here, of 0 bytes.
    if (identity->version >= TIDINGS__FORMAT_VERSION && identity->file_size >= segment->size + TIDINGS__MORE)
        segment->size += TIDINGS__MORE;
    segment->file_size = identity->file_size;
    segment->version = identity->version;
    segment->instance = identity->instance;
    segment->home_namespace = identity->home_namespace;
    segment->device = identity->device;
    segment->inode = identity->inode;
    char size[TIDINGS__AMOUNT_SIZE];
    const int result = tidings__map(segment->fd, segment->size, segment->writable, &segment->base);
    if (result != 0) {
        return tidings__segment_refuse(segment, -result, "open",
                                       "mapping %s of addresses failed (%s); raise the limit (ulimit -v)",
                                       tidings__amount(segment->size, size), strerror(-result));
    }
    const int backed = ensure_base(segment, identity->birthplace);
    if (backed != 0) return backed;
    if (tidings__segment_attach(segment) != 0)
        return tidings__segment_refuse(segment, ENOMEM, "open", "out of memory; free some");
    return 0;
}

int tidings__segment_join(tidings__segment *segment, uint32_t flags) {
    segment->writable = !(flags & TIDINGS_OPEN_READ_ONLY);
    segment->fd = tidings__file_open(segment->path, segment->writable);
    if (segment->fd < 0) {
        const int error = -segment->fd;
        segment->fd = -1;
        return tidings__segment_unopenable(segment, error, flags, "open");
    }
    tidings__identity identity;
    int result = tidings__segment_identify(segment, segment->fd, flags, "open", &identity);
    // Invariant A2: nothing is mapped before.
    if (result == 0) result = tidings__segment_validate(segment, "open", &identity);
    if (result == 0) result = tidings__segment_map(segment, &identity);
    // Also set to false: an earlier attempt may have opened another center of this name, which was removed meanwhile.
    segment->observable = result == 0 && identity.writers_file != 0;
    if (segment->observable) {
        segment->writers_file = (ino_t)identity.writers_file;
        if (segment->writable) result = tidings__writers_file_join(segment, "open");
    } else if (result == 0 && segment->writable) {
        result = tidings__segment_separate(segment);
        // -ESTALE: the path leads to another file now, and there is no /proc through which to open this one. The caller
        // sees this as a center that was removed before.
        if (result == -ESTALE || result == -ENOENT)
            result = -ENOENT;
        else if (result != 0)
            (void)tidings__segment_unopenable(segment, -result, flags, "open");
    }
    if (result == 0 && tidings__acquire(&segment->header->removed.word) != 0) {
        // The remover was killed, or is between marking the file and deleting the name. This process completes the
        // removal. After that there is no center.
        result = segment->writable
                     ? tidings__segment_unlink(segment, segment->fd, segment->writers_file_fd, false, "open")
                     : 0;
        if (result == 0) result = -ENOENT;
    }
    if (result != 0) tidings__segment_close(segment);
    return result;
}

static int none_there(const tidings__segment *segment) {
    if (segment->owner != tidings__user_id())
        return tidings__segment_refuse(segment, ENOENT, "open",
                                       "there is none (%s); have user %u create it, or name another user",
                                       segment->path, (unsigned)segment->owner);
    return tidings__segment_refuse(segment, ENOENT, "open", "there is none (%s); create it first", segment->path);
}

void tidings__segment_begin(tidings__segment *segment) {
    const uint32_t looks = segment->looks;
    void (*const giving_memory)(tidings__segment *, bool) = segment->giving_memory;
    memset(segment, 0, sizeof *segment);
    segment->fd = segment->writers_file_fd = -1;
    segment->looks = looks;
    segment->giving_memory = giving_memory;
}

int tidings__segment_open(const char *name, const tidings_configuration *configuration, tidings__segment *segment) {
    tidings__segment_begin(segment);
    int result = tidings__check_center_name(name);
    if (result != 0) return result;
    memcpy(segment->name, name, strlen(name) + 1);
    static const tidings_configuration standard;
    const tidings_configuration *c = configuration ? configuration : &standard;
    tidings__shape shape;
    result = tidings__shape_from(c, &shape);
    if (result != 0) return tidings__fail(-result, "can't open center \"%s\": %s", name, tidings__last_error());
    segment->owner = c->flags & TIDINGS_OPEN_OWNER ? c->owner : tidings__user_id();
    result = tidings__center_path(name, c->directory, segment->owner, segment->path, sizeof segment->path);
    if (result != 0) return result;
    // A process creates only centers of its own user.
    const bool create = !(c->flags & (TIDINGS_OPEN_EXISTING | TIDINGS_OPEN_READ_ONLY)) &&
                        segment->owner == tidings__user_id();
    if (!create && c->flags & TIDINGS_OPEN_EXCLUSIVE)
        return tidings__segment_refuse(
            segment, EINVAL, "open",
            "to create it was asked for together with something that never creates; leave out one of them");
    result = tidings__segment_check_directory(segment, c->flags, "open");
    if (result == -ENOENT && create) return tidings__segment_no_directory(segment);
    if (result != 0) return result == -ENOENT ? none_there(segment) : result;
    for (uint32_t attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct stat status;
        if (!(c->flags & TIDINGS_OPEN_EXCLUSIVE)) {
            result = tidings__segment_join(segment, c->flags);
            if (result != -ENOENT) return result;
            if (!create) return none_there(segment);
        } else if (tidings__path_status(segment->path, &status) == 0) {
            break;
        }
        segment->shape = shape;
        result = tidings__segment_birth(segment, c->mode ? c->mode : 0600,
                                        c->flags & TIDINGS_OPEN_GROUP ? &c->group : NULL);
        if (result == -EAGAIN) continue;
        if (result != -EEXIST) return result;
        if (c->flags & TIDINGS_OPEN_EXCLUSIVE) break;
    }
    if (c->flags & TIDINGS_OPEN_EXCLUSIVE) {
        return tidings__segment_refuse(segment, EEXIST, "open",
                                       "%s exists, and a new one was asked for; remove it first or choose another name",
                                       segment->path);
    }
    return tidings__segment_refuse(segment, ENOENT, "open",
                                   "%s keeps appearing and disappearing; find out which process removes it",
                                   segment->path);
}

int tidings__segment_descriptor(const tidings__segment *segment) {
    return tidings__file_is(segment->fd, segment->device, segment->inode) ? segment->fd : -EBADF;
}

void tidings__segment_close_files(tidings__segment *segment) {
    tidings__writers_file_close(segment);
    // The descriptor is closed only if it still is the center's file: its number may belong to another file now. A
    // creation or an opening that fails early does not know the inode yet.
    if (segment->inode == 0 || tidings__segment_descriptor(segment) >= 0) tidings__file_close(segment->fd);
    segment->fd = -1;
    segment->inode = 0;
}

void tidings__segment_close(tidings__segment *segment) {
    tidings__segment_close_files(segment);
    tidings__unmap(segment->base, segment->size);
    segment->base = NULL;
    segment->header = NULL;
    free(segment->chunk_backed);
    segment->chunk_backed = NULL;
}

int tidings__segment_reopen(tidings__segment *segment) {
    if (!segment->writable) return 0;  // a reader holds no lock
    if (segment->writers_file) return tidings__writers_file_reopen(segment);
    const int inherited = tidings__segment_descriptor(segment);
    const int again = inherited < 0 ? inherited : tidings__file_reopen(inherited, segment->writable, segment->path);
    // Closed even if there is no new descriptor: a child with the inherited description would keep its parent's locks.
    if (inherited >= 0) tidings__file_close(inherited);
    segment->fd = again < 0 ? -1 : again;
    return again < 0 ? again : 0;
}
