// Two threads of one number, in two pid namespaces, and one of them dies.
#include <sys/ptrace.h>

#include "eviction/evict.h"
#include "receiving/observer.h"
#include "ring/claim.h"
#include "steps.h"

// Stands where the kernel has been told of a word, if it ever is: a window of few instructions, just before the claim.
// A child has its robust list where we have ours.
static uint64_t step_until_announced(pid_t pid) {
    uint64_t done = 0;
    while (step(pid, 1, false) == 1) {
        done++;
        if (ptrace(PTRACE_PEEKDATA, pid, tidings__thread_self()->pending, NULL) != 0) break;
    }
    return done;
}

// The kernel marks the word that a dying thread had announced, if it holds that thread's number, in whatever namespace:
// a claim of ours, of the same number, must never be taken for it.
void a_death_elsewhere_leaves_an_equal_numbers_claim_alone(void) {
    CHECK(getpid() == 1, "number %d", (int)getpid());
    what = (act){.size = 64};
    returned = shared_memory(4096);
    tidings_center *center = join_center(256);
    const tidings__segment *s = &center->segment;
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *observer = observer_of(center, NAME);
    CHECK(center->in_creation_pid_namespace, "the center was born here");
    const uint64_t length =
        length_of(posts_once);      // a child of another namespace, and number 1 there: every other one is
    ends_well(start(section_end));  // the one between
    const uint32_t kills = moments(KILLS / 2, length);
    drain(observer);
    for (uint32_t kill = 0; kill < kills; kill++) {
        atomic_store(returned, 0);
        const pid_t elsewhere = start_traced(posts_once);
        const uint64_t at = kill == 0 ? step_until_announced(elsewhere)
                                      : step(elsewhere, moment(kill, kills, length), false);
        // Now we are in the middle of a post.
        tidings__thread *thread = tidings__thread_self();
        thread->inside++;
        const uint32_t owner = tidings__owner(center, thread);
        CHECK(owner == 1, "claims as %x", owner);
        _Atomic uint64_t hint = 0;
        tidings__claim claim;
        const tidings__claimant by = {s, thread, &hint, owner, true};
        while (tidings__claim_next(&by, &(uint32_t){0}, &claim) != 0)
            OK(tidings__make_room(center, hint, &(tidings__effort){0}, &(uint32_t){0}));
        const uint64_t ours = atomic_load(&claim.cell->claim);
        kill_and_reap(elsewhere);
        CHECK(atomic_load(&claim.cell->claim) == ours,
              "killed after %lu of %lu instructions: our claim is marked as a dead one's", (unsigned long)at,
              (unsigned long)length);
        tidings__abandon(&claim, owner, thread);
        thread->inside--;
        post_number(publisher, kill);
        tidings_delivery delivery = receive(observer);
        if (stamp_of(&delivery).poster == 1) delivery = receive(observer);
        CHECK(stamp_of(&delivery).poster == 0 && stamp_of(&delivery).number == kill, "another came");
        ends_well(start(section_end));
    }
}
