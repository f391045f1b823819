// A fault hits a process at any moment while it creates or removes a center. Then there is one center or none, and the
// next process to open it has one.
#include "center/center.h"
#include "foreign.h"
#include "trace.h"

#define SAMPLE 8u

static struct {
    _Atomic uint32_t done;
    _Atomic int32_t result;
    _Atomic uint64_t instance;
} * target;
static uint32_t mode;
static uint64_t at, length;
static bool stopped;
static tidings_center *center;

#define SO(condition, ...)                                                                                             \
    CHECK(condition, "%s after %lu of %lu, mode %o: %s", stopped ? "stopped" : "killed", (unsigned long)at,            \
          (unsigned long)length, mode, __VA_ARGS__)

static tidings_configuration sizes(uint32_t flags) {
    return (tidings_configuration){.slots = 256,
                                   .participants = 4,
                                   .observers = 4,
                                   .names = 64,
                                   .maximum_payload = 60000,
                                   .mode = mode,
                                   .flags = flags};
}

static tidings_center *opened(uint32_t flags) {
    const tidings_configuration configuration = sizes(flags);
    tidings_center *made;
    const int result = tidings_open("scenario", &configuration, &made);
    SO(result == 0, "it can't be opened");
    return made;
}

static void creates(void) {
    const tidings_configuration configuration = sizes(0);
    tidings_center *made;
    section_begin();
    const int result = tidings_open("scenario", &configuration, &made);
    section_end();
    if (result == 0) atomic_store(&target->instance, made->segment.instance);
    atomic_store(&target->result, result);
    atomic_store(&target->done, 1);
    for (;;) pause();
}

static void removes(void) {
    const tidings_configuration configuration = sizes(0);
    section_begin();
    const int result = tidings_remove("scenario", &configuration);
    section_end();
    atomic_store(&target->result, result);
    atomic_store(&target->done, 1);
    for (;;) pause();
}

// All files are gone, except one that a death between two deletions may leave: the writers file of a center with
// readers.
static void ends_clean(void) {
    tidings_close(center);
    OK(tidings_remove("scenario", NULL));
    const uint32_t left = files_there();
    SO(left == 0 || (mode && !stopped && left == 1), "files are left");
    files_end();
}

static bool goes_on(pid_t pid) {
    let_go(pid);
    while (!atomic_load(&target->done)) usleep(50);
    kill_and_reap(pid);
    return atomic_load(&target->result) == 0;
}

static void alone_and_working(void) {
    works(center);
    SO(tidings_reclaim(center) >= 0 && statistics_of(center).participants == 1, "another participant is left");
}

// MARK: Making

static void birth_suffers(pid_t pid) {
    if (stopped) {
        center = opened(0);
        works(center);
        SO(goes_on(pid), "it fails");
        SO(atomic_load(&target->instance) == center->segment.instance, "there are two of one name");
    } else {
        kill_and_reap(pid);
        center = opened(try_open(TIDINGS_OPEN_EXISTING) == 0 ? TIDINGS_OPEN_EXISTING : TIDINGS_OPEN_EXCLUSIVE);
    }
    alone_and_working();
    ends_clean();
}

// MARK: Removing

static tidings_publisher *publisher;

static void a_center_in_use(void) {
    center = opened(TIDINGS_OPEN_EXCLUSIVE);
    publisher = publisher_of(center, NAME);
    post_number(publisher, 0);
}

static int posts_on(void) {
    uint32_t number = 1;
    const int result = tidings_post(publisher, &number, sizeof number, NULL, NULL);
    SO(result == 0 || result == -ESTALE, "a post fails");
    return result;
}

static void removal_suffers(pid_t pid) {
    for (uint32_t i = 0; i < 3 * 256 && posts_on() == 0; i++) {}
    if (stopped)
        SO(goes_on(pid), "it fails");
    else
        kill_and_reap(pid);
    tidings_center *next = opened(0);
    const bool same = next->segment.instance == center->segment.instance;
    SO(!stopped || !same, "it was removed");
    SO(posts_on() == (same ? 0 : -ESTALE), "posts go to a removed center, or to none");
    tidings_publisher_close(publisher);
    tidings_close(center);
    center = next;
    alone_and_working();
    ends_clean();
}

// MARK: Anywhere

static void nothing_there(void) {}

static pid_t begins(void (*set_scene)(void), void (*body)(void)) {
    memset(target, 0, sizeof *target);
    set_scene();
    return start_traced(body);
}

static void fault_centers(uint32_t with_mode, void (*set_scene)(void), void (*body)(void), void (*suffers)(pid_t)) {
    target = shared_memory(4096);
    mode = with_mode;
    stopped = true;
    path path = {0};
    uint32_t skipped = 0;
    if (!SANITIZED && !full()) {
        const pid_t pid = begins(set_scene, body);
        skipped = (uint32_t)random_below(make_calls(pid, UINT32_MAX) + 1);
        suffers(pid);
    }
    if (!SANITIZED) {
        const pid_t pid = begins(set_scene, body);
        make_calls(pid, skipped);
        path = path_along(pid, full() ? UINT64_MAX : PATH_WINDOW);
        suffers(pid);
    }
    length = SANITIZED ? 2000 : path.length;
    // After the last call there may be fewer.
    const uint64_t count = SANITIZED ? 1 : full() || path.count < SAMPLE ? path.count : SAMPLE;
    for (int fault = 0; fault < 2; fault++) {
        stopped = fault == 1;
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t chosen = moment((uint32_t)i, (uint32_t)count, SANITIZED ? length : path.count);
            at = SANITIZED ? chosen : path.moments[chosen];
            const pid_t pid = begins(set_scene, body);
            // If the process takes another way, it has come to the end of the section, and the fault hits it there.
            if (SANITIZED)
                step(pid, at, false);
            else if (make_calls(pid, skipped) == skipped)
                (void)step_along(pid, &path, at);
            suffers(pid);
        }
    }
    if (full()) {
        fprintf(stderr, "mode %o: at %lu of %lu instructions, killed and stopped: %lu moments\n", mode,
                (unsigned long)path.count, (unsigned long)path.length, 2 * (unsigned long)path.count);
    }
    path_end(&path);
}

void a_birth_survives_a_fault_anywhere(void) { fault_centers(0, nothing_there, creates, birth_suffers); }
void a_birth_for_readers_survives_a_fault_anywhere(void) { fault_centers(0644, nothing_there, creates, birth_suffers); }
void a_removal_survives_a_fault_anywhere(void) { fault_centers(0, a_center_in_use, removes, removal_suffers); }
void a_removal_with_readers_survives_a_fault_anywhere(void) {
    fault_centers(0644, a_center_in_use, removes, removal_suffers);
}
