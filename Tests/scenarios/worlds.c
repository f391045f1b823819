// Centers for fault injection: one that was never used, and one that has been in use for years. Each is a copy of one
// made once, so that every moment finds the same.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "by_hand.h"
#include "faults.h"

#define SCENARIO_NAME "scenario"
#define ABROAD 77u  // a participant that there is not
// Where the 48 bits of a position begin anew, which chunks and retained values store, and the 31 bits of a lap.
#define WRAP (UINT64_C(1) << 48)

typedef struct template {
    uint8_t *bytes;
    size_t size;
    struct {
        off_t from, to;
    } extents[256];
    uint32_t count;
}
template;

static template templates[2];
static char scenario_path[512];
struct world world;

static tidings_center *open_named(const char *name, uint32_t flags) {
    const tidings_configuration configuration = {.slots = SLOTS,
                                                 .participants = PLACES,
                                                 .observers = PLACES,
                                                 .names = 64,
                                                 .maximum_payload = 1000,
                                                 .mode = operation->readable ? 0644 : 0,
                                                 .flags = flags};
    tidings_center *center;
    OK(tidings_open(name, &configuration, &center));
    return center;
}

static void take_copy(template *t, const char *path) {
    struct stat status;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(file >= 0 && fstat(file, &status) == 0, "%s: %s", path, strerror(errno));
    t->size = (size_t)status.st_size;
    t->bytes = mmap(NULL, t->size, PROT_READ, MAP_SHARED, file, 0);
    CHECK(t->bytes != MAP_FAILED, "%s", strerror(errno));
    for (off_t from = 0; (from = lseek(file, from, SEEK_DATA)) >= 0; t->count++) {
        CHECK(t->count < 256, "too many extents");
        t->extents[t->count].from = from;
        from = t->extents[t->count].to = lseek(file, from, SEEK_HOLE);
    }
    close(file);
    OK(unlink(path));
}

static void install(const template *t) {
    (void)unlink(scenario_path);
    const int file = open(scenario_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK(file >= 0 && ftruncate(file, (off_t)t->size) == 0, "%s: %s", scenario_path, strerror(errno));
    for (uint32_t i = 0; i < t->count; i++) {
        const size_t length = (size_t)(t->extents[i].to - t->extents[i].from);
        CHECK(pwrite(file, t->bytes + t->extents[i].from, length, t->extents[i].from) == (ssize_t)length, "%s",
              strerror(errno));
    }
    close(file);
}

// MARK: Years of use

static tidings_center *long_used;

static void dies_in_use(void) {
    tidings_center *center = open_named("used", TIDINGS_OPEN_EXISTING);
    observer_of(center, NAME);
    observer_with(center, "died", TIDINGS_OBSERVE_LOSSLESS, 0);
    tidings_reservation reservation;
    OK(tidings_reserve(center, 500, &reservation));
    post_number(publisher_of(center, "died"), 1);
    kill(getpid(), SIGKILL);
}

static void use(tidings_center *center) {
    tidings_publisher *publisher = publisher_of(center, NAME);
    uint8_t payload[1000] = {0};
    for (uint32_t turn = 0; turn < 4; turn++) {
        // Every name entry serves several names, and every place several of the dead.
        for (uint32_t i = 0; i < 200; i++) {
            char name[32];
            snprintf(name, sizeof name, "once.%u.%u", turn, i);
            tidings_observer *observer = observer_of(center, name);
            tidings_publisher *once;
            OK(tidings_publisher_open(center, name, strlen(name), NULL, 0, &once));
            const tidings_post_options retained = {.flags = TIDINGS_POST_RETAIN};
            for (int post = 0; post < 4; post++)
                OK(tidings_post(once, payload, i * 5, i % 8 == 0 ? &retained : NULL, NULL));
            if (i % 8 == 0) OK(tidings_state_set(once, NULL, 0, NULL, NULL));
            tidings_publisher_close(once);
            tidings_observer_close(observer);
        }
        pid_t dying[3];
        for (uint32_t i = 0; i < 3; i++) dying[i] = start(dies_in_use);
        for (uint32_t i = 0; i < 3; i++) {
            int status;
            CHECK(waitpid(dying[i], &status, 0) == dying[i] && WIFSIGNALED(status), "status %x", (unsigned)status);
        }
        // Some slots are passed over for a while.
        for (uint32_t i = 0; i < 3; i++) {
            (void)claim_by(center, TIDINGS__W_FOREIGN | ABROAD);
            post_number(publisher, i);
        }
        for (uint32_t i = 0; i < 2 * SLOTS; i++) post_number(publisher, i);
        const tidings__participant_set abroad = tidings__participant_only(ABROAD);
        tidings__claims_reclaim(&center->segment, &abroad);
        CHECK(tidings_reclaim(center) >= 0 && statistics_of(center).participants == 1, "%u participants",
              statistics_of(center).participants);
    }
}

// What it would look like if so much more had been posted: every position there is, moved on.
static void age(tidings_center *center, uint64_t by) {
    tidings__segment *s = &center->segment;
    for (uint32_t i = 0; i < s->shape.slots; i++) {
        tidings__cell *cell = &s->cells[i];
        cell->claim += by / s->shape.slots << TIDINGS__W_LAP_SHIFT;
        if (cell->commit >> 1 != TIDINGS__C_NEVER >> 1) cell->commit += by << 1;
        if (cell->verdict != TIDINGS__V_NEVER) cell->verdict += by << 2;
    }
    s->header->eviction.word += by << TIDINGS__EV_START_SHIFT;
    s->header->frontier_hint.word += by;
    for (uint32_t i = 0; i < s->geometry.chunk_count; i++) {
        const uint64_t word = s->chunk_words[i];
        if ((word & 0xf) == TIDINGS__CHUNK_IN_RING || (word & 0xf) == TIDINGS__CHUNK_RETAINED)
            s->chunk_words[i] += by << 16;
    }
    for (uint32_t i = TIDINGS__NAME_ALL; i < s->shape.names; i++) {
        tidings__name *name = tidings__name_at(s, i);
        if (!name) break;
        name->tally.end += by;
        name->birth += by;
        if (name->retained != 0) name->retained += by << 16;
    }
    center->hint += by;
}

void worlds_make(void) {
    tidings_center *center = open_named("fresh", TIDINGS_OPEN_EXCLUSIVE);
    const char *path = tidings_path(center);
    snprintf(scenario_path, sizeof scenario_path, "%.*s" SCENARIO_NAME, (int)(strlen(path) - strlen("fresh")), path);
    tidings_close(center);
    char made[512];
    snprintf(made, sizeof made, "%.*sfresh", (int)(strlen(scenario_path) - strlen(SCENARIO_NAME)), scenario_path);
    take_copy(&templates[0], made);
    long_used = open_named("used", TIDINGS_OPEN_EXCLUSIVE);
    use(long_used);
    // The handles of `use` stay open for the leak sanitizer's sake: its center's end is that of a process that forgot
    // them.
    tidings_close(long_used);
    snprintf(made, sizeof made, "%.*sused", (int)(strlen(scenario_path) - strlen(SCENARIO_NAME)), scenario_path);
    take_copy(&templates[1], made);
}

// MARK: One moment's world

static tidings_publisher *open_publisher(const char *name) {
    tidings_publisher *publisher;
    OK(tidings_publisher_open(world.center, name, strlen(name), NULL, 0, &publisher));
    return publisher;
}

static tidings_observer *open_observer(const char *name, uint32_t flags) {
    tidings_observer *observer;
    uint32_t subscription;
    OK(tidings_observer_open(world.center, 0, &observer));
    OK(tidings_observer_add(observer, name, name ? strlen(name) : 0, NULL, 0, flags, &subscription));
    return observer;
}

void world_begin(bool used) {
    // A center that readers may open has a writers file: the center is made anew each time, and not copied.
    if (!operation->readable) install(&templates[used]);
    world = (struct world){
        .center = open_named(SCENARIO_NAME, operation->readable ? TIDINGS_OPEN_EXCLUSIVE : TIDINGS_OPEN_EXISTING)};
    if (used) {
        // Soon, or now, or just now.
        const uint64_t posted = statistics_of(world.center).posted;
        age(world.center, WRAP - random_below(6) * SLOTS - posted / SLOTS * SLOTS);
    }
    world.publisher = open_publisher(NAME);
    world.filler = open_publisher("filler");
    world.rare = open_publisher("rare");
    world.prompt = open_observer(NULL, 0);
    world.sluggish = operation->prefixes ? open_observer("com.example.", TIDINGS_ADD_PREFIX) : open_observer(NAME, 0);
    world.seldom = open_observer("rare", 0);
    world.listener = start(listen);
    while (!atomic_load(&board->listener)) usleep(50);
    checker_posts_rare();
    listener_rests();
}

void world_end(void) {
    atomic_store(&board->listens, 0);
    checker_posts(true, sizeof(stamp), 0);
    ends_well(world.listener);
    tidings_observer_close(world.prompt);
    tidings_observer_close(world.sluggish);
    tidings_observer_close(world.seldom);
    tidings_publisher_close(world.publisher);
    tidings_publisher_close(world.filler);
    tidings_publisher_close(world.rare);
    const tidings_statistics statistics = statistics_of(world.center);
    const bool alone = statistics.participants == 1 && statistics.observers == 0 && statistics.names == 0;
    SO(alone, "%u participants, %u observers, %u names when all have left", statistics.participants,
       statistics.observers, statistics.names);
    tidings_close(world.center);
    OK(tidings_remove(SCENARIO_NAME, NULL));
}
