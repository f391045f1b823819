#include "platform/robust.h"

#include <linux/futex.h>
#include <pthread.h>

#include "platform/thread.h"
#include "unit.h"

static _Atomic uint32_t words[4];
static tidings__robust robust;
static int result;

static void *dies(void *argument) {
    result = tidings__robust_begin(&robust, words);
    if (argument) words[0] = 0;
    // Posts of this thread use the pending operation of its own list.
    CHECK_EQUAL((uintptr_t)tidings__thread_self()->pending, (uintptr_t)&robust.head[2]);
    CHECK_EQUAL(words[2], tidings__thread_self()->tid | FUTEX_WAITERS);
    return NULL;
}

static void run(void *argument) {
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, dies, argument), 0);
    pthread_join(thread, NULL);
    CHECK_EQUAL(result, 0);
}

TEST(the_kernel_marks_both_words_when_the_thread_ends) {
    run(NULL);
    CHECK_EQUAL(words[0], FUTEX_WAITERS | FUTEX_OWNER_DIED);
    CHECK_EQUAL(words[2], FUTEX_WAITERS | FUTEX_OWNER_DIED);
    CHECK_EQUAL(words[1] | words[3], 0);
}

TEST(the_kernel_leaves_a_word_alone_that_is_not_the_threads) {
    run(words);
    CHECK_EQUAL(words[0], 0);
    CHECK_EQUAL(words[2], FUTEX_WAITERS | FUTEX_OWNER_DIED);
}
