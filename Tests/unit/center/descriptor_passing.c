#include "fresh.h"

#include <sys/socket.h>

static int pair[2];

static void connect_pair(void) { CHECK_EQUAL(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0); }

TEST(a_received_center_shares_the_words_of_the_sent_one) {
    connect_pair();
    tidings_center *center = fresh_center(), *received = NULL;
    CHECK_EQUAL(tidings_send(center, pair[0], 0), 0);
    CHECK_EQUAL(tidings_receive(pair[1], &received), 0);
    CHECK_TEXT(received->segment.name, "unit");
    CHECK(received->participant != center->participant);
    center->segment.header->removed.word = 1;
    CHECK_EQUAL(received->segment.header->removed.word, 1);
}

TEST(a_center_larger_than_the_receiver_allows_is_refused) {
    connect_pair();
    tidings_center *center = fresh_center(), *received = NULL;
    CHECK_EQUAL(tidings_send(center, pair[0], 0), 0);
    CHECK_EQUAL(tidings_receive_at_most(pair[1], center->segment.size - 1, &received), -EFBIG);
    CHECK(received == NULL);
    CHECK_EQUAL(tidings_send(center, pair[0], 0), 0);
    CHECK_EQUAL(tidings_receive_at_most(pair[1], center->segment.size, &received), 0);
}

TEST(a_message_that_holds_no_center_is_refused) {
    connect_pair();
    tidings_center *received = NULL;
    CHECK_EQUAL(send(pair[0], "hello", 5, 0), 5);
    CHECK_EQUAL(tidings_receive(pair[1], &received), -EBADMSG);
    CHECK_SAYS(tidings__last_error(), "5 bytes, 0 descriptors");
    CHECK(received == NULL);
}

TEST(a_center_that_may_not_be_sent_is_refused) {
    connect_pair();
    tidings_center *center = fresh_center();
    CHECK_EQUAL(tidings_send(center, pair[0], TIDINGS_SEND_READ_ONLY), -EACCES);
    center->segment.writable = false;
    CHECK_EQUAL(tidings_send(center, pair[0], 0), -EACCES);
    center->segment.sealed = false;
    CHECK_EQUAL(tidings_send(center, pair[0], 0), -EINVAL);
    char byte;
    CHECK_EQUAL(recv(pair[1], &byte, 1, MSG_DONTWAIT), -1);
}
