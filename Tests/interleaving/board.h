// What was posted and what each was told, and whether the one follows from the other. All of it is put back between
// schedules.
#ifndef BOARD_H
#define BOARD_H

#include "machine.h"

#define POSTS 24
#define TOLD 48
#define WATCHERS 4

typedef struct board_post {
    const char *name;
    uint32_t size;
    uint64_t begun, returned;  // when, in events; 0: not
    int result;
    uint64_t sequence;
    bool known;  // an observer was told its position, or the post returned
    bool value;  // retained
} board_post;

typedef struct told {
    uint64_t when, sequence, missed;
    uint32_t post;  // of a notification
    bool kept;      // a value from before it looked
} told;

// An observer of one name (NULL: of all names).
typedef struct watcher {
    fiber *fiber;
    tidings_center *center;
    tidings_observer *observer;
    const char *name;
    uint32_t subscription, flags, entry;
    uint64_t entry_since;  // when its name had an entry, at the latest
    bool lossless, reader, in_place;
    bool holds;         // each payload in place, until it has received the next one
    tidings_held held;  // of the post `held_post`
    uint32_t held_post;
    uint64_t adding, added, removing, removed;  // when; added 0: before everything
    uint64_t first;                             // where it began, if that is known
    bool left;                                  // it told all it was told
    uint32_t count;
    told told[TOLD];
} watcher;

extern struct board {
    uint64_t events;
    board_post posts[POSTS];
    uint32_t post_count;
    watcher watchers[WATCHERS];
    uint32_t watcher_count;
} board;

// Posts one more under the publisher's name; returns what `tidings_post` returned.
int board_send(tidings_publisher *publisher, const char *name, uint32_t size, const tidings_post_options *options);
int board_send_many(tidings_publisher *publisher, const char *name, uint32_t count,
                    const tidings_post_options *options);  // up to 4, of 24 bytes
int board_send_reserved(tidings_publisher *publisher, const char *name, uint32_t size,
                        tidings_reservation *reservation);
watcher *board_watcher(const char *name, uint32_t flags);

// Notes what a watcher was told, and looks at what can be seen at once: nothing torn, in order, its own, and not twice.
bool board_matches(const watcher *w, const board_post *post);
void board_note(watcher *w, const tidings_delivery *d);
// The last look, after the interrupt: a notification found here is a lost wake-up. `late` is the watcher that may hear
// now of a loss that a reader couldn't know of before.
void board_rest(watcher *w, watcher *late);
// Waits and notes until interrupted, then looks for the rest.
void board_watch(watcher *w);
void board_leave(watcher *w);
// A payload in place is whole, at many moments.
void board_still_whole(tidings_center *center, const void *payload, uint32_t post);

// After everything: one order for all, and each loss counted exactly.
void board_verify(void);
void board_print(void);

#endif
