// The directory of the centers. Declared and described in directory.h.
#include "platform/directory.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

int tidings__directory_absolute(const char *directory, char *path, size_t size) {
    size_t length = 0;
    if (directory[0] != '/') {
        if (!getcwd(path, size)) return errno == ERANGE ? -ENAMETOOLONG : -errno;
        length = strlen(path);
        if (length > 0 && path[length - 1] == '/') length--;
        if (length + 1 >= size) return -ENAMETOOLONG;
        path[length++] = '/';
    }
    const size_t more = strlen(directory);
    if (length + more >= size) return -ENAMETOOLONG;
    memcpy(path + length, directory, more + 1);
    length += more;
    while (length > 1 && path[length - 1] == '/') path[--length] = 0;
    return 0;
}

int tidings__directory_status(const char *directory, struct stat *status) {
    if (stat(directory, status) != 0) return -errno;
    return S_ISDIR(status->st_mode) ? 0 : -ENOTDIR;
}

int tidings__list(const char *directory, bool (*each)(void *context, const char *file), void *context) {
    DIR *stream = opendir(directory);
    if (!stream) return -errno;
    int result = 0;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(stream);
        if (!entry) {
            result = -errno;
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (!each(context, entry->d_name)) break;
    }
    (void)closedir(stream);
    return result;
}
