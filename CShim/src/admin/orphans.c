// Counts and reclaims the orphans of dead participants, and counts the slots that stopped posters hold. Stops no
// participant: a word that may be in an intermediate state is read twice.
#include <errno.h>
#include <string.h>

#include "center/center.h"
#include "eviction/evict.h"
#include "platform/clock.h"
#include "platform/error.h"
#include "presence/report.h"
#include "registry/name_table.h"
#include "registry/participants.h"
#include "retained/retained.h"
#include "ring/chunk.h"
#include "ring/hold.h"
#include "ring/verdict.h"
#include "segment/eviction.h"

// An intermediate state that lasts this long counts as left by a dead participant: a live one ends it within
// microseconds. A wrong answer is only a wrong line of output.
#define LEFT_NS 10000000
// Pending verdicts that are remembered for the second read: one dead evicting thread leaves at most as many as a range
// has positions.
#define VERDICTS TIDINGS__EV_LENGTH_MAX

typedef struct verdicts {
    uint32_t count;
    uint64_t at[VERDICTS];
} verdicts;

// `dead` comes from one system call per participant, not one per observer: a peer may have written that one participant
// owns all observers. An owner read from a shared word may be any number.
static void count_observers(const tidings_center *center, const tidings__participant_set *dead,
                            tidings__observer_set *orphans, tidings_orphans *out) {
    const tidings__segment *s = &center->segment;
    for (uint32_t i = 0; i < s->shape.observers; i++) {
        if (!tidings__participant_set_has(dead, (uint64_t)tidings__acquire(&s->observers[i].owner) - 1)) continue;
        tidings__observer_set_add(orphans, i);
        out->observers++;
        out->observers_lossless += tidings__acquire(&s->header->lossless[i / 64]) >> i % 64 & 1;
    }
}

// Counts the names that only dead participants observe, and the entries that a dead participant was adding or removing.
static void count_names(tidings_center *center, const tidings__participant_set *dead,
                        const tidings__observer_set *orphans, tidings_orphans *out) {
    tidings__segment *s = &center->segment;
    const uint32_t names = tidings__names_end(s);
    for (uint32_t index = TIDINGS__NAME_FIRST; index < names; index++) {
        const tidings__name *entry = &s->names[index];
        uint64_t preparer;
        tidings__name_ahead(s, index, names);
        if (tidings__name_half_way(entry, &preparer)) {
            out->names += tidings__participant_set_has(dead, preparer);
            continue;
        }
        bool of_the_dead = false, of_others = false;
        for (uint32_t words = tidings__member_words(entry); words; words &= words - 1) {
            const uint32_t word = (uint32_t)__builtin_ctz(words);
            const uint64_t members = tidings__acquire(&entry->members[word]);
            of_the_dead |= (members & orphans->words[word]) != 0;
            of_others |= (members & ~orphans->words[word]) != 0;
        }
        out->names += of_the_dead && !of_others;
    }
}

static void count_payloads(const tidings_center *center, const tidings__participant_set *dead, tidings_orphans *out) {
    const tidings__segment *s = &center->segment;
    for (uint32_t chunk = 0; chunk < s->geometry.chunk_count; chunk++) {
        const uint64_t word = tidings__acquire(&s->chunk_words[chunk]);
        out->payloads += tidings__chunk_state(word) == TIDINGS__CHUNK_OWNED &&
                         tidings__participant_set_has(dead, tidings__chunk_owner(word));
    }
}

// Counts slots that can't be used because the owner of their claim is dead or stopped. The kernel has already freed
// those of dead owners, except foreign ones.
static void count_slots(const tidings_center *center, const tidings__participant_set *dead, tidings_orphans *out) {
    const tidings__segment *s = &center->segment;
    for (uint32_t slot = 0; slot < s->shape.slots; slot++) {
        const tidings__cell *cell = &s->cells[slot];
        const uint64_t w = tidings__acquire(&cell->claim), c = tidings__acquire(&cell->commit),
                       v = tidings__acquire(&cell->verdict);
        if (!tidings__busy(w, c, v)) continue;
        const uint32_t owner = (uint32_t)(w & TIDINGS__W_OWNER_MASK);
        if (w & TIDINGS__W_FOREIGN && tidings__participant_set_has(dead, owner)) {
            out->claims++;
            continue;
        }
        // A claim that is neither revoked nor skipped belongs to a post that is still running.
        const bool revoked = v != TIDINGS__V_NEVER && (v & 3) == TIDINGS__V_DEAD &&
                             tidings__lap_ahead(w, tidings__lap_at(s, v >> 2)) >= 0;
        if (!revoked && !(w & TIDINGS__W_SKIPPED)) continue;
        out->slots_held++;
        out->holder = w & TIDINGS__W_FOREIGN
                          ? (int32_t)(owner < s->shape.participants ? tidings__relaxed(&s->participants[owner].pid) : 0)
                          : (int32_t)owner;
    }
}

static void pending_verdicts(const tidings__segment *s, verdicts *found) {
    found->count = 0;
    for (uint32_t slot = 0; slot < s->shape.slots && found->count < VERDICTS; slot++) {
        const uint64_t v = tidings__acquire(&s->cells[slot].verdict);
        // A hostile V may name a position of another slot, which no revocation of it would change.
        if (v != TIDINGS__V_NEVER && (v & 3) == TIDINGS__V_PENDING && tidings__cell_at(s, v >> 2) == &s->cells[slot])
            found->at[found->count++] = v;
    }
}

int tidings_orphans_get(tidings_center *center, tidings_orphans *out) {
    tidings__clear_error();
    memset(out, 0, sizeof *out);
    tidings__segment *s = &center->segment;
    const int error = tidings__center_check(center, tidings__thread_self());
    if (error) return error;
    tidings__participant_set dead = {0};
    for (uint32_t i = 0; i < s->shape.participants; i++) {
        if (!tidings__participant_dead(s, i, center->participant)) continue;
        tidings__participant_set_add(&dead, i);
        out->participants++;
        tidings__row row;
        tidings__holds_of(s, i, 0, &row);
        out->holds += row.count;
    }
    tidings__observer_set orphans = {0};
    count_observers(center, &dead, &orphans, out);
    count_names(center, &dead, &orphans, out);
    count_payloads(center, &dead, out);
    count_slots(center, &dead, out);
    const uint64_t ev = tidings__acquire(&s->header->eviction.word);
    verdicts first, second;
    pending_verdicts(s, &first);
    if (tidings__ev_length(ev) == 0 && first.count == 0) return 0;
    tidings__nap(LEFT_NS);
    out->evictions = tidings__ev_length(ev) != 0 && tidings__acquire(&s->header->eviction.word) == ev;
    pending_verdicts(s, &second);
    for (uint32_t i = 0; i < first.count; i++) {
        for (uint32_t j = 0; j < second.count; j++) out->verdicts += first.at[i] == second.at[j];
    }
    return 0;
}

int tidings_reclaim(tidings_center *center) {
    tidings__clear_error();
    tidings__segment *s = &center->segment;
    const int error = tidings__center_check(center, tidings__thread_self());
    if (error) return error;
    if (!s->writable) return tidings__center_read_only(center, "reclaim orphans in");
    const int reclaimed = tidings__reclaim_dead(center);
    tidings__evict_finish(center);
    verdicts open;
    pending_verdicts(s, &open);
    for (uint32_t i = 0; i < open.count; i++) tidings__revoke(s, open.at[i] >> 2);
    tidings__reclaim_retained(center);
    tidings__report_budget budget = tidings__report_budget_of(&center->segment);
    tidings__report_all(center, &budget);
    return reclaimed;
}
