// Writers that are killed, stopped, or exit at any moment.
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "sqlite.h"

// MARK: At every instruction

// Lets the peer go on, up to `most` instructions of its main thread, and until it has answered. How many it made.
static uint64_t step(const peer *peer, uint64_t most) {
    for (uint64_t i = 0; i < most; i++) {
        struct pollfd answered = {peer->out, POLLIN, 0};
        if (i % 64 == 0 && poll(&answered, 1, 0) > 0) return i;
        int status;
        CHECK(ptrace(PTRACE_SINGLESTEP, peer->pid, NULL, NULL) == 0, "%s", strerror(errno));
        CHECK(waitpid(peer->pid, &status, __WALL) == peer->pid && WIFSTOPPED(status), "%x", status);
    }
    return most;
}

// Lets it make up to `most` system calls; how many. 0: it has answered.
static uint64_t make_calls(const peer *peer, uint64_t most) {
    uint64_t calls = 0;
    for (uint64_t i = 0; i < 2 * most; i++) {
        struct pollfd answered = {peer->out, POLLIN, 0};
        if (poll(&answered, 1, 0) > 0) break;
        int status;
        CHECK(ptrace(PTRACE_SYSCALL, peer->pid, NULL, NULL) == 0, "%s", strerror(errno));
        CHECK(waitpid(peer->pid, &status, __WALL) == peer->pid && WIFSTOPPED(status), "%x", status);
        calls = i / 2;
    }
    return calls;
}

// A writer that stands before `sql`, traced.
static peer stopped_before(const char *path, bool first, const char *sql) {
    const peer peer = start(0, path);
    expect(&peer, "SELECT count(*) FROM t WHERE x < 0", "0");
    if (!first) expect(&peer, "INSERT INTO t VALUES(0)", "");
    // Both lines at once, so that the peer has read them when it stops.
    tell(&peer, ".stop\n%s", sql);
    int status;
    CHECK(waitpid(peer.pid, &status, WUNTRACED) == peer.pid && WIFSTOPPED(status), "%x", status);
    CHECK(ptrace(PTRACE_ATTACH, peer.pid, NULL, NULL) == 0, "%s", strerror(errno));
    CHECK(waitpid(peer.pid, &status, __WALL) == peer.pid && WIFSTOPPED(status), "%x", status);
    kill(peer.pid, SIGCONT);
    while (poll(&(struct pollfd){peer.out, POLLIN, 0}, 1, 0) == 0) {
        // To the answer of ".stop".
        CHECK(ptrace(PTRACE_SYSCALL, peer.pid, NULL, NULL) == 0, "%s", strerror(errno));
        CHECK(waitpid(peer.pid, &status, __WALL) == peer.pid && WIFSTOPPED(status), "%x", status);
    }
    CHECK(!*answer(&peer), "not the answer of .stop");
    return peer;
}

static const char insert[] = "INSERT INTO t VALUES(1)";

static void kill_one(const char *path, bool first, uint64_t calls, uint64_t instructions, const peer *waiter,
                     const peer *other, const peer *plain) {
    const long before = atol(ask(plain, "SELECT count(*) FROM t WHERE x = 1"));
    peer writer = stopped_before(path, first, insert);
    (void)ask(waiter, "SELECT tidings_wait('main', 0)");
    tell(waiter, "SELECT tidings_wait('main', -1)");
    if (instructions % 2) until_asleep(waiter);
    (void)make_calls(&writer, calls);
    (void)step(&writer, instructions);
    kill(writer.pid, SIGKILL);
    (void)until_ended(&writer);
    const long after = atol(ask(plain, "SELECT count(*) FROM t WHERE x = 1"));
    CHECK(after - before == 0 || after - before == 1, "%ld rows after %ld", after, before);
    // A commit that others can see wakes the waiter without another one. Otherwise the next one does.
    if (after == before) expect(other, insert, "");
    const char *got = answer(waiter);
    CHECK(got && *got && strncmp(got, "error", 5) != 0, "'%s'", got ? got : "(it ended)");
    char rows[24];
    snprintf(rows, sizeof rows, "%ld", before + 1);
    expect(waiter, "SELECT count(*) FROM t WHERE x = 1", rows);
}

void a_writer_killed_anywhere_leaves_no_commit_unseen(void) {
    // TIDINGS_SQLITE_KILLS: how many instructions to try for each of the four cases; "all": every one.
    const char *asked = getenv("TIDINGS_SQLITE_KILLS");
    const bool all = asked && strcmp(asked, "all") == 0;
    // Single steps take a fifth of the time if both processes share a processor.
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    (void)sched_setaffinity(0, sizeof one, &one);
    if (all) alarm(0);
    for (int i = 0; i < 4; i++) {
        const bool first = i >= 2;
        const char *path = in_directory(first ? modes[i % 2] : i ? "rollback" : "logged");
        const peer other = start(0, path), plain = start(PLAIN, path);
        prepare(&other, modes[i % 2]);
        const peer waiter = start(0, path);
        expect(&waiter, "SELECT tidings_wait('main', 0)", "");
        expect(&plain, "SELECT count(*) FROM t", "0");
        peer writer = stopped_before(path, first, insert);
        const uint64_t length = all ? step(&writer, UINT64_MAX) : make_calls(&writer, UINT32_MAX);
        kill(writer.pid, SIGKILL);
        (void)until_ended(&writer);
        const uint64_t tries = all ? length : asked ? strtoull(asked, NULL, 0) : 24;
        for (uint64_t j = 0; j < tries; j++) {
            // A sample is up to 1,500 instructions behind a system call. Half are in the last third, where a commit
            // becomes visible and is posted.
            const uint64_t part = j % 2 ? length / 3 : length;
            kill_one(path, first, all ? 0 : length - at_random(part + 1), all ? j : at_random(1500), &waiter, &other,
                     &plain);
        }
        if (asked)
            printf("%s, %s commit: %llu kills, of %llu %s\n", modes[i % 2], first ? "first" : "later",
                   (unsigned long long)tries, (unsigned long long)length, all ? "instructions" : "system calls");
        expect(&plain, "PRAGMA integrity_check", "ok");
    }
}

// MARK: Exits

void an_exit_in_a_commit_leaves_no_commit_unseen(void) {
    const char *asked = getenv("TIDINGS_SQLITE_EXITS");
    const int tries = asked ? atoi(asked) : 120;
    for (int mode = 0; mode < 2; mode++) {
        int seen = 0;
        const char *path = in_directory(modes[mode]);
        const peer other = start(0, path), plain = start(PLAIN, path);
        prepare(&other, modes[mode]);
        const peer waiter = start(0, path);
        expect(&waiter, "SELECT tidings_wait('main', 0)", "");
        for (int i = 0; i < tries / 2; i++) {
            const long before = atol(ask(&plain, "SELECT count(*) FROM t WHERE x = 1"));
            peer writer = start(0, path);
            (void)ask(&waiter, "SELECT tidings_wait('main', 0)");
            tell(&waiter, "SELECT tidings_wait('main', -1)");
            until_asleep(&waiter);
            tell(&writer, ".race %d", 1 + (int)at_random(mode ? 300000 : 40000));
            const int status = until_ended(&writer);
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", status);
            const long after = atol(ask(&plain, "SELECT count(*) FROM t WHERE x = 1"));
            seen += after > before;
            if (after == before) expect(&other, insert, "");
            const char *got = answer(&waiter);
            CHECK(got && *got && strncmp(got, "error", 5) != 0, "'%s'", got ? got : "(it ended)");
        }
        if (asked) printf("%s: %d of %d exits with a commit\n", modes[mode], seen, tries / 2);
    }
}

// MARK: All of this at once

#define WAITERS 20
#define WRITERS 2

static void nap(long ns) { nanosleep(&(struct timespec){0, ns}, NULL); }

void writers_and_waiters_survive_kills_and_stops(void) {
    const char *asked = getenv("TIDINGS_SQLITE_SECONDS");
    const int seconds = asked ? atoi(asked) : 8;
    alarm((unsigned)seconds + 120);
    const char *path = in_directory("database");
    const peer first = start(0, path), plain = start(PLAIN, path);
    prepare(&first, "wal");
    expect(&first, "PRAGMA wal_autocheckpoint=1000", "1000");
    peer waiters[WAITERS], writers[WRITERS];
    for (int i = 0; i < WAITERS; i++) {
        waiters[i] = start(0, path);
        tell(&waiters[i], ".follow");
    }
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = start(0, path);
        tell(&writers[i], ".write");
    }
    const time_t until = time(NULL) + seconds;
    int kills = 0, stops = 0;
    while (time(NULL) < until) {
        nap((long)at_random(20000000));
        peer *one = at_random(3) ? &writers[at_random(WRITERS)] : &waiters[at_random(WAITERS)];
        const bool writes = one >= writers && one < writers + WRITERS;
        if (at_random(2)) {
            kill(one->pid, SIGSTOP);
            nap((long)at_random(10000000));
            kill(one->pid, SIGCONT);
            stops++;
        } else {
            kill(one->pid, SIGKILL);
            (void)until_ended(one);
            *one = start(0, path);
            tell(one, writes ? ".write" : ".follow");
            kills++;
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        kill(writers[i].pid, SIGKILL);
        (void)until_ended(&writers[i]);
    }
    expect(&first, "CREATE TABLE stop(x)", "");
    const long rows = atol(ask(&first, "SELECT count(*) FROM t"));
    char last[32];
    snprintf(last, sizeof last, "%s",
             ask(&first, "SELECT max(counter) FROM (SELECT counter FROM tidings_changes('main') "
                         "WHERE pid IS NOT NULL)"));
    uint64_t told = 0;
    for (int i = 0; i < WAITERS; i++) {
        unsigned long counter, wakes;
        const char *got = answer(&waiters[i]);
        CHECK(got && sscanf(got, "%lu %lu", &counter, &wakes) == 2, "waiter %d: '%s'", i, got ? got : "(it ended)");
        // The rest: by now everything is posted.
        for (char *end; (got = ask(&waiters[i], "SELECT tidings_wait('main', 0, 0, 1)")) && *got;) {
            counter = strtoul(got, &end, 10);
            CHECK(*end == '\0', "waiter %d: '%s'", i, got);
        }
        CHECK(counter == strtoul(last, NULL, 10), "waiter %d ended at %lu, the last change is %s", i, counter, last);
        told += wakes;
    }
    expect(&plain, "PRAGMA integrity_check", "ok");
    printf("%ld commits, %llu returns of waits, %d kills, %d stops in %d s\n", rows, (unsigned long long)told, kills,
           stops, seconds);
}
