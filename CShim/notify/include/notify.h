/**
 * notify(3) on Linux: Apple's C interface, over Tidings' centers, without a daemon.
 *
 * A *name* is a C string of 1 to 511 bytes. By convention it is a reversed domain, "com.example.player.track". A post
 * of a name notifies every process that has registered for it. A notification carries no data. Each name has a 64-bit
 * *state*: each process that may post the name can set and read it.
 *
 * A registration is a *token*. Its kind decides how posts reach it: by a check (`notify_check`), a signal, four bytes
 * through a descriptor, or a block on a queue. Each token remembers on its own which posts it has reported. Several
 * posts in quick succession may be reported as one. No post goes unreported.
 *
 * The name decides which center it lives in. `self.` names stay in this process. `user.uid.501.` names belong to user
 * 501. All other names are the system's, if the administrator configures one center for all users (Docs/Notify.md).
 * Otherwise they are this user's. `tidings.h` and the Swift library see the same names of that center. Their posts
 * reach the tokens here, and posts from here reach their observers.
 *
 * After a fork all of this continues in the child: its tokens can be checked, canceled and used for state. Signals,
 * descriptors and blocks deliver in the process that registered them, only. `notify_post`, `notify_check` and
 * `notify_get_state` are async-signal-safe after this process has made a call for a name of the same center. A child
 * must make that call after the fork. The limits: posts of names up to 128 bytes; and with NOTIFY_OPT_REGEN no post to
 * a removed center, because it opens the successor. A handler that may interrupt `malloc` or `free` must not check or
 * get a state while another thread registers or cancels names of that center, nor with NOTIFY_OPT_REGEN: the handler
 * could wait for that thread, and that thread for the heap, for ever.
 *
 * Each function has a line that begins with *Bound*. It states what the function costs at most, in the words of
 * `tidings.h` (*constant*, *copy*, *walk*, *rare walk*), and whether it waits. With walks and taking, a call takes at
 * most 20 ms of processor time in a center of the default shape. If the line names the names or the tokens of this
 * process, one microsecond for each of them comes on top.
 *
 * - *Takes posts*: the call reads what was posted to the center since this process took posts last. That is a walk
 *   along the ring and, if the ring has gone round meanwhile, along the names of this process. The call waits a few
 *   milliseconds for each post there that is not finished, until that is revoked. If other processes post faster than
 *   the call reads, it goes on, for 2^22 posts at most.
 * - *Opens*: the first call for a name of a center opens the center. Such a call costs and waits as `tidings_open`. In
 *   a forked child, the first call that takes posts subscribes to each name of this process again, as
 *   `tidings_observer_add` for each. With NOTIFY_OPT_REGEN, so does a call that finds its center removed, after it has
 *   opened the successor. It tries 100 successors at most, if a peer removes each of them.
 * - *Never waits*: the call waits for no other process. It may wait for other calls and for deliveries of this process.
 */
#ifndef NOTIFY_H
#define NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/cdefs.h>

/** Not for Swift: Swift cannot pass a queue of its own here, and packages have no library with the function. */
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
#define NOTIFY_STATUS_INVALID_TOKEN 2     /**< never registered, or canceled; or out_token is NULL */
#define NOTIFY_STATUS_INVALID_PORT 3      /**< there are no Mach ports here */
#define NOTIFY_STATUS_INVALID_FILE 4      /**< not the descriptor of a live registration */
#define NOTIFY_STATUS_INVALID_SIGNAL 5    /**< no such signal */
#define NOTIFY_STATUS_INVALID_REQUEST 6   /**< impossible with such a token, or file */
/** another user's name, one of no user, one that this user may only observe, or one that root alone may post */
#define NOTIFY_STATUS_NOT_AUTHORIZED 7
#define NOTIFY_STATUS_OPT_DISABLE 8       /**< `notify_set_options` has disabled notify(3) */
#define NOTIFY_STATUS_SERVER_NOT_FOUND 9  /**< the name's center does not exist, or was removed */
/** a required argument is NULL (for a name, token, port or descriptor: INVALID_NAME and so on) */
#define NOTIFY_STATUS_NULL_INPUT 10
/** no memory, no descriptor, no room, or an invalid /etc/tidings/notify.conf; see `tidings_last_error()` */
#define NOTIFY_STATUS_FAILED 1000000

#define NOTIFY_REUSE 0x00000001  /**< use the descriptor that the caller passes */
#define NOTIFY_TOKEN_INVALID -1  /**< no registration has this token */

/**
 * Posts `name`. It does not fail if no process has registered for the name.
 *
 * Bound: rare walk, and wake-ups, as `tidings_post`; the first post of a name opens. Never waits, except to open.
 */
uint32_t notify_post(const char *name);

/**
 * Registers a token for `notify_check`. It costs posters nothing, and this process no thread.
 *
 * Bound: walk, as `tidings_observer_add`; takes posts; opens. Rarely constant for each name of this process. Waits as
 * `tidings_observer_add`: up to 100 ms for unfinished posts.
 */
uint32_t notify_register_check(const char *name, int *out_token);

/**
 * Registers a token that sends this process the signal `sig`. Several posts may coalesce into one signal.
 *
 * Bound and waiting: as `notify_register_check`, with two walks; the first such token starts a thread.
 */
uint32_t notify_register_signal(const char *name, int sig, int *out_token);

typedef unsigned int mach_port_t;
/**
 * Always returns NOTIFY_STATUS_INVALID_PORT: Linux has no Mach ports. Declared so that a program with a fallback
 * compiles and uses it.
 *
 * Bound: constant. Never waits.
 */
uint32_t notify_register_mach_port(const char *name, mach_port_t *notify_port, int flags, int *out_token);

/**
 * Registers a token that is written (as a 32-bit integer in network byte order) to a pipe at each post. `*notify_fd`
 * receives the pipe's reading end. With NOTIFY_REUSE, `*notify_fd` is the descriptor of an earlier registration, and
 * the token uses its pipe. If the pipe is full, posts are delivered together as soon as there is room. The pipe is
 * closed with the last of its tokens, and on exec.
 *
 * Bound and waiting: as `notify_register_signal`; with NOTIFY_REUSE constant for each pipe of this process on top.
 */
uint32_t notify_register_file_descriptor(const char *name, int *notify_fd, int flags, int *out_token);

#ifdef NOTIFY_HAS_DISPATCH
typedef void (^notify_handler_t)(int token);
/**
 * Registers a token that calls a block on a queue: one run at a time, on every kind of queue. The block may cancel its
 * own token. The block does not begin to run after `notify_cancel` has returned. (Library tidings-notify-dispatch.)
 *
 * Bound and waiting: as `notify_register_signal`.
 */
uint32_t notify_register_dispatch(const char *name, int *out_token, dispatch_queue_t queue, notify_handler_t handler);
#endif

/**
 * Sets `*check` to 1 if the token's name was posted since the last check, otherwise to 0. The first check is always 1.
 * For tokens of every kind. Includes all posts before the call, of every process. If the center has nothing new, a
 * check is one load from shared memory, without a system call.
 *
 * Bound: constant if the center has nothing new; otherwise takes posts. Waits for unfinished posts alone.
 */
uint32_t notify_check(int token, int *check);

/**
 * Ends a registration. After this has returned, nothing is delivered for the token.
 *
 * Bound: constant for each pipe and each followed file of this process; rarely for each name of this process, and takes
 * posts. Waits for unfinished posts alone.
 */
uint32_t notify_cancel(int token);

/**
 * Suspends, and resumes, delivery for a token. Suspensions nest: delivery resumes after as many resumptions as
 * suspensions. Posts of the suspension are then delivered as one. `notify_check` works as usual.
 *
 * Bound: constant. Never waits.
 */
uint32_t notify_suspend(int token);
/** Bound: constant. Never waits. */
uint32_t notify_resume(int token);

/**
 * Sets, and reads, the state of the token's name: 0 until it is set. The state outlives the registrations. Setting it
 * is no post. A center has room for some hundreds of states that are not 0 (672 unless its creator chose other sizes).
 * One more is NOTIFY_STATUS_FAILED. A name with a state can always be set. A state set to 0 makes room at once.
 *
 * Bound: rare walk, as `tidings_state_set`. For a name without a state also takes posts, and a walk along the slots and
 * the chunks. Waits for unfinished posts alone, and to open.
 */
uint32_t notify_set_state(int token, uint64_t state64);
/** Bound: constant if the center has nothing new; otherwise takes posts, and a walk. Waits as `notify_check`. */
uint32_t notify_get_state(int token, uint64_t *state64);

/** Bound: constant. Never waits. */
#ifdef __GNUC__
__extension__ /* for strict C89, which has no bool */
#endif
bool notify_is_valid_token(int val);

#ifdef __cplusplus
}
#endif

#endif
