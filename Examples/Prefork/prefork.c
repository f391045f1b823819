// Worker processes, each with a cache of its own. A notification invalidates a key in the caches of all workers.
//
//     prefork SOCKET FOLDER WORKERS
//
// FOLDER stands for a database: it has a file for each key. A client connects to the Unix socket SOCKET, sends one
// line, and receives one line with the process ID of the worker:
//
//     GET KEY          HIT PID VALUE, MISS PID VALUE, or NONE PID
//     PUT KEY VALUE    DONE PID
//
// A process that changes a file by itself then invalidates its key. An empty text invalidates all keys:
//
//     tidings post com.example.cache.invalidate --center com.example.cache --text KEY
//
// Promise: a GET that begins after a PUT was answered, or after such a post, returns no older value, in any worker.
// The reason: a key is posted after its file was changed, and a worker takes all posts before it looks into its cache.
// A worker that is killed is replaced. A client whose worker was killed receives no line, and asks again.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <tidings.h>
#include <unistd.h>

enum { KEY_MAX = 64, VALUE_MAX = 200, TEXT_MAX = KEY_MAX + VALUE_MAX + 16, ENTRIES = 1024, WORKERS_MAX = 256 };

#define CENTER "com.example.cache"
#define INVALIDATE "com.example.cache.invalidate"

typedef struct {
    char key[KEY_MAX + 1];  // "": the entry is free
    char value[VALUE_MAX + 1];
} Entry;

static Entry cache[ENTRIES];
static tidings_center *center;
static tidings_publisher *publisher;
static int folder, listener;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "prefork: can't %s: %s\n", what, why);
    exit(1);
}

static Entry *entry_of(const char *key) {
    uint32_t hash = 2166136261;
    while (*key) hash = (hash ^ (uint8_t)*key++) * 16777619;
    return &cache[hash % ENTRIES];
}

static void invalidate(const char *key) {
    // Only a lossless observer holds a post back. Of such observers this center needs none.
    const tidings_post_options options = {.format = TIDINGS_FORMAT_TEXT, .timeout_ns = 10000000000};
    if (tidings_post(publisher, key, strlen(key), &options, NULL) < 0) fail("invalidate", tidings_last_error());
}

static void take_invalidations(tidings_observer *observer) {
    tidings_delivery delivery;
    int error;
    while ((error = tidings_next(observer, 0, &delivery)) == 0) {
        if (delivery.kind == TIDINGS_DELIVERY_MISSED || delivery.size == 0) {
            memset(cache, 0, sizeof cache);  // Any key can be among those that were missed.
        } else if (delivery.size <= KEY_MAX) {
            char key[KEY_MAX + 1] = "";
            memcpy(key, delivery.payload, delivery.size);
            Entry *entry = entry_of(key);
            if (strcmp(entry->key, key) == 0) entry->key[0] = '\0';
        }
    }
    if (error != -EAGAIN) fail("receive", tidings_last_error());
}

// Copies the value of a key from its file. False: it has none.
static bool load(const char *key, char *value) {
    int file = openat(folder, key, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t size = read(file, value, VALUE_MAX);
    close(file);
    if (size < 0) return false;
    value[size] = '\0';
    value[strcspn(value, "\n")] = '\0';
    return true;
}

static bool store(const char *key, const char *value) {
    char temporary[KEY_MAX + 32];
    snprintf(temporary, sizeof temporary, ".%s.%d", key, (int)getpid());
    int file = openat(folder, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return false;
    const ssize_t size = (ssize_t)strlen(value);
    const bool written = write(file, value, (size_t)size) == size;
    return close(file) == 0 && written && renameat(folder, temporary, folder, key) == 0;
}

static bool is_key(const char *key) {
    const char *allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    return key && *key && strlen(key) <= KEY_MAX && key[strspn(key, allowed)] == '\0';
}

static void answer(tidings_observer *observer, char *line, char *reply, size_t room) {
    char *rest, *verb = strtok_r(line, " ", &rest), *key = strtok_r(NULL, " ", &rest),
                *value = strtok_r(NULL, "", &rest);
    const int pid = getpid();
    if (verb && strcmp(verb, "GET") == 0 && is_key(key) && !value) {
        take_invalidations(observer);
        Entry *entry = entry_of(key);
        const bool hit = strcmp(entry->key, key) == 0;
        if (!hit) {
            entry->key[0] = '\0';
            if (!load(key, entry->value)) return (void)snprintf(reply, room, "NONE %d\n", pid);
            strcpy(entry->key, key);
        }
        snprintf(reply, room, "%s %d %s\n", hit ? "HIT" : "MISS", pid, entry->value);
    } else if (verb && strcmp(verb, "PUT") == 0 && is_key(key) && value && strlen(value) <= VALUE_MAX) {
        if (!store(key, value)) return (void)snprintf(reply, room, "ERROR %d %s\n", pid, strerror(errno));
        invalidate(key);
        snprintf(reply, room, "DONE %d\n", pid);
    } else {
        snprintf(reply, room, "ERROR %d usage: GET KEY, or PUT KEY VALUE\n", pid);
    }
}

static void serve(tidings_observer *observer, int connection) {
    char line[TEXT_MAX], reply[TEXT_MAX + 32];
    // A client that sends no line keeps its worker for a second at most.
    const struct timeval second = {.tv_sec = 1};
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
    size_t size = 0;
    char *end = NULL;
    while (!end && size < sizeof line) {
        const ssize_t more = recv(connection, line + size, sizeof line - size, 0);
        if (more <= 0) return;
        end = memchr(line + size, '\n', (size_t)more);
        size += (size_t)more;
    }
    if (!end) return;
    *end = '\0';
    answer(observer, line, reply, sizeof reply);
    send(connection, reply, strlen(reply), MSG_NOSIGNAL);
}

static void work(pid_t parent) {
    // No worker outlives the process that replaces it.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) exit(0);
    // A forked child posts through the center that its parent opened, and observes for itself.
    tidings_observer *observer;
    uint32_t subscription;
    if (tidings_observer_open(center, 0, &observer) < 0 ||
        tidings_observer_add(observer, INVALIDATE, sizeof INVALIDATE - 1, NULL, 0, 0, &subscription) < 0)
        fail("observe", tidings_last_error());
    for (;;) {
        const int connection = accept(listener, NULL, NULL);
        if (connection >= 0) {
            serve(observer, connection);
            close(connection);
        } else if (errno == EINVAL) {  // The parent has shut the listener down.
            break;
        }
    }
    tidings_observer_close(observer);
    exit(0);
}

static void start_worker(void) {
    const pid_t parent = getpid(), child = fork();
    if (child < 0) fail("start a worker", strerror(errno));
    if (child == 0) work(parent);
}

int main(int count, char **arguments) {
    const int workers = count == 4 ? atoi(arguments[3]) : 0;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (workers < 1 || workers > WORKERS_MAX || strlen(arguments[1]) >= sizeof address.sun_path)
        return fprintf(stderr, "usage: prefork SOCKET FOLDER WORKERS (1 to %d)\n", WORKERS_MAX), 64;
    strcpy(address.sun_path, arguments[1]);
    folder = open(arguments[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) fail("open the folder", strerror(errno));
    if (tidings_open(CENTER, NULL, &center) < 0 ||
        tidings_publisher_open(center, INVALIDATE, sizeof INVALIDATE - 1, NULL, 0, &publisher) < 0)
        fail("start", tidings_last_error());

    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unlink(arguments[1]);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 128) < 0)
        fail("listen", strerror(errno));

    // Workers inherit the blocked signals: Ctrl-C reaches the parent, and the parent ends its workers.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    for (int i = 0; i < workers; i++) start_worker();
    fprintf(stderr, "prefork: %d workers serve %s\n", workers, arguments[1]);

    int status = 0;
    bool ending = false;
    while (!ending) {
        ending = sigwaitinfo(&signals, NULL) != SIGCHLD;
        pid_t worker;
        int how;
        while (!ending && (worker = waitpid(-1, &how, WNOHANG)) > 0) {
            if (!WIFSIGNALED(how)) {  // It has failed, and said why. Its replacement would fail, too.
                ending = true;
                status = 1;
                break;
            }
            fprintf(stderr, "prefork: worker %d was killed, and is replaced\n", (int)worker);
            invalidate("");  // It may have changed a file, and not posted its key.
            start_worker();
        }
    }
    // The workers serve the connections that wait, and end.
    shutdown(listener, SHUT_RD);
    while (wait(NULL) > 0 || errno == EINTR) continue;
    unlink(arguments[1]);
    tidings_publisher_close(publisher);
    tidings_close(center);
    return status;
}
