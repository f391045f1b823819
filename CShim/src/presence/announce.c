// Announces this participant, and ends the announcement: on request, when its handle is closed, and at exit.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "calls/calls.h"
#include "center/ends.h"
#include "eviction/backpressure.h"
#include "platform/clock.h"
#include "platform/error.h"
#include "platform/futex.h"
#include "platform/process.h"
#include "posting/payload_chunk.h"
#include "posting/publisher.h"
#include "presence/guard.h"
#include "presence/report.h"
#include "segment/names.h"

// How long to wait for a participant that reports the death of an earlier one at this index, before taking over.
#define EARLIER_STEPS 20
#define EARLIER_STEP_NS 1000000

// The guards of this process, for the exit handler. A forked child forgets them: it has none of their threads.
static pthread_mutex_t guards_lock = PTHREAD_MUTEX_INITIALIZER;
static tidings__guard *guards;

// A child of `_Fork`, `vfork` or raw `clone` runs no fork handlers: its pid differs.
static bool guard_of_this_process(const tidings__guard *guard) {
    return guard && guard->fork_epoch == tidings__thread_self()->fork_epoch &&
           guard->process == tidings__process_id_now();
}

// Takes the presence lock. A thread that is cancelled in between would keep it. Returns the former cancellation state.
static int lock_presence(tidings_center *center) {
    int cancellable = PTHREAD_CANCEL_ENABLE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable);
    pthread_mutex_lock(&center->presence_lock);
    return cancellable;
}

static void unlock_presence(tidings_center *center, int cancellable) {
    pthread_mutex_unlock(&center->presence_lock);
    (void)pthread_setcancelstate(cancellable, NULL);
}

// MARK: Leaving

bool tidings__announcement_end(tidings_center *center, const tidings__guard *guard) {
    tidings__segment *s = &center->segment;
    const uint32_t own = center->participant;
    uint64_t report = guard->present;
    // If a thread is in the middle of a request or a reply, the exit is reported as a death.
    if (!tidings__calls_leave(center)) return false;
    // Settles the calls that other threads of the exiting process make meanwhile. First before the report changes,
    // because this process may be killed afterwards. Again below, for calls that these threads had begun before.
    // If the record for a server of cancelled calls is held back, the participants that watch this one settle again.
    tidings__ended ended = tidings__ended_alone(own, report);
    uint64_t tells = TIDINGS__TELLS_NS;
    const int error = tidings__calls_settle(center, &ended, &tells);
    const bool settled = error == 0 || error == -ESTALE;
    if (guard->watching) {
        if (settled)
            (void)tidings__report_move(s, own, report, tidings__report_next(report, 0, own, TIDINGS__PRESENCE_LEFT));
    } else {
        // If the report has another value, peers have taken this process for dead, and have reported that.
        const uint64_t frontier = tidings__frontier(s, tidings__relaxed(&center->hint));
        const uint64_t leaving = tidings__report_next(report, frontier, own, TIDINGS__PRESENCE_LEAVING);
        uint64_t position;
        if (tidings__report_move(s, own, report, leaving)) {
            tidings__barrier_after_rmw();
            if (settled && tidings__notice_post(center, own, TIDINGS_PRESENCE_CLOSED, leaving, 0, &position) == 0)
                tidings__presence_posted(s, own, TIDINGS__RECORD_NOTICE, position);
        }
    }
    report = tidings__acquire(&s->presence[own].report);
    ended = tidings__ended_alone(own, report);
    tells = TIDINGS__TELLS_NS;
    if (tidings__has_place(center)) (void)tidings__calls_settle(center, &ended, &tells);
    if (tidings__report_state(report) != TIDINGS__PRESENCE_LEFT) return false;
    tidings__will_free(s, own, report);
    return true;
}

static void take_off(const tidings__guard *guard) {
    pthread_mutex_lock(&guards_lock);
    for (tidings__guard **link = &guards; *link; link = &(*link)->next) {
        if (*link == guard) {
            *link = guard->next;
            break;
        }
    }
    pthread_mutex_unlock(&guards_lock);
}

// Under the presence lock.
static void leave(tidings_center *center) {
    tidings__guard *guard = center->guard;
    if (!guard) return;
    center->guard = NULL;
    if (!guard_of_this_process(guard)) {
        free(guard);  // of the parent: neither the announcement nor the thread is this process's
        return;
    }
    // In this order: an exit handler of another thread finds the guard until its announcement has ended.
    const bool ended = tidings__announcement_end(center, guard);
    take_off(guard);
    tidings__guard_set_life(guard, ended ? 0 : TIDINGS__LIFE_DIED);
    tidings__guard_stop(guard);
    free(guard);
}

static void leave_closing(tidings_center *center) {
    const int cancellable = lock_presence(center);
    leave(center);
    unlock_presence(center, cancellable);
}

int tidings_withdraw(tidings_center *center) {
    tidings__clear_error();
    const int cancellable = lock_presence(center);
    const bool there = center->guard != NULL, own = guard_of_this_process(center->guard);
    if (own && tidings__relaxed(&center->requesting)) {
        unlock_presence(center, cancellable);
        return tidings__fail(EBUSY,
                             "can't withdraw from center \"%s\": servers or callers of this handle are open; close "
                             "them first",
                             center->segment.name);
    }
    // A child keeps its parent's guard, so that each call says the same.
    if (own) leave(center);
    unlock_presence(center, cancellable);
    if (there && !own)
        return tidings__fail(ECHILD, "can't withdraw from center \"%s\": it was announced before a fork, by the parent",
                             center->segment.name);
    if (!there)
        return tidings__fail(ENOENT, "can't withdraw from center \"%s\": this handle is not announced; announce first",
                             center->segment.name);
    return 0;
}

// Handlers of `exit` may run in a signal handler, above any lock. So a lock is not waited for without end.
#define EXIT_TRIES 100
static bool try_lock(pthread_mutex_t *mutex) {
    int tries = 0;
    while (pthread_mutex_trylock(mutex) != 0) {
        if (++tries == EXIT_TRIES) return false;
        tidings__yield();
    }
    return true;
}

// `exit` is no death. But a process that exits while another of its threads announces or withdraws may die instead.
static void at_exit(void) {
    if (!try_lock(&guards_lock)) return;
    for (tidings__guard *guard = guards; guard; guard = guard->next) {
        tidings_center *center = guard->center;
        if (guard->process != tidings__process_id_now() || !try_lock(&center->presence_lock)) continue;
        // The kernel marks the life words when it ends the thread: until then, the thread may be woken for a death, and
        // pass nothing on (invariant P5).
        (void)tidings__announcement_end(center, guard);
        pthread_mutex_unlock(&center->presence_lock);
    }
    pthread_mutex_unlock(&guards_lock);
}

static void in_forked_child(void) {
    (void)pthread_mutex_init(&guards_lock, NULL);
    guards = NULL;
}

static void prepare_process(void) {
    tidings__at_fork_child(in_forked_child);
    (void)atexit(at_exit);
}

// MARK: Announcing

static int check_will(const tidings_center *center, const tidings_will *will) {
    if (!will) return 0;
    const tidings__segment *s = &center->segment;
    int error = tidings__check_text("notification name", will->name, will->name_length, 1, TIDINGS_NAME_MAX);
    if (!error && will->subject)
        error = tidings__check_text("subject", will->subject, will->subject_length, 0, TIDINGS_SUBJECT_MAX);
    if (error) return error;
    if (tidings__name_reserved(will->name, will->name_length))
        return tidings__fail(EINVAL,
                             "can't leave a last will under \"%s\": the name is that of the notices of presence; "
                             "take another",
                             TIDINGS_PRESENCE_NAME);
    if (will->flags & TIDINGS_POST_RETAIN && will->subject && will->subject_length)
        return tidings__fail(EINVAL, "can't leave a retained last will with a subject: a name has one value; put the "
                                     "subject into the name");
    if (will->size > s->shape.maximum_payload)
        return tidings__fail(
            EMSGSIZE,
            "can't leave a last will of %zu bytes in center \"%s\": its maximum is %llu; create it with "
            "a larger maximum_payload",
            will->size, s->name, (unsigned long long)s->shape.maximum_payload);
    return 0;
}

// The time until the deadline of the announcement, as the timeout of a post.
static int64_t time_left(uint64_t deadline) {
    if (deadline == 0) return 0;
    if (deadline == UINT64_MAX) return -1;
    const uint64_t now = tidings__monotonic_ns();
    // Not 0: the post then says that the time is over, and not that there was none.
    return deadline > now ? (int64_t)(deadline - now < INT64_MAX ? deadline - now : INT64_MAX) : 1;
}

// Posts of this center take chunks, too, and the post of a will takes another one.
static int refuse_will(const tidings__segment *s, const tidings__class *class) {
    return tidings__fail(
        EAGAIN,
        "can't leave a last will in center \"%s\": last wills hold half of the %u chunks of %llu bytes; "
        "leave a shorter one, or let other participants withdraw theirs",
        s->name, class->count, (unsigned long long)class->size);
}

// Counts after this will's chunk word was written: if two participants store a will at a time, at least one of them
// counts the other's will.
static int check_share(const tidings__segment *s, uint32_t chunk) {
    const tidings__class *class = tidings__chunk_class(s, chunk);
    uint32_t wills = 0;
    for (uint32_t i = 0; i < class->count; i++)
        wills += tidings__chunk_state(tidings__acquire(&s->chunk_words[class->first + i])) == TIDINGS__CHUNK_WILL;
    return 2 * wills > class->count ? refuse_will(s, class) : 0;
}

// Stores the will in a chunk that stays until it is posted or not needed. `announcement` and `will` of the entry name
// it before it is a will's (invariant P6).
static int keep_will(tidings_center *center, const tidings_will *will, uint64_t deadline) {
    tidings__segment *s = &center->segment;
    const size_t subject_length = will->subject ? will->subject_length : 0;
    const uint64_t text = tidings__round8(will->size), subject = text + tidings__round8(will->name_length),
                   size = subject + tidings__round8(subject_length);
    uint32_t chunk;
    const int error = tidings__take_chunk(center, TIDINGS__CHUNK_HEADER + size, deadline, &chunk);
    if (error) return error;
    uint64_t capacity;
    uint8_t *bytes = tidings__chunk_bytes(s, chunk, &capacity);
    const uint8_t flags = (will->flags & TIDINGS_POST_RETAIN ? TIDINGS__RECORD_RETAIN : 0) |
                          (will->flags & TIDINGS_POST_IMMEDIATE ? TIDINGS__RECORD_IMMEDIATE : 0);
    const tidings__record_header header = {
        0, will->size, (uint64_t)subject_length << 48 | (uint64_t)will->name_length << 56,
        tidings__route_word(TIDINGS__NAME_NONE, TIDINGS__NAME_NONE, flags, will->format)};
    memset(bytes, 0, TIDINGS__CHUNK_HEADER);
    memcpy(bytes, &header, sizeof header);
    bytes += TIDINGS__CHUNK_HEADER;
    if (will->size) memcpy(bytes, will->payload, will->size);
    memset(bytes + will->size, 0, text - will->size);
    memset(bytes + text, 0, size - text);
    memcpy(bytes + text, will->name, will->name_length);
    if (subject_length) memcpy(bytes + subject, will->subject, subject_length);
    tidings__presence *entry = &s->presence[center->participant];
    tidings__set_release(&entry->will, (uint64_t)chunk + 1);
    uint64_t owned = tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, center->participant, TIDINGS__CHUNK_OWNED);
    if (tidings__cas(&s->chunk_words[chunk], &owned, tidings__will_word(center->instance, center->participant)))
        return check_share(s, chunk);  // on failure, the caller frees it as a will
    tidings__chunk_release(s, center->participant, chunk);
    return tidings__fail(EBADMSG, "can't leave a last will in center \"%s\": a peer has damaged it; remove the center",
                         s->name);
}

// Writes the entry, except for the will. `report` says PREPARING, so no other process reads it.
static void describe(tidings_center *center, const char *role, size_t role_length) {
    tidings__segment *s = &center->segment;
    tidings__presence *entry = &s->presence[center->participant];
    uint64_t role_words[sizeof entry->role / 8] = {0}, program[sizeof entry->program / 8] = {0};
    if (role_length) memcpy(role_words, role, role_length);
    tidings__executable_name((char *)program, TIDINGS_EXECUTABLE_MAX + 1);
    for (size_t i = 0; i < sizeof role_words / 8; i++) tidings__set_relaxed(&entry->role[i], role_words[i]);
    for (size_t i = 0; i < sizeof program / 8; i++) tidings__set_relaxed(&entry->program[i], program[i]);
    tidings__set_relaxed(&entry->role_size, role_length | TIDINGS__RESERVED << 16);
    // Not the instance's bits: a handle may announce itself again.
    tidings__set_relaxed(&entry->id, tidings__random() >> 12);
    tidings__set_relaxed(&entry->process, center->pid >> 32 | (uint64_t)tidings__user_id() << 32);
}

// Reports an earlier participant at this index, which is dead: its entry is needed. `budget`: what the reports before
// have left.
static int report_earlier(tidings_center *center, uint64_t deadline, tidings__report_budget *budget) {
    int error = -EINPROGRESS;
    budget->positions = tidings__report_budget_of(&center->segment).positions;
    // If its notice "joined" is found, it was PRESENT, and is settled again.
    budget->settlements = 2;
    for (int i = 0; i <= EARLIER_STEPS && error == -EINPROGRESS; i++) {
        if (i > 0) tidings__nap(EARLIER_STEP_NS);
        error = tidings__report(center, center->participant, i == EARLIER_STEPS, time_left(deadline), budget);
    }
    if (error != -EINPROGRESS) return error;
    return tidings__fail(EAGAIN,
                         "can't announce a participant in center \"%s\": the death of an earlier one is still "
                         "being reported; try again",
                         center->segment.name);
}

static void use(tidings__segment *s, uint32_t count) {
    _Atomic uint64_t *word = &s->header->presence_used.word;
    uint64_t used = tidings__acquire(word);
    for (int tries = 0; tries < TIDINGS__TRIES && used < count; tries++)
        if (tidings__cas(word, &used, count)) return;
}

static int damaged(const tidings__segment *s) {
    return tidings__fail(EBADMSG,
                         "can't announce a participant in center \"%s\": a peer has damaged its entry; remove "
                         "the center",
                         s->name);
}

// The entry is PREPARING. Writes it, starts the guard and posts "joined". On failure nothing is visible.
static int join(tidings_center *center, tidings__guard *guard, uint64_t report, const char *role, size_t role_length,
                const tidings_will *will, uint64_t deadline) {
    tidings__segment *s = &center->segment;
    const uint32_t own = center->participant;
    describe(center, role, role_length);
    int error = will ? keep_will(center, will, deadline) : 0;
    if (error) return error;
    error = tidings__guard_start(guard, center);
    if (error == -ENOSYS)
        return tidings__fail(ENOSYS,
                             "can't announce a participant in center \"%s\": this kernel marks no deaths (it has no "
                             "robust lists); use another",
                             s->name);
    if (error)
        return tidings__fail(-error,
                             "can't announce a participant in center \"%s\": its thread (its guard) can't start (%s); "
                             "raise the limit",
                             s->name, strerror(-error));
    const uint64_t frontier = tidings__frontier(s, tidings__relaxed(&center->hint));
    const uint64_t bits = tidings__report_bits(center->instance);
    const uint64_t visible = guard->watching ? tidings__report_next(report, bits, own, TIDINGS__PRESENCE_WATCHING)
                                             : tidings__report_next(report, frontier, own, TIDINGS__PRESENCE_JOINING);
    if (!tidings__report_move(s, own, report, visible)) {
        error = damaged(s);
    } else {
        tidings__barrier_after_rmw();
        tidings__guard_poke(s, own);
        guard->present = visible;
        uint64_t position;
        if (!guard->watching) {
            error = tidings__notice_post(center, own, TIDINGS_PRESENCE_JOINED, visible, time_left(deadline), &position);
            if (error == -ECANCELED && (error = tidings__center_place(center)) == 0) error = damaged(s);
            guard->present = tidings__report_next(visible, bits, own, TIDINGS__PRESENCE_PRESENT);
            if (!error) tidings__presence_posted(s, own, TIDINGS__RECORD_NOTICE, position);
        }
        if (!error) return 0;
        (void)tidings__report_move(s, own, visible, tidings__report_next(visible, 0, own, TIDINGS__PRESENCE_LEFT));
    }
    tidings__guard_set_life(guard, 0);
    tidings__guard_stop(guard);
    return error;
}

// Of an earlier participant of this index, which is reported.
static void clear_line(tidings__presence_line *line) {
    for (size_t i = 0; i < sizeof line->reserved / 4; i++)
        tidings__set_relaxed(&line->reserved[i], (uint32_t)TIDINGS__RESERVED);
    for (uint32_t i = 0; i < 4; i += 2) {
        tidings__set_release(&line->life[i], 0);
        tidings__futex_wake(&line->life[i], TIDINGS__LIFE_WAKES);
    }
}

// Under the presence lock.
static int announce(tidings_center *center, bool watching, const char *role, size_t role_length,
                    const tidings_will *will, uint64_t deadline) {
    tidings__segment *s = &center->segment;
    const uint32_t own = center->participant;
    if (guard_of_this_process(center->guard)) {
        if (watching) return 0;
        if (!center->guard->watching)
            return tidings__fail(EALREADY,
                                 "can't announce a participant in center \"%s\": this handle is announced; "
                                 "withdraw first",
                                 s->name);
        if (tidings__relaxed(&center->requesting))
            return tidings__fail(EBUSY,
                                 "can't announce a participant in center \"%s\": servers or callers of this handle "
                                 "are open; announce before you open the first",
                                 s->name);
    }
    leave(center);
    int error = tidings__back_presence(s);
    if (error) return error;
    tidings__report_budget budget = tidings__report_budget_of(s);
    tidings__report_all(center, &budget);
    if (own < tidings__presence_end(s) && (error = report_earlier(center, deadline, &budget)) != 0) return error;
    tidings__guard *guard = calloc(1, sizeof *guard);
    if (!guard) return tidings__fail(ENOMEM, "can't announce a participant in center \"%s\": no memory", s->name);
    guard->fork_epoch = tidings__thread_self()->fork_epoch;
    guard->process = tidings__process_id();
    guard->watching = watching;
    tidings__presence *entry = &s->presence[own];
    const uint64_t before = tidings__acquire(&entry->report);
    // What threads of an earlier participant of this index have done to calls after its death was reported.
    tidings__ended ended = tidings__ended_alone(own, before);
    // If some servers are not told, the guard that begins below tells them.
    if (tidings__calls_settle(center, &ended, &budget.tells) != 0) tidings__fetch_add(&center->untold, 1);
    tidings__set_relaxed(&center->leaves, 0);
    const uint64_t report = tidings__report_next(before, tidings__report_bits(center->instance), own,
                                                 TIDINGS__PRESENCE_PREPARING);
    // Before PREPARING, so that walks of the table come to the entry, and free its will, if this participant dies.
    use(s, own + 1);
    // Likewise: from then on, these words say whether this participant is dead.
    tidings__set_release(&entry->will, 0);
    clear_line(tidings__presence_line_at(s, own));
    tidings__set_release(&entry->announcement, center->instance);
    if (!tidings__report_move(s, own, before, report))
        error = damaged(s);
    else if ((error = join(center, guard, report, role, role_length, will, deadline)) != 0) {
        (void)tidings__report_move(s, own, report, tidings__report_next(report, 0, own, TIDINGS__PRESENCE_LEFT));
        tidings__will_free(s, own, tidings__acquire(&entry->report));
    }
    if (error) {
        free(guard);
        return error;
    }
    center->guard = guard;
    center->leave = leave_closing;
    pthread_mutex_lock(&guards_lock);
    guard->next = guards;
    guards = guard;
    pthread_mutex_unlock(&guards_lock);
    tidings__guard_watch(guard);
    return 0;
}

static int begin(tidings_center *center, bool watching, const char *role, size_t role_length, const tidings_will *will,
                 int64_t timeout_ns) {
    tidings__clear_error();
    int error = tidings__center_check(center, tidings__thread_self());
    if (!error && !center->segment.writable) error = tidings__center_read_only(center, "announce a participant in");
    if (!error && tidings__end_look(center)) error = tidings__end_fail(center, "announce a participant in");
    if (!error) error = tidings__center_place(center);
    if (!error) error = tidings__check_text("role", role, role_length, 0, TIDINGS_ROLE_MAX);
    if (!error) error = check_will(center, will);
    if (error) return error;
    static pthread_once_t prepared = PTHREAD_ONCE_INIT;
    (void)pthread_once(&prepared, prepare_process);
    const tidings_post_options options = {.timeout_ns = timeout_ns};
    const uint64_t deadline = tidings__deadline(&options);
    const int cancellable = lock_presence(center);
    error = announce(center, watching, role, role_length, will, deadline);
    unlock_presence(center, cancellable);
    return error;
}

int tidings_announce(tidings_center *center, const char *role, size_t role_length, const tidings_will *will,
                     int64_t timeout_ns) {
    return begin(center, false, role ? role : "", role ? role_length : 0, will, timeout_ns);
}

int tidings_presence_watch(tidings_center *center) { return begin(center, true, "", 0, NULL, 0); }
