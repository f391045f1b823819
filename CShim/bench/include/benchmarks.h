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

// MARK: Tidings through its C API (post.c, pingpong.c, lossless.c, syscalls.c)

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

/// Posts that often and returns how many system calls that took; they are refused with ENOSYS by a seccomp filter, so
/// this process is good for nothing else afterwards. -ENOTSUP where there is no seccomp.
int64_t bench_count_system_calls(const char *center, const char *name, int posts);

#endif
