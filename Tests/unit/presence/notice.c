#include "presence/notice.h"

#include <errno.h>

#include "receiving/describe.h"
#include "unit.h"

static tidings_presence sample(void) {
    return (tidings_presence){.event = TIDINGS_PRESENCE_DIED,
                              .pid = 70000,
                              .uid = 23,
                              .id = (UINT64_C(1) << 52) - 1,
                              .role = "renderer",
                              .executable = "program"};
}

TEST(a_notice_is_read_as_it_was_written) {
    tidings_presence written = sample(), found = {0};
    uint8_t bytes[TIDINGS__NOTICE_MAX];
    const size_t size = tidings__notice_write(&written, bytes);
    CHECK(tidings__notice_read(bytes, size, &found));
    CHECK_EQUAL(found.event, TIDINGS_PRESENCE_DIED);
    CHECK_EQUAL(found.pid, 70000);
    CHECK_EQUAL(found.uid, 23);
    CHECK_EQUAL(found.id, written.id);
    CHECK_TEXT(found.role, "renderer");
    CHECK_TEXT(found.executable, "program");
}

TEST(the_longest_texts_fit_and_the_executable_is_shortened) {
    tidings_presence written = sample(), found = {0};
    written.pid = -1;
    written.uid = UINT32_MAX;
    memset(written.role, 'r', TIDINGS_ROLE_MAX);
    memset(written.executable, 'e', TIDINGS_EXECUTABLE_MAX);
    uint8_t bytes[TIDINGS__NOTICE_MAX];
    const size_t size = tidings__notice_write(&written, bytes);
    CHECK(size <= TIDINGS__NOTICE_MAX);
    CHECK(tidings__notice_read(bytes, size, &found));
    CHECK_EQUAL(strlen(found.role), TIDINGS_ROLE_MAX);
    CHECK(strlen(found.executable) >= 55);
}

TEST(texts_that_are_no_text_become_empty) {
    tidings_presence written = sample(), found = {0};
    strcpy(written.role, "\xff\xfe");
    uint8_t bytes[TIDINGS__NOTICE_MAX];
    CHECK(tidings__notice_read(bytes, tidings__notice_write(&written, bytes), &found));
    CHECK_TEXT(found.role, "");
}

TEST(no_shorter_and_no_changed_notice_is_read_beyond_its_end) {
    tidings_presence written = sample(), found;
    uint8_t bytes[TIDINGS__NOTICE_MAX + 1];
    const size_t size = tidings__notice_write(&written, bytes);
    for (size_t less = 0; less < size; less++) CHECK(!tidings__notice_read(bytes, less, &found));
    bytes[size] = 0;
    CHECK(!tidings__notice_read(bytes, size + 1, &found));
    for (size_t at = 0; at < size; at++) {
        const uint8_t before = bytes[at];
        for (uint32_t value = 0; value < 256; value++) {
            bytes[at] = (uint8_t)value;
            (void)tidings__notice_read(bytes, size, &found);
        }
        bytes[at] = before;
    }
}

TEST(a_delivery_that_is_no_notice_is_refused) {
    tidings_presence written = sample(), found;
    uint8_t bytes[TIDINGS__NOTICE_MAX];
    tidings_delivery delivery = {.kind = TIDINGS_DELIVERY_MESSAGE,
                                 .flags = TIDINGS_DELIVERY_PRESENCE,
                                 .payload = bytes,
                                 .size = tidings__notice_write(&written, bytes),
                                 .participant = 6};
    CHECK_EQUAL(tidings_presence_read(&delivery, &found), 0);
    CHECK_EQUAL(found.participant, 6);
    delivery.flags = 0;
    CHECK_EQUAL(tidings_presence_read(&delivery, &found), -EINVAL);
    delivery.flags = TIDINGS_DELIVERY_PRESENCE;
    delivery.payload = tidings__no_payload;
    CHECK_EQUAL(tidings_presence_read(&delivery, &found), -EBADMSG);
    delivery.payload = "";
    delivery.size = 0;
    CHECK_EQUAL(tidings_presence_read(&delivery, &found), -EBADMSG);
    delivery.kind = TIDINGS_DELIVERY_MISSED;
    CHECK_EQUAL(tidings_presence_read(&delivery, &found), -EINVAL);
}
