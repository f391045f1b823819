/// What is timed in C: the machine's limits, and Tidings through its C API, each between the runner (side A) and at
/// most one kind of peer process (side B) on another core. Times are picoseconds per operation, so that a histogram of
/// integers resolves 5 ns.
///
/// Functions return 0 (or a count) or a negative `errno`. Where one process waits for another it gives up after ten
/// seconds with -ETIMEDOUT, except inside a spinning loop that is being timed: there the runner's parent ends what
/// hangs.
#ifndef BENCHMARKS_H
#define BENCHMARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: The machine (machine.c)

/// Confines the calling thread (and the threads it will create) to one core.
int bench_pin(int core);
/// Confines the calling thread to `count` cores.
int bench_pin_any(const int *cores, int count);
/// The cores this process may run on.
int bench_cores(int *cores, int capacity);
/// Finds out how long a tick of `bench_ticks` is. Before anything is timed; takes 50 ms.
void bench_calibrate(void);
/// The processor's time-stamp counter, or CLOCK_MONOTONIC in nanoseconds where there is none.
uint64_t bench_ticks(void);
uint64_t bench_picoseconds(uint64_t ticks);
/// Keeps the processor busy for that long; returns the ticks it took.
uint64_t bench_hold(uint64_t ns);
/// How often this thread has slept: its voluntary context switches. A round trip without one measures no wake-up.
long bench_sleeps(void);
/// After such a round trip: lets the other side fall asleep, and counts the try. False: there were `most` tries
/// already.
bool bench_retry(int *tries, int most);

// MARK: Processes (process.c)

/// Starts a program that dies with the calling thread at the latest. The path is the running executable's.
int bench_spawn(const char *const arguments[], int *pid);
/// To be called first thing in a process started by `bench_spawn`: SIGKILL when `parent` is gone.
int bench_die_with(int parent);
/// Waits for a child's end; kills it after `seconds`. Returns its exit status, 128 + signal, or a negative errno.
int bench_wait(int pid, int seconds);
void bench_kill(int pid);
/// Whether a child has ended; it still has to be waited for.
bool bench_ended(int pid);
/// Runs the program and waits for its end; SIGINT, SIGTERM and SIGHUP end the program instead of the caller. Returns
/// like `bench_wait`.
int bench_supervise(const char *const arguments[]);

// MARK: The arena: what the two sides of one measurement share (arena.c)

typedef struct bench_arena bench_arena;

int bench_arena_open(const char *path, bool create, bench_arena **arena);
void bench_arena_close(bench_arena *arena);
/// B: one more peer is ready.
void bench_arena_ready(bench_arena *arena);
/// A: how many are.
uint32_t bench_arena_peers(bench_arena *arena);
void bench_arena_stop(bench_arena *arena);
/// B's count of deliveries, of missed ones, and of wrong payloads.
uint64_t bench_arena_received(bench_arena *arena);
uint64_t bench_arena_missed(bench_arena *arena);
uint64_t bench_arena_wrong(bench_arena *arena);
void bench_arena_count(bench_arena *arena, uint64_t received, uint64_t missed, uint64_t wrong);
/// Room for 65,536 samples that a peer measures.
uint64_t *bench_arena_samples(bench_arena *arena);
/// A: waits until B's count of deliveries is that high.
int bench_arena_wait_received(bench_arena *arena, uint64_t received);

// MARK: Limits of the machine (limits.c, spsc.c)

/// One uncontended fetch_add. Every sample is the mean of `batch`, as in all that follow.
int bench_limit_fetch_add(uint64_t *samples, int count, int batch);
/// A cache line there, both sides spinning: half a round trip. Either one line that both write by turns, or (`two`) one
/// line for each way, written by one side only.
int bench_limit_line(bench_arena *arena, bool two, uint64_t *samples, int count, int batch);
void bench_peer_line(bench_arena *arena, bool two);
/// FUTEX_WAKE and FUTEX_WAIT, both sides asleep: half a round trip. Each side holds on for `hold_ns` before it answers,
/// which doesn't count: so long has the other been asleep.
int bench_limit_futex(bench_arena *arena, uint64_t hold_ns, uint64_t *samples, int count);
void bench_peer_futex(bench_arena *arena, uint64_t hold_ns);
/// A ring for one producer and one consumer, 64 bytes a message: `count` batches, timed at the producer. `slots`: a
/// power of two, 65,536 at most. `ahead`: how many messages ahead lines are asked for; 0: not.
int bench_limit_ring(bench_arena *arena, uint32_t slots, uint32_t ahead, uint64_t *samples, int count, int batch);
void bench_peer_ring(bench_arena *arena, uint32_t slots, uint32_t ahead);

// MARK: Tidings through its C API (post.c, pingpong.c, lossless.c)

typedef struct bench_poster bench_poster;

/// Opens the center of that name, prepares a name, and posts the ring full three times, so that all of its pages are
/// there.
int bench_poster_open(const char *center, const char *name, bench_poster **poster);
void bench_poster_close(bench_poster *poster);
/// Posts `size` bytes `count` × `batch` times; rests `gap_ns` after every batch.
int bench_post(bench_poster *poster, size_t size, uint64_t gap_ns, uint64_t *samples, int count, int batch);
/// Lets the library find out how many processors there are, before this process confines itself to one: with one,
/// observers never look around before they sleep, and wait for a claim in longer steps.
int bench_introduce(void);
/// How many observers of the center are asleep.
int bench_asleep(bench_poster *poster);
/// What the last failed Tidings call said.
const char *bench_last_error(void);

/// Follows a name, spinning, until the arena says stop and one more notification comes.
int bench_peer_follow(bench_arena *arena, const char *center, const char *name);
/// Sleeps on a name for ever.
int bench_peer_sleep(bench_arena *arena, const char *center, const char *name);

/// What an observer pays for a notification that is there already: posts `batch` of them to itself, and times taking
/// them out.
int bench_drain(const char *center, size_t size, uint64_t *samples, int count, int batch);

/// Half a round trip of a post, seen and answered by a post. `spin_ns` as for `tidings_observer_spin`, `hold_ns` as for
/// `bench_limit_futex`.
int bench_pingpong(bench_arena *arena, const char *center, size_t size, uint32_t spin_ns, uint64_t hold_ns,
                   uint64_t *samples, int count, int batch);
int bench_peer_pingpong(bench_arena *arena, const char *center, uint32_t spin_ns, uint64_t hold_ns);

/// Half a call of `size` bytes in and out. `spin_ns` as for `tidings_caller_spin`.
int bench_call(const char *center, size_t size, uint32_t spin_ns, uint64_t *samples, int count, int batch);
int bench_peer_call(bench_arena *arena, const char *center, uint32_t spin_ns);

/// `count` batches of 64-byte notifications to a lossless observer, which checks every word. `many` are posted, and at
/// most `many` taken, in one call: 64 at most, and a divisor of `batch`.
int bench_lossless(bench_arena *arena, const char *center, uint64_t *samples, int count, int batch, int many);
int bench_peer_lossless(bench_arena *arena, const char *center, int many);

// MARK: Histograms of durations (histogram.c)

/// How often a duration occurred, in the manner of HdrHistogram: a duration in nanoseconds is kept with an error of at
/// most 1/64.
typedef struct bench_histogram bench_histogram;

int bench_histogram_create(bench_histogram **histogram);
void bench_histogram_free(bench_histogram *histogram);
void bench_histogram_add(bench_histogram *histogram, uint64_t ns);
void bench_histogram_merge(bench_histogram *into, const bench_histogram *from);
/// How many durations it has.
uint64_t bench_histogram_total(const bench_histogram *histogram);
/// The longest, exactly.
uint64_t bench_histogram_most(const bench_histogram *histogram);
/// The duration that this part of all does not exceed: 0.5 for the median. 0: it has none.
uint64_t bench_histogram_at(const bench_histogram *histogram, double part);
/// How many durations are below that one.
uint64_t bench_histogram_below(const bench_histogram *histogram, uint64_t ns);

// MARK: Loads of several processes (load.c)

#define BENCH_WORKERS_MAX 128u

/// The counts of the processes of a load, which the runner and they map.
typedef struct bench_board bench_board;

/// What a process of a load does.
typedef struct bench_load {
    size_t size;       ///< of each payload: at least 16 bytes
    uint64_t gap_ns;   ///< from one post or call to the next; 0: as fast as possible
    uint32_t sampled;  ///< one of so many posts carries its time
    bool lossless;
    int64_t spin_ns;  ///< of receivers, as for `tidings_observer_spin`; -1: as they do by themselves
} bench_load;

/// The counts of one process, which may be at work. The times are set at its end, from the begin of the load on.
typedef struct bench_result {
    uint64_t notifications;  ///< posted, received, called or answered
    uint64_t missed;
    uint64_t refused;  ///< posts that were refused, because a lossless observer held them back
    uint64_t elapsed_ns;
    uint64_t processor_ns;  ///< of all threads of the process
} bench_result;

int bench_board_open(const char *path, bool create, uint32_t workers, bench_board **board);
void bench_board_close(bench_board *board);
/// How many processes are ready to begin.
uint32_t bench_board_ready(bench_board *board);
void bench_board_begin(bench_board *board);
/// Posters and callers end. Callers end a server: there is one server, and one caller.
void bench_board_stop(bench_board *board);
void bench_board_result(bench_board *board, uint32_t worker, bench_result *result);
/// Adds the latencies that the process measured. After its end.
void bench_board_latency(bench_board *board, uint32_t worker, bench_histogram *into);

/// The processes of a load. `worker` is the process's place on the board.
int bench_load_post(bench_board *board, uint32_t worker, const char *center, const bench_load *load);
int bench_load_observe(bench_board *board, uint32_t worker, const char *center, const bench_load *load);
int bench_load_call(bench_board *board, uint32_t worker, const char *center, const bench_load *load);
int bench_load_serve(bench_board *board, uint32_t worker, const char *center, const bench_load *load);
/// After the posters have ended: observers end when they have received everything.
int bench_load_end(const char *center);

// MARK: System calls (syscalls.c)

/// Posts that often and returns how many system calls that took; they are refused with ENOSYS by a seccomp filter, so
/// this process is good for nothing else afterwards. -ENOTSUP where there is no seccomp.
int64_t bench_count_system_calls(const char *center, const char *name, int posts);

#endif
