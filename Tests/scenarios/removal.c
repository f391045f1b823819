// A center whose file is deleted, and one of the same name after it.
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "center/center.h"
#include "foreign.h"
#include "platform/lock.h"

static pipe_pair ready, removed;

static void posts_after_the_removal(void) {
    tidings_center *center = join_center(0);
    tidings_publisher *publisher = publisher_of(center, NAME);
    static uint8_t bytes[5000];
    tidings_reservation reservation;
    OK(tidings_reserve(center, sizeof bytes, &reservation));
    post_number(publisher, 1);
    tell(&ready);
    told(&removed);
    REFUSED(tidings_post(publisher, "x", 1, NULL, NULL), ESTALE, "removed");
    REFUSED(tidings_post(publisher, bytes, sizeof bytes, NULL, NULL), ESTALE, "removed");
    REFUSED(tidings_post(publisher, "x", 1, &(tidings_post_options){.timeout_ns = -1}, NULL), ESTALE, "removed");
    REFUSED(tidings_post_reserved(publisher, &reservation, 10, NULL, NULL), ESTALE, "removed");
    REFUSED(tidings_state_set(publisher, "x", 1, NULL, NULL), ESTALE, "removed");
    tidings_publisher_close(publisher);
    tidings_close(center);
}

// A process that still has the center open is told by its next post. The next center of that name has nothing to do
// with it.
void a_removed_center_takes_no_more_posts(void) {
    ready = pipe_open();
    removed = pipe_open();
    tidings_center *center = join_center(256);
    tidings_observer *observer = observer_of(center, NAME);
    const pid_t poster = start(posts_after_the_removal);
    told(&ready);
    OK(tidings_remove("scenario", NULL));
    CHECK(files_there() == 0, "%u files", files_there());
    REFUSED(tidings_remove("scenario", NULL), ENOENT, "scenario");
    REFUSED(try_open(TIDINGS_OPEN_EXISTING), ENOENT, "scenario");
    tidings_center *next = join_center_with((tidings_configuration){.slots = 512, .flags = TIDINGS_OPEN_EXCLUSIVE});
    tidings_observer *of_next = observer_of(next, NAME);
    tell(&removed);
    ends_well(poster);
    const account account = drain(observer);
    CHECK(account.received == 1 && account.missed == 0, "%lu: what was posted before, and no more",
          (unsigned long)account.received);
    post_number(publisher_of(next, NAME), 2);
    const tidings_delivery delivery = receive(of_next);
    CHECK(stamp_of(&delivery).number == 2 && drain(observer).received == 0, "mixed up");
    tidings_observer_close(observer);
    tidings_close(center);
    works(next);
}

static void opens_and_removes(void) {
    for (uint32_t i = 0; i < ROUNDS(1200); i++) {
        tidings_center *center;
        int result = tidings_open(
            "scenario", &(tidings_configuration){.slots = 256, .names = 64, .participants = 16, .observers = 16},
            &center);
        if (result == -ESTALE) continue;  // another process had no processor for two seconds while it removed a center
        CHECK(result == 0, "open: %d", result);
        tidings_publisher *publisher = publisher_of(center, NAME);
        result = tidings_post(publisher, "x", 1, NULL, NULL);
        CHECK(result == 0 || result == -ESTALE, "post: %d", result);
        tidings_publisher_close(publisher);
        if (random_below(2)) tidings_close(center);
        result = random_below(2) ? tidings_remove("scenario", NULL) : 0;
        CHECK(result == 0 || result == -ENOENT, "remove: %d", result);
    }
}

// Opened, created and removed by several at once, all the time: none ever meets half a center, or the wrong one's end.
void centers_come_and_go_under_one_name(void) {
    pid_t pids[4];
    for (int i = 0; i < 4; i++) {
        pids[i] = start(opens_and_removes);
        random_next();
    }
    for (int i = 0; i < 4; i++) ends_well(pids[i]);
    CHECK(files_there() <= 1, "%u files are left", files_there());
    works(join_center(256));
}

typedef struct opening {
    _Atomic pid_t thread;
    _Atomic int result;
} opening;

static void *opens_what_is_being_removed(void *argument) {
    opening *opening = argument;
    atomic_store(&opening->thread, (pid_t)syscall(SYS_gettid));
    tidings_center *center;
    atomic_store(&opening->result, tidings_open("scenario", NULL, &center));
    return NULL;
}

static void does_nothing(void) {}

// If a process is stopped while it removes a center, only processes that open the same name wait for it.
void a_process_that_waits_for_a_remover_holds_up_no_other_center(void) {
    tidings_center *center = join_center(256), *other;
    const int file = open(tidings_path(center), O_RDWR | O_CLOEXEC);
    CHECK(file >= 0 && tidings__lock_try(file, TIDINGS__LOCK_REMOVAL, true) == 0, "%s", strerror(errno));
    tidings__set_release(&center->segment.header->removed.word, 1);
    // It gives up after two seconds. On a machine where another center can't be opened and closed in that time, again.
    for (uint32_t round = 1;; round++) {
        opening opening = {.result = 1};
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, opens_what_is_being_removed, &opening) == 0, "no thread");
        // 'X': it gave up before this thread looked.
        for (char state = 0; state != 'S' && state != 'X'; sched_yield())
            if (atomic_load(&opening.thread) != 0) state = thread_state(getpid(), atomic_load(&opening.thread));
        OK(tidings_open("another", &tidings_small_configuration, &other));
        tidings_close(other);
        ends_well(start(does_nothing));
        const int result = atomic_load(&opening.result);
        if (result == 1) OK(tidings__lock_release(file, TIDINGS__LOCK_REMOVAL));
        pthread_join(thread, NULL);
        if (result == 1) {
            CHECK(atomic_load(&opening.result) == 0, "it answers %d", atomic_load(&opening.result));
            break;
        }
        CHECK(atomic_load(&opening.result) == -ESTALE && round < 5,
              "round %u: opening another center, or a fork, waits for it", round);
    }
    close(file);
}
