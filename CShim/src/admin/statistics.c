// A center's statistics, its names and its retained values. Stops no participant, so the answers are approximate.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "center/center.h"
#include "platform/error.h"
#include "platform/file.h"
#include "retained/retained.h"
#include "ring/hold.h"

// Counts the names that `tidings_name` describes. An entry whose value was cleared counts only if the ring may hold a
// newer value. One walk of the ring answers that for all entries.
static int count_names(tidings__segment *s, uint32_t *count) {
    uint64_t *in_ring = calloc(s->shape.names / 64 + 1, sizeof *in_ring);
    if (!in_ring) return tidings__fail(ENOMEM, "can't look at center \"%s\": no memory to count its names", s->name);
    const bool any = tidings__ring_values(s, in_ring);
    const uint32_t names = tidings__names_end(s);
    for (uint32_t i = TIDINGS__NAME_FIRST; i < names; i++) {
        const tidings__name *entry = &s->names[i];
        tidings__name_ahead(s, i, names);
        const uint32_t number = (uint32_t)tidings__relaxed(&entry->retained) & 0xffff;
        const bool expected = number == TIDINGS__RETAINED_EXPECTED && (any || in_ring[i / 64] >> i % 64 & 1);
        if (tidings__name_observed(entry) || (number && number != TIDINGS__RETAINED_EXPECTED) || expected)
            *count += tidings__name_text(s, i, NULL, NULL, NULL, NULL);
    }
    free(in_ring);
    return 0;
}

int tidings_statistics_get(tidings_center *center, tidings_statistics *out) {
    tidings__clear_error();
    memset(out, 0, sizeof *out);
    tidings__segment *s = &center->segment;
    int error = tidings__center_check(center, tidings__thread_self());
    if (error) return error;
    out->posted = tidings__frontier(s, tidings__relaxed(&center->hint));
    out->retained_from = tidings__oldest(s);
    out->revoked = tidings__relaxed(&s->header->revoked.word);
    out->file_size = s->file_size;
    out->memory = tidings__file_memory(tidings__segment_descriptor(s));
    out->maximum_payload = s->shape.maximum_payload;
    out->slots = s->shape.slots;
    out->participants_max = s->shape.participants;
    for (uint32_t i = 0; i < s->shape.participants; i++)
        out->participants += tidings__acquire(&s->participants[i].instance) != 0;
    out->observers_max = s->shape.observers;
#ifdef MUTANT_GEOMETRY_READ_AGAIN  // Found by: fuzz image
    for (uint32_t i = 0; i < s->header->shape.observers; i++) (void)tidings__acquire(&s->observers[i].owner);
#endif
    for (uint32_t i = 0; i < s->shape.observers; i++) {
        if (tidings__acquire(&s->observers[i].owner) == 0) continue;
        out->observers++;
        out->observers_asleep += tidings__acquire(&s->header->asleep[i / 64]) >> i % 64 & 1;
        out->observers_lossless += tidings__acquire(&s->header->lossless[i / 64]) >> i % 64 & 1;
    }
    out->names_max = s->shape.names;
    error = count_names(s, &out->names);
    if (error) return error;
    out->chunks_max = s->geometry.chunk_count;
    tidings__chunk_set held;
    tidings__holds_list(s, &held);
    for (uint32_t i = 0; i < s->geometry.chunk_count; i++) {
        uint64_t word = tidings__acquire(&s->chunk_words[i]);
        uint32_t state = tidings__chunk_state(word);
        const bool used = state != TIDINGS__CHUNK_FREE && state != TIDINGS__CHUNK_DROPPED &&
                          !(state == TIDINGS__CHUNK_IN_RING && tidings__chunk_before(word, out->retained_from));
        out->chunks_used += used || (word & TIDINGS__CHUNK_HELD && tidings__chunk_set_has(&held, i));
    }
    out->format_version = s->version;
    return 0;
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
    // The value is in the entry, or still in the ring. The ring is searched only if the entry expects a value.
    const uint32_t number = (uint32_t)tidings__relaxed(&entry->retained) & 0xffff;
    const bool expected = number == TIDINGS__RETAINED_EXPECTED;
    info->retained = expected ? tidings__retained_find(s, index, 0, UINT64_MAX >> 1, &position, &chunk, &record)
                              : number != 0;
    if (info->observers == 0 && !info->retained && !(expected && tidings__ring_may_hold(s, index, true)))
        return -ENOENT;
    info->prefix = tidings__relaxed(&entry->lengths) & TIDINGS__LENGTHS_PREFIX;
    uint32_t name_length, subject_length;
    return tidings__name_text(s, index, info->name, &name_length, info->subject, &subject_length) ? 0 : -ENOENT;
}

// Counts names whose newest retained record has a value. First those with a retained record in the ring, from the
// newest on; then those whose value has left the ring. Each of the latter has a chunk, so the chunks are walked and not
// the name table. `seen`: a bit per name entry, set if its newest record is in the ring.
static uint32_t count_values(tidings__segment *s, uint64_t *seen) {
    uint32_t values = 0;
    uint64_t oldest = tidings__oldest(s);
    const uint64_t end = tidings__frontier(s, oldest);
    if ((int64_t)(end - oldest) > (int64_t)s->shape.slots) oldest = end - s->shape.slots;
    for (uint64_t p = end; p > oldest && p-- > 0;) {
        if (tidings__slot_status(s, p) != TIDINGS__VALID) continue;
        const uint64_t route = tidings__route(tidings__cell_at(s, p));
        const uint32_t name = tidings__route_name(route), flags = tidings__route_flags(route);
        if (!(flags & TIDINGS__RECORD_RETAIN) || name >= s->shape.names || !tidings__slot_valid_after_copy(s, p))
            continue;
        const uint64_t bit = UINT64_C(1) << name % 64;
        if (seen[name / 64] & bit) continue;
        seen[name / 64] |= bit;
        values += !(flags & TIDINGS__RECORD_CLEAR);
    }
    for (uint32_t chunk = 0; chunk < s->geometry.chunk_count; chunk++) {
        const uint64_t word = tidings__acquire(&s->chunk_words[chunk]);
        tidings__record record;
        if (tidings__chunk_state(word) != TIDINGS__CHUNK_RETAINED || !tidings__chunk_record(s, chunk, &record))
            continue;
        if (record.name >= s->shape.names || seen[record.name / 64] >> record.name % 64 & 1) continue;
        tidings__name *entry = tidings__name_at(s, record.name);
        // A peer may have reused the chunk while its header was read. The entry's word decides.
        values += entry && tidings__relaxed(&entry->retained) == (tidings__chunk_position(word) << 16 | (chunk + 1));
    }
    return values;
}

int tidings_values(tidings_center *center, uint32_t *values, uint32_t *values_max) {
    tidings__clear_error();
    tidings__segment *s = &center->segment;
    *values = *values_max = 0;
    const int error = tidings__center_check(center, tidings__thread_self());
    if (error) return error;
    uint64_t *seen = calloc(s->shape.names / 64 + 1, sizeof *seen);
    if (!seen)
        return tidings__fail(ENOMEM, "can't look at center \"%s\": no memory to count its retained values; free some",
                             s->name);
    *values = count_values(s, seen);
    *values_max = s->geometry.chunk_count;
    free(seen);
    return 0;
}
