// Fibers, the points at which they change places, and how everything is put back for the next schedule.
#include "machine.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "center/center.h"
#include "kernel.h"

#define STACK (256 * 1024)
#define ARENA (4u << 20)
#define LINE 64
#define WORDS 16384
#define STOPPED 400000000u  // longer than what any account waits for
#define A_LONG_TIME 70000000u  // longer than anybody has patience with a claim, shorter than what an account waits for

struct machine machine;
static jmp_buf outside;  // where nobody runs

typedef struct mapping {
    uint8_t *base;
    uint64_t length;
} mapping;
static mapping mappings[HANDLES], companions[HANDLES];  // the center, and what only writers see of it, if there is such
static uint32_t mapping_count, companion_count;

static uint8_t *arena;
static size_t arena_used;

// What a schedule begins with. Outside of what is put back, as are the fibers' stacks.
static struct start {
    uint8_t *globals, *arena, *center, *companion;
    uint8_t *dirty;  // by line
    uint32_t *lines, line_count;
    shared_word *words;
    bool everything, grown;
} *start;

extern char __data_start, _end;
static char *globals(void) {
    char *all = &__data_start;
    // To the compiler this is one byte, and nothing to do with our variables.
    __asm__ volatile("" : "+r"(all) : : "memory");
    return all;
}

static void *pages(size_t size) {
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED) abort();
    return bytes;
}

// MARK: Memory

// The core's own memory: from one place that can be put back as a whole. What was freed or never written reads as neither 0 nor anything true.
void *__wrap_malloc(size_t size) {
    size_t whole = (size + 16 + 127) / 128 * 128;
    if (!arena || arena_used + whole > ARENA) return NULL;
    uint8_t *bytes = arena + arena_used;
    arena_used += whole;
    memset(bytes, 0xa5, whole);
    memcpy(bytes + whole - 16, &size, sizeof size);
    machine.live++;
    return bytes;
}
void *__wrap_calloc(size_t count, size_t size) {
    void *bytes = __wrap_malloc(count * size);
    if (bytes) memset(bytes, 0, count * size);
    return bytes;
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return alignment <= 128 ? __wrap_malloc(size) : NULL;
}
static size_t size_of(uint8_t *bytes) {
    // Its size stands at the end of its last line.
    for (size_t whole = 128;; whole += 128) {
        size_t size;
        memcpy(&size, bytes + whole - 16, sizeof size);
        if ((size + 16 + 127) / 128 * 128 == whole) return size;
    }
}
void __wrap_free(void *bytes) {
    if (!bytes) return;
    machine.live--;
    size_t size = size_of(bytes);
    memset(bytes, 0xdd, size);
}
void *__wrap_realloc(void *old, size_t size) {
    uint8_t *bytes = __wrap_malloc(size);
    if (!bytes || !old) return bytes;
    size_t before = size_of(old);
    memcpy(bytes, old, before < size ? before : size);
    __wrap_free(old);
    return bytes;
}

// One center, mapped once per handle: the same byte has one name here.
static uintptr_t in_first(uintptr_t at, const mapping *all, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (at - (uintptr_t)all[i].base < all[i].length) return (uintptr_t)all[0].base + (at - (uintptr_t)all[i].base);
    return at;
}
uintptr_t machine_canonical(const volatile void *address) {
    return in_first(in_first((uintptr_t)address, mappings, mapping_count), companions, companion_count);
}
static bool in_companion(uintptr_t canonical) {
    return companion_count > 0 && canonical - (uintptr_t)companions[0].base < companions[0].length;
}
bool machine_inside(uintptr_t canonical) {
    return (mapping_count > 0 && canonical - (uintptr_t)mappings[0].base < mappings[0].length) || in_companion(canonical);
}

void machine_dirty(uintptr_t canonical, size_t size) {
    if (!start->dirty || size == 0 || in_companion(canonical)) return;  // that one is put back as a whole
    uint64_t offset = canonical - (uintptr_t)mappings[0].base;
    for (uint64_t line = offset / LINE; line <= (offset + size - 1) / LINE; line++) {
        if (start->dirty[line]) continue;
        start->dirty[line] = 1;
        start->lines[start->line_count++] = (uint32_t)line;
    }
}

static size_t globals_size(void) {
    return (size_t)(&_end - &__data_start);
}

void machine_ready(void) {
    start->center = pages(mappings[0].length);
    memcpy(start->center, mappings[0].base, mappings[0].length);
    if (companion_count) {
        start->companion = pages(companions[0].length);
        memcpy(start->companion, companions[0].base, companions[0].length);
    }
    start->lines = pages(mappings[0].length / LINE * sizeof *start->lines);
    start->arena = pages(ARENA);
    memcpy(start->arena, arena, arena_used);
    start->globals = pages(globals_size());
    start->dirty = pages(mappings[0].length / LINE + 1);
    memcpy(start->globals, globals(), globals_size());
}

void machine_restore(void) {
    bool trace = machine.trace;
    memcpy(globals(), start->globals, globals_size());
    (void)globals();
    machine.trace = trace;
    memcpy(arena, start->arena, arena_used);
    if (companion_count) memcpy(companions[0].base, start->companion, companions[0].length);
    for (uint32_t i = 0; i < start->line_count; i++) {
        uint64_t line = start->lines[i];
        memcpy(mappings[0].base + line * LINE, start->center + line * LINE, LINE);
        start->dirty[line] = 0;
    }
    start->line_count = 0;
}

// MARK: Which words are shared

void words_share_all(bool everything) {
    start->everything = everything;
}
bool words_settle(void) {
    bool more = start->grown;
    start->grown = false;
    for (uint32_t i = 0; i < WORDS; i++) {
        shared_word *w = &start->words[i];
        w->shared = w->written && w->touched & (w->touched - 1);
    }
    return more;
}

static bool touch(uintptr_t canonical, uint32_t who, bool writes) {
    uintptr_t key = canonical >> 3;
    uint32_t slot = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 50);
    shared_word *w = &start->words[slot];
    while (w->address != key && w->address != 0) w = &start->words[++slot % WORDS];
    w->address = key;
    w->touched |= (uint8_t)(1u << who);
    if (writes) w->written = 1;
    bool is = w->written && w->touched & (w->touched - 1);
    if (is && !w->shared) start->grown = true;
    const tidings__header *header = machine.fibers[0].center->segment.header;
    if (machine.focus && machine_inside(canonical) && canonical != machine_canonical(&header->generation)) return false;
    return w->shared || start->everything;
}

// MARK: Trace

static void place(uintptr_t c, char *text, size_t size) {
    if (!machine_inside(c)) {
        snprintf(text, size, "private %zx", (size_t)(c - (uintptr_t)arena));
        return;
    }
    if (in_companion(c)) {
        snprintf(text, size, "doorbell[%u]", (unsigned)((c - (uintptr_t)companions[0].base) / TIDINGS__LINE));
        return;
    }
    const tidings__segment *s = &machine.fibers[0].center->segment;
    const tidings__geometry *g = &s->geometry;
    uint64_t offset = c - (uintptr_t)mappings[0].base;
    static const char *const cell[] = {"claim", "commit", "verdict", "time", "size_pid", "poster", "topic"};
    static const char *const name[] = {"tally.count", "tally.end", "next", "state", "hash", "retained", "birth", "lengths"};
#define HEADER(member) \
    if (offset - offsetof(tidings__header, member) < sizeof s->header->member) { snprintf(text, size, #member); return; }
    HEADER(eviction) HEADER(frontier_hint) HEADER(generation) HEADER(names_used) HEADER(revoked) HEADER(waiting_posters)
    HEADER(asleep) HEADER(lossless) HEADER(bells)
    if (offset >= g->chunks) snprintf(text, size, "chunk byte %llu", (unsigned long long)(offset - g->chunks));
    else if (offset >= g->names) {
        uint64_t at = (offset - g->names) % sizeof(tidings__name) / 8;
        snprintf(text, size, "name[%u].%s", (unsigned)((offset - g->names) / sizeof(tidings__name)), at < 8 ? name[at] : at < 24 ? "members" : "key");
    } else if (offset >= g->cells) {
        uint64_t at = (offset - g->cells) % sizeof(tidings__cell) / 8;
        if (at < 7) snprintf(text, size, "cell[%u].%s", (unsigned)((offset - g->cells) / sizeof(tidings__cell)), cell[at]);
        else snprintf(text, size, "cell[%u].body[%u]", (unsigned)((offset - g->cells) / sizeof(tidings__cell)), (unsigned)at - 7);
    } else if (offset >= g->chunk_words) snprintf(text, size, "chunk_word[%u]", (unsigned)(offset - g->chunk_words) / 8);
    else if (offset >= g->buckets) snprintf(text, size, "bucket[%u]", (unsigned)(offset - g->buckets) / 8);
    else if (offset >= g->observers) {
        static const char *const observer[] = {"doorbell, owner", "cursor", "instance", "history"};
        uint64_t at = (offset - g->observers) % sizeof(tidings__observer_entry) / 8;
        snprintf(text, size, "observer[%u].%s", (unsigned)((offset - g->observers) / sizeof(tidings__observer_entry)), at < 4 ? observer[at] : "?");
    } else snprintf(text, size, "participant[%u]", (unsigned)((offset - g->participants) / sizeof(tidings__participant)));
}

static void trace(const fiber *f, const char *what, uintptr_t c, uint32_t size) {
    char where[64] = "";
    if (c) place(c, where, sizeof where);
    printf("  %5llu %-10s %-14s %s", (unsigned long long)machine.steps, f->name, what, where);
    if (c && size == 8) printf(" (%#llx)", (unsigned long long)*(volatile uint64_t *)c);
    if (c && size == 4) printf(" (%#x)", *(volatile uint32_t *)c);
    printf("\n");
}

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
static _Noreturn void enter(fiber *f) {
    _longjmp(resumed(f)->here, 1);
}
static void change_to(fiber *from, fiber *to) {
    if (from == to) return;
    leave(from);
    if (machine.trace) printf("        -> %s\n", to->name);
    if (_setjmp(from->here) == 0) enter(to);
}

static void wake(fiber *f, int answer) {
    f->state = READY;
    f->answer = answer;
    f->word_count = 0;
}
static void wake_due(void) {
    for (uint32_t i = 0; i < machine.fiber_count; i++) {
        fiber *f = &machine.fibers[i];
        if (f->state == ASLEEP && f->timed && f->wake_at <= machine.now) wake(f, -ETIMEDOUT);
    }
}
// Who was stopped goes on when the others are through, or so long has gone by that nobody waits for it any more.
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
        if (machine.fibers[at].state == READY && machine.fibers[at].stopped_until == 0) options[count++] = (option){SWITCH, (uint8_t)at};
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
        // It gives way, and there is nobody.
        for (uint32_t i = count; i > 0; i--) options[i] = options[i - 1];
        options[0] = (option){GO_ON, (uint8_t)(f - machine.fibers)};
        count++;
    }
    if (count == 0) return NULL;
    uint32_t chosen = machine.over || count == 1 ? 0 : explorer_choose(options, count, f ? (int)(f - machine.fibers) : -1);
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
    if (!touch(c, (uint32_t)(f - machine.fibers), writes)) {
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
        if (machine.trace) printf("        %s's store reaches memory: %#llx\n", f->name, (unsigned long long)store->value);
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
    if (machine.trace) trace(f, f->timed ? "sleeps a while" : "sleeps", f->word_count ? f->words[0] : 0, f->word_count ? 4 : 0);
    go_elsewhere(f);
}

void machine_kill(fiber *f) {
    if (machine.trace) printf("        %s is killed\n", f->name);
    machine.deaths = false;  // one a schedule
    machine_drain(f);
    kernel_death(f);
    f->state = DEAD;
    go_elsewhere(f);
}

// MARK: Beginning and end

static ucontext_t creator;

static void first(int index) {
    ucontext_t here;
    // Every schedule enters here once more; this frame stays as it is, whatever became of those above it.
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
    arena = pages(ARENA);
    start = pages(sizeof *start);
    start->words = pages(WORDS * sizeof *start->words);
    machine.now = UINT64_C(1000000000);
    machine.registered = true;
}

tidings_center *machine_open(const tidings_configuration *configuration) {
    tidings_center *center;
    if (tidings_open("schedules", configuration, &center) != 0) {
        fprintf(stderr, "Schedules: %s\n", tidings_last_error());
        exit(2);
    }
    mappings[mapping_count].base = center->segment.base;
    mappings[mapping_count++].length = center->segment.size;
    if (center->segment.companion_base) companions[companion_count++] = (mapping){center->segment.companion_base, TIDINGS__PAGE};
    return center;
}
