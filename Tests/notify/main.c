#include "peer.h"

#define SCENARIO(name) void name(void);
#define OTHERS(name) void name(void);
#include "scenarios.h"
#undef SCENARIO
#undef OTHERS

static const struct {
    const char *kind, *name;
    void (*tell)(void);
} scenarios[] = {
#define SCENARIO(name) {"plain", #name, name},
#define OTHERS(name) {"others", #name, name},  // they need root
#include "scenarios.h"
};

uint64_t seed;
const char *own_executable;

void executed(const char *what);  // forks.c

int main(int count, char **arguments) {
    own_executable = arguments[0];
    if (count == 2 && strcmp(arguments[1], "--list") == 0) {
        for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
            printf("%s %s\n", scenarios[i].kind, scenarios[i].name);
        return 0;
    }
    if (count == 3 && strcmp(arguments[1], "--executed") == 0) {
        alarm(WATCHDOG);
        executed(arguments[2]);
        return 0;
    }
    const bool serves = count == 4 && strcmp(arguments[1], "--serve") == 0;
    if (count != 4) {
        fprintf(stderr,
                "usage: NotifyPeer --list | NotifyPeer SCENARIO SEED DIRECTORY | NotifyPeer --serve SEED DIRECTORY\n");
        return 64;
    }
    seed = strtoull(arguments[2], NULL, 10);
    setenv("TIDINGS_DIRECTORY", arguments[3], 1);
    setenv("TIDINGS_NOTIFY_CONFIGURATION", "/nonexistent", 0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (serves) {
        alarm(5 * WATCHDOG);  // as long as a test may take
        serve();
        return 0;
    }
    alarm(WATCHDOG);
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        if (strcmp(scenarios[i].name, arguments[1]) != 0) continue;
        scenarios[i].tell();
        return 0;
    }
    fprintf(stderr, "NotifyPeer: there is no scenario \"%s\"\n", arguments[1]);
    return 64;
}
