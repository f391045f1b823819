// Registers a thread's own robust list. Declared and described in robust.h.
#include "platform/robust.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/atomics.h"

_Static_assert(sizeof(struct robust_list_head) == 3 * sizeof(uintptr_t), "next, offset and pending operation");

tidings__robust *tidings__robust_new(void) {
    void *memory = mmap(NULL, sizeof(tidings__robust), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    (void)madvise(memory, sizeof(tidings__robust), MADV_DONTFORK);
    return memory;
}

void tidings__robust_free(tidings__robust *robust) { (void)munmap(robust, sizeof *robust); }

int tidings__robust_begin(tidings__robust *robust, _Atomic uint32_t *words) {
    const int saved = errno;
    // The nodes are private: a peer could change nodes in shared memory, and the kernel would follow them. One offset
    // leads from each node to its word, so the nodes lie as far apart as the words.
    robust->nodes[0] = (uintptr_t)&robust->nodes[1];
    robust->nodes[1] = (uintptr_t)&robust->head[0];
    robust->head[0] = (uintptr_t)&robust->nodes[0];
    robust->head[1] = (uintptr_t)&words[0] - (uintptr_t)&robust->nodes[0];
    robust->head[2] = 0;
    const int result = syscall(SYS_set_robust_list, &robust->head, sizeof robust->head) == 0 ? 0 : -errno;
    if (result == 0) {
        // The list comes first: a thread that is killed in between leaves words without a TID.
        robust->life = (uint32_t)syscall(SYS_gettid) | FUTEX_WAITERS;
        tidings__set_release(&words[0], robust->life);
        tidings__set_release(&words[2], robust->life);
    }
    errno = saved;
    return result;
}
