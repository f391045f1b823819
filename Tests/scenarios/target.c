// The target of faults: its part of the operation, and what its forked child does.
#include "target.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "platform/watch.h"

struct target target;
tidings_center *own_center;
tidings_publisher *own_publisher;
tidings_observer *own_observer;
uint8_t own_payloads[4][1000];

static void *forks(void *unused) {
    told(&target.child_onward);
    atomic_store(&board->forker, (uint32_t)syscall(SYS_gettid));
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(2 * hang_timeout() + 30);
        const bool own = own_center && own_publisher;
        tidings_publisher *publisher = own ? own_publisher : world.publisher;
        tidings_center *center = own ? own_center : world.center;
        child_lives(center, publisher);
        atomic_store(&board->born, 1);
        // Its parent may be dead by design, but it doesn't outlive the scenario.
        while (!atomic_load(&board->goes_on)) {
            if (kill(target.checker, 0) != 0) _exit(0);
            usleep(200);
        }
        child_lives(center, publisher);
        // Its place is free when it says so; but for handles that the operation may be about to close, it would close
        // what it has.
        tidings_close(world.center);
        if (center != world.center) tidings_close(center);
        atomic_store(&board->born, 2);
        _exit(0);
    }
    atomic_store(&board->forked, pid > 0 ? 1 : 2);
    int status;
    if (waitpid(pid, &status, 0) != pid || status != 0) atomic_fetch_add(&board->faults, 1);
    return unused;
}

static void nothing(int32_t watch) { (void)watch; }

// The thread that watches is started before the section, as only the first is traced.
static void start_watching(void) {
    const char *directory = getenv("TIDINGS_DIRECTORY");
    const int fd = open(directory, O_RDONLY | O_CLOEXEC);
    const int32_t watch = tidings__watch_add(fd, directory, nothing);
    (void)tidings__watch_runs();
    if (watch >= 0) tidings__watch_remove(watch);
    (void)close(fd);
}

void suffers(void) {
    start_watching();
    for (uint32_t i = 0; i < operation->posts; i++) fill_payload(own_payloads[i], operation->size, 1, i);
    if (operation->prepare) operation->prepare();
    if (target.forks) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, forks, NULL) == 0, "no thread");
    }
    section_begin();
    operation->act();
    section_end();
    atomic_store(&board->done, 1);
    told(&target.onward);
    if (operation->settle) operation->settle();
    atomic_store(&board->settled, 1);
    told(&target.onward);
    tidings_observer_close(own_observer);
    if (own_publisher) tidings_publisher_close(own_publisher);
    tidings_close(own_center);
}

int open_as_target(void) {
    const tidings_configuration existing = {.flags = operation->readable ? TIDINGS_OPEN_READ_ONLY
                                                                         : TIDINGS_OPEN_EXISTING};
    return tidings_open("scenario", &existing, &own_center);
}

void join_as_target(void) {
    OK(open_as_target());
    if (operation->readable) return;
    OK(tidings_publisher_open(own_center, NAME, strlen(NAME), NULL, 0, &own_publisher));
    if (!target.on_used) return;
    // One that has been at it for years knows where memory is. On the fresh center it asks.
    uint8_t bytes[300];
    tidings_publisher *filler;
    tidings_reservation reservation;
    OK(tidings_publisher_open(own_center, "filler", 6, NULL, 0, &filler));
    for (size_t size = 300; size > 0; size -= 150) {
        fill_payload(bytes, size, 3, 0);
        OK(tidings_post(filler, bytes, size, NULL, NULL));
    }
    OK(tidings_reserve(own_center, 900, &reservation));
    tidings_abandon(own_center, &reservation);
    tidings_publisher_close(filler);
}

void post_as_target(uint32_t number) {
    // Written before the section, as it is no instruction of ours.
    const uint8_t *bytes = own_payloads[number];
    const tidings_post_options options = {.flags = operation->flags};
    const int result = tidings_post(own_publisher, bytes, operation->size, &options, NULL);
    if (result != 0)
        atomic_store(&board->result, result);
    else
        atomic_fetch_add(&board->returned, 1);
}

bool next_as_target(int64_t timeout_ns) {
    static uint64_t last;
    tidings_delivery delivery;
    const int result = tidings_next(own_observer, timeout_ns, &delivery);
    if (result != 0) {
        if (result != -EAGAIN) atomic_store(&board->result, result);
        return false;
    }
    if (delivery.kind == TIDINGS_DELIVERY_MISSED) {
        atomic_fetch_add(&board->missed, delivery.missed);
        return true;
    }
    if (delivery.sequence <= last && !(delivery.flags & TIDINGS_DELIVERY_RETAINED))
        atomic_store(&board->result, -EILSEQ);
    if (delivery.size && !payload_is_whole(delivery.payload, delivery.size)) atomic_store(&board->result, -EBADMSG);
    last = delivery.sequence;
    atomic_fetch_add(&board->received, 1);
    return true;
}

void drain_as_target(void) {
    while (next_as_target(0)) {}
}
