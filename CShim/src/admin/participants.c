// Describes a center's participants and their observers. Stops no participant, so the answer is approximate.
#include <errno.h>
#include <string.h>

#include "center/center.h"
#include "center/record_name.h"
#include "platform/lock.h"
#include "presence/report.h"
#include "registry/observers.h"
#include "registry/prefixes.h"
#include "ring/hold.h"
#include "ring/verdict.h"

// True if one of these observers is a member of the entry.
static bool one_observes(tidings__segment *s, const tidings__observer_set *some, uint32_t entry) {
    const tidings__name *name = tidings__name_at(s, entry);
    for (uint32_t i = 0; name && i < TIDINGS__MAP_WORDS; i++)
        if (some->words[i] && tidings__relaxed(&name->members[i]) & some->words[i]) return true;
    return false;
}

// The prefixes that some observers have. A walk of the ring finds them once for all records, and not again for each
// record: a peer may have linked prefixes that no observer has.
typedef struct prefixes {
    uint32_t entries[TIDINGS__PREFIXES_WALKED], count;
    uint64_t left;  // how many words may still be read. At 0, each record counts as observed
} prefixes;

// This many words take a few milliseconds. A ring of the default size needs fewer, unless none of its records matches
// any of very many prefixes.
#define PREFIX_WORDS (UINT64_C(1) << 20)

static void consume(prefixes *of, uint64_t words) { of->left -= words < of->left ? words : of->left; }

static void find_prefixes(tidings__segment *s, const tidings__observer_set *some, prefixes *of) {
    of->count = 0;
    tidings__prefix_walk walk = tidings__prefixes(s);
    const uint32_t steps = walk.steps;
    for (uint32_t entry; (entry = tidings__prefix_next(s, &walk)) != TIDINGS__NAME_NONE;)
        if (one_observes(s, some, entry)) of->entries[of->count++] = entry;
    consume(of, UINT64_C(4) * (steps - walk.steps));
}

// True if the name of the record at `position` begins with one of the prefixes.
static bool one_observes_prefix(tidings__segment *s, prefixes *of, uint64_t position) {
    if (of->left == 0) return true;
    if (of->count == 0) return false;
    _Atomic uint64_t copy[TIDINGS__NAME_WORDS];
    uint32_t length;
    const _Atomic uint64_t *name = tidings__record_name(s, position, copy, &length);
    for (uint32_t i = 0; name && length > 0 && i < of->count; i++) {
        const tidings__name *entry = &s->names[of->entries[i]];
        const uint32_t own = tidings__relaxed(&entry->lengths) & (TIDINGS__LENGTHS_PREFIX - 1);
        // A prefix that differs in the first word is not compared further.
        consume(of, tidings__text_begins(name, length, entry->key, own < 8 ? own : 8) ? 1 + own / 8 : 1);
        if (of->left == 0 || tidings__prefix_fits(entry, name, length)) return true;
    }
    return false;
}

// As `tidings__lossless_at`, by what the observers have published.
static uint64_t published_at(const tidings__segment *s, const tidings__observer_set *all, uint64_t end,
                             uint64_t position, tidings__observer_set *here) {
    uint64_t next = UINT64_MAX;
    *here = (tidings__observer_set){0};
    for (uint32_t word = 0; word < TIDINGS__MAP_WORDS; word++) {
        for (uint64_t bits = all->words[word]; bits; bits &= bits - 1) {
            const uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(bits);
            const uint64_t at = tidings__progress_of(s, index, end).position;
            if (at <= position)
                tidings__observer_set_add(here, index);
            else if (at < next)
                next = at;
        }
    }
    return next;
}

// The number of positions from the first record that one of these observers needs to the frontier. They are lossless;
// or, if `published`, what they have published counts. Records of names that they do not observe don't count. A peer
// may have written that there are a thousand observers. So one walk of the ring serves all, and reads their cursors
// again only when it has come to the next cursor.
static uint64_t behind(tidings__segment *s, const tidings__observer_set *all, bool published) {
    const uint64_t oldest = tidings__oldest(s), end = tidings__frontier(s, oldest);
    if ((int64_t)(end - oldest) > (int64_t)s->shape.slots) return 0;
    tidings__observer_set here;
    prefixes of = {.left = PREFIX_WORDS};
    uint64_t next = 0;
    // A peer could move cursors ahead of the walk all the time.
    uint32_t looks = 2 * s->shape.observers;
    for (uint64_t position = oldest; (int64_t)(end - position) > 0; position++) {
        if (position >= next && looks > 0) {
            looks--;
            next = published ? published_at(s, all, end, position, &here)
                             : tidings__lossless_at(s, all, position, &here);
            find_prefixes(s, &here, &of);
        }
        if (tidings__slot_status(s, position) != TIDINGS__VALID) continue;
        const uint64_t route = tidings__route(tidings__cell_at(s, position));
        if (one_observes(s, &here, TIDINGS__NAME_ALL) || one_observes(s, &here, tidings__route_name(route)) ||
            one_observes(s, &here, tidings__route_name_subject(route)) || one_observes_prefix(s, &of, position))
            return end - position;
    }
    return 0;
}

// True if the notice "joined" is committed. Its participant may be stopped before it moves the report on, and an
// observer that began after the commit never receives the notice.
static bool has_joined(const tidings_center *center, uint32_t index, uint64_t report) {
    uint64_t at;
    const uint64_t end = tidings__report_span(center, report, &at);
    while (at < end && !tidings__record_about(&center->segment, index, TIDINGS__RECORD_NOTICE, at)) at++;
    return at < end;
}

// Adds what participant `index` has announced, if its announcement is that of this instance. False: the report has
// changed meanwhile.
static bool add_presence(tidings_center *center, uint32_t index, uint64_t instance, tidings_participant_info *info) {
    tidings__segment *s = &center->segment;
    if (index >= tidings__presence_end(s)) return true;
    const tidings__presence *entry = &s->presence[index];
    const uint64_t report = tidings__acquire(&entry->report);
    const uint32_t state = tidings__report_state(report);
    const bool present = (state == TIDINGS__PRESENCE_PRESENT ||
                          (state == TIDINGS__PRESENCE_JOINING && has_joined(center, index, report))) &&
                         tidings__acquire(&entry->announcement) == (instance | 1);
    uint64_t text[sizeof entry->role / 8];
    for (size_t i = 0; i < sizeof text / 8; i++) text[i] = tidings__relaxed(&entry->role[i]);
#ifdef MUTANT_RESERVED_BITS_READ  // Found by: compatibility
    const uint64_t size = tidings__relaxed(&entry->role_size), id = tidings__presence_id(entry);
#else
    const uint64_t size = (uint16_t)tidings__relaxed(&entry->role_size), id = tidings__presence_id(entry);
#endif
    tidings__fence_acquire();
    if (tidings__relaxed(&entry->report) != report) return false;
    if (!present || size > TIDINGS_ROLE_MAX) return true;
    info->announced = true;
    info->presence_id = id;
    memcpy(info->role, text, size);
    return true;
}

// A sound report changes a few times in a row.
#define PRESENCE_TRIES 8

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
    // The entry was reused while it was read: there is no consistent description.
    if (tidings__relaxed(&p->instance) != instance) return -ENOENT;
    for (int tries = 0; tries < PRESENCE_TRIES && !add_presence(center, index, instance, info); tries++) {}
    info->own = index == center->participant && tidings__center_joined(center, tidings__thread_self());
    info->alive = info->own || tidings__lock_held(tidings__segment_locks(s), index) != 0;
    return 0;
}

void tidings_participant_observers_get(tidings_center *center, uint32_t index, tidings_participant_observers *out) {
    memset(out, 0, sizeof *out);
    tidings__segment *s = &center->segment;
    tidings__observer_set lossless = {0}, known = {0};
    const uint64_t end = tidings__frontier(s, tidings__oldest(s));
    for (uint32_t i = 0; index < s->shape.participants && i < s->shape.observers; i++) {
        if (tidings__acquire(&s->observers[i].owner) != index + 1) continue;
        out->observers++;
        const uint64_t instance = tidings__acquire(&s->observers[i].instance);
        const tidings__progress progress = tidings__progress_of(s, i, end);
        tidings__fence_acquire();
        // Otherwise the entry was freed, or taken again, while it was read.
        if (progress.published && instance != 0 && tidings__relaxed(&s->observers[i].instance) == instance) {
            out->known++;
            out->missed = (out->missed + progress.missed) & 0x7fffffff;
            tidings__observer_set_add(&known, i);
        }
        if (!(tidings__acquire(&s->header->lossless[i / 64]) >> i % 64 & 1)) continue;
        out->lossless++;
        tidings__observer_set_add(&lossless, i);
    }
    if (out->lossless) out->behind = behind(s, &lossless, false);
    if (out->known) out->distance = behind(s, &known, true);
}

void tidings_participant_holds_get(tidings_center *center, uint32_t index, tidings_participant_holds *out) {
    memset(out, 0, sizeof *out);
    tidings__segment *s = &center->segment;
    if (index >= s->shape.participants || tidings__acquire(&s->participants[index].instance) == 0) return;
    tidings__row row;
    tidings__holds_of(s, index, 0, &row);
    *out = (tidings_participant_holds){.payloads = row.count, .memory = row.bytes, .since_ns = row.since};
}
