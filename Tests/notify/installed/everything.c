// Uses every public function, as a program that knows nothing but the installed headers; in C11 and in C++11, which see
// the same text.
#include <arpa/inet.h>
#include <notify.h>
#include <notify_keys.h>
#include <notify_private.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition);                                            \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)
#define OK(call) CHECK((call) == NOTIFY_STATUS_OK)

static volatile sig_atomic_t signals;
static void handler(int number) {
    (void)number;
    signals = signals + 1;
}

int main(void) {
    int token, second, by_signal, plain, check, descriptor = -1, length = 1;
    uint64_t state;
    uint32_t value, again, bytes;
    mach_port_t port;
    char path[] = "/tmp";
    CHECK(NOTIFY_STATUS_OK == 0 && NOTIFY_STATUS_INVALID_NAME == 1 && NOTIFY_STATUS_INVALID_TOKEN == 2 &&
          NOTIFY_STATUS_INVALID_PORT == 3);
    CHECK(NOTIFY_STATUS_INVALID_FILE == 4 && NOTIFY_STATUS_INVALID_SIGNAL == 5 && NOTIFY_STATUS_INVALID_REQUEST == 6 &&
          NOTIFY_STATUS_NOT_AUTHORIZED == 7);
    CHECK(NOTIFY_STATUS_OPT_DISABLE == 8 && NOTIFY_STATUS_SERVER_NOT_FOUND == 9 && NOTIFY_STATUS_NULL_INPUT == 10 &&
          NOTIFY_STATUS_FAILED == 1000000);
    CHECK(NOTIFY_REUSE == 1 && NOTIFY_TOKEN_INVALID == -1);
    CHECK(strcmp(kNotifyTimeZoneChange, "com.apple.system.timezone") == 0 &&
          strcmp(kNotifyClockSet, "com.apple.system.clock_set") == 0);

    OK(notify_register_check("com.example.installed", &token));
    OK(notify_check(token, &check));
    CHECK(check == 1);
    OK(notify_check(token, &check));
    CHECK(check == 0);
    OK(notify_post("com.example.installed"));
    OK(notify_check(token, &check));
    CHECK(check == 1);
    OK(notify_peek(token, &value));
    OK(notify_simple_post("com.example.installed"));
    OK(notify_peek(token, &again));
    CHECK(again == value + 1);

    OK(notify_register_file_descriptor("com.example.installed", &descriptor, 0, &second));
    OK(notify_post("com.example.installed"));
    CHECK(read(descriptor, &bytes, sizeof bytes) == 4 && (int)ntohl(bytes) == second);
    OK(notify_suspend(second));
    OK(notify_post("com.example.installed"));
    OK(notify_resume(second));
    CHECK(read(descriptor, &bytes, sizeof bytes) == 4 && (int)ntohl(bytes) == second);
    OK(notify_monitor_file(second, path, 0));
    OK(notify_monitor_file(second, path, NOTIFY_FILE_DELETE | NOTIFY_FILE_RENAME));
    OK(notify_monitor_file(second, NULL, 0));
    OK(notify_suspend_pid(getpid()));
    OK(notify_resume_pid(getpid()));
    OK(notify_get_event(second, &check, path, &length));
    CHECK(check == 0 && length == 0);
    OK(notify_dump_status("/dev/null"));
    _notify_fork_child();

    sigset_t wanted, before;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    sigprocmask(SIG_BLOCK, &wanted, &before);
    signal(SIGUSR1, handler);
    OK(notify_register_signal("com.example.installed", SIGUSR1, &by_signal));
    OK(notify_post("com.example.installed"));
    while (signals == 0) sigsuspend(&before);

    OK(notify_register_plain("com.example.installed", &plain));
    OK(notify_set_state(plain, 42));
    OK(notify_get_state(token, &state));
    CHECK(state == 42);
    CHECK(notify_register_mach_port("com.example.installed", &port, 0, &check) == NOTIFY_STATUS_INVALID_PORT);
    notify_set_options(NOTIFY_OPT_DISPATCH | NOTIFY_OPT_REGEN | NOTIFY_OPT_FILTERED);
    notify_set_options(NOTIFY_OPT_DISABLE);
    CHECK(notify_post("com.example.installed") == NOTIFY_STATUS_OPT_DISABLE);
    notify_set_options(NOTIFY_OPT_ENABLE);

#ifdef NOTIFY_HAS_DISPATCH
    int by_block;
    dispatch_semaphore_t ran = dispatch_semaphore_create(0);
    OK(notify_register_dispatch("com.example.installed", &by_block, dispatch_get_global_queue(0, 0), ^(int given) {
      (void)notify_cancel(given);
      dispatch_semaphore_signal(ran);
    }));
    OK(notify_post("com.example.installed"));
    CHECK(dispatch_semaphore_wait(ran, DISPATCH_TIME_FOREVER) == 0);
    CHECK(!notify_is_valid_token(by_block));
#endif

    const pid_t pid = fork();
    if (pid == 0) _exit(notify_post("com.example.installed") == NOTIFY_STATUS_OK ? 0 : 1);
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    OK(notify_check(token, &check));
    CHECK(check == 1);

    CHECK(notify_is_valid_token(token));
    OK(notify_cancel(token));
    CHECK(!notify_is_valid_token(token));
    OK(notify_cancel(second));
    OK(notify_cancel(by_signal));
    OK(notify_cancel(plain));
    puts("everything behaves");
    return 0;
}
