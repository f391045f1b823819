// Presence: joining, closing and dying are told once, whichever participants die on the way.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "by_hand.h"
#include "center/center.h"
#include "observable.h"
#include "present.h"
#include "privileges.h"

static pipe_pair ready, finish;
static uint32_t party;
static bool party_has_will;

static void is_present(void) {
    tidings_center *center = join_center(0);
    announce(center, party, party_has_will);
    for (;;) pause();
}

static pid_t start_party(uint32_t number, bool with_will) {
    party = number;
    party_has_will = with_will;
    const pid_t pid = start(is_present);
    until_joined(number);
    return pid;
}

static tidings_center *begin(void) {
    ready = pipe_open();
    finish = pipe_open();
    tidings_center *center = join_center(1024);
    attend(center);
    return center;
}

static void nothing_follows(tidings_center *center) {
    CHECK(tidings_reclaim(center) >= 0, "reclaim");
    attend_all();
}

// MARK: Deaths

// Beside two others, beside one, and beside none: the scenario's own process watches.
void a_death_is_told_once_and_the_last_will_after_it(void) {
    tidings_center *center = begin();
    OK(tidings_presence_watch(center));
    uint32_t number = 10;
    for (uint32_t others = 0; others < 3; others++) {
        for (uint32_t round = 0; round < chances(20); round++, number++) {
            const pid_t pid = start_party(number, round % 2);
            spin_cycles(random_below(300000));
            kill_and_reap(pid);
            until_left(number, true);
            while (seen.wills[number] < round % 2) attend_next(-1);
        }
        (void)start_party(others, false);
    }
    nothing_follows(center);
    for (uint32_t i = 10; i < number; i++)
        CHECK(seen.joined[i] == 1 && seen.died[i] == 1 && seen.closed[i] == 0, "party %u: %u, %u, %u", i,
              seen.joined[i], seen.died[i], seen.closed[i]);
}

#define TOGETHER 6u

// Also those that would have told of it.
void participants_that_die_together_are_told_of_one_by_one(void) {
    tidings_center *center = begin();
    OK(tidings_presence_watch(center));
    for (uint32_t round = 0, number = 0; round < chances(25); round++) {
        pid_t pids[TOGETHER];
        const uint32_t first = number;
        for (uint32_t i = 0; i < TOGETHER; i++) pids[i] = start_party(number++, true);
        // In any order, and so close that some die while they tell of others.
        for (uint32_t i = 0; i < TOGETHER; i++) {
            const uint32_t with = i + (uint32_t)random_below(TOGETHER - i);
            const pid_t pid = pids[with];
            pids[with] = pids[i];
            pids[i] = pid;
        }
        for (uint32_t i = 0; i < TOGETHER; i++) {
            CHECK(kill(pids[i], SIGKILL) == 0, "%s", strerror(errno));
            spin_cycles(random_below(60000));
        }
        for (uint32_t i = 0; i < TOGETHER; i++) CHECK(waitpid(pids[i], NULL, 0) == pids[i], "%s", strerror(errno));
        for (uint32_t i = first; i < number; i++) {
            until_left(i, true);
            while (seen.wills[i] == 0) attend_next(-1);
        }
    }
    nothing_follows(center);
}

// No participant is left to tell of the others: the next one does.
void if_all_have_died_the_next_one_tells(void) {
    tidings_center *center = begin();
    pid_t pids[TOGETHER];
    for (uint32_t i = 0; i < TOGETHER; i++) pids[i] = start_party(i, i % 2);
    // The one that is killed last may have told of the others.
    for (uint32_t i = 0; i < TOGETHER; i++) {
        int status;
        CHECK(kill(pids[i], SIGSTOP) == 0, "%s", strerror(errno));
        CHECK(waitpid(pids[i], &status, WUNTRACED) == pids[i] && WIFSTOPPED(status), "%s", strerror(errno));
    }
    for (uint32_t i = 0; i < TOGETHER; i++) kill_and_reap(pids[i]);
    attend_all();
    for (uint32_t i = 0; i < TOGETHER; i++) CHECK(seen.died[i] == 0, "party %u was told of", i);
    announce(center, TOGETHER, false);
    attend_all();
    for (uint32_t i = 0; i < TOGETHER; i++)
        CHECK(seen.died[i] == 1 && seen.wills[i] == i % 2, "party %u: %u deaths, %u wills", i, seen.died[i],
              seen.wills[i]);
    CHECK(seen.joined[TOGETHER] == 1, "the next one");
    nothing_follows(center);
}

void a_zombie_is_dead_and_a_stopped_participant_is_not(void) {
    tidings_center *center = begin();
    OK(tidings_presence_watch(center));
    const pid_t stopped = start_party(0, true), zombie = start_party(1, true);
    CHECK(kill(stopped, SIGSTOP) == 0, "%s", strerror(errno));
    while (process_state(stopped) != 'T') usleep(100);
    CHECK(kill(zombie, SIGKILL) == 0, "%s", strerror(errno));
    until_left(1, true);
    while (process_state(zombie) != 'Z') usleep(100);
    CHECK(process_state(stopped) == 'T' && seen.died[0] == 0, "a stopped one is told of");
    tidings_participant_info info;
    uint32_t announced = 0;
    for (uint32_t i = 0; tidings_participant(center, i, &info) != -ERANGE; i++) {
        if (!info.announced) continue;
        announced++;
        CHECK(strcmp(info.role, "party 0") == 0 && info.alive && info.presence_id == seen.id[0], "\"%s\"", info.role);
    }
    CHECK(announced == 1, "%u are announced", announced);
    CHECK(kill(stopped, SIGCONT) == 0, "%s", strerror(errno));
    kill_and_reap(stopped);
    until_left(0, true);
    CHECK(waitpid(zombie, NULL, 0) == zombie, "%s", strerror(errno));
    nothing_follows(center);
}

// MARK: No deaths

// The thread sanitizer would end a forked child that starts a thread, as each child here does.
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "die_after_fork=0"; }

// The leak sanitizer calls it. In a forked child that exits, it would look for its parent's threads, and complain.
int exits_as_a_child;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return exits_as_a_child; }

static enum how { WITHDRAWS, CLOSES, EXITS, EXITS_IN_A_THREAD, ENDS_BY_EXIT, EXECUTES } how;

static void *exits(void *argument) {
    (void)argument;
    exit(0);
}

static void leaves(void) {
    exits_as_a_child = 1;
    tidings_center *center = join_center(0);
    announce(center, how, true);
    pthread_t thread;
    switch (how) {
        case WITHDRAWS: OK(tidings_withdraw(center)); break;
        case CLOSES: tidings_close(center); _exit(0);
        case EXITS: exit(0);
        case EXITS_IN_A_THREAD:
            if (pthread_create(&thread, NULL, exits, NULL) == 0) pthread_join(thread, NULL);
            break;
        case ENDS_BY_EXIT: _exit(0);
        case EXECUTES: execl("/bin/true", "true", (char *)NULL); break;
    }
    for (;;) pause();
}

void leaving_is_no_death_and_exec_is_one(void) {
    tidings_center *center = begin();
    OK(tidings_presence_watch(center));
    for (how = WITHDRAWS; how <= EXECUTES; how++) {
        const pid_t pid = start(leaves);
        until_joined(how);
        until_left(how, how >= ENDS_BY_EXIT);
        if (how == WITHDRAWS)
            kill_and_reap(pid);
        else
            CHECK(waitpid(pid, NULL, 0) == pid, "%s", strerror(errno));
    }
    nothing_follows(center);
    for (how = WITHDRAWS; how <= EXECUTES; how++)
        CHECK(seen.wills[how] == (how >= ENDS_BY_EXIT), "party %u: %u wills", how, seen.wills[how]);
}

void an_announcement_is_ended_and_made_again(void) {
    tidings_center *center = begin();
    CHECK(tidings_withdraw(center) == -ENOENT, "nothing to withdraw");
    for (uint32_t round = 0; round < ROUNDS(300); round++) {
        announce(center, 0, round % 2);
        CHECK(tidings_announce(center, "again", 5, NULL, 0) == -EALREADY, "twice");
        OK(tidings_presence_watch(center));  // it does
        OK(tidings_withdraw(center));
        if (round % 3 == 0) {
            OK(tidings_presence_watch(center));
            OK(tidings_presence_watch(center));
            if (round % 2) OK(tidings_withdraw(center));
        }
        attend_all();
        CHECK(seen.joined[0] == round + 1 && seen.closed[0] == round + 1, "%u, %u", seen.joined[0], seen.closed[0]);
    }
    nothing_follows(center);
    CHECK(statistics_of(center).chunks_used == 0, "%u chunks are left", statistics_of(center).chunks_used);
}

void what_cannot_be_announced_is_refused(void) {
    tidings_center *center = begin();
    char role[TIDINGS_ROLE_MAX + 2];
    memset(role, 'r', sizeof role);
    tidings_will will = {.name = WILL, .name_length = strlen(WILL), .payload = role, .size = 1};
    CHECK(tidings_announce(center, role, TIDINGS_ROLE_MAX + 1, NULL, 0) == -EINVAL, "a long role");
    CHECK(tidings_announce(center, "\xff", 1, NULL, 0) == -EINVAL, "no text");
    will.name_length = 0;
    CHECK(tidings_announce(center, "r", 1, &will, 0) == -EINVAL, "a will without a name");
    will.name = TIDINGS_PRESENCE_NAME, will.name_length = strlen(TIDINGS_PRESENCE_NAME);
    CHECK(tidings_announce(center, "r", 1, &will, 0) == -EINVAL, "a will under the notices' name");
    will.name = WILL, will.name_length = strlen(WILL), will.subject = "s", will.subject_length = 1;
    will.flags = TIDINGS_POST_RETAIN;
    CHECK(tidings_announce(center, "r", 1, &will, 0) == -EINVAL, "a retained will with a subject");
    will.flags = 0, will.size = SIZE_MAX / 2;
    CHECK(tidings_announce(center, "r", 1, &will, 0) == -EMSGSIZE, "a will of any size");
    tidings_publisher *publisher;
    CHECK(tidings_publisher_open(center, TIDINGS_PRESENCE_NAME, strlen(TIDINGS_PRESENCE_NAME), NULL, 0, &publisher) ==
              -EINVAL,
          "the name is reserved");
    attend_all();
    CHECK(seen.joined[0] == 0, "a refused one joined");
    // The longest texts there can be.
    OK(tidings_announce(center, role, TIDINGS_ROLE_MAX, NULL, 0));
    tidings_delivery delivery = receive(seen.observer);
    tidings_presence notice;
    OK(tidings_presence_read(&delivery, &notice));
    CHECK(strlen(notice.role) == TIDINGS_ROLE_MAX && strlen(notice.executable) > 0, "\"%s\" of \"%s\"", notice.role,
          notice.executable);
    OK(tidings_withdraw(center));
}

// A kernel without robust lists marks no death.
void announcing_needs_a_kernel_that_marks_deaths(void) {
    tidings_center *center = begin();
    const bool marks = syscall(SYS_set_robust_list, NULL, 0) == 0 || errno != ENOSYS;
    const int result = tidings_announce(center, "party 0", 7, NULL, 0);
    CHECK(result == (marks ? 0 : -ENOSYS), "%d", result);
    CHECK(tidings_withdraw(center) == (marks ? 0 : -ENOENT), "it is announced");
    attend_all();
    CHECK(seen.joined[0] == marks && seen.closed[0] == marks, "%u, %u", seen.joined[0], seen.closed[0]);
}

// MARK: Fork

static tidings_center *inherited;

static void says_nothing_about_its_parent(void) {
    exits_as_a_child = 1;
    CHECK(tidings_withdraw(inherited) == -ECHILD, "it is the parent's");
    post_number(publisher_of(inherited, NAME), 1);
    exit(0);
}

static void pauses(void) {
    for (;;) pause();
}

static void announces_itself(void) {
    announce(inherited, 1, true);
    tell(&ready);
    for (;;) pause();
}

void a_forked_child_is_not_announced_and_may_announce_itself(void) {
    inherited = begin();
    announce(inherited, 0, true);
    until_joined(0);
    for (uint32_t round = 0; round < 5; round++) {
        const pid_t child = start(says_nothing_about_its_parent);
        ends_well(child);
        kill_and_reap(start(pauses));
    }
    nothing_follows(inherited);
    CHECK(seen.closed[0] + seen.died[0] == 0, "the parent was told of");
    const pid_t child = start(announces_itself);
    told(&ready);
    until_joined(1);
    kill_and_reap(child);
    until_left(1, true);
    OK(tidings_withdraw(inherited));
    until_left(0, false);
}

// MARK: Held back

// A lossless observer holds back the notice and the will: both come when it goes on.
void a_notice_that_is_held_back_comes_later(void) {
    tidings_center *center = begin();
    OK(tidings_presence_watch(center));
    const pid_t dying = start_party(0, true), closing = start_party(1, true);
    tidings_observer *lossless = observer_with(center, NULL, TIDINGS_OBSERVE_LOSSLESS, 0);
    tidings_publisher *publisher = publisher_of(center, NAME);
    const stamp stamp = {0};
    while (tidings_post(publisher, &stamp, sizeof stamp, NULL, NULL) == 0) {}
    kill_and_reap(dying);
    CHECK(tidings_announce(join_center(0), "late", 4, NULL, 0) == -EAGAIN, "a joining that is held back");
    attend_all();
    CHECK(seen.died[0] == 0, "it was told of in a full ring");
    for (tidings_delivery delivery; seen.wills[0] == 0;) {
        const int result = tidings_next(lossless, 0, &delivery);
        CHECK(result == 0 || result == -EAGAIN, "%d", result);
        attend_all();
    }
    tidings_observer_close(lossless);
    kill_and_reap(closing);
    until_left(1, true);
    nothing_follows(center);
    CHECK(seen.died[0] == 1, "%u deaths", seen.died[0]);
}

// MARK: Large and retained wills

static uint8_t large[100000];

static void leaves_a_large_will(void) {
    tidings_center *center = join_center(0);
    for (size_t i = 0; i < sizeof large; i++) large[i] = (uint8_t)(i * 7);
    const tidings_will will = {.name = NAME,
                               .name_length = strlen(NAME),
                               .payload = large,
                               .size = sizeof large,
                               .format = TIDINGS_FORMAT_JSON,
                               .flags = TIDINGS_POST_RETAIN | TIDINGS_POST_IMMEDIATE};
    OK(tidings_announce(center, "party 0", 7, &will, 0));
    tell(&ready);
    for (;;) pause();
}

void a_large_will_comes_whole_and_stays_if_it_is_to(void) {
    tidings_center *center = begin();
    OK(tidings_presence_watch(center));
    tidings_observer *observer = observer_of(center, NAME);
    const pid_t pid = start(leaves_a_large_will);
    told(&ready);
    kill_and_reap(pid);
    const tidings_delivery delivery = receive(observer);
    for (size_t i = 0; i < sizeof large; i++) large[i] = (uint8_t)(i * 7);
    CHECK(delivery.size == sizeof large && memcmp(delivery.payload, large, sizeof large) == 0, "%zu bytes",
          delivery.size);
    CHECK(delivery.format == TIDINGS_FORMAT_JSON && delivery.flags & TIDINGS_DELIVERY_WILL &&
              delivery.flags & TIDINGS_DELIVERY_IMMEDIATE,
          "format %u, flags %x", delivery.format, delivery.flags);
    size_t size = sizeof large;
    OK(tidings_state_get(publisher_of(center, NAME), large, &size, NULL, NULL));
    CHECK(size == sizeof large, "%zu bytes are retained", size);
    until_joined(0);
    until_left(0, true);
}

// MARK: Readers

static void reads_notices(void) {
    become(ANOTHER_USER);
    tidings_center *center = open_to_read();
    CHECK(tidings_announce(center, "r", 1, NULL, 0) == -EACCES, "a reader announces itself");
    CHECK(tidings_presence_watch(center) == -EACCES, "a reader watches");
    attend(center);
    tell(&ready);
    until_joined(0);
    tidings_participant_info info;
    uint32_t announced = 0;
    for (uint32_t i = 0; tidings_participant(center, i, &info) != -ERANGE; i++) announced += info.announced;
    CHECK(announced == 1, "%u are announced", announced);
    tell(&ready);
    until_left(0, true);
    while (seen.wills[0] == 0) attend_next(-1);
}

void readers_learn_of_presence(void) {
    ready = pipe_open();
    tidings_center *center = observable_center(256);
    attend(center);
    OK(tidings_presence_watch(center));
    const pid_t reader = start(reads_notices);
    told(&ready);
    const pid_t pid = start_party(0, true);
    told(&ready);
    kill_and_reap(pid);
    ends_well(reader);
    until_left(0, true);
}

// MARK: Idle

// How often this handle's guard has gone to sleep.
static uint64_t sleeps_of_guard(const tidings_center *center) {
    const uint32_t life = tidings__presence_line_at(&center->segment, center->participant)->life[0];
    char path[64], line[256];
    unsigned long count = 0;
    snprintf(path, sizeof path, "/proc/self/task/%u/status", life & FUTEX_TID_MASK);
    FILE *status = fopen(path, "r");
    CHECK(status, "%s: %s", path, strerror(errno));
    while (fgets(line, sizeof line, status) && sscanf(line, "voluntary_ctxt_switches: %lu", &count) != 1) {}
    fclose(status);
    return count;
}

// Neither posts nor time wake it.
void a_guard_sleeps_until_a_participant_dies(void) {
    tidings_center *center = begin();
    announce(center, 0, false);
    const pid_t others[2] = {start_party(1, false), start_party(2, false)};
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *observer = observer_of(center, NAME);
    tidings_delivery delivery;
    // It may have been poked just now: until a second passes without a switch.
    uint64_t before, after = sleeps_of_guard(center);
    CHECK(after > 0, "no thread was found");
    do {
        before = after;
        for (uint32_t i = 0; i < 500; i++) {
            post_number(publisher, i);
            receive(observer);
        }
        CHECK(tidings_next(observer, 1000000000, &delivery) == -ETIMEDOUT, "nothing is posted");
        after = sleeps_of_guard(center);
    } while (before != after);
    for (uint32_t i = 0; i < 2; i++) {
        kill_and_reap(others[i]);
        until_left(i + 1, true);
    }
    CHECK(sleeps_of_guard(center) > after, "it slept on");
}

// MARK: Hostile words

static void spoils_presence(void) {
    tidings_center *center = join_center(0);
    tidings__segment *s = &center->segment;
    OK(tidings__back_presence(s));
    _Atomic uint64_t *words = (_Atomic uint64_t *)(void *)s->presence;
    const uint64_t count = s->shape.participants * sizeof(tidings__presence) / 8;
    for (uint32_t pass = 0;; pass++) {
        atomic_store(&s->header->presence_used.word, pass % 4 ? s->shape.participants : random_next());
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t kind = random_below(4);
            atomic_store(&words[i], kind == 0   ? random_next()
                                    : kind == 1 ? random_below(16)
                                    : kind == 2 ? atomic_load(&words[i]) + random_below(3)
                                                : atomic_load(&s->participants[i / 32].instance));
        }
        if (pass == 0) tell(&ready);
    }
}

static void uses_presence(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer = observer_of(center, NULL);
    tidings_publisher *publisher = publisher_of(center, NAME);
    for (uint32_t round = 0; round < ROUNDS(60); round++) {
        const tidings_will will = {.name = WILL, .name_length = strlen(WILL), .payload = large, .size = 2000};
        int result = tidings_announce(center, "r", 1, round % 2 ? &will : NULL, 1000000);
        CHECK(result == 0 || result == -EAGAIN || result == -EBADMSG || result == -ETIMEDOUT || result == -EBUSY, "%d",
              result);
        for (uint32_t i = 0; i < 50; i++) post_number(publisher, i);
        tidings_participant_info info;
        for (uint32_t i = 0; i < 64; i++) (void)tidings_participant(center, i, &info);
        tidings_delivery delivery;
        tidings_presence notice;
        while ((result = tidings_next(observer, 0, &delivery)) == 0) (void)tidings_presence_read(&delivery, &notice);
        CHECK(tidings_reclaim(center) >= 0, "reclaim");
        result = tidings_withdraw(center);
        CHECK(result == 0 || result == -ENOENT, "%d", result);
    }
}

void spoiled_words_of_presence_harm_no_process(void) {
    ready = pipe_open();
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .participants = 64, .names = 64});
    OK(tidings_presence_watch(center));
    const pid_t adversary = start(spoils_presence);
    told(&ready);
    const pid_t users[2] = {start(uses_presence), start(uses_presence)};
    for (uint32_t i = 0; i < 2; i++) ends_well(users[i]);
    OK(tidings_withdraw(center));
    kill_and_reap(adversary);
}
