// A machine with its own scheduler, store buffers, clock and kernel. "Processes" are fibers of one process, each with a
// handle of its own. `explorer_choose` decides at each access which fiber goes on, which store is late, which fiber
// dies and which sleep times out.
#ifndef MACHINE_H
#define MACHINE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform/futex.h"
#include "platform/thread.h"
#include "tidings.h"

#define FIBERS 6
#define BUFFER 8  // stores that a processor can hold back; real ones have room for some fifty
#define HANDLES 8
#define STEPS 60000  // of one schedule: after more, a fiber goes round in circles

typedef enum fiber_state { READY, ASLEEP, ENDED, DEAD } fiber_state;

typedef struct buffered_store {
    uintptr_t address;
    uint64_t value;
    uint32_t size;
} buffered_store;

typedef struct fiber {
    const char *name;
    void (*body)(void *);
    void *argument;
    tidings_center *center;
    bool mortal, bystander;  // may be killed; may be asleep when all is over
    fiber_state state;
    uintptr_t words[TIDINGS__FUTEX_WORDS];  // among the sleepers of these; none: naps
    uint32_t word_count;
    uint64_t ticket;  // the longest sleeper is woken first
    bool timed;
    uint64_t stopped_until;  // not 0: no processor until then, or until no other fiber can go on
    uint64_t wake_at;
    int answer;
    uint32_t buffered;
    bool late;  // its stores stay in the buffer until something drains it
    buffered_store buffer[BUFFER];
    uintptr_t pending;  // the robust list's pending operation
    uintptr_t life;     // the first of the two words in its robust list; 0: none
    tidings__thread thread;
    jmp_buf here, entry;
    void *stack;
} fiber;

typedef enum option_kind { GO_ON, SWITCH, TIME_OUT, STOP, DIE, DRAIN, STORE_NOW, STORE_LATE } option_kind;
typedef struct option {
    uint8_t kind, fiber;
} option;

// Which of `count` options (the first costs nothing)? `self` is whose step it is, or -1.
uint32_t explorer_choose(const option *options, uint32_t count, int self);

// MARK: Setting up (before the first schedule)

void machine_boot(void);
tidings_center *machine_open(const tidings_configuration *configuration);  // one more handle of the one center
fiber *machine_fiber(const char *name, tidings_center *center, void (*body)(void *), void *argument);
void machine_ready(void);  // what is now is how every schedule begins

// MARK: Running

extern struct machine {
    fiber fibers[FIBERS];
    uint32_t fiber_count;
    fiber *current;  // NULL: no fiber; accesses are carried out as they come
    uint64_t now, tickets, steps;
    bool buffers;  // stores may be late
    bool deaths;
    bool focus;           // nothing but what threads of one process share is worth a switch
    bool registered;      // with the kernel, for its barrier
    uint32_t stops;       // how many may still be stopped
    uint32_t late_times;  // how often time may still run while other fibers could go on
    bool over;            // no more choices: each fiber runs until it sleeps or ends
    bool trace;
    uint32_t holders[64];  // participants' locks: descriptor + 1
    long long live;        // allocations
} machine;

void machine_restore(void);
void machine_run(void);  // until all have ended, died, or sleep without end
_Noreturn void machine_violation(const char *format, ...) __attribute__((format(printf, 1, 2)));
void machine_kill(fiber *f);

// What was seen by all fibers of all schedules so far: only words that two touch and one writes are worth a switch.
void words_share_all(bool everything);
bool words_settle(void);  // true: more words turned out to be shared than were known

// MARK: For the processor and the kernel (processor.c, kernel.c)

uintptr_t machine_canonical(const volatile void *address);
bool machine_inside(uintptr_t canonical);  // in the center's memory
void machine_dirty(uintptr_t canonical, size_t size);
// Before an access that other fibers may notice. `what` is for the trace.
void machine_point(const char *what, const volatile void *address, uint32_t size, bool writes);
void machine_system_call(const char *what, const volatile void *address);
void machine_drain(fiber *f);
void machine_yield(void);
void machine_sleep(void);  // until woken or timed out; the caller has filled in how

#endif
