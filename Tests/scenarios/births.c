// Many processes create one center at once: the result is one center, and never half a center. (Creators that die:
// faulted_centers.c.)
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

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
    OK(tidings_open("scenario", &(tidings_configuration){.slots = 256}, &center));
    atomic_store(&borns->instance[number], center->segment.instance);
    struct stat status;
    CHECK(stat(tidings_path(center), &status) == 0, "%s", strerror(errno));
    atomic_store(&borns->inode[number], status.st_ino);
    post_number(publisher_of(center, NAME), number);
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
        CHECK(statistics_of(center).participants == CREATORS + 1 && statistics_of(center).posted == CREATORS,
              "%u are here, %lu posts", statistics_of(center).participants,
              (unsigned long)statistics_of(center).posted);
        for (uint32_t i = 0; i < CREATORS; i++) {
            CHECK(borns->instance[i] == center->segment.instance && borns->inode[i] == center->segment.inode,
                  "number %u opened another", i);
            tell(&leave);
        }
        for (uint32_t i = 0; i < CREATORS; i++) ends_well(pids[i]);
        CHECK(files_there() == 1, "%u files", files_there());
        tidings_close(center);
        OK(tidings_remove("scenario", NULL));
        CHECK(files_there() == 0, "%u files", files_there());
    }
}

static void creates_alone(void) {
    tell(&ready);
    told(&go);
    tidings_center *center;
    const int result = tidings_open("scenario", &(tidings_configuration){.slots = 256, .flags = TIDINGS_OPEN_EXCLUSIVE},
                                    &center);
    CHECK(result == 0 || (result == -EEXIST && !center), "%d", result);
    if (result == 0) atomic_fetch_add(&borns->exclusive, 1);
    tidings_close(center);
}

void one_of_many_exclusive_creators_succeeds(void) {
    borns = shared_memory(sizeof *borns);
    ready = pipe_open();
    go = pipe_open();
    REFUSED(try_open(TIDINGS_OPEN_EXISTING), ENOENT, "scenario");
    CHECK(files_there() == 0, "%u files", files_there());
    for (uint32_t round = 0; round < ROUNDS(20); round++) {
        pid_t pids[10];
        atomic_store(&borns->exclusive, 0);
        for (int i = 0; i < 10; i++) pids[i] = start(creates_alone);
        for (int i = 0; i < 10; i++) told(&ready);
        for (int i = 0; i < 10; i++) tell(&go);
        for (int i = 0; i < 10; i++) ends_well(pids[i]);
        CHECK(atomic_load(&borns->exclusive) == 1, "%lu succeeded", (unsigned long)atomic_load(&borns->exclusive));
        OK(tidings_remove("scenario", NULL));
    }
}

static uint64_t page_faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_minflt;
}

// All memory that it is sure to need is there, and next to none of it was touched: that costs as much again.
void a_center_is_born_with_its_memory_and_touches_little(void) {
    for (uint32_t round = 0; round < 2; round++) {
        const uint64_t before = page_faults();
        tidings_center *center = join_center_with((tidings_configuration){.flags = TIDINGS_OPEN_EXCLUSIVE});
        const uint64_t faults = page_faults() - before;
        const uint64_t base = center->segment.geometry.base_size, pages = base / 4096;
        struct stat status;
        CHECK(stat(tidings_path(center), &status) == 0, "%s", strerror(errno));
        CHECK((uint64_t)status.st_blocks * 512 >= base, "%lu bytes, needs %lu", (unsigned long)status.st_blocks * 512,
              (unsigned long)base);
        // The first one also has the program's own pages.
        CHECK(round == 0 || faults < pages / 4, "%lu faults, %lu pages", (unsigned long)faults, (unsigned long)pages);
        tidings_observer *observer = observer_of(center, NAME);
        tidings_publisher *publisher = publisher_of(center, NAME);
        for (uint32_t i = 0; i < 2 * center->segment.shape.slots; i++) post_number(publisher, i);
        const account account = drain(observer);
        CHECK(account.received + account.missed == 2 * center->segment.shape.slots, "%lu + %lu",
              (unsigned long)account.received, (unsigned long)account.missed);
        struct stat used;
        CHECK(stat(tidings_path(center), &used) == 0 && used.st_blocks == status.st_blocks, "%lu blocks, then %lu",
              (unsigned long)status.st_blocks, (unsigned long)used.st_blocks);
        tidings_close(center);
        OK(tidings_remove("scenario", NULL));
    }
}

// MARK: While the kernel gives the memory

static bool sealed_is_created, first_is_another;
static pipe_pair listening;
static int notices;  // of the creating thread's calls of fallocate, each of which waits for an answer

static void *creates_slowly(void *argument) {
    tidings_center **center = argument;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "%s", strerror(errno));
    const int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    CHECK(fd >= 0, "%s", strerror(errno));
    notices = fd;
    tell(&listening);
    if (sealed_is_created)
        OK(tidings_create_sealed("slow", &tidings_small_configuration, center));
    else
        OK(tidings_open("slow", &tidings_small_configuration, center));
    return NULL;
}

static int open_files(void) {
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    CHECK(directory, "%s", strerror(errno));
    while (readdir(directory)) count++;
    closedir(directory);
    return count;
}

static _Atomic int *files_of_child;
static void counts_files(void) { atomic_store(files_of_child, open_files()); }

// How many open files fewer a forked child has: those of the thread that watches files, and those that it closes.
static int files_less_in_a_child(void) {
    const int files = open_files();
    ends_well(start(counts_files));
    return files - atomic_load(files_of_child);
}

// A thread that creates a center stands in the call by which the kernel gives the memory. Other threads open, create
// and close centers and fork meanwhile; a child keeps no descriptor of the unfinished file.
static void create_slowly(void) {
    struct seccomp_notif notice = {0};
    struct seccomp_notif_resp answer = {0};
    tidings_center *slow = NULL, *other;
    pthread_t thread;
    files_of_child = shared_memory(sizeof *files_of_child);
    listening = pipe_open();
    tidings_center *open_already = join_center(256);
    OK(tidings_open("another", &tidings_small_configuration, &other));
    const int less = files_less_in_a_child();
    tidings_close(other);
    CHECK(pthread_create(&thread, NULL, creates_slowly, &slow) == 0, "no thread");
    told(&listening);
    CHECK(ioctl(notices, SECCOMP_IOCTL_NOTIF_RECV, &notice) == 0, "%s", strerror(errno));
    OK(tidings_open("another", &tidings_small_configuration, &other));
    CHECK(files_less_in_a_child() == less + 1, "a child keeps the unfinished file");
    tidings_close(other);
    // Another one may get the name first: then the thread opens that one.
    if (!sealed_is_created && first_is_another) OK(tidings_open("slow", &tidings_small_configuration, &other));
    answer = (struct seccomp_notif_resp){.id = notice.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    CHECK(ioctl(notices, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0, "%s", strerror(errno));
    pthread_join(thread, NULL);
    close(notices);
    if (!sealed_is_created && first_is_another) {
        CHECK(tidings_incarnation(slow) == tidings_incarnation(other), "two centers of one name");
        tidings_close(other);
    }
    CHECK(files_less_in_a_child() == less, "a child closes what is finished");
    works(slow);
    tidings_close(slow);
    tidings_close(open_already);
}

void a_wait_for_memory_holds_up_no_other_center(void) {
    create_slowly();
    OK(tidings_remove("slow", NULL));
    first_is_another = true;
    create_slowly();
    sealed_is_created = true;
    create_slowly();
}
