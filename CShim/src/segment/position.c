// The search for the frontier, and walks of the whole ring.
#include "segment/position.h"

#include "segment/route.h"

// Decided positions are a prefix of the order. So an exponential search, followed by a binary search, finds the end of
// the prefix. It reads at most 2 log2(slots) cells. A `from` that is not between E and E + slots is replaced by E.
uint64_t tidings__frontier(const tidings__segment *s, uint64_t from) {
    uint64_t start = tidings__oldest(s);
    uint64_t limit = start + s->shape.slots;  // undecided: it can be claimed only after E has moved beyond start
    uint64_t low = (int64_t)(from - start) < 0 || from - start > s->shape.slots ? start : from;
    uint64_t step = 1;
    uint64_t high = limit;
    for (uint64_t probe = low; probe < limit; probe = low + step, step *= 2) {
        uint64_t w = tidings__acquire(&tidings__cell_at(s, probe)->claim);
        if (tidings__lap_ahead(w, tidings__lap_at(s, probe)) < 0) {
            high = probe;
            break;
        }
        low = probe + 1;
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        uint64_t w = tidings__acquire(&tidings__cell_at(s, middle)->claim);
        if (tidings__lap_ahead(w, tidings__lap_at(s, middle)) < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

// Stores the name entries of the record at a position (`retained`: only of a retained record), and returns their
// number. ANY: the record is being written, so its names are not known.
#define ANY 3
static uint32_t names_at(const tidings__segment *s, uint64_t position, bool retained, uint32_t names[2]) {
    const tidings__cell *cell = tidings__cell_at(s, position);
    const uint64_t w = tidings__acquire(&cell->claim);
    if (tidings__lap_ahead(w, tidings__lap_at(s, position)) != 0 || w & (TIDINGS__W_SKIPPED)) return 0;
    const bool written = tidings__acquire(&cell->commit) >> 1 == position;
    if (!written) return w & TIDINGS__W_DIED ? 0 : ANY;
    // Relaxed: ordered after the acquire load of C.
    const uint64_t route = tidings__route(cell);
    if (retained && !(tidings__route_flags(route) & TIDINGS__RECORD_RETAIN)) return 0;
    names[0] = tidings__route_name(route);
    names[1] = tidings__route_name_subject(route);
    return 2;
}

// The positions to walk: from `*oldest` to before the result. If a position is evicted during the walk, its retained
// value is in the name entry by then.
static uint64_t span(const tidings__segment *s, uint64_t *oldest) {
    *oldest = tidings__oldest(s);
    const uint64_t end = tidings__frontier(s, *oldest);
    // At most one lap, even if a hostile peer changes EV between the two loads.
    if (end - *oldest > s->shape.slots) *oldest = end - s->shape.slots;
    return end;
}

bool tidings__ring_may_hold(const tidings__segment *s, uint32_t entry, bool retained) {
    uint64_t oldest;
    for (uint64_t p = span(s, &oldest); p-- > oldest;) {
        uint32_t names[2];
        const uint32_t count = names_at(s, p, retained, names);
        if (count == ANY || (count && (names[0] == entry || names[1] == entry))) return true;
    }
    return false;
}

bool tidings__ring_values(const tidings__segment *s, uint64_t *entries) {
    bool any = false;
    uint64_t oldest;
    for (uint64_t p = span(s, &oldest); p-- > oldest;) {
        uint32_t names[2];
        const uint32_t count = names_at(s, p, true, names);
        any |= count == ANY;
        for (uint32_t i = 0; count != ANY && i < count; i++)
            if (names[i] < s->shape.names) entries[names[i] / 64] |= UINT64_C(1) << names[i] % 64;
    }
    return any;
}
