// Scenes of presence: reports that are taken over, guards that die, participants that join beside a sleeping guard.
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>

#include "center/center.h"
#include "kernel.h"
#include "parties.h"
#include "platform/clock.h"
#include "posting/payload_chunk.h"
#include "presence/guard.h"
#include "presence/report.h"
#include "scenario.h"
#include "stage.h"

#define PARTIES 4
#define WILL_NAME "w"

static struct stage_of_presence {
    tidings_center *dead;          // announced, and dead from the beginning
    tidings_observer *of_notices;  // asked when all is over
    tidings_observer *of_wills;
    tidings__guard *guards[PARTIES];
    fiber *fibers[PARTIES];
    uint32_t guard_count;
    uint32_t died[8], missed, wills;
} presence;

static tidings__presence *entry_of(const tidings_center *center) {
    return &center->segment.presence[center->participant];
}

static tidings_observer *observer(const char *name) {
    tidings_center *center = director;
    tidings_observer *result;
    uint32_t subscription;
    if (tidings_observer_open(center, 0, &result) != 0 ||
        tidings_observer_add(result, name, strlen(name), NULL, 0, 0, &subscription) != 0)
        machine_violation("%s", tidings_last_error());
    return result;
}

tidings_center *party(void) {
    tidings_center *center = handle();
    if (tidings__back_presence(&center->segment) != 0) machine_violation("%s", tidings_last_error());
    return center;
}

static void open_presence(void) {
    open_center();
    memset(&presence, 0, sizeof presence);
    if (tidings__back_presence(&director->segment) != 0) machine_violation("%s", tidings_last_error());
    presence.of_notices = observer(TIDINGS_PRESENCE_NAME);
}

void become_present(tidings_center *center, uint32_t life) {
    tidings__segment *s = &center->segment;
    tidings__presence *entry = entry_of(center);
    const uint32_t own = center->participant;
    tidings__presence_line *line = tidings__presence_line_at(s, own);
    tidings__set_release(&entry->announcement, center->instance);
    tidings__set_release(&line->life[0], life);
    tidings__set_release(&line->life[2], life);
    uint64_t used = tidings__acquire(&s->header->presence_used.word);
    while (used < own + 1 && !tidings__cas(&s->header->presence_used.word, &used, own + 1)) {}
    const uint64_t report = tidings__acquire(&entry->report);
    if (!tidings__report_move(
            s, own, report,
            tidings__report_next(report, tidings__report_bits(center->instance), own, TIDINGS__PRESENCE_PRESENT)))
        machine_violation("the report of a participant that announces itself has changed");
    // The machine sees only what the core writes, and puts back for the next schedule what it has seen.
    machine_dirty(machine_canonical(line), sizeof *line);
    machine_dirty(machine_canonical(&entry->announcement), sizeof entry->announcement);
    machine_dirty(machine_canonical(&s->header->presence_used.word), sizeof s->header->presence_used.word);
    tidings__barrier_after_rmw();
}

static void leave_will(tidings_center *center) {
    tidings__segment *s = &center->segment;
    uint32_t chunk;
    if (tidings__take_chunk(center, 200, 0, &chunk) != 0) machine_violation("%s", tidings_last_error());
    uint8_t *bytes = tidings__chunk_bytes(s, chunk, NULL);
    const tidings__record_header header = {0, 8, UINT64_C(1) << 56, 0};
    memset(bytes, 0, 200);
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + TIDINGS__CHUNK_HEADER + 8, WILL_NAME, 1);
    machine_dirty(machine_canonical(bytes), 200);
    tidings__set_release(&entry_of(center)->will, (uint64_t)chunk + 1);
    uint64_t owned = tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, center->participant, TIDINGS__CHUNK_OWNED);
    if (!tidings__cas(&s->chunk_words[chunk], &owned, tidings__will_word(center->instance, center->participant)))
        machine_violation("the chunk of a will has changed");
    machine_dirty(machine_canonical(&s->chunk_words[chunk]), sizeof s->chunk_words[chunk]);
}

static void a_dead_one(void) {
    presence.dead = party();
    become_present(presence.dead, FUTEX_OWNER_DIED | FUTEX_WAITERS);
    machine.holders[presence.dead->participant] = 0;
}

// MARK: Reporting

static void reports(void *argument) {
    tidings_center *center = argument;
    for (uint32_t tries = 0; tries < 100; tries++) {
        tidings__report_budget budget = tidings__report_budget_of(&center->segment);
        const int result = tidings__report(center, presence.dead->participant, tries > 0, 0, &budget);
        if (result == 0) return;
        if (result != -EINPROGRESS) machine_violation("tidings__report: %d, %s", result, tidings_last_error());
        tidings__nap(2000000);
    }
    machine_violation("a report does not end");
}

static void two_report(void) {
    tidings_center *first = party(), *second = party();
    machine_fiber("reporter A", first, reports, first);
    machine_fiber("reporter B", second, reports, second);
}

void a_report_taken_over(void) {
    open_presence();
    presence.of_wills = observer(WILL_NAME);
    a_dead_one();
    leave_will(presence.dead);
    two_report();
    machine.fibers[0].mortal = true;
}

void deaths_in_a_full_ring(void) {
    open_presence();
    a_dead_one();
    prefill("n", SLOTS - 1);
    two_report();
    add_poster("poster C", "n", SLOTS + 2);
}

static void count_all(void) {
    tidings_delivery d;
    int result;
    while ((result = tidings_next(presence.of_notices, 0, &d)) == 0) {
        tidings_presence notice;
        if (d.kind == TIDINGS_DELIVERY_MISSED) {
            presence.missed += (uint32_t)d.missed;
            continue;
        }
        if (tidings_presence_read(&d, &notice) != 0 || notice.event != TIDINGS_PRESENCE_DIED || d.participant >= 8)
            machine_violation("a notice that is none");
        presence.died[d.participant]++;
    }
    if (result != -EAGAIN) machine_violation("tidings_next: %d", result);
    while (presence.of_wills && (result = tidings_next(presence.of_wills, 0, &d)) == 0)
        presence.wills += d.kind == TIDINGS_DELIVERY_MISSED ? (uint32_t)d.missed : 1;
    tidings_observer_close(presence.of_notices);
    if (presence.of_wills) tidings_observer_close(presence.of_wills);
}

void reported_once(void) {
    count_all();
    const uint32_t died = presence.died[presence.dead->participant] + presence.missed;
    if (died != 1) machine_violation("the death was reported %u times", died);
    if (presence.of_wills && presence.wills != 1) machine_violation("the will was posted %u times", presence.wills);
}

// MARK: Guards

static void guards(void *argument) {
    tidings__guard *guard = argument;
    tidings__guard_run(guard);
}

void watch_life(fiber *f, const tidings_center *center) {
    f->life = (uintptr_t)tidings__presence_line_at(&center->segment, center->participant)->life;
}

fiber *add_guard(const char *who) {
    tidings__guard *guard = calloc(1, sizeof *guard);
    guard->center = party();
    guard->state = TIDINGS__GUARD_WATCHES;
    fiber *f = machine_fiber(who, guard->center, guards, guard);
    f->bystander = true;
    watch_life(f, guard->center);
    become_present(guard->center, f->thread.tid | FUTEX_WAITERS);
    presence.fibers[presence.guard_count] = f;
    presence.guards[presence.guard_count++] = guard;
    return f;
}

void end_guards(void) {
    for (uint32_t i = 0; i < presence.guard_count; i++) {
        if (presence.fibers[i]->state == DEAD || !presence.guards[i]) continue;
        presence.guards[i]->state = TIDINGS__GUARD_ENDS;
        tidings__futex_wake(&presence.guards[i]->state, 1);
    }
}

void each_reported_once(void) {
    count_all();
    if (presence.missed) machine_violation("the ring is too small");
    for (uint32_t i = 0; i < presence.guard_count; i++) {
        const uint32_t died = presence.died[presence.fibers[i]->center->participant];
        if (died != (presence.fibers[i]->state == DEAD))
            machine_violation("the end of %s was reported %u times", presence.fibers[i]->name, died);
    }
    if (presence.dead && presence.died[presence.dead->participant] != 1)
        machine_violation("the first death was reported %u times", presence.died[presence.dead->participant]);
}

void two_guards(void) {
    open_presence();
    a_dead_one();
    add_guard("guard A")->mortal = true;
    add_guard("guard B");
}

static void joins_and_dies(void *argument) {
    tidings_center *center = argument;
    become_present(center, machine.current->thread.tid | FUTEX_WAITERS);
    tidings__guard_poke(&center->segment, center->participant);
    machine_kill(machine.current);
}

void a_death_beside_a_joining(void) {
    open_presence();
    add_guard("guard A");
    tidings_center *center = party();
    fiber *f = machine_fiber("newcomer B", center, joins_and_dies, center);
    watch_life(f, center);
    presence.fibers[presence.guard_count++] = f;
}

// MARK: Exits

static struct {
    tidings__guard *guards[2];
    fiber *fibers[2], *dead;
} exiting;

// Their process exits, and ends right after another participant has died. So the guards that the kernel wakes for the
// death do not run any more.
static void exits(void *argument) {
    (void)argument;
    for (int i = 0; i < 2; i++) (void)tidings__announcement_end(exiting.guards[i]->center, exiting.guards[i]);
    tidings__nap(1000000);
    machine_kill(exiting.dead);
    for (int i = 0; i < 2; i++) machine_kill(exiting.fibers[i]);
}

void a_death_beside_an_exit(void) {
    open_presence();
    add_guard("guard A");
    for (int i = 0; i < 2; i++) {
        exiting.fibers[i] = add_guard(i ? "guard C" : "guard B");
        tidings__guard *guard = exiting.guards[i] = presence.guards[--presence.guard_count];
        guard->watching = true;
        guard->present = tidings__acquire(&entry_of(guard->center)->report);
    }
    exiting.dead = add_guard("guard D");
    machine_fiber("exit of B and C", exiting.guards[0]->center, exits, NULL);
}

// MARK: Wills

// The next participant of the dead one's index: its handle is the dead one's, with a new instance.
static void announces_anew(void *argument) {
    tidings_center *center = argument;
    tidings__segment *s = &center->segment;
    tidings__presence *entry = entry_of(center);
    const uint32_t own = center->participant;
    tidings__will_free(s, own, tidings__acquire(&entry->report));
    tidings__set_release(&entry->will, 0);
    center->instance += 2;
    tidings__set_release(&s->participants[own].instance, center->instance);
    tidings__set_release(&entry->announcement, center->instance);
    machine_dirty(machine_canonical(entry), sizeof *entry);
    machine_dirty(machine_canonical(&s->participants[own].instance), sizeof s->participants[own].instance);
    uint64_t report = tidings__acquire(&entry->report);
    const uint64_t preparing = tidings__report_next(report, tidings__report_bits(center->instance), own,
                                                    TIDINGS__PRESENCE_PREPARING);
    if (!tidings__report_move(s, own, report, preparing)) machine_violation("the report has changed");
    leave_will(center);
}

void a_will_of_a_successor(void) {
    open_presence();
    presence.dead = party();
    tidings__segment *s = &presence.dead->segment;
    const uint32_t own = presence.dead->participant;
    become_present(presence.dead, 0);
    leave_will(presence.dead);
    const uint64_t report = tidings__acquire(&entry_of(presence.dead)->report);
    (void)tidings__report_move(s, own, report, tidings__report_next(report, 0, own, TIDINGS__PRESENCE_LEFT));
    tidings_center *reporter = party();
    machine_fiber("reporter A", reporter, reports, reporter);
    machine_fiber("successor B", presence.dead, announces_anew, presence.dead);
}

void the_will_is_kept(void) {
    const uint64_t will = tidings__acquire(&entry_of(presence.dead)->will);
    const tidings__segment *s = &director->segment;
    if (s->chunk_words[will - 1] != tidings__will_word(presence.dead->instance, presence.dead->participant))
        machine_violation("the successor's will was freed");
    tidings_observer_close(presence.of_notices);
}
