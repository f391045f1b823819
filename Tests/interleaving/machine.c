// Fibers, and the points at which they change places.
#include "machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "center/center.h"
#include "kernel.h"
#include "storage.h"

#define STACK (256 * 1024)
#define STOPPED 400000000u     // longer than what any account waits for
#define A_LONG_TIME 70000000u  // longer than the revoke timeout of a claim, shorter than what an account waits for

struct machine machine;
static jmp_buf outside;  // where no fiber runs

// MARK: Changing places

static fiber *resumed(fiber *f) {
    machine.current = f;
    tidings__thread_state = f->thread;
    return f;
}
static void leave(fiber *f) {
    f->thread = tidings__thread_state;
    machine.current = NULL;
}
static _Noreturn void enter(fiber *f) { _longjmp(resumed(f)->here, 1); }
static void change_to(fiber *from, fiber *to) {
    if (from == to) return;
    leave(from);
    if (machine.trace) printf("        -> %s\n", to->name);
    if (_setjmp(from->here) == 0) enter(to);
}

static void wake(fiber *f, int answer) {
    f->state = READY;
    f->answer = answer;
}
static void wake_due(void) {
    for (uint32_t i = 0; i < machine.fiber_count; i++) {
        fiber *f = &machine.fibers[i];
        if (f->state == ASLEEP && f->timed && f->wake_at <= machine.now) wake(f, -ETIMEDOUT);
    }
}
// A stopped fiber goes on when the other fibers are through, or after so long that no fiber waits for it any more.
static bool go_on_again(bool all) {
    bool any = false;
    for (uint32_t i = 0; i < machine.fiber_count; i++) {
        fiber *f = &machine.fibers[i];
        if (f->stopped_until == 0 || (!all && f->stopped_until > machine.now)) continue;
        f->stopped_until = 0;
        any = true;
    }
    return any;
}
static fiber *time_out(fiber *f, bool late) {
    if (machine.now < f->wake_at) machine.now = f->wake_at;
    if (late) {
        machine.now += A_LONG_TIME;
        machine.late_times--;
    }
    if (machine.trace) printf("        time is up for %s\n", f->name);
    wake(f, -ETIMEDOUT);
    return f;
}

static uint32_t others(const fiber *f, option *options, uint32_t count) {
    uint32_t first = f ? (uint32_t)(f - machine.fibers) + 1 : 0;
    uint32_t limit = f ? machine.fiber_count - 1 : machine.fiber_count;
    for (uint32_t i = 0; i < limit; i++) {
        uint32_t at = (first + i) % machine.fiber_count;
        if (machine.fibers[at].state == READY && machine.fibers[at].stopped_until == 0)
            options[count++] = (option){SWITCH, (uint8_t)at};
    }
    return count;
}
static uint32_t sleepers(option *options, uint32_t count) {
    uint32_t first = count;
    for (uint32_t i = 0; i < machine.fiber_count; i++)
        if (machine.fibers[i].state == ASLEEP && machine.fibers[i].timed) {
            options[count++] = (option){TIME_OUT, (uint8_t)i};
            // Whose time is up first stands first.
            if (machine.fibers[i].wake_at < machine.fibers[options[first].fiber].wake_at) {
                options[count - 1] = options[first];
                options[first] = (option){TIME_OUT, (uint8_t)i};
            }
        }
    return count;
}

static fiber *choose_next(fiber *f) {
    option options[5 * FIBERS];
    wake_due();
    go_on_again(machine.over);
    uint32_t ready = others(f, options, 0), count = ready;
    if (ready == 0 || machine.late_times) count = sleepers(options, count);
    bool gives_way = f && f->state == READY && f->stopped_until == 0;
    if (count == 0 && !gives_way && go_on_again(true)) return choose_next(f);
    if (gives_way && ready == 0) {
        // The fiber gives way, and no other is ready.
        for (uint32_t i = count; i > 0; i--) options[i] = options[i - 1];
        options[0] = (option){GO_ON, (uint8_t)(f - machine.fibers)};
        count++;
    }
    if (count == 0) return NULL;
    uint32_t chosen = machine.over || count == 1 ? 0
                                                 : explorer_choose(options, count, f ? (int)(f - machine.fibers) : -1);
    fiber *next = &machine.fibers[options[chosen].fiber];
    return options[chosen].kind == TIME_OUT ? time_out(next, ready > 0) : next;
}

// `f` can't go on for now, or never.
static void go_elsewhere(fiber *f) {
    fiber *next = choose_next(f);
    if (next == f) return;
    if (next) {
        change_to(f, next);
    } else {
        leave(f);
        if (_setjmp(f->here) == 0) _longjmp(outside, 1);
    }
}

static void count_step(void) {
    if (++machine.steps > STEPS) machine_violation("it doesn't end: %d steps", STEPS);
}

static void decide(fiber *f) {
    count_step();
    if (machine.over) return;
    for (;;) {
        option options[5 * FIBERS];
        options[0] = (option){GO_ON, (uint8_t)(f - machine.fibers)};
        uint32_t count = others(f, options, 1);
        if (machine.late_times) count = sleepers(options, count);
        if (machine.stops) options[count++] = (option){STOP, (uint8_t)(f - machine.fibers)};
        if (machine.deaths && f->mortal) options[count++] = (option){DIE, (uint8_t)(f - machine.fibers)};
        if (machine.buffers)
            for (uint32_t i = 0; i < machine.fiber_count; i++)
                if (machine.fibers[i].buffered) options[count++] = (option){DRAIN, (uint8_t)i};
        if (count == 1) return;
        option chosen = options[explorer_choose(options, count, (int)(f - machine.fibers))];
        fiber *other = &machine.fibers[chosen.fiber];
        switch (chosen.kind) {
            case SWITCH: change_to(f, other); return;
            case TIME_OUT: change_to(f, time_out(other, true)); return;
            case DIE: machine_kill(f); return;
            case STOP:
                if (machine.trace) printf("        %s is stopped\n", f->name);
                machine.stops--;
                machine_drain(f);
                f->stopped_until = machine.now + STOPPED;
                go_elsewhere(f);
                return;
            case DRAIN: machine_drain(other); continue;
            default: return;
        }
    }
}

void machine_point(const char *what, const volatile void *address, uint32_t size, bool writes) {
    fiber *f = machine.current;
    if (!f) return;
    uintptr_t c = machine_canonical(address);
    if (!words_touch(c, (uint32_t)(f - machine.fibers), writes)) {
        count_step();
        return;
    }
    decide(f);
    if (machine.trace) trace(f, what, c, size);
}

void machine_system_call(const char *what, const volatile void *address) {
    fiber *f = machine.current;
    if (!f) return;
    decide(f);
    machine_drain(f);
    if (machine.trace) trace(f, what, address ? machine_canonical(address) : 0, address ? 4 : 0);
}

void machine_drain(fiber *f) {
    if (!f) return;
    f->late = false;
    for (uint32_t i = 0; i < f->buffered; i++) {
        const buffered_store *store = &f->buffer[i];
        if (machine.trace)
            printf("        %s's store reaches memory: %#llx\n", f->name, (unsigned long long)store->value);
        memcpy((void *)store->address, &store->value, store->size);
        if (machine_inside(store->address)) machine_dirty(store->address, store->size);
    }
    f->buffered = 0;
}

void machine_yield(void) {
    fiber *f = machine.current;
    if (!f) return;
    count_step();
    machine_drain(f);
    machine.now += 50000;
    if (machine.trace) trace(f, "gives way", 0, 0);
    go_elsewhere(f);
}

void machine_sleep(void) {
    fiber *f = machine.current;
    count_step();
    f->state = ASLEEP;
    f->ticket = ++machine.tickets;
    if (machine.trace)
        trace(f, f->timed ? "sleeps a while" : "sleeps", f->word_count ? f->words[0] : 0, f->word_count ? 4 : 0);
    go_elsewhere(f);
}

void machine_kill(fiber *f) {
    if (machine.trace) printf("        %s is killed\n", f->name);
    machine.deaths = false;  // one a schedule
    machine_drain(f);
    kernel_death(f);
    f->state = DEAD;
    if (f == machine.current) go_elsewhere(f);
}

// MARK: Beginning and end

static ucontext_t creator;

static void first(int index) {
    ucontext_t here;
    // Every schedule enters here once more; this frame stays as it is, whatever became of the frames above it.
    if (_setjmp(machine.fibers[index].entry) == 0) swapcontext(&here, &creator);
    fiber *f = machine.current;
    f->body(f->argument);
    machine_drain(f);
    f->state = ENDED;
    if (machine.trace) printf("        %s has ended\n", f->name);
    go_elsewhere(f);
}

fiber *machine_fiber(const char *name, tidings_center *center, void (*body)(void *), void *argument) {
    uint32_t index = machine.fiber_count++;
    fiber *f = &machine.fibers[index];
    *f = (fiber){.name = name, .center = center, .body = body, .argument = argument, .state = READY};
    f->thread = (tidings__thread){.tid = 1000 + index, .pending = &f->pending, .fork_epoch = tidings__fork_epoch};
    f->stack = pages(STACK);
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = f->stack;
    context.uc_stack.ss_size = STACK;
    makecontext(&context, (void (*)(void))(void *)first, 1, (int)index);
    swapcontext(&creator, &context);
    memcpy(f->here, f->entry, sizeof f->here);
    return f;
}

void machine_run(void) {
    if (_setjmp(outside) != 0) return;
    fiber *next = choose_next(NULL);
    if (next) enter(next);
}

void machine_boot(void) {
    storage_boot();
    words_boot();
    machine.now = UINT64_C(1000000000);
    machine.registered = true;
}

tidings_center *machine_open(const tidings_configuration *configuration) {
    tidings_center *center;
    if (tidings_open("schedules", configuration, &center) != 0) {
        fprintf(stderr, "Schedules: %s\n", tidings_last_error());
        exit(2);
    }
    // Its file is deleted when all are open, and that is not to be its end.
    center->segment.sealed = true;
    storage_map(center);
    return center;
}
