#include "segment/position.h"

// Decided positions are a prefix, so galloping and then halving finds its end; at most 2 log2(slots) looks.
uint64_t tidings__frontier(const tidings__segment *s, uint64_t from) {
    uint64_t start = tidings__oldest(s);
    uint64_t limit = start + s->shape.slots;  // never decided: it would need E beyond start
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
        if (tidings__lap_ahead(w, tidings__lap_at(s, middle)) < 0) high = middle;
        else low = middle + 1;
    }
    return low;
}

bool tidings__ring_may_hold(const tidings__segment *s, uint32_t entry, bool retained) {
    // What is evicted while we look has been given to the entry before.
    uint64_t oldest = tidings__oldest(s), end = tidings__frontier(s, oldest);
    // Once round at most, whatever a peer does to EV in between.
    if (end - oldest > s->shape.slots) oldest = end - s->shape.slots;
    for (uint64_t p = end; p-- > oldest;) {
        tidings__cell *cell = tidings__cell_at(s, p);
        uint64_t w = tidings__acquire(&cell->claim);
        if (tidings__lap_ahead(w, tidings__lap_at(s, p)) != 0 || w & (TIDINGS__W_SKIPPED)) continue;
        bool written = tidings__acquire(&cell->commit) >> 1 == p;
        if (!written && !(w & TIDINGS__W_DIED)) return true;
        uint64_t topic = tidings__relaxed(&cell->topic);
        if (!written || (retained && !((topic >> 24) & TIDINGS__RECORD_RETAIN))) continue;
        if (((uint32_t)topic & 0xffffff) == entry || ((uint32_t)(topic >> 32) & 0xffffff) == entry) return true;
    }
    return false;
}
