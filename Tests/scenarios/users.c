// Centers of other users: theirs, unless they said otherwise.
#include <fcntl.h>

#include "foreign.h"
#include "privileges.h"

static const char *own_name = "scenario";
static pipe_pair ready, done;

static void make_center_as_another(void) {
    become(ANOTHER_USER);
    tidings_center *center = join_center(256);
    works(center);
    tidings_close(center);
}

// Under our name and another's ownership, whether or not its permissions would let us in.
void a_center_of_another_user_is_refused_and_left_alone(void) {
    CHECK(chmod(getenv("TIDINGS_DIRECTORY"), 01777) == 0, "%s", strerror(errno));
    ends_well(start(make_center_as_another));
    char theirs[512];
    snprintf(theirs, sizeof theirs, "%s", path_of("tidings.65534.scenario"));
    const mode_t modes[] = {0600, 0666, 0, 0444};
    for (int i = 0; i < 4; i++) {
        CHECK(chmod(theirs, modes[i]) == 0 && rename(theirs, center_path()) == 0, "%s", strerror(errno));
        const print before = print_of(center_path());
        REFUSED(try_open(0), EPERM, "belongs to user 65534");
        REFUSED(try_open(TIDINGS_OPEN_EXISTING), EPERM, "belongs to user 65534");
        REFUSED(try_open(TIDINGS_OPEN_EXCLUSIVE), EEXIST, own_name);
        REFUSED(tidings_remove(own_name, NULL), EPERM, "belongs to user 65534");
        same_print(&before, center_path());
        CHECK(rename(center_path(), theirs) == 0, "%s", strerror(errno));
    }
    // Each has a center of that name.
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .flags = TIDINGS_OPEN_EXCLUSIVE});
    works(center);
    CHECK(files_there() == 2, "%u files", files_there());
}

static void tries_the_centers_of_root(void) {
    become(ANOTHER_USER);
    told(&ready);
    REFUSED(try_open(0), EPERM, "belongs to user 0");
    REFUSED(tidings_remove(own_name, NULL), EPERM, "belongs to user 0");
    tell(&done);
    told(&ready);
    REFUSED(try_open(0), EACCES, "permission");
    tell(&done);
    told(&ready);
    // Its own, but without permission.
    REFUSED(try_open(0), EACCES, "permission");
}

// The same from the side of a user without any right to it.
void one_without_permission_is_told_so(void) {
    ready = pipe_open();
    done = pipe_open();
    const pid_t pid = start(tries_the_centers_of_root);
    char name[512];
    snprintf(name, sizeof name, "%s", path_of("tidings.65534.scenario"));
    CHECK(chmod(getenv("TIDINGS_DIRECTORY"), 01777) == 0, "%s", strerror(errno));
    tidings_center *center = join_center(256);
    works(center);
    tidings_close(center);
    CHECK(rename(center_path(), name) == 0, "%s", strerror(errno));
    const print before = print_of(name);
    tell(&ready);
    told(&done);
    same_print(&before, name);
    CHECK(rename(name, center_path()) == 0 && chmod(getenv("TIDINGS_DIRECTORY"), 0755) == 0, "%s", strerror(errno));
    tell(&ready);  // it may create no file there
    told(&done);
    CHECK(files_there() == 1, "%u files", files_there());
    CHECK(rename(center_path(), name) == 0 && chown(name, ANOTHER_USER, ANOTHER_USER) == 0 && chmod(name, 0) == 0, "%s",
          strerror(errno));
    tell(&ready);
    ends_well(pid);
}

static void posts_and_observes_as_another(void) {
    become(ANOTHER_USER);
    tidings_center *center = join_center(256);
    tidings_observer *observer = observer_of(center, NAME);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tell(&ready);
    for (uint32_t i = 0; i < 2000; i++) {
        post_number(publisher, i);
        const tidings_delivery delivery = receive(observer);
        CHECK(stamp_of(&delivery).number == i && delivery.uid == ANOTHER_USER, "number %u of user %u",
              stamp_of(&delivery).number, delivery.uid);
    }
    CHECK(statistics_of(center).posted == 2000 && statistics_of(center).participants == 1,
          "another participant was there");
}

// At the same time, under the same name.
void two_users_of_one_directory_do_not_meet(void) {
    ready = pipe_open();
    CHECK(chmod(getenv("TIDINGS_DIRECTORY"), 01777) == 0, "%s", strerror(errno));
    tidings_center *center = join_center(256);
    tidings_observer *observer = observer_of(center, NAME);
    tidings_publisher *publisher = publisher_of(center, NAME);
    const pid_t pid = start(posts_and_observes_as_another);
    told(&ready);
    for (uint32_t i = 0; i < 2000; i++) {
        post_number(publisher, 5000 + i);
        const tidings_delivery delivery = receive(observer);
        CHECK(stamp_of(&delivery).number == 5000 + i && delivery.uid == 0, "number %u of user %u",
              stamp_of(&delivery).number, delivery.uid);
    }
    ends_well(pid);
    CHECK(statistics_of(center).posted == 2000 && files_there() == 2, "they met");
}

static tidings_center *inherited;
static tidings_publisher *publisher_of_inherited;

static void posts_what_it_may(void) {
    const int result = tidings_post(publisher_of_inherited, "", 0, NULL, NULL);
    CHECK(result == 0 || result == -ECHILD, "%d", result);
    if (result != 0) CHECK(strstr(tidings_last_error(), "open the center again"), "no advice");
}

// As daemons do once they have started. What it has open it keeps, and may go on growing; a child that has to open it
// anew is told that it can't.
void a_process_that_becomes_another_user_goes_on_with_what_it_has(void) {
    // Where it may look, and finds nothing of its own.
    CHECK(chmod(getenv("TIDINGS_DIRECTORY"), 0755) == 0, "%s", strerror(errno));
    inherited = join_center(256);
    publisher_of_inherited = publisher_of(inherited, NAME);
    become(ANOTHER_USER);
    works(inherited);
    char name[32];
    tidings_observer *observer = observer_of_nothing(inherited);
    for (uint32_t i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "name.%u", i);
        OK(tidings_observer_add(observer, name, strlen(name), NULL, 0, 0, &(uint32_t){0}));
    }
    for (int i = 0; i < 4; i++) ends_well(start(posts_what_it_may));
    works(inherited);
    REFUSED(try_open(TIDINGS_OPEN_EXISTING), ENOENT, own_name);
}
