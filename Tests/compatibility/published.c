// What an observer has published of itself, beside processes of another version: Published PEER KNOWN. This program
// starts PEER (this program of a version, as `PEER -`), whose observer takes an entry that has a published position and
// losses. KNOWN is 1 if that version publishes these, and otherwise 0: then they must not be taken for its own.
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "../scenarios/check.h"

static tidings_center *center;

static tidings_observer *observer_of(const char *name) {
    tidings_observer *opened;
    uint32_t id;
    OK(tidings_observer_open(center, 0, &opened));
    OK(tidings_observer_add(opened, name, strlen(name), NULL, 0, 0, &id));
    return opened;
}

// The process of the other version: observes until its standard input ends.
static int observe(void) {
    (void)observer_of("a");
    CHECK(write(1, "r", 1) == 1, "%s", strerror(errno));
    char byte;
    while (read(0, &byte, 1) > 0) {}
    return 0;
}

#ifdef PUBLISHES  // the version of this tree: its header has what is read here
static void check(const char *peer, uint32_t known) {
    // An entry that has a position and losses, and that its owner has closed.
    tidings_publisher *publisher;
    tidings_observer *first = observer_of("a");
    tidings_delivery d;
    OK(tidings_publisher_open(center, "a", 1, NULL, 0, &publisher));
    for (int i = 0; i < 1000; i++) OK(tidings_post(publisher, "", 0, NULL, NULL));
    while (tidings_next(first, 0, &d) == 0) {}
    tidings_observer_close(first);

    int to[2], from[2];
    CHECK(pipe(to) == 0 && pipe(from) == 0, "%s", strerror(errno));
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(to[0], 0), dup2(from[1], 1);
        for (int i = 0; i < 2; i++) close(to[i]), close(from[i]);
        execl(peer, peer, "-", NULL);
        _exit(127);
    }
    close(to[0]), close(from[1]);
    char byte = 0;
    CHECK(read(from[0], &byte, 1) == 1, "the other process ended");
    for (int i = 0; i < 10; i++) OK(tidings_post(publisher, "", 0, NULL, NULL));
    tidings_participant_info info;
    tidings_participant_observers found = {0};
    int result;
    for (uint32_t i = 0; (result = tidings_participant(center, i, &info)) != -ERANGE; i++)
        if (result == 0 && info.pid == pid) tidings_participant_observers_get(center, i, &found);
    CHECK(found.observers == 1 && found.known == known && found.missed == 0, "%u observers, %u known, %u missed",
          found.observers, found.known, found.missed);
    CHECK(found.distance == (known ? 10 : 0), "%lu away", (unsigned long)found.distance);
    close(to[1]);
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0, "the other process ended with %d", status);
}
#endif

int main(int count, char **arguments) {
    alarm(120);
    const tidings_configuration configuration = {.slots = 256};
    OK(tidings_open("published", &configuration, &center));
    if (count == 2) return observe();
#ifdef PUBLISHES
    check(arguments[1], (uint32_t)atoi(arguments[2]));
    return 0;
#else
    (void)arguments;
    return 64;
#endif
}
