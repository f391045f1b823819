// The same names by notify.h and by tidings.h, which is what the Swift library stands on.
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "peer.h"

static tidings_publisher *publisher_of(tidings_center *center, const char *name) {
    tidings_publisher *publisher;
    CHECK(tidings_publisher_open(center, name, strlen(name), NULL, 0, &publisher) == 0, "no publisher");
    return publisher;
}

void plain_and_typed_posts_meet_in_one_order(void) {
    tidings_center *center = default_center();
    tidings_observer *observer;
    uint32_t a, b;
    CHECK(tidings_observer_open(center, 0, &observer) == 0, "no observer");
    CHECK(tidings_observer_add(observer, "com.example.a", 13, NULL, 0, 0, &a) == 0, "a");
    CHECK(tidings_observer_add(observer, "com.example.b", 13, NULL, 0, 0, &b) == 0, "b");
    int first, second;
    int descriptor = descriptor_of("com.example.a", &first);
    OK(notify_register_file_descriptor("com.example.b", &descriptor, NOTIFY_REUSE, &second));
    tidings_publisher *publishers[2] = {publisher_of(center, "com.example.a"), publisher_of(center, "com.example.b")};
    for (int i = 0; i < 1000; i++) {
        const int which = (int)random_below(2), plain = (int)random_below(2);
        if (plain)
            OK(notify_post(which ? "com.example.b" : "com.example.a"));
        else
            CHECK(tidings_post(publishers[which], "payload", 7, NULL, NULL) == 0, "post %d", i);
        tidings_delivery delivery;
        CHECK(tidings_next(observer, -1, &delivery) == 0, "next");
        CHECK(delivery.kind == TIDINGS_DELIVERY_MESSAGE && delivery.subscriptions[0] == (which ? b : a), "post %d", i);
        CHECK(delivery.size == (plain ? 0u : 7u) && delivery.format == 0, "post %d: %zu bytes", i, delivery.size);
        CHECK(read_token(descriptor) == (which ? second : first), "post %d", i);
        CHECK(is_new(which ? second : first) || i == 0, "post %d", i);
    }
    for (int i = 0; i < 2; i++) tidings_publisher_close(publishers[i]);
    tidings_observer_close(observer);
    tidings_close(center);
}

void a_large_typed_payload_is_a_notification_too(void) {
    tidings_center *center = default_center();
    tidings_publisher *publisher = publisher_of(center, "com.example.a");
    int token;
    const int descriptor = descriptor_of("com.example.a", &token);
    CHECK(is_new(token), "first");
    void *payload = calloc(1, 3000000);
    for (int i = 0; i < 20; i++) {
        CHECK(tidings_post(publisher, payload, 3000000, NULL, NULL) == 0, "post %d", i);
        CHECK(is_new(token) && read_token(descriptor) == token, "post %d", i);
        const tidings_post_options kept = {.flags = TIDINGS_POST_RETAIN};
        CHECK(tidings_post(publisher, payload, 10, &kept, NULL) == 0, "post %d", i);
        CHECK(is_new(token) && read_token(descriptor) == token, "kept post %d", i);
    }
    free(payload);
    tidings_publisher_close(publisher);
    tidings_close(center);
}

void a_removed_center_is_said_or_replaced(void) {
    int token, delivered;
    const int descriptor = descriptor_of("com.example.a", &delivered);
    token = check_of("com.example.a");
    CHECK(is_new(token), "first");
    OK(notify_post("com.example.a"));
    CHECK(read_token(descriptor) == delivered && is_new(token), "before");
    uint64_t state;
    OK(notify_set_state(token, 5));
    OK(notify_get_state(token, &state));
    CHECK(state == 5, "%llu", (unsigned long long)state);
    CHECK(tidings_remove("default", NULL) == 0, "not removed");
    EXPECT(NOTIFY_STATUS_SERVER_NOT_FOUND, notify_post("com.example.a"));
    EXPECT(NOTIFY_STATUS_SERVER_NOT_FOUND, notify_set_state(token, 3));
    int late;
    EXPECT(NOTIFY_STATUS_SERVER_NOT_FOUND, notify_register_check("com.example.late", &late));
    notify_set_options(NOTIFY_OPT_REGEN);
    OK(notify_post("com.example.a"));
    CHECK(is_new(token), "in the new one");
    CHECK(read_token(descriptor) == delivered, "delivered, from the new one");
    // As many posts as the old one had when its state was last read.
    OK(notify_post("com.example.b"));
    OK(notify_get_state(token, &state));
    CHECK(state == 0, "%llu, of the old one", (unsigned long long)state);
    OK(notify_set_state(token, 3));
    OK(notify_get_state(token, &state));
    CHECK(state == 3, "%llu", (unsigned long long)state);
    // The thread that delivers goes on in the next center by itself. Posts there are checked while it does so.
    for (int i = 0; i < 1000; i++) {
        CHECK(tidings_remove("default", NULL) == 0, "not removed");
        OK(notify_post("com.example.a"));
        OK(notify_post("com.example.a"));
        CHECK(is_new(token), "in center %d", i);
        CHECK(read_token(descriptor) == delivered, "delivered, from center %d", i);
    }
    CHECK(tidings_remove("default", NULL) == 0, "not removed");
    OK(notify_register_check("com.example.late", &late));
    CHECK(is_new(late), "registered in a fourth");
}

void a_known_name_is_not_registered_in_a_removed_center(void) {
    int delivered, late;
    int descriptor = descriptor_of("com.example.a", &delivered);
    const int token = check_of("com.example.a"), canceled = check_of("com.example.b");
    OK(notify_cancel(canceled));
    tidings_center *center = default_center();
    CHECK(unlink(tidings_path(center)) == 0, "errno %d", errno);
    tidings_close(center);
    EXPECT(NOTIFY_STATUS_SERVER_NOT_FOUND, notify_register_check("com.example.a", &late));
    CHECK(late == NOTIFY_TOKEN_INVALID && strstr(tidings_last_error(), "it was removed"), "%s", tidings_last_error());
    EXPECT(NOTIFY_STATUS_SERVER_NOT_FOUND, notify_register_check("com.example.b", &late));
    EXPECT(NOTIFY_STATUS_SERVER_NOT_FOUND,
           notify_register_file_descriptor("com.example.a", &descriptor, NOTIFY_REUSE, &late));
    notify_set_options(NOTIFY_OPT_REGEN);
    OK(notify_register_check("com.example.b", &late));
    CHECK(is_new(late) && is_new(token), "in the new one");
    OK(notify_cancel(token));
}

static void posts_once(void) { OK(notify_post("com.example.a")); }

void a_listener_goes_on_in_the_successor_of_a_removed_center(void) {
    const int early = check_of("com.example.a");
    CHECK(is_new(early), "first");
    notify_set_options(NOTIFY_OPT_REGEN);
    int delivered;
    for (int round = 0; round < 5; round++) {
        // The center is removed by a user with the right to; in one round by a mere deletion of the file.
        if (round == 2) {
            char path[512];
            tidings_center *center = default_center();
            snprintf(path, sizeof path, "%s", tidings_path(center));
            tidings_close(center);
            CHECK(unlink(path) == 0, "errno %d", errno);
        } else {
            CHECK(tidings_remove("default", NULL) == 0, "not removed");
        }
        // Something may have been lost, so each token is told, and that is how this one knows that it is there again.
        while (!is_new(early)) sched_yield();
        if (round == 3) (void)descriptor_of("com.example.a", &delivered);
        CHECK(!is_new(early), "once");
        ends_well(start(posts_once));
        CHECK(is_new(early) && !is_new(early), "posted in the new one, round %d", round);
    }
}

// The thread that delivers ends with its center. Where none can be started for the next center, it is tried again.
void deliveries_begin_again_once_there_is_room_for_a_thread(void) {
    notify_set_options(NOTIFY_OPT_REGEN);
    int delivered;
    const int descriptor = descriptor_of("com.example.a", &delivered);
    pthread_attr_t before, huge;
    CHECK(pthread_getattr_default_np(&before) == 0 && pthread_attr_init(&huge) == 0, "no attributes");
    // No address space has room for such a stack.
    CHECK(pthread_attr_setstacksize(&huge, SIZE_MAX / 4 / 4096 * 4096) == 0 && pthread_setattr_default_np(&huge) == 0,
          "no attributes");
    CHECK(tidings_remove("default", NULL) == 0, "not removed");
    // Something may have been lost, so each token is told, after the try.
    CHECK(read_token(descriptor) == delivered, "the removal");
    ends_well(start(posts_once));
    CHECK(pthread_setattr_default_np(&before) == 0, "no attributes");
    CHECK(read_token(descriptor) == delivered, "what was posted meanwhile");
    ends_well(start(posts_once));
    CHECK(read_token(descriptor) == delivered, "what is posted now");
}

// Opens a center in a directory beside so many times: the successor, before it has its place.
static void open_beside(tidings_configuration shape, tidings_center **successor, int times) {
    char directory[512];
    snprintf(directory, sizeof directory, "%s/beside", getenv("TIDINGS_DIRECTORY"));
    CHECK(mkdir(directory, 0700) == 0, "errno %d", errno);
    shape.directory = directory;
    for (int i = 0; i < times; i++) CHECK(tidings_open("default", &shape, &successor[i]) == 0, "participant %d", i);
}

// The successor takes the place of the default center. Returns when this process has noticed.
static void succeed(const tidings_center *successor) {
    char path[1024];
    int late;
    snprintf(path, sizeof path, "%s%s", getenv("TIDINGS_DIRECTORY"), strrchr(tidings_path(successor), '/'));
    CHECK(rename(tidings_path(successor), path) == 0, "errno %d", errno);
    while (notify_register_check("com.example.late", &late) == NOTIFY_STATUS_OK) OK(notify_cancel(late));
}

// The successor has no room for this process's observers at first. Its names continue once it has, without a call.
void names_continue_once_the_successor_has_room_for_observers(void) {
    notify_set_options(NOTIFY_OPT_REGEN);
    int delivered, late;
    const int descriptor = descriptor_of("com.example.a", &delivered), checked = check_of("com.example.a");
    CHECK(is_new(checked), "first");
    tidings_center *successor;
    tidings_observer *observers[2];
    open_beside((tidings_configuration){.observers = 2}, &successor, 1);
    for (int i = 0; i < 2; i++) CHECK(tidings_observer_open(successor, 0, &observers[i]) == 0, "observer %d", i);
    succeed(successor);
    EXPECT(NOTIFY_STATUS_FAILED, notify_register_check("com.example.late", &late));
    for (int i = 0; i < 2; i++) tidings_observer_close(observers[i]);
    // Something may have been lost, so each token is told.
    CHECK(read_token(descriptor) == delivered && is_new(checked), "the change");
    CHECK(!is_new(checked), "once");
    ends_well(start(posts_once));
    CHECK(read_token(descriptor) == delivered && is_new(checked), "posted in the successor");
}

// A peer that removes each new center of notify(3) before it is used: a renewal asks for inotify at its end, and here
// that removes the center. The core asks with other flags.
static bool removing;
static uint32_t removals;
int inotify_init1(int flags) {
    if (!removing || !(flags & IN_NONBLOCK)) return (int)syscall(SYS_inotify_init1, flags);
    CHECK(tidings_remove("default", NULL) == 0, "not removed");
    removals++;
    errno = EMFILE;
    return -1;
}

void a_call_ends_though_a_peer_removes_each_new_center(void) {
    const int token = check_of("com.example.a");
    CHECK(is_new(token), "first");
    OK(notify_post("com.example.a"));
    removing = true;
    notify_set_options(NOTIFY_OPT_REGEN);
    EXPECT(NOTIFY_STATUS_SERVER_NOT_FOUND, notify_post("com.example.a"));
    CHECK(removals <= 100, "%u centers", removals);
    removals = 0;
    EXPECT(NOTIFY_STATUS_SERVER_NOT_FOUND, notify_set_state(token, 5));
    CHECK(removals <= 100, "%u centers", removals);
    removing = false;
    OK(notify_post("com.example.a"));
    CHECK(is_new(token) && !is_new(token), "in the first that stays");
}

// The kernel reports an unlinked file before its path leads nowhere, and on two processors a thread that hears of it
// may look in between. Here the first looks of each thread do.
static char slow_path[512];
static struct stat slow_file;
static _Atomic bool slow;
static _Thread_local int looks_left = 4;

static int status_of(const char *path, struct stat *status, int flags) {
    const int result = fstatat(AT_FDCWD, path, status, flags);
    if (result == 0 || !atomic_load(&slow) || looks_left == 0 || strcmp(path, slow_path) != 0) return result;
    looks_left--;
    *status = slow_file;
    return 0;
}
int stat(const char *restrict path, struct stat *restrict status) { return status_of(path, status, 0); }
int lstat(const char *restrict path, struct stat *restrict status) {
    return status_of(path, status, AT_SYMLINK_NOFOLLOW);
}

void a_removal_is_heard_of_before_the_path_leads_nowhere(void) {
    notify_set_options(NOTIFY_OPT_REGEN);
    const int checked = check_of("com.example.a");
    CHECK(is_new(checked), "first");
    tidings_center *center = default_center();
    snprintf(slow_path, sizeof slow_path, "%s", tidings_path(center));
    tidings_close(center);
    CHECK(stat(slow_path, &slow_file) == 0, "errno %d", errno);
    looks_left = 0;  // this thread has no part in it
    atomic_store(&slow, true);
    CHECK(unlink(slow_path) == 0, "errno %d", errno);
    while (!is_new(checked)) sched_yield();
    ends_well(start(posts_once));
    CHECK(is_new(checked), "posted in the new one");
}

static int told_by_child;
static channel listening;
static void listens_on(void) {
    CHECK(!is_new(told_by_child), "nothing yet");
    tell(&listening);
    while (!is_new(told_by_child)) sched_yield();
}

// Until this process's other threads sleep: the address sanitizer's allocator, of gcc 12, has locks that a fork copies
// as they are, and a child in which one is held waits for it for ever.
static void others_sleep(void) {
    for (int asleep = 0; asleep < 3; usleep(1000)) {
        DIR *tasks = opendir("/proc/self/task");
        CHECK(tasks, "errno %d", errno);
        asleep++;
        for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
            char path[300], state = 'S';
            snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
            if (task->d_name[0] == '.' || strtol(task->d_name, NULL, 10) == getpid()) continue;
            FILE *file = fopen(path, "r");
            if (file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1 && state != 'S') asleep = 0;
            if (file) fclose(file);
        }
        closedir(tasks);
    }
}

// The successor can't be opened at first, as all its participants are taken. A process that makes no call continues
// once it can be.
void a_listener_continues_once_the_successor_can_be_opened(void) {
    notify_set_options(NOTIFY_OPT_REGEN);
    int delivered;
    const int descriptor = descriptor_of("com.example.a", &delivered), checked = check_of("com.example.a");
    CHECK(is_new(checked), "first");
    tidings_center *taken[2];
    open_beside((tidings_configuration){.participants = 2}, taken, 2);
    succeed(taken[0]);
    others_sleep();  // each thread that heard of the end has tried
    for (int i = 0; i < 2; i++) tidings_close(taken[i]);
    // Something may have been lost, so each token is told.
    CHECK(read_token(descriptor) == delivered && is_new(checked), "the change");
    ends_well(start(posts_once));
    CHECK(read_token(descriptor) == delivered && is_new(checked), "posted in the successor");
}

void a_forked_child_that_only_listens_goes_on_in_the_successor_too(void) {
    notify_set_options(NOTIFY_OPT_REGEN);
    listening = channel_open();
    told_by_child = check_of("com.example.a");
    int delivered;
    const int descriptor = descriptor_of("com.example.a", &delivered);
    CHECK(is_new(told_by_child), "first");
    OK(notify_post("com.example.b"));
    others_sleep();
    const pid_t pid = start(listens_on);
    told(&listening);
    CHECK(tidings_remove("default", NULL) == 0, "not removed");
    CHECK(read_token(descriptor) == delivered, "told in the parent");
    ends_well(pid);
    CHECK(is_new(told_by_child), "and by a check");
}
