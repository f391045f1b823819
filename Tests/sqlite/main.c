// SQLiteTests EXTENSION SEED [TEST…]: runs each test in a process and a directory of its own. The test that fails names
// its line; one that hangs is ended, and is a failure.
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "sqlite.h"

#define LIMIT_S 90  // of a test, several times what the longest one takes; TIDINGS_TEST_HANG_TIMEOUT gives another

const char *extension, *directory;
uint64_t seed;
static uint64_t state;

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
#define TEST(name) {#name, name},
#include "tests.h"
#undef TEST
};
#define COUNT (sizeof tests / sizeof tests[0])

void failed(const char *file, int line, const char *condition, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%d: %s is not so: ", file, line, condition);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    kill(0, SIGKILL);
    _exit(1);
}

uint64_t at_random(uint64_t below) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % below;
}

const char *in_directory(const char *name) {
    char *path;
    if (asprintf(&path, "%s/%s", directory, name) < 0) abort();
    return path;
}

static unsigned limit(void) {
    const char *asked = getenv("TIDINGS_TEST_HANG_TIMEOUT");
    return asked ? (unsigned)atoi(asked) : LIMIT_S;
}

// 0: it passed. 77: it could not run, and has said why.
static int run(size_t number, const char *base) {
    char *folder;
    if (asprintf(&folder, "%s/%s", base, tests[number].name) < 0 || mkdir(folder, 0755) != 0) {
        fprintf(stderr, "can't create %s: %s\n", folder, strerror(errno));
        return 1;
    }
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        directory = folder;
        state = seed;
        setenv("TIDINGS_DIRECTORY", folder, 1);
        alarm(limit());
        tests[number].run();
        // Peers that are left end with the group.
        exit(0);
    }
    setpgid(child, child);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    kill(-child, SIGKILL);
    char *command;
    if (asprintf(&command, "rm -rf '%s'", folder) > 0 && system(command) != 0) return 1;
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77)) return WEXITSTATUS(status);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) fprintf(stderr, "it hangs: ended after %u s\n", limit());
    return 1;
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "--peer") == 0) return peer_main(count, arguments);
    if (count == 2 && strcmp(arguments[1], "--list") == 0) {
        for (size_t i = 0; i < COUNT; i++) puts(tests[i].name);
        return 0;
    }
    char base[] = "/dev/shm/tidings-sqlite.XXXXXX";
    if (count < 3 || !mkdtemp(base)) {
        fprintf(stderr, "usage: %s EXTENSION SEED [TEST…]\n", arguments[0]);
        return 64;
    }
    (void)chmod(base, 0755);
    extension = arguments[1];
    seed = strtoull(arguments[2], NULL, 0);
    signal(SIGPIPE, SIG_IGN);
    int failures = 0, passed = 0, skipped = 0;
    for (size_t i = 0; i < COUNT; i++) {
        bool wanted = count == 3;
        for (int j = 3; j < count; j++) wanted = wanted || strcmp(arguments[j], tests[i].name) == 0;
        if (!wanted) continue;
        const int status = run(i, base);
        if (status == 0) passed++;
        if (status == 77) skipped++;
        if (status != 0 && status != 77) {
            failures++;
            fprintf(stderr, "FAILED: %s (seed %llu)\n", tests[i].name, (unsigned long long)seed);
        }
    }
    (void)rmdir(base);
    printf("%d tests passed, %d failed, %d skipped, seed %llu\n", passed, failures, skipped, (unsigned long long)seed);
    return failures > 0 || passed + skipped == 0;
}
