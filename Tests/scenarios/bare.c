// Observers without payloads, publishers in the caller's memory, and one check whether anything is new.
#include "peer.h"

static void placed(tidings_center *center, const char *name, const char *subject,
                   uint64_t memory[TIDINGS_PUBLISHER_SIZE_MAX / 8], tidings_publisher **publisher) {
    const size_t name_length = strlen(name), subject_length = subject ? strlen(subject) : 0;
    const size_t size = tidings_publisher_size(name_length, subject_length);
    CHECK(size <= TIDINGS_PUBLISHER_SIZE_MAX, "%zu bytes", size);
    // Guarded behind, and not a byte more than asked for.
    memset(memory, 0xa5, TIDINGS_PUBLISHER_SIZE_MAX);
    CHECK(tidings_publisher_place(center, name, name_length, subject, subject_length, memory, size - 1, publisher) ==
                  -EINVAL &&
              *publisher == NULL,
          "too small");
    CHECK(tidings_publisher_place(center, name, name_length, subject, subject_length, (char *)memory + 1, size,
                                  publisher) == -EINVAL,
          "not aligned");
    OK(tidings_publisher_place(center, name, name_length, subject, subject_length, memory, size, publisher));
    for (size_t i = size; i < TIDINGS_PUBLISHER_SIZE_MAX; i++)
        CHECK(((uint8_t *)memory)[i] == 0xa5, "byte %zu of %zu was written", i, size);
}

void publishers_in_the_callers_memory_post_like_any(void) {
    tidings_center *center = join_center(512);
    char longest[TIDINGS_NAME_MAX + 1];
    memset(longest, 'n', TIDINGS_NAME_MAX);
    longest[TIDINGS_NAME_MAX] = 0;
    const char *names[] = {NAME, longest, "a"}, *subjects[] = {NULL, longest, "s"};
    uint64_t memory[TIDINGS_PUBLISHER_SIZE_MAX / 8];
    tidings_observer *observer = observer_of(center, NULL);
    for (int i = 0; i < 3; i++) {
        tidings_publisher *publisher;
        placed(center, names[i], subjects[i], memory, &publisher);
        post_number(publisher, (uint32_t)i);
        const tidings_delivery d = receive(observer);
        CHECK(d.name_length == strlen(names[i]) && strcmp(d.name, names[i]) == 0, "%d: \"%s\"", i, d.name);
        CHECK(strcmp(d.subject, subjects[i] ? subjects[i] : "") == 0 && stamp_of(&d).number == (uint32_t)i, "%d", i);
    }
    tidings_publisher *publisher;
    CHECK(tidings_publisher_place(center, "", 0, NULL, 0, memory, sizeof memory, &publisher) == -EINVAL, "no name");
    tidings_observer_close(observer);
    tidings_close(center);
}

void bare_observers_get_all_but_the_payload(void) {
    tidings_center *center = join_center(512);
    tidings_observer *named, *all, *full = observer_of(center, NULL);
    uint32_t subscription;
    OK(tidings_observer_open(center, TIDINGS_OBSERVE_BARE, &named));
    OK(tidings_observer_add(named, NAME, strlen(NAME), NULL, 0, 0, &subscription));
    OK(tidings_observer_open(center, TIDINGS_OBSERVE_BARE, &all));
    OK(tidings_observer_add(all, NULL, 0, NULL, 0, 0, &subscription));
    tidings_publisher *publishers[] = {publisher_of(center, NAME), publisher_with(center, NAME, "subject"),
                                       publisher_of(center, "another.name.without.an.observer")};
    const size_t sizes[] = {0, 8, 100, 200, 5000, 2000000};
    uint8_t *payload = calloc(1, 2000000);
    for (int i = 0; i < 200; i++) {
        const int which = i % 3;
        const size_t size = sizes[random_below(6)];
        const tidings_post_options options = {.flags = size == 8 && which != 1 ? TIDINGS_POST_RETAIN : 0,
                                              .format = (uint8_t)(i % 5)};
        OK(tidings_post(publishers[which], payload, size, &options, NULL));
        tidings_observer *observers[] = {full, all, named};
        const tidings_delivery whole = receive(full);
        const size_t name_length = whole.name_length, subject_length = whole.subject_length;
        for (int k = 1; k < (which < 2 ? 3 : 2); k++) {
            const tidings_delivery d = receive(observers[k]);
            CHECK(d.sequence == whole.sequence && d.size == size && d.format == whole.format, "%d: %zu bytes", i,
                  d.size);
            CHECK(*(const char *)d.payload == 0, "%d: a payload", i);
            CHECK(d.name_length == name_length && strcmp(d.name, whole.name) == 0, "%d: \"%s\"", i, d.name);
            CHECK(d.subject_length == subject_length && strcmp(d.subject, whole.subject) == 0, "%d: \"%s\"", i,
                  d.subject);
        }
    }
    free(payload);
    for (int i = 0; i < 3; i++) tidings_publisher_close(publishers[i]);
    tidings_observer_close(full);
    tidings_observer_close(named);
    tidings_observer_close(all);
    tidings_close(center);
}

void nothing_is_new_exactly_until_the_next_post(void) {
    tidings_center *center = join_center(256);
    tidings_observer *observer = observer_of(center, NAME);
    tidings_publisher *publisher = publisher_of(center, NAME), *other = publisher_of(center, "other");
    tidings_delivery d;
    for (int i = 0; i < 2000; i++) {
        CHECK(tidings_next(observer, 0, &d) == -EAGAIN, "post %d: something is there", i);
        const uint64_t position = tidings_observer_position(observer);
        CHECK(tidings_nothing_since(center, position), "post %d", i);
        CHECK(!tidings_nothing_since(center, UINT64_MAX), "post %d: a position that no center reaches", i);
        CHECK(i == 0 || !tidings_nothing_since(center, position - 1), "post %d: but before that", i);
        post_number(i % 3 ? publisher : other, (uint32_t)i);
        CHECK(!tidings_nothing_since(center, position), "post %d is not seen", i);
        if (i % 7 == 0)
            for (int k = 0; k < 300; k++) post_number(other, (uint32_t)k);
        CHECK(!tidings_nothing_since(center, position), "post %d: after a lap", i);
        const account account = drain(observer);
        CHECK(account.received + account.missed == (uint64_t)(i % 3 != 0), "post %d: %llu, %llu", i,
              (unsigned long long)account.received, (unsigned long long)account.missed);
    }
    tidings_publisher_close(publisher);
    tidings_publisher_close(other);
    tidings_observer_close(observer);
    tidings_close(center);
}
