// Directories where another user may rename files, and so put another center in a center's place.
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>

#include "conditions.h"
#include "foreign.h"
#include "privileges.h"

static const uint32_t ways[] = {0, TIDINGS_OPEN_EXISTING, TIDINGS_OPEN_EXCLUSIVE, TIDINGS_OPEN_READ_ONLY,
                                TIDINGS_OPEN_EXISTING | TIDINGS_OPEN_READ_ONLY};
#define WAYS (sizeof ways / sizeof ways[0])

static int try_open_in(const char *directory, uint32_t flags) {
    tidings_center *opened = (void *)1;
    const tidings_configuration configuration = {.directory = directory, .slots = 256, .flags = flags};
    const int result = tidings_open("scenario", &configuration, &opened);
    CHECK((result == 0) == (opened != NULL), "result %d, and a handle all the same", result);
    tidings_close(opened);
    return result;
}

static void set_mode(const char *directory, mode_t mode) { CHECK(chmod(directory, mode) == 0, "%s", strerror(errno)); }

// Refused before a file is opened or made, whichever way it is asked for.
void a_directory_where_other_users_may_rename_is_refused_unless_asked_for(void) {
    const char *directory = getenv("TIDINGS_DIRECTORY");
    const mode_t shared[] = {0777, 0757, 0722, 0702, 02777, 0775, 0770, 0720, 02775};
    const mode_t fine[] = {0700, 0755, 0711, 02755, 01777, 01775, 01770, 03777};
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++) {
        const bool all = shared[i] & S_IWOTH;
        set_mode(directory, shared[i]);
        for (size_t way = 0; way < WAYS; way++) {
            REFUSED(try_open(ways[way]), EPERM, all ? "every user may rename" : "its group may rename");
            REFUSED(try_open(ways[way]), EPERM, all ? "chmod +t or go-w" : "chmod +t or g-w");
            REFUSED(try_open(ways[way]), EPERM, "TIDINGS_OPEN_SHARED_DIRECTORY");
        }
        CHECK(files_there() == 0, "%u files were made", files_there());
        OK(try_open(TIDINGS_OPEN_SHARED_DIRECTORY));
        // One that is there is refused as well, and left as it was. It can be removed.
        const print before = print_of(center_path());
        for (size_t way = 0; way < WAYS; way++) REFUSED(try_open(ways[way]), EPERM, "may rename");
        same_print(&before, center_path());
        OK(try_open(TIDINGS_OPEN_SHARED_DIRECTORY | TIDINGS_OPEN_EXISTING));
        OK(tidings_remove("scenario", NULL));
        CHECK(files_there() == 0, "%u files", files_there());
    }
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        set_mode(directory, fine[i]);
        OK(try_open(0));
        OK(try_open(TIDINGS_OPEN_EXISTING | TIDINGS_OPEN_SHARED_DIRECTORY));
        OK(tidings_remove("scenario", NULL));
    }
}

static char beside[600], link_to[600];

static void make_directory_beside(void) {
    snprintf(beside, sizeof beside, "%s/beside", getenv("TIDINGS_DIRECTORY"));
    snprintf(link_to, sizeof link_to, "%s/link", getenv("TIDINGS_DIRECTORY"));
    CHECK(mkdir(beside, 0700) == 0, "%s", strerror(errno));
}

// What counts is the directory at the end of a symbolic link. One that leads nowhere is no directory.
void the_directory_is_looked_at_where_a_link_leads(void) {
    make_directory_beside();
    CHECK(symlink(beside, link_to) == 0, "%s", strerror(errno));
    OK(try_open_in(link_to, 0));
    set_mode(beside, 0777);
    for (size_t way = 0; way < WAYS; way++) REFUSED(try_open_in(link_to, ways[way]), EPERM, "may rename");
    OK(try_open_in(link_to, TIDINGS_OPEN_SHARED_DIRECTORY));
    set_mode(beside, 0700);
    OK(tidings_remove("scenario", &(tidings_configuration){.directory = beside}));
    CHECK(rmdir(beside) == 0, "%s", strerror(errno));
    REFUSED(try_open_in(link_to, 0), ENOENT, "does not exist; create it");
    REFUSED(try_open_in(link_to, TIDINGS_OPEN_EXCLUSIVE), ENOENT, "does not exist; create it");
    REFUSED(try_open_in(link_to, TIDINGS_OPEN_EXISTING), ENOENT, "there is none");
    REFUSED(try_open_in(link_to, TIDINGS_OPEN_READ_ONLY), ENOENT, "there is none");
    make_file(beside, "", 0);
    REFUSED(try_open_in(beside, 0), ENOTDIR, "to a directory");
    REFUSED(try_open_in(link_to, 0), ENOTDIR, "to a directory");
    CHECK(unlink(beside) == 0 && symlink(link_to, beside) == 0, "%s", strerror(errno));
    REFUSED(try_open_in(link_to, 0), ELOOP, "check the directory");
}

static char aside[620];
static _Atomic bool *ended;
static _Atomic uint32_t *attempts;

// Returns when every way to open has been tried once from begin to end.
static void let_each_way_be_tried(void) {
    const uint32_t before = *attempts;
    while (!*ended && *attempts - before <= WAYS) usleep(100);
}

// In every 64th round it waits, once where opening is refused and once where it succeeds.
static void moves_it_to_and_fro(void) {
    for (uint32_t round = 0; !*ended; round++) {
        CHECK(rename(beside, aside) == 0, "%s", strerror(errno));
        set_mode(aside, 0777);
        CHECK(rename(aside, beside) == 0, "%s", strerror(errno));
        if (round % 64 == 0) let_each_way_be_tried();
        set_mode(beside, 0700);
        if (round % 64 == 0) let_each_way_be_tried();
    }
}

// A process that may write to the directory's parent decides which directory it is. Opening reports what it met.
void a_directory_that_comes_and_goes_faults_no_process(void) {
    make_directory_beside();
    snprintf(aside, sizeof aside, "%s.aside", beside);
    ended = shared_memory(sizeof *ended);
    attempts = shared_memory(sizeof *attempts);
    const pid_t mover = start(moves_it_to_and_fro);
    uint32_t opened = 0, refused = 0;
    for (; *attempts < ROUNDS(20000); ++*attempts) {
        const int result = try_open_in(beside, ways[*attempts % WAYS]);
        if (result == 0)
            opened++;
        else if (result == -EPERM)
            refused++;
        else
            CHECK(result == -ENOENT || result == -EEXIST, "%d", result);
    }
    CHECK(opened > 0 && refused > 0, "%u opened, %u refused", opened, refused);
    *ended = true;
    ends_well(mover);
}

// The directory may hold anything: no file in it is opened.
void a_directory_that_can_not_be_looked_at_is_refused(void) {
    OK(try_open(0));
    const refusal no_look = {SYS_newfstatat, EACCES, 3, ~0u, 0, 0};
    refuse_calls(&no_look, 1);
    for (size_t way = 0; way < WAYS; way++) REFUSED(try_open(ways[way]), EACCES, "check its permissions and its");
    OK(try_open(TIDINGS_OPEN_SHARED_DIRECTORY));
}

// As the variable says it; without one, or with an empty one, /dev/shm.
void the_default_directory_is_told(void) {
    const char *variable = getenv("TIDINGS_DIRECTORY");
    CHECK(strcmp(tidings_default_directory(), variable) == 0, "%s", tidings_default_directory());
    tidings_center *opened;
    OK(tidings_open("scenario", NULL, &opened));
    CHECK(strncmp(tidings_path(opened), tidings_default_directory(), strlen(variable)) == 0, "%s",
          tidings_path(opened));
    tidings_close(opened);
    CHECK(setenv("TIDINGS_DIRECTORY", "", 1) == 0, "%s", strerror(errno));
    CHECK(strcmp(tidings_default_directory(), "/dev/shm") == 0, "%s", tidings_default_directory());
    CHECK(unsetenv("TIDINGS_DIRECTORY") == 0, "%s", strerror(errno));
    CHECK(strcmp(tidings_default_directory(), "/dev/shm") == 0, "%s", tidings_default_directory());
}

static void opens_its_own(void) {
    become(ANOTHER_USER);
    for (size_t way = 0; way < WAYS; way++) REFUSED(try_open(ways[way]), EPERM, "belongs to user 65533");
    OK(try_open(TIDINGS_OPEN_SHARED_DIRECTORY));
    OK(tidings_remove("scenario", NULL));
}

static void opens_that_users(void) {
    become(ANOTHER_USER);
    const tidings_configuration configuration = {.flags = TIDINGS_OPEN_OWNER, .owner = 65533};
    OK(tidings_open("scenario", &configuration, &(tidings_center *){NULL}));
}

static void creates_one_for_all(void) {
    become(65533);
    OK(tidings_open("scenario", &(tidings_configuration){.slots = 256, .mode = 0666}, &(tidings_center *){NULL}));
}

static void may_not_search(void) {
    become(ANOTHER_USER);
    for (size_t way = 0; way < WAYS; way++) REFUSED(try_open_in(beside, ways[way]), EACCES, "permission");
}

// Sticky or not, a directory's owner renames what is there. Root's directory is trusted, and so is that of the center's
// owner, because this user can replace the center anyway.
void a_directory_of_another_user_is_refused_unless_asked_for(void) {
    const char *directory = getenv("TIDINGS_DIRECTORY");
    const mode_t modes[] = {01777, 0755, 0777};
    for (int i = 0; i < 3; i++) {
        CHECK(chown(directory, 65533, 65533) == 0, "%s", strerror(errno));
        set_mode(directory, modes[i]);
        if (i == 0) ends_well(start(opens_its_own));
        // Also by root.
        REFUSED(try_open(0), EPERM, i < 2 ? "belongs to user 65533" : "every user may rename");
        if (i == 2) continue;
        ends_well(start(creates_one_for_all));
        ends_well(start(opens_that_users));
        CHECK(files_there() == 1, "%u files", files_there());
        files_end();
        CHECK(chown(directory, 0, 0) == 0, "%s", strerror(errno));
        OK(try_open(0));
        OK(tidings_remove("scenario", NULL));
    }
    CHECK(chown(directory, 0, 0) == 0, "%s", strerror(errno));
    set_mode(directory, 0755);
    make_directory_beside();
    strcat(beside, "/below");
    CHECK(mkdir(beside, 0755) == 0, "%s", strerror(errno));
    ends_well(start(may_not_search));
}

static void opens_where_it_is_nobodys(void) {
    if (unshare(CLONE_NEWUSER) != 0) return;  // not permitted here
    CHECK(write_line("/proc/self/setgroups", "deny") && write_line("/proc/self/uid_map", "0 0 1") &&
              write_line("/proc/self/gid_map", "0 0 1"),
          "%s", strerror(errno));
    struct stat status;
    CHECK(stat(getenv("TIDINGS_DIRECTORY"), &status) == 0 && status.st_uid != 0, "it has an owner here");
    works(join_center(256));
}

// In a user namespace /dev/shm seems to belong to a user that the namespace does not have: root outside has no number
// inside.
void a_directory_of_an_unknown_user_is_used(void) {
    CHECK(chown(getenv("TIDINGS_DIRECTORY"), 65533, 65533) == 0, "%s", strerror(errno));
    set_mode(getenv("TIDINGS_DIRECTORY"), 01777);
    REFUSED(try_open(0), EPERM, "belongs to user 65533");
    ends_well(start(opens_where_it_is_nobodys));
}
