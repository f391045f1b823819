// Reclaims what dead participants left. If the lock of an entry that still describes a participant can be taken, that
// participant is dead. Invariant A6: each step can be repeated.
#include "center/center.h"
#include "platform/lock.h"
#include "registry/observers.h"
#include "registry/participants.h"
#include "ring/chunk.h"
#include "ring/hold.h"

void tidings__reclaim_orphans(tidings__segment *s, const tidings__participant_set *dead) {
    tidings__observers_reclaim(s, dead);
#ifndef MUTANT_CHUNKS_NOT_RECLAIMED  // Found by: interleaving dead_large_poster; fault-injection a_chunk_post
    tidings__chunk_reclaim(s, dead);
#endif
#ifndef MUTANT_HOLDS_NOT_RECLAIMED  // Found by: interleaving dead_holder; fault-injection a_held_payload
    tidings__holds_reclaim(s, dead);
#endif
#ifndef MUTANT_FOREIGN_CLAIMS_NOT_RECLAIMED  // Found by: interleaving foreign_poster
    tidings__claims_reclaim(s, dead);
#endif
}

int tidings__reclaim_dead(tidings_center *center) {
    tidings__segment *s = &center->segment;
    if (!s->writable) return 0;
    // Two threads of one handle share its descriptor, and the kernel would grant the locks to both. So one thread at a
    // time reclaims. A thread that finds the mutex taken only declares dead participants.
    if (pthread_mutex_trylock(&center->lock) != 0) {
        for (uint32_t i = 0; i < s->shape.participants; i++) (void)tidings__participant_dead(s, i, center->participant);
        return 0;
    }
    const int fd = tidings__segment_locks(s);
    tidings__participant_set dead = {0};
    int count = 0;
    for (uint32_t i = 0; i < s->shape.participants; i++) {
        // Invariant A5: the lock, while the entry still describes its owner, is the proof.
        if (!tidings__participant_dead(s, i, center->participant) || tidings__lock_try(fd, i, true) != 0) continue;
        if (tidings__acquire(&s->participants[i].instance) == 0) {
            tidings__lock_release(fd, i);
            continue;
        }
        tidings__participant_set_add(&dead, i);
        count++;
    }
#ifdef MUTANT_INSTANCE_CLEARED_BEFORE_RECLAIM  // Found by: interleaving dead_reclaimer
    for (uint32_t i = 0; i < s->shape.participants; i++)
        if (tidings__participant_set_has(&dead, i)) tidings__set_release(&s->participants[i].instance, 0);
#endif
    // One walk of each table for all of them.
    if (count > 0) tidings__reclaim_orphans(s, &dead);
    for (uint32_t i = 0; count > 0 && i < s->shape.participants; i++) {
        if (!tidings__participant_set_has(&dead, i)) continue;
        tidings__set_release(&s->participants[i].instance, 0);
        tidings__lock_release(fd, i);
    }
    pthread_mutex_unlock(&center->lock);
    return count;
}
