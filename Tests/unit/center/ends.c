#include "center/ends.h"
#include "fresh.h"

#include <stdio.h>
#include <unistd.h>

// A new center with a file.
static tidings_center *center_with_file(void) {
    tidings_configuration configuration = unit_smallest;
    configuration.directory = unit_directory();
    tidings_center *center = NULL;
    CHECK_EQUAL(tidings_open("unit", &configuration, &center), 0);
    return center;
}

TEST(an_unlinked_file_ends_its_center_for_every_process) {
    tidings_center *center = center_with_file();
    center->window = 5;
    CHECK(!tidings__end_look(center));
    CHECK_EQUAL(unlink(center->segment.path), 0);
    CHECK(tidings__end_look(center));
    CHECK_EQUAL(center->segment.header->removed.word, 1);
    CHECK_EQUAL(center->ended, 1);
    CHECK_EQUAL(center->window, 0);
}

TEST(a_renamed_file_ends_its_center_for_this_process_alone) {
    tidings_center *center = center_with_file();
    char other[TIDINGS__PATH_SIZE + 8];
    (void)strcpy(other, center->segment.path);
    (void)strcat(other, ".other");
    CHECK_EQUAL(rename(center->segment.path, other), 0);
    CHECK(tidings__end_look(center));
    CHECK_EQUAL(center->ended, 1);
    CHECK_EQUAL(center->segment.header->removed.word, 0);
}

TEST(a_lost_path_counts_only_in_the_directory_of_the_opening) {
    tidings_center *center = center_with_file();
    char other[TIDINGS__PATH_SIZE + 8];
    (void)strcpy(other, center->segment.path);
    (void)strcat(other, ".other");
    CHECK_EQUAL(rename(center->segment.path, other), 0);
    center->directory_inode++;
    CHECK(!tidings__end_look(center));
    center->directory_inode = 0;
    CHECK(!tidings__end_look(center));
}

TEST(a_post_that_finds_its_center_ended_fails_and_clears_its_window) {
    tidings_center *center = fresh_center();
    tidings__thread *thread = tidings__thread_self();
    thread->window = 7;
    CHECK_EQUAL(tidings__end_ask(center, thread), 0);
    CHECK_EQUAL(center->window, 7);
    center->segment.header->removed.word = 1;
    CHECK_EQUAL(tidings__end_ask(center, thread), -ESTALE);
    CHECK_EQUAL(center->window, 0);
}

TEST(a_nudge_moves_the_futex_and_keeps_the_asleep_flag_of_the_doorbell) {
    _Atomic uint32_t doorbell = 5;
    tidings__sleeper sleeper = {.doorbell = &doorbell, .own_futex = 3};
    tidings__nudge(&sleeper);
    CHECK_EQUAL(sleeper.own_futex, 4);
    CHECK_EQUAL(doorbell, 7);
    sleeper.doorbell = NULL;
    tidings__nudge(&sleeper);
    CHECK_EQUAL(sleeper.own_futex, 5);
    CHECK_EQUAL(doorbell, 7);
}

TEST(an_observer_that_is_unwatched_leaves_the_others_in_the_list) {
    tidings_center *center = fresh_center();
    tidings__sleeper sleepers[3] = {0};
    for (int i = 0; i < 3; i++) tidings__end_watch(center, &sleepers[i]);
    tidings__end_unwatch(center, &sleepers[1]);
    CHECK(center->sleepers == &sleepers[2]);
    CHECK(sleepers[2].next == &sleepers[0]);
    CHECK(sleepers[0].next == NULL);
}
