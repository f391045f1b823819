// Forked children go on with what their parent had; programs that are executed begin anew.
#include <pthread.h>

#include "peer.h"

static int token, delivered, descriptor, own, silent;
static channel told_child, told_parent;

static void child(void) {
    CHECK(is_new(token), "posted before the fork, and not checked");
    CHECK(!is_new(token) && !is_new(silent), "told");
    OK(notify_post("com.example.a"));
    CHECK(is_new(token), "its own");
    uint64_t state;
    OK(notify_get_state(token, &state));
    CHECK(state == 9, "%llu", (unsigned long long)state);
    OK(notify_set_state(token, 10));
    OK(notify_post("self.a"));
    CHECK(is_new(own) && !is_new(own), "its own process's");
    tell(&told_parent);
    told(&told_child);
    CHECK(is_new(token) && !is_new(own), "its parent's");
    int more, another;
    const int fresh = descriptor_of("com.example.a", &more);
    another = check_of("com.example.b");
    CHECK(is_new(another), "first");
    OK(notify_post("com.example.a"));
    CHECK(read_token(fresh) == more, "delivered in the child");
    int reused = descriptor, third;
    EXPECT(NOTIFY_STATUS_INVALID_FILE, notify_register_file_descriptor("com.example.a", &reused, NOTIFY_REUSE, &third));
    OK(notify_cancel(token));
    OK(notify_cancel(delivered));
    OK(notify_cancel(own));
    OK(notify_cancel(more));
}

void a_forked_child_goes_on(void) {
    told_child = channel_open(), told_parent = channel_open();
    token = check_of("com.example.a");
    own = check_of("self.a");
    silent = check_of("com.example.silent");
    descriptor = descriptor_of("com.example.a", &delivered);
    CHECK(is_new(token) && is_new(own) && is_new(silent), "first");
    OK(notify_set_state(token, 9));
    OK(notify_post("com.example.a"));
    CHECK(read_token(descriptor) == delivered, "delivered");
    const pid_t pid = start(child);
    told(&told_parent);
    CHECK(read_token(descriptor) == delivered, "the child's post");
    CHECK(is_new(token) && !is_new(own), "told here as well");
    OK(notify_post("com.example.a"));
    OK(notify_post("self.a"));
    CHECK(is_new(own), "own");
    tell(&told_child);
    ends_well(pid);
    // The parent's post, and the child's second: once each.
    CHECK(read_token(descriptor) == delivered && read_token(descriptor) == delivered, "delivered");
    CHECK(!is_readable(descriptor) && is_new(token), "once each");
    uint64_t state;
    OK(notify_get_state(token, &state));
    CHECK(state == 10, "%llu", (unsigned long long)state);
}

static void registers_first_thing(void) {
    int its, its_own;
    const int fresh = descriptor_of("com.example.a", &its), of_self = descriptor_of("self.a", &its_own);
    OK(notify_post("com.example.a"));
    CHECK(read_token(fresh) == its, "the first call after the fork");
    OK(notify_post("self.a"));
    CHECK(read_token(of_self) == its_own, "a domain that its parent has not opened");
}

static void registers_elsewhere_first(void) {
    int its_own;
    const int of_self = descriptor_of("self.a", &its_own);
    OK(notify_post("com.example.a"));
    CHECK(is_new(token), "its first call for the domain of its parent");
    OK(notify_post("self.a"));
    CHECK(read_token(of_self) == its_own, "the pipe from before");
}

void a_forked_child_is_delivered_to_whatever_it_calls_first(void) {
    token = check_of("com.example.a");
    CHECK(is_new(token), "first");
    ends_well(start(registers_first_thing));
    ends_well(start(registers_elsewhere_first));
}

static int suspended;

static void resumes(void) {
    OK(notify_resume(suspended));
    OK(notify_suspend_pid(getpid()));
    OK(notify_resume_pid(getpid()));
}

void a_forked_child_delivers_nothing_for_its_parent(void) {
    int other;
    const int pipe = descriptor_of("com.example.a", &suspended), second = descriptor_of("com.example.a", &other);
    OK(notify_suspend(suspended));
    OK(notify_post("com.example.a"));
    CHECK(read_token(second) == other, "delivered to the other token");
    // Deliveries are made under a lock that a suspension takes: after it, the suspended token is due.
    OK(notify_suspend(other));
    ends_well(start(resumes));
    CHECK(!is_readable(pipe), "the child has written the token that its parent has suspended");
    OK(notify_resume(suspended));
    CHECK(read_token(pipe) == suspended && !is_readable(pipe), "resumed in the parent");
}

static void *posts(void *argument) {
    _Atomic bool *stop = argument;
    while (!*stop) {
        (void)notify_post("com.example.a");
        // Under a sanitizer the child reads more slowly than the parent posts. Without a pause it would never finish.
        if (SANITIZED) usleep(50);
    }
    return NULL;
}

static void short_life(void) {
    int check;
    OK(notify_check(token, &check));
    // Where the ring has gone round since the fork, the child can't know what was in it. So this may be new here, but
    // only once.
    (void)is_new(silent);
    CHECK(!is_new(silent), "never posted");
    OK(notify_post("com.example.b"));
    const int more = check_of("com.example.c");
    CHECK(is_new(more), "first");
    OK(notify_cancel(more));
}

void children_forked_at_any_moment_go_on(void) {
    _Atomic bool stop = false;
    pthread_t threads[2];
    token = check_of("com.example.a");
    silent = check_of("com.example.silent");
    CHECK(is_new(silent), "first");
    const int b = check_of("com.example.b");
    CHECK(is_new(b), "first");
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, posts, &stop);
    for (int i = 0; i < (SANITIZED ? 20 : 100); i++) {
        ends_well(start(short_life));
        CHECK(is_new(b), "child %d", i);
        (void)is_new(token);
    }
    stop = true;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    CHECK(!is_new(silent), "never posted");
}

static int unasked, earlier, told_twice, in_child;
static void lapped_child(void) {
    told(&told_child);
    // What its parent was told of doesn't matter here; nothing that was posted goes by, and nothing comes twice.
    CHECK(is_new(token), "posted after the fork, 20,000 posts ago");
    CHECK(is_new(unasked), "posted before the fork, and not asked for");
    // The child can't know what else was among the lapped posts: this may be new, once.
    (void)is_new(silent);
    (void)is_new(earlier);
    CHECK(!is_new(token) && !is_new(unasked) && !is_new(silent) && !is_new(earlier), "told");
    // From here on it is as exact as its parent, also when it is lapped.
    OK(notify_post("com.example.a"));
    for (int i = 0; i < 20000; i++) OK(notify_post("com.example.noise"));
    CHECK(is_new(token) && !is_new(unasked) && !is_new(silent) && !is_new(earlier), "its own");
    in_child = check_of("com.example.silent");
    CHECK(is_new(in_child) && !is_new(in_child), "a new one");
}

void a_forked_child_that_was_lapped_is_told_of_what_was_posted(void) {
    told_child = channel_open();
    token = check_of("com.example.a");
    unasked = check_of("com.example.unasked");
    earlier = check_of("com.example.earlier");
    silent = check_of("com.example.silent");
    told_twice = check_of("com.example.a");
    CHECK(is_new(token) && is_new(unasked) && is_new(earlier) && is_new(silent) && is_new(told_twice), "first");
    OK(notify_post("com.example.unasked"));
    OK(notify_post("com.example.earlier"));
    CHECK(is_new(earlier), "posted");
    const pid_t pid = start(lapped_child);
    OK(notify_post("com.example.a"));
    for (int i = 0; i < 20000; i++) OK(notify_post("com.example.noise"));
    tell(&told_child);
    ends_well(pid);
    CHECK(is_new(told_twice) && is_new(unasked) && !is_new(silent) && !is_new(earlier), "exact in the parent");
}

static void execute(const char *what) {
    execl("/proc/self/exe", own_executable, "--executed", what, (char *)NULL);
    CHECK(false, "errno %d", errno);
}

void executed(const char *what) {
    int check;
    CHECK(!notify_is_valid_token(1), "a token of the program that executed us");
    EXPECT(NOTIFY_STATUS_INVALID_TOKEN, notify_check(1, &check));
    const int mine = check_of("com.example.a");
    CHECK(is_new(mine), "first");
    OK(notify_post(strcmp(what, "first") == 0 ? "com.example.first" : "com.example.second"));
    CHECK(!is_new(mine), "another name");
    if (strcmp(what, "first") == 0) execute("second");
}

static void executes(void) { execute("first"); }

void fork_and_exec_and_exec(void) {
    const int first = check_of("com.example.first"), second = check_of("com.example.second");
    CHECK(is_new(first) && is_new(second), "first");
    for (int i = 0; i < 5; i++) {
        ends_well(start(executes));
        CHECK(is_new(first) && is_new(second), "round %d", i);
    }
    CHECK(!is_new(first) && !is_new(second), "all told");
}
