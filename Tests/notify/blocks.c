// Blocks on queues. Only where the compiler knows blocks and finds Dispatch.
#include "peer.h"

#ifdef NOTIFY_HAS_DISPATCH
#include <semaphore.h>

static void wait_for(sem_t *event) {
    while (sem_wait(event) != 0) CHECK(errno == EINTR, "errno %d", errno);
}

void a_block_runs_for_each_post_on_its_queue(void) {
    static sem_t ran;
    static _Atomic int count, wrong;
    sem_init(&ran, 0, 0);
    dispatch_queue_t queue = dispatch_queue_create("scenario", NULL);
    static int token;
    OK(notify_register_dispatch("com.example.a", &token, queue, ^(int given) {
      if (given != token) wrong++;
      count++;
      sem_post(&ran);
    }));
    for (int i = 1; i <= 100; i++) {
        OK(notify_post("com.example.a"));
        wait_for(&ran);
        CHECK(count == i && wrong == 0, "post %d: ran %d times, %d with another token", i, count, wrong);
    }
    for (int i = 0; i < 50; i++) OK(notify_post("com.example.a"));
    for (int i = 0; i < 50; i++) wait_for(&ran);
    CHECK(is_new(token) && !is_new(token), "it can be checked");
    OK(notify_cancel(token));
    dispatch_release(queue);
}

void siblings_on_one_name_have_their_own_memory_and_blocks(void) {
    static sem_t ran;
    static _Atomic int counts[20];
    sem_init(&ran, 0, 0);
    dispatch_queue_t queue = dispatch_queue_create("scenario", NULL);
    int tokens[20];
    for (int i = 0; i < 20; i++)
        OK(notify_register_dispatch("com.example.a", &tokens[i], queue, ^(int given) {
          (void)given;
          counts[i]++;
          sem_post(&ran);
        }));
    for (int i = 0; i < 20; i++) CHECK(is_new(tokens[i]) && !is_new(tokens[i]), "first of %d", i);
    OK(notify_post("com.example.a"));
    for (int i = 0; i < 20; i++) wait_for(&ran);
    for (int i = 0; i < 20; i++)
        CHECK(counts[i] == 1 && is_new(tokens[i]) && !is_new(tokens[i]), "%d ran %d times", i, counts[i]);
    for (int i = 0; i < 20; i++) OK(notify_cancel(tokens[i]));
    dispatch_release(queue);
}

void blocks_of_one_token_run_one_at_a_time_on_a_concurrent_queue(void) {
    enum { POSTS = 20 };
    static sem_t ran, all_sent;
    static _Atomic int inside, wrong, sent;
    static _Atomic bool begins;
    sem_init(&ran, 0, 0);
    sem_init(&all_sent, 0, 0);
    dispatch_queue_t queue = dispatch_queue_create("scenario", NULL);
    int token, other;
    OK(notify_register_dispatch("com.example.a", &token, dispatch_get_global_queue(0, 0), ^(int given) {
      (void)given;
      if (inside++ != 0) wrong++;
      // The first of a round runs until all others have been handed to the queue, which has threads for them.
      if (atomic_exchange(&begins, false)) wait_for(&all_sent);
      inside--;
      sem_post(&ran);
    }));
    OK(notify_register_dispatch("com.example.a", &other, queue, ^(int given) {
      (void)given;
      if (++sent == POSTS) sem_post(&all_sent);
    }));
    for (int round = 0; round < (SANITIZED ? 20 : 100); round++) {
        sent = 0, begins = true;
        for (int i = 0; i < POSTS; i++) OK(notify_post("com.example.a"));
        for (int i = 0; i < POSTS; i++) wait_for(&ran);
        dispatch_sync(queue, ^{});
        CHECK(wrong == 0, "round %d: %d began while another ran", round, wrong);
    }
    OK(notify_cancel(token));
    OK(notify_cancel(other));
    dispatch_release(queue);
}

void blocks_on_one_queue_run_in_the_order_of_posts(void) {
    enum { POSTS = 100, NAMES = 5 };
    static sem_t ran;
    static int order[POSTS], count;
    sem_init(&ran, 0, 0);
    dispatch_queue_t queue = dispatch_queue_create("scenario", NULL);
    char names[NAMES][32];
    int tokens[NAMES];
    for (int i = 0; i < NAMES; i++) {
        snprintf(names[i], sizeof names[i], "com.example.%d", i);
        OK(notify_register_dispatch(names[i], &tokens[i], queue, ^(int given) {
          order[count++] = given;
          sem_post(&ran);
        }));
    }
    for (int round = 0; round < 20; round++) {
        int posted[POSTS];
        count = 0;
        for (int i = 0; i < POSTS; i++) {
            const int which = (int)random_below(NAMES);
            posted[i] = tokens[which];
            OK(notify_post(names[which]));
        }
        for (int i = 0; i < POSTS; i++) wait_for(&ran);
        dispatch_sync(queue, ^{});
        for (int i = 0; i < POSTS; i++)
            CHECK(order[i] == posted[i], "round %d, post %d: token %d, not %d", round, i, order[i], posted[i]);
    }
    for (int i = 0; i < NAMES; i++) OK(notify_cancel(tokens[i]));
    dispatch_release(queue);
}

void a_block_cancels_its_own_token(void) {
    static sem_t ran, other_ran;
    sem_init(&ran, 0, 0);
    sem_init(&other_ran, 0, 0);
    dispatch_queue_t queue = dispatch_queue_create("scenario", NULL);
    int other;
    OK(notify_register_dispatch("com.example.a", &other, queue, ^(int given) {
      (void)given;
      sem_post(&other_ran);
    }));
    for (int i = 0; i < 200; i++) {
        static _Atomic int count;
        static int token;
        count = 0;
        OK(notify_register_dispatch("com.example.a", &token, queue, ^(int given) {
          count++;
          OK(notify_cancel(given));
          CHECK(!notify_is_valid_token(given), "canceled");
          sem_post(&ran);
        }));
        for (int k = 0; k < 5; k++) OK(notify_post("com.example.a"));
        wait_for(&ran);
        for (int k = 0; k < 5; k++) wait_for(&other_ran);
        // Whatever was on its way to the queue has been there.
        dispatch_sync(queue, ^{});
        CHECK(count == 1, "ran %d times", count);
        EXPECT(NOTIFY_STATUS_INVALID_TOKEN, notify_cancel(token));
    }
    OK(notify_cancel(other));
    dispatch_release(queue);
}

void no_block_begins_after_its_cancel(void) {
    dispatch_queue_t queue = dispatch_queue_create("scenario", NULL);
    for (int i = 0; i < (SANITIZED ? 200 : 2000); i++) {
        _Atomic bool *canceled = malloc(sizeof *canceled), *wrong = calloc(1, sizeof *wrong);
        *canceled = false;
        int token;
        // The queue is busy until the cancel has returned: what waits in it must not run.
        dispatch_semaphore_t gate = dispatch_semaphore_create(0);
        dispatch_async(queue, ^{ dispatch_semaphore_wait(gate, DISPATCH_TIME_FOREVER); });
        OK(notify_register_dispatch("com.example.a", &token, queue, ^(int given) {
          (void)given;
          *wrong = true;
        }));
        OK(notify_post("com.example.a"));
        if (i % 2) CHECK(is_new(token), "posted");
        OK(notify_cancel(token));
        dispatch_semaphore_signal(gate);
        dispatch_sync(queue, ^{});
        CHECK(!*wrong, "round %d", i);
        dispatch_release(gate);
        free(canceled);
        free(wrong);
    }
    dispatch_release(queue);
}

void a_suspended_block_runs_once_at_the_end(void) {
    static sem_t ran, other_ran;
    static _Atomic int count;
    sem_init(&ran, 0, 0);
    sem_init(&other_ran, 0, 0);
    dispatch_queue_t queue = dispatch_queue_create("scenario", NULL);
    int token, other;
    OK(notify_register_dispatch("com.example.a", &token, queue, ^(int given) {
      (void)given;
      count++;
      sem_post(&ran);
    }));
    OK(notify_register_dispatch("com.example.a", &other, queue, ^(int given) {
      (void)given;
      sem_post(&other_ran);
    }));
    OK(notify_suspend(token));
    for (int i = 0; i < 20; i++) OK(notify_post("com.example.a"));
    for (int i = 0; i < 20; i++) wait_for(&other_ran);
    CHECK(count == 0, "ran %d times", count);
    OK(notify_resume(token));
    wait_for(&ran);
    dispatch_sync(queue, ^{});
    CHECK(count == 1, "ran %d times", count);
    EXPECT(NOTIFY_STATUS_NULL_INPUT, notify_register_dispatch("com.example.a", &other, queue, NULL));
    EXPECT(NOTIFY_STATUS_NULL_INPUT,
           notify_register_dispatch("com.example.a", &other, NULL, ^(int given) { (void)given; }));
    dispatch_release(queue);
}
#endif
