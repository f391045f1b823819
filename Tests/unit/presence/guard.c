#include "presence/guard.h"

#include <sched.h>

#include "entries.h"
#include "platform/futex.h"

TEST(the_two_living_participants_before_one_are_poked) {
    tidings_center *center = NULL;
    const tidings_configuration six = {.slots = 256, .participants = 6, .observers = 2, .names = 64};
    CHECK_EQUAL(tidings_create_sealed("unit", &six, &center), 0);
    tidings__segment *s = &center->segment;
    for (uint32_t i = 0; i < 6; i++) {
        (void)dead_entry(center, i, TIDINGS__PRESENCE_PRESENT, 0);
        s->participants[i].instance = 101;
    }
    s->presence[5].report = 0;                                      // never used
    tidings__presence_line_at(s, 4)->life[0] = TIDINGS__LIFE_DIED;  // dead
    // Its process exits, and its guard watches until then.
    s->presence[3].report = tidings__report_next(0, 0, 3, TIDINGS__PRESENCE_LEFT);
    tidings__presence_line_at(s, 3)->life[0] = 77;
    tidings__guard_poke(s, 1);
    const uint32_t poked[] = {1, 0, 0, 1, 0, 0};
    for (uint32_t i = 0; i < 6; i++) CHECK_EQUAL(tidings__presence_line_at(s, i)->poke, poked[i]);
    // The process has ended, or the participant has withdrawn.
    const uint32_t ended[] = {TIDINGS__LIFE_DIED, 0};
    for (uint32_t i = 0; i < 2; i++) {
        tidings__presence_line_at(s, 3)->life[0] = ended[i];
        tidings__guard_poke(s, 1);
        CHECK_EQUAL(tidings__presence_line_at(s, 3)->poke, 1);
        CHECK_EQUAL(tidings__presence_line_at(s, 2)->poke, i + 1);
    }
}

TEST(one_that_is_alone_pokes_no_participant) {
    tidings_center *center = fresh_center();
    (void)dead_entry(center, 0, TIDINGS__PRESENCE_PRESENT, 0);
    center->segment.participants[0].instance = 101;
    tidings__guard_poke(&center->segment, 0);
    CHECK_EQUAL(tidings__presence_line_at(&center->segment, 0)->poke, 0);
}

TEST(a_guard_that_has_started_carries_its_number_in_both_words) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    CHECK_EQUAL(tidings__back_presence(s), 0);
    tidings__guard guard = {.center = NULL};
    CHECK_EQUAL(tidings__guard_start(&guard, center), 0);
    const tidings__presence_line *line = tidings__presence_line_at(s, center->participant);
    CHECK(line->life[0] >> 31 == 1);
    CHECK_EQUAL(line->life[0], line->life[2]);
    CHECK_EQUAL(line->life[1], 0);
    tidings__guard_watch(&guard);
    tidings__guard_stop(&guard);
    // The kernel marks the end of a thread, whatever it ends of.
    CHECK(line->life[0] & TIDINGS__LIFE_DIED);
    CHECK(line->life[2] & TIDINGS__LIFE_DIED);
}

static _Atomic uint32_t *slept_on;
static atomic_bool woken;

static void *sleeps_once(void *nothing) {
    tidings__futex_wait(slept_on, TIDINGS__LIFE_DIED, -1);
    woken = true;
    return nothing;
}

// The guard took a wake-up that was meant for the guards that watch participant 3. `state`: of that one's report.
static void watchers_are_woken(uint32_t state) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    CHECK_EQUAL(tidings_presence_watch(center), 0);
    for (uint32_t i = 1; i < 4; i++) {
        (void)dead_entry(center, i, TIDINGS__PRESENCE_PRESENT, 0);
        s->participants[i].instance = 101;
    }
    tidings__presence_line *dead = tidings__presence_line_at(s, 3), *own = tidings__presence_line_at(s, 0);
    dead->life[0] = dead->life[2] = TIDINGS__LIFE_DIED;
    s->presence[3].report = tidings__report_next(s->presence[3].report, 0, 3, state);
    for (int k = 0; k < 4; k += 2) {
        pthread_t sleeper;
        slept_on = &dead->life[k];
        woken = false;
        CHECK_EQUAL(pthread_create(&sleeper, NULL, sleeps_once, NULL), 0);
        // The sleeper may sleep only after a round of the guard.
        while (!woken) {
            own->poke++;
            tidings__futex_wake(&own->poke, 1);
            (void)sched_yield();
        }
        pthread_join(sleeper, NULL);
    }
    CHECK_EQUAL(state_of(&s->presence[3]), state);
    tidings_close(center);
}

TEST(a_guard_wakes_the_watchers_of_a_dead_participant_beyond_its_own) { watchers_are_woken(TIDINGS__PRESENCE_PRESENT); }

// The process has exited, or another guard has reported the death meanwhile.
TEST(a_guard_wakes_the_watchers_of_a_participant_whose_end_was_reported) { watchers_are_woken(TIDINGS__PRESENCE_LEFT); }
