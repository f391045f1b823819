// What some scenarios need and not every process may do.
#ifndef PRIVILEGES_H
#define PRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

// Mounts that only this process and its children see. `false`, and errno, if that isn't permitted.
bool try_own_mounts(void);
void own_mounts(void);
// One on the scenario's directory, gone with this process and its children. Options as of tmpfs.
void small_file_system(const char *options);

// Into a file of /proc, in one write. False: errno says why not.
bool write_line(const char *path, const char *line);

// Another user from here on.
#define ANOTHER_USER ((uid_t)65534)
void become(uid_t user);

// "mounts", "users", "limits", "room", "filters", "namespaces": may this process do that? Asked by the tests before
// they tell a scenario that does.
bool may(const char *what);

#endif
