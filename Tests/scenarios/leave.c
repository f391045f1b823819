// What a test of the doctor finds: real orphans and stale files. Their processes are killed at the right moment.
#include <fcntl.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "by_hand.h"
#include "conditions.h"
#include "foreign.h"
#include "leave.h"
#include "segment/eviction.h"
#include "segment/layout.h"

static void dies(void) {
    fflush(NULL);
    kill(getpid(), SIGKILL);
}

static void dies_as_a_creator(const refusal *refusals, unsigned count, uint32_t mode) {
    refuse_calls(refusals, count);
    tidings_center *center;
    (void)tidings_open("scenario", &(tidings_configuration){.mode = mode}, &center);
    CHECK(false, "it was to be killed");
}

static void leave_unfinished(void) {
    const refusal refusals[] = {{SYS_openat, EOPNOTSUPP, 2, O_TMPFILE & ~O_DIRECTORY, O_TMPFILE & ~O_DIRECTORY, 0},
                                {SYS_fchmod, 0, 0, 0, 0, 0}};
    dies_as_a_creator(refusals, 2, 0600);
}

static void leave_writers_file(void) {
    const refusal no_wide_mode = {SYS_fchmod, 0, 1, ~0u, 0644, 0};
    dies_as_a_creator(&no_wide_mode, 1, 0644);
}

static void leave_eviction(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    for (uint32_t i = 0; i < 200; i++) post_number(publisher, i);
    const tidings__segment *s = &center->segment;
    tidings__set_release(&s->header->eviction.word, tidings__ev_evicting(tidings__oldest(s), 64));
    dies();
}

static void leave_removed(void) {
    atomic_store(&join_center(256)->segment.header->removed.word, 1);
    dies();
}

static void leave_version(void) {
    tidings_close(join_center(256));
    const uint32_t other = TIDINGS__FORMAT_VERSION + 0x10000;
    overwrite(center_path(), offsetof(tidings__header, version), &other, sizeof other);
}

static void leave_short(void) {
    tidings_close(join_center(256));
    CHECK(truncate(center_path(), 100000) == 0, "%s", strerror(errno));
}

// Stands in the middle of a post until it is killed. Its line says that it does.
static void stand(void) {
    tidings_center *center = join_center(256);
    (void)claim_by(center, TIDINGS__W_FOREIGN | center->participant);
    printf("standing\n");
    fflush(stdout);
    for (;;) pause();
}

static _Atomic uint64_t *posts;

static void posts_until_killed(void) {
    tidings_center *center = join_center(0);
    tidings_publisher *publishers[3] = {publisher_of(center, NAME), publisher_of(center, "other"),
                                        publisher_of(center, "kept")};
    static uint8_t bytes[30000];
    for (;;) {
        const uint64_t what = random_below(3);
        const size_t size = random_below(random_below(2) ? 100 : sizeof bytes);
        const int result = tidings_post(publishers[what], bytes, size,
                                        &(tidings_post_options){.flags = what == 2 ? TIDINGS_POST_RETAIN : 0}, NULL);
        if (result == 0) atomic_fetch_add(posts, 1);
        if (random_below(1000) == 0) (void)tidings_reserve(center, 1000, &(tidings_reservation){0});
    }
}

static void observes_until_killed(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer = observer_with(center, random_below(2) ? NAME : NULL,
                                               random_below(2) ? TIDINGS_OBSERVE_LOSSLESS : 0, 0);
    for (;;) {
        tidings_delivery delivery;
        OK(tidings_next(observer, -1, &delivery));
    }
}

// Eight posters and eight observers, all killed at one moment; this process dies last.
static void leave_stress(void) {
    posts = shared_memory(4096);
    pid_t pids[16];
    for (int i = 0; i < 16; i++) {
        random_next();
        pids[i] = start(i % 2 ? posts_until_killed : observes_until_killed);
    }
    while (atomic_load(posts) < 20000) usleep(100);
    for (int i = 0; i < 16; i++) kill(pids[i], SIGKILL);
    dies();
}

static const struct {
    const char *what;
    void (*leave)(void);
} others[] = {
    {"unfinished", leave_unfinished},
    {"writers-file", leave_writers_file},
    {"eviction", leave_eviction},
    {"removed", leave_removed},
    {"version", leave_version},
    {"short", leave_short},
    {"standing", stand},
    {"stress", leave_stress},
};

bool leave(const char *what) {
    if (leave_orphans(what)) return true;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(others[i].what, what) != 0) continue;
        others[i].leave();
        return true;
    }
    return false;
}
