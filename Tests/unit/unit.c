#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WATCHDOG_S 60  // ends a test that hangs
#define SEGMENTS 4

static unit_test *tests;
static unit_test *running;
static char directory[64];

// By file, then by name, so that the list does not depend on the order of the linker.
static int compare(const unit_test *a, const unit_test *b) {
    const int files = strcmp(a->file, b->file);
    return files ? files : strcmp(a->name, b->name);
}

// "…/Tests/unit/ring/claim.c": "ring/claim.c".
static const char *short_name(const char *file) {
    const char *slash = strrchr(file, '/');
    while (slash && slash > file && slash[-1] != '/') slash--;
    return slash ? slash : file;
}

void unit_register(unit_test *test) {
    test->file = short_name(test->file);
    unit_test **at = &tests;
    while (*at && compare(*at, test) < 0) at = &(*at)->next;
    test->next = *at;
    *at = test;
}

// MARK: Checks

static void failed(const char *file, int line) {
    const int length = (int)strcspn(running->file, ".");
    printf("%.*s %s: %s:%d: ", length, running->file, running->name, short_name(file), line);
}

static void end_failed(void) {
    printf("\n");
    exit(1);
}

void unit_check(const char *file, int line, bool holds, const char *text) {
    if (holds) return;
    failed(file, line);
    printf("%s does not hold", text);
    end_failed();
}

static void print_number(uint64_t number) {
    if ((int64_t)number < 0 && (int64_t)number > -4096)
        printf("%lld", (long long)number);
    else
        printf(number < 10 ? "%llu" : "%llu (0x%llx)", (unsigned long long)number, (unsigned long long)number);
}

void unit_check_equal(const char *file, int line, uint64_t found, const char *text, uint64_t expected) {
    if (found == expected) return;
    failed(file, line);
    printf("%s is ", text);
    print_number(found);
    printf(", not ");
    print_number(expected);
    end_failed();
}

void unit_check_text(const char *file, int line, const char *found, const char *text, const char *expected, bool part) {
    if (part ? strstr(found, expected) != NULL : strcmp(found, expected) == 0) return;
    failed(file, line);
    printf("%s is \"%s\", %s \"%s\"", text, found, part ? "without" : "not", expected);
    end_failed();
}

// MARK: Segments

const char *unit_directory(void) { return directory; }

const tidings_configuration unit_smallest = {
    .slots = 256, .participants = 8, .observers = 8, .names = 64, .maximum_payload = 1000, .mode = 0600};

tidings__segment *unit_segment(void) {
    static tidings__segment segments[SEGMENTS];
    static uint32_t used;
    CHECK(used < SEGMENTS);
    tidings__segment *s = &segments[used++];
    CHECK_EQUAL(tidings__segment_create_sealed("unit", &unit_smallest, s), 0);
    return s;
}

tidings__segment *unit_ring(uint32_t slots) {
    tidings__segment *s = unit_segment();
    s->shape.slots = slots;
    s->slot_mask = slots - 1;
    s->slot_shift = (uint32_t)__builtin_ctz(slots);
    return s;
}

void unit_claim(const tidings__segment *s, uint64_t position, uint64_t owner) {
    tidings__cell *cell = tidings__cell_at(s, position);
    const uint64_t phase = ~cell->commit & 1;
    cell->claim = tidings__lap_at(s, position) << TIDINGS__W_LAP_SHIFT | phase << 32 | owner;
}

void unit_commit(const tidings__segment *s, uint64_t position) {
    tidings__cell *cell = tidings__cell_at(s, position);
    cell->commit = tidings__c_of(position, cell->claim >> 32 & 1);
}

void unit_post(const tidings__segment *s, uint64_t position, uint64_t route) {
    unit_claim(s, position, UNIT_OWNER);
    tidings__cell_at(s, position)->route = route;
    unit_commit(s, position);
}

void unit_evict_to(const tidings__segment *s, uint64_t oldest) {
    s->header->eviction.word = tidings__ev_idle(oldest, 0);
}

// MARK: Running

static void empty_directory(void) {
    DIR *stream = opendir(directory);
    if (!stream) return;
    for (const struct dirent *entry; (entry = readdir(stream));) {
        const int at = dirfd(stream);
        if (entry->d_name[0] == '.' && strspn(entry->d_name, ".") == strlen(entry->d_name)) continue;
        if (unlinkat(at, entry->d_name, 0) != 0) (void)unlinkat(at, entry->d_name, AT_REMOVEDIR);
    }
    (void)closedir(stream);
}

// Each test has a process: the core keeps some state per process, and a test may be ended by a signal.
static bool run(unit_test *test) {
    (void)fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        running = test;
        (void)alarm(WATCHDOG_S);
        test->run();
        exit(0);
    }
    int status = -1;
    if (child > 0) (void)waitpid(child, &status, 0);
    empty_directory();
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    // A failed check has printed its own line.
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 1) return false;
    const int length = (int)strcspn(test->file, ".");
    printf("%.*s %s: ended with status 0x%x\n", length, test->file, test->name, (unsigned)status);
    return false;
}

// "ring", "ring/claim", or a test's name.
static bool chosen(const unit_test *test, const char *what) {
    const size_t length = strlen(what);
    return !what[0] || strcmp(test->name, what) == 0 ||
           (strncmp(test->file, what, length) == 0 && (test->file[length] == '/' || test->file[length] == '.'));
}

static int list(void) {
    for (const unit_test *test = tests; test; test = test->next) {
        for (const unit_test *other = test->next; other; other = other->next) {
            if (strcmp(other->name, test->name) != 0) continue;
            fprintf(stderr, "CoreUnitTests: two tests have the name \"%s\"\n", test->name);
            return 1;
        }
        printf("%.*s %s\n", (int)strcspn(test->file, "."), test->file, test->name);
    }
    return 0;
}

int main(int count, char **arguments) {
    if (count == 2 && strcmp(arguments[1], "--list") == 0) return list();
    if (count > 2) {
        fprintf(stderr, "usage: CoreUnitTests [--list | LAYER | LAYER/FILE | NAME]\n");
        return 64;
    }
    // Foundation's Process starts this program with all signals blocked, the watchdog's among them.
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    // A directory that a group may write to is refused.
    (void)umask(022);
    (void)strcpy(directory, "/dev/shm/tidings-unit-XXXXXX");
    if (!mkdtemp(directory)) {
        perror(directory);
        return 1;
    }
    uint32_t ran = 0, wrong = 0;
    for (unit_test *test = tests; test; test = test->next) {
        if (!chosen(test, count == 2 ? arguments[1] : "")) continue;
        ran++;
        wrong += !run(test);
    }
    (void)rmdir(directory);
    printf("%u tests, %u failed\n", ran, wrong);
    // None at all would be a run that passes because it does nothing.
    return wrong || !ran;
}
