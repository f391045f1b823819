/**
 * notify(3) on Linux: Apple's C interface, over Tidings' centers, without a daemon.
 *
 * A *name* is a C string of 1 to 511 bytes; by convention a reversed domain, "com.example.player.track". Posting a name tells everybody
 * who has registered for it, whatever process they are in, that something has happened; a notification carries no data, but each name has
 * a 64-bit *state* that anybody who may post it can set and read.
 *
 * A registration is a *token*. How it hears of posts is its kind: it is asked (`notify_check`), or it gets a signal, four bytes through a
 * descriptor, or a block on a queue. Each token has its own memory of what it was told. Posts that come faster than they are heard of may
 * be heard of together, but none goes by unheard.
 *
 * Where a name lives is in the name: `self.` names stay in this process; `user.uid.501.` names are user 501's; all others are the
 * system's, as far as its administrator makes one for all (Docs/Notify.md), otherwise this user's. They are names of that center for users
 * of `tidings.h` and of the Swift library too: a post there is heard here, and the other way round.
 *
 * After a fork all of this goes on in the child: its tokens can be checked, canceled and used for state. What delivers (signals,
 * descriptors, blocks) delivers in the process that registered it. `notify_post`, `notify_check` and `notify_get_state` are
 * async-signal-safe once this process (a child: after the fork) has made a call for a name of the same place; posts of names up to 128 bytes.
 */
#ifndef NOTIFY_H
#define NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/cdefs.h>

/** Not for Swift: it has no way to hand over a queue of its own here, and packages have no library with the function. */
#if defined(__BLOCKS__) && defined(__has_include) && !defined(__swift__)
#if __has_include(<dispatch/dispatch.h>)
#include <dispatch/dispatch.h>
#define NOTIFY_HAS_DISPATCH 1
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define NOTIFY_STATUS_OK 0
#define NOTIFY_STATUS_INVALID_NAME 1      /**< NULL, empty, or longer than 511 bytes */
#define NOTIFY_STATUS_INVALID_TOKEN 2     /**< never registered, or canceled; NULL where a token is to be put */
#define NOTIFY_STATUS_INVALID_PORT 3      /**< there are no Mach ports here */
#define NOTIFY_STATUS_INVALID_FILE 4      /**< not a descriptor of an earlier registration that is still there */
#define NOTIFY_STATUS_INVALID_SIGNAL 5    /**< no such signal */
#define NOTIFY_STATUS_INVALID_REQUEST 6   /**< what can't be done with such a token, or file */
#define NOTIFY_STATUS_NOT_AUTHORIZED 7    /**< another user's name, one of no user, one that this user may only observe, or one that root alone may post */
#define NOTIFY_STATUS_OPT_DISABLE 8       /**< `notify_set_options` has switched all of it off */
#define NOTIFY_STATUS_SERVER_NOT_FOUND 9  /**< the name's center isn't there, or was removed */
#define NOTIFY_STATUS_NULL_INPUT 10       /**< an argument that is needed is NULL (a name, token, port or descriptor: INVALID_NAME and so on) */
#define NOTIFY_STATUS_FAILED 1000000      /**< no memory, no descriptor, no room; `tidings_last_error()` says which */

#define NOTIFY_REUSE 0x00000001  /**< use the descriptor that is passed in */
#define NOTIFY_TOKEN_INVALID -1  /**< no registration has this token */

/** Says that `name` has happened. It waits for nobody, and doesn't fail because nobody listens. */
uint32_t notify_post(const char *name);

/** A token to ask with `notify_check`. Costs those who post nothing, and this process no thread. */
uint32_t notify_register_check(const char *name, int *out_token);

/** A token that sends this process the signal `sig`. Several posts may make one signal, as signals do. */
uint32_t notify_register_signal(const char *name, int sig, int *out_token);

typedef unsigned int mach_port_t;
/** NOTIFY_STATUS_INVALID_PORT: Linux has no Mach ports. Here so that a program that falls back to something else compiles, and does. */
uint32_t notify_register_mach_port(const char *name, mach_port_t *notify_port, int flags, int *out_token);

/**
 * A token that writes itself (as a 32-bit integer in network byte order) to a pipe, whose other end `*notify_fd` becomes; with NOTIFY_REUSE, to that of the earlier registration whose
 * descriptor `*notify_fd` is. Posts that find the pipe full are delivered together as soon as there is room. It is closed with the last of its tokens. Closed on exec.
 */
uint32_t notify_register_file_descriptor(const char *name, int *notify_fd, int flags, int *out_token);

#ifdef NOTIFY_HAS_DISPATCH
typedef void (^notify_handler_t)(int token);
/** A token that calls a block on a queue: one run at a time, whatever the queue. The block may cancel its own token. It doesn't begin to run after `notify_cancel` has returned. (Library tidings-notify-dispatch.) */
uint32_t notify_register_dispatch(const char *name, int *out_token, dispatch_queue_t queue, notify_handler_t handler);
#endif

/**
 * Sets `*check` to 1 if the token's name was posted since the last look (the first look: always), otherwise to 0. For tokens of every kind. Sees what was posted before the call, by anybody. With
 * nothing new in its center one load from shared memory, no system call.
 */
uint32_t notify_check(int token, int *check);

/** Ends a registration. Nothing of it is delivered after this has returned. */
uint32_t notify_cancel(int token);

/** While suspended nothing is delivered; what was posted meanwhile is delivered, once for all of it, after as many resumptions as there were suspensions. `notify_check` goes on as usual. */
uint32_t notify_suspend(int token);
uint32_t notify_resume(int token);

/** The state of the token's name: 0 until it is set. It outlives those who registered. Setting it is no post. A center has room for some hundreds that are not 0 (672 unless its creator chose other sizes): one more is NOTIFY_STATUS_FAILED. A name that has one can always be set, and a state set to 0 makes room at once. */
uint32_t notify_set_state(int token, uint64_t state64);
uint32_t notify_get_state(int token, uint64_t *state64);

#ifdef __GNUC__
__extension__ /* for strict C89, which has no bool */
#endif
bool notify_is_valid_token(int val);

#ifdef __cplusplus
}
#endif

#endif
