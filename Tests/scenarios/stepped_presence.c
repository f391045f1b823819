// Participants killed or stopped after any number of instructions, while they announce themselves, leave, or report the
// death of another one. Whatever they were doing, each joining is followed by one leaving, and each death by one will.
#include "present.h"
#include "steps.h"

#define MOMENTS 8

static pipe_pair ready;
static tidings_center *center;

static void announces_in_section(void) {
    tidings_center *own = join_center(0);
    section_begin();
    announce(own, 0, true);
    atomic_store(returned, 1);
    section_end();
    for (;;) pause();
}

static void withdraws_in_section(void) {
    tidings_center *own = join_center(0);
    announce(own, 0, true);
    section_begin();
    const int result = tidings_withdraw(own);
    atomic_store(returned, 1);
    section_end();
    OK(result);
    for (;;) pause();
}

static void reports_in_section(void) {
    tidings_center *own = join_center(0);
    section_begin();
    reports_all(own);  // `tidings_reclaim` is the same, after long walks and with a limit
    atomic_store(returned, 1);
    section_end();
    for (;;) pause();
}

static void is_present(void) {
    tidings_center *own = join_center(0);
    announce(own, 1, true);
    tell(&ready);
    for (;;) pause();
}

static pid_t start_present(void) {
    const pid_t pid = start(is_present);
    told(&ready);
    return pid;
}

static void begin(void) {
    ready = pipe_open();
    returned = shared_memory(4096);
    center = join_center_with((tidings_configuration){.slots = 256, .participants = 16, .names = 64});
    attend(center);
}

// Party `number` has joined as often as it has left, and has died as often as its will was posted.
static void pairs(uint32_t number, uint64_t at, uint64_t length) {
    CHECK(seen.joined[number] == seen.closed[number] + seen.died[number] && seen.died[number] == seen.wills[number],
          "after %lu of %lu instructions: party %u joined %u times, closed %u, died %u, left %u wills",
          (unsigned long)at, (unsigned long)length, number, seen.joined[number], seen.closed[number], seen.died[number],
          seen.wills[number]);
}

// What no guard has reported, this process does. Afterwards nothing is left to report.
static void settle(uint64_t at, uint64_t length) {
    for (uint32_t number = 0; number < 2; number++) {
        while (seen.joined[number] > seen.closed[number] + seen.died[number]) attend_next(-1);
        while (seen.wills[number] < seen.died[number]) attend_next(-1);
    }
    CHECK(tidings_reclaim(center) >= 0, "reclaim");
    attend_all();
    pairs(0, at, length);
    pairs(1, at, length);
}

// No participant has a guard. One that is dead has been reported, in a section whose length this returns.
static uint64_t begin_reporting(void) {
    begin();
    kill_and_reap(start_present());
    const uint64_t length = length_of(reports_in_section);
    // Under a sanitizer the section may be cut short, before the death is reported.
    if (!atomic_load(returned)) CHECK(tidings_reclaim(center) >= 0, "reclaim");
    until_joined(1);
    settle(0, length);
    return length;
}

static void nothing_of_presence_is_left(void) {
    tidings_publisher *publisher = publisher_of(center, NAME);
    OK(tidings_withdraw(center));
    nothing_is_left(center, publisher, 1, 2);
}

// Beside a participant that watches it and is killed, too, perhaps while it reports the death.
static void killed_in(void (*body)(void)) {
    begin();
    OK(tidings_presence_watch(center));
    const uint64_t length = length_of(body);
    const uint32_t kills = moments(MOMENTS, length);
    // Under a sanitizer the section may be cut short, before "joined" is posted.
    const bool whole = atomic_load(returned);
    if (whole) until_joined(0);
    attend_all();
    settle(0, length);
    uint32_t announced = 0;
    for (uint32_t kill = 0; kill < kills; kill++) {
        const pid_t second = start_present();
        const pid_t pid = start_traced(body);
        const uint64_t at = step(pid, moment(kill, kills, length), false);
        kill_and_reap(pid);
        spin_cycles(random_below(400000));
        kill_and_reap(second);
        until_joined(1);
        attend_all();
        settle(at, length);
        announced += seen.joined[0];
        CHECK(seen.joined[1] == seen.died[1], "the second joined %u times and died %u times", seen.joined[1],
              seen.died[1]);
    }
    CHECK(announced > 0 || !whole, "none was announced");
    nothing_of_presence_is_left();
}

void killed_anywhere_while_announcing_beside_one_that_dies(void) { killed_in(announces_in_section); }
void killed_anywhere_while_withdrawing(void) { killed_in(withdraws_in_section); }

// No participant has a guard: the one that is asked to reports. Then it is killed, and this process does.
void killed_anywhere_while_reporting(void) {
    const uint64_t length = begin_reporting();
    const uint32_t kills = moments(MOMENTS, length);
    for (uint32_t kill = 0; kill < kills; kill++) {
        kill_and_reap(start_present());
        const pid_t pid = start_traced(reports_in_section);
        const uint64_t at = step(pid, moment(kill, kills, length), false);
        kill_and_reap(pid);
        CHECK(tidings_reclaim(center) >= 0, "reclaim");
        attend_all();
        CHECK(seen.died[1] == kill + 2, "after %lu of %lu instructions: %u deaths of %u were reported",
              (unsigned long)at, (unsigned long)length, seen.died[1], kill + 2);
        settle(at, length);
    }
    OK(tidings_presence_watch(center));
    nothing_of_presence_is_left();
}

// It stands still, and a guard takes over. Then it goes on, and reports nothing twice.
void stopped_anywhere_while_reporting(void) {
    const uint64_t length = begin_reporting();
    const uint32_t stops = moments(MOMENTS / 2, length);
    for (uint32_t stop = 0; stop < stops; stop++) {
        kill_and_reap(start_present());
        atomic_store(returned, 0);
        const pid_t pid = start_traced(reports_in_section);
        const uint64_t at = step(pid, moment(stop, stops, length), false);
        OK(tidings_presence_watch(center));
        until_joined(1);
        until_left(1, true);
        while (seen.wills[1] < seen.died[1]) attend_next(-1);
        let_go(pid);
        while (!atomic_load(returned)) usleep(50);
        kill_and_reap(pid);
        settle(at, length);
        CHECK(seen.died[1] == stop + 2, "after %lu of %lu instructions: %u deaths of %u were reported",
              (unsigned long)at, (unsigned long)length, seen.died[1], stop + 2);
        OK(tidings_withdraw(center));
    }
    OK(tidings_presence_watch(center));
    nothing_of_presence_is_left();
}
