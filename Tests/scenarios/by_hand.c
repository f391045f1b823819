#include "by_hand.h"

#include "eviction/evict.h"
#include "ring/verdict.h"

uint64_t claim_by(tidings_center *center, uint64_t owner) {
    tidings__segment *s = &center->segment;
    const uint64_t position = tidings__frontier(s, tidings__oldest(s));
    uint32_t holder;
    OK(tidings__make_room(center, position, &(tidings__effort){0}, &holder));
    tidings__cell *cell = tidings__cell_at(s, position);
    const uint64_t phase = ~tidings__relaxed(&cell->commit) & 1;
    tidings__set_release(&cell->claim, tidings__lap_at(s, position) << TIDINGS__W_LAP_SHIFT | phase << 32 | owner);
    return position;
}

void write_record(tidings_center *center, uint64_t position) {
    tidings__segment *s = &center->segment;
    tidings__cell *cell = tidings__cell_at(s, position), *model = tidings__cell_at(s, position - 1);
    tidings__set_relaxed(&cell->time, tidings__relaxed(&model->time));
    tidings__set_relaxed(&cell->size_pid, tidings__relaxed(&model->size_pid));
    tidings__set_relaxed(&cell->poster, tidings__relaxed(&model->poster));
    tidings__set_relaxed(&cell->route, tidings__relaxed(&model->route));
    for (uint32_t i = 0; i < TIDINGS__BODY_WORDS; i++)
        tidings__set_relaxed(&cell->body[i], tidings__relaxed(&model->body[i]));
}

void commit_at(tidings_center *center, uint64_t position) {
    tidings__cell *cell = tidings__cell_at(&center->segment, position);
    tidings__set_release(&cell->commit, tidings__c_of(position, tidings__relaxed(&cell->claim) >> 32 & 1));
}

void claims_of_the_dead(tidings__segment *s, uint32_t participant) {
    const tidings__participant_set dead = tidings__participant_only(participant);
    tidings__claims_reclaim(s, &dead);
}
