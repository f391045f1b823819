// Shared words are set by hand to what a death or a stop leaves behind; the next participant to come along repairs
// them.
#include "by_hand.h"
#include "eviction/pending_claim.h"
#include "posting/publisher.h"
#include "receiving/observer.h"
#include "registry/name_table.h"
#include "registry/tally.h"
#include "ring/verdict.h"

static tidings_center *center;
static tidings__segment *s;
static tidings_publisher *publisher;
static tidings_observer *observer;

static void begin(void) {
    center = join_center(256);
    s = &center->segment;
    publisher = publisher_of(center, NAME);
    observer = observer_of(center, NAME);
}

static void comes_next(uint64_t position) {
    const tidings_delivery delivery = receive(observer);
    CHECK(delivery.sequence == position, "%lu instead of %lu", (unsigned long)delivery.sequence,
          (unsigned long)position);
}

static void nothing_comes(void) {
    tidings_delivery delivery;
    const int result = tidings_next(observer, 0, &delivery);
    CHECK(result == -EAGAIN, "%d", result);
}

void skips_a_tombstone_at_once(void) {
    begin();
    for (uint32_t i = 0; i < 600; i++) {
        const uint64_t position = claim_by(center, TIDINGS__W_DIED | (i % 2 ? TIDINGS__W_SKIPPED : 0));
        if (i % 3 == 0) post_number(publisher, i);
        if (i % 3 == 0)
            comes_next(position + 1);
        else
            nothing_comes();
        CHECK(tidings__slot_status(s, position) == TIDINGS__VOID, "it counts for no observer");
    }
    CHECK(statistics_of(center).revoked == 0, "there was no claim to revoke");
}

// The owner is in another namespace and never commits: its claim is revoked once an observer waits, and freed once its
// participant is reclaimed.
void revokes_a_claim_whose_owner_never_comes_back(void) {
    begin();
    const uint64_t position = claim_by(center, TIDINGS__W_FOREIGN | 77);
    post_number(publisher, 1);
    comes_next(position + 1);
    CHECK(statistics_of(center).revoked == 1, "%lu", (unsigned long)statistics_of(center).revoked);
    // Every participant now reads the same verdict, also the returning owner.
    CHECK(tidings__slot_status(s, position) == TIDINGS__VOID, "void");
    commit_at(center, position);
    CHECK(tidings__slot_status(s, position) == TIDINGS__VOID, "void, though it was committed");
    nothing_comes();
    CHECK(!tidings__verdict_of_owner(tidings__cell_at(s, position), position), "its owner is told");
    CHECK(tidings__slot_status(s, position) == TIDINGS__VOID, "void");
}

static bool busy(uint64_t position) {
    const tidings__cell *cell = tidings__cell_at(s, position);
    return tidings__busy(tidings__relaxed(&cell->claim), tidings__relaxed(&cell->commit),
                         tidings__relaxed(&cell->verdict));
}

// Its owner goes on three laps later, commits, and reads its verdict: only then is the slot free, and then it is used.
void a_revoked_slot_serves_again_once_its_owner_knows(void) {
    begin();
    const uint64_t position = claim_by(center, TIDINGS__W_FOREIGN | 77);
    for (uint32_t i = 0; i < 3 * 256; i++)
        CHECK(post_number(publisher, i) % 256 != position % 256, "post %u used a slot that is still held", i);
    CHECK(busy(position), "its owner hasn't moved");
    commit_at(center, position);
    CHECK(busy(position), "its owner doesn't know yet");
    CHECK(!tidings__verdict_of_owner(tidings__cell_at(s, position), position), "its owner is told");
    CHECK(!busy(position), "its owner has left it");
    bool used = false;
    for (uint32_t i = 0; i < 256; i++) used |= post_number(publisher, i) % 256 == position % 256;
    CHECK(used, "the slot is not used again");
    const account account = drain(observer);
    CHECK(account.received + account.missed == 4 * 256, "%lu + %lu", (unsigned long)account.received,
          (unsigned long)account.missed);
}

void passes_over_a_slot_that_is_busy_from_an_earlier_lap(void) {
    begin();
    tidings_observer *late = observer_of(center, NAME);
    post_number(publisher, 0);
    const uint64_t position = claim_by(center, TIDINGS__W_FOREIGN | 77);
    uint64_t posted = 1;
    for (uint32_t i = 0; i < 5 * 256; i++, posted++)
        CHECK(post_number(publisher, i) % 256 != position % 256, "post %u used a slot that is still held", i);
    account account = drain(late);
    CHECK(account.received + account.missed == posted, "%lu + %lu of %lu", (unsigned long)account.received,
          (unsigned long)account.missed, (unsigned long)posted);
    // Dead, at last: its slot serves again, and is counted again.
    claims_of_the_dead(s, 77);
    bool used = false;
    for (uint32_t i = 0; i < 256; i++, posted++) used |= post_number(publisher, i) % 256 == position % 256;
    CHECK(used, "the slot is not used again");
    const struct account more = drain(late);
    CHECK(more.received == 256 && more.missed == 0, "%lu + %lu", (unsigned long)more.received,
          (unsigned long)more.missed);
}

void finishes_a_verdict_that_a_dead_revoker_left_open(void) {
    begin();
    // Not committed: dead, for all.
    uint64_t position = claim_by(center, TIDINGS__W_FOREIGN | 77);
    tidings__set_release(&tidings__cell_at(s, position)->verdict, tidings__v_of(position, TIDINGS__V_PENDING));
    post_number(publisher, 1);
    comes_next(position + 1);
    CHECK(tidings__slot_status(s, position) == TIDINGS__VOID, "void");
    claims_of_the_dead(s, 77);
    // Committed in the meantime: each reader of the position accepts it.
    position = claim_by(center, TIDINGS__W_FOREIGN | 78);
    tidings__set_release(&tidings__cell_at(s, position)->verdict, tidings__v_of(position, TIDINGS__V_PENDING));
    write_record(center, position);
    commit_at(center, position);
    comes_next(position);
    CHECK(tidings__verdict_of_owner(tidings__cell_at(s, position), position), "its owner is told that it counts");
    // Committed, and its owner is the first to look.
    position = claim_by(center, TIDINGS__W_FOREIGN | 79);
    tidings__set_release(&tidings__cell_at(s, position)->verdict, tidings__v_of(position, TIDINGS__V_PENDING));
    write_record(center, position);
    commit_at(center, position);
    CHECK(tidings__verdict_of_owner(tidings__cell_at(s, position), position), "accepted");
    comes_next(position);
    // Pending when the ring comes round: the evicting thread decides it, and it counts for no observer.
    tidings_observer *late = observer_of(center, NAME);
    position = claim_by(center, TIDINGS__W_FOREIGN | 80);
    tidings__set_release(&tidings__cell_at(s, position)->verdict, tidings__v_of(position, TIDINGS__V_PENDING));
    for (uint32_t i = 0; i < 600; i++) post_number(publisher, i);
    const account account = drain(late);
    CHECK(account.received + account.missed == 600, "%lu + %lu", (unsigned long)account.received,
          (unsigned long)account.missed);
}

// Eviction of a range with two names; the evicting thread died after it added half of their tallies.
void finishes_an_eviction_that_was_left_half_way(void) {
    begin();
    tidings_publisher *other = publisher_of(center, "other");
    tidings_observer *of_other = observer_of(center, "other"), *of_all = observer_of(center, NULL);
    uint64_t posted[2] = {0};
    for (uint32_t round = 0; round < 40; round++) {
        for (uint32_t i = 0; i < 200; i++) {
            const bool which = random_below(3) == 0;
            post_number(which ? other : publisher, i);
            posted[which]++;
        }
        const uint64_t start = tidings__oldest(s);
        const uint32_t length = 1 + (uint32_t)random_below(TIDINGS__EV_LENGTH_MAX);
        CHECK(tidings__ev_length(tidings__acquire(&s->header->eviction.word)) == 0, "no eviction is open");
        tidings__set_release(&s->header->eviction.word, tidings__ev_evicting(start, length));
        uint64_t counts[2] = {0}, valid = 0;
        const uint32_t entries[2] = {tidings__name_find(s, &publisher->key), tidings__name_find(s, &other->key)};
        for (uint64_t p = start; p < start + length; p++) {
            if (tidings__slot_status(s, p) != TIDINGS__VALID) continue;
            const uint32_t entry = tidings__route_name(tidings__route(tidings__cell_at(s, p)));
            for (int i = 0; i < 2; i++) counts[i] += entry == entries[i];
            valid++;
        }
        for (int i = 0; i < 2; i++)
            if (counts[i] && round & (1u << i))
                tidings__tally_add(&s->names[entries[i]].tally, counts[i], start + length);
        if (valid && round & 4) tidings__tally_add(&s->names[TIDINGS__NAME_ALL].tally, valid, start + length);
        // And added once more by a helper that comes too late.
        for (uint32_t i = 0; i < 200; i++) {
            post_number(publisher, i);
            posted[0]++;
        }
        CHECK(tidings__oldest(s) >= start + length, "finished");
        for (int i = 0; i < 2; i++) tidings__tally_add(&s->names[entries[i]].tally, 1000, start + length);
    }
    const account first = drain(observer), second = drain(of_other), third = drain(of_all);
    CHECK(first.received + first.missed == posted[0], "%lu + %lu of %lu", (unsigned long)first.received,
          (unsigned long)first.missed, (unsigned long)posted[0]);
    CHECK(second.received + second.missed == posted[1], "%lu + %lu of %lu", (unsigned long)second.received,
          (unsigned long)second.missed, (unsigned long)posted[1]);
    CHECK(third.received + third.missed == posted[0] + posted[1], "%lu + %lu", (unsigned long)third.received,
          (unsigned long)third.missed);
}

// An evicting thread stands in an eviction: its records are counted but its end is not published. An observer is lapped
// then, in the middle of its history, and is told of these records as missed. After that it must be told nothing from
// before them.
void history_lapped_during_an_eviction_is_told_in_order(void) {
    begin();  // so that the name has an entry, which counts
    for (uint32_t i = 0; i < 200; i++) post_number(publisher, i);
    tidings_observer *late = observer_with(center, NAME, 0, TIDINGS_ADD_HISTORY);
    for (uint32_t i = 200; i < 448; i++) post_number(publisher, i);
    const uint64_t oldest = tidings__oldest(s);
    CHECK(oldest == 192, "%lu", (unsigned long)oldest);
    tidings__key key;
    tidings__key_make(&key, NAME, strlen(NAME), NULL, 0);
    tidings__tally_add(&s->names[tidings__name_find(s, &key)].tally, 64, oldest + 64);
    tidings__set_release(&s->header->eviction.word, tidings__ev_evicting(oldest, 64));
    uint64_t told = 0, received = 0;
    tidings_delivery delivery;
    int result;
    while ((result = tidings_next(late, 0, &delivery)) == 0) {
        if (delivery.kind == TIDINGS_DELIVERY_MISSED) {
            told += delivery.missed;
            continue;
        }
        CHECK(stamp_of(&delivery).number == told + received, "number %u comes after %lu missed and %lu received",
              stamp_of(&delivery).number, (unsigned long)told, (unsigned long)received);
        received++;
    }
    CHECK(result == -EAGAIN && told + received == 448, "%d: %lu + %lu", result, (unsigned long)told,
          (unsigned long)received);
}

// What each question about the cell of this position answers, as one number each, for a cell with these words.
typedef struct answers {
    uint64_t of[9];
} answers;

static answers ask(uint64_t position, uint64_t w, uint64_t c, uint64_t v) {
    tidings__cell *cell = tidings__cell_at(s, position);
    answers a = {0};
    for (int revoked = 0; revoked < 2; revoked++) {
        atomic_store(&cell->claim, w);
        atomic_store(&cell->commit, c);
        atomic_store(&cell->verdict, v);
        if (revoked) tidings__revoke(s, position);
        a.of[revoked] = (uint64_t)tidings__slot_status(s, position);
        a.of[2 + revoked] = busy(position);
        // The next one of the slot waits no longer than for others.
        a.of[4 + revoked] = tidings__revoke_timeout(s, position + 1);
        tidings_orphans orphans;
        OK(tidings_orphans_get(center, &orphans));
        a.of[6 + revoked] = orphans.claims + 1000 * orphans.slots_held + 1000000 * orphans.verdicts;
    }
    // Its owner comes after all, and asks whether it counts.
    atomic_store(&cell->commit, tidings__c_of(position, w >> 32 & 1));
    a.of[8] = cell->verdict >> 2 != position || tidings__verdict_of_owner(cell, position);
    atomic_store(&cell->claim, 0);
    atomic_store(&cell->commit, TIDINGS__C_NEVER);
    atomic_store(&cell->verdict, TIDINGS__V_NEVER);
    return a;
}

// C and V of 0 say something of position 0: as good as nothing, in every slot but its own. (Such a cell can last: on
// each lap, its claimer may die.)
void a_cell_of_zeros_says_nothing_of_any_position_it_will_have(void) {
    begin();
    const uint64_t laps[] = {0, 1, 2, UINT64_C(1) << 20, (UINT64_C(1) << 30) + 3, UINT64_C(1) << 43};
    const uint64_t owners[] = {0,
                               TIDINGS__W_FOREIGN | 77,
                               4194303,
                               TIDINGS__W_DIED,
                               TIDINGS__W_SKIPPED | 4194303,
                               TIDINGS__W_SKIPPED | TIDINGS__W_FOREIGN | 77};
    for (uint32_t slot = 1; slot < 256; slot = slot < 3 ? slot + 1 : slot * 2 + 1) {
        for (uint32_t i = 0; i < sizeof laps / sizeof laps[0]; i++) {
            const uint64_t position = laps[i] * 256 + slot;
            for (uint32_t k = 0; k < 3 * (sizeof owners / sizeof owners[0]); k++) {
                // Of the lap before, of this one, of the next.
                const uint64_t w = ((tidings__lap_at(s, position) + k % 3 - 1) & TIDINGS__LAP_MASK)
                                       << TIDINGS__W_LAP_SHIFT |
                                   (owners[k / 3] ? TIDINGS__W_PHASE : 0) | owners[k / 3];
                const answers never = ask(position, w, TIDINGS__C_NEVER, TIDINGS__V_NEVER),
                              zeros = ask(position, w, 0, 0);
                for (uint32_t n = 0; n < 9; n++)
                    CHECK(never.of[n] == zeros.of[n], "position %lu, claim %lx: answer %u is %lu, and %lu of zeros",
                          (unsigned long)position, (unsigned long)w, n, (unsigned long)never.of[n],
                          (unsigned long)zeros.of[n]);
            }
        }
    }
    CHECK(tidings__slot_status(s, 0) == TIDINGS__UNDECIDED, "slot 0 is born otherwise");
    CHECK(ask(0, 0, 0, 0).of[0] != TIDINGS__UNDECIDED, "and this is why");
}
