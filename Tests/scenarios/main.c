// Tells one scenario, named on the command line.
#include "conditions.h"
#include "leave.h"
#include "peer.h"
#include "privileges.h"

#define CATEGORY(name)
#define SCENARIO(name) void name(void);
#define STEPPED SCENARIO
#define MOUNTING SCENARIO
#define AS_OTHERS SCENARIO
#define LIMITED SCENARIO
#define LARGE SCENARIO
#define RETOLD(condition, name) SCENARIO(name)
#define APART RETOLD
#include "scenarios.h"

static const struct {
    const char *kind, *name;
    void (*tell)(void);  // NULL: the entry begins a category
} scenarios[] = {
#define CATEGORY(name) {"category", #name, NULL},
#define SCENARIO(name) {"plain", #name, name},
#define STEPPED(name) {"stepped", #name, name},
#define MOUNTING(name) {"mounting", #name, name},
#define AS_OTHERS(name) {"others", #name, name},
#define LIMITED(name) {"limited", #name, name},
#define LARGE(name) {"large", #name, name},
#define RETOLD(condition, name) {"retold", #condition "/" #name, name},
#define APART(condition, name) {"apart", #condition "/" #name, name},
#include "scenarios.h"
};

#define SCENARIOS (sizeof scenarios / sizeof scenarios[0])

int main(int count, char **arguments) {
    if (count == 2 && strcmp(arguments[1], "--list") == 0) {
        // KIND SCENARIO CATEGORY
        const char *category = "";
        for (size_t i = 0; i < SCENARIOS; i++) {
            if (scenarios[i].tell)
                printf("%s %s %s\n", scenarios[i].kind, scenarios[i].name, category);
            else
                category = scenarios[i].name;
        }
        return 0;
    }
    if (count == 3 && strcmp(arguments[1], "--may") == 0) return !may(arguments[2]);
    const bool leaves = count == 5 && strcmp(arguments[1], "--leave") == 0;
    if (leaves) arguments++, count--;
    if (count != 4) {
        fprintf(stderr,
                "usage: ScenarioPeer --list | ScenarioPeer --leave WHAT SEED DIRECTORY | ScenarioPeer --may "
                "mounts|users|limits|room|filters|namespaces | ScenarioPeer [CONDITION/]SCENARIO SEED DIRECTORY\n");
        return 64;
    }
    random_seed(strtoull(arguments[2], NULL, 10));
    setenv("TIDINGS_DIRECTORY", arguments[3], 1);
    // Foundation's Process starts it from a thread that has all signals blocked, which is inherited, and the watchdog
    // is one of them.
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    watchdog();
    if (leaves) return leave(arguments[1]) ? 0 : 64;
    for (size_t i = 0; i < SCENARIOS; i++) {
        if (!scenarios[i].tell || strcmp(scenarios[i].name, arguments[1]) != 0) continue;
        under_condition(arguments[1], arguments);
        scenarios[i].tell();
        return 0;
    }
    fprintf(stderr, "ScenarioPeer: there is no scenario \"%s\"\n", arguments[1]);
    return 64;
}
