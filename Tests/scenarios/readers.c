// Observers without write access: they get what other observers get, and can do nothing to other processes.
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>

#include "by_hand.h"
#include "foreign.h"
#include "observable.h"
#include "posting/publisher.h"
#include "privileges.h"
#include "receiving/observer.h"
#include "registry/doorbell.h"

static pipe_pair ready, done;
static tidings_center *center;

static void begin(uint32_t slots) {
    ready = pipe_open();
    done = pipe_open();
    center = observable_center(slots);
}

static void is(const tidings_delivery *delivery, const char *name, uint32_t number) {
    CHECK(strcmp(delivery->name, name) == 0 && stamp_of(delivery).number == number, "\"%s\" %u instead of \"%s\" %u",
          delivery->name, stamp_of(delivery).number, name, number);
    CHECK(delivery->pid == (int32_t)getppid() && !(delivery->flags & TIDINGS_DELIVERY_OWN), "another poster");
}

// MARK: Woken, in order

#define WAKES 200u

static void reads_three_names(void) {
    become(ANOTHER_USER);
    tidings_center *theirs = open_to_read();
    tidings_observer *observer = observer_of(theirs, "one");
    uint32_t subscription;
    OK(tidings_observer_add(observer, "two", 3, "subject", 7, 0, &subscription));
    tidings_observer *all = observer_of(theirs, NULL);
    tell(&ready);
    for (uint32_t i = 0; i < ROUNDS(WAKES); i++) {
        tidings_delivery delivery = receive(observer);
        is(&delivery, "one", i);
        delivery = receive(observer);
        is(&delivery, "two", i);
        CHECK(strcmp(delivery.subject, "subject") == 0, "\"%s\"", delivery.subject);
        const char *names[] = {"one", "two", "two", "three"};
        for (uint32_t n = 0; n < 4; n++) {
            delivery = receive(all);
            is(&delivery, names[n], i);
        }
        tell(&done);
    }
}

static void until_sleeping(pid_t pid) { until_asleep(pid, center, 0); }

// One of them asleep each time, and what it wakes for is there.
void readers_are_woken_and_get_everything_in_order(void) {
    begin(256);
    const pid_t reader = start(reads_three_names);
    told(&ready);
    // Names without an entry when the reader subscribed.
    tidings_publisher *publishers[] = {publisher_of(center, "one"), publisher_with(center, "two", "subject"),
                                       publisher_with(center, "two", "other"), publisher_of(center, "three")};
    for (uint32_t i = 0; i < ROUNDS(WAKES); i++) {
        until_sleeping(reader);
        for (uint32_t n = 0; n < 4; n++) post_number(publishers[n], i);
        told(&done);
    }
    ends_well(reader);
    CHECK(statistics_of(center).observers == 0 && statistics_of(center).participants == 1, "readers take no places");
}

// MARK: Losses

#define RINGS 5u
static _Atomic uint32_t *posted;  // of each name, while the reader looks at it

static void counts_what_it_gets(void) {
    become(ANOTHER_USER);
    tidings_center *theirs = open_to_read();
    tidings_observer *observer = observer_of_nothing(theirs);
    const char *names[] = {"one", "two", "never", NULL};
    uint32_t subscriptions[4], expected = 0;
    for (uint32_t n = 0; n < 4; n++)
        OK(tidings_observer_add(observer, names[n], names[n] ? strlen(names[n]) : 0, NULL, 0, 0, &subscriptions[n]));
    for (uint32_t round = 0; round < 20; round++) {
        tell(&ready);
        told(&done);
        uint64_t received[4] = {0}, missed[4] = {0};
        tidings_delivery delivery;
        while (tidings_next(observer, 0, &delivery) == 0) {
            for (size_t i = 0; i < delivery.subscription_count; i++) {
                const uint32_t n = delivery.subscriptions[i] - subscriptions[0];
                CHECK(n < 4, "%u", n);
                if (delivery.kind == TIDINGS_DELIVERY_MISSED)
                    missed[n] += delivery.missed;
                else
                    received[n]++;
            }
        }
        for (uint32_t n = 0; n < 4; n++)
            CHECK(received[n] + missed[n] == posted[n], "round %u, subscription %u: %lu + %lu of %u", round, n,
                  (unsigned long)received[n], (unsigned long)missed[n], posted[n]);
        expected += missed[0] > 0;
    }
    CHECK(expected > 0, "it was never lapped");
}

// Names that have an entry when they are looked at and names that haven't; lapped by a little, a lot, or not at all.
void readers_are_told_exactly_what_they_missed(void) {
    begin(256);
    posted = shared_memory(4 * sizeof *posted);
    tidings_publisher *publishers[] = {publisher_of(center, "one"), publisher_of(center, "two"),
                                       publisher_of(center, "other")};
    if (random_below(2)) post_number(publishers[0], 0);
    const pid_t reader = start(counts_what_it_gets);
    for (uint32_t round = 0; round < 20; round++) {
        told(&ready);
        for (uint32_t n = 0; n < 4; n++) posted[n] = 0;
        for (uint64_t i = random_below(2 + random_below(RINGS * 256)); i > 0; i--) {
            const uint32_t n = (uint32_t)random_below(round < 3 ? 2 + random_below(2) : 3);
            post_number(publishers[n], 0);
            if (n < 2) posted[n]++;
            posted[3]++;
        }
        tell(&done);
    }
    ends_well(reader);
}

// A full table of names: entries that no observer holds serve other names while readers read theirs.
static void reads_one_name_throughout(void) {
    become(ANOTHER_USER);
    tidings_observer *observer = observer_of(open_to_read(), "kept");
    tell(&ready);
    for (uint32_t i = 0; i < ROUNDS(2000); i++) {
        const tidings_delivery delivery = receive(observer);
        is(&delivery, "kept", i);
        tell(&done);
    }
}

void names_that_come_and_go_are_counted_for_readers(void) {
    CHECK(chmod(getenv("TIDINGS_DIRECTORY"), 0755) == 0, "%s", strerror(errno));
    ready = pipe_open();
    done = pipe_open();
    center = join_center_with((tidings_configuration){.slots = 256, .names = 64, .mode = OBSERVABLE_MODE});
    const pid_t reader = start(reads_one_name_throughout);
    told(&ready);
    for (uint32_t i = 0; i < ROUNDS(2000); i++) {
        char name[32];
        snprintf(name, sizeof name, "name %u", i);
        tidings_publisher *publisher;
        OK(tidings_publisher_open(center, name, strlen(name), NULL, 0, &publisher));
        for (uint64_t n = random_below(4); n > 0; n--) post_number(publisher, i);
        tidings_publisher_close(publisher);
        OK(tidings_publisher_open(center, "kept", 4, NULL, 0, &publisher));
        post_number(publisher, i);
        tidings_publisher_close(publisher);
        told(&done);
    }
    ends_well(reader);
}

// MARK: Nothing else

static void tries_what_only_writers_may(void) {
    become(ANOTHER_USER);
    tidings_center *theirs = open_to_read(), *other;
    tidings_publisher *publisher = publisher_of(theirs, "value");
    uint8_t value[64];
    size_t size = sizeof value;
    uint8_t format;
    uint64_t sequence;
    OK(tidings_state_get(publisher, value, &size, &format, &sequence));
    CHECK(size == 5 && memcmp(value, "value", 5) == 0, "%zu bytes", size);
    tidings_observer *observer = observer_with(theirs, "value", 0, TIDINGS_ADD_RETAINED);
    const tidings_delivery delivery = receive(observer);
    CHECK(delivery.flags & TIDINGS_DELIVERY_RETAINED && delivery.size == 5, "the value comes first");
    observer = observer_with(theirs, NULL, 0, TIDINGS_ADD_RETAINED);
    const tidings_delivery of_all = receive(observer);
    CHECK(of_all.flags & TIDINGS_DELIVERY_RETAINED && strcmp(of_all.name, "value") == 0,
          "also to an observer of all names");
    tidings_observer *late = observer_with(theirs, NULL, 0, TIDINGS_ADD_HISTORY);
    for (uint32_t i = 0; i < 3; i++) (void)receive(late);
    REFUSED(tidings_post(publisher, "x", 1, NULL, NULL), EACCES, "for reading alone");
    REFUSED(tidings_state_set(publisher, "x", 1, NULL, NULL), EACCES, "for reading alone");
    REFUSED(tidings_reserve(theirs, 10000, &(tidings_reservation){0}), EACCES, "for reading alone");
    REFUSED(tidings_reclaim(theirs), EACCES, "for reading alone");
    REFUSED(tidings_observer_add(late, "val", 3, NULL, 0, TIDINGS_ADD_PREFIX, &(uint32_t){0}), EACCES,
            "observe all names");
    REFUSED(tidings_observer_open(theirs, TIDINGS_OBSERVE_LOSSLESS, &observer), EACCES, "for reading alone");
    REFUSED(tidings_open("scenario", &(tidings_configuration){.flags = TIDINGS_OPEN_OWNER, .owner = 0}, &other), EACCES,
            "only observe it");
    REFUSED(tidings_open("none", &(tidings_configuration){.flags = TIDINGS_OPEN_OWNER, .owner = 0}, &other), ENOENT,
            "there is none");
    REFUSED(tidings_remove("scenario", &(tidings_configuration){.flags = TIDINGS_OPEN_OWNER, .owner = 0}), EACCES,
            "only observe it");
    REFUSED(tidings_open("private",
                         &(tidings_configuration){.flags = TIDINGS_OPEN_OWNER | TIDINGS_OPEN_READ_ONLY, .owner = 0},
                         &other),
            EACCES, "neither post nor observe");
    CHECK(statistics_of(theirs).posted == 3 && statistics_of(theirs).participants == 1, "statistics can be read");
    const pid_t child = fork();
    if (child == 0) {
        tidings_delivery none;
        REFUSED(tidings_next(late, 0, &none), ECHILD, "before a fork");
        size = sizeof value;
        OK(tidings_state_get(publisher, value, &size, &format, &sequence));
        (void)observer_of(theirs, "other");
        _exit(0);
    }
    ends_well(child);
}

void a_reader_can_read_and_change_nothing(void) {
    begin(256);
    tidings_center *private;
    OK(tidings_open("private", NULL, &private));
    keep(private);
    tidings_publisher *publisher = publisher_of(center, "value");
    OK(tidings_state_set(publisher, "value", 5, NULL, NULL));
    post_number(publisher_of(center, "other"), 1);
    post_number(publisher_of(center, "third"), 2);
    const print before = print_of(center_path());
    ends_well(start(tries_what_only_writers_may));
    const print after = print_of(center_path());
    CHECK(before.sum == after.sum, "the center has changed");
    // The owner may open its own center read-only, too, but a center created for posters alone wakes no readers.
    tidings_center *again;
    tidings_observer *observer;
    OK(tidings_open("private", &(tidings_configuration){.flags = TIDINGS_OPEN_READ_ONLY}, &again));
    keep(again);
    REFUSED(tidings_observer_open(again, 0, &observer), EACCES, "create it with mode");
    REFUSED(tidings_open("new", &(tidings_configuration){.flags = TIDINGS_OPEN_READ_ONLY}, &again), ENOENT,
            "there is none");
    REFUSED(
        tidings_open("new", &(tidings_configuration){.flags = TIDINGS_OPEN_READ_ONLY | TIDINGS_OPEN_EXCLUSIVE}, &again),
        EINVAL, "never creates");
}

// MARK: What a poster leaves unfinished

static void reads_past_the_unfinished(void) {
    become(ANOTHER_USER);
    tidings_observer *observer = observer_of(open_to_read(), NAME);
    tell(&ready);
    for (uint32_t i = 0; i < 3; i++) {
        tidings_delivery delivery = receive(observer);
        CHECK(stamp_of(&delivery).number == i, "%u", stamp_of(&delivery).number);
    }
    tell(&ready);
    told(&done);
    // The first was finished after all, the second is void, the third was finished and has been evicted since.
    uint64_t missed = 0, received = 0;
    for (;;) {
        tidings_delivery delivery;
        OK(tidings_next(observer, -1, &delivery));
        if (delivery.kind == TIDINGS_DELIVERY_MISSED) {
            missed += delivery.missed;
            continue;
        }
        received++;
        if (stamp_of(&delivery).number == 1000) break;
    }
    CHECK(missed + received == 2 + 300 + 1, "%lu missed, %lu received", (unsigned long)missed, (unsigned long)received);
    CHECK(missed >= 2, "%lu missed", (unsigned long)missed);
}

// No process is there that may revoke: readers skip the claims by themselves, and are told of what was committed after
// all.
void a_stopped_post_holds_readers_up_only_briefly(void) {
    begin(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    const pid_t reader = start(reads_past_the_unfinished);
    told(&ready);
    post_number(publisher, 0);
    const uint64_t first = claim_by(center, TIDINGS__W_FOREIGN | 77);
    write_record(center, first);
    post_number(publisher, 1);
    const uint64_t second = claim_by(center, TIDINGS__W_FOREIGN | 78);
    const uint64_t third = claim_by(center, TIDINGS__W_FOREIGN | 79);
    write_record(center, third);
    tidings__set_relaxed(&tidings__cell_at(&center->segment, third)->route,
                         tidings__relaxed(&tidings__cell_at(&center->segment, first)->route));
    // However long this process had no processor, its next post must not revoke the first claim.
    tidings__set_relaxed(&center->watched_since, 0);
    post_number(publisher, 2);
    told(&ready);
    commit_at(center, first);
    commit_at(center, third);
    (void)second;
    for (uint32_t i = 0; i < 300; i++) post_number(publisher, 3);
    post_number(publisher, 1000);
    tell(&done);
    ends_well(reader);
}

static void reads_everything(void) {
    become(ANOTHER_USER);
    tidings_observer *observer = observer_of(open_to_read(), NAME);
    tell(&ready);
    for (uint32_t i = 0;; i++) {
        const tidings_delivery delivery = receive(observer);
        if (stamp_of(&delivery).number == 1000000) return;
        CHECK(stamp_of(&delivery).number == i, "%u instead of %u", stamp_of(&delivery).number, i);
    }
}

// The next posters revoke the claim, so that readers can go on: readers lose nothing.
void posters_revoke_for_readers(void) {
    begin(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    const pid_t reader = start(reads_everything);
    told(&ready);
    uint32_t number = 0;
    post_number(publisher, number++);
    const uint64_t position = claim_by(center, TIDINGS__W_FOREIGN | 77);
    write_record(center, position);
    while (statistics_of(center).revoked == 0) {
        post_number(publisher, number++);
        usleep(1000);  // as often as it takes: a moment must go by between two looks
    }
    commit_at(center, position);
    post_number(publisher, 1000000);
    ends_well(reader);
    CHECK(statistics_of(center).revoked == 1, "%lu", (unsigned long)statistics_of(center).revoked);
}

// MARK: Many

#define WAKE_GROUP_EACH 40u
#define WAKE_GROUP 5u
#define WAKE_GROUP_POSTERS 4u

static void *accounts_for_all(void *unused) {
    (void)unused;
    tidings_center *theirs;
    OK(tidings_open("scenario", &(tidings_configuration){.flags = TIDINGS_OPEN_READ_ONLY}, &theirs));
    keep(theirs);
    tidings_observer *observer = observer_of(theirs, NAME);
    tidings_observer_spin(observer, 0);
    tell(&ready);
    for (uint64_t all = 0; all < WAKE_GROUP_POSTERS * ROUNDS(50);) {
        tidings_delivery delivery;
        OK(tidings_next(observer, -1, &delivery));
        all += delivery.kind == TIDINGS_DELIVERY_MISSED ? delivery.missed : 1;
        CHECK(all <= WAKE_GROUP_POSTERS * ROUNDS(50), "%lu", (unsigned long)all);
    }
    return NULL;
}

static void reads_in_threads(void) {
    pthread_t threads[WAKE_GROUP_EACH];
    for (uint32_t i = 0; i < WAKE_GROUP_EACH; i++)
        CHECK(pthread_create(&threads[i], NULL, accounts_for_all, NULL) == 0, "no thread");
    for (uint32_t i = 0; i < WAKE_GROUP_EACH; i++) CHECK(pthread_join(threads[i], NULL) == 0, "no thread");
}

static void posts_to_the_wake_group(void) {
    tidings_publisher *publisher = publisher_of(join_center(0), NAME);
    for (uint32_t i = 0; i < ROUNDS(50); i++) {
        post_number(publisher, i);
        usleep(1000);  // some of them sleep again
    }
}

// A post that wakes all readers takes time, and a woken reader takes its processor. The other posters, which revoke for
// waiting readers, must not revoke this post again and again.
void two_hundred_readers_hear_of_every_post(void) {
    begin(0);
    pid_t readers[WAKE_GROUP], posters[WAKE_GROUP_POSTERS];
    for (uint32_t i = 0; i < WAKE_GROUP; i++) readers[i] = start(reads_in_threads);
    for (uint32_t i = 0; i < WAKE_GROUP * WAKE_GROUP_EACH; i++) told(&ready);
    for (uint32_t i = 0; i < WAKE_GROUP_POSTERS; i++) posters[i] = start(posts_to_the_wake_group);
    for (uint32_t i = 0; i < WAKE_GROUP_POSTERS; i++) ends_well(posters[i]);
    for (uint32_t i = 0; i < WAKE_GROUP; i++) ends_well(readers[i]);
    const uint64_t revoked = statistics_of(center).revoked;
    CHECK(revoked <= 4 * WAKE_GROUP_POSTERS * ROUNDS(50), "%lu were revoked", (unsigned long)revoked);
}

// MARK: Waking a bounded number

#define HOSTILE 60u
static _Atomic uint32_t *word;

static void *sleeps_on_word(void *value) {
    (void)syscall(SYS_futex, word, FUTEX_WAIT, (uint32_t)(uintptr_t)value, NULL, NULL, 0);
    return NULL;
}

// The kernel's answer: how many threads it would move from the word to itself.
static long asleep_on_word(void) {
    const long count = syscall(SYS_futex, word, FUTEX_CMP_REQUEUE, 0, 1000000, word, tidings__acquire(word));
    CHECK(count >= 0, "%s", strerror(errno));
    return count;
}

static void until_on_word(long count) {
    while (asleep_on_word() != count) usleep(100);
}

static void hostile_sleepers(pthread_t threads[HOSTILE]) {
    for (uint32_t i = 0; i < HOSTILE; i++)
        CHECK(pthread_create(&threads[i], NULL, sleeps_on_word, (void *)(uintptr_t)tidings__acquire(word)) == 0,
              "no thread");
}

static void wake_hostile_sleepers(pthread_t threads[HOSTILE]) {
    tidings__futex_wake(word, INT32_MAX);
    for (uint32_t i = 0; i < HOSTILE; i++) CHECK(pthread_join(threads[i], NULL) == 0, "no thread");
}

// Sleepers that never ring on: a poster wakes TIDINGS__NAME_FUTEX_WAKES of them and no more, however many there are.
void a_post_wakes_a_bounded_number_of_readers(void) {
    begin(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    word = &center->segment.header->name_futexes[tidings__name_futex_of(&publisher->key)].word;
    pthread_t threads[HOSTILE];
    hostile_sleepers(threads);
    until_on_word(HOSTILE);
    post_number(publisher, 0);
    const long asleep = asleep_on_word();
    CHECK(asleep == HOSTILE - TIDINGS__NAME_FUTEX_WAKES, "%ld sleep", asleep);
    wake_hostile_sleepers(threads);
    CHECK(statistics_of(center).revoked == 0, "a post was revoked");
}

static void *reads_one(void *center) {
    tidings_observer *observer = observer_of(center, NAME);
    tell(&ready);
    (void)receive(observer);
    tell(&done);
    return NULL;
}

// In two threads: a reader that has woken all it may must not keep the other from waking its own.
static void read_one_each(void) {
    become(ANOTHER_USER);
    tidings_center *read = open_to_read();
    pthread_t second;
    CHECK(pthread_create(&second, NULL, reads_one, read) == 0, "no thread");
    (void)reads_one(read);
    CHECK(pthread_join(second, NULL) == 0, "no thread");
}

// The first two sleepers in the kernel's queue are readers of this library: the poster wakes the first. The first wakes
// the second and some more; the second wakes more. Returns how many sleepers are left.
static long asleep_after_a_post_to_two_readers(tidings_publisher *publisher) {
    const pid_t reader = start(read_one_each);
    told(&ready);
    told(&ready);
    until_on_word(2);
    pthread_t threads[HOSTILE];
    hostile_sleepers(threads);
    until_on_word(HOSTILE + 2);
    post_number(publisher, 0);
    told(&done);
    told(&done);
    const long asleep = asleep_on_word();
    wake_hostile_sleepers(threads);
    ends_well(reader);
    return asleep;
}

void a_reader_that_wakes_wakes_the_next_ones(void) {
    begin(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    word = &center->segment.header->name_futexes[tidings__name_futex_of(&publisher->key)].word;
    // A reader wakes by itself after each second of sleep. If it does so just before the post, it finds the post
    // without being woken, and wakes no other reader. That does not happen ten times in a row. If readers woke no
    // readers, at least HOSTILE - TIDINGS__NAME_FUTEX_WAKES would stay asleep.
    const long most = (long)HOSTILE + 2 - TIDINGS__NAME_FUTEX_WAKES - 2 * TIDINGS__NAME_FUTEX_PASSES;
    long asleep = HOSTILE + 2;
    for (int round = 0; round < 10 && asleep > most; round++) asleep = asleep_after_a_post_to_two_readers(publisher);
    CHECK(asleep <= most, "%ld sleep", asleep);
}

// Honest observers, so many that a poster that has woken them wakes the sleepers on its claim as well.
#define MANY 8u

void a_post_to_many_observers_wakes_no_reader_on_its_claim(void) {
    begin(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings__segment *s = &center->segment;
    pthread_t observers[MANY], threads[HOSTILE];
    for (uint32_t i = 0; i < MANY; i++) CHECK(pthread_create(&observers[i], NULL, reads_one, center) == 0, "no thread");
    for (uint32_t i = 0; i < MANY; i++) told(&ready);
    while (statistics_of(center).observers_asleep != MANY) usleep(100);
    word = tidings__claim_futex(tidings__cell_at(s, tidings__frontier(s, tidings__oldest(s))));
    hostile_sleepers(threads);
    until_on_word(HOSTILE);
    post_number(publisher, 0);
    // Before the count: an honest observer may sleep on this word for a moment, when it finds the claim.
    for (uint32_t i = 0; i < MANY; i++) CHECK(pthread_join(observers[i], NULL) == 0, "no thread");
    const long asleep = asleep_on_word();
    CHECK(asleep == HOSTILE, "%ld sleep", asleep);
    wake_hostile_sleepers(threads);
    // An observer that is awake may revoke the post while this thread has no processor. Each revocation doubles the
    // next revoke timeout.
    const uint64_t revoked = statistics_of(center).revoked;
    CHECK(revoked <= MANY, "%lu posts were revoked", (unsigned long)revoked);
}

static void *posts_when_there_is_room(void *publisher) {
    OK(tidings_post(publisher, "x", 1, &(tidings_post_options){.timeout_ns = -1}, NULL));
    return NULL;
}

// The lossless observer wakes all posters that wait for it. Readers cannot sleep on that word, and it wakes none of
// them.
void a_lossless_observer_wakes_posters_and_no_reader(void) {
    begin(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings__segment *s = &center->segment;
    tidings_observer *observer = observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    while (tidings_post(publisher, "x", 1, NULL, NULL) == 0) {}
    pthread_t threads[HOSTILE], poster;
    word = (_Atomic uint32_t *)(void *)&s->header->waiting_posters.word;
    hostile_sleepers(threads);
    until_on_word(HOSTILE);
    CHECK(pthread_create(&poster, NULL, posts_when_there_is_room, publisher) == 0, "no thread");
    while (!(tidings__acquire(tidings__waiting_posters(s, observer->index)) & 1)) usleep(100);
    CHECK(drain(observer).received >= 256, "the ring was not full");
    CHECK(pthread_join(poster, NULL) == 0, "no thread");
    const long asleep = asleep_on_word();
    CHECK(asleep == HOSTILE, "%ld sleep", asleep);
    wake_hostile_sleepers(threads);
}

// MARK: Alone

static void *interrupts(void *observer) {
    told(&ready);
    tidings_observer_interrupt(observer);
    return NULL;
}

void a_reader_can_be_interrupted_and_has_a_descriptor(void) {
    begin(256);
    tidings_center *again;
    OK(tidings_open("scenario", &(tidings_configuration){.flags = TIDINGS_OPEN_READ_ONLY}, &again));
    keep(again);
    tidings_observer *observer = observer_of(again, NAME);
    tidings_delivery delivery;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, interrupts, observer) == 0, "no thread");
    tell(&ready);
    const int result = tidings_next(observer, -1, &delivery);
    CHECK(result == -EINTR, "%d", result);
    CHECK(pthread_join(thread, NULL) == 0, "no thread");
    CHECK(tidings_next(observer, 1000, &delivery) == -ETIMEDOUT, "nothing there");
    int fd;
    OK(tidings_observer_descriptor(observer, &fd));
    tidings_publisher *publisher = publisher_of(center, NAME);
    for (uint32_t i = 0; i < ROUNDS(100); i++) {
        while (tidings_next(observer, 0, &delivery) != -EAGAIN) {}
        post_number(publisher, i);
        CHECK(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1) == 1, "%s", strerror(errno));
        // It may have been readable before: for nothing, then.
        while (tidings_next(observer, 0, &delivery) != 0)
            CHECK(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1) == 1, "%s", strerror(errno));
        CHECK(stamp_of(&delivery).number == i, "%u", stamp_of(&delivery).number);
    }
    uint32_t subscription;
    OK(tidings_observer_add(observer, "later", 5, NULL, 0, 0, &subscription));
    OK(tidings_observer_remove(observer, subscription));
    tidings_observer_close(observer);
}
