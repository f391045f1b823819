/// What the driver times in C beyond `CTidingsBench`: copies between two processes, many posters and observers at a
/// time, wake groups, fresh processes. Side A is the runner; members are the other processes, each with a place in the
/// area.
///
/// Functions return 0 (or a count) or a negative `errno`. Where one process waits for another it gives up after ten
/// seconds with -ETIMEDOUT, except in a loop that is being timed: there the runner's parent ends what hangs.
#ifndef CROSSING_H
#define CROSSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: The area: memory that all of one measurement share (area.c)

typedef struct crossing_area crossing_area;

enum { CROSSING_PLACES = 1024, CROSSING_VALUES = 6 };

/// Creates it with room for that many bytes of payloads; with `create` false, opens what is there.
int crossing_area_open(const char *path, bool create, size_t bytes, crossing_area **area);
void crossing_area_close(crossing_area *area);
/// A member is ready.
void crossing_ready(crossing_area *area);
/// How many are.
uint32_t crossing_members(crossing_area *area);
/// The members may go on, or must end.
void crossing_go(crossing_area *area);
void crossing_stop(crossing_area *area);
/// Waits until that many have said that they are through.
int crossing_wait_done(crossing_area *area, uint32_t members);
/// What a member notes for the runner.
uint64_t crossing_value(crossing_area *area, uint32_t place, uint32_t index);
void crossing_set_value(crossing_area *area, uint32_t place, uint32_t index, uint64_t value);

// MARK: Limits of the machine (copy.c, limits.c)

/// Copying `size` bytes from one place to another, in this process; picoseconds a copy, mean of `batch`.
int crossing_limit_memcpy(size_t size, uint64_t *samples, int count, int batch);
/// A system call that does nothing.
int crossing_limit_system_call(uint64_t *samples, int count, int batch);
/// Copy in and copy out between two processes through `slots` places in shared memory: picoseconds a message, mean of
/// `batch`.
int crossing_limit_copy(crossing_area *area, size_t size, uint32_t slots, uint64_t *samples, int count, int batch);
int crossing_peer_copy(crossing_area *area, size_t size, uint32_t slots);
/// Copy in, futex (or, awake, a cache line), copy out, and the same back: half of it.
int crossing_limit_copy_pingpong(crossing_area *area, size_t size, bool awake, uint64_t *samples, int count);
int crossing_peer_copy_pingpong(crossing_area *area, size_t size, bool awake);
/// Opens, maps, reads and closes a file: what opening a center can't do without. For a process that has just been
/// started; `values` as of `crossing_fresh_open`.
int crossing_limit_open(const char *path, uint64_t values[CROSSING_VALUES]);
/// Makes a file of that many bytes of memory, maps it, and deletes it.
int crossing_limit_create(const char *path, size_t bytes, uint64_t values[CROSSING_VALUES]);

// MARK: Tidings with payloads of any size (rally.c, flow.c, calls.c)

/// Half a round trip of payloads that both sides copy in and out. `in_place`: they build payloads in place, of which
/// they write the first and the last 8 bytes, and read them in place. `spin_ns` as for `tidings_observer_spin`.
int crossing_rally(const char *center, size_t size, bool in_place, uint32_t spin_ns, uint64_t *samples, int count);
int crossing_peer_rally(crossing_area *area, const char *center, bool in_place, uint32_t spin_ns);

/// Posters and observers at their fastest.
typedef struct crossing_flow {
    uint32_t posters, observers;
    uint32_t lossless;   ///< 1: posters are held back rather than lap an observer
    uint32_t spins;      ///< 1: each process has a processor of its own, so observers spin for ever
    uint64_t size;       ///< bytes a payload, 16 at least unless 0
    uint64_t messages;   ///< of each poster that count
    uint64_t warm;       ///< before them, which don't
    uint32_t paired;     ///< 1: each observer receives from one poster alone, and there are as many of them
    uint32_t in_flight;  ///< of `crossing_calls_…`: how many calls each caller has at a time; `warm` at most
    uint32_t whole;      ///< 1: posters write every word of a payload, and observers add up all words
    uint32_t in_place;   ///< 1: payloads are built in place and read in place
} crossing_flow;

/// What came of it, in picoseconds a message.
typedef struct crossing_flow_result {
    uint64_t whole;      ///< from the first post to the last delivery, for all posters' messages together
    uint64_t posting;    ///< from the first post to the last
    uint64_t delivered;  ///< how many deliveries there were, of all observers together
    uint64_t missed;     ///< how many went by unseen, of all observers together
} crossing_flow_result;

int crossing_set_flow(crossing_area *area, const crossing_flow *flow);
int crossing_flow_post(crossing_area *area, const char *center, uint32_t place);
int crossing_flow_observe(crossing_area *area, const char *center, uint32_t place);
/// A: lets all go, waits for all, and checks that nothing was lost unsaid, doubled, out of its poster's order or torn:
/// -EBADMSG.
int crossing_flow_run(crossing_area *area, crossing_flow_result *result);

/// The same with callers in place of posters, servers in place of observers, and a reply to each request: its text.
int crossing_calls_call(crossing_area *area, const char *center, uint32_t place);
int crossing_calls_serve(crossing_area *area, const char *center, uint32_t place);
/// A: as `crossing_flow_run`, in picoseconds a call. Checks that each call has one reply, which is its own, and that
/// the servers have sent no others: -EBADMSG.
int crossing_calls_run(crossing_area *area, const char *center, crossing_flow_result *result);

// MARK: Many sleepers (wake_group.c, wake.c): one member that forks the rest, and ends with it

/// Sleep each on a name of its own, for ever. The process notes its pid in value 0 of its place.
int crossing_wake_group_sleep(crossing_area *area, const char *center, uint32_t processes);
/// `processes` as before, but sleeping on one word, without any library.
int crossing_wake_group_wait(crossing_area *area, uint32_t processes);
/// One process with that many observers, each asleep on a thread of its own, on a name of its own.
int crossing_threads_sleep(crossing_area *area, const char *center, uint32_t observers);
/// One process with observers that look at that many names together; the last of them sleeps.
int crossing_names_sleep(crossing_area *area, const char *center, uint32_t names);

/// Woken all at once, again and again: on one word, or by a post on one name.
int crossing_wake_group_woken_bare(crossing_area *area, uint32_t processes);
int crossing_wake_group_woken(crossing_area *area, const char *center, uint32_t processes);
/// Wakes them: `last` gets when the last one ran, `own` what the waking itself took; picoseconds. A payload of more
/// than 64 bytes is built and read in place: the waker writes all of it, and each process reads the first and the last
/// 8 bytes. Writing counts if `built`.
int crossing_wake_bare(crossing_area *area, uint32_t processes, uint64_t *last, uint64_t *own, int count);
int crossing_wake(crossing_area *area, const char *center, uint32_t processes, size_t size, bool built, uint64_t *last,
                  uint64_t *own, int count);

// MARK: Deaths (deaths.c): one member that forks a process for each sample, and kills it

/// What the process does when it is killed.
enum {
    CROSSING_DEATH_OWNER = 0,        ///< it holds a robust mutex, for which another process sleeps
    CROSSING_DEATH_SERVER = 1,       ///< it has the request of a caller that sleeps
    CROSSING_DEATH_SWIFT = 2,        ///< the same; another member is the caller
    CROSSING_DEATH_PARTICIPANT = 3,  ///< it is announced, and an observer of presence sleeps
};
/// The name that the servers serve.
#define CROSSING_DEATH_NAME "com.example.player.call"
/// The bytes of payloads that the area needs for `count` samples.
size_t crossing_death_bytes(uint32_t count);
/// From the signal until the sleeper runs, in picoseconds: `count` samples.
int crossing_deaths(crossing_area *area, const char *center, uint32_t what, uint32_t count);
uint64_t *crossing_death_samples(crossing_area *area);
/// A caller in Swift: waits until server number `turn`, from 1 on, is there; after its call has ended, tells.
int crossing_death_await_server(crossing_area *area, uint32_t turn);
void crossing_death_told(crossing_area *area, uint32_t turn);

// MARK: Fresh processes (fresh.c)

/// In a process that hasn't used the library: opens the center, prepares a name, posts once, and again. `values`: ticks
/// and page faults of opening; of preparing the name and the first post; of the second.
int crossing_fresh_open(const char *center, uint64_t values[CROSSING_VALUES]);
/// The same of a center that there isn't yet, and removes it.
int crossing_fresh_create(const char *center, uint64_t values[CROSSING_VALUES]);
/// What an observer makes private to its process, in bytes, pages of page tables included: before it opened the center,
/// and after it has received a ring full twice.
int crossing_observer_memory(const char *center, uint64_t values[CROSSING_VALUES]);
/// Memory that a file takes, and bytes of memory that the center takes as it says itself.
int crossing_center_memory(const char *center, uint64_t values[CROSSING_VALUES]);
/// Gives a center's memory back.
void crossing_remove(const char *center);

#endif
