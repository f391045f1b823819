#include "registry/doorbell.h"

void tidings__doorbell_ring(const tidings__segment *s, uint32_t observer) {
    _Atomic uint32_t *doorbell = tidings__doorbell(s, observer);
    uint32_t was = tidings__acquire(doorbell);
    while (was & TIDINGS__ASLEEP) {
        // A new value with the flag still up: if we die before the wake-up, the next poster rings again.
        uint32_t rung = was + 2;
        if (!tidings__cas(doorbell, &was, rung)) continue;
        tidings__futex_wake(doorbell, 1);
        // The flag comes down only after the wake-up, and only if the sleeper hasn't gone to sleep once more meanwhile.
        tidings__cas(doorbell, &rung, rung & ~TIDINGS__ASLEEP);
        return;
    }
}
