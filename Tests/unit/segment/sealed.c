#include <errno.h>

#include "files.h"
#include "platform/error.h"

// The descriptors that a peer receives.
static int descriptors[3], count;

TEST(a_sealed_center_has_no_file_and_a_fixed_length) {
    tidings__segment *s = unit_segment();
    CHECK(s->sealed);
    CHECK(tidings__file_sealed(s->fd));
    CHECK(!exists(s->path));
    CHECK(tidings__file_resize(s->fd, 0) < 0);
}

TEST(a_sealed_center_can_only_be_new_and_the_callers_own) {
    static tidings__segment s;
    tidings_configuration configuration = unit_smallest;
    configuration.flags = TIDINGS_OPEN_EXISTING;
    CHECK_EQUAL(tidings__segment_create_sealed("x", &configuration, &s), -EINVAL);
}

TEST(a_peer_maps_the_center_that_it_receives) {
    tidings__segment *s = unit_segment(), peer;
    CHECK_EQUAL(tidings__segment_hand(s, true, descriptors, &count), 0);
    CHECK_EQUAL(count, 2);
    CHECK_EQUAL(tidings__segment_adopt("y", descriptors, count, UINT64_MAX, &peer), 0);
    s->header->generation.word = 42;
    CHECK_EQUAL(peer.header->generation.word, 42);
    CHECK(peer.writable);
    tidings__segment_close(&peer);
}

TEST(a_peer_that_receives_one_descriptor_may_only_read) {
    tidings__segment *s = unit_segment(), peer;
    CHECK_EQUAL(tidings__segment_hand(s, false, descriptors, &count), 0);
    CHECK_EQUAL(count, 1);
    CHECK_EQUAL(tidings__segment_adopt("y", descriptors, count, UINT64_MAX, &peer), 0);
    CHECK(!peer.writable);
    tidings__segment_close(&peer);
}

TEST(a_center_that_is_not_sealed_is_not_received) {
    static tidings__segment s, peer;
    CHECK_EQUAL(open_x(&s, 0, 0600), 0);
    CHECK_EQUAL(tidings__segment_hand(&s, false, descriptors, &count), 0);
    CHECK_EQUAL(tidings__segment_adopt("y", descriptors, count, UINT64_MAX, &peer), -EPERM);
    CHECK_SAYS(tidings__last_error(), "isn't sealed");
}

TEST(a_center_larger_than_the_receivers_limit_is_not_received) {
    tidings__segment *s = unit_segment(), peer;
    CHECK_EQUAL(tidings__segment_hand(s, false, descriptors, &count), 0);
    CHECK_EQUAL(tidings__segment_adopt("y", descriptors, count, s->size - 1, &peer), -EFBIG);
}

TEST(descriptors_of_two_centers_are_not_received_as_one) {
    tidings__segment *s = unit_segment(), *other = unit_segment(), peer;
    int mixed[2];
    CHECK_EQUAL(tidings__segment_hand(s, true, descriptors, &count), 0);
    mixed[0] = descriptors[0];
    CHECK_EQUAL(tidings__segment_hand(other, true, descriptors, &count), 0);
    mixed[1] = descriptors[1];
    CHECK_EQUAL(tidings__segment_adopt("y", mixed, 2, UINT64_MAX, &peer), -EBADMSG);
}
