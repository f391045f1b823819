// What this process does with a center meanwhile: everything tidings.h offers, never waiting for long.
#include <errno.h>
#include <string.h>

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
    tidings_topic *topics[NAMES];
    tidings_observer *observers[OBSERVERS];
    uint32_t interests[OBSERVERS];
    tidings_reservation reservation;
    bool reserved;
} now;

static int open_center(tidings_center **center, uint32_t flags)
{
    tidings_configuration configuration = fuzz_configuration;
    configuration.directory = fuzz_directory();
    configuration.flags = flags;
    const int result = tidings_open("f", &configuration, center);
    fuzz_result("open", result);
    return result;
}

static void post(unsigned topic, uint8_t how)
{
    if (!now.topics[topic]) {
        const char *subject = names[topic].subject;
        const int result = tidings_topic_open(now.center, names[topic].name, strlen(names[topic].name), subject, subject ? strlen(subject) : 0, &now.topics[topic]);
        fuzz_result("topic", result);
        if (result != 0) return;
    }
    const tidings_post_options options = {.format = how >> 4 & 3, .flags = how & 8 ? TIDINGS_POST_RETAIN : 0, .deadline_ns = how & 64 ? 100000 : 0};
    uint64_t sequence = 0;
    if (how & 128) fuzz_result("state set", tidings_state_set(now.topics[topic], how & 7 ? bytes : NULL, sizes[how & 7], &options));
    else fuzz_result("post", tidings_post(now.topics[topic], bytes, sizes[how & 7], &options, &sequence));
    if (sequence) changes_near(sequence);
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
    MUST(d->size <= fuzz_configuration.maximum_payload, d->size);
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
    const char *name = n < NAMES ? names[n].name : NULL, *subject = n < NAMES ? names[n].subject : NULL;
    const uint32_t flags = (how & 8 ? TIDINGS_ADD_RETAINED : 0) | (how & 16 ? TIDINGS_ADD_HISTORY : 0);
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
        now.topics[i] = NULL;
    }
    if (now.reserved) tidings_abandon(now.center, &now.reservation);
    tidings_close(now.second);
    tidings_close(now.center);
    memset(&now, 0, sizeof now);
}

static void look_around(void)
{
    tidings_statistics statistics;
    fuzz_result("statistics", tidings_statistics_get(now.center, &statistics));
    for (uint32_t i = 0; i <= statistics.participants_max && i < 16; i++) {
        tidings_participant_info participant;
        if (tidings_participant(now.center, i, &participant) == 0) MUST(memchr(participant.executable, 0, sizeof participant.executable) != NULL, i);
    }
    for (uint32_t i = 0; i <= statistics.names_max && i < 300; i++) {
        tidings_name_info name;
        if (tidings_name(now.center, i, &name) == 0)
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

static void state_get(unsigned topic)
{
    static uint8_t buffer[65536];
    size_t size = sizeof buffer;
    if (!now.topics[topic]) return;
    const int result = tidings_state_get(now.topics[topic], buffer, &size, NULL, NULL);
    fuzz_result("state get", result);
    if (result == 0) MUST(size <= sizeof buffer, size);
}

static bool reopen(void)
{
    tidings_center *center = NULL;
    if (open_center(&center, 0) != 0) return false;
    script_close();
    now.center = center;
    changes_in(mapping_base(0), mapping_length(0), (const void *)mapping_base(0));
    return true;
}

static void removal(void)
{
    tidings_configuration configuration = fuzz_configuration;
    configuration.directory = fuzz_directory();
    fuzz_result("remove", tidings_remove("f", &configuration));
}

// True: go on.
static bool step(input *in)
{
    const uint8_t what = input_byte(in);
    // Changes and posts fill most of the codes, so that random ones mean mostly those.
    if (what < 80) return change_now(in), true;
    if (what < 128) return change_armed(in), true;
    const uint8_t how = input_byte(in);
    const unsigned o = how % OBSERVERS, topic = how % NAMES;
    switch (what) {
    case 128 ... 159: post(what % NAMES, how); fuzz_step("post"); return true;
    case 160 ... 167: for (unsigned i = 0; i < 300 && i < 2u * how; i++) post(what % NAMES, 1); fuzz_step("posts"); return true;
    case 168 ... 191: next(o, 1 + how / 8, 0); fuzz_step("next"); return true;
    case 192 ... 195: next(o, 1, 100000); fuzz_step("next, waiting"); return true;
    case 196 ... 211: observe(what % OBSERVERS, how); fuzz_step("observe"); return true;
    case 212 ... 214:
        if (now.observers[o]) (void)tidings_observer_remove(now.observers[o], now.interests[o]);
        fuzz_step("no longer observe");
        return true;
    case 215 ... 217: close_observer(o); fuzz_step("close observer"); return true;
    case 218 ... 221: state_get(topic); fuzz_step("state"); return true;
    case 222 ... 224: look_around(); fuzz_step("statistics"); return true;
    case 225 ... 227: fuzz_result("tidy", tidings_tidy(now.center)); fuzz_step("tidy"); return true;
    case 228 ... 234: build(how); fuzz_step("reservation"); return true;
    case 235 ... 237: if (!now.second) (void)open_center(&now.second, 0); fuzz_step("open again"); return true;
    case 238 ... 240:
        for (unsigned i = 0; i < OBSERVERS; i++) close_observer(i);
        tidings_close(now.second);
        now.second = NULL;
        fuzz_step("close second");
        return true;
    case 241 ... 242: removal(); fuzz_step("remove"); return true;
    case 243 ... 246: reopen(); fuzz_step("reopen"); return true;
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
    for (unsigned i = 0; i < 600; i++) post(5, 1);
    for (unsigned i = 0; i < NAMES; i++) post(i, (uint8_t)(i | (i % 2 ? 8 : 0)));
    post(0, 8 | 5);
}

void script_run(input *in)
{
    const uint8_t beginning = input_byte(in);
    changes_disarm();
    fuzz_step(NULL);
    if (open_center(&now.center, 0) == 0) {
        fuzz_step("open");
        changes_in(mapping_base(0), mapping_length(0), (const void *)mapping_base(0));
        if (beginning & 1) script_furnish(now.center);
        if (beginning & 2) observe(3, 8);
        if (beginning & 4) (void)open_center(&now.second, 0);
        for (int i = 0; i < STEPS_MAX && in->at < in->end && step(in); i++) {
        }
    }
    changes_disarm();
    script_close();
    fuzz_step("close");
    changes_in(NULL, 0, &(const tidings__header){0});
    mapping_forget();
}
