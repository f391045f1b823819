// What each observer wrote down, against what was.
#include "director.h"

#define LOOKS 8
#define SKIPPED_MOST 32u  // positions that a reader skips before it knows their outcome (TIDINGS__SKIPPED_MAX)

typedef struct look {
    bool active, begun;
    uint8_t filter, flags;
    uint64_t low, high;  // it begins somewhere from low to high; begun: at low
    uint64_t missed, shown;
    uint64_t owed_to;  // of a reader: what was still to be told in a calm lies before this position
    bool kept;         // it was shown what was kept
    uint64_t added_low, added_high;
} look;

typedef struct reader {
    const venue *venue;
    uint32_t seat, at;
    bool open, lossless, any;
    uint64_t last;
    look looks[LOOKS];
} reader;

#define WRONG(r, format, ...)                                                                                          \
    violation("observer %u, event %u (round %u): " format, (r)->seat, (r)->at, all->round, __VA_ARGS__)

// How many of its filter before `upto` have been neither delivered nor told as missed, at least.
static uint64_t owed(const look *l, uint64_t upto) {
    const uint64_t least = count_of(l->filter, l->begun ? l->low : l->high, upto);
    return l->missed < least ? least - l->missed : 0;
}

// Everything of its filter before `upto` has been delivered or told as missed; the next begins there.
static void settle(reader *r, look *l, uint64_t upto, const char *when) {
    const uint64_t most = count_of(l->filter, l->low, upto), least_owed = owed(l, upto);
    if (least_owed > 0)
        WRONG(r, "gap: %lu of filter %u were not delivered and not told as missed (%lu were told; from %lu to %lu, %s)",
              (unsigned long)least_owed, l->filter, (unsigned long)l->missed, (unsigned long)l->low,
              (unsigned long)upto, when);
    if (l->missed > most + what_was.unknown[l->filter])
        WRONG(r, "gap: %lu of filter %u were told as missed, only %lu were posted (from %lu to %lu, %s)",
              (unsigned long)l->missed, l->filter, (unsigned long)most, (unsigned long)l->low, (unsigned long)upto,
              when);
    l->begun = true;
    l->low = upto;
    l->missed = 0;
}

// An observer that asked for the retained value got it, unless a newer one replaced it before `upto`. It gets the newer
// one as any other notification.
static void settle_kept(reader *r, look *l, uint64_t upto) {
    const uint8_t name = l->filter / SUBJECTS;
    if (!l->active || !(l->flags & TIDINGS_ADD_RETAINED) || l->kept) return;
    l->kept = true;
    uint64_t sequence, later;
    uint32_t id, round;
    if (!newest_kept(r->venue, name, l->added_low, &sequence, &id, &round)) return;
    newest_kept(r->venue, name, upto, &later, &id, &round);
    if (later == sequence && what_was.unknown[l->filter] == 0)
        WRONG(r, "kept: it didn't get %lu, the newest of name %u", (unsigned long)sequence, name);
}

static void was_kept(reader *r, const event *e) {
    if (e->flags & EMPTY) WRONG(r, "kept: what was cleared came (%lu)", (unsigned long)e->sequence);
    for (int i = 0; i < LOOKS; i++) {
        look *l = &r->looks[i];
        if (!(e->mask >> i & 1)) continue;
        if (!l->active || !(l->flags & TIDINGS_ADD_RETAINED) || l->kept || !matches(l->filter, e->publisher))
            WRONG(r, "kept: %lu came unasked", (unsigned long)e->sequence);
        l->kept = true;
        uint64_t sequence = 0;
        uint32_t id, round;
        // The newest at some moment of the registration. There may have been none at its begin.
        bool right = false;
        for (uint64_t p = l->added_high; !right && p >= l->added_low; p--) {
            right = newest_kept(r->venue, e->publisher / SUBJECTS, p, &sequence, &id, &round) &&
                    sequence == e->sequence && id == e->id;
            if (sequence + 1 < p) p = sequence + 1 > l->added_low ? sequence + 2 : l->added_low;
            if (p == 0) break;
        }
        if (!right)
            WRONG(r, "kept: %lu came, which wasn't the newest of its name (the last to look at was %lu)",
                  (unsigned long)e->sequence, (unsigned long)sequence);
    }
    total.kept++;
}

static void was_message(reader *r, const event *e) {
    total.deliveries++;
    if (r->any && e->sequence <= r->last) {
        WRONG(r, "%s: sequence %lu after %lu", e->sequence == r->last ? "duplicate" : "order",
              (unsigned long)e->sequence, (unsigned long)r->last);
        return;
    }
    r->any = true;
    r->last = e->sequence;
    if (e->sequence < what_was.base || e->sequence >= what_was.end) {
        WRONG(r, "sequence %lu is not in the ring any more, or not yet", (unsigned long)e->sequence);
        return;
    }
    const place *p = &what_was.at[e->sequence - what_was.base];
    if (p->publisher != e->publisher || (!(e->flags & EMPTY) && p->id != e->id))
        WRONG(r, "order: %u came at sequence %lu, where %u is", e->id, (unsigned long)e->sequence, p->id);
    for (int i = 0; i < LOOKS; i++) {
        look *l = &r->looks[i];
        if (!(e->mask >> i & 1)) continue;
        if (!l->active || !matches(l->filter, e->publisher)) {
            WRONG(r, "a post of name and subject %u came for subscription %d, which is not about that", e->publisher,
                  i);
            continue;
        }
        if (e->sequence < l->low)
            WRONG(r, "%lu is before %lu, where subscription %d began", (unsigned long)e->sequence,
                  (unsigned long)l->low, i);
        if (e->sequence < l->owed_to)
            WRONG(r, "%lu of filter %u came after a calm, asleep, that ended at %lu", (unsigned long)e->sequence,
                  l->filter, (unsigned long)l->owed_to);
        settle(r, l, e->sequence, "before a message");
        l->low = e->sequence + 1;
    }
}

static void was_calm(reader *r, uint32_t calm) {
    for (int i = 0; i < LOOKS; i++) {
        look *l = &r->looks[i];
        if (!l->active) continue;
        settle_kept(r, l, calm_ends[calm]);
        total.sleepers++;
        // A post that was committed after a reader had skipped its position is lost to the reader, and wakes no reader.
        // The reader is told of it within a second, or with its next message. So at most as many as a reader skips are
        // settled then, and none of them may be delivered.
        const uint64_t left = seat_reads_only(r->seat) ? owed(l, calm_ends[calm]) : 0;
        if (left > 0 && left <= SKIPPED_MOST)
            l->owed_to = calm_ends[calm];
        else
            settle(r, l, calm_ends[calm], "in a calm, asleep");
    }
}

static void read_event(reader *r, const event *e) {
    if (e->kind == OPENED) {
        memset(r->looks, 0, sizeof r->looks);
        r->open = true;
        r->any = false;
        r->lossless = e->flags & TIDINGS_OBSERVE_LOSSLESS;
        return;
    }
    if (!r->open) WRONG(r, "event %u of none that is open", e->kind);
    switch (e->kind) {
        case CLOSED: r->open = false; break;
        case ADDED: {
            look *l = &r->looks[__builtin_ctz(e->mask)];
            *l = (look){.active = true,
                        .filter = e->publisher,
                        .flags = e->flags,
                        .low = e->sequence,
                        .high = e->sequence + e->id};
            l->added_low = l->low;
            l->added_high = l->high;
            break;
        }
        case REMOVED: r->looks[__builtin_ctz(e->mask)].active = false; break;
        case MISSED:
            if (r->lossless) WRONG(r, "lossless: it missed %u", e->id);
            total.missed += e->id;
            r->looks[__builtin_ctz(e->mask)].missed += e->id;
            if (!r->looks[__builtin_ctz(e->mask)].active)
                WRONG(r, "it is told of %u missed of what it has removed", e->id);
            break;
        case KEPT: was_kept(r, e); break;
        case LOOKED:
            for (int i = 0; i < LOOKS; i++) settle_kept(r, &r->looks[i], e->sequence);
            break;
        default: was_message(r, e);
    }
}

void check_seats(venue *v) {
    for (uint32_t s = 0; s < SEATS; s++) {
        const seat *seat = &all->seats[s];
        const uint32_t count = atomic_load(&seat->count);
        reader r = {.venue = v, .seat = s};
        uint32_t calm = 0;
        for (r.at = 0; r.at <= count; r.at++) {
            for (; calm < GUSTS && (seat->calm_at[calm] == r.at || seat->calm_at[calm] == ABSENT); calm++)
                if (seat->calm_at[calm] != ABSENT) was_calm(&r, calm);
            if (r.at < count) read_event(&r, &seat->events[r.at]);
        }
        if (calm < GUSTS) violation("observer %u has fewer events than it had in a calm", s);
    }
}

void check_states(venue *v) {
    for (uint32_t g = 0; g < GUSTS; g++) {
        for (uint8_t n = STATE_A; n <= STATE_B; n++) {
            const state *s = &states[g][n];
            uint64_t sequence;
            uint32_t id, round;
            const bool set = newest_kept(v, n, calm_ends[g], &sequence, &id, &round);
            total.states++;
            if (set && s->result == 0 && s->sequence == sequence && s->stamp.id == id && s->stamp.round == round)
                continue;
            // Perhaps cleared by a poster that was killed before its call returned.
            if (s->result == -ENOENT && (!set || what_was.unknown[n * SUBJECTS] > 0)) continue;
            violation("kept: state of name %u is %d, %lu (%u), the newest is %d, %lu (%u, %u bytes) (round %u)", n,
                      s->result, (unsigned long)s->sequence, s->stamp.id, set, (unsigned long)sequence, id,
                      all->entries[id].size, all->round);
        }
    }
}

void check_leaks(venue *v, bool turned) {
    tidings_statistics s;
    OK(tidings_statistics_get(v->center, &s));
    uint32_t kept = 0;
    for (int n = 0; n < NAMES; n++) kept += v->keeps[n].set;
    if (s.participants != 1 || s.observers || s.observers_asleep || s.observers_lossless ||
        s.names > kept + (turned ? 0u : 2u) || (turned && s.chunks_used > kept))
        violation("leak: %u participants, %u observers, %u asleep, %u lossless, %u names, %u chunks are left; %u names "
                  "have a value (round %u)",
                  s.participants, s.observers, s.observers_asleep, s.observers_lossless, s.names, s.chunks_used, kept,
                  all->round);
    for (uint32_t i = 0; i < s.participants_max; i++) {
        tidings_participant_holds holds;
        tidings_participant_holds_get(v->center, i, &holds);
        if (holds.payloads)
            violation("leak: participant %u still holds %u payloads (round %u)", i, holds.payloads, all->round);
    }
    total.rounds++;
}
