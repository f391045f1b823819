// Two processes of two versions in one center: Pair PEER. This program opens the center first, and executes PEER (this
// program of another version) as the other process. In a center of a file, in one with readers, and in a sealed one.
// It uses the public header alone. The peer is killed in the end, with all that a participant can leave behind.
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "../scenarios/check.h"

#define LARGE 3000u  // bytes that need a chunk
#define CALLS 40u
#define LONG_NS INT64_C(30000000000)  // the watchdog ends what takes longer

enum kind { FILE_OF_OWNER, WITH_READERS, SEALED, KINDS };
static const char trace[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
static char bytes[LARGE], baggage[256];
static int line;  // a socket to the other process
static tidings_center *center;
static tidings_observer *observer;  // of all names

static void tell(char what) { CHECK(send(line, &what, 1, MSG_NOSIGNAL) == 1, "%s", strerror(errno)); }
static void told(char what) {
    char came = 0;
    CHECK(recv(line, &came, 1, 0) == 1 && came == what, "'%c' came, not '%c'", came, what);
}

static tidings_publisher *publisher_of(const char *name) {
    tidings_publisher *publisher;
    OK(tidings_publisher_open(center, name, strlen(name), NULL, 0, &publisher));
    return publisher;
}

static tidings_observer *observer_of(tidings_center *of, uint32_t flags, const char *name, uint32_t add) {
    tidings_observer *opened;
    uint32_t id;
    OK(tidings_observer_open(of, flags, &opened));
    OK(tidings_observer_add(opened, name, name ? strlen(name) : 0, NULL, 0, add, &id));
    return opened;
}

// Posts with both sections.
static void post(const char *name, size_t size, uint8_t flags) {
    const tidings_section sections[] = {{trace, sizeof trace - 1, TIDINGS_SECTION_TRACEPARENT},
                                        {baggage, sizeof baggage, TIDINGS_SECTION_BAGGAGE}};
    const tidings_post_options options = {.flags = TIDINGS_POST_SECTIONS | flags,
                                          .section_count = size % 2 ? 1 : 2,
                                          .sections = sections,
                                          .timeout_ns = -1};
    OK(tidings_post(publisher_of(name), bytes, size, &options, NULL));
}

static void is_whole(const tidings_delivery *d, size_t size) {
    CHECK(d->size == size && memcmp(d->payload, bytes, size) == 0, "%zu bytes came as %zu, or damaged", size, d->size);
    size_t length;
    const void *section = tidings_delivery_section(d, TIDINGS_SECTION_TRACEPARENT, &length);
    CHECK(section && length == sizeof trace - 1 && memcmp(section, trace, length) == 0, "a traceparent of %zu bytes",
          length);
    section = tidings_delivery_section(d, TIDINGS_SECTION_BAGGAGE, &length);
    CHECK(size % 2 ? !section : section && length == sizeof baggage && memcmp(section, baggage, length) == 0,
          "baggage of %zu bytes", length);
}

// The next delivery of this name; others are passed over, and none was missed.
static tidings_delivery next_of(tidings_observer *from, const char *name) {
    tidings_delivery d;
    do {
        OK(tidings_next(from, LONG_NS, &d));
        CHECK(d.kind == TIDINGS_DELIVERY_MESSAGE, "%lu were missed", (unsigned long)d.missed);
    } while (strcmp(d.name, name) != 0);
    return d;
}

static void comes(tidings_observer *to, const char *name, size_t size) {
    const tidings_delivery d = next_of(to, name);
    is_whole(&d, size);
}

static tidings_presence notice(int32_t event, const char *role) {
    tidings_presence presence;
    do {
        const tidings_delivery d = next_of(observer, TIDINGS_PRESENCE_NAME);
        OK(tidings_presence_read(&d, &presence));
    } while (strcmp(presence.role, role) != 0);
    CHECK(presence.event == event, "event %d of %s", presence.event, role);
    return presence;
}

static tidings_server *serve(const char *name) {
    tidings_server *server;
    OK(tidings_server_open(center, name, strlen(name), &server));
    return server;
}

static tidings_request request_of(tidings_server *server) {
    tidings_request request;
    OK(tidings_server_next(server, LONG_NS, &request));
    CHECK(request.kind == TIDINGS_REQUEST_NEW, "kind %d", request.kind);
    return request;
}

static void answer(tidings_server *server) {
    for (uint32_t i = 0; i < CALLS; i++) {
        const tidings_request request = request_of(server);
        const tidings_reply_options options = {.code = (uint16_t)(request.size + 7), .format = request.format};
        OK(tidings_reply(server, request.id, request.payload, request.size, &options));
    }
}

static void call(const char *name) {
    tidings_caller *caller;
    OK(tidings_caller_open(center, name, strlen(name), &caller));
    for (uint32_t i = 0; i < CALLS; i++) {
        const size_t size = i % 3 ? i : LARGE - i;
        const tidings_call_options options = {.format = (uint8_t)i, .timeout_ns = -1};
        uint64_t id;
        tidings_outcome outcome;
        OK(tidings_call(caller, bytes, size, &options, &id));
        OK(tidings_caller_next(caller, id, LONG_NS, &outcome));
        OK(outcome.error);
        CHECK(outcome.size == size && memcmp(outcome.payload, bytes, size) == 0 && outcome.format == i &&
                  outcome.code == (uint16_t)(size + 7),
              "a reply of %zu bytes to %zu, code %u, format %u", outcome.size, size, outcome.code, outcome.format);
    }
    tidings_caller_close(caller);
}

static void share(enum kind kind, uint32_t flags, tidings_center **opened) {
    const tidings_configuration configuration = {
        .slots = 256, .maximum_payload = LARGE, .mode = kind == WITH_READERS ? 0644 : 0600, .flags = flags};
    OK(tidings_open("pair", &configuration, opened));
}

static void announce(const char *role) {
    const tidings_will will = {.name = "will", .name_length = 4, .payload = bytes, .size = LARGE};
    OK(tidings_announce(center, role, strlen(role), &will, -1));
}

static void peer(enum kind kind) {
    if (kind == SEALED)
        OK(tidings_receive(line, &center));
    else
        share(kind, TIDINGS_OPEN_EXISTING, &center);
    observer = observer_of(center, 0, NULL, 0);
    announce("peer");
    (void)notice(TIDINGS_PRESENCE_JOINED, "peer");
    tidings_participant_info info;
    OK(tidings_participant(center, 0, &info));
    CHECK(info.announced && strcmp(info.role, "first") == 0 && info.alive, "participant 0 is \"%s\"", info.role);
    // The retained value, and the history, of the other version.
    tidings_observer *late = observer_of(center, 0, "value", TIDINGS_ADD_RETAINED);
    const tidings_delivery value = next_of(late, "value");
    CHECK(value.flags & TIDINGS_DELIVERY_RETAINED, "flags %u", value.flags);
    is_whole(&value, LARGE);
    static char state[LARGE];
    size_t length = sizeof state;
    OK(tidings_state_get(publisher_of("value"), state, &length, NULL, NULL));
    CHECK(length == LARGE && memcmp(state, bytes, LARGE) == 0, "a state of %zu bytes", length);
    post("value", 101, TIDINGS_POST_RETAIN);
    // Posts of all sizes, both ways; a reader gets them, too.
    tidings_center *reading = NULL;
    tidings_observer *reader = NULL;
    if (kind == WITH_READERS) share(kind, TIDINGS_OPEN_READ_ONLY, &reading);
    if (reading) reader = observer_of(reading, 0, "to peer", 0);
    tell('j');
    for (size_t size = 0; size < LARGE; size += 1 + size / 3) {
        comes(observer, "to peer", size);
        if (reader) comes(reader, "to peer", size);
        post("to first", size, 0);
    }
    tidings_server *server = serve("of peer");
    tell('s');
    answer(server);
    call("of first");
    // Held, while the other process takes every chunk several times.
    tidings_observer *holder = observer_of(center, 0, "held", 0);
    tidings_observer_in_place(holder, 0);
    tell('h');
    const tidings_delivery d = next_of(holder, "held");
    tidings_held held;
    OK(tidings_hold(holder, &d, &held));
    CHECK(d.flags & TIDINGS_DELIVERY_IN_PLACE, "it was copied");
    tell('i');
    told('t');
    CHECK(memcmp(held.payload, bytes, LARGE) == 0, "what was held has changed");
    // All that a death leaves: the hold, a lossless observer, a reservation, a request without a reply, a last will.
    (void)observer_of(center, TIDINGS_OBSERVE_LOSSLESS, NULL, 0);
    tidings_reservation reservation;
    OK(tidings_reserve(center, LARGE, &reservation));
    tell('d');
    (void)request_of(server);
    kill(getpid(), SIGKILL);
}

static void first(enum kind kind, const char *program) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0, "%s", strerror(errno));
    const pid_t pid = fork();
    CHECK(pid >= 0, "%s", strerror(errno));
    if (pid == 0) {
        char number[16], which[16];
        snprintf(number, sizeof number, "%d", ends[1]);
        snprintf(which, sizeof which, "%d", (int)kind);
        execl(program, "Pair", "--peer", which, number, (char *)NULL);
        CHECK(false, "%s: %s", program, strerror(errno));
    }
    close(ends[1]);
    line = ends[0];
    if (kind == SEALED) {
        const tidings_configuration configuration = {.slots = 256, .maximum_payload = LARGE};
        OK(tidings_create_sealed("pair", &configuration, &center));
    } else {
        share(kind, TIDINGS_OPEN_EXCLUSIVE, &center);
    }
    announce("first");
    for (uint32_t i = 0; i < 300; i++) post("earlier", i % 4, 0);
    observer = observer_of(center, 0, NULL, 0);
    post("value", LARGE, TIDINGS_POST_RETAIN);
    for (uint32_t i = 0; i < 100; i++) post("earlier", i, 0);
    // Only now: the peer finds all this.
    if (kind == SEALED) OK(tidings_send(center, line, 0));
    if (kind != SEALED) tell('o');
    told('j');
    const tidings_presence other = notice(TIDINGS_PRESENCE_JOINED, "peer");
    CHECK(other.pid == pid, "pid %d", other.pid);
    comes(observer, "value", 101);
    for (size_t size = 0; size < LARGE; size += 1 + size / 3) {
        post("to peer", size, 0);
        comes(observer, "to first", size);
    }
    tidings_server *server = serve("of first");
    told('s');
    call("of peer");
    answer(server);
    told('h');
    post("held", LARGE, 0);
    told('i');
    tidings_participant_holds holds;
    tidings_participant_holds_get(center, other.participant, &holds);
    CHECK(holds.payloads == 1 && holds.since_ns != 0, "%u payloads are held", holds.payloads);
    for (uint32_t i = 0; i < 1500; i++) post("other", i % 2 ? LARGE : 900, 0);
    tidings_observer_close(observer);
    observer = observer_of(center, 0, NULL, 0);
    tell('t');
    told('d');
    tidings_caller *caller;
    uint64_t id;
    tidings_outcome outcome;
    OK(tidings_caller_open(center, "of peer", 7, &caller));
    OK(tidings_call(caller, bytes, LARGE, &(tidings_call_options){.timeout_ns = -1}, &id));
    OK(tidings_caller_next(caller, id, LONG_NS, &outcome));
    CHECK(outcome.error == -ECONNRESET, "the call ends with %d", outcome.error);
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the peer ended: %x",
          (unsigned)status);
    const tidings_presence dead = notice(TIDINGS_PRESENCE_DIED, "peer");
    CHECK(dead.id == other.id && dead.pid == pid, "another one died");
    const tidings_delivery will = next_of(observer, "will");
    CHECK(will.flags & TIDINGS_DELIVERY_WILL && will.size == LARGE && memcmp(will.payload, bytes, LARGE) == 0,
          "a will of %zu bytes", will.size);
    tidings_observer_close(observer);
    for (uint32_t i = 0; i < 1000; i++) post("after", i % 2 ? LARGE : 10, 0);
    CHECK(tidings_reclaim(center) >= 0, "reclaiming");
    tidings_orphans orphans;
    OK(tidings_orphans_get(center, &orphans));
    CHECK(orphans.participants + orphans.observers + orphans.payloads + orphans.holds + orphans.claims == 0,
          "%u participants, %u observers, %u payloads, %u holds, %u claims are left", orphans.participants,
          orphans.observers, orphans.payloads, orphans.holds, orphans.claims);
    tidings_statistics statistics;
    OK(tidings_statistics_get(center, &statistics));
    CHECK(statistics.participants == 1 && statistics.observers_lossless == 0, "%u participants, %u lossless",
          statistics.participants, statistics.observers_lossless);
    tidings_caller_close(caller);
    tidings_server_close(server);
    tidings_close(center);
    if (kind != SEALED) OK(tidings_remove("pair", NULL));
    close(line);
}

int main(int count, char **arguments) {
    alarm(120);
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 31 + (i >> 8));
    memset(baggage, 'b', sizeof baggage);
    if (count == 4 && strcmp(arguments[1], "--peer") == 0) {
        line = atoi(arguments[3]);
        if (atoi(arguments[2]) != SEALED) told('o');
        peer((enum kind)atoi(arguments[2]));
        return 1;  // it ends by a signal
    }
    if (count != 2) {
        fprintf(stderr, "usage: Pair PEER, with TIDINGS_DIRECTORY set\n");
        return 64;
    }
    for (enum kind kind = 0; kind < KINDS; kind++) first(kind, arguments[1]);
    return 0;
}
