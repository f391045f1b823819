// Every scene there is, by file: what it is called, what it tells, and how it is played (scenario.h).
// clang-format off

// scenes_posts.c
SCENE(one_post, "a post and an observer that may just be falling asleep", .changes = 3, .buffers = true)
SCENE(two_and_two, "two post twice, two observe", .changes = 2)
SCENE(late_stores, "the same, and each store may be late", .changes = 1, .buffers = true)
SCENE(without_barrier, "the same, where the kernel has no barrier for us", .changes = 1, .buffers = true)
SCENE(two_names, "two post under different names, one looks at one of them, one at all", .changes = 2)
SCENE(a_batch, "a batch, while one observer may be falling asleep and one registers", .changes = 2, .buffers = true)
SCENE(a_batch_beside_a_post, "the same beside another post, and the ring goes round", .changes = 1, .buffers = true)
SCENE(dead_poster_of_a_batch, "a batch beside another post, and its poster dies anywhere", .changes = 1, .deaths = true)
SCENE(turning, "the ring goes round: evictions, laps, exact losses", .changes = 1, .buffers = true)
SCENE(one_lap, "an observer is lapped while it reads", .changes = 2)
SCENE(two_hands, "two evict the same", .changes = 2)
SCENE(a_slow_hand, "a thread that helps to evict is laps behind", .changes = 1)
SCENE(three_laps, "twelve posts in four slots", .changes = 1)
SCENE(wake_group, "four observe one name, and are rung at once", .changes = 2)
SCENE(two_ring_a_wake_group, "two post to four", .changes = 1, .buffers = true)
SCENE(dead_poster_to_a_wake_group, "a poster dies anywhere, and four observe its name", .changes = 1, .deaths = true)
SCENE(dead_poster, "a poster dies anywhere", .changes = 1, .deaths = true, .buffers = true)
SCENE(dead_observer, "an observer dies anywhere", .changes = 1, .deaths = true)
SCENE(foreign_poster, "a poster dies anywhere, and the kernel marks no words", .changes = 1, .deaths = true)
SCENE(foreign_poster_reclaimed, "the same, while another revokes its post and a third reclaims", .changes = 2,
      .deaths = true)
SCENE(large, "payloads in chunks, of which there are three", .changes = 1, .buffers = true)
SCENE(dead_large_poster, "one dies anywhere filling or posting one", .changes = 1, .deaths = true)
SCENE(reserving, "two fill chunks, post some and give some back", .changes = 1, .buffers = true)
SCENE(dead_filler, "one dies anywhere doing so", .changes = 1, .deaths = true)
SCENE(dead_reclaimer, "one dies anywhere while it reclaims after another that had died", .changes = 1, .deaths = true)
SCENE(dead_foreign_poster, "a foreign poster that died is reclaimed while another passes over its slot", .changes = 2)

// scenes_holds.c
SCENE(holding, "one reads payloads in place and keeps each one until the next", .changes = 1, .buffers = true)
SCENE(two_holding, "two do so, and the ring goes round", .changes = 1)
SCENE(holding_what_is_evicted, "one holds what has been held before, while it is evicted and its chunk is taken",
      .changes = 2, .verify = what_is_held_is_whole, .buffers = true)
SCENE(holding_without_loss, "one reads in place and loses nothing", .changes = 1)
SCENE(held_values, "one begins with a value in place, which is replaced and evicted meanwhile", .changes = 1,
      .verify = the_newest_is_kept, .buffers = true)
SCENE(a_dropped_value_beside_a_late_hand, "one holds a value that was replaced, and another promotes it late",
      .changes = 3, .verify = what_is_held_is_whole)
SCENE(dead_holder, "one dies anywhere reading in place", .changes = 1, .deaths = true, .buffers = true)
SCENE(dead_poster_beside_a_holder, "a poster dies anywhere, and its payload is read in place", .changes = 1,
      .deaths = true)

// scenes_lossless.c
SCENE(lossless, "one loses nothing, and the posters wait for it", .changes = 1, .buffers = true)
SCENE(refused, "no poster waits for it: some posts are refused, and come to no observer", .changes = 1)
SCENE(lossless_beside_readers, "one loses nothing, and wakes the posters where no reader sleeps", .changes = 1)
SCENE(dead_lossless, "it dies anywhere, and holds no poster back", .changes = 1, .deaths = true)
SCENE(lossless_history, "one begins with what is there, while it is evicted, and nothing of it is lost", .changes = 1)
SCENE(lossless_second_name, "one begins with what is there of a second name, and nothing of the first is lost",
      .changes = 1)

// scenes_names.c
SCENE(registering, "two register while others post", .changes = 1, .buffers = true)
SCENE(registering_in_a_full_ring, "the same, while the ring goes round", .changes = 1)
SCENE(prefixes, "one begins to look at all that begins with a letter", .changes = 1, .buffers = true)
SCENE(prefixes_in_a_full_ring, "the same, while the ring goes round and it is lapped", .changes = 2)
SCENE(prefixes_and_a_late_hand, "the same, and two count what goes", .changes = 1)
SCENE(prefixes_come_and_go, "the same, and another that looks so comes and goes", .changes = 1)
SCENE(history, "one begins with what is there, while it is evicted", .changes = 1)
SCENE(one_publisher, "two threads share a publisher while observers register", .changes = 1, .buffers = true)
SCENE(one_publisher_alone, "the same, and nothing but what the threads share matters", .changes = 4, .focus = true)
SCENE(changing, "names are added and removed while another thread waits", .changes = 1, .buffers = true)
SCENE(cancelling, "nothing comes after a removal", .changes = 1)
SCENE(names_come_and_go, "names take each other's places in a full table", .changes = 1)
SCENE(names_come_and_go_twice, "two do so", .changes = 1)
SCENE(place_freed_again, "one finds the only place free, and another uses and frees it", .changes = 2)
SCENE(predecessor_reused, "one takes a name out, and another uses the entry before it in the chain again", .changes = 1)
SCENE(one_reader_changing, "names are added and removed while a reader waits", .changes = 1, .buffers = true)
SCENE(interrupting, "an interruption is never missed", .changes = 3, .buffers = true)
SCENE(polling_and_waiting, "one that has a descriptor waits without it", .changes = 2)

// scenes_values.c
SCENE(values, "retained values, set by two, asked for by a new observer", .changes = 1, .verify = the_newest_is_kept)
SCENE(values_evicted, "a value outlives the ring's memory of it", .changes = 1,
      .verify = the_newest_is_kept, .buffers = true)
SCENE(values_of_many_names, "the same of all names that begin so", .changes = 1, .verify = the_newest_is_kept)
SCENE(values_of_many_names_evicted, "one leaves the ring while they are listed", .changes = 1,
      .verify = the_newest_is_kept, .buffers = true)
SCENE(values_outlive, "the newer of two values outlives it", .changes = 1, .verify = the_newest_is_kept)
SCENE(value_in_a_full_table, "one begins to set a value, and its entry is taken out", .changes = 2)
SCENE(value_of_another_name, "one reads a value while its entry goes to another name", .changes = 1)
SCENE(dead_value_poster, "one dies anywhere setting one", .changes = 1, .verify = the_newest_is_kept, .deaths = true)

// scenes_readers.c
SCENE(one_reader, "one may only read, and may just be falling asleep", .changes = 3, .buffers = true)
SCENE(readers, "one of two may only read", .changes = 1, .buffers = true)
SCENE(lapped_readers, "two may only read, and the ring goes round", .changes = 1, .buffers = true)
SCENE(new_readers, "two begin to read while others post", .changes = 1)
SCENE(dead_poster_of_readers, "a poster dies anywhere, and one may only read", .changes = 1, .deaths = true)

// scenes_presence.c
SCENE(a_report_taken_over, "a participant is dead; one reports it, dies or is stopped anywhere, and another takes over",
      .changes = 1, .verify = reported_once, .deaths = true, .buffers = true)
SCENE(deaths_in_a_full_ring, "two report a death, and the ring goes round meanwhile", .changes = 1,
      .verify = reported_once)
SCENE(two_guards, "two watch a dead participant and each other, and one of them dies anywhere", .changes = 1,
      .verify = each_reported_once, .finish = end_guards, .deaths = true)
SCENE(a_death_beside_a_joining, "a participant joins and dies beside one that may just be falling asleep", .changes = 2,
      .verify = each_reported_once, .finish = end_guards, .buffers = true)
SCENE(a_death_beside_an_exit, "one dies right before those end that are woken for it, and exit", .changes = 2,
      .verify = each_reported_once, .finish = end_guards)
SCENE(a_will_of_a_successor, "one frees a will that is not needed, while the next participant leaves its own",
      .changes = 2, .verify = the_will_is_kept)

// scenes_requests.c
SCENE(a_call_beside_a_closing_server, "one calls, and the last server closes", .changes = 2, .finish = end_requests,
      .buffers = true)
SCENE(a_call_beside_a_dying_server, "one calls, and the last server dies", .changes = 1, .finish = end_requests,
      .buffers = true)
SCENE(a_claim_beside_a_settlement, "the guard of a server dies before its last thread, which claims", .changes = 2,
      .finish = end_requests)
SCENE(a_server_dies_anywhere, "one dies anywhere while it serves, and another one serves the same", .changes = 1,
      .finish = end_requests, .deaths = true)
SCENE(a_caller_dies_anywhere, "one dies anywhere while it calls, takes an outcome and cancels", .changes = 1,
      .finish = end_requests, .deaths = true)
SCENE(a_dead_caller_beside_its_server, "its server claims and replies while its calls are settled", .changes = 2,
      .finish = end_requests)
SCENE(a_dead_server_beside_its_caller, "its caller cancels while its calls are settled", .changes = 2,
      .finish = end_requests)
SCENE(a_settlement_taken_over, "one settles the calls of a dead server, dies anywhere, and another takes over",
      .changes = 1, .finish = end_requests, .deaths = true)
SCENE(two_deaths_settled_together, "one settles the calls of a dead server and a dead caller, and dies anywhere",
      .changes = 1, .finish = end_requests, .deaths = true)
SCENE(a_death_beside_one_of_a_server, "one settles the calls of a dead watcher and the last server, and dies anywhere",
      .changes = 2, .finish = end_requests, .deaths = true)
SCENE(a_settlement_beside_a_successor, "one settles the calls of an index that a later server takes", .changes = 2,
      .finish = end_requests)
SCENE(a_settlement_beside_the_same_claim, "one settles a call that a later server of the index has claimed anew",
      .changes = 2, .finish = end_requests)
SCENE(a_reply_beside_a_cancellation, "one replies, and its caller cancels and calls again", .changes = 2,
      .finish = end_requests)
SCENE(a_reply_beside_a_sleep, "one replies, and its caller may just be falling asleep", .changes = 3,
      .finish = end_requests, .buffers = true)
SCENE(two_servers_of_one_call, "two claim the same", .changes = 2, .finish = end_requests,
      .verify = each_received_once)
SCENE(a_reply_in_parts, "one replies in parts, and its caller may just be falling asleep", .changes = 2,
      .finish = end_requests, .buffers = true)
SCENE(a_part_beside_a_cancellation, "one sends parts, and its caller takes one, cancels and calls again", .changes = 2,
      .finish = end_requests)
SCENE(a_server_dies_between_parts, "one dies anywhere while it sends parts, and another one serves the same",
      .changes = 1, .finish = end_requests, .deaths = true)
SCENE(a_caller_dies_between_parts, "one dies anywhere while it takes parts", .changes = 1, .finish = end_requests,
      .deaths = true)
SCENE(a_continuation_beside_a_closing_server, "one takes a part and continues, and its server closes", .changes = 2,
      .finish = end_requests)
SCENE(continuations_beside_a_lapped_server, "one takes parts, and the ring goes round", .changes = 1,
      .finish = end_requests)
SCENE(a_reply_beside_an_exit, "one replies while its process exits, and another one serves the same", .changes = 2,
      .finish = end_requests)
SCENE(a_call_beside_an_exit, "one calls while its process exits, and another one takes its call", .changes = 2,
      .finish = end_requests)

#undef SCENE
