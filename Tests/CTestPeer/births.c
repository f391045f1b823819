// Many who create one center at once: one center; never half of one. (Who dies of it: harmed_centers.c.)
#include "center/center.h"
#include "foreign.h"

#define CREATORS 100

typedef struct born {
    _Atomic uint64_t instance[CREATORS], inode[CREATORS], exclusive;
} born;
static born *borns;
static pipe_pair ready, go, opened, leave;
static uint32_t number;

static void opens_with_the_others(void) {
    tell(&ready);
    told(&go);
    tidings_center *center;
    OK(tidings_open("story", &(tidings_configuration){.slots = 256}, &center));
    atomic_store(&borns->instance[number], center->segment.instance);
    struct stat status;
    CHECK(stat(tidings_path(center), &status) == 0, "%s", strerror(errno));
    atomic_store(&borns->inode[number], status.st_ino);
    post_number(topic_of(center, NAME), number);
    tell(&opened);
    told(&leave);
    tidings_close(center);
}

void a_hundred_creators_of_one_name_end_on_one_center(void) {
    borns = shared_memory(sizeof *borns);
    ready = pipe_open();
    go = pipe_open();
    opened = pipe_open();
    leave = pipe_open();
    for (uint32_t round = 0; round < ROUNDS(6); round++) {
        pid_t pids[CREATORS];
        for (number = 0; number < CREATORS; number++) pids[number] = start(opens_with_the_others);
        for (uint32_t i = 0; i < CREATORS; i++) told(&ready);
        for (uint32_t i = 0; i < CREATORS; i++) tell(&go);
        for (uint32_t i = 0; i < CREATORS; i++) told(&opened);
        tidings_center *center = join_center_with((tidings_configuration){.flags = TIDINGS_OPEN_EXISTING});
        CHECK(statistics_of(center).participants == CREATORS + 1 && statistics_of(center).posted == CREATORS, "%u are here, %lu posts", statistics_of(center).participants,
              (unsigned long)statistics_of(center).posted);
        for (uint32_t i = 0; i < CREATORS; i++) {
            CHECK(borns->instance[i] == center->segment.instance && borns->inode[i] == center->segment.inode, "number %u opened another", i);
            tell(&leave);
        }
        for (uint32_t i = 0; i < CREATORS; i++) ends_well(pids[i]);
        CHECK(files_there() == 1, "%u files", files_there());
        tidings_close(center);
        OK(tidings_remove("story", NULL));
        CHECK(files_there() == 0, "%u files", files_there());
    }
}

static void creates_alone(void) {
    tell(&ready);
    told(&go);
    tidings_center *center;
    const int result = tidings_open("story", &(tidings_configuration){.slots = 256, .flags = TIDINGS_OPEN_EXCLUSIVE}, &center);
    CHECK(result == 0 || (result == -EEXIST && !center), "%d", result);
    if (result == 0) atomic_fetch_add(&borns->exclusive, 1);
    tidings_close(center);
}

void one_of_many_exclusive_creators_succeeds(void) {
    borns = shared_memory(sizeof *borns);
    ready = pipe_open();
    go = pipe_open();
    REFUSED(try_open(TIDINGS_OPEN_EXISTING), ENOENT, "story");
    CHECK(files_there() == 0, "%u files", files_there());
    for (uint32_t round = 0; round < ROUNDS(20); round++) {
        pid_t pids[10];
        atomic_store(&borns->exclusive, 0);
        for (int i = 0; i < 10; i++) pids[i] = start(creates_alone);
        for (int i = 0; i < 10; i++) told(&ready);
        for (int i = 0; i < 10; i++) tell(&go);
        for (int i = 0; i < 10; i++) ends_well(pids[i]);
        CHECK(atomic_load(&borns->exclusive) == 1, "%lu succeeded", (unsigned long)atomic_load(&borns->exclusive));
        OK(tidings_remove("story", NULL));
    }
}
