// Participant entries: takes, describes and leaves them, and detects dead participants.
#include "registry/participants.h"

#include <errno.h>
#include <string.h>

#include "platform/clock.h"
#include "platform/error.h"
#include "platform/lock.h"
#include "platform/process.h"

// Invariant A4: a participant is this lock. OFD locks do not exclude handles that share a descriptor, but every handle
// opens its own.
static int take(tidings__segment *s, int fd, uint32_t index, bool *orphans) {
    int error = tidings__lock_try(fd, index, s->writable);
    if (error) return error;
    *orphans = tidings__acquire(&s->participants[index].instance) != 0;
    return 0;
}

int tidings__participant_take(tidings__segment *s, uint32_t *index, bool *orphans) {
    uint32_t count = s->shape.participants;
    const int fd = tidings__segment_locks(s);
    // First the entries that look empty, then all entries: the participants of a table that looks full may be dead.
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < count; i++) {
            if (round == 0 && tidings__acquire(&s->participants[i].instance) != 0) continue;
            // Declares the old participant dead before taking its lock. If this thread were stopped with the lock
            // taken, the old participant would seem to hold it, and its lossless observers would count as alive.
            if (round > 0) (void)tidings__participant_dead(s, i, UINT32_MAX);
            int error = take(s, fd, i, orphans);
            if (error == 0) {
                *index = i;
                return 0;
            }
            if (error != -EAGAIN && error != -EACCES)
                return tidings__fail(-error,
                                     "can't join center \"%s\": locking a byte of %s failed: %s; use a file system "
                                     "with OFD locks (tmpfs has them)",
                                     s->name, s->path, strerror(-error));
        }
    }
    return tidings__fail(EUSERS,
                         "can't join center \"%s\": all its %u participant entries are taken; close some, or create it "
                         "with more participants",
                         s->name, count);
}

uint64_t tidings__participant_describe(tidings__segment *s, uint32_t index) {
    tidings__participant *p = &s->participants[index];
    union {
        char text[sizeof p->executable];
        uint64_t words[sizeof p->executable / 8];
    } executable;
    memset(&executable, 0, sizeof executable);
    tidings__executable_name(executable.text, TIDINGS_EXECUTABLE_MAX + 1);
    for (size_t i = 0; i < sizeof executable.words / 8; i++)
        tidings__set_relaxed(&p->executable[i], executable.words[i]);
    // Invariant F4.
    for (size_t i = 0; i < sizeof p->reserved / 8; i++) tidings__set_relaxed(&p->reserved[i], TIDINGS__RESERVED);
    tidings__set_relaxed(&p->pid, tidings__process_id());
    tidings__set_relaxed(&p->uid, tidings__user_id());
    tidings__set_relaxed(&p->pid_namespace, tidings__pid_namespace());
    tidings__set_relaxed(&p->joined_at, tidings__realtime_ns());
    uint64_t instance = tidings__random() | 1;
    tidings__set_release(&p->instance, instance);
    return instance;
}

void tidings__participant_leave(tidings__segment *s, uint32_t index) {
    tidings__set_release(&s->participants[index].instance, 0);
    tidings__lock_release(tidings__segment_locks(s), index);
}

bool tidings__participant_dead(const tidings__segment *s, uint32_t index, uint32_t own) {
    if (index == own || index >= s->shape.participants) return false;
    uint64_t instance = tidings__acquire(&s->participants[index].instance);
    if (instance == 0) return false;
    if (!(instance & 1)) return true;
    if (tidings__lock_held(tidings__segment_locks(s), index) != 0) return false;
    // Invariant A7: declared for all processes. A participant that took the entry meanwhile has another instance
    // number. So only the participant whose lock was free is declared dead.
    if (s->writable) tidings__cas(&s->participants[index].instance, &instance, instance & ~UINT64_C(1));
    return true;
}
