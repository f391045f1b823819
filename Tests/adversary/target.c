// The C target: does everything that tidings.h offers with the centers it is given, as an honest program would, until
// its standard input ends.
//
//   target DIRECTORY SEED COMMAND [PLANT]
//
// Centers "closed" (mode 0600) and "open" (0644) are attacked meanwhile. Any result is right, as long as each call
// returns and the process lives. PLANT is a mistake made on purpose, which the self-test must find: crash, hang,
// memory, overread.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "board.h"
#include "center/center.h"
#include "tidings.h"

static board_thread *board;
static const char *directory, *plant = "";
static _Atomic bool is_over;

typedef struct own {
    board_thread *says;
    uint64_t random;
    bool reads_only, lossless;
    uint8_t sum;
    tidings_held held[2];
} own;

static uint64_t next_random(own *me) {
    me->random ^= me->random << 13;
    me->random ^= me->random >> 7;
    return me->random ^= me->random << 17;
}
static uint32_t below(own *me, uint32_t n) { return (uint32_t)(next_random(me) >> 33) % n; }

static uint64_t processor_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t begin(own *me, const char *call) {
    snprintf(me->says->call, sizeof me->says->call, "%s", call);
    const uint64_t from = processor_time();
    atomic_store(&me->says->from, from);
    atomic_fetch_add(&me->says->calls, 1);
    return from;
}

static void end(own *me, uint64_t from) {
    const uint64_t took = processor_time() - from;
    if (took > me->says->longest) {
        memcpy(me->says->longest_call, me->says->call, sizeof me->says->call);
        me->says->longest = took;
    }
    atomic_fetch_add(&me->says->calls, 1);
}
// Says on the board which call runs, for a director that finds it running too long.
#define CALL(me, call)                                                                                                 \
    ({                                                                                                                 \
        const uint64_t from_ = begin(me, #call);                                                                       \
        __typeof__(call) result_ = (call);                                                                             \
        end(me, from_);                                                                                                \
        result_;                                                                                                       \
    })
#define RUN(me, call)                                                                                                  \
    ({                                                                                                                 \
        const uint64_t from_ = begin(me, #call);                                                                       \
        (call);                                                                                                        \
        end(me, from_);                                                                                                \
    })

static const char *const names[] = {
    "a",   "b",   "com.example.progress", "com.example.a.name.of.some.length.that.takes.a.good.part.of.a.cell.with.it",
    "x.1", "x.2", TIDINGS_PRESENCE_NAME};
static const size_t sizes[] = {0, 8, 64, 190, 400, 3000, 20000, 65536};
#define OF(array) (sizeof(array) / sizeof(array)[0])

static void use_bytes(own *me, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) me->sum ^= ((const uint8_t *)bytes)[i];
}

static void post(own *me, tidings_center *center, bool read_only) {
    static const uint8_t payload[65536];
    const char *name = names[below(me, OF(names))], *subject = below(me, 3) ? NULL : "subject";
    tidings_publisher *publisher = NULL;
    if (CALL(me, tidings_publisher_open(center, name, strlen(name), subject, subject ? strlen(subject) : 0,
                                        &publisher)) != 0)
        return;
    for (uint32_t i = below(me, 40); i-- > 0;) {
        const tidings_post_options options = {.flags = below(me, 8) ? 0 : TIDINGS_POST_RETAIN,
                                              .timeout_ns = below(me, 4) ? 0 : 2000000};
        const size_t size = sizes[below(me, OF(sizes))];
        uint64_t sequence;
        switch (below(me, read_only ? 1 : 8)) {
            case 0: {
                uint8_t *buffer = malloc(65536);
                size_t room = 65536;
                if (buffer && CALL(me, tidings_state_get(publisher, buffer, &room, NULL, NULL)) == 0)
                    use_bytes(me, buffer, room);
                free(buffer);
                break;
            }
            case 1: CALL(me, tidings_state_set(publisher, size ? payload : NULL, size, &options, NULL)); break;
            case 2: {
                tidings_reservation reservation;
                if (CALL(me, tidings_reserve(center, size, &reservation)) != 0) break;
                memset(reservation.bytes, 1, reservation.capacity < size ? reservation.capacity : size);
                if (below(me, 2))
                    CALL(me, tidings_post_reserved(publisher, &reservation,
                                                   size < reservation.capacity ? size : reservation.capacity, &options,
                                                   &sequence));
                else
                    RUN(me, tidings_abandon(center, &reservation));
                break;
            }
            default: CALL(me, tidings_post(publisher, payload, size, &options, &sequence)); break;
        }
    }
    RUN(me, tidings_publisher_close(publisher));
}

static void look(own *me, tidings_observer *observer, uint32_t times) {
    while (times-- > 0 && !is_over) {
        tidings_delivery d;
        const int64_t timeout = below(me, 3) ? 0 : 1000000 * (int64_t)below(me, 20);
        if (CALL(me, tidings_next(observer, timeout, &d)) != 0) return;
        use_bytes(me, d.name, d.name_length + 1);
        use_bytes(me, d.subject, d.subject_length + 1);
        use_bytes(me, d.payload, d.size);
        tidings_presence notice;
        if (d.flags & TIDINGS_DELIVERY_PRESENCE && CALL(me, tidings_presence_read(&d, &notice)) == 0)
            use_bytes(me, notice.role, strlen(notice.role) + strlen(notice.executable));
        if (below(me, 4)) continue;
        const uint32_t which = below(me, 2);
        if (me->held[which].payload) use_bytes(me, me->held[which].payload, me->held[which].size);
        RUN(me, tidings_release(&me->held[which]));
        CALL(me, tidings_hold(observer, &d, &me->held[which]));
        use_bytes(me, d.subscriptions, d.subscription_count * sizeof d.subscriptions[0]);
    }
}

static void observe(own *me, tidings_center *center) {
    tidings_observer *observer = NULL;
    if (CALL(me, tidings_observer_open(center, me->lossless ? TIDINGS_OBSERVE_LOSSLESS : 0, &observer)) != 0) return;
    if (below(me, 2)) RUN(me, tidings_observer_in_place(observer, below(me, 2) ? 0 : 4096));
    if (below(me, 4) == 0)
        CALL(me, tidings_observer_seek(observer, below(me, 2) ? 0 : next_random(me) >> below(me, 64)));
    uint32_t subscriptions[4], count = 0;
    for (uint32_t i = 1 + below(me, 3); i-- > 0;) {
        const char *name = below(me, 5) ? names[below(me, OF(names))] : NULL;
        const bool prefix = name && !me->reads_only && below(me, 4) == 0;
        const uint32_t flags = (below(me, 2) ? TIDINGS_ADD_RETAINED : 0) | (below(me, 3) ? 0 : TIDINGS_ADD_HISTORY) |
                               (prefix ? TIDINGS_ADD_PREFIX : 0);
        if (CALL(me, tidings_observer_add(observer, name, name ? prefix ? 1 : strlen(name) : 0, NULL, 0, flags,
                                          &subscriptions[count])) == 0)
            count++;
    }
    int descriptor;
    if (below(me, 8) == 0 && CALL(me, tidings_observer_descriptor(observer, &descriptor)) == 0) {
        struct pollfd readable = {.fd = descriptor, .events = POLLIN};
        look(me, observer, 20);
        CALL(me, poll(&readable, 1, 5));
    }
    look(me, observer, 1 + below(me, 200));
    if (count && below(me, 2)) CALL(me, tidings_observer_remove(observer, subscriptions[0]));
    if (count > 1 && below(me, 2)) CALL(me, tidings_observer_remove_many(observer, &subscriptions[1], count - 1));
    look(me, observer, 5);
    RUN(me, tidings_observer_close(observer));
    for (uint32_t i = 0; i < 2; i++) RUN(me, tidings_release(&me->held[i]));
}

// MARK: Presence and requests

static void announce(own *me, tidings_center *center) {
    static const uint8_t payload[3000];
    const char *name = names[below(me, OF(names))];
    const tidings_will will = {.name = name,
                               .name_length = strlen(name),
                               .payload = payload,
                               .size = sizes[below(me, 6)],
                               .flags = below(me, 4) ? 0 : TIDINGS_POST_RETAIN};
    if (below(me, 4) == 0) CALL(me, tidings_presence_watch(center));
    CALL(me, tidings_announce(center, "role", below(me, 5), below(me, 2) ? &will : NULL, 1000000));
}

#define ASKED 16u  // as many requests and calls are remembered

typedef struct service {
    tidings_server *server;
    tidings_caller *caller;
    uint64_t requests[ASKED], calls[ASKED];
} service;

static void answer(own *me, service *s) {
    tidings_request request;
    while (below(me, 8) && CALL(me, tidings_server_next(s->server, 1000 * (int64_t)below(me, 500), &request)) == 0) {
        s->requests[below(me, ASKED)] = request.id;
        if (request.kind == TIDINGS_REQUEST_NEW) use_bytes(me, request.payload, request.size);
    }
    if (below(me, 8) == 0) RUN(me, tidings_server_hold(s->server, below(me, 2)));
    for (uint32_t i = 0; i < ASKED; i++) {
        static const uint8_t reply[65536];
        const tidings_reply_options options = {.code = 1, .more = below(me, 3) == 0};
        if (s->requests[i] == 0 || below(me, 4) == 0) continue;
        if (below(me, 8) == 0)
            CALL(me, tidings_request_end(s->server, s->requests[i], below(me, 2) ? -ECONNRESET : -ECONNREFUSED));
        else
            CALL(me, tidings_reply(s->server, s->requests[i], reply, sizes[below(me, OF(sizes))], &options));
        if (!options.more) s->requests[i] = 0;
    }
}

static void ask(own *me, service *s) {
    static const uint8_t payload[65536];
    for (uint32_t i = below(me, ASKED); i-- > 0;) {
        const tidings_call_options options = {.flags = below(me, 2) ? TIDINGS_CALL_IDEMPOTENT : 0,
                                              .timeout_ns = below(me, 4) ? 0 : 1000000};
        const size_t size = sizes[below(me, OF(sizes))];
        CALL(me, tidings_call(s->caller, payload, size, &options, &s->calls[below(me, ASKED)]));
    }
    const uint64_t id = s->calls[below(me, ASKED)];
    if (below(me, 4) == 0) CALL(me, tidings_call_cancel(s->caller, id));
    tidings_outcome outcome;
    while (below(me, 16) && CALL(me, tidings_caller_next(s->caller, below(me, 4) ? 0 : id,
                                                         1000 * (int64_t)below(me, 500), &outcome)) == 0) {
        if (outcome.error == 0) use_bytes(me, outcome.payload, outcome.size);
        if (outcome.more) CALL(me, tidings_call_continue(s->caller, outcome.id));
    }
}

static bool use_served(void *context, const char *name, size_t name_length) {
    use_bytes(context, name, name_length);
    return true;
}

// Serves and calls one name, as other threads and targets do.
static void serve(own *me, tidings_center *center) {
    service s = {0};
    CALL(me, tidings_served(center, use_served, me));
    if (below(me, 4)) CALL(me, tidings_server_open(center, "ask", 3, &s.server));
    if (below(me, 4)) CALL(me, tidings_caller_open(center, "ask", 3, &s.caller));
    for (uint32_t i = 1 + below(me, 20); i-- > 0 && !is_over;) {
        if (s.caller) ask(me, &s);
        if (s.server) answer(me, &s);
    }
    RUN(me, tidings_server_close(s.server));
    RUN(me, tidings_caller_close(s.caller));
    if (below(me, 4) == 0) CALL(me, tidings_withdraw(center));
}

static void look_around(own *me, tidings_center *center) {
    tidings_statistics s;
    tidings_orphans orphans;
    if (CALL(me, tidings_statistics_get(center, &s)) != 0) return;
    for (uint32_t i = 0; i < 70; i++) {
        tidings_participant_info participant;
        tidings_participant_observers observers;
        if (CALL(me, tidings_participant(center, i, &participant)) == 0)
            use_bytes(me, participant.executable, strlen(participant.executable) + 1);
        tidings_participant_holds holds;
        RUN(me, tidings_participant_observers_get(center, i, &observers));
        RUN(me, tidings_participant_holds_get(center, i, &holds));
    }
    for (uint32_t i = 0; i < 300; i++) {
        tidings_name_info name;
        if (CALL(me, tidings_name(center, i, &name)) == 0) use_bytes(me, name.name, strlen(name.name) + 1);
    }
    CALL(me, tidings_orphans_get(center, &orphans));
    if (!me->reads_only) CALL(me, tidings_reclaim(center));
}

// A mistake of a program that trusts shared memory: each is what the core must never do.
static void mistake(own *me, tidings_center *center) {
    const uint64_t word = atomic_load_explicit((_Atomic uint64_t *)&center->segment.header->revoked.word,
                                               memory_order_relaxed);
    static volatile uint8_t sink;
    if (strcmp(plant, "crash") == 0 && word > UINT64_C(1) << 40) *(volatile char *)word = 0;
    if (strcmp(plant, "memory") == 0 && word > 1u << 20) {
        volatile uint8_t *bytes = malloc(768u << 20);
        for (size_t i = 0; bytes && i < 768u << 20; i += 4096) bytes[i] = 1;
    }
    if (strcmp(plant, "hang") == 0) {
        const uint64_t from = begin(me, "a loop bounded by a word");
        for (uint64_t i = 0; i < word && !is_over; i++) sink++;
        end(me, from);
    }
    if (strcmp(plant, "overread") == 0) {
        uint8_t *table = calloc(64, 1);
        if (table) sink = table[word % 72];
        free(table);
    }
}

static void *live(void *argument) {
    own *me = argument;
    atomic_store(&me->says->thread, (uint64_t)gettid());
    while (!is_over) {
        const bool open = me->reads_only || below(me, 2), read_only = me->reads_only;
        const tidings_configuration configuration = {
            .directory = directory,
            .maximum_payload = 65536,
            .slots = 256,
            .participants = 64,
            .observers = 64,
            .names = 256,
            .mode = open ? 0644 : 0600,
            .flags = read_only ? TIDINGS_OPEN_READ_ONLY : TIDINGS_OPEN_EXISTING,
        };
        tidings_center *center = NULL;
        if (CALL(me, tidings_open(open ? "open" : "closed", &configuration, &center)) != 0) {
            // Spoilt for good: nothing but opening can be tried any more.
            usleep(2000);
            continue;
        }
        for (uint32_t i = 1 + below(me, 20); i-- > 0 && !is_over;) {
            if (*plant) mistake(me, center);
            switch (below(me, 12)) {
                case 0: look_around(me, center); break;
                case 1:
                case 2:
                case 3: observe(me, center); break;
                case 4:
                case 5:
                case 6: serve(me, center); break;
                case 7: announce(me, center); break;
                default: post(me, center, read_only); break;
            }
        }
        RUN(me, tidings_close(center));
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 3) return 64;
    directory = argv[1];
    if (argc > 4) plant = argv[4];
    board = mmap(NULL, BOARD_THREADS * sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, BOARD_DESCRIPTOR, 0);
    if (board == MAP_FAILED) return 65;
    static own threads[4];
    pthread_t started[4];
    for (uint32_t i = 0; i < 4; i++) {
        threads[i] = (own){.says = &board[i],
                           .random = strtoull(argv[2], NULL, 10) * 4 + i + 1,
                           .reads_only = i == 3,
                           .lossless = i == 2};
        for (int n = 0; n < 20; n++) next_random(&threads[i]);
        if (pthread_create(&started[i], NULL, live, &threads[i]) != 0) return 66;
    }
    char byte;
    while (read(0, &byte, 1) > 0) {}
    is_over = true;
    for (uint32_t i = 0; i < 4; i++) pthread_join(started[i], NULL);
    return 0;
}
