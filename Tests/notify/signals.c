// Tokens that are signals, and calls from within a handler.
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/time.h>

#include "peer.h"

static sem_t arrived;
static _Atomic int handled[65];

static void handler(int number) {
    atomic_fetch_add(&handled[number], 1);
    sem_post(&arrived);
}

static void wait_for_one(void) {
    while (sem_wait(&arrived) != 0) CHECK(errno == EINTR, "errno %d", errno);
}

static void catch_signal(int number, void (*with)(int)) {
    struct sigaction action = {.sa_handler = with, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    CHECK(sigaction(number, &action, NULL) == 0, "errno %d", errno);
}

void a_signal_comes_for_a_post(void) {
    sem_init(&arrived, 0, 0);
    catch_signal(SIGUSR1, handler);
    catch_signal(SIGUSR2, handler);
    // Each once by itself: the thread sanitizer keeps a thread's first signal if another thread sends it. (As strace
    // has it: sent, received, our handler not called.)
    raise(SIGUSR1);
    raise(SIGUSR2);
    for (int i = 0; i < 2; i++) wait_for_one();
    handled[SIGUSR1] = handled[SIGUSR2] = 0;
    int first, second;
    OK(notify_register_signal("com.example.a", SIGUSR1, &first));
    OK(notify_register_signal("com.example.b", SIGUSR2, &second));
    for (int i = 1; i <= 20; i++) {
        OK(notify_post("com.example.a"));
        wait_for_one();
        CHECK(handled[SIGUSR1] == i && handled[SIGUSR2] == i - 1, "round %d: %d, %d", i, handled[SIGUSR1],
              handled[SIGUSR2]);
        OK(notify_post("com.example.b"));
        wait_for_one();
        CHECK(handled[SIGUSR1] == i && handled[SIGUSR2] == i, "round %d: %d, %d", i, handled[SIGUSR1],
              handled[SIGUSR2]);
    }
    OK(notify_cancel(first));
    OK(notify_post("com.example.a"));
    OK(notify_post("com.example.b"));
    wait_for_one();
    CHECK(handled[SIGUSR1] == 20, "after its cancel");
    CHECK(is_new(second), "and it can be checked");
}

static _Atomic uint32_t status_in_handler;
static void posts_to_ended_center(int number) {
    (void)number;
    atomic_store(&status_in_handler, notify_post("com.example.a"));
}

// Returns a suspended token that is due: resuming it sends SIGUSR1 to this thread, inside the library.
static int due_token(void) {
    int token, other;
    OK(notify_register_signal("com.example.a", SIGUSR1, &token));
    const int descriptor = descriptor_of("com.example.a", &other);
    OK(notify_suspend(token));
    OK(notify_post("com.example.a"));
    CHECK(read_token(descriptor) == other, "delivered to the other token");
    // Deliveries are made under a lock that a suspension takes: after it, the suspended token is due.
    OK(notify_suspend(other));
    return token;
}

// The signal arrives in the thread that resumes its token, inside the library, and a post of the handler finds that the
// center has ended.
void a_handler_that_posts_to_an_ended_center_returns(void) {
    notify_set_options(NOTIFY_OPT_REGEN);
    const int token = due_token();
    // No successor can be opened: another file has its path.
    char path[512], another[520];
    tidings_center *center = default_center();
    snprintf(path, sizeof path, "%s", tidings_path(center));
    tidings_close(center);
    snprintf(another, sizeof another, "%s.another", path);
    FILE *file = fopen(another, "w");
    CHECK(file && fclose(file) == 0 && rename(another, path) == 0, "errno %d", errno);
    while (notify_post("com.example.a") == NOTIFY_STATUS_OK) sched_yield();
    atomic_store(&status_in_handler, NOTIFY_STATUS_OK);
    catch_signal(SIGUSR1, posts_to_ended_center);
    OK(notify_resume(token));
    // The posts above may be delivered only now. With NOTIFY_OPT_REGEN a handler must not post to a removed center
    // above code that holds the heap's lock, as the leak check at the end of the process does.
    catch_signal(SIGUSR1, SIG_IGN);
    CHECK(atomic_load(&status_in_handler) == NOTIFY_STATUS_SERVER_NOT_FOUND, "%u", atomic_load(&status_in_handler));
}

static int asked, posted_here;
static _Atomic int news;
static _Atomic uint64_t rounds, wrong;

static void asks(int number) {
    (void)number;
    int check;
    uint64_t state;
    const int saved = errno;
    if (notify_check(asked, &check) != NOTIFY_STATUS_OK || notify_get_state(asked, &state) != NOTIFY_STATUS_OK ||
        state != 42)
        wrong++;
    if (check) news++;
    if (notify_post("com.example.from.a.handler") != NOTIFY_STATUS_OK ||
        notify_post("com.example.b") != NOTIFY_STATUS_OK)
        wrong++;
    rounds++;
    errno = saved;
}

// The handler interrupts checks, posts, registrations and memory being taken, a thousand times a second.
void check_post_and_state_work_inside_a_handler(void) {
    asked = check_of("com.example.a");
    posted_here = check_of("com.example.from.a.handler");
    OK(notify_set_state(asked, 42));
    CHECK(is_new(asked), "first");
    catch_signal(SIGALRM, SIG_DFL);
    catch_signal(SIGPROF, asks);
    const struct itimerval often = {{0, 500}, {0, 500}};
    setitimer(ITIMER_PROF, &often, NULL);
    const uint64_t wanted = SANITIZED ? 100 : 400;
    const int mine = check_of("com.example.mine");
    CHECK(is_new(mine), "first");
    for (uint64_t i = 0; rounds < wanted; i++) {
        OK(notify_post("com.example.mine"));
        CHECK(is_new(mine), "an own post, %llu", (unsigned long long)i);
        CHECK(!is_new(mine), "told once, %llu", (unsigned long long)i);
        char name[64];
        snprintf(name, sizeof name, "com.example.%u", (unsigned)(i % 200));
        const int more = check_of(name);
        OK(notify_cancel(more));
        free(malloc(1 + i % 5000));
    }
    const struct itimerval never = {0};
    setitimer(ITIMER_PROF, &never, NULL);
    CHECK(wrong == 0, "%llu wrong answers", (unsigned long long)wrong);
    CHECK(news == 0, "%d news of what was never posted", news);
    CHECK(is_new(posted_here), "posted in a handler");
    OK(notify_post("com.example.a"));
    CHECK(is_new(asked), "posted after all");
}

static _Atomic uint64_t forks;
static void forks_child(int number) {
    (void)number;
    const int saved = errno;
    const pid_t pid = fork();
    if (pid == 0) _exit(0);
    int status = -1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (pid < 0 || status != 0) wrong++;
    forks++;
    errno = saved;
}

// Once a child has ended. A timer that repeats would go off meanwhile, where a fork takes longer than its interval, and
// the handler would follow itself for ever.
static void sends_signal_soon(void) {
    const struct itimerval soon = {{0, 0}, {0, 500}};
    setitimer(ITIMER_PROF, &soon, NULL);
}
static void forks_child_again(int number) {
    forks_child(number);
    sends_signal_soon();
}

static void *registers(void *argument) {
    _Atomic bool *stop = argument;
    for (unsigned i = 0; !*stop; i++) {
        char name[64];
        snprintf(name, sizeof name, "com.example.%u", i % 200);
        const int more = check_of(name);
        OK(notify_cancel(more));
    }
    return NULL;
}

// The handler interrupts a resumption, which sends the signal with the library's lock held. Then it interrupts checks
// and posts at any moment, while another thread registers.
void a_handler_can_fork_inside_a_call(void) {
    catch_signal(SIGUSR1, forks_child);
    OK(notify_resume(due_token()));
    CHECK(forks == 1, "%llu forks", (unsigned long long)forks);
    const int mine = check_of("com.example.mine");
    CHECK(is_new(mine), "first");
    catch_signal(SIGPROF, forks_child_again);
    sigset_t often_signal;
    sigemptyset(&often_signal);
    sigaddset(&often_signal, SIGPROF);
    _Atomic bool stop = false;
    pthread_t thread;
    CHECK(pthread_sigmask(SIG_BLOCK, &often_signal, NULL) == 0, "mask");
    CHECK(pthread_create(&thread, NULL, registers, &stop) == 0, "no thread");
    CHECK(pthread_sigmask(SIG_UNBLOCK, &often_signal, NULL) == 0, "mask");
    sends_signal_soon();
    const uint64_t wanted = SANITIZED ? 20 : 200;
    for (uint64_t i = 0; forks < wanted; i++) {
        OK(notify_post("com.example.mine"));
        CHECK(is_new(mine) && !is_new(mine), "an own post, %llu", (unsigned long long)i);
    }
    catch_signal(SIGPROF, SIG_IGN);
    stop = true;
    pthread_join(thread, NULL);
    CHECK(wrong == 0, "%llu children failed", (unsigned long long)wrong);
}
