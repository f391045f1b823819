#include "ring/claim.h"

void tidings__claims_tidy(const tidings__segment *s, uint32_t participant) {
    uint64_t owner = TIDINGS__W_FOREIGN | participant;
    for (uint32_t slot = 0; slot < s->shape.slots; slot++) {
        tidings__cell *cell = &s->cells[slot];
        uint64_t w = tidings__acquire(&cell->claim);
        if ((w & (TIDINGS__W_FOREIGN | TIDINGS__W_OWNER_MASK)) != owner || !tidings__busy(w, tidings__acquire(&cell->commit), tidings__acquire(&cell->verdict)))
            continue;
        tidings__cas(&cell->claim, &w, (w & ~(TIDINGS__W_FOREIGN | TIDINGS__W_OWNER_MASK)) | TIDINGS__W_DIED);
    }
}
