// Tokens that follow a file.
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <time.h>

#include "peer.h"

void a_monitored_file_is_told_of_until_it_isnt(void) {
    char path[512];
    snprintf(path, sizeof path, "%s/watched", getenv("TIDINGS_DIRECTORY"));
    int token, other;
    const int descriptor = descriptor_of("com.example.a", &token), second = descriptor_of("com.example.a", &other);
    CHECK(is_new(token), "first");
    char missing[600];
    snprintf(missing, sizeof missing, "%s/none/watched", getenv("TIDINGS_DIRECTORY"));
    EXPECT(NOTIFY_STATUS_INVALID_FILE, notify_monitor_file(token, missing, 0));
    OK(notify_monitor_file(token, path, 0));
    int file = open(path, O_CREAT | O_RDWR, 0600);
    CHECK(file >= 0, "errno %d", errno);
    CHECK(read_token(descriptor) == token && is_new(token), "it appears");
    for (int i = 0; i < 200; i++) CHECK(write(file, "x", 1) == 1, "errno %d", errno);
    CHECK(read_token(descriptor) == token && is_new(token), "it changes");
    CHECK(unlink(path) == 0, "errno %d", errno);
    CHECK(read_token(descriptor) == token, "it disappears");
    close(file);
    file = open(path, O_CREAT | O_RDWR, 0600);
    CHECK(read_token(descriptor) == token, "it appears again");
    // Posts come as well, and to the other token nothing else has come.
    OK(notify_post("com.example.a"));
    CHECK(read_token(second) == other && !is_readable(second), "the other one follows no file");
    // The first token follows the file no longer. The second does from now on, and is told of a change; so the first
    // would have been told, too. Deliveries are made under a lock that a suspension takes: after it, all are done.
    OK(notify_suspend(other));
    OK(notify_resume(other));
    while (is_readable(descriptor)) CHECK(read_token(descriptor) == token, "the post");
    OK(notify_monitor_file(token, NULL, 0));
    OK(notify_monitor_file(other, path, 0));
    CHECK(write(file, "x", 1) == 1, "errno %d", errno);
    CHECK(read_token(second) == other, "another one follows it");
    OK(notify_suspend(other));
    CHECK(!is_readable(descriptor), "told of what it doesn't follow any more");
    OK(notify_cancel(token));
    CHECK(write(file, "x", 1) == 1, "errno %d", errno);
    close(file);
    unlink(path);
}

// Each step changes the file in ways that were not asked for, then in one that was: the delivery is for that one, as
// the token of all events shows.
void a_monitored_file_is_told_of_for_the_events_that_were_asked_for(void) {
    char path[512], moved[520];
    snprintf(path, sizeof path, "%s/watched", getenv("TIDINGS_DIRECTORY"));
    snprintf(moved, sizeof moved, "%s.moved", path);
    int all, gone, longer, attributes, unknown;
    const int of_all = descriptor_of("com.example.a", &all), of_gone = descriptor_of("com.example.a", &gone),
              of_longer = descriptor_of("com.example.a", &longer),
              of_attributes = descriptor_of("com.example.a", &attributes);
    OK(notify_monitor_file(all, path, 0));
    OK(notify_monitor_file(gone, path, NOTIFY_FILE_DELETE | NOTIFY_FILE_RENAME | 0x40000000));
    OK(notify_monitor_file(longer, path, NOTIFY_FILE_EXTEND));
    OK(notify_monitor_file(attributes, path, NOTIFY_FILE_ATTRIB | NOTIFY_FILE_CREATE));
    OK(notify_register_check("com.example.a", &unknown));
    EXPECT(NOTIFY_STATUS_INVALID_REQUEST, notify_monitor_file(unknown, path, 0x40000000));
    const int file = open(path, O_CREAT | O_RDWR, 0600);
    CHECK(read_token(of_all) == all && read_token(of_attributes) == attributes, "it appears");
    CHECK(!is_readable(of_gone) && !is_readable(of_longer), "nothing was written, nothing is gone");
    CHECK(write(file, "x", 1) == 1, "errno %d", errno);
    CHECK(read_token(of_all) == all && read_token(of_longer) == longer, "it grows");
    CHECK(chmod(path, 0640) == 0, "errno %d", errno);
    CHECK(read_token(of_all) == all && read_token(of_attributes) == attributes, "its mode changes");
    CHECK(!is_readable(of_gone) && !is_readable(of_longer), "it is there, and as long as before");
    CHECK(rename(path, moved) == 0, "errno %d", errno);
    CHECK(read_token(of_all) == all && read_token(of_gone) == gone, "it is gone");
    CHECK(!is_readable(of_longer), "as long as before");
    close(file);
    unlink(moved);
}

static char changed[512];

static void changes_without_end(void) {
    char second[520];
    snprintf(second, sizeof second, "%s.second", changed);
    const int files[2] = {open(changed, O_CREAT | O_RDWR, 0600), open(second, O_CREAT | O_RDWR, 0600)};
    // Two files by turns: the kernel merges equal events that follow each other.
    for (int i = 0;; i++) CHECK(pwrite(files[i % 2], "x", 1, 0) == 1, "errno %d", errno);
}

void a_file_that_changes_without_end_holds_nothing_up(void) {
    int tokens[100];
    snprintf(changed, sizeof changed, "%s/watched", getenv("TIDINGS_DIRECTORY"));
    for (int i = 0; i < 100; i++) {
        tokens[i] = check_of("com.example.a");
        CHECK(is_new(tokens[i]), "first");
        OK(notify_monitor_file(tokens[i], changed, 0));
    }
    const pid_t pid = start(changes_without_end);
    for (int round = 0; round < 5; round++) {
        while (!is_new(tokens[round])) sched_yield();
        OK(notify_cancel(check_of("com.example.b")));
    }
    kill(pid, SIGKILL);
    CHECK(waitpid(pid, NULL, 0) == pid, "errno %d", errno);
}

void many_changes_of_a_file_are_few_deliveries(void) {
    char path[512];
    snprintf(path, sizeof path, "%s/watched", getenv("TIDINGS_DIRECTORY"));
    const int file = open(path, O_CREAT | O_RDWR, 0600);
    int token, last, count = 0;
    int descriptor = descriptor_of("com.example.a", &token);
    OK(notify_register_file_descriptor("com.example.last", &descriptor, NOTIFY_REUSE, &last));
    OK(notify_monitor_file(token, path, 0));
    struct timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (int i = 0; i < 5000; i++) CHECK(pwrite(file, "x", 1, 0) == 1, "errno %d", errno);
    CHECK(read_token(descriptor) == token, "changed");
    OK(notify_post("com.example.last"));
    for (count = 1; read_token(descriptor) != last;) count++;
    clock_gettime(CLOCK_MONOTONIC, &ended);
    OK(notify_cancel(token));
    // Each delivery comes 100 ms after the change before it, so that 5,000 changes in a moment are a handful.
    const long most = 2 + (ended.tv_sec - begun.tv_sec) * 10 + (ended.tv_nsec - begun.tv_nsec) / 100000000;
    CHECK(count <= most, "%d, not %ld", count, most);
    close(file);
    unlink(path);
}
