// Suspension: nested, and one delivery at its end.
#include "peer.h"

void what_comes_while_suspended_is_delivered_once_at_the_last_resumption(void) {
    int token, other;
    const int descriptor = descriptor_of("com.example.a", &token), second = descriptor_of("com.example.a", &other);
    OK(notify_suspend(token));
    OK(notify_suspend(token));
    OK(notify_suspend(token));
    for (int i = 0; i < 10; i++) OK(notify_post("com.example.a"));
    for (int i = 0; i < 10; i++) CHECK(read_token(second) == other, "the other isn't suspended");
    OK(notify_resume(token));
    OK(notify_resume(token));
    CHECK(!is_readable(descriptor), "still suspended");
    OK(notify_resume(token));
    CHECK(is_readable(descriptor) && read_token(descriptor) == token, "resumed");
    CHECK(!is_readable(descriptor), "once");
    OK(notify_resume(token));  // one too many changes nothing
    OK(notify_post("com.example.a"));
    CHECK(read_token(descriptor) == token && read_token(second) == other, "as before");
    OK(notify_suspend(token));
    OK(notify_resume(token));
    CHECK(!is_readable(descriptor), "nothing was posted");
    OK(notify_suspend(token));
    OK(notify_post("com.example.a"));
    CHECK(read_token(second) == other, "delivered to the other");
    CHECK(is_new(token), "a check goes on");
    OK(notify_cancel(token));
    OK(notify_post("com.example.a"));
    CHECK(read_token(second) == other, "the other goes on");
}

static bool has_come(int number) {
    sigset_t pending;
    CHECK(sigpending(&pending) == 0, "errno %d", errno);
    return sigismember(&pending, number);
}

void a_suspended_signal_comes_once_at_the_last_resumption(void) {
    int token, other, got;
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGUSR1);
    CHECK(sigprocmask(SIG_BLOCK, &watched, NULL) == 0, "errno %d", errno);
    OK(notify_register_signal("com.example.a", SIGUSR1, &token));
    const int descriptor = descriptor_of("com.example.a", &other);
    for (int i = 0; i < 2; i++) OK(notify_suspend(token));
    for (int i = 0; i < 10; i++) {
        OK(notify_post("com.example.a"));
        CHECK(read_token(descriptor) == other, "post %d", i);
    }
    // Deliveries are made under a lock that a suspension takes: after it, the post has got to both.
    OK(notify_suspend(other));
    OK(notify_resume(other));
    CHECK(!has_come(SIGUSR1), "it is suspended");
    OK(notify_resume(token));
    CHECK(!has_come(SIGUSR1), "it still is");
    OK(notify_resume(token));
    CHECK(has_come(SIGUSR1) && sigwait(&watched, &got) == 0 && got == SIGUSR1, "resumed");
    OK(notify_suspend(token));
    OK(notify_resume(token));
    CHECK(!has_come(SIGUSR1), "once for all of it");
}

void a_suspended_process_is_delivered_to_at_the_last_resumption(void) {
    int token, other;
    const int descriptor = descriptor_of("com.example.a", &token), second = descriptor_of("com.example.b", &other);
    const int asked = check_of("com.example.a");
    CHECK(is_new(asked), "first");
    OK(notify_suspend_pid(getpid()));
    OK(notify_suspend_pid(getpid()));
    OK(notify_suspend(other));
    for (int i = 0; i < 3; i++) {
        OK(notify_post("com.example.a"));
        OK(notify_post("com.example.b"));
    }
    CHECK(is_new(asked), "a check goes on");
    OK(notify_resume_pid(getpid()));
    CHECK(!is_readable(descriptor) && !is_readable(second), "still suspended");
    OK(notify_resume_pid(getpid()));
    CHECK(read_token(descriptor) == token && !is_readable(second), "one delivery; the other token is suspended itself");
    OK(notify_suspend_pid(getpid()));
    OK(notify_resume(other));
    CHECK(!is_readable(second), "the process is suspended again");
    OK(notify_resume_pid(getpid()));
    CHECK(read_token(second) == other, "resumed");
    OK(notify_resume_pid(getpid()));  // one too many changes nothing
    OK(notify_post("com.example.a"));
    CHECK(read_token(descriptor) == token, "as before");
    EXPECT(NOTIFY_STATUS_INVALID_REQUEST, notify_suspend_pid(getppid()));
    EXPECT(NOTIFY_STATUS_INVALID_REQUEST, notify_resume_pid(getppid()));
}
