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
