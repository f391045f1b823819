// Names, subjects and configurations as the API is given them: refused with -EINVAL, or carried byte by byte.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Written after RFC 3629's table, as a second opinion on the core's check.
static bool is_utf8(const uint8_t *at, size_t size) {
    const uint8_t *end = at + size;
    while (at < end) {
        const uint8_t first = *at++;
        if (first < 0x80) continue;
        const unsigned more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
        if (first < 0xc2 || first > 0xf4 || (size_t)(end - at) < more) return false;
        const uint8_t low = first == 0xe0   ? 0xa0
                            : first == 0xf0 ? 0x90
                                            : 0x80,
                      high = first == 0xed   ? 0x9f
                             : first == 0xf4 ? 0x8f
                                             : 0xbf;
        if (at[0] < low || at[0] > high) return false;
        for (unsigned i = 1; i < more; i++)
            if (at[i] < 0x80 || at[i] > 0xbf) return false;
        at += more;
    }
    return true;
}

static bool fits(const char *text, size_t size, size_t least) {
    return size >= least && size <= 255 && !memchr(text, 0, size) && is_utf8((const uint8_t *)text, size);
}

// Exactly as long as it says, so that the address sanitizer sees a read beyond.
static char *take(input *in, size_t *size) {
    const size_t wanted = (size_t)input_number(in, 2) % 300, left = (size_t)(in->end - in->at);
    *size = wanted < left ? wanted : left;
    char *text = malloc(*size ? *size : 1);
    MUST(text != NULL, *size);
    memcpy(text, in->at, *size);
    in->at += *size;
    return text;
}

static void carry(tidings_center *center, input *in) {
    size_t name_size, subject_size;
    char *name = take(in, &name_size), *subject = take(in, &subject_size);
    const uint8_t how = input_byte(in);
    const bool with_subject = how & 1, by_prefix = how & 2;
    const bool good = fits(name, name_size, 1) && (!with_subject || fits(subject, subject_size, 0));
    // By how it begins: any part of it that ends where a character does. By all of it, as it was.
    size_t looked_at = name_size;
    if (good && by_prefix && how & 4) looked_at = 1 + (how >> 3) % name_size;
    const bool observable = good ? fits(name, looked_at, 1) && !(by_prefix && with_subject) : false;
    tidings_observer *observer = NULL;
    tidings_publisher *publisher = NULL;
    uint32_t subscription = 0;
    MUST(tidings_observer_open(center, 0, &observer) == 0, 0);
    const int added = tidings_observer_add(observer, name, looked_at, with_subject ? subject : NULL, subject_size,
                                           TIDINGS_ADD_RETAINED | (by_prefix ? TIDINGS_ADD_PREFIX : 0), &subscription);
    fuzz_result("add", added);  // before the next call, which may have nothing to say
    const int opened = tidings_publisher_open(center, name, name_size, with_subject ? subject : NULL, subject_size,
                                              &publisher);
    fuzz_result("publisher", opened);
    MUST(added == (observable ? 0 : -EINVAL), added);
    const bool reserved = name_size == strlen(TIDINGS_PRESENCE_NAME) &&
                          memcmp(name, TIDINGS_PRESENCE_NAME, name_size) == 0;
    MUST(opened == (good && !reserved ? 0 : -EINVAL), opened);
    if (observable && !reserved) {
        const tidings_post_options options = {
            .flags = input_byte(in) & 1 && !(with_subject && subject_size) ? TIDINGS_POST_RETAIN : 0};
        tidings_delivery delivery;
        uint64_t sequence = 0;
        MUST(tidings_post(publisher, "payload", 7, &options, &sequence) == 0, 0);
        MUST(tidings_next(observer, 0, &delivery) == 0, 0);
        MUST(delivery.sequence == sequence && delivery.size == 7 && memcmp(delivery.payload, "payload", 7) == 0,
             delivery.size);
        MUST(delivery.name_length == name_size && memcmp(delivery.name, name, name_size) == 0, delivery.name_length);
        if (with_subject)
            MUST(delivery.subject_length == subject_size && memcmp(delivery.subject, subject, subject_size) == 0,
                 delivery.subject_length);
        MUST(tidings_next(observer, 0, &delivery) == -EAGAIN, 0);
    }
    tidings_publisher_close(publisher);
    tidings_observer_close(observer);
    free(name);
    free(subject);
}

// Any numbers; those that would be accepted are made small, as what they cost is not in question here.
static uint32_t number(input *in, uint32_t least, uint32_t most, uint32_t small) {
    const uint32_t any = (uint32_t)input_number(in, 4);
    return any >= least && any <= most && any > small ? small : any;
}

static void birth(input *in) {
    tidings_configuration configuration = {.directory = fuzz_directory(),
                                           .maximum_payload = 7 + input_number(in, 2),
                                           .slots = number(in, 256, 1 << 20, 256)};
    configuration.participants = number(in, 2, TIDINGS__PARTICIPANTS_MAX, 4);
    configuration.observers = number(in, 2, 1024, 4);
    configuration.names = number(in, 64, 1 << 20, 256);
    configuration.flags = TIDINGS_OPEN_EXCLUSIVE;
    if (configuration.slots == 0) configuration.slots = 256;
    if (configuration.names == 0) configuration.names = 64;
    size_t size;
    char *bytes = take(in, &size), name[301];
    memcpy(name, bytes, size);
    name[size] = 0;
    free(bytes);
    tidings_center *center = NULL;
    const int opened = tidings_open(name, &configuration, &center);
    fuzz_result("open", opened);
    MUST(opened == 0 || opened == -EINVAL, opened);
    if (opened == 0) {
        MUST(strchr(name, '/') == NULL && name[0] != '.' && is_utf8((const uint8_t *)name, strlen(name)), size);
        carry(center, in);
        tidings_close(center);
        MUST(tidings_remove(name, &configuration) == 0, 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data, data + size};
    fuzz_step(NULL);
    if (input_byte(&in) & 1) {
        birth(&in);
        return 0;
    }
    // A new one each time: what an earlier input retained would come first.
    tidings_configuration configuration = fuzz_configuration;
    configuration.directory = fuzz_directory();
    tidings_center *center = NULL;
    MUST(tidings_open("f", &configuration, &center) == 0, 0);
    carry(center, &in);
    tidings_close(center);
    fuzz_empty_directory();
    return 0;
}
