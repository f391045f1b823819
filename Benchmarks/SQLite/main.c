// Measures the extension for SQLite beside its rivals, alternately in one run: see README.md.
//
//     SQLiteBenchmark EXTENSION FOLDER [SECONDS]
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <tidings.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 15
#define SAMPLES 200      // of a round of wake-ups
#define COMMITS 20000    // of a round of commits
#define APART_NS 400000  // between two commits, so that the other side is asleep
#define WAITERS 100

enum { LIBRARY, EXTENSION, POLLING, REDIS, ALONE, KINDS };
static const char *const names[KINDS] = {"tidings_post to tidings_next, 64 B", "commit to tidings_wait",
                                         "commit to a poll of data_version each ms", "commit and Redis publish",
                                         "the commit alone, without the extension"};
static const char *extension, *folder;

// Between the two sides: when the commit began, and when the other side ran.
static volatile struct {
    _Atomic(uint64_t) began, ran;
    _Atomic(uint32_t) ready, stop;
    uint64_t elapsed_ns;
} * shared;

static uint64_t now_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void nap(long ns) { (void)nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL); }

#define TRY(condition, line)                                                                                           \
    if (!(condition)) fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, line), exit(1)

static sqlite3 *open_database(bool loaded) {
    static bool done;
    sqlite3 *db;
    char *error = NULL, *path;
    if (loaded && !done) {
        TRY(sqlite3_open(":memory:", &db) == SQLITE_OK, "");
        (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
        TRY(sqlite3_load_extension(db, extension, NULL, &error) == SQLITE_OK, error);
        (void)sqlite3_close(db);
        done = true;
    }
    TRY(asprintf(&path, "%s/database", folder) > 0, "");
    TRY(sqlite3_open(path, &db) == SQLITE_OK, path);
    (void)sqlite3_busy_timeout(db, 10000);
    TRY(sqlite3_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; CREATE TABLE IF NOT EXISTS t(x)", NULL,
                     NULL, NULL) == SQLITE_OK,
        sqlite3_errmsg(db));
    return db;
}

static int64_t number(sqlite3_stmt *statement) {
    TRY(sqlite3_step(statement) == SQLITE_ROW, sqlite3_errmsg(sqlite3_db_handle(statement)));
    const int64_t value = sqlite3_column_type(statement, 0) == SQLITE_NULL ? -1 : sqlite3_column_int64(statement, 0);
    (void)sqlite3_reset(statement);
    return value;
}

static sqlite3_stmt *prepared(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement;
    TRY(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, sqlite3_errmsg(db));
    return statement;
}

static int redis_socket(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/redis", folder);
    const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (int i = 0; i < 500; i++) {
        if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
        nap(10000000);
    }
    TRY(false, "no Redis");
    return -1;
}

static void redis_ask(int descriptor, const char *line) {
    char answer[4096];
    TRY(write(descriptor, line, strlen(line)) == (ssize_t)strlen(line), strerror(errno));
    TRY(read(descriptor, answer, sizeof answer) > 0, strerror(errno));
}

static void observer_of(tidings_center *center, tidings_observer **observer) {
    uint32_t subscription;
    TRY(tidings_observer_open(center, 0, observer) == 0, tidings_last_error());
    TRY(tidings_observer_add(*observer, "bench", 5, NULL, 0, 0, &subscription) == 0, tidings_last_error());
}

// Side B: is woken, and says when it ran.
static void receive(int kind) {
    tidings_center *center = NULL;
    tidings_observer *observer = NULL;
    tidings_delivery delivery;
    sqlite3_stmt *statement = NULL;
    int64_t version = 0;
    int redis = -1;
    char message[4096];
    if (kind == LIBRARY) {
        TRY(tidings_open("bench", NULL, &center) == 0, tidings_last_error());
        observer_of(center, &observer);
    } else {
        sqlite3 *db = open_database(kind == EXTENSION);
        if (kind == EXTENSION) {
            (void)number(prepared(db, "SELECT tidings_wait('main', 0)"));
            statement = prepared(db, "SELECT tidings_wait('main', 5000)");
        } else if (kind == POLLING) {
            statement = prepared(db, "PRAGMA data_version");
            version = number(statement);
        } else {
            redis = redis_socket();
            redis_ask(redis, "SUBSCRIBE bench\r\n");
        }
    }
    shared->ready = 1;
    while (!shared->stop) {
        if (kind == LIBRARY && tidings_next(observer, 5000000000, &delivery) != 0) continue;
        if (kind == EXTENSION && number(statement) < 0) continue;
        if (kind == REDIS && read(redis, message, sizeof message) <= 0) continue;
        if (kind == POLLING) {
            const int64_t before = version;
            nap(1000000);
            if ((version = number(statement)) == before) continue;
        }
        shared->ran = now_ns();
    }
    exit(0);
}

static int by_value(const void *a, const void *b) {
    const double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}
static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

// Side A of one round: the median of the time from the beginning of a commit until B runs, in µs.
static double wake_round(int kind) {
    static double samples[SAMPLES];
    shared->ready = shared->stop = 0;
    shared->ran = shared->began = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0 && kind == ALONE) _exit(0);
    if (child == 0) receive(kind);
    const pid_t writer = fork();
    if (writer == 0) {
        tidings_center *center = NULL;
        tidings_publisher *publisher = NULL;
        sqlite3_stmt *insert = NULL;
        int redis = -1;
        char payload[64] = {0};
        if (kind == LIBRARY) {
            TRY(tidings_open("bench", NULL, &center) == 0, tidings_last_error());
            TRY(tidings_publisher_open(center, "bench", 5, NULL, 0, &publisher) == 0, tidings_last_error());
        } else {
            insert = prepared(open_database(kind == EXTENSION), "INSERT INTO t VALUES(1)");
            TRY(sqlite3_step(insert) == SQLITE_DONE, "insert");
        }
        if (kind == REDIS) redis = redis_socket();
        while (kind != ALONE && !shared->ready) nap(100000);
        nap(50000000);
        for (int i = 0; i < SAMPLES; i++) {
            nap(APART_NS + (long)(i % 10) * 100000);
            shared->ran = 0;
            if (insert) (void)sqlite3_reset(insert);
            const uint64_t began = now_ns();
            if (kind == LIBRARY) {
                TRY(tidings_post(publisher, payload, sizeof payload, NULL, NULL) == 0, tidings_last_error());
            } else {
                TRY(sqlite3_step(insert) == SQLITE_DONE, "insert");
                if (kind == REDIS) redis_ask(redis, "PUBLISH bench x\r\n");
            }
            if (kind == ALONE) shared->ran = now_ns();
            while (!shared->ran) nap(20000);
            samples[i] = (double)(shared->ran - began) / 1000;
        }
        shared->stop = 1;
        shared->elapsed_ns = (uint64_t)(median(samples, SAMPLES) * 1000);
        // Wakes B once more, to end.
        if (kind == LIBRARY) (void)tidings_post(publisher, payload, sizeof payload, NULL, NULL);
        if (insert) (void)sqlite3_reset(insert);
        if (insert) (void)sqlite3_step(insert);
        if (kind == REDIS) redis_ask(redis, "PUBLISH bench x\r\n");
        _exit(0);
    }
    int status;
    (void)waitpid(writer, &status, 0);
    TRY(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a writer failed");
    (void)waitpid(child, &status, 0);
    return (double)shared->elapsed_ns / 1000;
}

static double commit_round(bool loaded) {
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        sqlite3_stmt *insert = prepared(open_database(loaded), "INSERT INTO t VALUES(1)");
        uint64_t began = 0;
        for (int i = -1000; i < COMMITS; i++) {
            if (i == 0) began = now_ns();
            TRY(sqlite3_step(insert) == SQLITE_DONE, "insert");
            (void)sqlite3_reset(insert);
        }
        shared->elapsed_ns = now_ns() - began;
        _exit(0);
    }
    int status;
    (void)waitpid(child, &status, 0);
    TRY(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a writer failed");
    return (double)shared->elapsed_ns / COMMITS / 1000;
}

// MARK: 100 waiting processes

static uint64_t sum_of(pid_t pid, bool switches) {
    char command[256];
    snprintf(command, sizeof command,
             switches ? "cat /proc/%d/task/*/status | awk '/ctxt_switches/ {n += $2} END {print n + 0}'"
                      : "cat /proc/%d/task/*/schedstat | awk '{n += $1} END {printf \"%%.0f\", n}'",
             (int)pid);
    FILE *out = popen(command, "r");
    unsigned long long value = 0;
    TRY(out && fscanf(out, "%llu", &value) == 1, command);
    (void)pclose(out);
    return value;
}

static void idle(int seconds) {
    pid_t waiters[WAITERS];
    uint64_t switches[2] = {0}, cpu[2] = {0};
    fflush(NULL);
    shared->ready = 0;
    for (int i = 0; i < WAITERS; i++) {
        if ((waiters[i] = fork()) == 0) {
            sqlite3 *db = open_database(true);
            (void)number(prepared(db, "SELECT tidings_wait('main', 0)"));
            shared->ready++;
            (void)number(prepared(db, "SELECT tidings_wait('main', -1)"));
            _exit(0);
        }
    }
    while (shared->ready < WAITERS) nap(10000000);
    nap(2000000000);
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < WAITERS; i++) {
            switches[turn] += sum_of(waiters[i], true);
            cpu[turn] += sum_of(waiters[i], false);
        }
        if (turn == 0) sleep((unsigned)seconds);
    }
    for (int i = 0; i < WAITERS; i++) kill(waiters[i], SIGKILL);
    for (int i = 0; i < WAITERS; i++) (void)waitpid(waiters[i], NULL, 0);
    printf("%d waiting processes, %d s without a commit: %llu context switches, %llu ns of processor time\n", WAITERS,
           seconds, (unsigned long long)(switches[1] - switches[0]), (unsigned long long)(cpu[1] - cpu[0]));
}

int main(int count, char **arguments) {
    if (count < 3) return fprintf(stderr, "usage: %s EXTENSION FOLDER [SECONDS]\n", arguments[0]), 64;
    extension = arguments[1];
    folder = arguments[2];
    const int seconds = count > 3 ? atoi(arguments[3]) : 60;
    char socket[256];
    snprintf(socket, sizeof socket, "%s/redis", folder);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t redis = fork();
    if (redis == 0) {
        (void)!freopen("/dev/null", "w", stdout);
        execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly",
               "no", "--dir", folder, (char *)NULL);
        _exit(127);
    }
    nap(500000000);
    const bool has_redis = waitpid(redis, NULL, WNOHANG) == 0;
    if (!has_redis) printf("redis-server is not installed: its row is left out\n");
    // Keeps the WAL while the sides of a round come and go, as another user of the database would.
    const pid_t keeper = fork();
    if (keeper == 0) {
        (void)number(prepared(open_database(false), "SELECT count(*) FROM t"));
        shared->ready = 1;
        for (;;) pause();
    }
    while (!shared->ready) nap(1000000);
    double times[KINDS][ROUNDS], ratios[KINDS][ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int kind = 0; kind < KINDS; kind++) {
            times[kind][round] = kind == REDIS && !has_redis ? 0 : wake_round(kind);
            ratios[kind][round] = times[kind][round] / times[LIBRARY][round];
        }
    }
    double less[ROUNDS];
    for (int round = 0; round < ROUNDS; round++)
        less[round] = (times[EXTENSION][round] - times[ALONE][round]) / times[LIBRARY][round];
    for (int kind = 0; kind < KINDS; kind++)
        printf("%-42s %8.1f µs  %6.2f x the library's\n", names[kind], median(times[kind], ROUNDS),
               median(ratios[kind], ROUNDS));
    printf("%-42s %11s  %6.2f x the library's\n", "commit to tidings_wait, less the commit", "", median(less, ROUNDS));
    double without[ROUNDS], more[ROUNDS], percent[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        without[round] = commit_round(false);
        const double with = commit_round(true);
        more[round] = with - without[round];
        percent[round] = 100 * more[round] / without[round];
    }
    printf("a commit of one row, without the extension: %.2f µs; with it: %+.2f µs, %+.1f %%\n",
           median(without, ROUNDS), median(more, ROUNDS), median(percent, ROUNDS));
    idle(seconds);
    kill(keeper, SIGKILL);
    (void)waitpid(keeper, NULL, 0);
    if (has_redis) kill(redis, SIGTERM);
    if (has_redis) (void)waitpid(redis, NULL, 0);
    return 0;
}
