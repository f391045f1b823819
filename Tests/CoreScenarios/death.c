// Killed and stopped: posters and observers that go away at any moment, or come back much later.
#include <sys/mman.h>

#include "scenario.h"

// How far each poster's returned posts go; shared, because the poster won't be there to tell.
static volatile uint32_t *returned;

typedef struct job {
    uint32_t poster;
    size_t size;
    uint8_t flags;
} job;

static void post_until_killed(void *argument) {
    const job *job = argument;
    tidings_center *center = center_open(0);
    tidings_topic *topic = topic_open(center, NAME);
    uint8_t *bytes = calloc(1, job->size);
    stamp stamp = {.poster = job->poster};
    for (stamp.number = 1;; stamp.number++) {
        memcpy(bytes, &stamp, sizeof stamp);
        OK(tidings_post(topic, bytes, job->size, &(tidings_post_options){.flags = job->flags}, NULL));
        returned[job->poster] = stamp.number;
    }
}

// Poster after poster dies in its loop. Whatever they returned from is there, once and in order, and at most one more each.
void killed_posters(void) {
    returned = mmap(NULL, 4096 * sizeof *returned, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    tidings_center *center = center_open(512);
    tidings_observer *observer = observer_open(center, NAME, 0, 0);
    tidings_topic *topic = topic_open(center, NAME);
    const job kinds[] = {{0, 8, 0}, {0, 64, 0}, {0, 180, 0}, {0, 3000, 0}, {0, 20000, 0}, {0, 8, TIDINGS_POST_RETAIN}};
    for (uint32_t poster = 1; poster <= 120; poster++) {
        job job = kinds[poster % 6];
        job.poster = poster;
        pid_t pid = child(post_until_killed, &job);
        uint32_t enough = 1 + (uint32_t)(random_next() % 50);
        uint32_t last = 0;
        uint64_t got = 0, missed = 0;
        tidings_delivery delivery;
        bool killed = false;
        int result;
        for (;;) {
            if (!killed && returned[poster] >= enough) child_kill(pid), killed = true;
            result = tidings_next(observer, killed ? 0 : 1000000, &delivery);
            if (result == -EAGAIN && killed) break;
            if (result == -EAGAIN || result == -ETIMEDOUT) continue;
            OK(result);
            if (delivery.kind == TIDINGS_DELIVERY_MISSED) {
                missed += delivery.missed;
                continue;
            }
            stamp stamp;
            CHECK(delivery.size == job.size, "%zu bytes", delivery.size);
            memcpy(&stamp, delivery.payload, sizeof stamp);
            CHECK(stamp.poster == poster && stamp.number > last, "poster %u number %u after %u of %u", stamp.poster, stamp.number, last, poster);
            last = stamp.number;
            got++;
        }
        uint32_t total = returned[poster];
        CHECK(got + missed == total || got + missed == total + 1, "poster %u returned from %u, seen %lu + %lu", poster, total, got, missed);
        // The next one isn't held up by what this one left.
        struct stamp stamp = {.poster = 0, .number = poster};
        OK(tidings_post(topic, &stamp, sizeof stamp, NULL, NULL));
        OK(tidings_next(observer, -1, &delivery));
        CHECK(delivery.size == sizeof stamp && memcmp(delivery.payload, &stamp, sizeof stamp) == 0, "after the death of %u", poster);
    }
    CHECK(tidings_tidy(center) >= 0, "tidy");
    tidings_statistics statistics;
    OK(tidings_statistics_get(center, &statistics));
    CHECK(statistics.participants == 1 && statistics.observers == 1, "%u participants, %u observers left", statistics.participants, statistics.observers);
    // Every chunk is the ring's or the retained value's; turn the ring over, and only the latter is left.
    for (int i = 0; i < 2048; i++) OK(tidings_post(topic, &i, sizeof i, NULL, NULL));
    OK(tidings_statistics_get(center, &statistics));
    CHECK(statistics.chunks_used <= 1, "%u chunks are still in use", statistics.chunks_used);
    tidings_observer_close(observer);
    tidings_topic_close(topic);
    tidings_close(center);
}

static void post_then_stop(void *argument) {
    tidings_center *center = center_open(0);
    tidings_topic *topic = topic_open(center, NAME);
    stamp stamp = {.poster = 1};
    for (stamp.number = 1;; stamp.number++) {
        OK(tidings_post(topic, &stamp, sizeof stamp, NULL, NULL));
        returned[1] = stamp.number;
    }
    (void)argument;
}

// A poster is stopped anywhere in its loop, others fill the ring three times over, it goes on: each of its posts is delivered once, or counted once.
void stopped_poster(void) {
    returned = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    tidings_center *center = center_open(256);
    tidings_observer *observer = observer_open(center, NAME, 0, 0);
    tidings_topic *other = topic_open(center, NAME);
    uint64_t got = 0, missed = 0, others = 0;
    uint32_t last = 0;
    tidings_delivery delivery;
    pid_t pid = child(post_then_stop, NULL);
    for (int round = 0; round < 200; round++) {
        uint32_t before = returned[1];
        while (returned[1] < before + 1 + random_next() % 64) {}
        kill(pid, SIGSTOP);
        waitpid(pid, NULL, WUNTRACED);
        for (int i = 0; i < 3 * 256; i++) {
            stamp stamp = {.poster = 2, .number = (uint32_t)i};
            OK(tidings_post(other, &stamp, sizeof stamp, NULL, NULL));
            others++;
            if (i % 5 != 0 && round % 2 == 0) continue;
            if (tidings_next(observer, 0, &delivery) != 0) continue;
            if (delivery.kind == TIDINGS_DELIVERY_MISSED) {
                missed += delivery.missed;
                continue;
            }
            got++;
            memcpy(&stamp, delivery.payload, sizeof stamp);
            if (stamp.poster == 1) {
                CHECK(stamp.number > last, "%u after %u", stamp.number, last);
                last = stamp.number;
            }
        }
        kill(pid, SIGCONT);
    }
    // Stopped in between posts or in one; either way it ends it when it goes on, and then dies between two.
    child_kill(pid);
    int result;
    while ((result = tidings_next(observer, 0, &delivery)) == 0) {
        if (delivery.kind == TIDINGS_DELIVERY_MISSED) missed += delivery.missed;
        else got++;
    }
    CHECK(result == -EAGAIN, "result %d", result);
    uint64_t total = returned[1] + others;
    CHECK(got + missed == total || got + missed == total + 1, "%lu + %lu of %lu", got, missed, total);
    tidings_observer_close(observer);
    tidings_topic_close(other);
    tidings_close(center);
}

static gate ready;

static void post_one_and_die(void *argument) {
    tidings_center *center = center_open(0);
    tidings_topic *topic = topic_open(center, NAME);
    uint32_t number = *(uint32_t *)argument;
    OK(tidings_post(topic, &number, sizeof number, NULL, NULL));
    kill(getpid(), SIGKILL);
}

static void count_to(void *argument) {
    uint32_t count = *(uint32_t *)argument;
    tidings_center *center = center_open(0);
    tidings_observer *observer = observer_open(center, NAME, 0, 0);
    tidings_observer_spin(observer, 0);
    gate_open(&ready);
    for (uint32_t i = 0; i < count; i++) {
        tidings_delivery delivery;
        OK(tidings_next(observer, -1, &delivery));
        CHECK(*(const uint32_t *)delivery.payload == i, "%u at %u", *(const uint32_t *)delivery.payload, i);
    }
    tidings_observer_close(observer);
    tidings_close(center);
}

// Three observers sleep; each post, by a process that dies right after it, wakes all.
void sleeping_observer(void) {
    tidings_center *center = center_open(256);
    ready = gate_make();
    uint32_t count = 60;
    pid_t observers[3];
    for (int i = 0; i < 3; i++) observers[i] = child(count_to, &count);
    for (int i = 0; i < 3; i++) gate_await(&ready);
    for (uint32_t i = 0; i < count; i++) {
        pid_t pid = child(post_one_and_die, &i);
        waitpid(pid, NULL, 0);
    }
    for (int i = 0; i < 3; i++) child_ends_well(observers[i]);
    tidings_close(center);
}

static void observe_for_ever(void *argument) {
    tidings_center *center = center_open(0);
    tidings_observer *observer = observer_open(center, NAME, *(uint32_t *)argument, 0);
    gate_open(&ready);
    tidings_delivery delivery;
    for (;;) tidings_next(observer, -1, &delivery);
}

static void never_read(void *argument) {
    tidings_center *center = center_open(0);
    observer_open(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    gate_open(&ready);
    for (;;) pause();
    (void)argument;
}

// A lossless observer that doesn't read holds posters back; they are told, or wait; when it dies they go on at once.
void lossless(void) {
    tidings_center *center = center_open(256);
    tidings_topic *topic = topic_open(center, NAME), *other = topic_open(center, "other");
    ready = gate_make();
    pid_t pid = child(never_read, NULL);
    gate_await(&ready);
    int result = 0, posted = 0;
    while ((result = tidings_post(topic, &posted, sizeof posted, NULL, NULL)) == 0) posted++;
    CHECK(result == -EAGAIN && posted >= 192 && posted <= 256, "%d after %d posts", result, posted);
    CHECK(tidings_post(topic, "", 0, &(tidings_post_options){.deadline_ns = 3000000}, NULL) == -ETIMEDOUT, "deadline");
    CHECK(tidings_post(other, "", 0, NULL, NULL) == -EAGAIN, "its records can't go, whoever posts");
    child_kill(pid);
    OK(tidings_post(topic, "", 0, &(tidings_post_options){.deadline_ns = -1}, NULL));
    for (int i = 0; i < 1000; i++) OK(tidings_post(topic, "", 0, NULL, NULL));
    // One that sleeps on its name holds nobody back who posts another.
    uint32_t flags = TIDINGS_OBSERVE_LOSSLESS;
    pid = child(observe_for_ever, &flags);
    gate_await(&ready);
    for (int i = 0; i < 5000; i++) OK(tidings_post(other, "", 0, NULL, NULL));
    child_kill(pid);
    CHECK(tidings_tidy(center) == 1, "one dead participant");
    tidings_topic_close(topic);
    tidings_topic_close(other);
    tidings_close(center);
}
