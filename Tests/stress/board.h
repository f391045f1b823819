// What the processes of the stress test share beside the center under test: what was posted, and what each observer
// got. It is separate memory (a memfd, inherited through fork and exec), so a fault of the center can't change this
// account.
#ifndef BOARD_H
#define BOARD_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../scenarios/check.h"
#include "tidings.h"

#define POSTERS 16    // processes; each fourth has two threads
#define OBSERVERS 16  // processes; each fourth has two threads, with a seat each
#define WITNESS                                                                                                        \
    20u  // the seat of a lossless observer of everything that gets no fault: in rounds with it the account is
         // exact
#define SEATS 21u
#define GUSTS 4u  // a round is so many gusts; between them it is calm, and every observer must have everything
#define GUST_POSTS 6000u
#define ENTRIES 34000u     // the posts of a round: its gusts, its end, and a turn of the largest ring
#define EVENTS (1u << 16)  // a seat's log in a round
#define ORPHANS 4096u
#define ROWS 8192u  // posting threads in a round
#define LARGEST (1u << 20)
#define POOL (LARGEST + (1u << 16))
#define ABSENT UINT32_MAX
#define PROGRAMS 4u

enum { CHATTY, SHARED_A, SHARED_B, RARE, STATE_A, STATE_B, END, TURN, NAMES };
#define SUBJECTS 3  // none, and two
#define PUBLISHERS (NAMES * SUBJECTS)
// A name and subject, where no subject means any; and two more:
#define NOTICES PUBLISHERS  // also the publisher of a notice of presence
#define EVERYTHING (PUBLISHERS + 1)
#define FILTERS (PUBLISHERS + 2)
#define NO_PUBLISHER 0xff

extern const char *const names[NAMES + 1];  // the last one: of the notices
extern const char *const subjects[SUBJECTS];

static inline bool matches(uint8_t filter, uint8_t publisher) {
    if (filter == EVERYTHING) return true;
    return filter % SUBJECTS ? filter == publisher : filter / SUBJECTS == publisher / SUBJECTS;
}

// A post, from before it is tried. Its number in the table is in its payload.
// UNPLACED: returned, but its position is unknown. LEFT_AS_WILL: the library posts it if its process dies.
enum { NOT_YET, INTENDED, RETURNED, REFUSED, UNPLACED, LEFT_AS_WILL, SEEN };
typedef struct entry {
    _Atomic uint32_t state;
    uint32_t row, number, size;
    int32_t pid;
    uint8_t publisher, retained;  // retained and empty: the value is cleared
    bool will;                    // a last will: `number` is one more than that of its announcement
    uint64_t after;               // some post had returned with the sequence before this one when this began
    uint64_t sequence;
} entry;

typedef struct stamp {
    uint32_t round, id, row, number, size;
    uint32_t section;  // bytes of its section, or 0
} stamp;
#define SECTION_MOST 300u

// An announcement, from before it is tried. Its role is the round and its number.
enum { ANNOUNCING = 1, NOT_ANNOUNCED, PRESENT, LEAVING, GONE };
#define ANNOUNCEMENTS 16384u
typedef struct announcement {
    _Atomic uint32_t state;  // what its process has done
    uint32_t actor;          // of the director; FORKED: a child of a poster
    int32_t pid;
    uint32_t will;          // its number among the posts, or ABSENT
    bool watches;           // it only watches: no notice is about it
    _Atomic uint64_t id;    // of the library; 0: no notice was received
    _Atomic uint32_t told;  // a bit for each event that the witness was told, and for the will
} announcement;
#define FORKED ABSENT
#define WILL_TOLD 4u  // beside TIDINGS_PRESENCE_JOINED, …_CLOSED, …_DIED

enum {
    OPENED,
    ADDED,
    REMOVED,
    MESSAGE,
    KEPT,
    MISSED,
    LOOKED,
    CLOSED
};  // LOOKED: what is kept has been asked for, at the latest when `sequence` was the end of the order
enum { OF_OLD = 1, EMPTY = 2 };
typedef struct event {
    uint8_t kind;
    uint8_t mask;       // the subscriptions it is about, a bit each
    uint8_t publisher;  // what came, or the filter that was added
    uint8_t flags;      // OF_OLD: of an earlier round; EMPTY: no stamp, `id` is the poster's pid. OPENED:
                        // TIDINGS_OBSERVE_…; ADDED: TIDINGS_ADD_…
    uint32_t id;        // MISSED: how many; ADDED: the width of the span in which it begins; NOTICES: 4 times the
                        // number of the announcement, and the event
    uint64_t sequence;  // ADDED: where that span begins
} event;

enum { VACANT, STARTING, RUNNING, ENDED };
typedef struct seat {
    _Atomic uint32_t count, mode;
    _Atomic int32_t thread;
    _Atomic bool receives;    // it is in tidings_next, or in poll on its behalf
    uint32_t calm_at[GUSTS];  // how long its log was when it was calm, or ABSENT
    event events[EVENTS];
} seat;

typedef struct board {
    uint64_t seed;
    uint32_t round, slots;
    bool witnessed;
    char directory[256], plant[16];
    uint32_t program_count;  // 0: all processes execute the director's own program
    char programs[PROGRAMS][256];
    _Atomic uint32_t planted;
    _Atomic uint32_t limit, next, rows, orphans;
    _Atomic bool calm;
    _Atomic uint32_t forks, execs, reopened, cancelled, sections;
    _Atomic uint64_t latest[POSTERS];  // one more than the last sequence
    _Atomic bool row_ended[ROWS];
    int32_t orphan[ORPHANS];
    _Atomic uint32_t announced;
    _Atomic uint32_t announcement_of[POSTERS + OBSERVERS];  // the announcement of each actor now, or ABSENT
    announcement announcements[ANNOUNCEMENTS];
    entry entries[ENTRIES];
    seat seats[SEATS];
    uint8_t pool[POOL];
} board;

extern board *all;
extern int board_file;
void board_create(uint64_t seed);
void board_map(int file);

// MARK: Chance, settled by the seed

typedef struct chance {
    uint64_t state;
} chance;
chance chance_of(uint64_t a, uint64_t b, uint64_t c);
uint64_t chance_below(chance *c, uint64_t limit);

// MARK: Posting

#define OBSERVABLE_SLOTS 1024u  // the center of that size is one that readers observe, too
tidings_center *center_join(bool as_reader);
// True if the process of that seat never writes to the center of this round.
bool seat_reads_only(uint32_t seat);
typedef struct hand {  // of a posting thread
    tidings_center *center;
    tidings_publisher *publishers[PUBLISHERS];
    uint8_t *buffer;
    uint32_t row, number, seat;
    bool alone;  // in its process
    chance chance;
} hand;
void hand_open(hand *h, tidings_center *center, uint32_t seat, chance chance);
void hand_close(hand *h);
void hand_renew(hand *h);  // another posting thread from here on
enum { POSTED, HELD_BACK, NO_MORE };
int hand_post(hand *h, uint8_t publisher, uint32_t size, bool retained, int64_t deadline, bool reserve);
// Begins a payload with its stamp, and fills it.
void stamp_write(uint8_t *bytes, const stamp *stamp);
// The stamp of what came, whole or the process ends; false if it is empty.
bool stamp_read(const void *payload, size_t size, stamp *stamp);
// The delivery has the section that its stamp says, or the process ends.
void section_read(const tidings_delivery *d, const stamp *stamp);

// MARK: Presence (presence.c)

// Announces this process by chance, with a last will or without one, or lets it watch. In rounds with a witness only.
void presence_begin(uint32_t actor, tidings_center *center, chance *c);
// The announcement of this process ends. A process that closes its center calls this instead of `tidings_close`.
void presence_close(tidings_center *center);
// Withdraws; or announces itself, if it is not announced.
void presence_change(uint32_t actor, tidings_center *center, chance *c);
// A forked child is not announced.
void presence_forked(void);
// Reads a notice into an event. `witness`: the calm waits for what it is told.
void presence_note(const tidings_delivery *d, bool witness, event *e);
void presence_note_will(const tidings_delivery *d, bool witness, const stamp *stamp);

// MARK: Actors

void poster_main(uint32_t number, uint32_t incarnation);
void observer_main(uint32_t number, uint32_t incarnation);
// Of the director, which has ended all others: the witness is told the rest, from a sequence on.
void witness_rest(tidings_center *center, uint64_t from);

typedef struct logger {
    seat *seat;
    uint32_t since_opened;
    event held;
    bool holds, deaf;
} logger;
bool plant_is(const char *name);  // is this fault to be planted here, now? Says so a few times in a round
void log_event(logger *l, event e);
bool log_full(const logger *l);

// Executes one of the programs anew, by the incarnation.
void self_exec(const char *role, uint32_t number, uint32_t incarnation);

#endif
