// A load of several processes on one center: what each of them does until the runner stops it, and the board with their
// results, which all of them map.
#include "center.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LOAD_NAME "load"
#define LOAD_SHOWN 64u  // after so many notifications, a worker shows its counts on the board

// The beginning of each payload. `posted_ns` is 0 in those whose latency is not measured.
typedef struct load_head {
    uint64_t posted_ns;
    uint64_t number;
} load_head;

// The results of one process. It alone writes them. The runner reads the counts at any time, the others after its end.
typedef struct load_worker {
    _Alignas(BENCH_LINE) _Atomic uint64_t notifications;
    _Atomic uint64_t missed;
    _Atomic uint64_t refused;
    uint64_t elapsed_ns, processor_ns;
    bench_histogram latency;
} load_worker;

struct bench_board {
    uint32_t worker_count;
    _Alignas(BENCH_LINE) _Atomic uint32_t ready;
    _Alignas(BENCH_LINE) _Atomic uint32_t begun;  // the runner: 0, then 1
    _Atomic uint32_t stopped;
    load_worker workers[];
};

static size_t board_size(uint32_t workers) { return sizeof(bench_board) + workers * sizeof(load_worker); }

int bench_board_open(const char *path, bool create, uint32_t workers, bench_board **board) {
    if (workers == 0 || workers > BENCH_WORKERS_MAX) return -EINVAL;
    const int descriptor = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_TRUNC : 0), 0600);
    if (descriptor < 0) return -errno;
    int result = create ? -posix_fallocate(descriptor, 0, (off_t)board_size(workers)) : 0;
    if (result == 0) {
        const int flags = MAP_SHARED | MAP_POPULATE;
        bench_board *memory = mmap(NULL, board_size(workers), PROT_READ | PROT_WRITE, flags, descriptor, 0);
        if (memory == MAP_FAILED) {
            result = -errno;
        } else {
            if (create) memory->worker_count = workers;
            *board = memory;
        }
    }
    close(descriptor);
    return result;
}

void bench_board_close(bench_board *board) { munmap(board, board_size(board->worker_count)); }

uint32_t bench_board_ready(bench_board *board) { return atomic_load(&board->ready); }

void bench_board_begin(bench_board *board) { atomic_store(&board->begun, 1); }

void bench_board_stop(bench_board *board) { atomic_store(&board->stopped, 1); }

void bench_board_result(bench_board *board, uint32_t worker, bench_result *result) {
    load_worker *from = &board->workers[worker];
    *result = (bench_result){
        .notifications = atomic_load(&from->notifications),
        .missed = atomic_load(&from->missed),
        .refused = atomic_load(&from->refused),
        .elapsed_ns = from->elapsed_ns,
        .processor_ns = from->processor_ns,
    };
}

void bench_board_latency(bench_board *board, uint32_t worker, bench_histogram *into) {
    bench_histogram_merge(into, &board->workers[worker].latency);
}

static uint64_t processor_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool stopped(bench_board *board) { return atomic_load_explicit(&board->stopped, memory_order_relaxed) != 0; }

static void show(_Atomic uint64_t *count, uint64_t value) { atomic_store_explicit(count, value, memory_order_relaxed); }

// A worker's times: from the moment at which all begin, to its own end.
typedef struct load_times {
    uint64_t began_ns, processor_ns;
} load_times;

static load_times begin(bench_board *board) {
    atomic_fetch_add(&board->ready, 1);
    // If the runner ends, the kernel kills this process (`bench_die_with`).
    while (atomic_load_explicit(&board->begun, memory_order_acquire) == 0)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    return (load_times){bench_monotonic_ns(), processor_ns()};
}

static void end(load_worker *worker, load_times times) {
    worker->elapsed_ns = bench_monotonic_ns() - times.began_ns;
    worker->processor_ns = processor_ns() - times.processor_ns;
}

// Sleeps until that time, or until the runner stops the load.
static void sleep_until(bench_board *board, uint64_t ns) {
    for (uint64_t now; !stopped(board) && (now = bench_monotonic_ns()) < ns;) {
        const uint64_t rest = ns - now < 100000000u ? ns - now : 100000000u;
        nanosleep(&(struct timespec){.tv_nsec = (long)rest}, NULL);
    }
}

int bench_load_post(bench_board *board, uint32_t worker, const char *center_name, const bench_load *load) {
    load_worker *own = &board->workers[worker];
    tidings_center *center;
    tidings_publisher *publisher;
    // A lossless observer holds a post back. The time-out is how long a stop of the load can take.
    const tidings_post_options wait = {.timeout_ns = 100000000};
    if (load->size < sizeof(load_head)) return -EINVAL;
    unsigned char *payload = calloc(1, load->size);
    if (payload == NULL) return -ENOMEM;
    BENCH_TRY(tidings_open(center_name, NULL, &center));
    BENCH_TRY(bench_publisher(center, LOAD_NAME, &publisher));
    const load_times times = begin(board);
    uint64_t number = 0, refused = 0, next = times.began_ns;
    uint32_t unmeasured = 0;  // how many posts carry no time before the next one that does; a division would cost 5 ns
    while (!stopped(board)) {
        if (load->gap_ns > 0) {
            next += load->gap_ns;
            sleep_until(board, next);
        }
        load_head head = {.number = number};
        if (unmeasured == 0) {
            head.posted_ns = bench_monotonic_ns();
            unmeasured = load->sampled;
        }
        unmeasured--;
        memcpy(payload, &head, sizeof head);
        const int result = tidings_post(publisher, payload, load->size, load->lossless ? &wait : NULL, NULL);
        if (result == -EAGAIN || result == -ETIMEDOUT) {
            show(&own->refused, ++refused);
            continue;
        }
        if (result < 0) return result;
        if (++number % LOAD_SHOWN == 0) show(&own->notifications, number);
    }
    show(&own->notifications, number);
    end(own, times);
    tidings_publisher_close(publisher);
    tidings_close(center);
    free(payload);
    return 0;
}

int bench_load_end(const char *center_name) {
    tidings_center *center;
    tidings_publisher *publisher;
    const tidings_post_options wait = {.timeout_ns = BENCH_TIMEOUT_NS};
    BENCH_TRY(tidings_open(center_name, NULL, &center));
    BENCH_TRY(bench_publisher(center, LOAD_NAME, &publisher));
    BENCH_TRY(tidings_post(publisher, NULL, 0, &wait, NULL));  // empty: the end
    tidings_publisher_close(publisher);
    tidings_close(center);
    return 0;
}

int bench_load_observe(bench_board *board, uint32_t worker, const char *center_name, const bench_load *load) {
    load_worker *own = &board->workers[worker];
    tidings_center *center;
    tidings_observer *observer;
    tidings_delivery deliveries[TIDINGS_NEXT_MANY_MAX];
    uint32_t subscription;
    BENCH_TRY(tidings_open(center_name, NULL, &center));
    BENCH_TRY(tidings_observer_open(center, load->lossless ? TIDINGS_OBSERVE_LOSSLESS : 0, &observer));
    if (load->spin_ns >= 0) tidings_observer_spin(observer, (uint32_t)load->spin_ns);
    BENCH_TRY(tidings_observer_add(observer, LOAD_NAME, strlen(LOAD_NAME), NULL, 0, 0, &subscription));
    const load_times times = begin(board);
    uint64_t received = 0, missed = 0;
    for (bool ended = false; !ended;) {
        const int taken = tidings_next_many(observer, -1, deliveries, TIDINGS_NEXT_MANY_MAX);
        if (taken < 0) return taken;
        for (const tidings_delivery *delivery = deliveries; delivery < deliveries + taken; delivery++) {
            load_head head;
            if (delivery->kind == TIDINGS_DELIVERY_MISSED) {
                show(&own->missed, missed += delivery->missed);
            } else if (delivery->size < sizeof head) {
                ended = true;
            } else {
                memcpy(&head, delivery->payload, sizeof head);
                // All processes of a machine have the same monotonic clock.
                if (head.posted_ns != 0) bench_histogram_add(&own->latency, bench_monotonic_ns() - head.posted_ns);
                if (++received % LOAD_SHOWN == 0) show(&own->notifications, received);
            }
        }
    }
    show(&own->notifications, received);
    end(own, times);
    tidings_observer_close(observer);
    tidings_close(center);
    return 0;
}

int bench_load_call(bench_board *board, uint32_t worker, const char *center_name, const bench_load *load) {
    load_worker *own = &board->workers[worker];
    tidings_center *center;
    tidings_caller *caller;
    tidings_outcome outcome;
    uint64_t id;
    if (load->size < sizeof(load_head)) return -EINVAL;
    unsigned char *payload = calloc(1, load->size);
    if (payload == NULL) return -ENOMEM;
    BENCH_TRY(tidings_open(center_name, NULL, &center));
    BENCH_TRY(tidings_caller_open(center, LOAD_NAME, strlen(LOAD_NAME), &caller));
    if (load->spin_ns >= 0) tidings_caller_spin(caller, (uint32_t)load->spin_ns);
    const load_times times = begin(board);
    uint64_t number = 0, next = times.began_ns;
    while (!stopped(board)) {
        if (load->gap_ns > 0) {
            next += load->gap_ns;
            sleep_until(board, next);
        }
        const load_head head = {.number = number};
        memcpy(payload, &head, sizeof head);
        const uint64_t began = bench_monotonic_ns();
        BENCH_TRY(tidings_call(caller, payload, load->size, NULL, &id));
        BENCH_TRY(tidings_caller_next(caller, id, -1, &outcome));
        if (outcome.error || outcome.size != load->size) return -EBADMSG;
        bench_histogram_add(&own->latency, bench_monotonic_ns() - began);
        show(&own->notifications, ++number);
    }
    end(own, times);
    BENCH_TRY(tidings_call(caller, NULL, 0, NULL, &id));  // empty: the end
    BENCH_TRY(tidings_caller_next(caller, id, -1, &outcome));
    tidings_caller_close(caller);
    tidings_close(center);
    free(payload);
    return 0;
}

int bench_load_serve(bench_board *board, uint32_t worker, const char *center_name, const bench_load *load) {
    load_worker *own = &board->workers[worker];
    tidings_center *center;
    tidings_server *server;
    tidings_request request;
    BENCH_TRY(tidings_open(center_name, NULL, &center));
    BENCH_TRY(tidings_server_open(center, LOAD_NAME, strlen(LOAD_NAME), &server));
    if (load->spin_ns >= 0) tidings_server_spin(server, (uint32_t)load->spin_ns);
    const load_times times = begin(board);
    uint64_t answered = 0;
    do {
        BENCH_TRY(tidings_server_next(server, -1, &request));
        BENCH_TRY(tidings_reply(server, request.id, request.payload, request.size, NULL));
        if (request.size > 0) show(&own->notifications, ++answered);
    } while (request.size > 0);
    end(own, times);
    tidings_server_close(server);
    tidings_close(center);
    return 0;
}
