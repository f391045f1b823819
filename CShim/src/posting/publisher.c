// Publishers: opens and closes them, and resolves their names to name entries, once for each change of the registry.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "center/center.h"
#include "eviction/name_registration.h"
#include "platform/error.h"
#include "platform/futex.h"
#include "posting/publisher.h"
#include "registry/doorbell.h"
#include "registry/prefixes.h"
#include "segment/names.h"

_Static_assert(sizeof(tidings_publisher) + 2 * 256 + 8 <= TIDINGS_PUBLISHER_SIZE_MAX,
               "the longest name and subject, each rounded up to 8");

// Sets a missing subject's length to 0, as that of an empty subject.
static int check(const char *name, size_t name_length, const char *subject, size_t *subject_length) {
    int error = tidings__check_text("notification name", name, name_length, 1, TIDINGS_NAME_MAX);
    if (!error && subject) error = tidings__check_text("subject", subject, *subject_length, 0, TIDINGS_SUBJECT_MAX);
    if (!subject) *subject_length = 0;
    return error;
}

size_t tidings_publisher_size(size_t name_length, size_t subject_length) {
    return sizeof(tidings_publisher) + tidings__round8(name_length) + tidings__round8(subject_length) + 8;
}

static void prepare(tidings_publisher *publisher, tidings_center *center, const char *name, size_t name_length,
                    const char *subject, size_t subject_length) {
    memset(publisher, 0, tidings_publisher_size(name_length, subject_length));
    publisher->center = center;
    publisher->name_words = (uint32_t)tidings__round8(name_length) / 8;
    publisher->subject_words = (uint32_t)tidings__round8(subject_length) / 8;
    char *name_text = (char *)publisher->text, *subject_text = (char *)&publisher->text[publisher->name_words];
    memcpy(name_text, name, name_length);
    if (subject_length) memcpy(subject_text, subject, subject_length);
    tidings__key_make(&publisher->key, name_text, name_length, NULL, 0);
    if (subject_length)
        tidings__key_make(&publisher->key_subject, name_text, name_length, subject_text, subject_length);
    publisher->poster = (uint64_t)subject_length << 48 | (uint64_t)name_length << 56;
    tidings__set_relaxed(&publisher->resolved_at, TIDINGS__RESOLVED_AT_NEVER);
    const tidings__segment *s = &center->segment;
    if (!s->writable || s->observable || !tidings__fits_cell(publisher, 0)) return;
    const uint64_t room = TIDINGS__BODY_SIZE - tidings__round16(tidings__text_size(publisher));
    publisher->inline_limit = (room < s->shape.maximum_payload ? room : s->shape.maximum_payload) + 1;
}

bool tidings__name_reserved(const char *name, size_t length) {
    return length == sizeof TIDINGS_PRESENCE_NAME - 1 && memcmp(name, TIDINGS_PRESENCE_NAME, length) == 0;
}

// Refuses the name of the notices: what an observer receives under it comes from this library.
static int check_free(const char *name, size_t length) {
    if (!tidings__name_reserved(name, length)) return 0;
    return tidings__fail(EINVAL, "can't post under \"%s\": the name is that of the notices of presence; take another",
                         TIDINGS_PRESENCE_NAME);
}

int tidings_publisher_open(tidings_center *center, const char *name, size_t name_length, const char *subject,
                           size_t subject_length, tidings_publisher **result) {
    *result = NULL;
    tidings__clear_error();
    int error = check(name, name_length, subject, &subject_length);
    if (!error) error = check_free(name, name_length);
    if (error) return error;
    tidings_publisher *publisher = malloc(tidings_publisher_size(name_length, subject_length));
    if (!publisher)
        return tidings__fail(ENOMEM, "can't prepare name \"%.*s\": no memory for its handle", (int)name_length, name);
    prepare(publisher, center, name, name_length, subject, subject_length);
    *result = publisher;
    return 0;
}

void tidings__publisher_prepare_at(void *memory, tidings_center *center, const char *name, size_t name_length,
                                   const char *subject, size_t subject_length) {
    prepare(memory, center, name, name_length, subject, subject_length);
}

int tidings_publisher_place(tidings_center *center, const char *name, size_t name_length, const char *subject,
                            size_t subject_length, void *memory, size_t size, tidings_publisher **result) {
    *result = NULL;
    int error = check(name, name_length, subject, &subject_length);
    if (!error) error = check_free(name, name_length);
    if (error) return error;
    if (size < tidings_publisher_size(name_length, subject_length) ||
        (uintptr_t)memory % _Alignof(tidings_publisher) != 0)
        return tidings__fail(EINVAL, "can't prepare name \"%.*s\" in %zu bytes: it takes %zu, aligned to 8",
                             (int)name_length, name, size, tidings_publisher_size(name_length, subject_length));
    prepare(memory, center, name, name_length, subject, subject_length);
    *result = memory;
    return 0;
}

void tidings_publisher_close(tidings_publisher *publisher) { free(publisher); }

static bool has_entries(const tidings_publisher *publisher, uint64_t resolved) {
    return tidings__resolved_name(resolved) != TIDINGS__NAME_NONE &&
           (!publisher->key_subject.subject || tidings__resolved_subject(resolved) != TIDINGS__NAME_NONE);
}

bool tidings__publisher_registered(tidings_publisher *publisher, uint64_t resolved) {
    tidings__segment *s = &publisher->center->segment;
    return has_entries(publisher, resolved) &&
           tidings__name_stays(s, tidings__resolved_name(resolved), &publisher->key) &&
           (!publisher->key_subject.subject ||
            tidings__name_stays(s, tidings__resolved_subject(resolved), &publisher->key_subject));
}

int tidings__publisher_register(tidings_publisher *publisher) {
    uint32_t entry;
    // A signal handler may post. Growing the table makes system calls, some of which fail and set errno.
    const int saved = errno;
    int error = tidings__join_name(publisher->center, &publisher->key, TIDINGS__TO_COUNT, &entry);
    if (!error && publisher->key_subject.subject)
        error = tidings__join_name(publisher->center, &publisher->key_subject, TIDINGS__TO_COUNT, &entry);
    errno = saved;
    return error;
}

int tidings__publisher_prepare(tidings_publisher *publisher) {
    return has_entries(publisher, tidings__resolved(publisher)) ? 0 : tidings__publisher_register(publisher);
}

void tidings__publisher_wake_readers(const tidings_publisher *publisher) {
#ifdef MUTANT_NO_NAME_FUTEX_WAKE  // Found by: interleaving one_reader
    return;
#endif
    _Atomic uint32_t *name_futex =
        &publisher->center->segment.header->name_futexes[tidings__name_futex_of(&publisher->key)].word;
    tidings__fetch_add(name_futex, 1);
    // Always wakes: a reader cannot announce that it sleeps. Invariants W8 and A8: the number is bounded. A reader that
    // wakes up wakes more readers (tidings__reader_sleep), and hostile readers cost a poster no more than this.
    tidings__futex_wake(name_futex, TIDINGS__NAME_FUTEX_WAKES);
}

uint64_t tidings__resolve(tidings_publisher *publisher, uint64_t generation) {
    tidings__segment *s = &publisher->center->segment;
    uint64_t resolved = 0, now = generation;
    // Reads G before and after, so that the result belongs to one G. If G keeps changing, the latest result is good
    // enough: it includes all names registered before our claim.
    for (int round = 0; round < 4; round++) {
        generation = now;
        resolved = tidings__name_find(s, &publisher->key);
        if (publisher->key_subject.subject) resolved |= (uint64_t)tidings__name_find(s, &publisher->key_subject) << 32;
        if (tidings__member_words(&s->names[TIDINGS__NAME_ALL])) resolved |= TIDINGS__RESOLVED_ALL;
        tidings__prefix_walk walk = tidings__prefixes(s);
#ifndef MUTANT_ROUTE_WITHOUT_PREFIX  // Found by: interleaving prefixes
        if (tidings__prefix_next_of(s, &walk, tidings__publisher_name(publisher), publisher->key.name_length) !=
            TIDINGS__NAME_NONE)
            resolved |= TIDINGS__RESOLVED_PREFIX;
#endif
        tidings__fence_acquire();
        now = tidings__acquire(&s->header->generation.word);
        if (now == generation) break;
    }
    if (now != generation) return resolved;
    // Stores the result for the next post. If another thread stores one now (or this is a signal handler on top of that
    // thread), this result is not stored.
    uint64_t old = tidings__acquire(&publisher->resolved_at);
    // Must not replace a newer result. Otherwise a thread that reads between two stores for the same G could find an
    // older result there.
    if (old != TIDINGS__RESOLVED_AT_BUSY &&
#ifndef MUTANT_OLDER_ROUTE_REPLACES_NEWER  // Found by: interleaving one_publisher_alone
        (old == TIDINGS__RESOLVED_AT_NEVER || (int64_t)(generation - old) > 0) &&
#endif
        tidings__cas(&publisher->resolved_at, &old, TIDINGS__RESOLVED_AT_BUSY)) {
        tidings__set_relaxed(&publisher->resolved, resolved);
        tidings__set_release(&publisher->resolved_at, generation);
    }
    return resolved;
}
