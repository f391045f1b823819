// What this process can do with a center meanwhile: most functions of tidings.h, never waiting for long.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "uses.h"

const tidings_configuration fuzz_configuration = {
    .maximum_payload = 65536, .slots = 256, .participants = 8, .observers = 16, .names = 256};

static const struct {
    const char *name, *subject;
} names[NAMES] = {
    {"a", NULL},
    {"a", "one"},
    {"b", NULL},
    {"com.example.a.name.that.is.too.long.for.a.cell.with.anything.else.in.it.com.example.a.name.that.is.too.long.for."
     "a.cell.with.anything.else.in.it.com.example.a.name.that.is.too.long.for.a.cell.with.anything",
     NULL},
    {"com.example.progress", "a subject of some length, so that it needs a place"},
    {"c", NULL},
};
static const uint32_t sizes[8] = {0, 8, 100, 200, 1000, 6000, 65536, 65537};
static const uint8_t bytes[65537];

struct now now;

// What opens is whole, and of sizes that tidings.h allows.
static void is_as_promised(const tidings_center *center) {
    struct stat status;
    const tidings__shape *shape = &center->segment.shape;
    MUST(fstat(center->segment.fd, &status) == 0 && (uint64_t)status.st_size >= center->segment.size,
         center->segment.size);
    MUST(shape->slots >= 256 && shape->slots <= 1 << 20 && (shape->slots & (shape->slots - 1)) == 0, shape->slots);
    MUST(shape->participants >= 2 && shape->participants <= TIDINGS__PARTICIPANTS_MAX && shape->observers >= 2 &&
             shape->observers <= 1024,
         shape->participants);
    MUST(shape->names >= 64 && shape->names <= 1 << 20 && shape->maximum_payload >= 1 &&
             shape->maximum_payload <= 1 << 30,
         shape->names);
}

int use_opened(const char *how, int result, tidings_center *center) {
    fuzz_result(how, result);
    if (result != 0) return result;
    mapping_fence(&center->segment);
    is_as_promised(center);
    return 0;
}

// Sent to ourselves: another participant.
static int receive_own(tidings_center **center, uint32_t flags) {
    int ends[2];
    MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0, errno);
    int result = tidings_send(now.center, ends[0], flags & TIDINGS_OPEN_READ_ONLY ? TIDINGS_SEND_READ_ONLY : 0);
    fuzz_result("send", result);
    if (result == 0) result = use_opened("receive", tidings_receive(ends[1], center), *center);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return result;
}

int use_open(tidings_center **center, uint32_t flags) {
    *center = NULL;
    tidings_configuration configuration = fuzz_configuration;
    configuration.directory = fuzz_directory();
    configuration.flags = flags;
    if (now.readable) configuration.mode = 0644;
    if (now.sealed && now.center) return receive_own(center, flags);
    const int result = now.sealed ? tidings_create_sealed("f", &configuration, center)
                                  : tidings_open("f", &configuration, center);
    return use_opened("open", result, *center);
}

static tidings_publisher *publisher_of(tidings_center *center, tidings_publisher **publishers, unsigned publisher) {
    if (publishers[publisher]) return publishers[publisher];
    const char *subject = names[publisher].subject;
    fuzz_result("publisher", tidings_publisher_open(center, names[publisher].name, strlen(names[publisher].name),
                                                    subject, subject ? strlen(subject) : 0, &publishers[publisher]));
    return publishers[publisher];
}

static int post_to(tidings_publisher *publisher, uint8_t how, int64_t deadline) {
    const tidings_post_options options = {
        .format = how >> 4 & 3, .flags = how & 8 ? TIDINGS_POST_RETAIN : 0, .timeout_ns = deadline};
    uint64_t sequence = 0;
    int result = 0;
    if (!publisher) return -ENOENT;
    if (how & 128)
        fuzz_result("state set",
                    result = tidings_state_set(publisher, how & 7 ? bytes : NULL, sizes[how & 7], &options, NULL));
    else
        fuzz_result("post", result = tidings_post(publisher, bytes, sizes[how & 7], &options, &sequence));
    if (sequence) changes_near(sequence);
    return result;
}

void use_sections(unsigned publisher, uint8_t how) {
    const tidings_section sections[] = {{bytes, 55, TIDINGS_SECTION_TRACEPARENT},
                                        {bytes, how & 2 ? 300 : 7, TIDINGS_SECTION_BAGGAGE}};
    const tidings_post_options options = {
        .flags = TIDINGS_POST_SECTIONS | (how & 4 ? TIDINGS_POST_RETAIN : 0), .section_count = 2, .sections = sections};
    tidings_publisher *to = publisher_of(now.center, now.publishers, publisher);
    uint64_t sequence = 0;
    if (!to) return;
    fuzz_result("post", tidings_post(to, bytes, sizes[how & 3], &options, &sequence));
    if (sequence) changes_near(sequence);
}

int use_post(unsigned publisher, uint8_t how) {
    return post_to(publisher_of(now.center, now.publishers, publisher), how, how & 64 ? 100000 : 0);
}

// As long as nothing is wrong: what fails once, slowly perhaps, fails as often as it is tried.
void use_posts(unsigned count, unsigned publisher, uint8_t how) {
    for (unsigned i = 0; i < count && use_post(publisher, how) == 0; i++) {}
}

static uint8_t sum;  // so that reading what was delivered isn't optimised away

static void read_delivery(const tidings_delivery *d) {
    MUST(d->kind == TIDINGS_DELIVERY_MESSAGE || d->kind == TIDINGS_DELIVERY_MISSED, d->kind);
    MUST(d->subscription_count >= 1, d->subscription_count);
    // EV has 52 bits of position, and the ring holds fewer positions than that.
    MUST(d->sequence >> 53 == 0, d->sequence);
    for (size_t i = 0; i < d->subscription_count; i++) sum ^= (uint8_t)d->subscriptions[i];
    MUST(d->name_length <= TIDINGS_NAME_MAX && d->subject_length <= TIDINGS_SUBJECT_MAX, d->name_length);
    MUST(d->name[d->name_length] == 0 && d->subject[d->subject_length] == 0, d->name_length);
    for (size_t i = 0; i < d->name_length; i++) sum ^= (uint8_t)d->name[i];
    for (size_t i = 0; i < d->subject_length; i++) sum ^= (uint8_t)d->subject[i];
    MUST(d->size <= now.center->segment.shape.maximum_payload, d->size);
    for (size_t i = 0; i < d->size; i++) sum ^= ((const uint8_t *)d->payload)[i];
    for (uint16_t type = 0; type < 5; type++) {
        size_t size;
        const uint8_t *section = tidings_delivery_section(d, type, &size);
        MUST(size < TIDINGS_SECTIONS_MAX, size);
        for (size_t i = 0; i < size; i++) sum ^= section[i];
    }
}

void use_next(unsigned o, unsigned most, int64_t timeout) {
    for (unsigned i = 0; now.observers[o] && i < most; i++) {
        tidings_delivery delivery;
        const int result = tidings_next(now.observers[o], timeout, &delivery);
        fuzz_result("next", result);
        if (result != 0) return;
        read_delivery(&delivery);
    }
}

void use_observe(unsigned o, uint8_t how) {
    if (!now.observers[o]) {
        const int result = tidings_observer_open(now.second && how & 128 ? now.second : now.center,
                                                 how & 64 ? TIDINGS_OBSERVE_LOSSLESS : 0, &now.observers[o]);
        fuzz_result("observer", result);
        if (result != 0) return;
        if (how & 32) fuzz_result("seek", tidings_observer_seek(now.observers[o], how & 16 ? 0 : how));
    }
    const unsigned n = how & 7;
    const char *name = n < NAMES   ? names[n].name
                       : n > NAMES ? "com.ex"
                                   : NULL,
               *subject = n < NAMES ? names[n].subject : NULL;
    const uint32_t flags = (how & 8 ? TIDINGS_ADD_RETAINED : 0) | (how & 16 ? TIDINGS_ADD_HISTORY : 0) |
                           (n > NAMES ? TIDINGS_ADD_PREFIX : 0);
    fuzz_result("add", tidings_observer_add(now.observers[o], name, name ? strlen(name) : 0, subject,
                                            subject ? strlen(subject) : 0, flags, &now.subscriptions[o]));
}

void use_close_observer(unsigned o) {
    tidings_observer_close(now.observers[o]);
    now.observers[o] = NULL;
}

void use_look_around(tidings_center *center) {
    tidings_statistics statistics;
    fuzz_result("statistics", tidings_statistics_get(center, &statistics));
    for (uint32_t i = 0; i <= statistics.participants_max && i < 16; i++) {
        tidings_participant_info participant;
        tidings_participant_observers observers;
        tidings_participant_holds holds;
        tidings_participant_observers_get(center, i, &observers);
        tidings_participant_holds_get(center, i, &holds);
        if (tidings_participant(center, i, &participant) == 0)
            MUST(memchr(participant.executable, 0, sizeof participant.executable) != NULL, i);
    }
    for (uint32_t i = 0; i <= statistics.names_max && i < 300; i++) {
        tidings_name_info name;
        if (tidings_name(center, i, &name) == 0)
            MUST(memchr(name.name, 0, sizeof name.name) != NULL && memchr(name.subject, 0, sizeof name.subject) != NULL,
                 i);
    }
}

void use_reservation(uint8_t how) {
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
    } else if (how & 32 || !now.publishers[0]) {
        tidings_abandon(now.center, &now.reservation);
        now.reserved = false;
    } else {
        const tidings_post_options options = {.flags = how & 8 ? TIDINGS_POST_RETAIN : 0};
        const size_t most = now.reservation.capacity < size ? now.reservation.capacity : size;
        fuzz_result("post reserved", tidings_post_reserved(now.publishers[0], &now.reservation, most, &options, NULL));
        now.reserved = false;
    }
}

// Into memory of exactly the size that is said.
void use_state(unsigned publisher, uint8_t how) {
    static const uint32_t rooms[4] = {65536, 8, 200, 1000};
    size_t size = rooms[how / NAMES % 4];
    const size_t room = size;
    if (!now.publishers[publisher]) return;
    uint8_t *buffer = malloc(size);
    MUST(buffer != NULL, size);
    const int result = tidings_state_get(now.publishers[publisher], buffer, &size, NULL, NULL);
    fuzz_result("state get", result);
    if (result == 0) MUST(size <= room, size);
    if (result == -ENOBUFS) MUST(size > room, size);
    free(buffer);
}

void use_changes(void) {
    const tidings__segment *segment = &now.center->segment;
    changes_in(segment->writable ? segment->base : NULL, segment->size, &segment->shape);
}

void use_removal(void) {
    tidings_configuration configuration = fuzz_configuration;
    configuration.directory = fuzz_directory();
    fuzz_result("remove", tidings_remove("f", &configuration));
}

// MARK: Requests

void use_close_requests(void) {
    tidings_server_close(now.server);
    tidings_caller_close(now.caller);
    now.server = NULL;
    now.caller = NULL;
    now.held = false;
}

static void remember(uint64_t ids[CALLS], uint64_t id) {
    memmove(ids + 1, ids, (CALLS - 1) * sizeof *ids);
    ids[0] = id;
}

static void read_text(const void *payload, size_t size, uint64_t maximum) {
    MUST(payload && size <= maximum, size);
    for (size_t i = 0; i < size; i++) sum ^= ((const uint8_t *)payload)[i];
}

static void receive(int64_t timeout) {
    tidings_request request;
    const int result = tidings_server_next(now.server, timeout, &request);
    fuzz_result("request", result);
    if (result != 0) return;
    MUST(request.kind >= TIDINGS_REQUEST_NEW && request.kind <= TIDINGS_REQUEST_CONTINUED, request.kind);
    read_text(request.payload, request.size, now.server_maximum);
    if (request.kind == TIDINGS_REQUEST_NEW)
        remember(now.requests, request.id);
    else
        MUST(request.size == 0, request.size);
}

static void reply(unsigned which, size_t size, bool more) {
    const tidings_reply_options options = {.more = more};
    fuzz_result("reply", tidings_reply(now.server, now.requests[which % CALLS], bytes, size, &options));
}

void use_server(tidings_center *center, unsigned how) {
    if (!now.server) {
        if (!center) return;
        now.server_maximum = center->segment.shape.maximum_payload;
        fuzz_result("server", tidings_server_open(center, "s", 1, &now.server));
        return;
    }
    switch (how) {
        case 0:
        case 1: receive(0); return;
        case 2: receive(100000); return;
        case 3: reply(0, 8, false); return;
        case 4: reply(1, 1000, false); return;
        case 5: reply(0, 100, true); return;
        case 6: reply(0, 6000, true); return;
        default: tidings_server_hold(now.server, now.held = !now.held);
    }
}

void use_call(unsigned how) {
    const tidings_call_options options = {.flags = how & 1 ? TIDINGS_CALL_IDEMPOTENT : 0};
    uint64_t id;
    if (!now.caller) return;
    const int result = tidings_call(now.caller, bytes, sizes[how & 7], &options, &id);
    fuzz_result("call", result);
    MUST((id != 0) == (result == 0), result);
    if (result == 0) remember(now.calls, id);
}

void use_caller(tidings_center *center, unsigned how) {
    if (!now.caller) {
        if (!center) return;
        now.caller_maximum = center->segment.shape.maximum_payload;
        fuzz_result("caller", tidings_caller_open(center, "s", 1, &now.caller));
        return;
    }
    switch (how) {
        case 4: fuzz_result("continue", tidings_call_continue(now.caller, now.calls[0])); return;
        case 5: fuzz_result("continue", tidings_call_continue(now.caller, now.calls[1])); return;
        case 6: fuzz_result("cancel", tidings_call_cancel(now.caller, now.calls[0])); return;
        case 7: fuzz_result("cancel", tidings_call_cancel(now.caller, now.calls[2])); return;
        default: break;
    }
    tidings_outcome outcome;
    const int result = tidings_caller_next(now.caller, how == 3 ? now.calls[0] : 0, how == 2 ? 100000 : 0, &outcome);
    fuzz_result("outcome", result);
    if (result != 0) return;
    MUST(outcome.error == 0 || (!outcome.more && outcome.size == 0), outcome.error);
    read_text(outcome.payload, outcome.size, now.caller_maximum);
}

void use_requests(void) {
    use_server(now.center, 0);
    use_caller(now.second ? now.second : now.center, 0);
    if (!now.server || !now.caller) return;
    for (unsigned i = 0; i < 3; i++) {
        use_call(4 + i % 2);
        use_server(NULL, 0);
        if (i < 2) use_server(NULL, 5 + i);
    }
    use_call(0);
}

// MARK: What happens to whole processes

void use_close_second(void) {
    use_close_requests();
    for (unsigned i = 0; i < OBSERVERS; i++) use_close_observer(i);
    for (unsigned i = 0; i < NAMES; i++) {
        tidings_publisher_close(now.others[i]);
        now.others[i] = NULL;
    }
    if (now.other_reserved) tidings_abandon(now.second, &now.other);
    now.other_reserved = false;
    tidings_close(now.second);
    now.second = NULL;
}

// Takes its own lock away: its peers take it for dead with all that it holds, and it is told so.
void use_die(tidings_center *center) {
    const int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);
    MUST(nowhere >= 0, errno);
    const int locks = !center                        ? -1
                      : center->segment.writers_file ? center->segment.writers_file_fd
                                                     : center->segment.fd;
    if (locks >= 0) (void)dup2(nowhere, locks);
    (void)close(nowhere);
}

void use_hold_back(unsigned publisher) {
    for (unsigned i = 0; i < 300; i++)
        if (post_to(publisher_of(now.center, now.publishers, publisher), 1, 3000000) != 0) return;
}

void use_post_of_second(unsigned publisher, uint8_t how) {
    if (now.second) (void)post_to(publisher_of(now.second, now.others, publisher), how, 0);
}

void use_reserve_of_second(uint8_t how) {
    if (!now.second || now.other_reserved) return;
    const int result = tidings_reserve(now.second, sizes[how & 7], &now.other);
    fuzz_result("reserve", result);
    now.other_reserved = result == 0;
}

void use_descriptor(unsigned o) {
    int fd;
    if (now.observers[o]) fuzz_result("descriptor", tidings_observer_descriptor(now.observers[o], &fd));
}

// Names by the dozen, each with a value that is taken back: so the table fills, and they have to make room for each
// other.
void use_many_names(void) {
    for (unsigned i = 0; i < 64; i++) {
        char name[16];
        tidings_publisher *publisher = NULL;
        const int length = snprintf(name, sizeof name, "n%u", now.names++ % 300);
        fuzz_result("publisher", tidings_publisher_open(now.center, name, (size_t)length, NULL, 0, &publisher));
        const int result = publisher ? tidings_state_set(publisher, NULL, 0, NULL, NULL) : -ENOMEM;
        fuzz_result("state set", result);
        tidings_publisher_close(publisher);
        fuzz_step("one of many names");
        if (result != 0) return;
    }
}

// With a last will of each size, retained or not; or it only watches.
void use_announce(tidings_center *center, unsigned how) {
    const tidings_will will = {.name = "will",
                               .name_length = 4,
                               .payload = bytes,
                               .size = sizes[how % 7],
                               .flags = how & 1 ? TIDINGS_POST_RETAIN : 0};
    if (!center) return;
    if (how == 7)
        fuzz_result("watch", tidings_presence_watch(center));
    else
        fuzz_result("announce", tidings_announce(center, "role", 4, how ? &will : NULL, how & 4 ? 100000 : 0));
}

void use_withdraw(tidings_center *center) {
    if (center) fuzz_result("withdraw", tidings_withdraw(center));
}
