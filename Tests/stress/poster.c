// Posts at random until the gust is over or the process is ended. Forks, executes itself anew, and opens everything
// anew on the way.
#include "board.h"

#include <pthread.h>
#include <sys/wait.h>

static uint32_t incarnation_of_all;

static uint32_t some_size(chance *c) {
    const uint64_t kind = chance_below(c, 2000);
    if (kind < 100) return 0;
    if (kind < 1300) return (uint32_t)chance_below(c, 140);
    if (kind < 1800) return (uint32_t)chance_below(c, 300);
    if (kind < 1970) return (uint32_t)chance_below(c, 2000);
    if (kind < 1997) return (uint32_t)chance_below(c, 40000);
    return (uint32_t)chance_below(c, LARGEST + 1);
}

static uint8_t some_name(chance *c) {
    const uint64_t kind = chance_below(c, 100);
    if (kind < 50) return CHATTY;
    if (kind < 95) return kind % 2 ? SHARED_A : SHARED_B;
    if (kind < 97) return RARE;
    return kind % 2 ? STATE_A : STATE_B;
}

static int post_one(hand *h) {
    chance *c = &h->chance;
    const uint8_t name = some_name(c);
    const bool state = name == STATE_A || name == STATE_B;
    const uint64_t wait = chance_below(c, 8);
    const int64_t deadline = wait == 0 ? 0 : wait == 1 ? 2000000 : -1;
    uint32_t size = some_size(c);
    if (size == 0 && !h->alone) size = 1;  // what is empty says only whose process posted it
    // A poster that clears a value isn't told the sequence; the witness is.
    if (state) size = h->alone && all->witnessed && chance_below(c, 10) == 0 ? 0 : size > 0 ? size : 1;
    const uint8_t publisher = (uint8_t)(name * SUBJECTS + (state ? 0 : chance_below(c, SUBJECTS)));
    return hand_post(h, publisher, size, state, deadline, size > 0 && chance_below(c, 10) == 0);
}

// Only the director waits for this process: it has made itself the parent of orphans. So the process number can't be
// used again before that.
static void fork_away(hand *h, bool other_threads) {
    atomic_fetch_add(&all->forks, 1);
    const pid_t between = fork();
    CHECK(between >= 0, "fork: %s", strerror(errno));
    if (between > 0) {
        int status;
        CHECK(waitpid(between, &status, 0) == between && WIFEXITED(status) && WEXITSTATUS(status) == 0,
              "a child that forks and ends: %x", (unsigned)status);
        return;
    }
    const pid_t child = fork();
    if (child != 0) _exit(child < 0);
    alarm(300);
    presence_forked();
    const uint32_t orphan = atomic_fetch_add(&all->orphans, 1);
    if (orphan < ORPHANS) __atomic_store_n(&all->orphan[orphan], getpid(), __ATOMIC_RELEASE);
    hand_renew(h);
    presence_begin(FORKED, h->center, &h->chance);
    for (uint64_t posts = chance_below(&h->chance, 400); posts > 0 && post_one(h) != NO_MORE; posts--) {}
    const bool leaves = chance_below(&h->chance, 2) && !other_threads;
    atomic_store(&all->row_ended[h->row], true);
    if (leaves) {
        hand_close(h);
        presence_close(h->center);
    }
    _exit(0);
}

typedef struct crew {
    uint32_t number;
    bool threaded;
    tidings_center *center;
    chance chance;
} crew;

static void *posts(void *argument) {
    crew *w = argument;
    hand h;
    hand_open(&h, w->center, w->number, w->chance);
    h.alone = !w->threaded;
    for (;;) {
        uint64_t burst = 1 + chance_below(&h.chance, 64);
        int result = POSTED;
        while (burst-- > 0 && result != NO_MORE) result = post_one(&h);
        if (result == NO_MORE) break;
        const uint64_t next = chance_below(&h.chance, 2000);
        if (next < 10) {
            fork_away(&h, w->threaded);
        } else if (next < 15) {
            // It ends here, without a word, and with it the other thread, wherever that is.
            atomic_fetch_add(&all->execs, 1);
            atomic_store(&all->row_ended[h.row], true);
            self_exec("--poster", w->number, incarnation_of_all + 1000);
        } else if (next < 40) {
            atomic_fetch_add(&all->reopened, 1);
            const uint32_t row = h.row;
            hand_close(&h);
            if (!w->threaded) {
                presence_close(w->center);
                w->center = center_join(false);
                presence_begin(w->number, w->center, &h.chance);
            }
            hand_open(&h, w->center, w->number, h.chance);
            h.alone = !w->threaded;
            atomic_store(&all->row_ended[row], true);
        } else if (next < 60) {
            if (!w->threaded) presence_change(w->number, w->center, &h.chance);
        } else if (next < 300) {
            usleep((useconds_t)chance_below(&h.chance, 700));  // a pause in which observers fall asleep
        }
    }
    atomic_store(&all->row_ended[h.row], true);
    hand_close(&h);
    return NULL;
}

void poster_main(uint32_t number, uint32_t incarnation) {
    incarnation_of_all = incarnation;
    tidings_center *center = center_join(false);
    crew crews[2];
    for (int i = 0; i < 2; i++)
        crews[i] = (crew){number, number % 4 == 0, center,
                          chance_of(all->seed + 17, all->round * 100000u + incarnation, number * 2 + (uint32_t)i)};
    presence_begin(number, center, &crews[0].chance);
    pthread_t second;
    if (crews[0].threaded) CHECK(pthread_create(&second, NULL, posts, &crews[1]) == 0, "no thread");
    posts(&crews[0]);
    if (crews[0].threaded) pthread_join(second, NULL);
    // Otherwise a participant that is announced dies.
    if (chance_below(&crews[0].chance, 4)) presence_close(crews[0].center);
    _exit(0);
}
