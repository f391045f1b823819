// notify_register_dispatch: runs blocks on queues. Its handler only enqueues the block. This is a separate library,
// because it needs blocks and Dispatch.
#include <dispatch/dispatch.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "../../src/internal.h"

// From the blocks runtime, whose header is Block.h or Block/Block.h, depending on the installation.
void *_Block_copy(const void *block);
void _Block_release(const void *block);

// The most blocks of one token that wait for their queue. Later posts are merged with the last of these blocks.
#define QUEUED_MOST 128

typedef struct registration {
    dispatch_queue_t queue;
    notify_handler_t handler;
    _Atomic uint32_t users;  // references: the token, and each enqueued or running block
    _Atomic int queued;
    _Atomic uint32_t turns;  // blocks that have begun, including the running one
} registration;

static void leave(registration *r) {
    if (atomic_fetch_sub_explicit(&r->users, 1, memory_order_acq_rel) != 1) return;
    _Block_release(r->handler);
    dispatch_release(r->queue);
    free(r);
}

// A concurrent queue begins a block while the previous block still runs. Apple promises that blocks of one registration
// do not overlap: a block that begins meanwhile leaves its turn to the running block, and no thread waits.
static void run(registration *r, int token) {
    if (atomic_fetch_add_explicit(&r->turns, 1, memory_order_acq_rel) != 0) return;
    do {
        // Before the check in tidings_notify_may_run: a later post enqueues its own block.
        atomic_fetch_sub_explicit(&r->queued, 1, memory_order_seq_cst);
        if (tidings_notify_may_run(token)) r->handler(token);
    } while (atomic_fetch_sub_explicit(&r->turns, 1, memory_order_acq_rel) != 1);
}

static void deliver(void *context, int token) {
    registration *r = context;
    if (atomic_fetch_add_explicit(&r->queued, 1, memory_order_relaxed) >= QUEUED_MOST) {
        atomic_fetch_sub_explicit(&r->queued, 1, memory_order_relaxed);
        return;
    }
    atomic_fetch_add_explicit(&r->users, 1, memory_order_relaxed);
    dispatch_async(r->queue, ^{
      run(r, token);
      leave(r);
    });
}

static void end(void *context) { leave(context); }

static uint32_t fail(uint32_t status, const char *line) {
    tidings_last_error_set(line);
    return status;
}

uint32_t notify_register_dispatch(const char *name, int *out_token, dispatch_queue_t queue, notify_handler_t handler) {
    if (!out_token)
        return fail(NOTIFY_STATUS_INVALID_TOKEN, "can't register: out_token is NULL; pass the address of an int");
    *out_token = NOTIFY_TOKEN_INVALID;
    if (!queue || !handler)
        return fail(NOTIFY_STATUS_NULL_INPUT, "can't register a block: the queue or the block is NULL; pass both");
    registration *r = calloc(1, sizeof *r);
    if (!r) return fail(NOTIFY_STATUS_FAILED, "can't register a block: no memory; free some");
    dispatch_retain(queue);
    r->queue = queue;
    r->handler = _Block_copy(handler);
    atomic_store_explicit(&r->users, 1, memory_order_relaxed);
    const uint32_t status = tidings_notify_register_handler(name, out_token, &(notify__handler){deliver, end, r});
    if (status != NOTIFY_STATUS_OK) leave(r);
    return status;
}
