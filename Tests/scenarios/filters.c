// System calls that fail as they do where a kernel, a file system or a sandbox doesn't have them.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "conditions.h"
#include "peer.h"

#define MOST 16
#define LENGTH 8  // of one refusal, at most

// The lower half, on a little-endian machine.
static struct sock_filter load_argument(int which) {
    return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                        (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (size_t)which));
}

void refuse_calls(const refusal *refusals, unsigned count) {
    struct sock_filter filter[MOST * LENGTH + 1];
    unsigned short length = 0;
    CHECK(count <= MOST, "%u refusals", count);
    for (unsigned i = 0; i < count; i++) {
        const refusal *r = &refusals[i];
        const uint8_t with_given = r->given ? 2 : 0, rest = (uint8_t)(r->mask ? 4 + with_given : 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)r->call, 0, rest);
        if (r->mask) {
            filter[length++] = load_argument(r->which);
            filter[length++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, r->mask);
            filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, r->value, 0, 1 + with_given);
            if (r->given) {
                filter[length++] = load_argument(r->given);
                filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
            }
        }
        filter[length++] = (struct sock_filter)BPF_STMT(
            BPF_RET | BPF_K, r->error ? SECCOMP_RET_ERRNO | (uint32_t)r->error : SECCOMP_RET_KILL_PROCESS);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {length, filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0,
          "%s", strerror(errno));
}
