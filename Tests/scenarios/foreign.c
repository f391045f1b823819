#include "foreign.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/statvfs.h>

const char *path_of(const char *file) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", getenv("TIDINGS_DIRECTORY"), file);
    return path;
}

const char *center_path(void) {
    static char path[512];
    snprintf(path, sizeof path, "%s/tidings.%u.scenario", getenv("TIDINGS_DIRECTORY"), (unsigned)geteuid());
    return path;
}

uint32_t files_there(void) {
    DIR *directory = opendir(getenv("TIDINGS_DIRECTORY"));
    CHECK(directory, "%s", strerror(errno));
    uint32_t count = 0;
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(directory);
    return count;
}

void files_end(void) {
    DIR *directory = opendir(getenv("TIDINGS_DIRECTORY"));
    CHECK(directory, "%s", strerror(errno));
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
        (void)unlinkat(dirfd(directory), entry->d_name, 0);
    closedir(directory);
}

uint64_t room(void) {
    struct statvfs status;
    CHECK(statvfs(getenv("TIDINGS_DIRECTORY"), &status) == 0, "%s", strerror(errno));
    return status.f_bavail * status.f_frsize;
}

int try_open(uint32_t flags) {
    tidings_center *center = (void *)1;
    const int result = tidings_open("scenario", &(tidings_configuration){.flags = flags}, &center);
    CHECK((result == 0) == (center != NULL), "result %d, and a handle all the same", result);
    tidings_close(center);
    return result;
}

void works(tidings_center *center) {
    tidings_observer *observer = observer_of(center, NAME);
    tidings_publisher *publisher = publisher_of(center, NAME);
    static uint8_t bytes[50000];
    random_bytes(bytes, sizeof bytes);
    const size_t sizes[] = {8, sizeof bytes};
    for (int i = 0; i < 2; i++) {
        OK(tidings_post(publisher, bytes, sizes[i], NULL, NULL));
        const tidings_delivery delivery = receive(observer);
        CHECK(delivery.size == sizes[i] && memcmp(delivery.payload, bytes, sizes[i]) == 0,
              "%zu bytes came as %zu, or damaged", sizes[i], delivery.size);
    }
    tidings_observer_close(observer);
    tidings_publisher_close(publisher);
}

void make_file(const char *path, const void *bytes, size_t length) {
    const int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(fd >= 0, "%s: %s", path, strerror(errno));
    CHECK(write(fd, bytes, length) == (ssize_t)length, "%s: %s", path, strerror(errno));
    close(fd);
}

void overwrite(const char *path, uint64_t offset, const void *bytes, size_t length) {
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    CHECK(fd >= 0 && pwrite(fd, bytes, length, (off_t)offset) == (ssize_t)length, "%s: %s", path, strerror(errno));
    close(fd);
}

void read_file(const char *path, uint64_t offset, void *bytes, size_t length) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && pread(fd, bytes, length, (off_t)offset) == (ssize_t)length, "%s: %s", path, strerror(errno));
    close(fd);
}

void random_bytes(void *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) ((uint8_t *)bytes)[i] = (uint8_t)(random_next() >> 24);
}

print print_of(const char *path) {
    print print = {.sum = 1};
    CHECK(lstat(path, &print.status) == 0, "%s: %s", path, strerror(errno));
    if (!S_ISREG(print.status.st_mode)) return print;
    static uint8_t bytes[1 << 16];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0, "%s: %s", path, strerror(errno));
    // The first few MiB: a center is sparse, and long.
    for (int i = 0; i < 64; i++) {
        const ssize_t got = read(fd, bytes, sizeof bytes);
        CHECK(got >= 0, "%s: %s", path, strerror(errno));
        if (got == 0) break;
        for (ssize_t j = 0; j < got; j++) print.sum = (print.sum ^ bytes[j]) * UINT64_C(0x100000001b3);
    }
    close(fd);
    return print;
}

static bool same_time(struct timespec a, struct timespec b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

void same_print(const print *before, const char *path) {
    const print now = print_of(path);
    CHECK(now.status.st_ino == before->status.st_ino && now.status.st_mode == before->status.st_mode &&
              now.status.st_uid == before->status.st_uid,
          "%s is another", path);
    CHECK(now.status.st_size == before->status.st_size && now.sum == before->sum, "%s has other contents", path);
    CHECK(now.status.st_blocks == before->status.st_blocks, "%s takes other memory", path);
    CHECK(now.status.st_nlink == before->status.st_nlink, "%s has %lu names", path, (unsigned long)now.status.st_nlink);
    CHECK(same_time(now.status.st_mtim, before->status.st_mtim) &&
              same_time(now.status.st_ctim, before->status.st_ctim),
          "%s was touched", path);
}
