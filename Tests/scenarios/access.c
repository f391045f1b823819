// Which users, besides the owner, may open which centers.
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>

#include "foreign.h"
#include "privileges.h"

#define GROUP ((gid_t)65533)

static void become_member(void) {
    CHECK(setgroups(1, (const gid_t[]){GROUP}) == 0 && setresgid(ANOTHER_USER, ANOTHER_USER, ANOTHER_USER) == 0 &&
              setresuid(ANOTHER_USER, ANOTHER_USER, ANOTHER_USER) == 0,
          "%s", strerror(errno));
}

static void opens_as_a_member(void) {
    become_member();
    works(join_center_with((tidings_configuration){.flags = TIDINGS_OPEN_OWNER}));
}

static void is_refused_as_a_stranger(void) {
    become(ANOTHER_USER);
    tidings_center *center;
    REFUSED(tidings_open("scenario", &(tidings_configuration){.flags = TIDINGS_OPEN_OWNER}, &center), EACCES,
            "neither post nor observe");
    REFUSED(tidings_open("scenario", &(tidings_configuration){.flags = TIDINGS_OPEN_OWNER | TIDINGS_OPEN_READ_ONLY},
                         &center),
            EACCES, "neither post nor observe");
    REFUSED(tidings_open("mine", &(tidings_configuration){.flags = TIDINGS_OPEN_GROUP, .group = GROUP}, &center), EPERM,
            "a member of");
    REFUSED(
        tidings_create_sealed("mine", &(tidings_configuration){.flags = TIDINGS_OPEN_GROUP, .group = GROUP}, &center),
        EPERM, "a member of");
}

// A member of the group posts and observes like the owner. A user outside the group learns nothing.
void a_center_can_be_shared_with_a_group(void) {
    CHECK(chmod(getenv("TIDINGS_DIRECTORY"), 01777) == 0, "%s", strerror(errno));
    tidings_center *center = join_center_with(
        (tidings_configuration){.slots = 256, .mode = 0660, .flags = TIDINGS_OPEN_GROUP, .group = GROUP});
    CHECK(files_there() == 1, "no writers file where every reader may write");
    ends_well(start(opens_as_a_member));
    ends_well(start(is_refused_as_a_stranger));
    CHECK(files_there() == 1, "%u files", files_there());
    works(center);
    CHECK(tidings_reclaim(center) == 1, "it can tell that the member is gone");
}

static pipe_pair go;

static void tries_to_remove(void) {
    become_member();
    tidings_center *center = join_center_with((tidings_configuration){.flags = TIDINGS_OPEN_OWNER});
    tell(&go);
    for (uint32_t i = 0; i < 300; i++)
        REFUSED(tidings_remove("scenario", &(tidings_configuration){.flags = TIDINGS_OPEN_OWNER}), EPERM,
                "only its owner, user 0");
    post_number(publisher_of(center, "end"), 1);
}

// In a directory where each may delete only what it owns (/dev/shm): posters aren't told, not even for a moment, that
// their center is gone.
void a_user_that_may_write_and_not_delete_removes_nothing(void) {
    CHECK(chmod(getenv("TIDINGS_DIRECTORY"), 01777) == 0, "%s", strerror(errno));
    tidings_center *center = join_center_with(
        (tidings_configuration){.slots = 256, .mode = 0660, .flags = TIDINGS_OPEN_GROUP, .group = GROUP});
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *end = observer_of(center, "end");
    tidings_delivery delivery;
    go = pipe_open();
    const pid_t member = start(tries_to_remove);
    told(&go);
    siginfo_t ended = {0};
    while (tidings_next(end, 0, &delivery) != 0) {
        post_number(publisher, 1);
        CHECK(waitid(P_PID, (id_t)member, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                  (ended.si_pid == 0 || ended.si_status == 0),
              "the member failed");
    }
    ends_well(member);
    OK(tidings_remove("scenario", NULL));
    REFUSED(tidings_post(publisher, "x", 1, NULL, NULL), ESTALE, "removed");
}

// MARK: The writers file

static bool is_writers_file(const char *file) {
    const size_t length = strlen(file);
    return length > 8 && strcmp(file + length - 8, ".writers") == 0;
}

static const char *writers_file_path(void) {
    DIR *directory = opendir(getenv("TIDINGS_DIRECTORY"));
    CHECK(directory, "%s", strerror(errno));
    const char *path = NULL;
    for (const struct dirent *entry; !path && (entry = readdir(directory)) != NULL;)
        path = is_writers_file(entry->d_name) ? path_of(entry->d_name) : NULL;
    closedir(directory);
    CHECK(path, "there is no writers file");
    return path;
}

static void finds_no_way_to_write(void) {
    become(ANOTHER_USER);
    CHECK(open(writers_file_path(), O_RDONLY | O_CLOEXEC) < 0 && open(writers_file_path(), O_RDWR | O_CLOEXEC) < 0,
          "the writers file is only for posters");
}

// The writers file is deleted, belongs to another user, or is another inode. A poster is refused; a reader needs no
// writers file.
void a_writers_file_that_is_another_file_is_refused(void) {
    CHECK(chmod(getenv("TIDINGS_DIRECTORY"), 0755) == 0, "%s", strerror(errno));
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .mode = 0644}), *reader;
    works(center);
    CHECK(files_there() == 2, "%u files", files_there());
    ends_well(start(finds_no_way_to_write));
    char path[512], aside[520];
    snprintf(path, sizeof path, "%s", writers_file_path());
    snprintf(aside, sizeof aside, "%s.aside", path);
    CHECK(rename(path, aside) == 0, "%s", strerror(errno));
    for (int round = 0; round < 4; round++) {
        REFUSED(try_open(0), round == 3 ? ELOOP : EBADMSG, "belongs to it");
        OK(tidings_open("scenario", &(tidings_configuration){.flags = TIDINGS_OPEN_READ_ONLY}, &reader));
        tidings_close(reader);
        (void)unlink(path);
        if (round == 0) make_file(path, "", 0);
        if (round == 1) make_file(path, "", 0);
        if (round == 1) CHECK(chown(path, ANOTHER_USER, ANOTHER_USER) == 0, "%s", strerror(errno));
        if (round == 2) CHECK(symlink(aside, path) == 0, "%s", strerror(errno));
    }
    works(center);
    (void)unlink(path);
    CHECK(rename(aside, path) == 0, "%s", strerror(errno));
    OK(try_open(0));
    OK(tidings_remove("scenario", NULL));
    CHECK(files_there() == 0, "%u files", files_there());
    REFUSED(tidings_post(publisher_of(center, NAME), "x", 1, NULL, NULL), ESTALE, "removed");
    // Without it a center can still be removed.
    tidings_center *second = join_center_with((tidings_configuration){.slots = 256, .mode = 0644});
    CHECK(unlink(writers_file_path()) == 0, "%s", strerror(errno));
    OK(tidings_remove("scenario", NULL));
    CHECK(files_there() == 0, "%u files", files_there());
    REFUSED(tidings_post(publisher_of(second, NAME), "x", 1, NULL, NULL), ESTALE, "removed");
}

static void creates_or_opens(void) {
    told(&go);
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .mode = 0644});
    post_number(publisher_of(center, NAME), 1);
}

// A creator that loses the race for the name deletes its writers file.
void creators_of_one_observable_center_leave_two_files(void) {
    for (uint32_t round = 0; round < ROUNDS(20); round++) {
        go = pipe_open();
        pid_t pids[10];
        for (uint32_t i = 0; i < 10; i++) pids[i] = start(creates_or_opens);
        for (uint32_t i = 0; i < 10; i++) tell(&go);
        for (uint32_t i = 0; i < 10; i++) ends_well(pids[i]);
        CHECK(files_there() == 2, "%u files", files_there());
        tidings_center *center = join_center(256);
        CHECK(statistics_of(center).posted >= 10, "%lu posts", (unsigned long)statistics_of(center).posted);
        OK(tidings_remove("scenario", NULL));
        CHECK(files_there() == 0, "%u files", files_there());
        close(go.ends[0]);
        close(go.ends[1]);
    }
}
