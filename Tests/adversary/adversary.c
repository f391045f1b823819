// The adversary test: real processes use centers while attackers spoil them. Nothing may crash, hang, read outside its
// memory, or take memory without bound.
//
//   adversary --seconds N SEED TARGET...     each TARGET is run as `TARGET DIRECTORY SEED COMMAND`
//   adversary --self-test SEED TARGET SANITIZED
//
// "swift:" before a TARGET, and "sanitized:" before that, loosen its bounds.
//
// Attackers: a random writer and a targeted writer, which map the file of a center and write to it, and a reader with
// another user id (which takes root). A round takes two seconds and has new centers and new targets. Each writer
// attacks a few kinds of words only: the other words are intact, so that targets get far into the code.
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "board.h"
#include "tidings.h"
#include "words.h"

#define ROUND_MS 2000
#define TARGETS_MAX 8
#define ANYWHERE (UINT64_C(1) << 63)  // among a writer's kinds of words: any offset of the file

// The bounds for targets. Processor time of one call: the bound that tidings.h states for this shape, times the factor
// of Tests/scenarios/bounds.c. A call of the Swift API makes several calls of the core.
#define CALL_NS UINT64_C(20000000)
#define SLOWER 4u
#define SLOWER_UNOPTIMIZED 12u  // as the Swift target is built
#define SLOWER_SANITIZED 60u
#define CALLS_OF_SWIFT 4u
#define END_NS                                                                                                         \
    UINT64_C(10000000000)  // processor time of the whole process from the request to end on: a dispatcher that loops
                           // takes more
#define HANG_MS 60000      // no call returned for so long
#define MEMORY_KIB (512u << 10)  // of its own, not the center's

typedef struct target {
    const char *program;
    bool sanitized, swift;
    pid_t pid;
    int input;  // its standard input: closed, it ends
    board_thread *board;
    uint64_t seen[BOARD_THREADS], since[BOARD_THREADS];
    const char *failure;
} target;

static char directory[64];
static uint64_t seed;
static uint32_t failures;
static uint64_t total_calls, *attacks;
static uint64_t longest, most_time;
static char longest_call[48];
static uint64_t most_memory;

static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("FAILED: ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    fflush(stdout);
    failures++;
}

static void need(bool so, const char *what) {
    if (so) return;
    printf("can't run: %s: %s\n", what, strerror(errno));
    exit(2);
}

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint64_t random_from(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}
static uint64_t mixed(uint64_t a, uint64_t b) {
    uint64_t state = (a + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (b + 1) * UINT64_C(0xbf58476d1ce4e5b9);
    for (int i = 0; i < 8; i++) random_from(&state);
    return state ? state : 1;
}

// MARK: Attackers

static void file_path(const char *center, char path[256]) {
    snprintf(path, 256, "%s/tidings.%u.%s", directory, geteuid(), center);
}

static uint8_t *map_center(const char *center, int how, uint64_t *size) {
    char path[256];
    file_path(center, path);
    const int fd = open(path, how | O_CLOEXEC);
    if (fd < 0) return NULL;
    struct stat status;
    uint8_t *base = fstat(fd, &status) == 0
                        ? mmap(NULL, (size_t)status.st_size, how == O_RDWR ? PROT_READ | PROT_WRITE : PROT_READ,
                               MAP_SHARED, fd, 0)
                        : MAP_FAILED;
    *size = (uint64_t)status.st_size;
    close(fd);
    return base == MAP_FAILED ? NULL : base;
}

static void write_word(words *c, uint64_t offset, uint64_t value) {
    offset &= ~UINT64_C(7);
    if (offset + 8 > c->length) return;
    __atomic_store_n((uint64_t *)(void *)(c->base + offset), value, __ATOMIC_SEQ_CST);
    attacks[0]++;
}

// The writers file of the center with readers: doorbells, and the words on which posters wait.
static uint8_t *map_writers_file(uint64_t *size) {
    char pattern[128];
    glob_t found;
    uint8_t *base = NULL;
    snprintf(pattern, sizeof pattern, "%s/tidings.*.writers", directory);
    if (glob(pattern, 0, NULL, &found) != 0) return NULL;
    const int fd = open(found.gl_pathv[0], O_RDWR | O_CLOEXEC);
    struct stat status;
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size >= 8) {
        *size = (uint64_t)status.st_size;
        base = mmap(NULL, (size_t)*size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (fd >= 0) close(fd);
    globfree(&found);
    return base == MAP_FAILED ? NULL : base;
}

// Changes one of its words, to a value close to the old one or to a random one.
static void write_writers_file(uint8_t *writers_file, uint64_t size, uint64_t *random) {
    uint32_t *at = (uint32_t *)(void *)(writers_file + random_from(random) % (size / TIDINGS__LINE) * TIDINGS__LINE) +
                   random_from(random) % 2;
    const uint32_t was = __atomic_load_n(at, __ATOMIC_SEQ_CST);
    const uint32_t values[] = {was ^ 1, was + 2, 0, UINT32_MAX, (uint32_t)random_from(random)};
    __atomic_store_n(at, values[random_from(random) % 5], __ATOMIC_SEQ_CST);
    attacks[0]++;
}

// A writer never ends by itself. `kinds`: a bit for each kind of word that it may write.
static _Noreturn void writer(const char *center, uint64_t random, uint64_t kinds) {
    words c = {0};
    c.base = map_center(center, O_RDWR, &c.length);
    if (!c.base) _exit(0);
    c.shape = ((const tidings__header *)(const void *)c.base)->shape;
    tidings__geometry_of(&c.shape, &c.geometry);
    uint64_t writers_file_size = 0;
    uint8_t *writers_file = strcmp(center, "open") == 0 ? map_writers_file(&writers_file_size) : NULL;
    for (;;) {
        if (writers_file && random_from(&random) % 4 == 0) write_writers_file(writers_file, writers_file_size, &random);
        for (uint64_t burst = 1 + random_from(&random) % 64; burst-- > 0;) {
            c.posted = (word_read(&c, offsetof(tidings__header, eviction)) >> TIDINGS__EV_START_SHIFT) +
                       random_from(&random) % c.shape.slots;
            if (kinds & ANYWHERE) {
                // The random writer: any value at any offset behind the fixed page, mostly within the tables.
                const uint64_t within = random_from(&random) % 4 ? c.geometry.base_size : c.length;
                const uint64_t offset = TIDINGS__PAGE + random_from(&random) % (within - TIDINGS__PAGE);
                const uint64_t value = random_from(&random) >>
                                       (random_from(&random) % 4 ? random_from(&random) % 64 : 0);
                write_word(&c, offset, value);
                continue;
            }
            word kind;
            do kind = (word)(random_from(&random) % WORD_KINDS);
            while (!(kinds >> kind & 1));
            const uint64_t offset = word_place(&c, kind, (uint32_t)random_from(&random));
            uint64_t value = word_instead(&c, offset, word_read(&c, offset), (uint8_t)random_from(&random),
                                          (uint16_t)random_from(&random));
            // The tally of a name: flips the sign of a signed difference.
            if ((kind == WORD_COUNT || kind == WORD_END) && random_from(&random) % 4 == 0)
                value = word_read(&c, offset) + (UINT64_C(1) << 63);
            write_word(&c, offset, value);
        }
        // The pause lets targets work on: without it, each of their calls would fail at its first check.
        if (random_from(&random) % 2) usleep((useconds_t)(random_from(&random) % 3000));
    }
}

#define SLEEPERS 32

static struct {
    uint8_t *base;
    tidings__geometry geometry;
    tidings__shape shape;
    _Atomic uint64_t random;
} read_center;

// Sleeps on the words that posters and observers wake: name futexes, claims of slots, and the word on which posters
// wait.
static void *sleeper(void *nothing) {
    uint64_t random = mixed(read_center.random, read_center.random++);
    for (;;) {
        uint8_t *at = read_center.base + offsetof(tidings__header, waiting_posters);
        const uint64_t kind = random_from(&random) % 4;
        if (kind < 2)
            at = read_center.base + offsetof(tidings__header, name_futexes) +
                 random_from(&random) % TIDINGS__NAME_FUTEXES * sizeof(tidings__name_futex);
        if (kind == 2)
            at = read_center.base + read_center.geometry.cells +
                 random_from(&random) % read_center.shape.slots * sizeof(tidings__cell);
        const struct timespec moment = {.tv_nsec = (long)(random_from(&random) % 100000000)};
        (void)syscall(SYS_futex, at, FUTEX_WAIT, __atomic_load_n((uint32_t *)(void *)at, __ATOMIC_SEQ_CST), &moment,
                      NULL, 0);
    }
    return nothing;
}

static void start_sleepers(void *base, uint64_t random) {
    read_center.base = base;
    read_center.shape = ((const tidings__header *)base)->shape;
    tidings__geometry_of(&read_center.shape, &read_center.geometry);
    read_center.random = random;
    for (int i = 0; i < SLEEPERS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, sleeper, NULL) != 0) _exit(3);
    }
}

// A reader: takes locks, sleeps on words, wakes and requeues sleepers, and reads, as far as its permissions allow.
static _Noreturn void reader(uint64_t random) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(3);
    char path[256];
    snprintf(path, sizeof path, "%s/tidings.0.open", directory);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) _exit(0);
    uint32_t *base = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) _exit(0);
    start_sleepers(base, random_from(&random));
    const uint64_t count = 2 * TIDINGS__PAGE / sizeof *base;
    volatile uint32_t sum = 0;
    for (;;) {
        uint32_t *at = base + random_from(&random) % count, *to = base + random_from(&random) % count;
        const struct timespec moment = {.tv_nsec = (long)(random_from(&random) % 100000)};
        struct flock lock = {.l_type = F_RDLCK,
                             .l_start = TIDINGS__LOCK_BASE + (off_t)(random_from(&random) % 80),
                             .l_len = (off_t)(random_from(&random) % 3)};
        attacks[1]++;
        switch (random_from(&random) % 6) {
            case 0: (void)fcntl(fd, F_OFD_SETLK, &lock); break;
            case 1: (void)syscall(SYS_futex, at, FUTEX_REQUEUE, 0, INT32_MAX, to, 0); break;
            case 2: (void)syscall(SYS_futex, at, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0); break;
            case 3: (void)syscall(SYS_futex, at, FUTEX_WAIT, *at, &moment, NULL, 0); break;
            case 4:
                (void)syscall(SYS_mbind, base, (unsigned long)TIDINGS__PAGE * 2, (int)(random_from(&random) % 4), NULL,
                              0ul, 0u);
                break;
            default: sum += *at; break;
        }
    }
}

// MARK: Targets

static void start(target *v, uint64_t with, const char *plant) {
    int input[2];
    const int shared = memfd_create("board", MFD_CLOEXEC);
    need(shared >= 0 && ftruncate(shared, BOARD_THREADS * sizeof(board_thread)) == 0, "memfd_create");
    v->board = mmap(NULL, BOARD_THREADS * sizeof(board_thread), PROT_READ, MAP_SHARED, shared, 0);
    need(v->board != MAP_FAILED && pipe2(input, O_CLOEXEC) == 0, "a board");
    char number[32];
    snprintf(number, sizeof number, "%llu", (unsigned long long)with % 1000000007u);
    v->failure = NULL;
    v->pid = fork();
    need(v->pid >= 0, "fork");
    if (v->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        // Numbers of 64 and above: the dup2 calls below overwrite neither.
        const int board = fcntl(shared, F_DUPFD, 64), in = fcntl(input[0], F_DUPFD, 64);
        if (board < 0 || in < 0 || dup2(in, 0) < 0 || dup2(board, BOARD_DESCRIPTOR) < 0) _exit(126);
        close(board);
        close(in);
        execl(v->program, v->program, directory, number, "target", plant, (char *)NULL);
        _exit(127);
    }
    close(shared);
    close(input[0]);
    v->input = input[1];
    for (int i = 0; i < BOARD_THREADS; i++) v->seen[i] = v->since[i] = 0;
}

static uint64_t own_memory_kib(pid_t pid) {
    char path[64], line[256];
    uint64_t kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "RssAnon: %lu", &kib) == 1) break;
    if (file) fclose(file);
    return kib;
}

// The processor time that a thread has taken, or all threads of a process. Nanoseconds; 0: it has ended.
static uint64_t thread_time(pid_t pid, uint64_t thread) {
    char path[64];
    uint64_t ran = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%llu/schedstat", pid, (unsigned long long)thread);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%lu", &ran) != 1) ran = 0;
    if (file) fclose(file);
    return ran;
}
static uint64_t process_time(pid_t pid) {
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static uint64_t call_limit(const target *v) {
    return CALL_NS *
           (v->sanitized ? SLOWER_SANITIZED
            : v->swift   ? SLOWER_UNOPTIMIZED
                         : SLOWER) *
           (v->swift ? CALLS_OF_SWIFT : 1);
}

// The processor time of the running call, as the kernel accounts it. 0: no call runs.
static uint64_t time_of_call(const target *v, const board_thread *t) {
    const uint64_t calls = t->calls, from = t->from;
    if (calls % 2 == 0) return 0;
    const uint64_t time = thread_time(v->pid, t->thread);
    return t->calls == calls && time > from ? time - from : 0;
}

// Checks a target from outside: the time of its calls, and its memory. False: it has failed.
static bool check_target(target *v) {
    const uint64_t now = now_ms(), limit = call_limit(v);
    for (int i = 0; i < BOARD_THREADS; i++) {
        const board_thread *t = &v->board[i];
        const uint64_t calls = t->calls;
        if (calls != v->seen[i] || calls % 2 == 0) {
            v->seen[i] = calls;
            v->since[i] = now;
        } else if (now - v->since[i] > HANG_MS) {
            fail("%s: %s has not returned for %d s", v->program, t->call, HANG_MS / 1000);
            v->failure = "hang";
        }
        const uint64_t running = time_of_call(v, t);
        if (running > limit) {
            fail("%s: %s has taken %llu ms of processor time and goes on", v->program, t->call,
                 (unsigned long long)running / 1000000);
            v->failure = "slow";
        } else if (t->longest > limit) {
            fail("%s: %s took %llu ms of processor time", v->program, t->longest_call,
                 (unsigned long long)t->longest / 1000000);
            v->failure = "slow";
        }
    }
    const uint64_t kib = own_memory_kib(v->pid);
    if (!v->sanitized && kib > most_memory) most_memory = kib;
    if (kib > MEMORY_KIB * (v->sanitized ? 4 : 1)) {
        fail("%s has taken %llu MiB", v->program, (unsigned long long)kib >> 10);
        v->failure = "memory";
    }
    return v->failure == NULL;
}

// Ends a target's round: closes its input, and checks that it ends with status 0.
static void finish(target *v) {
    close(v->input);
    int status = 0;
    const uint64_t from = now_ms(), used = process_time(v->pid);
    while (waitpid(v->pid, &status, WNOHANG) == 0) {
        // The library's own threads have no page on the board: the whole process is measured.
        const uint64_t time = process_time(v->pid), since = time > used ? time - used : 0;
        if (since > most_time && !v->sanitized) most_time = since;
        if (!v->failure && since > END_NS * (v->sanitized ? 4 : 1)) {
            fail("%s has taken %llu ms of processor time since it was asked to end", v->program,
                 (unsigned long long)since / 1000000);
            v->failure = "busy";
        }
        if (!check_target(v) || now_ms() - from > HANG_MS) {
            if (!v->failure) {
                for (int i = 0; i < BOARD_THREADS; i++)
                    if (v->board[i].calls % 2) printf("  thread %d is in %s\n", i, v->board[i].call);
                fail("%s did not end within %d s", v->program, HANG_MS / 1000);
                v->failure = "hang";
            }
            kill(v->pid, SIGKILL);
            waitpid(v->pid, &status, 0);
            status = 0;
            break;
        }
        usleep(1000);
    }
    if (!v->failure && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
        for (int i = 0; i < BOARD_THREADS; i++)
            if (v->board[i].calls) printf("  thread %d: %s\n", i, v->board[i].call);
        if (WIFSIGNALED(status))
            fail("%s died of signal %d (%s)", v->program, WTERMSIG(status), strsignal(WTERMSIG(status)));
        else
            fail("%s ended with status %d", v->program, WEXITSTATUS(status));
        v->failure = "crash";
    }
    // Checks the calls since the last check.
    if (!v->failure) (void)check_target(v);
    for (int i = 0; i < BOARD_THREADS; i++) {
        total_calls += v->board[i].calls / 2;
        if (!v->sanitized && v->board[i].longest > longest) {
            longest = v->board[i].longest;
            memcpy(longest_call, v->board[i].longest_call, sizeof longest_call);
        }
    }
    munmap(v->board, BOARD_THREADS * sizeof(board_thread));
}

// MARK: Rounds

static void empty_directory(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'/tidings.*", directory);
    if (system(command) != 0) printf("note: can't empty %s\n", directory);
}

static void make_centers(void) {
    for (int open = 0; open < 2; open++) {
        const tidings_configuration configuration = {
            .directory = directory,
            .maximum_payload = 65536,
            .slots = 256,
            .participants = 64,
            .observers = 64,
            .names = 256,
            .mode = open ? 0644 : 0600,
        };
        tidings_center *center;
        const int result = tidings_open(open ? "open" : "closed", &configuration, &center);
        if (result != 0) {
            printf("can't run: %s\n", tidings_last_error());
            exit(2);
        }
        tidings_close(center);
    }
}

static uint64_t some_kinds(uint64_t *random) {
    uint64_t kinds = 0;
    for (uint64_t n = 1 + random_from(random) % 3; n-- > 0;) kinds |= UINT64_C(1) << random_from(random) % WORD_KINDS;
    // One kind of forty, and most of the words of presence and of calls.
    if (random_from(random) % 4 == 0) kinds |= UINT64_C(1) << (random_from(random) % 2 ? WORD_PRESENCE : WORD_CALL);
    // Rare: a center that seems removed ends the round's work at once.
    if (random_from(random) % 16) kinds &= ~(UINT64_C(1) << WORD_REMOVED);
    kinds &= ~(UINT64_C(1) << WORD_NONE);
    return kinds ? kinds : UINT64_C(1) << WORD_COUNT;
}

// Writes the word that the mistakes of target.c trust, in both centers: a target makes its mistake before its first
// post. As an address the value is none, as a bound it has no end, and modulo 72 it is 64, behind a table of 64 bytes.
#define SPOILT ((UINT64_C(1) << 62) + 24)
static void spoil_revoked(void) {
    _Static_assert(SPOILT % 72 == 64, "behind the table of the planted overread");
    for (int open = 0; open < 2; open++) {
        uint64_t size;
        uint8_t *base = map_center(open ? "open" : "closed", O_RDWR, &size);
        need(base != NULL, "map a center");
        __atomic_store_n((uint64_t *)(void *)(base + offsetof(tidings__header, revoked)), SPOILT, __ATOMIC_SEQ_CST);
        munmap(base, size);
    }
}

// With a plant, a fixed word is the whole attack.
static void attack(target *targets, uint32_t count, uint64_t number, const char *plant, uint32_t ms) {
    uint64_t random = mixed(seed, number);
    empty_directory();
    make_centers();
    if (plant) spoil_revoked();
    for (uint32_t i = 0; i < count; i++) start(&targets[i], random_from(&random), plant);
    pid_t attackers[5];
    uint32_t running = 0;
    const uint64_t kinds[4] = {some_kinds(&random), some_kinds(&random),
                               number % 3 == 0 ? ANYWHERE : some_kinds(&random), some_kinds(&random)};
    printf("round %llu: words %#llx %#llx %#llx %#llx\n", (unsigned long long)number, (unsigned long long)kinds[0],
           (unsigned long long)kinds[1], (unsigned long long)kinds[2], (unsigned long long)kinds[3]);
    fflush(stdout);
    for (uint32_t i = 0; i < 5 && !plant; i++) {
        if (i == 4 && geteuid() != 0) break;
        const uint64_t with = random_from(&random) | 1;
        const pid_t pid = fork();
        need(pid >= 0, "fork");
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (uint32_t v = 0; v < count; v++) close(targets[v].input);
            if (i == 4) reader(with);
            writer(i % 2 ? "open" : "closed", with, kinds[i]);
        }
        attackers[running++] = pid;
    }
    const uint64_t until = now_ms() + ms;
    while (now_ms() < until) {
        bool failed = false;
        for (uint32_t i = 0; i < count; i++) {
            siginfo_t ended = {0};
            waitid(P_PID, (id_t)targets[i].pid, &ended, WEXITED | WNOHANG | WNOWAIT);
            failed = !check_target(&targets[i]) || ended.si_pid || failed;
        }
        if (failed) break;
        usleep(20000);
    }
    for (uint32_t i = 0; i < count; i++) finish(&targets[i]);
    while (running-- > 0) {
        int status;
        kill(attackers[running], SIGKILL);
        waitpid(attackers[running], &status, 0);
        if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) fail("an attacker died of signal %d", WTERMSIG(status));
    }
}

// Each mistake is certain, and must be found as what it is. A target without one passes with the same word.
static int self_test(const char *plain, const char *sanitized) {
    static const struct {
        const char *plant, *failure;
        bool sanitized;
    } plants[] = {
        {"none", NULL, false},   {"none", NULL, true},        {"crash", "crash", false},
        {"hang", "slow", false}, {"memory", "memory", false}, {"overread", "crash", true},
    };
    uint32_t missed = 0;
    for (uint32_t i = 0; i < sizeof plants / sizeof plants[0]; i++) {
        const char *const wanted = plants[i].failure;
        target v = {.program = plants[i].sanitized ? sanitized : plain, .sanitized = plants[i].sanitized};
        // A target with a mistake has the time that counts as a hang, and ends at once when the mistake is found.
        attack(&v, 1, 1000 + i, plants[i].plant, wanted ? 5 * HANG_MS : ROUND_MS);
        const bool so = wanted ? v.failure && strcmp(v.failure, wanted) == 0 : !v.failure;
        if (wanted) printf("%s: planted %s\n", so ? "found" : "NOT FOUND", plants[i].plant);
        if (!wanted && !so) printf("a target without a mistake failed: %s\n", v.failure);
        missed += !so;
    }
    return missed != 0;
}

int main(int argc, char **argv) {
    const bool testing = argc == 5 && strcmp(argv[1], "--self-test") == 0;
    if (!testing && (argc < 5 || strcmp(argv[1], "--seconds") != 0 || argc - 4 > TARGETS_MAX)) {
        fprintf(stderr, "usage: adversary --seconds N SEED TARGET… | adversary --self-test SEED TARGET SANITIZED\n");
        return 64;
    }
    signal(SIGPIPE, SIG_IGN);
    seed = strtoull(argv[testing ? 2 : 3], NULL, 10);
    snprintf(directory, sizeof directory, "/dev/shm/tidings-adversary.XXXXXX");
    need(mkdtemp(directory) != NULL && chmod(directory, 0755) == 0, "a directory in /dev/shm");
    attacks = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(attacks != MAP_FAILED, "mmap");
    if (geteuid() != 0) printf("NOT TRIED: hostile-reader: needs root, for another user id\n");
    printf("seed %llu\n", (unsigned long long)seed);
    int result;
    if (testing) {
        result = self_test(argv[3], argv[4]);
    } else {
        target targets[TARGETS_MAX] = {0};
        const uint32_t count = (uint32_t)argc - 4;
        for (uint32_t i = 0; i < count; i++) {
            targets[i].sanitized = strncmp(argv[4 + i], "sanitized:", 10) == 0;
            targets[i].program = argv[4 + i] + (targets[i].sanitized ? 10 : 0);
            targets[i].swift = strncmp(targets[i].program, "swift:", 6) == 0;
            targets[i].program += targets[i].swift ? 6 : 0;
        }
        const uint64_t until = now_ms() + 1000 * strtoull(argv[2], NULL, 10);
        uint64_t rounds = 0;
        while (now_ms() < until && !failures) attack(targets, count, rounds++, NULL, ROUND_MS);
        printf("%llu rounds, %llu calls by targets, %llu words written, %llu acts of a reader; longest call %s, %.1f "
               "ms of processor time; longest end %.1f ms; most memory %llu MiB; %u failed\n",
               (unsigned long long)rounds, (unsigned long long)total_calls, (unsigned long long)attacks[0],
               (unsigned long long)attacks[1], longest_call, (double)longest / 1e6, (double)most_time / 1e6,
               (unsigned long long)most_memory >> 10, failures);
        if (rounds == 0 || total_calls < 1000 || attacks[0] < 1000)
            fail("hardly anything was attacked, so nothing is proved");
        result = failures != 0;
    }
    empty_directory();
    rmdir(directory);
    return result;
}
