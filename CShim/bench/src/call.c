// Half of a call: A asks, B answers, and half of that is one way.
#include "center.h"

#define CALL_NAME "call"

int bench_call(const char *center_name, size_t size, uint32_t spin_ns, uint64_t *samples, int count, int batch) {
    tidings_center *center;
    tidings_caller *caller;
    BENCH_TRY(tidings_open(center_name, NULL, &center));
    BENCH_TRY(tidings_caller_open(center, CALL_NAME, strlen(CALL_NAME), &caller));
    tidings_caller_spin(caller, spin_ns);
    uint64_t number = 0;
    bench_message message;
    for (int i = -count / 10; i < count; i++) {
        uint64_t start = bench_ticks();
        for (int j = 0; j < batch; j++, number++) {
            uint64_t id;
            tidings_outcome outcome;
            bench_fill(&message, number);
            BENCH_TRY(tidings_call(caller, &message, size, NULL, &id));
            BENCH_TRY(tidings_caller_next(caller, id, -1, &outcome));
            if (outcome.error || outcome.size != size || memcmp(outcome.payload, &message, size) != 0) return -EBADMSG;
        }
        uint64_t ticks = bench_ticks() - start;
        if (i >= 0) samples[i] = bench_picoseconds(ticks) / (uint64_t)(2 * batch);
    }
    uint64_t id;
    tidings_outcome outcome;
    BENCH_TRY(tidings_call(caller, NULL, 0, NULL, &id));  // empty: the end
    BENCH_TRY(tidings_caller_next(caller, id, -1, &outcome));
    tidings_caller_close(caller);
    tidings_close(center);
    return count;
}

int bench_peer_call(bench_arena *arena, const char *center_name, uint32_t spin_ns) {
    tidings_center *center;
    tidings_server *server;
    BENCH_TRY(tidings_open(center_name, NULL, &center));
    BENCH_TRY(tidings_server_open(center, CALL_NAME, strlen(CALL_NAME), &server));
    tidings_server_spin(server, spin_ns);
    bench_arena_ready(arena);
    tidings_request request;
    do {
        BENCH_TRY(tidings_server_next(server, -1, &request));
        BENCH_TRY(tidings_reply(server, request.id, request.payload, request.size, NULL));
    } while (request.size > 0);
    tidings_server_close(server);
    tidings_close(center);
    return 0;
}
