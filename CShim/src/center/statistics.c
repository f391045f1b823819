// Looking at a center from outside. Everything here is read without stopping anybody, so it is true only approximately.
#include <errno.h>
#include <string.h>

#include "center/center.h"
#include "center/retained.h"
#include "platform/error.h"
#include "platform/file.h"
#include "platform/lock.h"
#include "registry/prefixes.h"
#include "ring/chunk.h"
#include "ring/verdict.h"

int tidings_statistics_get(tidings_center *center, tidings_statistics *out) {
    tidings__clear_error();
    memset(out, 0, sizeof *out);
    tidings__segment *s = &center->segment;
    int error = tidings__center_check(center, tidings__thread_self());
    if (error) return error;
    out->posted = tidings__frontier(s, tidings__relaxed(&center->hint));
    out->retained_from = tidings__oldest(s);
    out->revoked = tidings__relaxed(&s->header->revoked.word);
    out->file_size = s->size;
    out->memory = tidings__file_memory(tidings__segment_descriptor(s));
    out->maximum_payload = s->shape.maximum_payload;
    out->slots = s->shape.slots;
    out->participants_max = s->shape.participants;
    for (uint32_t i = 0; i < s->shape.participants; i++) out->participants += tidings__acquire(&s->participants[i].instance) != 0;
    out->observers_max = s->shape.observers;
    for (uint32_t i = 0; i < s->shape.observers; i++) {
        if (tidings__acquire(&s->observers[i].owner) == 0) continue;
        out->observers++;
        out->observers_asleep += tidings__acquire(&s->header->asleep[i / 64]) >> i % 64 & 1;
        out->observers_lossless += tidings__acquire(&s->header->lossless[i / 64]) >> i % 64 & 1;
    }
    out->names_max = s->shape.names;
    tidings_name_info name;
    for (uint32_t i = TIDINGS__NAME_FIRST; (error = tidings_name(center, i, &name)) != -ERANGE; i++) out->names += error == 0;
    out->chunks_max = s->geometry.chunk_count;
    for (uint32_t i = 0; i < s->geometry.chunk_count; i++) {
        uint64_t word = tidings__acquire(&s->chunk_words[i]);
        uint32_t state = tidings__chunk_state(word);
        out->chunks_used += state != TIDINGS__CHUNK_FREE && !(state == TIDINGS__CHUNK_IN_RING && tidings__chunk_before(word, out->retained_from));
    }
    out->format_version = TIDINGS__FORMAT_VERSION;
    return 0;
}

static bool looks_at(tidings__segment *s, uint32_t observer, uint32_t entry) {
    const tidings__name *name = tidings__name_at(s, entry);
    return name && tidings__relaxed(&name->members[observer / 64]) >> observer % 64 & 1;
}

static bool looks_by_prefix(tidings__segment *s, uint32_t observer, uint64_t position) {
    tidings__prefix_walk walk = tidings__prefixes(s);
    if (!tidings__prefixes_any(&walk)) return false;
    _Atomic uint64_t copy[TIDINGS__NAME_WORDS];
    uint32_t length;
    const _Atomic uint64_t *name = tidings__record_name(s, position, copy, &length);
    for (uint32_t entry; name && (entry = tidings__prefix_next_of(s, &walk, name, length)) != TIDINGS__NAME_NONE;)
        if (looks_at(s, observer, entry)) return true;
    return false;
}

// How far a lossless observer is behind: from the first that it needs. What it has passed by of others' names, because it sleeps, doesn't count.
static uint64_t behind(tidings__segment *s, uint32_t observer) {
    const uint64_t oldest = tidings__oldest(s), end = tidings__frontier(s, oldest), cursor = tidings__acquire(&s->observers[observer].cursor);
    uint64_t position = (int64_t)(cursor - oldest) > 0 ? cursor : oldest;
    if ((int64_t)(end - position) > (int64_t)s->shape.slots) return 0;
    for (; (int64_t)(end - position) > 0; position++) {
        if (tidings__look(s, position) != TIDINGS__VALID) continue;
        const uint64_t topic = tidings__relaxed(&tidings__cell_at(s, position)->topic);
        if (looks_at(s, observer, TIDINGS__NAME_ALL) || looks_at(s, observer, (uint32_t)topic & 0xffffff) || looks_at(s, observer, (uint32_t)(topic >> 32) & 0xffffff) || looks_by_prefix(s, observer, position))
            return end - position;
    }
    return 0;
}

int tidings_participant(tidings_center *center, uint32_t index, tidings_participant_info *info) {
    memset(info, 0, sizeof *info);
    tidings__segment *s = &center->segment;
    if (index >= s->shape.participants) return -ERANGE;
    tidings__participant *p = &s->participants[index];
    uint64_t instance = tidings__acquire(&p->instance);
    if (instance == 0) return -ENOENT;
    info->index = index;
    info->pid = (int32_t)tidings__relaxed(&p->pid);
    info->uid = tidings__relaxed(&p->uid);
    info->joined_at_ns = tidings__relaxed(&p->joined_at);
    uint64_t text[sizeof p->executable / 8];
    for (size_t i = 0; i < sizeof text / 8; i++) text[i] = tidings__relaxed(&p->executable[i]);
    memcpy(info->executable, text, TIDINGS_EXECUTABLE_MAX);
    info->executable[TIDINGS_EXECUTABLE_MAX] = 0;
    tidings__fence_acquire();
    // Replaced while we read it: nobody in particular.
    if (tidings__relaxed(&p->instance) != instance) return -ENOENT;
    info->own = index == center->participant && center->fork_epoch == tidings__thread_self()->fork_epoch;
    info->alive = info->own || tidings__lock_held(tidings__segment_locks(s), index) != 0;
    return 0;
}

void tidings_participant_observers_get(tidings_center *center, uint32_t index, tidings_participant_observers *out) {
    memset(out, 0, sizeof *out);
    tidings__segment *s = &center->segment;
    for (uint32_t i = 0; index < s->shape.participants && i < s->shape.observers; i++) {
        if (tidings__acquire(&s->observers[i].owner) != index + 1) continue;
        out->observers++;
        if (!(tidings__acquire(&s->header->lossless[i / 64]) >> i % 64 & 1)) continue;
        out->lossless++;
        const uint64_t posts = behind(s, i);
        if (posts > out->behind) out->behind = posts;
    }
}

int tidings_name(tidings_center *center, uint32_t index, tidings_name_info *info) {
    tidings__segment *s = &center->segment;
    if (index >= s->shape.names || index >= tidings__acquire(&s->header->names_used.word)) return -ERANGE;
    memset(info, 0, sizeof *info);
    if (index < TIDINGS__NAME_FIRST) return -ENOENT;
    tidings__name *entry = tidings__name_at(s, index);
    if (!entry) return -ERANGE;
    info->observers = tidings__name_members(entry);
    uint64_t position;
    uint32_t chunk;
    tidings__record record;
    // In the entry, or still in the ring: only where one is expected is the ring asked.
    const uint32_t number = (uint32_t)tidings__relaxed(&entry->retained) & 0xffff;
    const bool expected = number == TIDINGS__RETAINED_EXPECTED;
    info->retained = expected ? tidings__retained_find(s, index, 0, UINT64_MAX >> 1, &position, &chunk, &record) : number != 0;
    if (info->observers == 0 && !info->retained && !(expected && tidings__ring_may_hold(s, index, true))) return -ENOENT;
    info->prefix = tidings__relaxed(&entry->lengths) & TIDINGS__LENGTHS_PREFIX;
    uint32_t name_length, subject_length;
    return tidings__name_text(s, index, info->name, &name_length, info->subject, &subject_length) ? 0 : -ENOENT;
}
