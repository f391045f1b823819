// What was posted where: as posters were told, and as observers saw it of posters that were killed before they were
// told.
#include "director.h"

truth what_was;
static size_t room;

uint64_t count_of(uint8_t filter, uint64_t from, uint64_t to) {
    const truth *t = &what_was;
    if (from < t->base) from = t->base;
    if (to <= from) return 0;
    if (to > t->end) to = t->end;
    return t->before[filter][to - t->base] - t->before[filter][from - t->base];
}

static void put(uint32_t id) {
    entry *e = &all->entries[id];
    if (e->sequence < what_was.base || e->sequence >= what_was.end) {
        violation("post %u has sequence %lu, the order ends at %lu", id, (unsigned long)e->sequence,
                  (unsigned long)what_was.end);
        return;
    }
    place *p = &what_was.at[e->sequence - what_was.base];
    if (p->publisher != NO_PUBLISHER && (p->id != id || p->round != all->round)) {
        violation("order: posts %u and %u have the same sequence %lu", p->id, id, (unsigned long)e->sequence);
        return;
    }
    if (e->sequence < e->after)
        violation("order: post %u got sequence %lu, after %lu had returned", id, (unsigned long)e->sequence,
                  (unsigned long)e->after - 1);
    *p = (place){id, all->round, e->row, e->number, e->publisher, e->retained, e->size == 0};
}

static void seen(uint32_t id, uint64_t sequence, uint8_t publisher, const char *who) {
    entry *e = &all->entries[id];
    const uint32_t how = atomic_load(&e->state);
    if (how == INTENDED || how == LEFT_AS_WILL) {
        e->sequence = sequence;
        atomic_store(&e->state, SEEN);
        put(id);
    } else if (how == REFUSED || how == NOT_YET) {
        violation("refused: post %u was not posted, its poster was told, and %s got it", id, who);
    } else if (e->sequence != sequence) {
        violation("order: post %u has sequence %lu, and for %s %lu", id, (unsigned long)e->sequence, who,
                  (unsigned long)sequence);
    }
    if (e->publisher != publisher)
        violation("post %u has name and subject %u, and for %s %u", id, e->publisher, who, publisher);
}

static void seen_empty(const event *e) {
    if (e->sequence < what_was.base || e->sequence >= what_was.end) return;
    const place *p = &what_was.at[e->sequence - what_was.base];
    if (p->publisher != NO_PUBLISHER) {
        if (!p->empty || p->publisher != e->publisher)
            violation("something empty came at sequence %lu, where %u is", (unsigned long)e->sequence, p->id);
        return;
    }
    for (uint32_t id = 0; id < ENTRIES; id++) {
        entry *of = &all->entries[id];
        const uint32_t how = atomic_load(&of->state);
        if ((how != INTENDED && how != UNPLACED) || of->size != 0 || of->pid != (int32_t)e->id ||
            of->publisher != e->publisher)
            continue;
        of->sequence = e->sequence;
        atomic_store(&of->state, SEEN);
        put(id);
        return;
    }
    violation("something empty came at sequence %lu that was never posted", (unsigned long)e->sequence);
}

// The witness is told first; `was_message` compares the other observers' notices.
static void notice_seen(const event *e) {
    if (e->sequence < what_was.base || e->sequence >= what_was.end) return;
    place *p = &what_was.at[e->sequence - what_was.base];
    if (p->publisher == NO_PUBLISHER) *p = (place){.id = e->id, .round = all->round, .publisher = NOTICES};
}

static void prepare(venue *v) {
    truth *t = &what_was;
    tidings_statistics statistics;
    OK(tidings_statistics_get(v->center, &statistics));
    const uint64_t carried = v->begins < v->slots ? v->begins : v->slots;
    t->base = v->begins - carried;
    t->end = statistics.posted;
    const size_t size = t->end - t->base + 1;
    if (size > room) {
        room = 2 * size;
        t->at = realloc(t->at, room * sizeof *t->at);
        for (int f = 0; f < FILTERS; f++) t->before[f] = realloc(t->before[f], room * sizeof *t->before[f]);
    }
    for (size_t i = 0; i < size; i++) t->at[i] = (place){.publisher = NO_PUBLISHER};
    if (carried && v->before) memcpy(t->at, v->before + (v->slots - carried), carried * sizeof *t->at);
}

static void see_all(bool empty) {
    // The witness first: it sees all of them, in order.
    for (uint32_t s = SEATS; s-- > 0;) {
        char who[32];
        snprintf(who, sizeof who, "observer %u", s);
        for (uint32_t i = 0, count = atomic_load(&all->seats[s].count); i < count; i++) {
            const event *e = &all->seats[s].events[i];
            if ((e->kind != MESSAGE && e->kind != KEPT) || e->flags & OF_OLD ||
                (e->flags & EMPTY) != (empty ? EMPTY : 0))
                continue;
            if (e->publisher == NOTICES)
                notice_seen(e);
            else if (empty)
                seen_empty(e);
            else
                seen(e->id, e->sequence, e->publisher, who);
        }
    }
}

void truth_find(venue *v) {
    truth *t = &what_was;
    prepare(v);
    for (uint32_t id = 0; id < ENTRIES; id++)
        if (atomic_load(&all->entries[id].state) == RETURNED) put(id);
    see_all(false);
    for (uint32_t g = 0; g < GUSTS; g++)
        for (uint32_t n = 0; n < NAMES; n++)
            if (states[g][n].result == 0 && states[g][n].stamp.round == all->round)
                seen(states[g][n].stamp.id, states[g][n].sequence, (uint8_t)(n * SUBJECTS), "a reader of the state");
    see_all(true);
    static uint32_t last[ROWS];
    memset(last, 0, sizeof last);
    memset(t->unknown, 0, sizeof t->unknown);
    for (uint64_t i = v->begins - t->base; i < t->end - t->base; i++) {
        const place *p = &t->at[i];
        if (p->publisher == NO_PUBLISHER || p->publisher == NOTICES || p->round != all->round) continue;
        if (p->number <= last[p->row])
            violation("order: of poster %u, number %u comes after %u", p->row, p->number, last[p->row]);
        last[p->row] = p->number;
        total.posts++;
    }
    for (uint32_t id = 0; id < ENTRIES; id++) {
        const entry *e = &all->entries[id];
        const uint32_t how = atomic_load(&e->state);
        total.refused += how == REFUSED;
        if (how == UNPLACED) violation("lost: post %u returned, and no observer saw it", id);
        if (how != INTENDED) continue;
        if (atomic_load(&all->row_ended[e->row])) violation("post %u of a poster that ended well never returned", id);
        // The witness hears everything and loses nothing. If it hasn't heard it, it was never posted.
        if (all->witnessed) continue;
        total.unknown++;
        for (uint8_t f = 0; f < FILTERS; f++) t->unknown[f] += matches(f, e->publisher);
    }
    for (uint8_t f = 0; f < FILTERS; f++) {
        t->before[f][0] = 0;
        for (uint64_t i = 0; i < t->end - t->base; i++)
            t->before[f][i + 1] = t->before[f][i] +
                                  (t->at[i].publisher != NO_PUBLISHER && matches(f, t->at[i].publisher));
    }
}

void truth_leave(venue *v) {
    const truth *t = &what_was;
    if (!v->before) v->before = malloc(v->slots * sizeof *v->before);
    for (uint32_t i = 0; i < v->slots; i++) {
        const uint64_t position = t->end - v->slots + i;
        v->before[i] = t->end >= v->slots - i && position >= t->base ? t->at[position - t->base]
                                                                     : (place){.publisher = NO_PUBLISHER};
    }
    for (uint8_t n = 0; n < NAMES; n++) {
        struct keep keep = {0};
        keep.set = newest_kept(v, n, t->end, &keep.sequence, &keep.id, &keep.round);
        // Perhaps cleared by an unknown poster: the check has seen to it that this may be.
        // A last will that was posted after the last calm is a newer value.
        if ((n == STATE_A || n == STATE_B) && keep.sequence < calm_ends[GUSTS - 1])
            keep.set = keep.set && states[GUSTS - 1][n].result == 0;
        v->keeps[n] = keep;
    }
}

bool newest_kept(const venue *v, uint8_t name, uint64_t before, uint64_t *sequence, uint32_t *id, uint32_t *round) {
    const truth *t = &what_was;
    if (before > t->end) before = t->end;
    for (uint64_t p = before; p > v->begins; p--) {
        const place *place = &t->at[p - 1 - t->base];
        if (place->publisher == NO_PUBLISHER || !place->retained || place->publisher / SUBJECTS != name) continue;
        *sequence = p - 1;
        *id = place->id;
        *round = place->round;
        return !place->empty;
    }
    *sequence = v->keeps[name].sequence;
    *id = v->keeps[name].id;
    *round = v->keeps[name].round;
    return v->keeps[name].set;
}
