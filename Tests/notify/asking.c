// notify_check: each token remembers what it was told.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "../../CShim/notify/src/internal.h"
#include "peer.h"

void the_first_check_is_1_and_then_only_what_is_new_is(void) {
    const int token = check_of("com.example.a");
    CHECK(is_new(token), "the first");
    CHECK(!is_new(token), "the second");
    OK(notify_post("com.example.a"));
    CHECK(is_new(token), "after an own post");
    CHECK(!is_new(token), "after that");
    for (int i = 0; i < 10; i++) OK(notify_post("com.example.a"));
    CHECK(is_new(token) && !is_new(token), "ten posts are one news");
    OK(notify_post("com.example.a.b"));
    OK(notify_post("com.example."));
    CHECK(!is_new(token), "other names");
}

void each_token_has_its_own_memory(void) {
    int tokens[8];
    for (int i = 0; i < 8; i++) {
        if (i % 2)
            tokens[i] = check_of("com.example.a");
        else
            (void)descriptor_of("com.example.a", &tokens[i]);
    }
    for (int i = 0; i < 8; i++) CHECK(is_new(tokens[i]), "the first of token %d", i);
    OK(notify_post("com.example.a"));
    for (int i = 0; i < 4; i++) CHECK(is_new(tokens[i]), "token %d", i);
    OK(notify_post("com.example.a"));
    for (int i = 0; i < 8; i++) CHECK(is_new(tokens[i]) && !is_new(tokens[i]), "token %d", i);
    const int late = check_of("com.example.a");
    CHECK(is_new(late) && !is_new(late), "a late one");
}

static channel posted, checked;
static void another(void) {
    for (int i = 0; i < 100; i++) {
        OK(notify_post("com.example.a"));
        tell(&posted);
        told(&checked);
    }
}

void what_another_process_has_posted_is_new_at_once(void) {
    posted = channel_open(), checked = channel_open();
    const int token = check_of("com.example.a"), other = check_of("com.example.b");
    CHECK(is_new(token) && is_new(other), "first");
    const pid_t pid = start(another);
    for (int i = 0; i < 100; i++) {
        told(&posted);
        CHECK(is_new(token) && !is_new(token), "post %d", i);
        CHECK(!is_new(other), "post %d is another's", i);
        tell(&checked);
    }
    ends_well(pid);
}

void what_was_lapped_is_new_and_nothing_else(void) {
    const int token = check_of("com.example.a"), other = check_of("com.example.b");
    CHECK(is_new(token) && is_new(other), "first");
    OK(notify_post("com.example.a"));
    for (int i = 0; i < 20000; i++) OK(notify_post("com.example.noise"));
    CHECK(is_new(token), "posted 20,000 posts ago");
    CHECK(!is_new(other), "never posted");
    uint32_t before, after;
    OK(notify_peek(token, &before));
    for (int i = 0; i < 10000; i++) OK(notify_post("com.example.a"));
    OK(notify_peek(token, &after));
    CHECK(after - before == 10000, "%u counted", after - before);
    CHECK(is_new(token), "a peek is not remembered");
}

// Any but these kills this thread, and with it the process.
static void forbid_system_calls(void) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof program / sizeof program[0], program};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0,
          "errno %d", errno);
}

void asking_for_what_is_not_new_makes_no_system_call(void) {
    int tokens[3], plain;
    uint32_t count, again;
    uint64_t state;
    tokens[0] = check_of("com.example.a");
    (void)descriptor_of("com.example.a", &tokens[1]);
    tokens[2] = check_of("self.a");
    OK(notify_register_plain("com.example.a", &plain));
    OK(notify_set_state(plain, 5));
    for (int i = 0; i < 3; i++) CHECK(is_new(tokens[i]), "first");
    OK(notify_get_state(plain, &state));
    OK(notify_peek(plain, &count));
    if (!SANITIZED) forbid_system_calls();  // their own are theirs
    for (int i = 0; i < 10000; i++) {
        for (int k = 0; k < 3; k++) CHECK(!is_new(tokens[k]), "nothing was posted");
        OK(notify_get_state(plain, &state));
        OK(notify_peek(plain, &again));
        CHECK(state == 5 && again == count && notify_is_valid_token(plain), "state %llu, count %u",
              (unsigned long long)state, again);
    }
    _exit(0);
}

void canceled_tokens_are_invalid(void) {
    const int token = check_of("com.example.a");
    int check;
    uint64_t state;
    uint32_t value;
    OK(notify_cancel(token));
    CHECK(!notify_is_valid_token(token), "still");
    EXPECT(NOTIFY_STATUS_INVALID_TOKEN, notify_check(token, &check));
    EXPECT(NOTIFY_STATUS_INVALID_TOKEN, notify_cancel(token));
    EXPECT(NOTIFY_STATUS_INVALID_TOKEN, notify_suspend(token));
    EXPECT(NOTIFY_STATUS_INVALID_TOKEN, notify_resume(token));
    EXPECT(NOTIFY_STATUS_INVALID_TOKEN, notify_get_state(token, &state));
    EXPECT(NOTIFY_STATUS_INVALID_TOKEN, notify_set_state(token, 1));
    EXPECT(NOTIFY_STATUS_INVALID_TOKEN, notify_peek(token, &value));
    EXPECT(NOTIFY_STATUS_INVALID_TOKEN, notify_monitor_file(token, NULL, 0));
    const int others[] = {0, -1, -2, INT32_MAX, INT32_MIN, 1 << 22, 12345};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        CHECK(!notify_is_valid_token(others[i]), "%d", others[i]);
        EXPECT(NOTIFY_STATUS_INVALID_TOKEN, notify_check(others[i], &check));
    }
    for (int i = 0; i < 5000; i++) {
        const int again = check_of("com.example.a");
        CHECK(again != token, "reused after %d", i);
        OK(notify_cancel(again));
        CHECK(!notify_is_valid_token(token), "valid again after %d", i);
    }
}

static void deliver_nothing(void *context, int token) { (void)context, (void)token; }
static void cancel_another(void *context) { OK(notify_cancel(*(int *)context)); }

// As the end of a block does whose destruction cancels another token.
void the_end_of_a_handler_can_cancel_another_token(void) {
    int token, another = check_of("com.example.a");
    OK(tidings_notify_register_handler("com.example.a", &token,
                                       &(notify__handler){deliver_nothing, cancel_another, &another}));
    OK(notify_cancel(token));
    CHECK(!notify_is_valid_token(another), "canceled");
}

void what_is_missing_or_cant_be_is_said(void) {
    int token = 7, descriptor = -1, check;
    mach_port_t port = 9;
    char name[514];
    memset(name, 'x', sizeof name);
    name[512] = 0;
    // As Apple's manual says: a name, token or descriptor that is NULL has the code of one that is invalid, and
    // anything else that is NULL has NULL_INPUT.
    EXPECT(NOTIFY_STATUS_INVALID_NAME, notify_post(NULL));
    EXPECT(NOTIFY_STATUS_INVALID_NAME, notify_simple_post(NULL));
    EXPECT(NOTIFY_STATUS_INVALID_NAME, notify_post(""));
    EXPECT(NOTIFY_STATUS_INVALID_NAME, notify_post(name));
    EXPECT(NOTIFY_STATUS_INVALID_NAME, notify_register_check(name, &token));
    CHECK(token == NOTIFY_TOKEN_INVALID, "token %d", token);
    EXPECT(NOTIFY_STATUS_INVALID_TOKEN, notify_register_check("a", NULL));
    EXPECT(NOTIFY_STATUS_INVALID_TOKEN, notify_register_plain("a", NULL));
    EXPECT(NOTIFY_STATUS_INVALID_TOKEN, notify_register_signal("a", SIGUSR1, NULL));
    EXPECT(NOTIFY_STATUS_INVALID_TOKEN, notify_register_file_descriptor("a", &descriptor, 0, NULL));
    EXPECT(NOTIFY_STATUS_INVALID_NAME, notify_register_check(NULL, &token));
    EXPECT(NOTIFY_STATUS_INVALID_NAME, notify_register_signal(NULL, SIGUSR1, &token));
    EXPECT(NOTIFY_STATUS_INVALID_NAME, notify_register_file_descriptor(NULL, &descriptor, 0, &token));
    CHECK(token == NOTIFY_TOKEN_INVALID && descriptor == -1, "token %d, descriptor %d", token, descriptor);
    EXPECT(NOTIFY_STATUS_INVALID_SIGNAL, notify_register_signal("a", 0, &token));
    EXPECT(NOTIFY_STATUS_INVALID_SIGNAL, notify_register_signal("a", 1000, &token));
    EXPECT(NOTIFY_STATUS_INVALID_FILE, notify_register_file_descriptor("a", NULL, 0, &token));
    EXPECT(NOTIFY_STATUS_INVALID_REQUEST, notify_register_file_descriptor("a", &descriptor, 2, &token));
    descriptor = 2;
    EXPECT(NOTIFY_STATUS_INVALID_FILE, notify_register_file_descriptor("a", &descriptor, NOTIFY_REUSE, &token));
    EXPECT(NOTIFY_STATUS_INVALID_PORT, notify_register_mach_port("a", &port, 0, &token));
    CHECK(token == NOTIFY_TOKEN_INVALID && port == 0, "token %d", token);
    EXPECT(NOTIFY_STATUS_INVALID_PORT, notify_register_mach_port("a", NULL, 0, NULL));
    OK(notify_register_check("a", &token));
    EXPECT(NOTIFY_STATUS_NULL_INPUT, notify_check(token, NULL));
    EXPECT(NOTIFY_STATUS_NULL_INPUT, notify_get_state(token, NULL));
    EXPECT(NOTIFY_STATUS_NULL_INPUT, notify_peek(token, NULL));
    EXPECT(NOTIFY_STATUS_NOT_AUTHORIZED, notify_post("user.uid.99999999999.a"));
    EXPECT(NOTIFY_STATUS_INVALID_REQUEST, notify_monitor_file(token, NULL, 0x10000));
    OK(notify_check(token, &check));
}

void switched_off_all_of_it_says_so(void) {
    int token = check_of("com.example.a"), other, check, descriptor = -1;
    uint64_t state;
    uint32_t value;
    CHECK(is_new(token), "first");
    notify_set_options(NOTIFY_OPT_DISABLE);
    EXPECT(NOTIFY_STATUS_OPT_DISABLE, notify_post("com.example.a"));
    EXPECT(NOTIFY_STATUS_OPT_DISABLE, notify_check(token, &check));
    EXPECT(NOTIFY_STATUS_OPT_DISABLE, notify_register_check("com.example.a", &other));
    EXPECT(NOTIFY_STATUS_OPT_DISABLE, notify_cancel(token));
    EXPECT(NOTIFY_STATUS_OPT_DISABLE, notify_suspend(token));
    EXPECT(NOTIFY_STATUS_OPT_DISABLE, notify_resume(token));
    EXPECT(NOTIFY_STATUS_OPT_DISABLE, notify_set_state(token, 1));
    EXPECT(NOTIFY_STATUS_OPT_DISABLE, notify_get_state(token, &state));
    EXPECT(NOTIFY_STATUS_OPT_DISABLE, notify_peek(token, &value));
    EXPECT(NOTIFY_STATUS_OPT_DISABLE, notify_monitor_file(token, NULL, 0));
    EXPECT(NOTIFY_STATUS_OPT_DISABLE, notify_register_plain("com.example.a", &other));
    EXPECT(NOTIFY_STATUS_OPT_DISABLE, notify_register_signal("com.example.a", SIGUSR1, &other));
    EXPECT(NOTIFY_STATUS_OPT_DISABLE, notify_register_file_descriptor("com.example.a", &descriptor, 0, &other));
    CHECK(descriptor == -1 && other == NOTIFY_TOKEN_INVALID, "descriptor %d, token %d", descriptor, other);
    notify_set_options(NOTIFY_OPT_ENABLE | NOTIFY_OPT_DISPATCH);
    CHECK(!is_new(token), "nothing was posted");
    OK(notify_post("com.example.a"));
    CHECK(is_new(token), "and now");
}

#define FAILS(status, call)                                                                                            \
    do {                                                                                                               \
        tidings_last_error_set("");                                                                                    \
        EXPECT(status, call);                                                                                          \
        CHECK(strncmp(tidings_last_error(), "can't ", 6) == 0, "the line \"%s\"", tidings_last_error());               \
    } while (0)

void every_failure_has_a_line(void) {
    char name[600], path[] = "/none/watched";
    int token, canceled, check, descriptor = -1;
    uint32_t value;
    uint64_t state;
    memset(name, 'n', sizeof name);
    name[512] = 0;
    token = check_of("com.example.a");
    canceled = check_of("com.example.a");
    OK(notify_cancel(canceled));
    FAILS(NOTIFY_STATUS_INVALID_NAME, notify_post(NULL));
    FAILS(NOTIFY_STATUS_INVALID_NAME, notify_post(""));
    FAILS(NOTIFY_STATUS_INVALID_NAME, notify_register_check(name, &check));
    FAILS(NOTIFY_STATUS_NOT_AUTHORIZED, notify_post("user.uid.x"));
    FAILS(NOTIFY_STATUS_INVALID_TOKEN, notify_register_check("com.example.a", NULL));
    FAILS(NOTIFY_STATUS_INVALID_SIGNAL, notify_register_signal("com.example.a", 4711, &check));
    FAILS(NOTIFY_STATUS_INVALID_PORT, notify_register_mach_port("com.example.a", NULL, 0, &check));
    FAILS(NOTIFY_STATUS_INVALID_FILE, notify_register_file_descriptor("com.example.a", NULL, 0, &check));
    FAILS(NOTIFY_STATUS_INVALID_FILE,
          notify_register_file_descriptor("com.example.a", &descriptor, NOTIFY_REUSE, &check));
    FAILS(NOTIFY_STATUS_INVALID_REQUEST, notify_register_file_descriptor("com.example.a", &descriptor, 64, &check));
    FAILS(NOTIFY_STATUS_NULL_INPUT, notify_check(token, NULL));
    FAILS(NOTIFY_STATUS_NULL_INPUT, notify_peek(token, NULL));
    FAILS(NOTIFY_STATUS_NULL_INPUT, notify_get_state(token, NULL));
    FAILS(NOTIFY_STATUS_NULL_INPUT, notify_dump_status(NULL));
    FAILS(NOTIFY_STATUS_INVALID_FILE, notify_dump_status(path));
    FAILS(NOTIFY_STATUS_INVALID_FILE, notify_monitor_file(token, path, 0));
    FAILS(NOTIFY_STATUS_INVALID_REQUEST, notify_monitor_file(token, path, 0x10000));
    FAILS(NOTIFY_STATUS_INVALID_REQUEST, notify_suspend_pid(getppid()));
    FAILS(NOTIFY_STATUS_INVALID_TOKEN, notify_check(canceled, &check));
    FAILS(NOTIFY_STATUS_INVALID_TOKEN, notify_peek(canceled, &value));
    FAILS(NOTIFY_STATUS_INVALID_TOKEN, notify_get_state(canceled, &state));
    FAILS(NOTIFY_STATUS_INVALID_TOKEN, notify_set_state(canceled, 1));
    FAILS(NOTIFY_STATUS_INVALID_TOKEN, notify_suspend(canceled));
    FAILS(NOTIFY_STATUS_INVALID_TOKEN, notify_resume(canceled));
    FAILS(NOTIFY_STATUS_INVALID_TOKEN, notify_cancel(canceled));
    FAILS(NOTIFY_STATUS_INVALID_TOKEN, notify_monitor_file(canceled, path, 0));
    notify_set_options(NOTIFY_OPT_DISABLE | NOTIFY_OPT_FILTERED);
    FAILS(NOTIFY_STATUS_OPT_DISABLE, notify_post("com.example.a"));
    FAILS(NOTIFY_STATUS_OPT_DISABLE, notify_register_check("com.example.a", &check));
    FAILS(NOTIFY_STATUS_OPT_DISABLE, notify_check(token, &check));
    FAILS(NOTIFY_STATUS_OPT_DISABLE, notify_peek(token, &value));
    FAILS(NOTIFY_STATUS_OPT_DISABLE, notify_get_state(token, &state));
    FAILS(NOTIFY_STATUS_OPT_DISABLE, notify_set_state(token, 1));
    FAILS(NOTIFY_STATUS_OPT_DISABLE, notify_suspend(token));
    FAILS(NOTIFY_STATUS_OPT_DISABLE, notify_resume(token));
    FAILS(NOTIFY_STATUS_OPT_DISABLE, notify_suspend_pid(getpid()));
    FAILS(NOTIFY_STATUS_OPT_DISABLE, notify_cancel(token));
    FAILS(NOTIFY_STATUS_OPT_DISABLE, notify_monitor_file(token, path, 0));
    notify_set_options(NOTIFY_OPT_ENABLE | NOTIFY_OPT_FILTERED);
    OK(notify_cancel(token));
}

void the_status_is_written_to_a_file(void) {
    char path[512], text[4096] = {0}, expected[64];
    snprintf(path, sizeof path, "%s/status", getenv("TIDINGS_DIRECTORY"));
    int event = 7, length = 7, other;
    const int token = check_of("com.example.status");
    (void)descriptor_of("com.example.second", &other);
    OK(notify_suspend(other));
    OK(notify_dump_status(path));
    FILE *file = fopen(path, "r");
    CHECK(file != NULL && fread(text, 1, sizeof text - 1, file) > 0, "errno %d", errno);
    fclose(file);
    snprintf(expected, sizeof expected, "token %d check suspended 0", token);
    CHECK(strstr(text, expected) && strstr(text, "name com.example.status\n"), "%s", text);
    snprintf(expected, sizeof expected, "token %d file suspended 1", other);
    CHECK(strstr(text, expected) && strstr(text, "name com.example.second\n"), "%s", text);
    unlink(path);
    OK(notify_get_event(token, &event, path, &length));
    CHECK(event == 0 && length == 0, "%d, %d", event, length);
    _notify_fork_child();
    OK(notify_post("com.example.status"));
    CHECK(is_new(token), "posted");
}
