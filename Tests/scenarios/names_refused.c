// Names, sizes and configurations that can't be: refused in one line, with nothing begun.
#include "center/center.h"
#include "foreign.h"
#include "registry/name_table.h"

typedef struct text {
    const char *bytes;
    size_t length;
    const char *word;  // what the refusal must say
} text;

static char long_text[TIDINGS_NAME_MAX + 2];
static const char *const not_utf8[] = {
    "\xff",
    "a\xfe",  // never in UTF-8
    "\x80",
    "ab\xbf",  // a continuation of nothing
    "\xc3",
    "a\xe2\x82",  // cut short
    "\xc0\x80",
    "\xe0\x80\xaf",
    "\xf0\x80\x80\xaf",  // longer than need be: NUL, '/'
    "\xed\xa0\x80",      // half of a surrogate pair
    "\xf4\x90\x80\x80",  // beyond the last character
    "\xc3(",
    "\xe2\x28\xa1",  // a continuation missing
};
#define NOT_UTF8 (sizeof not_utf8 / sizeof not_utf8[0])

void center_names_that_cannot_be_are_refused(void) {
    memset(long_text, 'x', sizeof long_text);
    long_text[TIDINGS_CENTER_NAME_MAX + 1] = 0;
    const text names[] = {
        {"", 0, "empty"},
        {".", 0, "'.'"},
        {"..", 0, "'.'"},
        {".hidden", 0, "'.'"},
        {"../scenario", 0, "'.'"},
        {"a/b", 0, "'/'"},
        {"/etc/passwd", 0, "'/'"},
        {"a\nb", 0, "control"},
        {"\x7f", 0, "control"},
        {"a\xc2\x85", 0, "control"},
        {long_text, 0, "at most 200"},
    };
    tidings_center *center = (void *)1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        REFUSED(tidings_open(names[i].bytes, NULL, &center), EINVAL, names[i].word);
        CHECK(!center, "a handle all the same");
        REFUSED(tidings_remove(names[i].bytes, NULL), EINVAL, names[i].word);
    }
    for (size_t i = 0; i < NOT_UTF8; i++) {
        REFUSED(tidings_open(not_utf8[i], NULL, &center), EINVAL, "UTF-8");
        REFUSED(tidings_remove(not_utf8[i], NULL), EINVAL, "UTF-8");
    }
    REFUSED(tidings_open(NULL, NULL, &center), EINVAL, "name");
    REFUSED(tidings_remove(NULL, NULL), EINVAL, "name");
    CHECK(files_there() == 0, "%u files were made", files_there());
    // And what just about can be.
    long_text[TIDINGS_CENTER_NAME_MAX] = 0;
    const char *good[] = {long_text, "a", "a..b", " ", "æøå €𝄞", "-rf", "con", "a\\b"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        OK(tidings_open(good[i], &(tidings_configuration){.slots = 256, .flags = TIDINGS_OPEN_EXCLUSIVE}, &center));
        works(center);
        tidings_close(center);
        CHECK(files_there() == 1, "%u files", files_there());
        OK(tidings_remove(good[i], NULL));
    }
}

static void expect_refusals(tidings_center *center, tidings_observer *observer, const char *bytes, size_t length,
                            const char *word) {
    tidings_publisher *publisher = NULL;
    uint32_t subscription;
    REFUSED(tidings_publisher_open(center, bytes, length, NULL, 0, &publisher), EINVAL, word);
    REFUSED(tidings_observer_add(observer, bytes, length, NULL, 0, 0, &subscription), EINVAL, word);
    if (length > 0) {
        REFUSED(tidings_publisher_open(center, "n", 1, bytes, length, &publisher), EINVAL, word);
        REFUSED(tidings_observer_add(observer, "n", 1, bytes, length, 0, &subscription), EINVAL, word);
    }
    CHECK(!publisher, "a handle all the same");
}

void names_and_subjects_that_cannot_be_are_refused(void) {
    tidings_center *center = join_center(256);
    tidings_observer *observer = observer_of_nothing(center);
    memset(long_text, 'x', sizeof long_text);
    expect_refusals(center, observer, "", 0, "empty");
    expect_refusals(center, observer, long_text, TIDINGS_NAME_MAX + 1, "at most 255");
    expect_refusals(center, observer, long_text, SIZE_MAX, "at most 255");
    expect_refusals(center, observer, "a\0b", 3, "NUL");
    expect_refusals(center, observer, "\0", 1, "NUL");
    tidings_publisher *publisher;
    REFUSED(tidings_publisher_open(center, NULL, 5, NULL, 0, &publisher), EINVAL, "NULL");
    for (size_t i = 0; i < NOT_UTF8; i++) expect_refusals(center, observer, not_utf8[i], strlen(not_utf8[i]), "UTF-8");
    const tidings_statistics statistics = statistics_of(center);
    CHECK(statistics.names == 0 && statistics.posted == 0, "%u names", statistics.names);
    // What a center can't be called is no matter here; the longest of both arrive whole.
    uint32_t subscription;
    OK(tidings_publisher_open(center, "../a/b\n", 7, long_text, TIDINGS_SUBJECT_MAX, &publisher));
    keep(publisher);
    OK(tidings_observer_add(observer, "../a/b\n", 7, NULL, 0, 0, &subscription));
    post_number(publisher, 1);
    tidings_delivery delivery = receive(observer);
    CHECK(strcmp(delivery.name, "../a/b\n") == 0 && delivery.subject_length == TIDINGS_SUBJECT_MAX, "%s",
          delivery.name);
    OK(tidings_publisher_open(center, long_text, TIDINGS_NAME_MAX, long_text, TIDINGS_SUBJECT_MAX, &publisher));
    keep(publisher);
    OK(tidings_observer_add(observer, long_text, TIDINGS_NAME_MAX, long_text, TIDINGS_SUBJECT_MAX, 0, &subscription));
    post_number(publisher, 2);
    delivery = receive(observer);
    CHECK(delivery.name_length == TIDINGS_NAME_MAX && delivery.subject_length == TIDINGS_SUBJECT_MAX, "%zu, %zu",
          delivery.name_length, delivery.subject_length);
    CHECK(!memcmp(delivery.name, long_text, TIDINGS_NAME_MAX) &&
              !memcmp(delivery.subject, long_text, TIDINGS_SUBJECT_MAX) && !delivery.name[TIDINGS_NAME_MAX],
          "as posted");
    CHECK(tidings_observer_remove(observer, subscription + 1) == -ENOENT &&
              tidings_observer_remove(observer, 0xffffffff) == -ENOENT,
          "no such subscription");
    OK(tidings_observer_remove(observer, subscription));
    CHECK(tidings_observer_remove(observer, subscription) == -ENOENT, "twice");
    CHECK(tidings_observer_seek(observer, 0) == -EBUSY, "too late to seek");
}

// Names that a program's users chose for their hash: all fall into one chain, after which the next one is refused.
static void next_of_one_chain(const tidings__segment *s, uint32_t *number, char *name) {
    tidings__key key;
    do {
        snprintf(name, 16, "%u", (*number)++);
        tidings__key_make(&key, name, strlen(name), NULL, 0);
    } while (key.hash % s->shape.buckets != 0);
}

void a_name_whose_chain_is_full_is_refused(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .names = 65536});
    tidings_observer *observer = observer_of_nothing(center);
    char first[16], last[16], name[16];
    uint32_t number = 0, subscription, of_first = 0;
    for (uint32_t i = 0; i < TIDINGS__CHAIN_MAX; i++) {
        next_of_one_chain(&center->segment, &number, last);
        OK(tidings_observer_add(observer, last, strlen(last), NULL, 0, 0, &subscription));
        if (i > 0) continue;
        strcpy(first, last);
        of_first = subscription;
    }
    next_of_one_chain(&center->segment, &number, name);
    REFUSED(tidings_observer_add(observer, name, strlen(name), NULL, 0, 0, &subscription), ENOSPC,
            "choose another name");
    // No name that was added is overlooked, nor is one of another chain refused.
    const char *const good[] = {first, last, NAME};
    OK(tidings_observer_add(observer, NAME, strlen(NAME), NULL, 0, 0, &subscription));
    for (uint32_t i = 0; i < 3; i++) {
        tidings_publisher *publisher = publisher_of(center, good[i]);
        post_number(publisher, i);
        const tidings_delivery delivery = receive(observer);
        CHECK(strcmp(delivery.name, good[i]) == 0 && stamp_of(&delivery).number == i, "%s", delivery.name);
        tidings_publisher_close(publisher);
    }
    OK(tidings_observer_remove(observer, of_first));
    OK(tidings_observer_add(observer, name, strlen(name), NULL, 0, 0, &subscription));
}

void configurations_that_cannot_be_are_refused(void) {
    const tidings_configuration bad[] = {
        {.slots = 1000},
        {.slots = 128},
        {.slots = 1 << 21},
        {.participants = 1},
        {.participants = 4097},
        {.observers = 1},
        {.observers = 1025},
        {.names = 63},
        {.names = (1 << 20) + 1},
        {.maximum_payload = (UINT64_C(1) << 30) + 1},
        {.maximum_payload = UINT64_MAX},
        {.slots = UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tidings_center *center = (void *)1;
        const int result = tidings_open("scenario", &bad[i], &center);
        CHECK(result == -EINVAL && !center && strlen(tidings_last_error()) > 20, "configuration %zu: %d", i, result);
        CHECK(files_there() == 0, "%u files were made", files_there());
    }
    REFUSED(
        tidings_open("scenario", &(tidings_configuration){.directory = "/nowhere/at/all"}, &(tidings_center *){NULL}),
        ENOENT, "/nowhere/at/all");
    REFUSED(tidings_open("scenario", &(tidings_configuration){.directory = "/dev/null"}, &(tidings_center *){NULL}),
            ENOTDIR, "/dev/null");
}

void payloads_over_the_limit_are_refused(void) {
    static uint8_t bytes[20000];
    const uint64_t limits[] = {1, 100, 1000, 1024, 1025, 8192, 10000};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        const uint64_t limit = limits[i];
        tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .maximum_payload = limit});
        CHECK(statistics_of(center).maximum_payload == limit, "%lu",
              (unsigned long)statistics_of(center).maximum_payload);
        tidings_publisher *publisher = publisher_of(center, NAME);
        tidings_observer *observer = observer_of(center, NAME);
        tidings_reservation reservation;
        REFUSED(tidings_post(publisher, bytes, limit + 1, NULL, NULL), EMSGSIZE, "scenario");
        REFUSED(tidings_post(publisher, bytes, SIZE_MAX, NULL, NULL), EMSGSIZE, "scenario");
        REFUSED(tidings_state_set(publisher, bytes, limit + 1, NULL, NULL), EMSGSIZE, "scenario");
        REFUSED(tidings_reserve(center, limit + 1, &reservation), EMSGSIZE, "scenario");
        REFUSED(tidings_reserve(center, SIZE_MAX, &reservation), EMSGSIZE, "scenario");
        OK(tidings_reserve(center, 1, &reservation));
        ((uint8_t *)reservation.bytes)[0] = 42;
        REFUSED(tidings_reserve_more(center, &reservation, 1, limit + 1), EMSGSIZE, "scenario");
        OK(tidings_post_reserved(publisher, &reservation, 1, NULL, NULL));
        tidings_delivery delivery = receive(observer);
        CHECK(delivery.size == 1 && *(const uint8_t *)delivery.payload == 42, "as it was before it was refused");
        CHECK(tidings_next(observer, 0, &delivery) == -EAGAIN, "nothing of what was refused");
        OK(tidings_post(publisher, bytes, limit, NULL, NULL));
        delivery = receive(observer);
        CHECK(delivery.size == limit, "%zu", delivery.size);
        CHECK(statistics_of(center).posted == 2, "%lu", (unsigned long)statistics_of(center).posted);
        tidings_observer_close(observer);
        tidings_publisher_close(publisher);
        tidings_close(center);
        OK(tidings_remove("scenario", NULL));
    }
}
