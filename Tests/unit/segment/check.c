#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "files.h"
#include "platform/error.h"

// The identity of a good center, and the result for it once it was changed.
static tidings__identity identity;
static tidings__segment *segment;

static void begin(void) {
    segment = unit_segment();
    CHECK_EQUAL(tidings__segment_identify(segment, segment->fd, 0, "open", &identity), 0);
    CHECK_EQUAL(tidings__segment_validate(segment, "open", &identity), 0);
}
static int validated(void) { return tidings__segment_validate(segment, "open", &identity); }

TEST(a_center_of_another_version_or_layout_is_refused) {
    begin();
    identity.version += 1 << 16;
    CHECK_EQUAL(validated(), -EPROTO);
    CHECK(!tidings__identity_is_ours(&identity));
    begin();
    identity.layout_stamp++;
    CHECK_EQUAL(validated(), -EPROTO);
}

TEST(a_center_of_any_minor_version_will_do) {
    begin();
    for (uint32_t minor = 0; minor <= UINT16_MAX; minor += UINT16_MAX / 5) {
        identity.version = TIDINGS__FORMAT_MAJOR << 16 | minor;
        CHECK_EQUAL(validated(), 0);
        CHECK(tidings__identity_is_ours(&identity));
    }
}

TEST(a_center_that_needs_an_unknown_feature_is_refused) {
    begin();
    identity.version++;
    for (uint32_t bit = 0; bit < 64; bit++) {
        identity.required = UINT64_C(1) << bit;
        CHECK_EQUAL(validated(), -EPROTO);
        CHECK(!tidings__identity_is_ours(&identity));
        char bits[32];
        (void)snprintf(bits, sizeof bits, "bits %llx", 1ULL << bit);
        CHECK_SAYS(tidings__last_error(), bits);
    }
    CHECK_SAYS(tidings__last_error(), "update this program");
}

TEST(a_center_with_parts_of_a_later_version_is_longer) {
    begin();
    identity.length = identity.file_size += 123 * TIDINGS__PAGE;
    CHECK_EQUAL(validated(), 0);
    free(segment->chunk_backed);
    CHECK_EQUAL(tidings__segment_map(segment, &identity), 0);
    CHECK_EQUAL(segment->size, segment->geometry.file_size + TIDINGS__MORE);
    CHECK_EQUAL(segment->file_size, identity.file_size);
    begin();
    identity.length = identity.file_size = TIDINGS__LOCK_BASE + TIDINGS__PAGE;
    CHECK_EQUAL(validated(), -EBADMSG);
    begin();
    identity.length = identity.file_size = segment->geometry.file_size - 1;
    CHECK_EQUAL(validated(), -EBADMSG);
}

TEST(a_center_with_an_impossible_shape_is_damaged) {
    begin();
    identity.shape.slots = 3;
    CHECK_EQUAL(validated(), -EBADMSG);
    CHECK_SAYS(tidings__last_error(), "impossible sizes");
    begin();
    identity.instance = 0;
    CHECK_EQUAL(validated(), -EBADMSG);
}

TEST(a_center_whose_lengths_disagree_is_damaged) {
    begin();
    identity.length--;
    CHECK_EQUAL(validated(), -EBADMSG);
    begin();
    identity.file_size++;
    CHECK_EQUAL(validated(), -EBADMSG);
    CHECK_SAYS(tidings__last_error(), "damaged");
}

TEST(a_file_that_is_short_or_without_the_magic_is_no_center) {
    static tidings__segment s;
    CHECK_EQUAL(open_x(&s, 0, 0600), 0);
    s.header->magic++;
    CHECK_EQUAL(tidings__segment_identify(&s, s.fd, 0, "open", &identity), -EBADMSG);
    CHECK_SAYS(tidings__last_error(), "other contents");
    CHECK(!tidings__segment_read_identity(s.fd, &identity));
    CHECK_EQUAL(tidings__file_resize(s.fd, 100), 0);
    CHECK_EQUAL(tidings__segment_identify(&s, s.fd, 0, "open", &identity), -EBADMSG);
    CHECK_SAYS(tidings__last_error(), "only 100 B long");
}

TEST(a_center_of_another_user_is_refused_unless_any_owner_will_do) {
    tidings__segment *s = unit_segment();
    s->owner++;
    CHECK_EQUAL(tidings__segment_identify(s, s->fd, 0, "open", &identity), -EPERM);
    CHECK_EQUAL(tidings__segment_identify(s, s->fd, TIDINGS__OPEN_ANY_OWNER, "open", &identity), 0);
}

TEST(a_path_to_a_directory_is_refused_with_what_it_is) {
    static tidings__segment s = {.name = "x"};
    (void)strcpy(s.path, unit_directory());
    CHECK_EQUAL(tidings__segment_unopenable(&s, ENXIO, 0, "open"), -EBADMSG);
    CHECK_SAYS(tidings__last_error(), "is a directory");
    CHECK_EQUAL(tidings__segment_unopenable(&s, ENOENT, 0, "open"), -ENOENT);
}

TEST(a_directory_that_every_user_may_rename_in_is_refused_unless_allowed) {
    static tidings__segment s = {.name = "x"};
    CHECK_EQUAL(tidings__path_join(unit_directory(), "x", s.path, sizeof s.path), 0);
    CHECK_EQUAL(tidings__segment_check_directory(&s, 0, "open"), 0);
    CHECK_EQUAL(chmod(unit_directory(), 0777), 0);
    CHECK_EQUAL(tidings__segment_check_directory(&s, 0, "open"), -EPERM);
    CHECK_EQUAL(tidings__segment_check_directory(&s, TIDINGS_OPEN_SHARED_DIRECTORY, "open"), 0);
    CHECK_EQUAL(chmod(unit_directory(), 01777), 0);
    CHECK_EQUAL(tidings__segment_check_directory(&s, 0, "open"), 0);
    CHECK_EQUAL(chmod(unit_directory(), 0700), 0);
}
