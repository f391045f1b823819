// Adversarial peers: with and without write access.
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "by_hand.h"
#include "foreign.h"
#include "observable.h"
#include "privileges.h"

static pipe_pair ready, done;
static tidings_center *center;
static _Atomic uint32_t *passes;

// Moves the sleepers of every futex word to a futex that no process wakes.
static void take_away_for_ever(const uint8_t *bytes, size_t size) {
    uint32_t *mine = shared_memory(sizeof *mine);
    for (;;) {
        for (size_t at = 0; at < size; at += 64)
            syscall(SYS_futex, bytes + at, FUTEX_REQUEUE, 0, (void *)(uintptr_t)1000000, mine, 0);
        if (atomic_fetch_add(passes, 1) == 0) tell(&ready);
    }
}

static void moves_every_sleeper(void) {
    become(ANOTHER_USER);
    const int fd = open(path_of("tidings.0.scenario"), O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0, "%s", strerror(errno));
    struct stat status;
    CHECK(fstat(fd, &status) == 0, "%s", strerror(errno));
    const size_t size = 1 << 21;
    uint8_t *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    CHECK(bytes != MAP_FAILED && (off_t)size < status.st_size, "%s", strerror(errno));
    CHECK(mprotect(bytes, size, PROT_READ | PROT_WRITE) != 0, "it may write");
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    CHECK(open(self, O_RDWR | O_CLOEXEC) < 0, "it may write");
    CHECK(open(path_of("tidings.0.scenario"), O_RDWR | O_CLOEXEC) < 0, "it may write");
    // Every byte of every lock there could be.
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0};
    CHECK(fcntl(fd, F_OFD_SETLK, &lock) == 0, "%s", strerror(errno));
    take_away_for_ever(bytes, size);
}

// Two more passes over the mapping: every sleeper that can be moved has been moved.
static void until_moved(void) {
    for (const uint32_t before = *passes; *passes - before < 2;) usleep(100);
}

static void waits_for_each_post(void) {
    tidings_observer *observer = observer_of(join_center(256), NAME);
    tell(&ready);
    for (uint32_t i = 0; i < ROUNDS(40); i++) {
        const tidings_delivery delivery = receive(observer);
        CHECK(stamp_of(&delivery).number == i, "%u", stamp_of(&delivery).number);
        tell(&done);
    }
}

static void waits_as_a_reader(void) {
    become(ANOTHER_USER);
    tidings_observer *observer = observer_of(open_to_read(), "rare");
    tell(&ready);
    for (uint32_t i = 0; i < 3; i++) {
        const tidings_delivery delivery = receive(observer);
        CHECK(stamp_of(&delivery).number == i, "%u", stamp_of(&delivery).number);
        tell(&done);
    }
}

static void is_a_lossless_observer(void) {
    tidings_center *joined = join_center(256);
    (void)observer_with(joined, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    tell(&ready);
    for (;;) pause();
}

// The adversarial reader locks every byte that it can lock. It moves each sleeper on a word that it can map to a futex
// of its own.
void an_adversarial_reader_faults_no_process(void) {
    ready = pipe_open();
    done = pipe_open();
    center = observable_center(256);
    passes = shared_memory(sizeof *passes);
    const pid_t attacker = start(moves_every_sleeper);
    told(&ready);
    const pid_t observer = start(waits_for_each_post);
    told(&ready);
    tidings_publisher *publisher = publisher_of(center, NAME), *rare = publisher_of(center, "rare");
    for (uint32_t i = 0; i < ROUNDS(40); i++) {
        until_asleep(observer, center, 1);
        until_moved();
        post_number(publisher, i);
        told(&done);
    }
    ends_well(observer);
    // New ones find a place, and the dead are found out.
    const pid_t lossless = start(is_a_lossless_observer);
    told(&ready);
    kill_and_reap(lossless);
    for (uint32_t i = 0; i < 600; i++) {
        OK(tidings_post(publisher, "x", 1, &(tidings_post_options){.timeout_ns = -1}, NULL));
    }
    CHECK(tidings_reclaim(center) >= 0, "reclaiming");
    CHECK(statistics_of(center).participants == 1, "%u participants", statistics_of(center).participants);
    // Readers have no place to sleep where other readers aren't: they look again by themselves.
    const pid_t reader = start(waits_as_a_reader);
    told(&ready);
    for (uint32_t i = 0; i < 3; i++) {
        until_asleep(reader, center, 0);
        until_moved();
        post_number(rare, i);
        told(&done);
    }
    ends_well(reader);
    kill_and_reap(attacker);
}

static void takes_away_as_a_writer(void) {
    const int fd = open(path_of("tidings.0.scenario"), O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0, "%s", strerror(errno));
    struct stat status;
    CHECK(fstat(fd, &status) == 0, "%s", strerror(errno));
    uint8_t *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(bytes != MAP_FAILED, "%s", strerror(errno));
    // Doorbells are near the beginning.
    take_away_for_ever(bytes, status.st_size < 1 << 18 ? (size_t)status.st_size : 1 << 18);
}

static void *sleeps_for_good(void *observer) {
    tidings_delivery delivery;
    return (void *)(intptr_t)tidings_next(observer, -1, &delivery);
}

// What a peer takes off its doorbell hears of no post any more. But its own process wakes it, and can end it.
void an_observer_taken_off_its_doorbell_can_still_be_interrupted_and_closed(void) {
    ready = pipe_open();
    center = join_center(256);
    passes = shared_memory(sizeof *passes);
    const pid_t attacker = start(takes_away_as_a_writer);
    told(&ready);
    for (uint32_t i = 0; i < ROUNDS(40); i++) {
        tidings_observer *asleep = observer_of(center, NAME), *watched = observer_of(center, NAME);
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, sleeps_for_good, asleep) == 0, "no thread");
        int fd;
        OK(tidings_observer_descriptor(watched, &fd));
        tidings_delivery delivery;
        CHECK(tidings_next(watched, 0, &delivery) == -EAGAIN, "there is something");
        while (statistics_of(center).observers_asleep < 2) usleep(100);
        until_moved();
        tidings_observer_interrupt(asleep);
        void *result;
        CHECK(pthread_join(thread, &result) == 0 && (intptr_t)result == -EINTR, "interrupted");
        tidings_observer_close(asleep);
        tidings_observer_close(watched);
    }
    kill_and_reap(attacker);
}
