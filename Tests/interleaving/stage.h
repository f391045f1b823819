// The parts of scenes: handles of a very small center, posters, observers.
#ifndef STAGE_H
#define STAGE_H

#include "board.h"

#define SLOTS 4u
#define CHUNKS 3u
#define NAMES 6u
#define CALLS 2u

extern uint32_t mode;             // of the center to be opened; 0: there are no readers
extern tidings_center *director;  // takes part in nothing; reclaims in the end

void open_center(void);
tidings_center *handle(void);
tidings_publisher *publisher(tidings_center *center, const char *name);
// Some of the ring is used already, so that its end is near.
void prefill(const char *name, uint32_t count);

typedef struct poster {
    tidings_publisher *publisher, *rare;
    const char *name;
    uint32_t rarely;  // this one of its posts is under the rare name
    bool may_be_refused;
    uint32_t posts, size;
    tidings_post_options options;
    fiber *fiber;
} poster;

extern poster posters[3];
extern uint32_t poster_count;
poster *add_poster(const char *who, const char *name, uint32_t posts);
poster *add_poster_of(const char *who, tidings_center *center, const char *name, uint32_t posts);

watcher *add_watcher(const char *who, const char *name);
watcher *add_watcher_of(const char *who, tidings_center *center, const char *name, bool lossless);
// In place: it reads each payload where it lies. `holds`: until it has received the next one.
watcher *add_watcher_in_place(const char *who, const char *name, bool lossless, bool holds);
watcher *add_newcomer(const char *who, const char *name, uint32_t flags);  // registers while the posters post
watcher *add_reader(const char *who, const char *name,
                    bool later);  // has no write access, and no participant knows of it
void begin_watching(watcher *w);
void register_and_watch(void *w);

// What is left in the center when all have gone, or died and were reclaimed: nothing but values.
void stage_orphans(void);

#endif
