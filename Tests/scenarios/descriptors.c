// Other code in the process closes the library's descriptors, or puts other files in their place: this gives errors, or
// makes no difference. There is never a crash, a hang, or damage to the other files.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>

#include "foreign.h"
#include "receiving/observer.h"
#include "registry/doorbell.h"

#define MOST 64

// The open descriptors of this process above standard error.
static uint32_t descriptors(int list[MOST]) {
    uint32_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    CHECK(directory, "%s", strerror(errno));
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        const int fd = atoi(entry->d_name);
        if (fd <= 2 || fd == dirfd(directory)) continue;
        CHECK(count < MOST, "so many descriptors");
        list[count++] = fd;
    }
    closedir(directory);
    return count;
}

static tidings_center *center;
static tidings_publisher *publisher;
static tidings_observer *observer, *polled;
static int polled_fd;
static int ours[MOST];
static uint32_t count_of_ours;

// A center, two observers, one with a descriptor; and which descriptors that took.
static void begin(void) {
    int before[MOST], after[MOST];
    const uint32_t count_before = descriptors(before);
    center = join_center(256);
    publisher = publisher_of(center, NAME);
    observer = observer_of(center, NAME);
    polled = observer_of(center, NAME);
    OK(tidings_observer_descriptor(polled, &polled_fd));
    const uint32_t count_after = descriptors(after);
    count_of_ours = 0;
    for (uint32_t i = 0; i < count_after; i++) {
        bool old = false;
        for (uint32_t j = 0; j < count_before; j++) old |= after[i] == before[j];
        if (!old) ours[count_of_ours++] = after[i];
    }
    CHECK(count_of_ours >= 2, "%u descriptors", count_of_ours);
}

static void end(void) {
    tidings_observer_close(polled);
    tidings_observer_close(observer);
    tidings_publisher_close(publisher);
    tidings_close(center);
}

static pipe_pair go, done;

static void posts_from_outside(void) {
    tidings_center *own = join_center(0);
    tidings_publisher *own_publisher = publisher_of(own, NAME);
    told(&go);
    post_number(own_publisher, 77);
    tell(&done);
    told(&go);
    // Takes over whatever is free, or seems to be.
    CHECK(tidings_reclaim(own) >= 0, "reclaim");
    tidings_observer *observers[8];
    for (int i = 0; i < 8; i++) observers[i] = observer_of(own, NAME);
    tell(&done);
    told(&go);
    for (uint32_t i = 0; i < 8; i++) drain(observers[i]);
    for (uint32_t i = 0; i < 100; i++) post_number(own_publisher, i);
    for (int i = 0; i < 8; i++) {
        const account account = drain(observers[i]);
        CHECK(account.received == 100 && account.missed == 0, "observer %d got %lu", i,
              (unsigned long)account.received);
    }
    tell(&done);
}

static bool permitted(int result) { return result == 0 || (result < 0 && strlen(tidings_last_error()) > 20); }

// The result of a post is true: each post that returned 0 arrives once, and no other post arrives.
static void posts_are_true_to_their_word(void) {
    static uint8_t bytes[100000];
    uint64_t posted = 0;
    tidings_observer *witness = NULL;
    uint32_t subscription;
    if (tidings_observer_open(center, 0, &witness) != 0 ||
        tidings_observer_add(witness, NAME, strlen(NAME), NULL, 0, 0, &subscription) != 0) {
        CHECK(strlen(tidings_last_error()) > 20, "and says why");
        witness = NULL;
    }
    const size_t sizes[] = {8, 300, 5000, 100000, 8};
    for (int i = 0; i < 5; i++) {
        const int result = tidings_post(publisher, bytes, sizes[i],
                                        &(tidings_post_options){.flags = i == 4 ? TIDINGS_POST_RETAIN : 0}, NULL);
        CHECK(permitted(result), "%zu bytes: %d", sizes[i], result);
        posted += result == 0;
    }
    if (!witness) return;
    const account account = drain(witness);
    CHECK(account.received + account.missed == posted, "%lu + %lu of %lu", (unsigned long)account.received,
          (unsigned long)account.missed, (unsigned long)posted);
    tidings_observer_close(witness);
}

static void waits_end(void) {
    tidings_delivery delivery;
    for (int i = 0; i < 3; i++) {
        int result = tidings_next(i % 2 ? polled : observer, 1000000, &delivery);
        CHECK(permitted(result) || result == -ETIMEDOUT || result == -EINTR, "%d", result);
        while ((result = tidings_next(i % 2 ? polled : observer, 0, &delivery)) == 0) {}
        CHECK(result < 0, "%d", result);
    }
    tidings_observer_interrupt(observer);
    CHECK(tidings_next(observer, -1, &delivery) == -EINTR, "interrupted");
    struct pollfd entry = {.fd = polled_fd, .events = POLLIN};
    CHECK(poll(&entry, 1, 0) >= 0, "%s", strerror(errno));
    const tidings_statistics statistics = statistics_of(center);
    CHECK(statistics.slots == 256, "%u", statistics.slots);
}

static void inherits(void) {
    tidings_delivery delivery;
    CHECK(tidings_next(observer, 0, &delivery) == -ECHILD, "not the child's");
    for (int i = 0; i < 3; i++) {
        const int result = tidings_post(publisher, &(stamp){.number = 5}, sizeof(stamp), NULL, NULL);
        CHECK(permitted(result), "%d", result);
    }
    end();
}

static bool also_the_observers = true;

// `spoil` changes each descriptor; then every call is made. Afterwards peers take the participant for dead, and every
// call is made again.
static void spoiled(void (*spoil)(int fd)) {
    go = pipe_open();
    done = pipe_open();
    tidings_center *keeper = join_center(256);  // so that it isn't the only one
    tidings_observer *of_keeper = observer_of(keeper, NAME);
    const pid_t outside = start(posts_from_outside);
    begin();
    for (uint32_t i = 0; i < count_of_ours; i++)
        if (also_the_observers || ours[i] != polled_fd) spoil(ours[i]);
    posts_are_true_to_their_word();
    tell(&go);
    told(&done);
    waits_end();
    tell(&go);
    told(&done);
    posts_are_true_to_their_word();
    waits_end();
    fflush(NULL);
    const pid_t child = start(inherits);
    ends_well(child);
    end();
    tell(&go);
    told(&done);
    ends_well(outside);
    account account = drain(of_keeper);
    CHECK(account.received > 0, "the keeper got nothing");
    post_number(publisher_of(keeper, NAME), 3);
    account = drain(of_keeper);
    CHECK(account.received == 1 && account.missed == 0, "the keeper got %lu", (unsigned long)account.received);
    CHECK(tidings_reclaim(keeper) >= 0, "reclaim");
    const tidings_statistics statistics = statistics_of(keeper);
    CHECK(statistics.participants == 1 && statistics.observers == 1 && statistics.observers_asleep == 0,
          "%u participants, %u observers are left", statistics.participants, statistics.observers);
}

static void closes(int fd) { CHECK(close(fd) == 0, "%s", strerror(errno)); }
void descriptors_closed_behind_its_back_fault_no_process(void) { spoiled(closes); }

static const char *precious = "/dev/null";

static void makes_something_else(int fd) {
    const int other = open(precious, O_RDWR | O_CLOEXEC);
    CHECK(other >= 0 && dup2(other, fd) == fd, "%s", strerror(errno));
    close(other);
}
void descriptors_that_became_devices_fault_no_process(void) { spoiled(makes_something_else); }

// A file of the program's own has got the number: it is not written to, not made longer, not given memory.
void descriptors_that_became_files_leave_them_as_they_were(void) {
    char path[512];
    snprintf(path, sizeof path, "%s", path_of("precious"));
    make_file(path, "precious", 8);
    const print before = print_of(path);
    precious = path;
    also_the_observers = false;
    spoiled(makes_something_else);
    same_print(&before, path);
}

static int ends[2];
static void makes_a_pipe(int fd) { CHECK(dup2(ends[0], fd) == fd, "%s", strerror(errno)); }

// The end of a pipe with something in it: it isn't read.
void descriptors_that_became_pipes_are_not_read(void) {
    also_the_observers = false;
    CHECK(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0 && write(ends[1], "12345678", 8) == 8, "%s", strerror(errno));
    spoiled(makes_a_pipe);
    char bytes[16];
    CHECK(read(ends[0], bytes, sizeof bytes) == 8, "a read took it away");
}

// The kernel can't be asked any more which entries have memory. The entries of names that were added since are touched.
void names_added_after_the_descriptor_was_closed_are_posted_and_counted(void) {
    tidings_center *closed = join_center(256), *living = join_center(0);
    CHECK(close(closed->segment.fd) == 0, "%s", strerror(errno));
    tidings_observer *of_living = observer_of(living, "n0");
    uint32_t subscription;
    char name[8] = "";
    for (int i = 1; i < 400; i++) {
        snprintf(name, sizeof name, "n%d", i);
        OK(tidings_observer_add(of_living, name, strlen(name), NULL, 0, 0, &subscription));
    }
    CHECK(tidings__relaxed(&closed->segment.names_known) < living->segment.names_known,
          "all entries were known before");
    tidings_publisher *of_closed = publisher_of(closed, name);
    for (uint32_t i = 0; i < 20; i++) post_number(of_closed, i);
    account account = drain(of_living);
    CHECK(account.received == 20 && account.missed == 0, "%lu arrived", (unsigned long)account.received);
    for (uint32_t i = 0; i < 600; i++) post_number(of_closed, i);
    account = drain(of_living);
    CHECK(account.received + account.missed == 600, "%lu and %lu of 600", (unsigned long)account.received,
          (unsigned long)account.missed);
    tidings_publisher_close(of_closed);
    tidings_observer_close(of_living);
    tidings_close(living);
    tidings_close(closed);
}

static void runs_without_standard_descriptors(void) {
    for (int fd = 0; fd <= 2; fd++) CHECK(close(fd) == 0, "%s", strerror(errno));
    begin();
    works(center);
    CHECK(tidings_next(polled, 0, &(tidings_delivery){0}) == 0, "what works is observed as well");
    for (int fd = 0; fd <= 2; fd++) CHECK(fcntl(fd, F_GETFD) < 0, "descriptor %d is the library's", fd);
}

// A daemon's: what it, or the next library, prints must not end up in a center, or ring a doorbell.
void standard_descriptors_that_are_closed_stay_free(void) { ends_well(start(runs_without_standard_descriptors)); }

// A sleeping process now has this process's places as a participant and as an observer. Whatever the process that was
// taken for dead does next, its successor's entry stays as it is.
void a_participant_taken_for_dead_leaves_its_successor_alone(void) {
    tidings_center *dead = join_center(256);
    tidings__segment *s = &dead->segment;
    tidings_publisher *own_publisher = publisher_of(dead, NAME);
    tidings_observer *of_dead = observer_with(dead, NAME, TIDINGS_OBSERVE_LOSSLESS, 0),
                     *second = observer_of(dead, NAME);
    uint32_t subscription;
    OK(tidings_observer_add(second, "other", 5, NULL, 0, 0, &subscription));
    tidings_observer_spin(of_dead, 0);
    CHECK(close(s->fd) == 0, "%s", strerror(errno));
    tidings_center *living = join_center(0);
    CHECK(tidings_reclaim(living) > 0, "it was taken for dead");
    tidings_observer *successors[2] = {observer_with(living, NAME, TIDINGS_OBSERVE_LOSSLESS, 0),
                                       observer_of(living, NAME)};
    CHECK(successors[0]->index == of_dead->index && successors[1]->index == second->index, "%u and %u, not %u and %u",
          successors[0]->index, successors[1]->index, of_dead->index, second->index);
    OK(tidings_observer_add(successors[1], "other", 5, NULL, 0, 0, &subscription));
    tidings__observer_entry before[2], after[2];
    for (int i = 0; i < 2; i++) tidings__doorbell_announce(&living->segment, successors[i]->index);
    memcpy(before, &s->observers[of_dead->index], sizeof before);
    const uint64_t asleep = atomic_load(&s->header->asleep[0]), lossless = atomic_load(&s->header->lossless[0]);
    const uint32_t entry = tidings__relaxed(&successors[1]->table)->of[0]->entry,
                   other = tidings__relaxed(&successors[1]->table)->of[1]->entry;
    tidings_observer *both[2] = {of_dead, second};
    for (int act = 0; act < 7; act++) {
        tidings_delivery delivery;
        switch (act) {
            case 0: (void)tidings_post(own_publisher, "x", 1, NULL, NULL); break;
            case 1:
                while (tidings_next(of_dead, 0, &delivery) == 0) {}
                break;
            case 2:
                for (int i = 0; i < 2; i++)
                    CHECK(tidings_next(both[i], -1, &delivery) == (i == 0 ? -EBADF : 0),
                          "%d sleeps on another's doorbell", i);
                CHECK(tidings_next(second, -1, &delivery) == -EBADF, "it sleeps on another's doorbell");
                break;
            case 3:
                CHECK(tidings_observer_add(second, "third", 5, NULL, 0, 0, &subscription) == -EBADF,
                      "it observes in another's place");
                break;
            case 4: OK(tidings_observer_remove(second, 2)); break;
            case 5:
                for (int i = 0; i < 2; i++) tidings_observer_close(both[i]);
                break;
            default: tidings_publisher_close(own_publisher), tidings_close(dead), s = &living->segment;
        }
        memcpy(after, &s->observers[successors[0]->index], sizeof after);
        // The post rings them, as it should.
        if (act == 0) memcpy(before, after, sizeof before);
        CHECK(memcmp(before, after, sizeof before) == 0 && atomic_load(&s->header->asleep[0]) == asleep &&
                  atomic_load(&s->header->lossless[0]) == lossless,
              "act %d changes the other's entry", act);
        CHECK(tidings__name_members(&s->names[entry]) == 2 && tidings__name_members(&s->names[other]) == 1,
              "act %d takes the other's name away", act);
        CHECK(statistics_of(living).participants == 1, "act %d takes the other's place", act);
    }
    for (int i = 0; i < 2; i++) {
        tidings__doorbell_withdraw(&living->segment, successors[i]->index);
        const account account = drain(successors[i]);
        CHECK(account.received == 1 && account.missed == 0, "%lu", (unsigned long)account.received);
    }
}
