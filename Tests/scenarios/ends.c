// What observers and posters learn when their center ends: removed, unlinked, replaced by another file, or renamed.
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#include "center/center.h"
#include "foreign.h"
#include "observable.h"
#include "privileges.h"
#include "receiving/observer.h"

static pipe_pair ready;

typedef enum end { REMOVED, UNLINKED, UNLINKED_OF_TWO, REPLACED, RENAMED } end;
static const end ends[] = {REMOVED, UNLINKED, UNLINKED_OF_TWO, REPLACED, RENAMED};

static void bring_about(end how) {
    const char *path = center_path();
    if (how == REMOVED) OK(tidings_remove("scenario", NULL));
    if (how == UNLINKED) CHECK(unlink(path) == 0, "unlink: %s", strerror(errno));
    // The kernel reports the changed link count before the path leads nowhere, and reports nothing afterwards. (The
    // second name comes last: a file with two names can't be opened.)
    if (how == UNLINKED_OF_TWO)
        CHECK(link(path, path_of("elsewhere")) == 0 && unlink(center_path()) == 0, "link: %s", strerror(errno));
    if (how == RENAMED) CHECK(rename(path, path_of("elsewhere")) == 0, "rename: %s", strerror(errno));
    if (how == REPLACED) {
        make_file(path_of("other"), "another file", 12);
        CHECK(rename(path_of("other"), center_path()) == 0, "rename: %s", strerror(errno));
    }
}

static void clean(void) {
    (void)unlink(center_path());
    (void)unlink(path_of("elsewhere"));
}

static bool as_readers;   // the observers open the center without write access
static uint32_t waiting;  // posts that are in the ring at the end

static tidings_center *center_that_ends(void) { return as_readers ? observable_center(256) : join_center(256); }

// A reader is another user, if this process may become one.
static tidings_center *join_to_observe(void) {
    if (!as_readers) return join_center(0);
    const uid_t owner = geteuid();
    if (owner == 0) become(ANOTHER_USER);
    tidings_center *center;
    OK(tidings_open("scenario",
                    &(tidings_configuration){.flags = TIDINGS_OPEN_READ_ONLY | TIDINGS_OPEN_OWNER, .owner = owner},
                    &center));
    keep(center);
    return center;
}

// After what was posted before it. Each end is told a second time, too.
static void told_of_the_end(tidings_observer *observer) {
    tidings_delivery delivery;
    for (uint32_t number = 0; number < waiting; number++) {
        delivery = receive(observer);
        CHECK(stamp_of(&delivery).number == number, "%u, not %u", stamp_of(&delivery).number, number);
    }
    REFUSED(tidings_next(observer, -1, &delivery), ESTALE, "scenario");
    REFUSED(tidings_next(observer, 0, &delivery), ESTALE, "scenario");
    REFUSED(tidings_next(observer, 1000000, &delivery), ESTALE, "scenario");
}

static void sleeps_until_the_end(void) {
    tidings_center *center = join_to_observe();
    tidings_observer *observer = observer_of(center, NAME);
    const uint32_t before = tidings__acquire(&observer->sleeper.own_futex);
    tell(&ready);
    told_of_the_end(observer);
    // A reader wakes each second by itself. The thread that watches wakes it sooner.
    while (tidings__end_watched(center) && tidings__acquire(&observer->sleeper.own_futex) == before) usleep(100);
    REFUSED(tidings_ended(center), ESTALE, "scenario");
    uint32_t subscription;
    REFUSED(tidings_observer_add(observer, "other", 5, NULL, 0, 0, &subscription), ESTALE, "scenario");
    tidings_observer *another;
    REFUSED(tidings_observer_open(center, 0, &another), ESTALE, "scenario");
    tidings_participant_info info;
    OK(tidings_participant(center, 0, &info));
    CHECK(statistics_of(center).slots == 256, "its statistics can't be read");
    tidings_observer_close(observer);
    tidings_close(center);
}

// `body` observes the center in another process, and so may a child of that: each of the `observers` tells that it is
// ready.
static void each_end_with(void (*body)(void), int observers, bool sleeps) {
    for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        ready = pipe_open();
        tidings_center *center = center_that_ends();
        CHECK(tidings_ended(center) == 0, "it has not ended");
        tidings_publisher *publisher = publisher_of(center, NAME);
        const pid_t observer = start(body);
        for (int j = 0; j < observers; j++) told(&ready);
        // The center does not know which readers sleep.
        if (sleeps) until_asleep(observer, center, !as_readers);
        for (uint32_t number = 0; number < waiting; number++) post_number(publisher, number);
        bring_about(ends[i]);
        ends_well(observer);
        tidings_publisher_close(publisher);
        tidings_close(center);
        clean();
    }
}

static void each_end_with_readers(void (*body)(void)) {
    as_readers = true;
    for (waiting = 0; waiting <= 3; waiting += 3) each_end_with(body, 1, true);
}

static void spins_until_the_end(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer = observer_of(center, NAME);
    tidings_observer_spin(observer, UINT32_MAX);
    tell(&ready);
    told_of_the_end(observer);
}

void each_end_is_told_to_a_spinning_observer(void) { each_end_with(spins_until_the_end, 1, false); }

// Never sleeps, and has no descriptor.
static void asks_until_the_end(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer = observer_of(center, NAME);
    tell(&ready);
    tidings_delivery delivery;
    while (tidings_next(observer, 0, &delivery) == -EAGAIN) usleep(1000);
    told_of_the_end(observer);
}

void each_end_is_told_to_an_observer_that_asks(void) { each_end_with(asks_until_the_end, 1, false); }

void each_end_wakes_a_sleeping_observer(void) { each_end_with(sleeps_until_the_end, 1, true); }

void each_end_wakes_a_sleeping_reader(void) { each_end_with_readers(sleeps_until_the_end); }

static void polls_until_the_end(void) {
    tidings_center *center = join_to_observe();
    tidings_observer *observer = observer_of(center, NAME);
    int fd;
    OK(tidings_observer_descriptor(observer, &fd));
    tidings_delivery delivery;
    CHECK(tidings_next(observer, 0, &delivery) == -EAGAIN, "something is there");
    tell(&ready);
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    CHECK(poll(&polled, 1, -1) == 1, "poll: %s", strerror(errno));
    // It may have become readable for nothing.
    int result;
    uint32_t received = 0;
    while ((result = tidings_next(observer, 0, &delivery)) == -EAGAIN || result == 0) {
        if (result == 0)
            CHECK(stamp_of(&delivery).number == received++, "%u", stamp_of(&delivery).number);
        else
            CHECK(poll(&polled, 1, -1) == 1, "poll: %s", strerror(errno));
    }
    CHECK(result == -ESTALE && received == waiting, "%d after %u notifications", result, received);
    for (int i = 0; i < 3; i++) {
        CHECK(poll(&polled, 1, 0) == 1, "the descriptor is not readable any more");
        CHECK(tidings_next(observer, 0, &delivery) == -ESTALE, "told once only");
    }
    tidings_observer_close(observer);
    tidings_close(center);
}

void each_end_makes_the_descriptor_readable(void) { each_end_with(polls_until_the_end, 1, true); }

void each_end_makes_the_descriptor_of_a_reader_readable(void) { each_end_with_readers(polls_until_the_end); }

#define ANSWERED 50u  // posts that wait until the one before was received
#define POSTED (ANSWERED + 3)
static pipe_pair answer;

// The loop that tidings.h describes at `tidings_observer_descriptor`.
static void loops_until_an_error(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer = observer_of(center, NAME);
    int fd, result;
    OK(tidings_observer_descriptor(observer, &fd));
    tidings_delivery delivery;
    uint32_t received = 0, turns = 0;
    CHECK(tidings_next(observer, 0, &delivery) == -EAGAIN, "something is there");
    tell(&ready);
    for (;;) {
        CHECK(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1) == 1, "poll: %s", strerror(errno));
        while ((result = tidings_next(observer, 0, &delivery)) == 0) {
            CHECK(stamp_of(&delivery).number == received, "%u, not %u", stamp_of(&delivery).number, received);
            if (received++ < ANSWERED) tell(&answer);
        }
        if (result != -EAGAIN) break;
        // A claimed post keeps the descriptor readable until it is committed.
        if (tidings_nothing_since(center, tidings_observer_position(observer))) turns++;
    }
    CHECK(result == -ESTALE, "%d", result);
    CHECK(received == POSTED, "%u received", received);
    // A turn for each post and one for the end; some for nothing. A loop that spins takes thousands.
    CHECK(turns <= 4 * POSTED, "%u turns", turns);
    tidings_observer_close(observer);
    tidings_close(center);
}

// It receives everything, ends with the center, and does not spin: neither between posts nor at the end.
void a_poll_loop_ends_with_its_center_and_does_not_spin(void) {
    for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        ready = pipe_open();
        answer = pipe_open();
        tidings_center *center = join_center(256);
        tidings_publisher *publisher = publisher_of(center, NAME);
        const pid_t observer = start(loops_until_an_error);
        told(&ready);
        for (uint32_t number = 0; number < ANSWERED; number++) {
            post_number(publisher, number);
            told(&answer);
            until_asleep(observer, center, 1);
        }
        for (uint32_t number = ANSWERED; number < POSTED; number++) post_number(publisher, number);
        bring_about(ends[i]);
        ends_well(observer);
        tidings_publisher_close(publisher);
        tidings_close(center);
        clean();
    }
}

// What was posted before the end comes before it.
void what_was_posted_before_the_end_comes_first(void) {
    for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        tidings_center *center = join_center(256);
        tidings_observer *observer = observer_of(center, NAME);
        tidings_publisher *publisher = publisher_of(center, NAME);
        for (uint32_t number = 0; number < 300; number++) post_number(publisher, number);
        bring_about(ends[i]);
        REFUSED(tidings_ended(center), ESTALE, "scenario");
        const account account = drain(observer);
        CHECK(account.received + account.missed == 300 && account.received > 0, "%lu and %lu missed",
              (unsigned long)account.received, (unsigned long)account.missed);
        told_of_the_end(observer);
        tidings_observer_close(observer);
        tidings_publisher_close(publisher);
        tidings_close(center);
        clean();
    }
}

// A poster that has no observer, and so no thread that watches. Within a second of its next post: here it posts until
// it is told, and the watchdog ends what isn't.
void each_end_is_told_to_posters(void) {
    static uint8_t large[5000];
    for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        for (int kind = 0; kind < 4; kind++) {
            tidings_center *center = join_center(256);
            tidings_publisher *publisher = publisher_of(center, NAME);
            post_number(publisher, 1);
            tidings_reservation reservation;
            bring_about(ends[i]);
            int result = 0;
            while (result == 0) {
                if (kind == 0) result = tidings_post(publisher, "x", 1, NULL, NULL);
                if (kind == 1) result = tidings_post(publisher, large, sizeof large, NULL, NULL);
                if (kind == 2) result = tidings_state_set(publisher, "x", 1, NULL, NULL);
                if (kind == 3 && (result = tidings_reserve(center, 5000, &reservation)) == 0)
                    result = tidings_post_reserved(publisher, &reservation, 5000, NULL, NULL);
            }
            REFUSED(result, ESTALE, "scenario");
            REFUSED(tidings_post(publisher, "x", 1, NULL, NULL), ESTALE, "scenario");
            tidings_publisher_close(publisher);
            tidings_close(center);
            clean();
        }
    }
}

// The file goes on, under its own name: none of this is its end.
void what_does_not_end_a_center_is_not_told_as_an_end(void) {
    tidings_center *center = join_center(256);
    tidings_observer *observer = observer_of(center, NAME);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_delivery delivery;
    CHECK(link(center_path(), path_of("second")) == 0, "link: %s", strerror(errno));
    CHECK(tidings_ended(center) == 0, "by a second name");
    CHECK(unlink(path_of("second")) == 0, "unlink: %s", strerror(errno));
    CHECK(chmod(center_path(), 0640) == 0 && chmod(center_path(), 0600) == 0, "chmod: %s", strerror(errno));
    CHECK(rename(center_path(), path_of("away")) == 0 && tidings_ended(center) != 0, "renamed");
    tidings_observer_close(observer);
    tidings_publisher_close(publisher);
    tidings_close(center);
    CHECK(rename(path_of("away"), center_path()) == 0, "rename: %s", strerror(errno));
    // It was never marked, so it can be opened again.
    center = join_center(0);
    observer = observer_of(center, NAME);
    publisher = publisher_of(center, NAME);
    post_number(publisher, 1);
    (void)receive(observer);
    CHECK(tidings_next(observer, 0, &delivery) == -EAGAIN && tidings_ended(center) == 0, "it goes on");
    tidings_observer_close(observer);
    tidings_publisher_close(publisher);
    // Of two names, the center's own goes.
    CHECK(link(center_path(), path_of("second")) == 0 && unlink(center_path()) == 0, "link: %s", strerror(errno));
    REFUSED(tidings_ended(center), ESTALE, "scenario");
    tidings_close(center);
    CHECK(unlink(path_of("second")) == 0, "unlink: %s", strerror(errno));
}

// The limit that tidings.h states: the center goes on in its directory, and another one has the path.
void a_directory_that_is_moved_away_takes_its_center_along(void) {
    char below[4096], moved[4096];
    (void)snprintf(below, sizeof below, "%s/below", getenv("TIDINGS_DIRECTORY"));
    (void)snprintf(moved, sizeof moved, "%s/moved", getenv("TIDINGS_DIRECTORY"));
    CHECK(mkdir(below, 0700) == 0, "mkdir: %s", strerror(errno));
    const tidings_configuration configuration = {.directory = below, .slots = 256};
    tidings_center *center = join_center_with(configuration);
    tidings_observer *observer = observer_of(center, NAME);
    tidings_publisher *publisher = publisher_of(center, NAME);
    CHECK(rename(below, moved) == 0 && mkdir(below, 0700) == 0, "rename: %s", strerror(errno));
    tidings_center *another = join_center_with(configuration);
    CHECK(tidings_incarnation(another) != tidings_incarnation(center), "one center");
    CHECK(tidings_ended(center) == 0, "an end");
    post_number(publisher, 1);
    const tidings_delivery delivery = receive(observer);
    CHECK(stamp_of(&delivery).number == 1, "another post");
}

// A path that leads into another file system says nothing of the center, also where the directory is a link and the
// mount is over what it leads to.
void a_mount_over_the_directory_is_not_the_end(void) {
    own_mounts();
    char real[512], through[512];
    snprintf(real, sizeof real, "%s", path_of("real"));
    snprintf(through, sizeof through, "%s", path_of("link"));
    CHECK(mkdir(real, 0700) == 0 && symlink(real, through) == 0, "symlink: %s", strerror(errno));
    const char *const directories[] = {real, through};
    for (unsigned i = 0; i < sizeof directories / sizeof directories[0]; i++) {
        CHECK(setenv("TIDINGS_DIRECTORY", directories[i], 1) == 0, "%s", strerror(errno));
        tidings_center *center = join_center(256);
        tidings_observer *observer = observer_of(center, NAME);
        tidings_publisher *publisher = publisher_of(center, NAME);
        CHECK(mount("none", real, "tmpfs", 0, "size=64k") == 0, "mount: %s", strerror(errno));
        OK(tidings_ended(center));
        post_number(publisher, 1);
        (void)receive(observer);
        CHECK(umount(real) == 0, "umount: %s", strerror(errno));
        OK(tidings_ended(center));
        bring_about(UNLINKED);
        told_of_the_end(observer);
        tidings_observer_close(observer);
        tidings_publisher_close(publisher);
        tidings_close(center);
    }
}

static _Atomic bool enough;

static void *marks_and_takes_back(void *center) {
    _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)&((tidings_center *)center)->segment.header->removed.word;
    while (!atomic_load(&enough)) {
        atomic_store(word, 1);
        atomic_store(word, 0);
    }
    return NULL;
}

// A remover that can't unlink takes its mark back, and a hostile peer does so as often as it likes: nothing is
// delivered that was not posted.
void a_mark_that_is_taken_back_delivers_nothing(void) {
    tidings_center *center = join_center(256);
    tidings_observer *observer = observer_of(center, NAME);
    pthread_t hostile;
    OK(pthread_create(&hostile, NULL, marks_and_takes_back, center));
    for (uint32_t i = 0; i < ROUNDS(1000000); i++) {
        tidings_delivery delivery;
        const int result = tidings_next(observer, 0, &delivery);
        CHECK(result == -EAGAIN || result == -ESTALE, "round %u: it answers %d, and nothing was posted", i, result);
    }
    atomic_store(&enough, true);
    OK(pthread_join(hostile, NULL));
    CHECK(tidings_next(observer, 0, &(tidings_delivery){0}) == -EAGAIN, "it goes on");
    post_number(publisher_of(center, NAME), 7);
    const tidings_delivery delivery = receive(observer);
    CHECK(stamp_of(&delivery).number == 7, "not what was posted");
}

void a_sealed_center_has_no_end(void) {
    tidings_center *center;
    OK(tidings_create_sealed("scenario", NULL, &center));
    tidings_observer *observer = observer_of(center, NAME);
    tidings_publisher *publisher = publisher_of(center, NAME);
    for (uint32_t number = 0; number < 10; number++) {
        post_number(publisher, number);
        (void)receive(observer);
        CHECK(tidings_ended(center) == 0, "it has ended");
    }
    tidings_observer_close(observer);
    tidings_publisher_close(publisher);
    tidings_close(center);
}

void starting_after_a_sequence_takes_its_incarnation(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    const uint64_t incarnation = tidings_incarnation(center);
    CHECK(incarnation != 0, "no incarnation");
    uint64_t second = 0, last = 0;
    for (uint32_t number = 0; number < 5; number++) {
        last = post_number(publisher, number);
        if (number == 1) second = last;
    }
    tidings_observer *observer = observer_of_nothing(center);
    REFUSED(tidings_observer_seek_after(observer, incarnation + 1, second), ESTALE, "incarnation");
    REFUSED(tidings_observer_seek_after(observer, incarnation, last + 1), ERANGE, "end");
    REFUSED(tidings_observer_seek_after(observer, incarnation, UINT64_MAX), ERANGE, "end");
    REFUSED(tidings_observer_seek(observer, last + 2), ERANGE, "end");
    OK(tidings_observer_seek(observer, last + 1));
    OK(tidings_observer_seek(observer, UINT64_MAX));
    OK(tidings_observer_seek_after(observer, incarnation, last));
    OK(tidings_observer_seek_after(observer, incarnation, second));
    uint32_t subscription;
    OK(tidings_observer_add(observer, NAME, strlen(NAME), NULL, 0, TIDINGS_ADD_HISTORY, &subscription));
    REFUSED(tidings_observer_seek_after(observer, incarnation, second), EBUSY, "seek");
    for (uint32_t number = 2; number < 5; number++) {
        const tidings_delivery delivery = receive(observer);
        CHECK(stamp_of(&delivery).number == number, "%u instead of %u", stamp_of(&delivery).number, number);
    }
    tidings_observer_close(observer);
    tidings_publisher_close(publisher);
    tidings_close(center);
    OK(tidings_remove("scenario", NULL));
    center = join_center(256);
    CHECK(tidings_incarnation(center) != incarnation, "two of one incarnation");
    observer = observer_of_nothing(center);
    REFUSED(tidings_observer_seek_after(observer, incarnation, second), ESTALE, "incarnation");
    tidings_observer_close(observer);
    tidings_close(center);
}

static void sleeps_in_a_forked_child(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer = observer_of(center, NAME);  // starts this process's thread
    const pid_t child = fork();
    if (child == 0) {
        tidings_observer *own = observer_of(center, NAME);
        tell(&ready);
        told_of_the_end(own);
        _exit(0);
    }
    tell(&ready);
    told_of_the_end(observer);
    ends_well(child);
    tidings_observer_close(observer);
    tidings_close(center);
}

void a_forked_child_is_told_of_the_end(void) { each_end_with(sleeps_in_a_forked_child, 2, false); }

static tidings_center *inherited;

// The parent's watch of the directory and the child's watch of `second` have the same number.
static void closes_what_it_inherited(void) {
    tidings_observer *observer = observer_of(inherited, NAME);
    tidings_center *second;
    OK(tidings_open("second", NULL, &second));
    keep(second);
    tidings_observer *sleeper = observer_of(second, NAME);
    tidings_observer_close(observer);
    tidings_close(inherited);
    tell(&ready);
    tidings_delivery delivery;
    REFUSED(tidings_next(sleeper, -1, &delivery), ESTALE, "second");
}

void a_forked_child_keeps_its_own_watches(void) {
    ready = pipe_open();
    inherited = join_center(256);
    tidings_observer *observer = observer_of(inherited, NAME);
    CHECK(tidings_observer_await_successor(observer, 0) == -ETIMEDOUT, "it has a successor");
    tidings_center *second;
    OK(tidings_open("second", NULL, &second));
    keep(second);
    const pid_t child = start(closes_what_it_inherited);
    told(&ready);
    until_asleep(child, second, 1);
    CHECK(unlink(second->segment.path) == 0, "unlink: %s", strerror(errno));
    ends_well(child);
    tidings_close(second);
    tidings_observer_close(observer);
    tidings_close(inherited);
}

static void goes_on_in_the_successor(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer = observer_of(center, NAME);
    const uint64_t incarnation = tidings_incarnation(center);
    tell(&ready);
    told_of_the_end(observer);
    // A file of another name comes before it, and each wait ends once it is interrupted.
    tidings_observer_interrupt(observer);
    CHECK(tidings_observer_await_successor(observer, -1) == -EINTR, "interrupted");
    CHECK(tidings_observer_await_successor(observer, 0) == -ETIMEDOUT, "no successor was made");
    tell(&ready);
    OK(tidings_observer_await_successor(observer, -1));
    tidings_center *successor = join_center(0);
    CHECK(tidings_incarnation(successor) != incarnation, "the same");
    tidings_observer_close(observer);
    tidings_close(center);
    observer = observer_of(successor, NAME);
    tell(&ready);
    (void)receive(observer);
    tidings_observer_close(observer);
    tidings_close(successor);
}

void an_observer_waits_for_the_successor(void) {
    for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (ends[i] == REPLACED) continue;  // by a file that is no center
        ready = pipe_open();
        tidings_center *center = join_center(256);
        const pid_t observer = start(goes_on_in_the_successor);
        told(&ready);
        bring_about(ends[i]);
        tidings_close(center);
        told(&ready);
        make_file(path_of("another"), "another file", 12);
        center = join_center(256);
        told(&ready);
        tidings_publisher *publisher = publisher_of(center, NAME);
        post_number(publisher, 1);
        ends_well(observer);
        tidings_publisher_close(publisher);
        tidings_close(center);
        CHECK(unlink(path_of("another")) == 0, "unlink: %s", strerror(errno));
        clean();
    }
    tidings_center *sealed;
    OK(tidings_create_sealed("scenario", NULL, &sealed));
    tidings_observer *observer = observer_of(sealed, NAME);
    REFUSED(tidings_observer_await_successor(observer, -1), EINVAL, "scenario");
    tidings_observer_close(observer);
    tidings_close(sealed);
}

// Of each of its threads: the observer's, and the one that watches.
static uint64_t switches_of(pid_t pid, uint32_t *threads) {
    char path[64], line[256];
    uint64_t sum = 0;
    *threads = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    CHECK(tasks, "%s: %s", path, strerror(errno));
    for (const struct dirent *task; (task = readdir(tasks)) != NULL;) {
        if (task->d_name[0] == '.') continue;
        (void)snprintf(path, sizeof path, "/proc/%d/task/%.10s/status", (int)pid, task->d_name);
        FILE *status = fopen(path, "r");
        if (!status) continue;
        (*threads)++;
        unsigned long count;
        while (fgets(line, sizeof line, status))
            if (sscanf(line, "voluntary_ctxt_switches: %lu", &count) == 1 ||
                sscanf(line, "nonvoluntary_ctxt_switches: %lu", &count) == 1)
                sum += count;
        (void)fclose(status);
    }
    (void)closedir(tasks);
    return sum;
}

#define IDLE_PROCESSES 100u

// Of those in which a thread watches.
static uint64_t switches_of_all(const pid_t *pids, uint32_t count, uint32_t *watching) {
    uint64_t sum = 0;
    *watching = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t threads;
        const uint64_t switches = switches_of(pids[i], &threads);
        if (threads < 2) continue;
        sum += switches;
        (*watching)++;
    }
    return sum;
}

static void nap_ms(long ms) {
    const struct timespec nap = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&nap, NULL);
}

// No time-out, no timer, no thread that looks. A minute of 100 processes with TIDINGS_TEST_FULL=1; a second and a half
// of 20 otherwise, three times what the fallback sleeps at most.
void sleeping_observers_use_no_processor(void) {
    const uint32_t count = full() ? IDLE_PROCESSES : 20;
    ready = pipe_open();
    tidings_center *center = join_center(256);
    pid_t pids[IDLE_PROCESSES];
    for (uint32_t i = 0; i < count; i++) {
        pids[i] = start(sleeps_until_the_end);
        told(&ready);
    }
    for (uint32_t i = 0; i < count; i++) until_asleep(pids[i], center, count);
    uint32_t watching;
    uint64_t before = 0, now = switches_of_all(pids, count, &watching);
    // Where the kernel refuses inotify (128 instances a user by default), an observer checks twice a second: the
    // scenario of the fallback covers that. And sanitizers have threads of their own.
    const bool tried = watching > 0 && !SANITIZED;
    if (watching == 0) printf("sleeping_observers_use_no_processor: not tried, the kernel refuses inotify\n");
    // Half a second without a switch: a thread that had no processor when it was to fall asleep has fallen asleep
    // since.
    for (uint32_t quiet = 0; tried && quiet < 5; quiet = before == now ? quiet + 1 : 0) {
        before = now;
        nap_ms(100);
        now = switches_of_all(pids, count, &watching);
    }
    nap_ms(full() ? 60000 : 1500);
    const uint64_t after = switches_of_all(pids, count, &watching);
    CHECK(!tried || after == now, "%lu context switches of %u sleeping processes", (unsigned long)(after - now),
          watching);
    if (full())
        printf("%u processes asleep for a minute, %u of them watching: %lu context switches\n", count, watching,
               (unsigned long)(after - now));
    bring_about(UNLINKED);
    for (uint32_t i = 0; i < count; i++) ends_well(pids[i]);
    tidings_close(center);
}
