// Files that creators and removers leave when they are killed: they are found and deleted. A file of a process still at
// work is never deleted.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "center/center.h"
#include "conditions.h"
#include "foreign.h"

#define MOST 8

typedef struct found {
    uint32_t count, deleted;
    int32_t kinds[MOST];
} found;

static bool note(void *context, const tidings_stale_file *stale_file) {
    found *all = context;
    CHECK(all->count < MOST && stale_file->file[0] == 't', "\"%s\"", stale_file->file);
    all->kinds[all->count++] = stale_file->kind;
    all->deleted += stale_file->deleted;
    return true;
}

static found search_for(bool delete_them) {
    found all = {0};
    const int result = tidings_stale_files(NULL, delete_them, note, &all);
    CHECK(result == (int)all.count, "%d", result);
    CHECK(all.deleted == (delete_them ? all.count : 0), "%u of %u are deleted", all.deleted, all.count);
    return all;
}

static const char *born_path(void) {
    char name[64];
    snprintf(name, sizeof name, "tidings.%u.born", (unsigned)geteuid());
    return path_of(name);
}

static uint32_t mode;
static bool unnamed;
static pipe_pair ready;

static void creates(void) {
    // No file without a name, so that there is one to be left.
    const refusal no_unnamed_files = {SYS_openat, EOPNOTSUPP, 2, O_TMPFILE & ~O_DIRECTORY, O_TMPFILE & ~O_DIRECTORY, 0};
    if (!unnamed) refuse_calls(&no_unnamed_files, 1);
    tell(&ready);
    tidings_center *center;
    OK(tidings_open("born", &(tidings_configuration){.mode = mode}, &center));
    tidings_close(center);
}

// Killed, or stopped, while there is something in the directory that isn't a center yet; false: too early or too late.
// `*pid` is 0 if it has ended.
static bool half_born(int signal, pid_t *pid) {
    *pid = start(creates);
    told(&ready);
    spin_cycles(random_below(3000000));
    int status;
    CHECK(kill(*pid, signal) == 0 && waitpid(*pid, &status, WUNTRACED) == *pid, "%s", strerror(errno));
    if (!WIFSTOPPED(status)) *pid = 0;
    return access(born_path(), F_OK) != 0 && files_there() > 0;
}

// Alive: its files are left alone, however long it stands still, but for the moment between making one and holding it.
// Then it makes another. True: it was met half-way.
static bool stopped_and_left_alone(void) {
    pid_t pid;
    const bool half = half_born(SIGSTOP, &pid);
    bool left_alone = false;
    if (pid) {
        left_alone = half && search_for(true).count == 0;
        CHECK(kill(pid, SIGCONT) == 0, "%s", strerror(errno));
        ends_well(pid);
    }
    CHECK(search_for(false).count == 0, "it was finished");
    OK(tidings_remove("born", NULL));
    CHECK(files_there() == 0, "%u files", files_there());
    return left_alone;
}

void files_of_killed_creators_are_found_and_deleted(void) {
    ready = pipe_open();
    mode = 0600;
    uint32_t killed = 0, stopped = 0;
    for (uint32_t round = 0; killed < 4; round++) {
        CHECK(round < 5000, "no creator was caught half-way");
        pid_t pid;
        if (half_born(SIGKILL, &pid)) {
            killed++;
            const found seen = search_for(false);
            CHECK(seen.count == files_there() && seen.kinds[0] == TIDINGS_STALE_FILE_UNFINISHED,
                  "%u of %u files, the first of kind %d", seen.count, files_there(), seen.kinds[0]);
            (void)search_for(true);
            CHECK(search_for(false).count == 0, "they are deleted");
        }
        if (access(born_path(), F_OK) == 0) OK(tidings_remove("born", NULL));
        CHECK(files_there() == 0, "round %u: %u files", round, files_there());
    }
    for (uint32_t round = 0; stopped < 2; round++) {
        CHECK(round < 5000, "no creator was caught half-way");
        stopped += stopped_and_left_alone();
    }
}

static void dies_between_writers_file_and_center(void) {
    // The one call in between.
    const refusal no_wide_mode = {SYS_fchmod, 0, 1, ~0u, 0644, 0};
    refuse_calls(&no_wide_mode, 1);
    tidings_center *center;
    (void)tidings_open("born", &(tidings_configuration){.mode = 0644}, &center);
}

void writers_files_of_killed_creators_are_found_and_deleted(void) {
    ready = pipe_open();
    int status;
    for (int round = 0; round < 4; round++) {
        const pid_t pid = start(dies_between_writers_file_and_center);
        CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "status %x",
              (unsigned)status);
        const found seen = search_for(false);
        CHECK(files_there() == 1 && seen.count == 1 && seen.kinds[0] == TIDINGS_STALE_FILE_WRITERS_FILE,
              "%u of %u files", seen.count, files_there());
        (void)search_for(true);
        CHECK(files_there() == 0 && search_for(false).count == 0, "%u files", files_there());
    }
    mode = 0644;
    unnamed = true;
    for (int round = 0; round < 100; round++) stopped_and_left_alone();
}

void centers_half_removed_are_found_and_deleted_and_no_others(void) {
    tidings_center *plain = join_center(256), *observable;
    OK(tidings_open("observable", &(tidings_configuration){.slots = 256, .mode = 0644}, &observable));
    keep(observable);
    char name[64];
    const char *strangers[] = {"tidings.%u.notes",
                               "tidings.%u..notes",
                               "tidings.%u..0123456789abcdef.text",
                               "tidings.%u..0123456789abcdefg",
                               "tidings.1%u..0123456789abcdef",
                               "other"};
    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, strangers[i], (unsigned)geteuid());
        make_file(path_of(name), "notes", 5);
    }
    CHECK(search_for(true).count == 0 && files_there() == 9, "%u files", files_there());
    // Both are marked, and their remover is dead. Their users go on; the names go, the writers file with its center.
    atomic_store(&plain->segment.header->removed.word, 1);
    atomic_store(&observable->segment.header->removed.word, 1);
    const found seen = search_for(false);
    CHECK(seen.count == 2 && seen.kinds[0] == TIDINGS_STALE_FILE_REMOVED && seen.kinds[1] == TIDINGS_STALE_FILE_REMOVED,
          "%u are found", seen.count);
    (void)search_for(true);
    CHECK(search_for(false).count == 0 && files_there() == 6, "%u files", files_there());
    // Its center was deleted by `rm`.
    OK(tidings_open("observable", &(tidings_configuration){.slots = 256, .mode = 0644}, &observable));
    keep(observable);
    snprintf(name, sizeof name, "tidings.%u.observable", (unsigned)geteuid());
    CHECK(unlink(path_of(name)) == 0 && search_for(true).count == 1 && files_there() == 6, "%u files", files_there());
}

static void looks_with_few_files(void) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0, "%s", strerror(errno));
    const int next = dup(STDERR_FILENO);
    close(next);
    for (rlim_t more = 0; more < 6; more++) {
        limit.rlim_cur = (rlim_t)next + more;
        CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0, "%s", strerror(errno));
        found all = {0};
        const int result = tidings_stale_files(NULL, true, note, &all);
        CHECK(all.count == 0, "%u files count as stale", all.count);
        CHECK(result == 0 || (more == 0 && result == -EMFILE), "%d", result);
    }
}

// A process that can't look at a center doesn't know which center the writers file belongs to.
void what_cannot_be_looked_at_is_left_alone(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .mode = 0644});
    ends_well(start(looks_with_few_files));
    CHECK(files_there() == 2, "%u files", files_there());
    OK(try_open(TIDINGS_OPEN_EXISTING));
    works(center);
}
