// A thread's first post in a kernel tick reads the clock twice, so how many instructions a post takes would depend on
// how long it took. Linked into what is counted, in place of the C library's: the time of day stands still.
#include "counting.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return (int)syscall(SYS_clock_gettime, clock, time);
    *time = (struct timespec){.tv_sec = 1700000000};
    return 0;
}
