// Opens and closes centers, joins them as a participant, and reopens them in a forked child.
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "center/center.h"
#include "center/ends.h"
#include "platform/barrier.h"
#include "platform/clock.h"
#include "platform/error.h"
#include "platform/file.h"
#include "platform/process.h"
#include "registry/participants.h"
#include "ring/chunk.h"
#include "ring/hold.h"
#include "segment/names.h"

// Never held while waiting: each opening, closing and fork of the process takes it.
static pthread_mutex_t centers_lock = PTHREAD_MUTEX_INITIALIZER;
// Guarded by centers_lock. The fork hook reads it without the lock, in a child that has one thread.
static tidings_center *centers;

static tidings__descriptor_set *descriptor_sets;  // guarded likewise

// In the child, right after fork: opens a file description of its own for each center, and closes the inherited one.
// Otherwise the parent's lock would outlive the parent. Only async-signal-safe calls.
static void in_forked_child(void) {
    // This thread holds the lock since `before_fork`, or, if that was not registered yet, no thread holds it. The lock
    // is not initialized anew: the thread sanitizer would take it for another lock.
    (void)pthread_mutex_trylock(&centers_lock);
    pthread_mutex_unlock(&centers_lock);
    // Another thread of the parent may have held a center's lock. That thread does not exist here.
    for (tidings_center *center = centers; center; center = center->next) {
        pthread_mutex_init(&center->lock, NULL);
        pthread_mutex_init(&center->presence_lock, NULL);
#ifndef MUTANT_CHILD_KEEPS_PARTICIPANT_LOCK  // Found by: fault-injection a_small_post
        tidings__segment_reopen(&center->segment);
#endif
    }
    for (; descriptor_sets; descriptor_sets = descriptor_sets->next)
        while (descriptor_sets->count > 0) tidings__file_close(descriptor_sets->descriptors[--descriptor_sets->count]);
}

// No fork while a center is being opened or closed: `in_forked_child` knows of its descriptor, or the descriptor does
// not exist yet.
static void before_fork(void) { pthread_mutex_lock(&centers_lock); }
static void after_fork_in_parent(void) { pthread_mutex_unlock(&centers_lock); }
static void watch_forks(void) {
    tidings__fork_watch();
    tidings__at_fork_child(in_forked_child);
    pthread_atfork(before_fork, after_fork_in_parent, NULL);
}

int tidings__descriptor_set_pack(tidings__descriptor_set *descriptor_set, const tidings__segment *segment,
                                 bool writable) {
    pthread_mutex_lock(&centers_lock);
    const int error = tidings__segment_hand(segment, writable, descriptor_set->descriptors, &descriptor_set->count);
    if (!error) {
        descriptor_set->next = descriptor_sets;
        descriptor_sets = descriptor_set;
    }
    pthread_mutex_unlock(&centers_lock);
    return error;
}

// Under centers_lock.
static void take_off(const tidings__descriptor_set *descriptor_set) {
    for (tidings__descriptor_set **link = &descriptor_sets; *link; link = &(*link)->next) {
        if (*link == descriptor_set) {
            *link = descriptor_set->next;
            break;
        }
    }
}

void tidings__descriptor_set_close(tidings__descriptor_set *descriptor_set) {
    pthread_mutex_lock(&centers_lock);
    take_off(descriptor_set);
    while (descriptor_set->count > 0) tidings__file_close(descriptor_set->descriptors[--descriptor_set->count]);
    pthread_mutex_unlock(&centers_lock);
}

// Makes the handle a participant of its center.
static int join(tidings_center *center) {
    tidings__segment *s = &center->segment;
    if (!s->writable) {
        // A reader has no entry and no lock: no other process knows of it.
        center->participant = UINT32_MAX;
        center->pid = (uint64_t)tidings__process_id() << 32;
        tidings__set_release(&center->fork_epoch, tidings__thread_self()->fork_epoch);
        return 0;
    }
    bool orphans = false;
    uint32_t index = 0;
    tidings__thread *thread = tidings__thread_self();
    int error = tidings__participant_take(s, &index, &orphans);
    if (error) return error;
    center->participant = index;
    if (orphans) {
        const tidings__participant_set dead = tidings__participant_only(index);
        tidings__reclaim_orphans(s, &dead);
    }
    center->instance = tidings__participant_describe(s, index);
    uint64_t namespace = tidings__pid_namespace();
    center->in_creation_pid_namespace = namespace != 0 && namespace == s->home_namespace;
    center->poster = tidings__user_id() | (uint64_t)index << 32;
    center->pid = (uint64_t)tidings__process_id() << 32;
    // A forked child has none of its parent's servers, callers, threads and holds.
    tidings__set_relaxed(&center->holding, 0);
    tidings__set_relaxed(&center->requesting, 0);
    tidings__set_relaxed(&center->writing, 0);
    tidings__set_release(&center->fork_epoch, thread->fork_epoch);
    return 0;
}

static void forget(tidings_center *center) {
    pthread_mutex_lock(&centers_lock);
    for (tidings_center **link = &centers; *link; link = &(*link)->next) {
        if (*link == center) {
            *link = center->next;
            break;
        }
    }
    // Under the lock: a child forked between the two steps would not know of the descriptor, and would keep our locks.
    tidings__segment_close_files(&center->segment);
    pthread_mutex_unlock(&centers_lock);
    // Not under the lock, because it takes long: other threads open, close and fork meanwhile. A child forked meanwhile
    // has a mapping that it does not use.
    tidings__segment_close(&center->segment);
    pthread_mutex_destroy(&center->lock);
    pthread_mutex_destroy(&center->presence_lock);
    free(center);
}

// Releases centers_lock while the kernel gives a new center its memory, which takes long for a large center. Other
// threads can open, close and fork meanwhile. A child forked meanwhile closes the descriptor; there is no mapping yet.
static void while_given_memory(tidings__segment *segment, bool begin) {
    tidings_center *center = (tidings_center *)(void *)((char *)segment - offsetof(tidings_center, segment));
    if (begin) {
        center->creating = (tidings__descriptor_set){.descriptors = {segment->fd}, .count = 1, .next = descriptor_sets};
        descriptor_sets = &center->creating;
        pthread_mutex_unlock(&centers_lock);
    } else {
        pthread_mutex_lock(&centers_lock);
        take_off(&center->creating);
    }
}

int tidings__center_begin(int (*find)(const void *context, tidings__segment *segment), const void *context,
                          const char *name, tidings_center **result) {
    *result = NULL;
    tidings__clear_error();
    if (!name) return tidings__fail(EINVAL, "can't open a center without a name; pass one");
    tidings_center *center = aligned_alloc(128, (sizeof *center + 127) / 128 * 128);
    if (!center) return tidings__fail(ENOMEM, "can't open center \"%s\": no memory for its handle", name);
    memset(center, 0, offsetof(tidings_center, orders));
    for (uint32_t i = 0; i < TIDINGS__CHAIN_ORDERS; i++) tidings__chain_order_begin(&center->orders[i]);
    static pthread_once_t forks_watched = PTHREAD_ONCE_INIT;
    pthread_once(&forks_watched, watch_forks);
    tidings__barrier_register();
    pthread_mutex_init(&center->lock, NULL);
    pthread_mutex_init(&center->presence_lock, NULL);
    center->segment.giving_memory = while_given_memory;
    int error;
    for (;;) {
        pthread_mutex_lock(&centers_lock);
        error = find(context, &center->segment);
        if (!error) {
            center->next = centers;
            centers = center;
        }
        pthread_mutex_unlock(&centers_lock);
        if (error != TIDINGS__LATER) break;
        // Not under the lock: other threads open, close and fork meanwhile.
        tidings__nap(TIDINGS__LATER_NS);
        center->segment.looks++;
    }
    if (error) {
        pthread_mutex_destroy(&center->lock);
        pthread_mutex_destroy(&center->presence_lock);
        free(center);
        return error;
    }
    error = join(center);
    if (error)
        forget(center);
    else
        tidings__end_begin(*result = center);
    return error;
}

static int open_named(const void *context, tidings__segment *segment) {
    static const tidings_configuration defaults;
    const tidings__opening *what = context;
    return tidings__segment_open(what->name, what->configuration ? what->configuration : &defaults, segment);
}

int tidings_open(const char *name, const tidings_configuration *configuration, tidings_center **result) {
    return tidings__center_begin(open_named, &(tidings__opening){name, configuration}, name, result);
}

void tidings_close(tidings_center *center) {
    if (!center) return;
    if (center->leave) center->leave(center);
    tidings__end_forget(center);
    if (center->segment.writable && tidings__center_joined(center, tidings__thread_self()) &&
        tidings__has_place(center)) {
        // Frees the chunks of reservations that were never posted or abandoned, and those of payloads that were never
        // released.
        const tidings__participant_set own = tidings__participant_only(center->participant);
        tidings__chunk_reclaim(&center->segment, &own);
        if (tidings__relaxed(&center->segment.holds_known)) tidings__holds_reclaim(&center->segment, &own);
        tidings__participant_leave(&center->segment, center->participant);
    }
    forget(center);
}

int tidings__center_rejoin(tidings_center *center) {
    pthread_mutex_lock(&center->lock);
    int error = 0;
    if (!tidings__center_joined(center, tidings__thread_self())) {
        if (center->segment.writable && tidings__segment_locks(&center->segment) < 0)
            error = tidings__fail(ECHILD,
                                  "can't use center \"%s\" in this forked process: its file could not be opened anew; "
                                  "open the center again",
                                  center->segment.name);
        else
            error = join(center);
    }
    pthread_mutex_unlock(&center->lock);
    return error;
}

int tidings__center_place(const tidings_center *center) {
    const tidings__segment *s = &center->segment;
    if (tidings__has_place(center)) return 0;
    return tidings__fail(
        EBADF,
        "can't go on in center \"%s\": its peers took this process for dead, because descriptor %d, its "
        "lock, was closed by this program; close only your own, and open the center again",
        s->name, s->writers_file ? s->writers_file_fd : s->fd);
}

int tidings__center_read_only(const tidings_center *center, const char *what) {
    return tidings__fail(EACCES, "can't %s center \"%s\": it was opened for reading alone; open it for posting, too",
                         what, center->segment.name);
}

int tidings_remove(const char *name, const tidings_configuration *configuration) {
    static const tidings_configuration defaults;
    tidings__clear_error();
    return tidings__segment_remove(name, configuration ? configuration : &defaults);
}

int tidings_stale_files(const char *directory, bool delete_them,
                        bool (*each)(void *context, const tidings_stale_file *stale_file), void *context) {
    tidings__clear_error();
    return tidings__stale_files(directory, delete_them, each, context);
}

uint64_t tidings_incarnation(const tidings_center *center) { return center->segment.instance; }

int tidings_ended(tidings_center *center) {
    tidings__clear_error();
    return tidings__end_look(center) ? tidings__end_fail(center, "go on in") : 0;
}

const char *tidings_default_directory(void) { return tidings__default_directory(); }

const char *tidings_path(const tidings_center *center) { return center->segment.path; }

void tidings_last_error_set(const char *line) { (void)tidings__fail(0, "%s", line); }

const char *tidings_last_error(void) { return tidings__last_error(); }

int tidings_last_error_holder(tidings_holder *holder) {
    const tidings__error_holder found = tidings__last_error_holder();
    *holder = (tidings_holder){.pid = found.pid, .participant = found.participant, .own = found.own};
    if (found.known) return 0;
    *holder = (tidings_holder){0};
    return -ENOENT;
}
