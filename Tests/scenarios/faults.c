// Brings targets to their moments, and injects the faults.
#include "faults.h"

#include "center/center.h"
#include "target.h"
#include "trace.h"

#define SAMPLE 4u  // moments of each kind of fault, unless all are asked for

struct board *board;
const struct operation *operation;

typedef enum fault { NONE, KILLED, STOPPED, FORKED_BESIDE, FORKED_WITHIN, FORKED_AND_KILLED, FAULTS } fault;
static const char *const faults[] = {"no fault",      "killed",        "stopped",
                                     "forked beside", "forked within", "forked within and killed"};

static fault current;
static uint64_t current_at, current_length;
static uint32_t skipped;  // system calls of its, before there is a path
static uint32_t forks_delayed;

const char *moment_text(void) {
    static char text[256];
    snprintf(text, sizeof text, "%s, %s after %u calls and %lu of %lu instructions on a %s center", operation->text,
             faults[current], skipped, (unsigned long)current_at, (unsigned long)current_length,
             target.on_used ? "used" : "fresh");
    return text;
}

// MARK: Time limit

uint32_t hang_timeout(void) {
    const char *asked = getenv("TIDINGS_TEST_HANG_TIMEOUT");
    return asked ? (uint32_t)strtoul(asked, NULL, 10) : 120;
}

uint64_t hang_timeout_ns(void) { return hang_timeout() * UINT64_C(1000000000); }

static void reports_hang(int signal) {
    (void)signal;
    const char *text = moment_text();
    (void)!write(STDERR_FILENO, text, strlen(text));
    (void)!write(STDERR_FILENO, ": it hangs\n", 11);
    _exit(1);
}

// MARK: Faults

static void until(const _Atomic uint32_t *word) {
    while (!atomic_load(word)) {
        SO(atomic_load(&board->faults) == 0, "a forked child has ended");
        usleep(50);
    }
}

// What goes on after its moment comes to its end, and has done what it was to do.
static void comes_to_its_end(pid_t pid, bool settles) {
    until(&board->done);
    listener_rests();
    SO(atomic_load(&board->result) == 0, "it ends with %d", atomic_load(&board->result));
    SO(world.of_target == operation->posts, "%u of its %u posts came", world.of_target, operation->posts);
    SO(world.empties == operation->empties, "%u of its %u empty posts came", world.empties, operation->empties);
    if (settles) {
        tell(&target.onward);
        until(&board->settled);
        SO(atomic_load(&board->result) == 0, "it settles with %d", atomic_load(&board->result));
        if (operation->verify) operation->verify();
    }
    if (settles && random_below(2) == 0) {
        tell(&target.onward);
        ends_well(pid);
    } else {
        kill_and_reap(pid);
    }
}

// A child of the scenario's own process, which participates.
static void forked_from_checker(void) {
    child_lives(world.center, world.publisher);
    if (random_next() % 2) tidings_close(world.center);
}

static void fork_beside(void) {
    random_next();
    const pid_t child = start(forked_from_checker);
    checker_posts(true, 24, 0);
    checker_posts(false, 300, 0);
    checker_sees();
    ends_well(child);
}

// Its second thread forks. While the target stands where fork has to wait (in its allocator, or opening a center), the
// target goes on: a little, and then call by call, as one call releases the lock that fork waits for. Single steps to
// the end of an opening are a hundred times slower.
static void fork_within(pid_t pid) {
    tell(&target.child_onward);
    until(&board->forker);
    const pid_t thread = (pid_t)atomic_load(&board->forker);
    bool delayed = false;
    for (uint32_t asleep = 0; !atomic_load(&board->forked);) {
        asleep = thread_state(pid, thread) == 'S' ? asleep + 1 : 0;
        usleep(50);
        if (asleep < 4) continue;
        if (delayed)
            make_calls(pid, 1);
        else
            step(pid, 50, true);
        forks_delayed += !delayed;
        delayed = true;
        asleep = 0;
    }
    SO(atomic_load(&board->forked) == 1, "it could not fork");
    until(&board->born);
}

static void fork_goes_on(uint32_t participants) {
    checker_sees();
    SO(tidings_reclaim(world.center) >= 0, "can't reclaim");
    const uint32_t now = statistics_of(world.center).participants;
    SO(now == participants, "%u participants instead of %u, beside a forked child", now, participants);
    atomic_store(&board->goes_on, 1);
    while (atomic_load(&board->born) < 2) usleep(50);
    SO(world.of_child <= atomic_load(&board->child_posted), "the child posted %u", atomic_load(&board->child_posted));
}

static void suffer(pid_t pid) {
    world.registered = atomic_load(&board->registered);
    switch (current) {
        case KILLED: {
            const uint32_t returned = atomic_load(&board->returned);
            kill_and_reap(pid);
            listener_rests();
            SO(world.of_target >= returned && world.of_target <= operation->posts, "%u of its posts came, %u returned",
               world.of_target, returned);
            checker_posts_laps(3);
            break;
        }
        case STOPPED:
            listener_rests();
            checker_posts_laps(3);
            let_go(pid);
            comes_to_its_end(pid, true);
            break;
        case FORKED_BESIDE:
            fork_beside();
            let_go(pid);
            comes_to_its_end(pid, true);
            checker_posts_laps(1);
            break;
        case FORKED_WITHIN:
            fork_within(pid);
            checker_posts_laps(1);
            let_go(pid);
            comes_to_its_end(pid, true);
            fork_goes_on(3);
            break;
        case FORKED_AND_KILLED:
            fork_within(pid);
            kill_and_reap(pid);
            checker_posts_laps(1);
            fork_goes_on(3);
            break;
        default: CHECK(false, "no such fault");
    }
    listener_rests();
    const uint32_t of_child = atomic_load(&board->child_posted);
    SO(world.of_child == of_child, "%u of a forked child's %u posts came", world.of_child, of_child);
    nothing_is_lost_nor_left(2);
}

// From claim to commit it takes some instructions, and to be revoked some milliseconds.
static path approach;
static uint64_t claims_at;  // where in it

static bool until_revoked(pid_t pid) {
    tidings__segment *s = &world.center->segment;
    const uint64_t frontier = tidings__frontier(s, tidings__oldest(s)), revoked = atomic_load(&s->header->revoked.word);
    if (claims_at && !step_along(pid, &approach, claims_at)) return false;
    for (; tidings__frontier(s, tidings__oldest(s)) == frontier; claims_at++)
        CHECK(step(pid, 1, false) == 1, "it claims nothing");
    while (atomic_load(&s->header->revoked.word) == revoked) {
        checker_sees();
        if (world.of_target > 0) return false;  // it was there already
    }
    listener_rests();
    return true;
}

static pid_t begin(void) {
    alarm(hang_timeout());
    memset(board, 0, sizeof *board);
    atomic_store(&board->listens, 1);
    world_begin(target.on_used);
    if (operation->set_scene) operation->set_scene();
    listener_rests();  // otherwise one target would ring it, and the next would not
    target.forks = current == FORKED_WITHIN || current == FORKED_AND_KILLED;
    const pid_t pid = start_traced(suffers);
    if (operation->sleeps) run_into_sleep(pid);
    checker_sees();
    world.named_before = world.named;
    if (operation->at_begin) operation->at_begin();
    return pid;
}

// Single steps are slow, and so is a stop at each call on a busy machine. An awake listener would revoke the target's
// claim; the target would then go another way, and make other calls.
static void pause_listener(bool paused) {
    CHECK(kill(world.listener, paused ? SIGSTOP : SIGCONT) == 0, "%s", strerror(errno));
}

static void runs_without_fault(pid_t pid) {
    pause_listener(false);
    let_go(pid);
    comes_to_its_end(pid, true);
    nothing_is_lost_nor_left(2);
    world_end();
}

static path recorded(bool revoked, uint64_t longest) {
    current = NONE;
    current_at = 0;
    for (;;) {
        const pid_t pid = begin();
        alarm(20 * hang_timeout());
        if (revoked) CHECK(until_revoked(pid), "it claims nothing");
        pause_listener(true);
        const uint32_t made = make_calls(pid, skipped);
        if (made == skipped) {
            path path = path_along(pid, longest);
            CHECK(path.length > 0, "nothing to step through");
            runs_without_fault(pid);
            return path;
        }
        // Fewer than when they were counted, and now it is over.
        runs_without_fault(pid);
        skipped = made;
    }
}

static uint32_t calls_of_all(void) {
    current = NONE;
    const pid_t pid = begin();
    pause_listener(true);
    const uint32_t calls = make_calls(pid, UINT32_MAX);
    runs_without_fault(pid);
    return calls;
}

// Along the path until `known`, and from there step by step. False: it went another way.
static bool one_moment(const path *path, uint64_t known, uint64_t at) {
    current_at = at;
    const pid_t pid = begin();
    bool there = (!operation->revoked || until_revoked(pid)) && make_calls(pid, skipped) == skipped;
    if (there && path) there = step_along(pid, path, known);
    if (there) {
        step(pid, at - known, false);
        suffer(pid);
    } else {
        kill_and_reap(pid);
        nothing_is_lost_nor_left(2);
    }
    world_end();
    return there;
}

// So many moments of each fault on each center, out of all: TIDINGS_TEST_MOMENTS.
static uint32_t moments_asked(void) {
    const char *asked = getenv("TIDINGS_TEST_MOMENTS");
    return asked ? (uint32_t)strtoul(asked, NULL, 10) : 0;
}

// A full run can be dealt out to several processes, by faults and centers: TIDINGS_TEST_PART=2/5 is the second of five.
static bool is_of_this_part(uint32_t number) {
    const char *asked = getenv("TIDINGS_TEST_PART");
    uint32_t part = 1, parts = 1;
    CHECK(!asked || (sscanf(asked, "%u/%u", &part, &parts) == 2 && part >= 1 && part <= parts),
          "TIDINGS_TEST_PART=%s is none, as 2/5 is", asked);
    return number % parts == part - 1;
}

// Under a sanitizer most steps are its own, too many to record: a few moments, sooner or later.
static void fault_somewhere(void) {
    target.on_used = !operation->readable && random_below(2);
    for (current = KILLED; current <= FORKED_BESIDE; current++)
        one_moment(NULL, 0, random_below(UINT64_C(1) << random_below(13)));
}

static uint64_t fault_everywhere(bool used) {
    target.on_used = used;
    const uint32_t asked = moments_asked();
    const bool in_full = full() || asked;
    claims_at = 0;
    skipped = 0;
    if (!in_full && !operation->revoked && !operation->sleeps) skipped = (uint32_t)random_below(calls_of_all() + 1);
    const uint64_t longest = in_full ? UINT64_MAX : PATH_WINDOW;
    if (operation->revoked) approach = recorded(false, longest);
    path path = recorded(operation->revoked, longest);
    current_length = path.length;
    const uint64_t sample = full() ? UINT64_MAX : asked ? asked : SAMPLE;
    const uint64_t count = path.count < sample ? path.count : sample;
    uint64_t detours = 0, done = 0;
    for (current = KILLED; current < FAULTS; current++) {
        if (!is_of_this_part((used ? FAULTS - KILLED : 0) + current - KILLED)) continue;
        for (uint64_t i = 0, known = 0; i < count; i++) {
            const uint64_t at = path.moments[moment((uint32_t)i, (uint32_t)count, path.count)];
            // What depends on the clock, or on a number's length, goes one way now and another then: again, and at last
            // step by step from where it was known to come by. Of a sample, another will do.
            uint32_t tries = 0;
            while (!one_moment(tries < 6 ? &path : NULL,
                               tries < 3   ? at
                               : tries < 6 ? known
                                           : 0,
                               at) &&
                   (in_full || tries < 2))
                tries++;
            if (tries == 0) known = at;
            detours += tries;
        }
        done += count;
    }
    if (full()) {
        fprintf(stderr, "%s on a %s center: at %lu of %lu instructions; %lu detours, %u forks delayed\n",
                operation->text, used ? "used" : "fresh", (unsigned long)path.count, (unsigned long)path.length,
                (unsigned long)detours, forks_delayed);
    }
    path_end(&path);
    path_end(&approach);
    return done;
}

void fault_anywhere(const struct operation *asked) {
    operation = asked;
    board = shared_memory(4096);
    target.onward = pipe_open();
    target.child_onward = pipe_open();
    target.checker = getpid();
    signal(SIGALRM, reports_hang);
    worlds_make();
    if (SANITIZED) {
        if (!operation->revoked) fault_somewhere();
    } else if (full() || moments_asked()) {
        const uint64_t fresh = fault_everywhere(false), used = operation->readable ? 0 : fault_everywhere(true);
        if (full()) fprintf(stderr, "%s: %lu moments\n", operation->text, (unsigned long)(fresh + used));
    } else {
        fault_everywhere(!operation->readable && random_below(2));  // one of them: what takes the time is to record
    }
    signal(SIGALRM, SIG_DFL);
    alarm(0);
    watchdog();
}
