// Other users, and centers that a user may only observe. They need root, which becomes another user.
#include <grp.h>
#include <sched.h>
#include <sys/stat.h>

#include "peer.h"

#define OTHER 4242u
#define GROUP 4300u

static channel ready, go;
static char theirs[64];

static void become(uint32_t user, gid_t group) {
    CHECK(setgroups(1, &group) == 0 && setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0, "errno %d",
          errno);
}

static void become_other(void) {
    CHECK(setgroups(0, NULL) == 0 && setresgid(OTHER, OTHER, OTHER) == 0 && setresuid(OTHER, OTHER, OTHER) == 0,
          "errno %d", errno);
}

static void write_configuration(const char *mode) {
    char path[512];
    const char *directory = getenv("TIDINGS_DIRECTORY");
    CHECK(chmod(directory, 01777) == 0, "errno %d", errno);
    snprintf(path, sizeof path, "%s/notify.conf", directory);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL, "errno %d", errno);
    fprintf(file, "# the system's names\ncenter = notify\n directory=%s # here\nowner = 0\ngroup = %u\nmode = %s\n",
            directory, GROUP, mode);
    fclose(file);
    chmod(path, 0644);
    setenv("TIDINGS_NOTIFY_CONFIGURATION", path, 1);
}

static void only_observes(void) {
    become_other();
    told(&go);
    int token, delivered;
    const int descriptor = descriptor_of("com.example.a", &delivered);
    OK(notify_register_check("com.example.a", &token));
    CHECK(is_new(token) && !is_new(token), "first");
    EXPECT(NOTIFY_STATUS_NOT_AUTHORIZED, notify_set_state(token, 1));
    EXPECT(NOTIFY_STATUS_NOT_AUTHORIZED, notify_post("com.example.a"));
    CHECK(!is_new(token), "nothing was posted");
    tell(&ready);
    CHECK(read_token(descriptor) == delivered, "delivered to a process that may only observe");
    CHECK(is_new(token) && !is_new(token), "new to a process that may only observe");
    uint64_t state;
    OK(notify_get_state(token, &state));
    CHECK(state == 6, "%llu", (unsigned long long)state);
    // Its own names are its own.
    char name[64];
    snprintf(name, sizeof name, "user.uid.%u.a", OTHER);
    const int own = check_of(name);
    OK(notify_set_state(own, 7));
    OK(notify_post(name));
    EXPECT(NOTIFY_STATUS_NOT_AUTHORIZED, notify_register_check("user.uid.0.a", &token));
    EXPECT(NOTIFY_STATUS_NOT_AUTHORIZED, notify_post("user.uid.0.a"));
}

void a_process_that_may_only_observe_is_told_so(void) {
    ready = channel_open(), go = channel_open();
    write_configuration("0644");
    // Before anything is open: what is open stays open when the process becomes another user.
    const pid_t pid = start(only_observes);
    const int token = check_of("com.example.a"), own = check_of("user.uid.0.a");
    CHECK(is_new(token) && is_new(own), "first");
    OK(notify_set_state(token, 6));
    tell(&go);
    told(&ready);
    OK(notify_post("com.example.a"));
    ends_well(pid);
    CHECK(is_new(token) && !is_new(own), "own");
}

static void posts_as_other(void) {
    become_other();
    told(&go);
    const int token = check_of("com.example.a");
    CHECK(is_new(token), "first");
    OK(notify_set_state(token, 8));
    OK(notify_post("com.example.a"));
    OK(notify_post(theirs));
    tell(&ready);
    told(&go);
    CHECK(is_new(token), "posted by another user");
}

void the_systems_names_are_everybodys_where_the_administrator_says_so(void) {
    ready = channel_open(), go = channel_open();
    snprintf(theirs, sizeof theirs, "user.uid.%u.a", OTHER);
    write_configuration("0666");
    const pid_t pid = start(posts_as_other);
    const int token = check_of("com.example.a");
    CHECK(is_new(token), "first");
    tell(&go);
    told(&ready);
    CHECK(is_new(token), "posted by another user");
    uint64_t state;
    OK(notify_get_state(token, &state));
    CHECK(state == 8, "%llu", (unsigned long long)state);
    OK(notify_post("com.example.a"));
    tell(&go);
    ends_well(pid);
}

static void is_of_the_group(void) {
    become(OTHER, GROUP);
    told(&go);
    const int token = check_of("com.example.a");
    CHECK(is_new(token), "first");
    OK(notify_post("com.example.a"));
    OK(notify_set_state(token, 9));
    CHECK(is_new(token), "own");
}

static void is_of_no_group(void) {
    become(OTHER + 1, OTHER + 1);
    told(&go);
    int token;
    EXPECT(NOTIFY_STATUS_NOT_AUTHORIZED, notify_register_check("com.example.a", &token));
    EXPECT(NOTIFY_STATUS_NOT_AUTHORIZED, notify_post("com.example.a"));
    const int own = check_of("self.a");
    CHECK(is_new(own), "names of the process itself go on");
}

void the_systems_names_are_a_groups_where_the_administrator_says_so(void) {
    go = channel_open();
    write_configuration("0660");
    const pid_t member = start(is_of_the_group), stranger = start(is_of_no_group);
    const int token = check_of("com.example.a");
    CHECK(is_new(token), "first");
    for (int i = 0; i < 2; i++) tell(&go);
    ends_well(member);
    ends_well(stranger);
    CHECK(is_new(token) && !is_new(token), "the member's");
    uint64_t state;
    OK(notify_get_state(token, &state));
    CHECK(state == 9, "%llu", (unsigned long long)state);
}

static channel heard;
static void has_its_own(void) {
    become_other();
    const int token = check_of(theirs);
    CHECK(is_new(token), "first");
    tell(&ready);
    told(&go);
    CHECK(is_new(token), "posted by root");
    OK(notify_post(theirs));
    tell(&heard);
}

static void wants_anothers(void) {
    become(OTHER + 1, OTHER + 1);
    int token;
    EXPECT(NOTIFY_STATUS_NOT_AUTHORIZED, notify_register_check(theirs, &token));
    EXPECT(NOTIFY_STATUS_NOT_AUTHORIZED, notify_post(theirs));
}

void a_users_names_are_that_users_and_roots(void) {
    ready = channel_open(), go = channel_open(), heard = channel_open();
    snprintf(theirs, sizeof theirs, "user.uid.%u.a", OTHER);
    CHECK(chmod(getenv("TIDINGS_DIRECTORY"), 01777) == 0, "errno %d", errno);
    const pid_t pid = start(has_its_own);
    told(&ready);
    ends_well(start(wants_anothers));
    const int token = check_of(theirs);
    CHECK(is_new(token) && !is_new(token), "first");
    OK(notify_post(theirs));
    CHECK(is_new(token) && !is_new(token), "own");
    tell(&go);
    told(&heard);
    CHECK(is_new(token) && !is_new(token), "its owner's");
    ends_well(pid);
}

static void waits_for_successor(void) {
    become_other();
    notify_set_options(NOTIFY_OPT_REGEN);
    told(&go);
    const int token = check_of("com.example.a");
    CHECK(is_new(token) && !is_new(token), "first");
    tell(&ready);
    // Only its owner can make the center anew.
    while (!is_new(token)) sched_yield();
    tell(&ready);
    while (!is_new(token)) sched_yield();
}

void a_process_that_cant_recreate_a_removed_center_waits_for_one_that_can(void) {
    ready = channel_open(), go = channel_open();
    write_configuration("0666");
    const pid_t pid = start(waits_for_successor);
    const int token = check_of("com.example.a");
    tell(&go);
    told(&ready);
    const tidings_configuration place = {.directory = getenv("TIDINGS_DIRECTORY")};
    CHECK(tidings_remove("notify", &place) == 0, "not removed");
    notify_set_options(NOTIFY_OPT_REGEN);
    told(&ready);
    CHECK(is_new(token), "in the new one");
    OK(notify_post("com.example.a"));
    ends_well(pid);
}

void a_directory_where_others_may_rename_is_the_administrators_choice(void) {
    write_configuration("0666");
    CHECK(chmod(getenv("TIDINGS_DIRECTORY"), 0777) == 0, "errno %d", errno);
    int token;
    EXPECT(NOTIFY_STATUS_NOT_AUTHORIZED, notify_register_check("com.example.a", &token));
    CHECK(strstr(tidings_last_error(), "every user may rename files"), "%s", tidings_last_error());
    FILE *file = fopen(getenv("TIDINGS_NOTIFY_CONFIGURATION"), "a");
    CHECK(file != NULL, "errno %d", errno);
    fprintf(file, "shared-directory = yes\n");
    fclose(file);
    OK(notify_register_check("com.example.a", &token));
    CHECK(is_new(token) && !is_new(token), "first");
}

static void posts_as_no_root(void) {
    char name[300] = "com.apple.system.";
    become_other();
    told(&go);
    int token;
    OK(notify_register_check("com.apple.system.example", &token));
    CHECK(is_new(token), "first");
    EXPECT(NOTIFY_STATUS_NOT_AUTHORIZED, notify_post("com.apple.system.example"));
    EXPECT(NOTIFY_STATUS_NOT_AUTHORIZED, notify_set_state(token, 5));
    memset(name + strlen(name), 'n', sizeof name - strlen(name) - 1);
    EXPECT(NOTIFY_STATUS_NOT_AUTHORIZED, notify_post(name));  // too long for the center: it goes by a digest there
    OK(notify_post("com.apple.systematic"));
    OK(notify_post("com.apple.system"));
    OK(notify_post("self.com.apple.system.example"));
    CHECK(!is_new(token), "nothing was posted");
    tell(&ready);
    told(&go);
    CHECK(is_new(token), "root has posted");
}

void names_of_the_system_are_posted_by_root_alone(void) {
    ready = channel_open(), go = channel_open();
    write_configuration("0666");
    const pid_t pid = start(posts_as_no_root);
    const int token = check_of("com.apple.system.example");
    CHECK(is_new(token), "first");
    tell(&go);
    told(&ready);
    CHECK(!is_new(token), "not by another user");
    OK(notify_set_state(token, 5));
    OK(notify_post("com.apple.system.example"));
    tell(&go);
    ends_well(pid);
    CHECK(is_new(token), "own");
    // The program gives up root after its first post.
    CHECK(seteuid(OTHER) == 0, "errno %d", errno);
    EXPECT(NOTIFY_STATUS_NOT_AUTHORIZED, notify_post("com.apple.system.example"));
    EXPECT(NOTIFY_STATUS_NOT_AUTHORIZED, notify_set_state(token, 6));
    CHECK(seteuid(0) == 0, "errno %d", errno);
    OK(notify_post("com.apple.system.example"));
}
