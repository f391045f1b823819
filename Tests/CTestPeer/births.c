// Many who create one center at once, or die of it: one center, or none; never half of one.
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

static void creates_and_stays(void) {
    section_begin();
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .participants = 2, .observers = 2, .names = 64, .maximum_payload = 1000});
    section_end();
    CHECK(center, "made");
    for (;;) pause();
}

// Its creator killed anywhere: there is no file, or one that serves the next.
void a_creator_killed_anywhere_leaves_a_center_or_nothing(void) {
    pid_t pid = start_traced(creates_and_stays);
    const uint64_t length = step(pid, UINT64_MAX, false);
    kill_and_reap(pid);
    OK(tidings_remove("story", NULL));
uint32_t made = 0;
    const uint32_t kills = moments(8, length);
    for (uint32_t kill = 0; kill <= kills; kill++) {
        pid = start_traced(creates_and_stays);
        step(pid, kill < kills ? moment(kill, kills, length) : UINT64_MAX, false);
        kill_and_reap(pid);
        const uint32_t files = files_there();
        CHECK(files <= 1, "%u files", files);
        made += files;
        tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .flags = files ? TIDINGS_OPEN_EXISTING : TIDINGS_OPEN_EXCLUSIVE});
        tidings_observer *observer = observer_of(center, NAME);
        post_number(topic_of(center, NAME), kill);
        const tidings_delivery delivery = receive(observer);
        CHECK(stamp_of(&delivery).number == kill, "%u", stamp_of(&delivery).number);
        tidings_observer_close(observer);
        tidings_tidy(center);
        CHECK(statistics_of(center).participants == 1, "%u participants", statistics_of(center).participants);
        tidings_close(center);
        OK(tidings_remove("story", NULL));
        CHECK(files_there() == 0, "%u files", files_there());
    }
    CHECK(made > 0, "none left a center, though the last was killed after it had made one");
}
