// Shared words set by hand to what a death or a stop leaves behind; the next one who comes along makes good.
#include "center/observer.h"
#include "peer.h"
#include "registry/doorbell.h"
#include "registry/tally.h"
#include "ring/chunk.h"
#include "ring/verdict.h"

static tidings_center *center;
static tidings__segment *s;
static tidings_topic *topic;
static tidings_observer *observer;

static void begin(void) {
    center = join_center(256);
    s = &center->segment;
    topic = topic_of(center, NAME);
    observer = observer_of(center, NAME);
}

// As if `owner` had claimed the next position and done no more. Its position.
static uint64_t claim_by(uint64_t owner) {
    const uint64_t position = tidings__frontier(s, tidings__oldest(s));
    uint32_t holder;
    OK(tidings__make_room(center, position, &holder));
    tidings__cell *cell = tidings__cell_at(s, position);
    const uint64_t phase = ~tidings__relaxed(&cell->commit) & 1;
    tidings__set_release(&cell->claim, tidings__lap_at(s, position) << TIDINGS__W_LAP_SHIFT | phase << 32 | owner);
    return position;
}

// A whole record at a claimed position, up to but without its commit.
static void write_record(uint64_t position) {
    tidings__cell *cell = tidings__cell_at(s, position), *model = tidings__cell_at(s, position - 1);
    tidings__set_relaxed(&cell->time, tidings__relaxed(&model->time));
    tidings__set_relaxed(&cell->size_pid, tidings__relaxed(&model->size_pid));
    tidings__set_relaxed(&cell->poster, tidings__relaxed(&model->poster));
    tidings__set_relaxed(&cell->topic, tidings__relaxed(&model->topic));
    for (uint32_t i = 0; i < TIDINGS__BODY_WORDS; i++) tidings__set_relaxed(&cell->body[i], tidings__relaxed(&model->body[i]));
}

static void commit_at(uint64_t position) {
    tidings__cell *cell = tidings__cell_at(s, position);
    tidings__set_release(&cell->commit, tidings__c_of(position, tidings__relaxed(&cell->claim) >> 32 & 1));
}

static void comes_next(uint64_t position) {
    const tidings_delivery delivery = receive(observer);
    CHECK(delivery.sequence == position, "%lu instead of %lu", (unsigned long)delivery.sequence, (unsigned long)position);
}

static void nothing_comes(void) {
    tidings_delivery delivery;
    const int result = tidings_next(observer, 0, &delivery);
    CHECK(result == -EAGAIN, "%d", result);
}

void skips_a_tombstone_at_once(void) {
    begin();
    for (uint32_t i = 0; i < 600; i++) {
        const uint64_t position = claim_by(TIDINGS__W_DIED | (i % 2 ? TIDINGS__W_SKIPPED : 0));
        if (i % 3 == 0) post_number(topic, i);
        if (i % 3 == 0) comes_next(position + 1);
        else nothing_comes();
        CHECK(tidings__look(s, position) == TIDINGS__VOID, "it counts for nobody");
    }
    CHECK(statistics_of(center).revoked == 0, "there was nobody to ask");
}

// Lives in another namespace, never to commit: revoked once somebody waits, freed once its participant is tidied up.
void revokes_a_claim_whose_owner_never_comes_back(void) {
    begin();
    const uint64_t position = claim_by(TIDINGS__W_FOREIGN | 77);
    post_number(topic, 1);
    comes_next(position + 1);
    CHECK(statistics_of(center).revoked == 1, "%lu", (unsigned long)statistics_of(center).revoked);
    // Everybody says the same of it from now on, the returning owner too.
    CHECK(tidings__look(s, position) == TIDINGS__VOID, "void");
    commit_at(position);
    CHECK(tidings__look(s, position) == TIDINGS__VOID, "void, though it was committed");
    nothing_comes();
    CHECK(!tidings__verdict_of_owner(tidings__cell_at(s, position), position), "its owner is told");
    CHECK(tidings__look(s, position) == TIDINGS__VOID, "void");
}

void passes_over_a_slot_that_is_busy_from_an_earlier_lap(void) {
    begin();
    tidings_observer *late = observer_of(center, NAME);
    post_number(topic, 0);
    const uint64_t position = claim_by(TIDINGS__W_FOREIGN | 77);
    uint64_t posted = 1;
    for (uint32_t i = 0; i < 5 * 256; i++, posted++)
        CHECK(post_number(topic, i) % 256 != position % 256, "post %u used a slot that is somebody's", i);
    account account = drain(late);
    CHECK(account.received + account.missed == posted, "%lu + %lu of %lu", (unsigned long)account.received, (unsigned long)account.missed, (unsigned long)posted);
    // Dead, at last: its slot serves again, and is counted again.
    tidings__claims_tidy(s, 77);
    bool used = false;
    for (uint32_t i = 0; i < 256; i++, posted++) used |= post_number(topic, i) % 256 == position % 256;
    CHECK(used, "the slot is not used again");
    const struct account more = drain(late);
    CHECK(more.received == 256 && more.missed == 0, "%lu + %lu", (unsigned long)more.received, (unsigned long)more.missed);
}

void finishes_a_verdict_that_a_dead_revoker_left_open(void) {
    begin();
    // Not committed: dead, for all.
    uint64_t position = claim_by(TIDINGS__W_FOREIGN | 77);
    tidings__set_release(&tidings__cell_at(s, position)->verdict, tidings__v_of(position, TIDINGS__V_PENDING));
    post_number(topic, 1);
    comes_next(position + 1);
    CHECK(tidings__look(s, position) == TIDINGS__VOID, "void");
    tidings__claims_tidy(s, 77);
    // Committed in the meantime: accepted, by whoever reads it.
    position = claim_by(TIDINGS__W_FOREIGN | 78);
    tidings__set_release(&tidings__cell_at(s, position)->verdict, tidings__v_of(position, TIDINGS__V_PENDING));
    write_record(position);
    commit_at(position);
    comes_next(position);
    CHECK(tidings__verdict_of_owner(tidings__cell_at(s, position), position), "its owner is told that it counts");
    // Committed, and its owner is the first to look.
    position = claim_by(TIDINGS__W_FOREIGN | 79);
    tidings__set_release(&tidings__cell_at(s, position)->verdict, tidings__v_of(position, TIDINGS__V_PENDING));
    write_record(position);
    commit_at(position);
    CHECK(tidings__verdict_of_owner(tidings__cell_at(s, position), position), "accepted");
    comes_next(position);
    // Open when the ring comes round: eviction finishes it, and it counts for nobody.
    tidings_observer *late = observer_of(center, NAME);
    position = claim_by(TIDINGS__W_FOREIGN | 80);
    tidings__set_release(&tidings__cell_at(s, position)->verdict, tidings__v_of(position, TIDINGS__V_PENDING));
    for (uint32_t i = 0; i < 600; i++) post_number(topic, i);
    const account account = drain(late);
    CHECK(account.received + account.missed == 600, "%lu + %lu", (unsigned long)account.received, (unsigned long)account.missed);
}

// Eviction of a range with two names and half of their tallies added, by somebody who died then.
void finishes_an_eviction_that_was_left_half_way(void) {
    begin();
    tidings_topic *other = topic_of(center, "other");
    tidings_observer *of_other = observer_of(center, "other"), *of_all = observer_of(center, NULL);
    uint64_t posted[2] = {0};
    for (uint32_t round = 0; round < 40; round++) {
        for (uint32_t i = 0; i < 200; i++) {
            const bool which = random_below(3) == 0;
            post_number(which ? other : topic, i);
            posted[which]++;
        }
        const uint64_t start = tidings__oldest(s);
        const uint32_t length = 1 + (uint32_t)random_below(TIDINGS__EV_LENGTH_MAX);
        CHECK(tidings__ev_length(tidings__acquire(&s->header->eviction.word)) == 0, "nobody evicts");
        tidings__set_release(&s->header->eviction.word, tidings__ev_evicting(start, length));
        uint64_t counts[2] = {0}, valid = 0;
        const uint32_t entries[2] = {tidings__name_find(s, &topic->key), tidings__name_find(s, &other->key)};
        for (uint64_t p = start; p < start + length; p++) {
            if (tidings__look(s, p) != TIDINGS__VALID) continue;
            const uint32_t entry = (uint32_t)tidings__relaxed(&tidings__cell_at(s, p)->topic) & 0xffffff;
            for (int i = 0; i < 2; i++) counts[i] += entry == entries[i];
            valid++;
        }
        for (int i = 0; i < 2; i++)
            if (counts[i] && round & (1u << i)) tidings__tally_add(&s->names[entries[i]].tally, counts[i], start + length);
        if (valid && round & 4) tidings__tally_add(&s->names[TIDINGS__NAME_ALL].tally, valid, start + length);
        // And added once more by a helper that comes too late.
        for (uint32_t i = 0; i < 200; i++) {
            post_number(topic, i);
            posted[0]++;
        }
        CHECK(tidings__oldest(s) >= start + length, "finished");
        for (int i = 0; i < 2; i++) tidings__tally_add(&s->names[entries[i]].tally, 1000, start + length);
    }
    const account first = drain(observer), second = drain(of_other), third = drain(of_all);
    CHECK(first.received + first.missed == posted[0], "%lu + %lu of %lu", (unsigned long)first.received, (unsigned long)first.missed, (unsigned long)posted[0]);
    CHECK(second.received + second.missed == posted[1], "%lu + %lu of %lu", (unsigned long)second.received, (unsigned long)second.missed, (unsigned long)posted[1]);
    CHECK(third.received + third.missed == posted[0] + posted[1], "%lu + %lu", (unsigned long)third.received, (unsigned long)third.missed);
}

static pipe_pair ready, woken;

static void sleeps_once(void) {
    tidings_center *own = join_center(0);
    tidings_observer *sleeper = observer_of(own, NAME);
    tidings_observer_spin(sleeper, 0);
    receive(sleeper);
    tell(&woken);
    tidings_observer_close(sleeper);
}

// A poster bumped the doorbell and died before waking anybody: the next one wakes, it isn't taken for done.
void rings_again_where_a_ringer_died(void) {
    begin();
    woken = pipe_open();
    tidings_observer_close(observer);
    for (uint32_t round = 0; round < 20; round++) {
        const pid_t pid = start(sleeps_once);
        until_asleep(pid, center, 1);
        uint32_t index = 0;
        while (!(tidings__acquire(&s->header->asleep[0]) >> index & 1)) index++;
        tidings__fetch_add(&s->observers[index].doorbell, 2);
        if (round % 2) claim_by(TIDINGS__W_DIED);
        post_number(topic, round);
        told(&woken);
        ends_well(pid);
        tidings_tidy(center);
        CHECK(statistics_of(center).observers_asleep == 0, "its bit is still up");
    }
}

// What dies asleep stays in the map until it is tidied up: posters ring it in vain, and once only.
void rings_a_dead_sleeper_once(void) {
    begin();
    woken = pipe_open();
    const pid_t pid = start(sleeps_once);
    until_asleep(pid, center, 1);
    kill_and_reap(pid);
    CHECK(statistics_of(center).observers_asleep == 1, "its bit is up");
    uint32_t index = 0;
    while (!(tidings__acquire(&s->header->asleep[0]) >> index & 1)) index++;
    post_number(topic, 1);
    const uint32_t after = tidings__acquire(&s->observers[index].doorbell);
    for (uint32_t i = 0; i < 100; i++) post_number(topic, i);
    CHECK(tidings__acquire(&s->observers[index].doorbell) == after, "it was rung again");
    CHECK(tidings_tidy(center) == 1 && statistics_of(center).observers == 1 && statistics_of(center).observers_asleep == 0, "tidied up");
}

static _Atomic uint32_t *chunk_kind;

static void dies_with_chunks(void) {
    tidings_center *own = join_center(0);
    tidings__segment *segment = &own->segment;
    tidings_topic *own_topic = topic_of(own, "other");
    static uint8_t bytes[500];
    tidings_reservation reservation;
    OK(tidings_reserve(own, 500, &reservation));
    const uint32_t chunk = (uint32_t)reservation.internal;
    uint64_t sequence;
    OK(tidings_post(own_topic, bytes, sizeof bytes, NULL, &sequence));
    const uint32_t posted = (uint32_t)tidings__relaxed(&tidings__cell_at(segment, sequence)->body[0]);
    switch (atomic_load(chunk_kind)) {
    case 0: break;  // being filled
    case 1:         // claimed, not committed
        tidings__chunk_claimed(segment, own->participant, chunk, sequence + 1);
        break;
    default:  // committed, not said to be in the ring
        tidings__chunk_claimed(segment, own->participant, posted, sequence);
        break;
    }
    kill(getpid(), SIGKILL);
}

void frees_the_chunks_of_the_dead_and_keeps_those_they_posted(void) {
    begin();
    chunk_kind = shared_memory(4096);
    tidings_observer *of_other = observer_of(center, "other");
    for (uint32_t round = 0; round < 30; round++) {
        atomic_store(chunk_kind, round % 3);
        waitpid(start(dies_with_chunks), NULL, 0);
        CHECK(tidings_tidy(center) == 1, "one died");
        const tidings_delivery delivery = receive(of_other);
        CHECK(delivery.size == 500, "%zu bytes", delivery.size);
        for (uint32_t i = 0; i < 600; i++) post_number(topic, i);
        CHECK(drain(of_other).received == 0, "nothing more");
        CHECK(statistics_of(center).chunks_used == 0, "kind %u: %u chunks", round % 3, statistics_of(center).chunks_used);
    }
}

// The remains of a participant whose tidier died half-way, with all it had taken still there or not.
void tidies_up_half_tidied_remains(void) {
    begin();
    ready = pipe_open();
    for (uint32_t round = 0; round < 10; round++) {
        woken = pipe_open();
        const pid_t pid = start(sleeps_once);
        until_asleep(pid, center, 1);
        kill_and_reap(pid);
        uint32_t index = 0;
        while (!(tidings__acquire(&s->header->asleep[0]) >> index & 1)) index++;
        const uint32_t entry = tidings__name_find(s, &topic->key);
        if (round & 1) tidings__fetch_and(&s->names[entry].members[0], ~(UINT64_C(1) << index));
        if (round & 2) tidings__doorbell_withdraw(s, index);
        if (round & 4) tidings__set_relaxed(&s->observers[index].instance, 0);
        CHECK(tidings_tidy(center) == 1, "one");
        const tidings_statistics statistics = statistics_of(center);
        CHECK(statistics.participants == 1 && statistics.observers == 1 && statistics.observers_asleep == 0, "left");
        CHECK(tidings__relaxed(&s->names[entry].members[0]) == UINT64_C(1) << observer->index, "members");
    }
}
