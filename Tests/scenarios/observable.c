#include "observable.h"

#include <sys/stat.h>

tidings_center *observable_center(uint32_t slots) {
    CHECK(chmod(getenv("TIDINGS_DIRECTORY"), 0755) == 0, "%s", strerror(errno));
    return join_center_with((tidings_configuration){.slots = slots, .mode = OBSERVABLE_MODE});
}

tidings_center *open_to_read(void) {
    tidings_center *theirs;
    OK(tidings_open("scenario",
                    &(tidings_configuration){.flags = TIDINGS_OPEN_READ_ONLY | TIDINGS_OPEN_OWNER, .owner = 0},
                    &theirs));
    keep(theirs);
    return theirs;
}
