#include "platform/atomics.h"

#include "unit.h"

TEST(a_pair_is_swapped_only_if_both_words_are_as_expected) {
    _Alignas(16) _Atomic uint64_t pair[2] = {1, 2};
    CHECK(!tidings__cas_pair(pair, 1, 3, 7, 8));
    CHECK(!tidings__cas_pair(pair, 3, 2, 7, 8));
    CHECK_EQUAL(pair[0], 1);
    CHECK_EQUAL(pair[1], 2);
    CHECK(tidings__cas_pair(pair, 1, 2, 7, 8));
    CHECK_EQUAL(pair[0], 7);
    CHECK_EQUAL(pair[1], 8);
}

TEST(a_failed_compare_and_swap_gives_back_what_it_found) {
    _Atomic uint64_t word = 5;
    uint64_t expected = 4;
    CHECK(!tidings__cas(&word, &expected, 9));
    CHECK_EQUAL(expected, 5);
    CHECK(tidings__cas(&word, &expected, 9));
    CHECK_EQUAL(word, 9);
}

TEST(read_modify_writes_give_back_the_earlier_value) {
    _Atomic uint64_t word = 5;
    CHECK_EQUAL(tidings__fetch_add(&word, 3), 5);
    CHECK_EQUAL(tidings__fetch_or(&word, 1), 8);
    CHECK_EQUAL(tidings__fetch_and(&word, 1), 9);
    CHECK_EQUAL(word, 1);
}
