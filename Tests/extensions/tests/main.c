// Runs scenarios, each in a process of its own: `ExtensionTests EXTENSIONPEER SEED [SCENARIO…]`.
#include <sys/wait.h>

#include "test.h"

uint64_t seed;
const char *peer;

#define SKIPPED 77

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
#define SCENARIO(name) {#name, name},
#include "scenarios.h"
#undef SCENARIO
};

uint64_t random_below(uint64_t limit) {
    static uint64_t state;
    if (!state) state = seed | 1;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % limit;
}

void skip(const char *reason) {
    printf("skipped: %s\n", reason);
    fflush(stdout);
    _exit(SKIPPED);
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: ExtensionTests EXTENSIONPEER SEED [SCENARIO…]\n");
        return 64;
    }
    peer = arguments[1];
    seed = strtoull(arguments[2], NULL, 10);
    int run = 0, failed = 0, skipped = 0;
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        bool wanted = count == 3;
        for (int k = 3; k < count; k++) wanted |= strcmp(arguments[k], scenarios[i].name) == 0;
        if (!wanted) continue;
        run++;
        fflush(stdout);
        const pid_t pid = fork();
        if (pid == 0) {
            alarm(WATCHDOG);
            scenarios[i].run();
            exit(0);  // not _exit: the leak sanitizer looks now
        }
        int status = 0;
        (void)waitpid(pid, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
        const bool left_out = WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED;
        left_out ? skipped++ : failed++;
        printf("%s %s, seed %llu, status %#x\n", left_out ? "skipped" : "FAILED", scenarios[i].name,
               (unsigned long long)seed, (unsigned)status);
    }
    printf("%d scenarios, %d failed, %d skipped\n", run, failed, skipped);
    return run == 0 || failed > 0;
}
