// What this process does with a center meanwhile: everything tidings.h offers, never waiting for long.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

#define OBSERVERS 6u
#define NAMES 6u
#define STEPS_MAX 200

const tidings_configuration fuzz_configuration = {.maximum_payload = 65536, .slots = 256, .participants = 8, .observers = 16, .names = 256};

static const struct {
    const char *name, *subject;
} names[NAMES] = {
    {"a", NULL},
    {"a", "one"},
    {"b", NULL},
    {"com.example.a.name.that.is.too.long.for.a.cell.with.anything.else.in.it.com.example.a.name.that.is.too.long.for.a.cell.with.anything.else.in.it.com.example.a.name.that.is.too.long.for.a.cell.with.anything", NULL},
    {"com.example.progress", "a subject of some length, so that it needs a place"},
    {"c", NULL},
};
static const uint32_t sizes[8] = {0, 8, 100, 200, 1000, 6000, 65536, 65537};
static const uint8_t bytes[65537];

static struct {
    tidings_center *center, *second;
    tidings_topic *topics[NAMES], *others[NAMES];  // of either
    tidings_observer *observers[OBSERVERS];
    uint32_t interests[OBSERVERS];
    tidings_reservation reservation, other;
    bool reserved, other_reserved;
    unsigned names;  // of the many, so far
    bool readable, sealed;
} now;

// What opens is whole, and of sizes that tidings.h allows.
static void is_as_promised(const tidings_center *center)
{
    struct stat status;
    const tidings__shape *shape = &center->segment.shape;
    MUST(fstat(center->segment.fd, &status) == 0 && (uint64_t)status.st_size == center->segment.size, center->segment.size);
    MUST(shape->slots >= 256 && shape->slots <= 1 << 20 && (shape->slots & (shape->slots - 1)) == 0, shape->slots);
    MUST(shape->participants >= 2 && shape->participants <= 4000 && shape->observers >= 2 && shape->observers <= 1024, shape->participants);
    MUST(shape->names >= 64 && shape->names <= 1 << 20 && shape->maximum_payload >= 1 && shape->maximum_payload <= 1 << 30, shape->names);
}

static int opened(const char *how, int result, tidings_center *center)
{
    fuzz_result(how, result);
    if (result != 0) return result;
    mapping_fence(&center->segment);
    is_as_promised(center);
    return 0;
}

// Sent to ourselves: another participant.
static int receive_own(tidings_center **center, uint32_t flags)
{
    int ends[2];
    MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0, errno);
    int result = tidings_send(now.center, ends[0], flags & TIDINGS_OPEN_READ_ONLY ? TIDINGS_SEND_READ_ONLY : 0);
    fuzz_result("send", result);
    if (result == 0) result = opened("receive", tidings_receive(ends[1], center), *center);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return result;
}

static int open_center(tidings_center **center, uint32_t flags)
{
    *center = NULL;
    tidings_configuration configuration = fuzz_configuration;
    configuration.directory = fuzz_directory();
    configuration.flags = flags;
    if (now.readable) configuration.mode = 0644;
    if (now.sealed && now.center) return receive_own(center, flags);
    const int result = now.sealed ? tidings_create_sealed("f", &configuration, center) : tidings_open("f", &configuration, center);
    return opened("open", result, *center);
}

static tidings_topic *topic_of(tidings_center *center, tidings_topic **topics, unsigned topic)
{
    if (topics[topic]) return topics[topic];
    const char *subject = names[topic].subject;
    fuzz_result("topic", tidings_topic_open(center, names[topic].name, strlen(names[topic].name), subject, subject ? strlen(subject) : 0, &topics[topic]));
    return topics[topic];
}

static int post_to(tidings_topic *topic, uint8_t how, int64_t deadline)
{
    const tidings_post_options options = {.format = how >> 4 & 3, .flags = how & 8 ? TIDINGS_POST_RETAIN : 0, .deadline_ns = deadline};
    uint64_t sequence = 0;
    int result = 0;
    if (!topic) return -ENOENT;
    if (how & 128) fuzz_result("state set", result = tidings_state_set(topic, how & 7 ? bytes : NULL, sizes[how & 7], &options));
    else fuzz_result("post", result = tidings_post(topic, bytes, sizes[how & 7], &options, &sequence));
    if (sequence) changes_near(sequence);
    return result;
}

static int post(unsigned topic, uint8_t how) { return post_to(topic_of(now.center, now.topics, topic), how, how & 64 ? 100000 : 0); }

// As long as nothing is wrong: what fails once, slowly perhaps, fails as often as it is tried.
static void posts(unsigned count, unsigned topic, uint8_t how)
{
    for (unsigned i = 0; i < count && post(topic, how) == 0; i++) {
    }
}

static uint8_t sum;  // so that reading what was delivered isn't optimised away

static void read_delivery(const tidings_delivery *d)
{
    MUST(d->kind == TIDINGS_DELIVERY_MESSAGE || d->kind == TIDINGS_DELIVERY_MISSED, d->kind);
    MUST(d->interest_count >= 1, d->interest_count);
    for (size_t i = 0; i < d->interest_count; i++) sum ^= (uint8_t)d->interests[i];
    MUST(d->name_length <= TIDINGS_NAME_MAX && d->subject_length <= TIDINGS_SUBJECT_MAX, d->name_length);
    MUST(d->name[d->name_length] == 0 && d->subject[d->subject_length] == 0, d->name_length);
    for (size_t i = 0; i < d->name_length; i++) sum ^= (uint8_t)d->name[i];
    for (size_t i = 0; i < d->subject_length; i++) sum ^= (uint8_t)d->subject[i];
    MUST(d->size <= now.center->segment.shape.maximum_payload, d->size);
    for (size_t i = 0; i < d->size; i++) sum ^= ((const uint8_t *)d->payload)[i];
}

static void next(unsigned o, unsigned most, int64_t timeout)
{
    for (unsigned i = 0; now.observers[o] && i < most; i++) {
        tidings_delivery delivery;
        const int result = tidings_next(now.observers[o], timeout, &delivery);
        fuzz_result("next", result);
        if (result != 0) return;
        read_delivery(&delivery);
    }
}

static void observe(unsigned o, uint8_t how)
{
    if (!now.observers[o]) {
        const int result = tidings_observer_open(now.second && how & 128 ? now.second : now.center, how & 64 ? TIDINGS_OBSERVE_LOSSLESS : 0, &now.observers[o]);
        fuzz_result("observer", result);
        if (result != 0) return;
        if (how & 32) fuzz_result("seek", tidings_observer_seek(now.observers[o], how & 16 ? 0 : how));
    }
    const unsigned n = how & 7;
    const char *name = n < NAMES ? names[n].name : n > NAMES ? "com.ex" : NULL, *subject = n < NAMES ? names[n].subject : NULL;
    const uint32_t flags = (how & 8 ? TIDINGS_ADD_RETAINED : 0) | (how & 16 ? TIDINGS_ADD_HISTORY : 0) | (n > NAMES ? TIDINGS_ADD_PREFIX : 0);
    fuzz_result("add", tidings_observer_add(now.observers[o], name, name ? strlen(name) : 0, subject, subject ? strlen(subject) : 0, flags, &now.interests[o]));
}

static void close_observer(unsigned o)
{
    tidings_observer_close(now.observers[o]);
    now.observers[o] = NULL;
}

void script_close(void)
{
    for (unsigned i = 0; i < OBSERVERS; i++) close_observer(i);
    for (unsigned i = 0; i < NAMES; i++) {
        tidings_topic_close(now.topics[i]);
        tidings_topic_close(now.others[i]);
    }
    if (now.reserved) tidings_abandon(now.center, &now.reservation);
    if (now.other_reserved) tidings_abandon(now.second, &now.other);
    tidings_close(now.second);
    tidings_close(now.center);
    const bool readable = now.readable, sealed = now.sealed;
    memset(&now, 0, sizeof now);
    now.readable = readable;
    now.sealed = sealed;
}

static void look_around(tidings_center *center)
{
    tidings_statistics statistics;
    fuzz_result("statistics", tidings_statistics_get(center, &statistics));
    for (uint32_t i = 0; i <= statistics.participants_max && i < 16; i++) {
        tidings_participant_info participant;
        if (tidings_participant(center, i, &participant) == 0) MUST(memchr(participant.executable, 0, sizeof participant.executable) != NULL, i);
    }
    for (uint32_t i = 0; i <= statistics.names_max && i < 300; i++) {
        tidings_name_info name;
        if (tidings_name(center, i, &name) == 0)
            MUST(memchr(name.name, 0, sizeof name.name) != NULL && memchr(name.subject, 0, sizeof name.subject) != NULL, i);
    }
}

static void build(uint8_t how)
{
    const size_t size = sizes[how & 7];
    if (!now.reserved) {
        const int result = tidings_reserve(now.center, size, &now.reservation);
        fuzz_result("reserve", result);
        now.reserved = result == 0;
        if (now.reserved) memset(now.reservation.bytes, how, size);
    } else if (how & 64) {
        const size_t used = now.reservation.capacity < 100 ? now.reservation.capacity : 100;
        fuzz_result("reserve more", tidings_reserve_more(now.center, &now.reservation, used, size));
        memset(now.reservation.bytes, how, now.reservation.capacity < size ? now.reservation.capacity : size);
    } else if (how & 32 || !now.topics[0]) {
        tidings_abandon(now.center, &now.reservation);
        now.reserved = false;
    } else {
        const tidings_post_options options = {.flags = how & 8 ? TIDINGS_POST_RETAIN : 0};
        const size_t most = now.reservation.capacity < size ? now.reservation.capacity : size;
        fuzz_result("post reserved", tidings_post_reserved(now.topics[0], &now.reservation, most, &options, NULL));
        now.reserved = false;
    }
}

// Into memory of exactly the size that is said.
static void state_get(unsigned topic, uint8_t how)
{
    static const uint32_t rooms[4] = {65536, 8, 200, 1000};
    size_t size = rooms[how / NAMES % 4];
    const size_t room = size;
    if (!now.topics[topic]) return;
    uint8_t *buffer = malloc(size);
    MUST(buffer != NULL, size);
    const int result = tidings_state_get(now.topics[topic], buffer, &size, NULL, NULL);
    fuzz_result("state get", result);
    if (result == 0) MUST(size <= room, size);
    if (result == -ENOBUFS) MUST(size > room, size);
    free(buffer);
}

static void changes_begin(void)
{
    const tidings__segment *segment = &now.center->segment;
    changes_in(segment->writable ? segment->base : NULL, segment->size, &segment->shape);
}

static bool reopen(void)
{
    tidings_center *center = NULL;
    if (open_center(&center, 0) != 0) return false;
    script_close();
    now.center = center;
    changes_begin();
    return true;
}

static void removal(void)
{
    tidings_configuration configuration = fuzz_configuration;
    configuration.directory = fuzz_directory();
    fuzz_result("remove", tidings_remove("f", &configuration));
}

// MARK: What happens to whole processes

static void close_second(void)
{
    for (unsigned i = 0; i < OBSERVERS; i++) close_observer(i);
    for (unsigned i = 0; i < NAMES; i++) {
        tidings_topic_close(now.others[i]);
        now.others[i] = NULL;
    }
    if (now.other_reserved) tidings_abandon(now.second, &now.other);
    now.other_reserved = false;
    tidings_close(now.second);
    now.second = NULL;
}

// Takes its lock away: dead to the others with all that it holds, and itself told so.
static void die(tidings_center *center)
{
    const int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);
    MUST(nowhere >= 0, errno);
    const int locks = !center ? -1 : center->segment.companion ? center->segment.companion_fd : center->segment.fd;
    if (locks >= 0) (void)dup2(nowhere, locks);
    (void)close(nowhere);
}

static void hold_back(unsigned topic)
{
    for (unsigned i = 0; i < 300; i++)
        if (post_to(topic_of(now.center, now.topics, topic), 1, 3000000) != 0) return;
}

static void reserve_other(uint8_t how)
{
    if (!now.second || now.other_reserved) return;
    const int result = tidings_reserve(now.second, sizes[how & 7], &now.other);
    fuzz_result("reserve", result);
    now.other_reserved = result == 0;
}

static void descriptor(unsigned o)
{
    int fd;
    if (now.observers[o]) fuzz_result("descriptor", tidings_observer_descriptor(now.observers[o], &fd));
}

// Names by the dozen, each with a value that is taken back: so the table fills, and they have to make room for each other.
static void many_names(void)
{
    for (unsigned i = 0; i < 64; i++) {
        char name[16];
        tidings_topic *topic = NULL;
        const int length = snprintf(name, sizeof name, "n%u", now.names++ % 300);
        fuzz_result("topic", tidings_topic_open(now.center, name, (size_t)length, NULL, 0, &topic));
        const int result = topic ? tidings_state_set(topic, NULL, 0, NULL) : -ENOMEM;
        fuzz_result("state set", result);
        tidings_topic_close(topic);
        fuzz_step("one of many names");
        if (result != 0) return;
    }
}

static bool more(uint8_t how)
{
    const unsigned which = how >> 5, o = which % OBSERVERS, topic = which % NAMES;
    switch (how & 31) {
    case 0: die(now.second); return true;
    case 1: process_fork(); fuzz_step("fork"); return true;
    case 2: descriptor(o); fuzz_step("descriptor"); return true;
    case 3: process_turn(); fuzz_step("helper"); return true;
    case 4: hold_back(topic); fuzz_step("held back"); return true;
    case 5: if (now.second) (void)post_to(topic_of(now.second, now.others, topic), 1, 0); fuzz_step("post of the second"); return true;
    case 6: reserve_other((uint8_t)which); fuzz_step("reservation of the second"); return true;
    case 7: if (now.second) (void)post_to(topic_of(now.second, now.others, topic), 8 | 4, 0); fuzz_step("value of the second"); return true;
    case 8: if (now.observers[o]) tidings_observer_spin(now.observers[o], which & 4 ? 20000 : UINT32_MAX); return true;
    case 9: process_processors(which & 1 ? 1 : 2); return true;
    case 10: case 16: case 17: posts(40, topic, 1 | 8); fuzz_step("values"); return true;
    case 11: posts(40, topic, 5); fuzz_step("chunks"); return true;
    case 12: die(now.center); return true;
    case 13: if (now.second) fuzz_result("tidy", tidings_tidy(now.second)); fuzz_step("tidy by the second"); return true;
    case 14: case 18: for (unsigned i = 0; i < OBSERVERS; i++) next(i, 2, 0); fuzz_step("next of all"); return true;
    case 15: next(o, 300, 1000000); fuzz_step("next, waiting"); return true;
    case 19: case 20: many_names(); return true;
    case 21: if (now.second) look_around(now.second); fuzz_step("statistics of the second"); return true;
    default: posts(300, topic, 1); fuzz_step("round the ring"); return true;
    }
}

// True: go on.
static bool step(input *in)
{
    const uint8_t what = input_byte(in);
    // Changes and posts fill most of the codes, so that random ones mean mostly those.
    if (what < 80) return change_now(in), true;
    if (what < 128) return change_armed(in), true;
    if (what == 248 || what == 249) return change_aimed(in, what == 249), true;
    if (what == 250) return change_word(in), true;
    const uint8_t how = input_byte(in);
    const unsigned o = how % OBSERVERS, topic = how % NAMES;
    switch (what) {
    case 128 ... 159: (void)post(what % NAMES, how); fuzz_step("post"); return true;
    case 160 ... 167: posts(how < 150 ? 2u * how : 300, what % NAMES, 1); fuzz_step("posts"); return true;
    case 168 ... 191: next(o, 1 + how / 8, 0); fuzz_step("next"); return true;
    case 192 ... 195: next(o, 1, 100000); fuzz_step("next, waiting"); return true;
    case 196 ... 211: observe(what % OBSERVERS, how); fuzz_step("observe"); return true;
    case 212 ... 214:
        if (now.observers[o]) (void)tidings_observer_remove(now.observers[o], now.interests[o]);
        fuzz_step("no longer observe");
        return true;
    case 215 ... 217: close_observer(o); fuzz_step("close observer"); return true;
    case 218 ... 221: state_get(topic, how); fuzz_step("state"); return true;
    case 222 ... 224: look_around(now.center); fuzz_step("statistics"); return true;
    case 225 ... 227: fuzz_result("tidy", tidings_tidy(now.center)); fuzz_step("tidy"); return true;
    case 228 ... 234: build(how); fuzz_step("reservation"); return true;
    case 235 ... 237:
        if (!now.second) (void)open_center(&now.second, now.readable && how & 1 ? TIDINGS_OPEN_READ_ONLY : 0);
        fuzz_step("open again");
        return true;
    case 238 ... 240: close_second(); fuzz_step("close second"); return true;
    case 241 ... 242: removal(); fuzz_step("remove"); return true;
    case 243 ... 246: reopen(); fuzz_step("reopen"); return true;
    case 251: return more(how);
    case 247: if (now.observers[o]) tidings_observer_interrupt(now.observers[o]); return true;
    case 255: return false;
    default: changes_disarm(); return true;
    }
}

void script_furnish(tidings_center *center)
{
    now.center = center;
    observe(0, 0);          // "a"
    observe(1, 64 | 2);     // "b", lossless
    observe(2, 7);          // all names
    posts(600, 5, 1);
    for (unsigned i = 0; i < NAMES; i++) (void)post(i, (uint8_t)(i | (i % 2 ? 8 : 0)));
    (void)post(0, 8 | 5);
}

static void run(input *in, uint8_t beginning)
{
    fuzz_step("open");
    if (now.center) {
        changes_begin();
        if (beginning & 1) script_furnish(now.center);
        if (beginning & 2) observe(3, 8);
        if (beginning & 4) (void)open_center(&now.second, now.readable && beginning & 64 ? TIDINGS_OPEN_READ_ONLY : 0);
        for (int i = 0; i < STEPS_MAX && in->at < in->end && step(in); i++) {
        }
    }
    changes_disarm();
    script_close();
    fuzz_step("close");
    changes_in(NULL, 0, &(const tidings__shape){0});
    mapping_forget();
}

static uint8_t begin(input *in)
{
    const uint8_t beginning = input_byte(in);
    changes_disarm();
    process_begin();
    if (beginning & 8) process_processors(2);
    now.readable = beginning & 16;
    now.sealed = beginning & 32;
    fuzz_step(NULL);
    return beginning;
}

void script_run(input *in)
{
    const uint8_t beginning = begin(in);
    (void)open_center(&now.center, 0);
    run(in, beginning);
}

void script_run_received(int socket, input *in)
{
    const uint8_t beginning = begin(in);
    now.sealed = true;
    (void)opened("receive", tidings_receive(socket, &now.center), now.center);
    now.readable = now.center && now.center->segment.observable;
    run(in, now.center && now.center->segment.writable ? beginning : 0);
}
