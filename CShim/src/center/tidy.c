// Remains of the dead. Whoever gets the lock of a place that still describes somebody has found remains; every step can be done again.
#include "center/center.h"
#include "platform/lock.h"
#include "registry/observers.h"
#include "registry/participants.h"
#include "ring/chunk.h"

void tidings__tidy_remains(tidings__segment *s, uint32_t index) {
    tidings__observers_tidy(s, index);
    tidings__chunk_tidy(s, index);
    tidings__name_tidy(s, index);
    tidings__claims_tidy(s, index);
}

bool tidings__tidy_participant(tidings_center *center, uint32_t index) {
    tidings__segment *s = &center->segment;
    if (!s->writable || !tidings__participant_dead(s, index, center->participant)) return false;
    // Two threads of one handle share its descriptor, and the kernel would grant both the lock: one at a time. Who finds another at it has nothing to do.
    if (pthread_mutex_trylock(&center->lock) != 0) return false;
    if (tidings__lock_try(tidings__segment_locks(s), index, true) != 0) {
        pthread_mutex_unlock(&center->lock);
        return false;
    }
    bool found = tidings__acquire(&s->participants[index].instance) != 0;
    if (found) {
        tidings__tidy_remains(s, index);
        tidings__set_release(&s->participants[index].instance, 0);
    }
    tidings__lock_release(tidings__segment_locks(s), index);
    pthread_mutex_unlock(&center->lock);
    return found;
}
