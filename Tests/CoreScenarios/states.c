// Shared words set by hand to what a death or a stop leaves behind; then the next one comes along.
#include "center/observer.h"
#include "registry/tally.h"
#include "ring/verdict.h"
#include "scenario.h"

static uint64_t post(tidings_topic *topic) {
    uint64_t sequence;
    OK(tidings_post(topic, "x", 1, NULL, &sequence));
    return sequence;
}

static uint64_t receive(tidings_observer *observer) {
    tidings_delivery delivery;
    OK(tidings_next(observer, -1, &delivery));
    CHECK(delivery.kind == TIDINGS_DELIVERY_MESSAGE, "missed %lu", delivery.missed);
    return delivery.sequence;
}

// As if `owner` had claimed the next position and done no more.
static uint64_t claimed(tidings__segment *s, tidings_center *center, uint64_t owner) {
    uint64_t position = tidings__frontier(s, tidings__relaxed(&center->hint));
    tidings__cell *cell = tidings__cell_at(s, position);
    uint64_t phase = ~tidings__relaxed(&cell->commit) & 1;
    tidings__set_release(&cell->claim, tidings__lap_at(s, position) << TIDINGS__W_LAP_SHIFT | phase << 32 | owner);
    return position;
}

void left_half_done(void) {
    tidings_center *center = center_open(256);
    tidings__segment *s = &center->segment;
    tidings_topic *topic = topic_open(center, NAME);
    tidings_observer *observer = observer_open(center, NAME, 0, 0);

    // A tombstone, as the kernel writes it: skipped, at once.
    uint64_t position = claimed(s, center, TIDINGS__W_DIED);
    CHECK(post(topic) == position + 1 && receive(observer) == position + 1, "after a tombstone");

    // A claim whose owner never commits: revoked by the first observer that waits.
    position = claimed(s, center, TIDINGS__W_FOREIGN | 77);
    CHECK(post(topic) == position + 1 && receive(observer) == position + 1, "after a stopped poster");
    CHECK(tidings__look(s, position) == TIDINGS__VOID, "revoked");
    uint64_t stopped = position;

    // A verdict that a dead revoker left open: finished by whoever comes, one way or the other.
    position = claimed(s, center, TIDINGS__W_FOREIGN | 78);
    tidings__set_release(&tidings__cell_at(s, position)->verdict, tidings__v_of(position, TIDINGS__V_PENDING));
    CHECK(post(topic) == position + 1 && receive(observer) == position + 1, "after a pending verdict");

    // Its slot is passed over on the next lap, without waiting, as long as its owner is stopped; the count stays exact.
    uint64_t delivered = 0, missed = 0, posts = 3 * 256;
    for (uint64_t i = 0; i < posts; i++) CHECK(post(topic) % 256 != stopped % 256, "a slot that is somebody's was used");
    tidings_delivery delivery;
    while (tidings_next(observer, 0, &delivery) == 0) {
        if (delivery.kind == TIDINGS_DELIVERY_MISSED) missed += delivery.missed;
        else delivered++;
    }
    CHECK(delivered + missed == posts, "%lu + %lu", delivered, missed);

    // The owner comes back: commits, finds its verdict, and the slot serves again.
    tidings__cell *cell = tidings__cell_at(s, stopped);
    uint64_t w = tidings__relaxed(&cell->claim);
    tidings__set_release(&cell->commit, tidings__c_of(stopped, w >> 32 & 1));
    CHECK(tidings__busy(w, tidings__relaxed(&cell->commit), tidings__relaxed(&cell->verdict)), "not free before its owner knows");
    CHECK(!tidings__verdict_of_owner(cell, stopped), "dead");
    CHECK(!tidings__busy(w, tidings__relaxed(&cell->commit), tidings__relaxed(&cell->verdict)), "free");
    bool used = false;
    for (int i = 0; i < 256; i++) used |= post(topic) % 256 == stopped % 256;
    CHECK(used, "the slot is used again");

    // An eviction left after its tallies were half added: the next poster finishes it, and nothing is counted twice.
    uint32_t index = tidings__name_find(s, &topic->key);
    uint64_t start = tidings__oldest(s), count, end, expected;
    tidings__set_release(&s->header->eviction.word, tidings__ev_evicting(start, 8));
    tidings__tally_read(&s->names[index].tally, &count, &end);
    uint64_t valid = 0;
    for (uint64_t p = start; p < start + 8; p++) valid += tidings__look(s, p) == TIDINGS__VALID;
    tidings__tally_add(&s->names[index].tally, valid, start + 8);
    for (int i = 0; i < 128; i++) post(topic);
    tidings__tally_read(&s->names[index].tally, &expected, &end);
    CHECK(tidings__oldest(s) >= start + 8 && expected - count <= end - start && expected - count >= end - start - 1, "%lu records in %lu positions",
          expected - count, end - start);

    // A name entry that a dead participant was preparing or taking out.
    tidings__key key;
    tidings__key_make(&key, "left", 4, NULL, 0);
    uint32_t left;
    OK(tidings__name_join(s, center->participant, &key, observer->index, &left));
    tidings__name_leave(s, left, observer->index);
    uint64_t state = tidings__relaxed(&s->names[left].state);
    tidings__set_release(&s->names[left].state, (state & ~UINT64_C(0xfffff)) | 99 << 4 | TIDINGS__NAME_LEAVING);
    uint32_t again;
    OK(tidings__name_join(s, center->participant, &key, observer->index, &again));
    CHECK(again == left, "a new member turns it back");
    tidings__name_leave(s, left, observer->index);
    tidings__set_release(&s->names[left].state, (state & ~UINT64_C(0xfffff)) | 99 << 4 | TIDINGS__NAME_GONE);
    CHECK(tidings__name_find(s, &key) == TIDINGS__NAME_NONE, "gone");
    tidings__name_tidy(s, 99);
    OK(tidings__name_join(s, center->participant, &key, observer->index, &again));
    CHECK(again != left && tidings__name_find(s, &key) == again, "another entry, as long as the ring may know the old one");
    tidings_observer_close(observer);
    tidings_topic_close(topic);
    tidings_close(center);
}
