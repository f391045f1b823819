/// Tidings: notifications between processes on one machine, through a named ring in shared memory.
///
/// | | promise |
/// |---|---|
/// | order | one order per center; every observer sees its matching notifications in that order, whoever posted them |
/// | delivery | each observer gets every matching notification posted after its registration returned, once |
/// | loss | an observer that falls a whole ring behind is told exactly how many matching notifications it missed, before the next one; nothing is dropped silently |
/// | posting | never waits for another process; a poster killed at any instruction delays nobody, one stopped mid-post delays observers by a few milliseconds once, other posters not at all |
/// | observers | cost posters nothing while awake; one wake-up while asleep; none when asleep on other names |
/// | lossless observers | opt-in: posters are held back (or told -EAGAIN, -ETIMEDOUT) rather than lap such an observer; a dead one is noticed at once |
/// | late comers | a retained notification is delivered to whoever registers later; history still in the ring can be asked for |
/// | end of a center | if a center is removed, unlinked or replaced, each of its observers wakes and is told -ESTALE, after what was posted before; each post is -ESTALE. Observers and posters learn it within a second. An idle process sleeps without a timer where the kernel offers inotify; a reader wakes once a second. The limit: a directory that is moved away takes its centers along, and another center at the old path is no end |
/// | death, fork, exec | nothing to clean up; a forked child can post through the same center; an observer belongs to the process that opened it (-ECHILD elsewhere). The limit: a child made by `_Fork`, `vfork` or raw `clone` runs no fork handlers and keeps its parent's locks. If the parent dies, others take it for alive until that child calls `exec` or ends |
/// | trust | a center is its owner's (mode 0600) unless asked otherwise; a peer with write access can spoil the center's data but never make a process crash, hang or over-read (truncating the file under others, or punching holes into it, is the one exception, and a *sealed* center rules that out too); an observer can be given read-only access |
/// | time | every call has an upper bound of processor time, whatever a peer has written: see *Bounds* below |
///
/// Bounds. Each function says in a line that begins with *Bound* what it takes at most and whether it waits. The
/// classes:
///
/// | class | processor time | what it does at most |
/// |---|---|---|
/// | *constant* | microseconds | looks at some words |
/// | *copy* | as `memcpy` of what it moves | constant, and the payload or text |
/// | *walk* | 20 ms in a center of the default shape, 250 ms in the largest (2^20 slots, 4,096 participants, 2^20 names) | one walk or a few along the tables: participants, observers, names, slots |
/// | *rare walk* | constant otherwise | a walk when room is needed: the ring is evicted, a table is full, a participant died |
///
/// The two figures hold for optimized code on a machine of 2026, in spoiled centers too. A test allows four times as much
/// (Docs/Testing.md). All dead participants are reclaimed in one walk, so their number
/// adds nothing. Copying a payload, and the kernel's time to give or take back memory, come on top.
/// An opening that creates a center keeps other openings and closings and `fork` of its process waiting while the kernel
/// gives it memory: 60 to 79 ms for 2^20 slots.
/// *Waits*: the call may sleep, for as long as its line says, and holds no lock of the process
/// meanwhile. *Never waits*: the call waits for no other process, and only for threads that change the same handle.
///
/// Caveats first. A payload is at most `maximum_payload` bytes of the center (16 MiB unless configured). A name is 1 to 255
/// bytes of UTF-8 without NUL, a subject 0 to 255 likewise, a center's name also without '/' and not starting with '.', up to 200 bytes. A notification stays in
/// the ring until the ring has gone round (4,096 notifications unless configured), or, for payloads that don't fit a slot, until their place is needed (16 of the largest, 512 of 1 KiB).
///
/// Memory of an observer for payloads: at most the largest payload so far, 12 % and a page. With `tidings_observer_lend`
/// large payloads lie in memory of the caller instead.
///
/// Every function returns 0 or a negative `errno` unless it says otherwise; `tidings_last_error()` then has one line that says what was
/// tried on what, why it failed, and what to do. Handles are opaque. All functions may be called from any thread; an observer's
/// `tidings_next` and `tidings_wait` from one thread at a time. Only functions marked *async-signal-safe* may be called in a signal handler.
#ifndef TIDINGS_H
#define TIDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TIDINGS_NAME_MAX 255         ///< bytes in a notification's name
#define TIDINGS_SUBJECT_MAX 255      ///< bytes in a subject
#define TIDINGS_CENTER_NAME_MAX 200  ///< bytes in a center's name (a file name is 255 at most, and ours has a prefix)
#define TIDINGS_EXECUTABLE_MAX 79    ///< bytes kept of a participant's executable name

typedef struct tidings_center tidings_center;      ///< an open center: one participant
typedef struct tidings_publisher tidings_publisher;        ///< a name, with or without a subject, prepared for posting
typedef struct tidings_observer tidings_observer;  ///< a place in the order, and the names it looks at

// MARK: Opening

/// Sizes and access of a center. All zero is the default. Sizes matter to whoever creates the center; who opens an existing one takes its sizes.
typedef struct tidings_configuration {
    const char *directory;     ///< where centers live; NULL: $TIDINGS_DIRECTORY, or /dev/shm
    uint64_t maximum_payload;  ///< bytes, 1 to 1 GiB; 0: 16 MiB
    uint32_t slots;            ///< notifications in the ring: a power of two, 256 to 2^20; 0: 4,096
    uint32_t participants;     ///< processes at a time, 2 to 4,096; 0: 512
    uint32_t observers;        ///< observer handles at a time, 2 to 1,024; 0: 1,024
    uint32_t names;            ///< observed names, 64 to 2^20; 0: 131,072
    uint32_t mode;             ///< permission bits of the file; 0: 0600. Who may read and not write may observe (0644: everyone, 0640: the group), see TIDINGS_OPEN_READ_ONLY
    uint32_t flags;            ///< TIDINGS_OPEN_…
    uint32_t owner;            ///< with TIDINGS_OPEN_OWNER: the user whose center it is
    uint32_t group;            ///< with TIDINGS_OPEN_GROUP: the group that its file is given to
} tidings_configuration;

enum {
    TIDINGS_OPEN_EXISTING = 1,   ///< do not create: -ENOENT if there is no such center
    TIDINGS_OPEN_EXCLUSIVE = 2,  ///< create only: -EEXIST if there is one
    TIDINGS_OPEN_OWNER = 4,      ///< the center of user `owner`, not this process's (effective) user's. If they differ, it is never created
    TIDINGS_OPEN_GROUP = 8,      ///< if it is created, its file belongs to `group`: -EPERM if this process isn't in it
    /// Maps the center for reading, and needs no more than permission to read. Observers work (not lossless ones), where `mode` lets somebody read who may not write; state and statistics can
    /// be read; posting is -EACCES. Nothing such a process does can stop or harm others, whatever code it runs (but it can use up the memory that the file may ever take).
    TIDINGS_OPEN_READ_ONLY = 16,
    /// Opens it also in a directory where another user may rename files, and so put another center in its place: one
    /// that its group or every user may write to without the sticky bit, or that belongs to a user other than root,
    /// this process's (effective) user and `owner`. Without this flag: -EPERM. The directory's own mode and owner are
    /// looked at, when a center is opened; its parents' are not.
    TIDINGS_OPEN_SHARED_DIRECTORY = 32,
};

/// A configuration for tight places: 512 slots and 256 KiB of memory in all (plus payloads that do not fit a slot).
extern const tidings_configuration tidings_small_configuration;

/// Opens the center of that name, creating it first if there is none, and makes this process a participant of it.
/// Blocks for no other process. Fails with -EINVAL (name or configuration), -ENOSPC (directory full; the error says how much is needed), -EACCES,
/// -EPERM (another user's, or in a directory where another user may rename files: TIDINGS_OPEN_SHARED_DIRECTORY), -ESTALE (somebody has been removing it for two seconds), -EBADMSG (not a center, or damaged), -EPROTO (another format version), -ENOENT, -EEXIST, -EROFS, -EUSERS (all participant places taken), -ENOMEM, -EMFILE.
/// Bound: walk. Waits up to two seconds while another process removes that center, without holding up other openings,
/// closings or forks. Not async-signal-safe.
int tidings_open(const char *name, const tidings_configuration *configuration, tidings_center **center);

/// Leaves the center. Topics and observers of this handle must be closed before. NULL is ignored.
/// Bound: walk along the places for payloads; the kernel unmaps the file. Never waits.
void tidings_close(tidings_center *center);

/// Deletes the center's file: no process can open it any more. Processes that have it open are told -ESTALE by their next post; observers wake and are told by `tidings_next`, after what
/// was posted before. Never touches a file that is not a center.
/// Bound: constant; the kernel frees the file with its last user. Waits up to two seconds while another process removes
/// it.
int tidings_remove(const char *name, const tidings_configuration *configuration);

/// Creates a center without a file: memory that has no name, for peers that it is sent to. Its size is sealed: nobody, whatever code they run, can cut it short under others, which is the one way to
/// make a process crash that a file leaves open. `name` is for messages; nobody finds it by that. It is gone with the last process that has it. `configuration->directory` is ignored. Fails like `tidings_open`.
/// Bound: walk (the kernel gives the memory). Never waits.
int tidings_create_sealed(const char *name, const tidings_configuration *configuration, tidings_center **center);

enum {
    TIDINGS_SEND_READ_ONLY = 1,  ///< the receiver may observe and not post (TIDINGS_OPEN_READ_ONLY); where `mode` lets somebody read who may not write
};

/// Hands a sealed center to the process at the other end of a Unix socket, which needs no access to anything else: not to a directory, not to /proc (only a child that it forks does, to go on with
/// the center; it needs permission to open it, too, by `mode`, and is told -ECHILD otherwise). Waits as `sendmsg` on that socket does. Needs /proc here. A receiver for reading alone that runs as another user, or without /proc, has no way to get more.
/// -EINVAL: not a sealed one; -EACCES: more than this process has itself; and what sendmsg says.
/// Bound: constant. Waits as `sendmsg` does on that socket.
int tidings_send(tidings_center *center, int socket, uint32_t flags);

/// Waits for a center sent by `tidings_send`, as `recvmsg` on that socket does (-EAGAIN, if it doesn't wait), and becomes a participant of it. Whoever sent it: what isn't sealed is refused (-EPERM), and all of
/// what `tidings_open` checks is checked. -EBADMSG, -EMSGSIZE: something else was sent; -EMFILE: more
/// descriptors came than this process may have, and they are gone; -ECONNRESET: nothing, and the other end is closed.
/// -EFBIG: the center has more than TIDINGS_RECEIVE_MAX bytes. The sender chooses its size, and the receiver reserves that much address space.
/// Bound: walk. Waits as `recvmsg` does on that socket.
int tidings_receive(int socket, tidings_center **center);

#define TIDINGS_RECEIVE_MAX (UINT64_C(1) << 30)  ///< bytes

/// Like `tidings_receive`, with a limit of the receiver's own: a center of more than `largest` bytes is refused (-EFBIG) before anything of it is mapped.
/// Bound: walk. Waits as `recvmsg` does on that socket.
int tidings_receive_at_most(int socket, uint64_t largest, tidings_center **center);

/// The directory that centers are in where a configuration names none: $TIDINGS_DIRECTORY (not in a program that runs with
/// more rights than its caller), or /dev/shm. As it was written: one that does not begin with '/' counts from the current
/// directory. Valid until the program changes its environment. Never fails.
/// Bound: constant. Never waits.
const char *tidings_default_directory(void);

/// The file behind this center, for messages ("/memfd:<name>" for a sealed one). Valid as long as the handle.
/// Bound: constant. Never waits.
const char *tidings_path(const tidings_center *center);

/// The center's incarnation: a random number, other than 0, that tells a center from its successors of the same name. Constant for the handle's life.
/// Bound: constant. Never waits. Async-signal-safe.
uint64_t tidings_incarnation(const tidings_center *center);

/// 0 while the center goes on; -ESTALE once this process knows that it has ended: it was removed, its file was
/// unlinked, or, in the directory that it was opened in, its path leads to another file or to none. If that directory
/// itself is moved away, the center goes on there: another center that then gets the path is no end of this one.
/// Asks the kernel at once, with at most three `stat` calls; never blocks. A sealed center has no file and never ends
/// this way. What was posted before can still be received; statistics and participants can still be read.
/// Async-signal-safe while it returns 0.
/// Bound: constant. Never waits.
int tidings_ended(tidings_center *center);

/// One line about the last failure of a tidings function on this thread; "" if there was none. Valid until the thread's next call.
/// Bound: constant. Never waits.
const char *tidings_last_error(void);

/// Replaces that line on this thread: for libraries over this one, so that their callers look in one place.
/// Bound: copy of the line. Never waits.
void tidings_last_error_set(const char *line);

// MARK: Posting

/// Prepares a name (and a subject, or NULL) for posting. Blocks for no other process. -EINVAL for a name or subject that is empty (name only), too long, holds a NUL, or isn't UTF-8.
/// Bound: constant. Never waits.
int tidings_publisher_open(tidings_center *center, const char *name, size_t name_length, const char *subject, size_t subject_length,
                       tidings_publisher **publisher);
/// Bound: constant. Never waits.
void tidings_publisher_close(tidings_publisher *publisher);

/// The same in memory of the caller's, for who has no heap at hand (a signal handler) or wants it on the stack: `memory` is aligned to 8 bytes and holds `tidings_publisher_size` ones, or -EINVAL.
/// Never closed: it ends with its memory. Async-signal-safe, as long as it succeeds.
/// Bound: constant. Never waits.
int tidings_publisher_place(tidings_center *center, const char *name, size_t name_length, const char *subject, size_t subject_length, void *memory,
                        size_t size, tidings_publisher **publisher);
/// Bytes that a topic with a name and subject of these lengths takes; at most TIDINGS_PUBLISHER_SIZE_MAX. Async-signal-
/// safe.
/// Bound: constant. Never waits.
size_t tidings_publisher_size(size_t name_length, size_t subject_length);
#define TIDINGS_PUBLISHER_SIZE_MAX 768

enum {
    TIDINGS_FORMAT_BYTES = 0,    ///< whatever both sides agreed on
    TIDINGS_FORMAT_CBOR = 1,     ///< RFC 8949
    TIDINGS_FORMAT_BITWISE = 2,  ///< 8 bytes of layout fingerprint, then the value as it lies in memory
    TIDINGS_FORMAT_JSON = 3,     ///< RFC 8259
    TIDINGS_FORMAT_TEXT = 4,     ///< UTF-8
};

enum {
    TIDINGS_POST_RETAIN = 1,     ///< keep it for observers that register later, until the next retained one of the same name. Not with a subject: -EINVAL
    TIDINGS_POST_IMMEDIATE = 2,  ///< told to observers (TIDINGS_DELIVERY_IMMEDIATE), not interpreted: for those who put off what comes meanwhile
};

/// How to post. All zero is the default.
typedef struct tidings_post_options {
    uint8_t format;       ///< TIDINGS_FORMAT_…, told to observers, not interpreted
    uint8_t flags;        ///< TIDINGS_POST_…
    uint16_t reserved;    ///< zero
    int64_t deadline_ns;  ///< how long a lossless observer may hold this post back: 0 not at all (-EAGAIN), > 0 nanoseconds (-ETIMEDOUT), -1 without end
} tidings_post_options;

/// Posts. `sequence` (or NULL) gets its place in the center's order.
/// Promise: never waits for another process, unless a lossless observer is a whole ring behind and a deadline was given. On failure nothing was posted.
/// Fails with -EMSGSIZE (over the maximum), -ENOSPC (no memory for a payload that does not fit a slot; in a center that others may only read, also: no
/// place for one more name), -EAGAIN, -ETIMEDOUT, -ESTALE (the center was removed, unlinked or replaced; looked for about four times a second, as posts come), -EBUSY (as many posts as there are slots have been stopped half-way, or peers have revoked this one 1,000 times), -EBADMSG (somebody has damaged the center).
/// Async-signal-safe, as long as it succeeds, for payloads up to 128 bytes under a name and subject of up to 64 bytes together, without TIDINGS_POST_RETAIN.
/// Bound: copy, and a rare walk. It wakes each observer that sleeps on the name: four or more of a group of 64 observers
/// may share one system call, each other one takes its own. Waits only for lossless observers, until the deadline. Dead
/// ones cost it one walk together, however many a peer makes meanwhile.
int tidings_post(tidings_publisher *publisher, const void *payload, size_t size, const tidings_post_options *options, uint64_t *sequence);

/// Memory of the center to build a payload in, private to the caller until it is posted. Two threads can't share one.
typedef struct tidings_reservation {
    void *bytes;        ///< where to write
    size_t capacity;    ///< how much fits
    uint64_t internal;  ///< not yours
} tidings_reservation;

/// Reserves at least `capacity` bytes. -EMSGSIZE, -ENOSPC as for `tidings_post`, -EAGAIN when all places of that size are being filled by others.
/// Bound: rare walk. Never waits.
int tidings_reserve(tidings_center *center, size_t capacity, tidings_reservation *reservation);
/// Makes it hold at least `capacity` bytes, keeping the first `used`; `bytes` may change. On failure the reservation is as before.
/// Bound: copy of `used` bytes, and a rare walk. Never waits.
int tidings_reserve_more(tidings_center *center, tidings_reservation *reservation, size_t used, size_t capacity);
/// Posts the first `size` bytes. The reservation is used up, also on failure. Small ones are moved into a slot, others stay where they are.
/// Bound and waiting: as `tidings_post`; a large payload is not copied.
int tidings_post_reserved(tidings_publisher *publisher, tidings_reservation *reservation, size_t size, const tidings_post_options *options,
                          uint64_t *sequence);
/// Gives it back unposted.
/// Bound: constant. Never waits.
void tidings_abandon(tidings_center *center, tidings_reservation *reservation);

// MARK: Observing

enum {
    TIDINGS_OBSERVE_LOSSLESS = 1,  ///< posters are held back rather than lap this observer. Its names are added before the first `tidings_next` (-EBUSY later)
    /// Only that something was posted matters: deliveries say how large the payload was (`size`), and `payload` is "". Where the center can be written to, `tidings_next` with time-out 0 is
    /// async-signal-safe then, once it has been called after the last change of names (but still one call at a time).
    TIDINGS_OBSERVE_BARE = 2,
};

/// Opens an observer that looks at nothing yet; it starts at the end of the order, or where `tidings_observer_seek` puts it. -EUSERS: all observer places of the center are taken. -ESTALE: the center
/// has ended. The first observer of a process starts one helper thread, for all centers, which sleeps until one of their files is deleted or replaced. Where the kernel refuses that (inotify
/// instances of the user, threads, kernels before 5.9), a waiting observer looks twice a second instead.
/// Bound: constant; when all places are taken, a walk that reclaims those of all the dead. Never waits.
int tidings_observer_open(tidings_center *center, uint32_t flags, tidings_observer **observer);
/// Bound: constant for each name it looks at; a walk along the prefixes for each prefix. Waits until the
/// helper thread of `tidings_observer_descriptor` has ended.
void tidings_observer_close(tidings_observer *observer);

enum {
    TIDINGS_ADD_RETAINED = 1,  ///< deliver the retained notification of this name first, if there is one; of many names each one's, in the order they were posted in
    TIDINGS_ADD_HISTORY = 2,   ///< also what is in the ring already (from the observer's cursor on, see `tidings_observer_seek`)
    TIDINGS_ADD_PREFIX = 4,    ///< every name that begins with `name`, byte by byte, itself too
};

/// Prefixes that a center's observers can look at, all together. The same one of several observers counts once.
#define TIDINGS_PREFIXES_MAX 256u

/// Looks at this name from now on; NULL for `name`: at all names. With a subject only those posted with that subject.
/// `interest` gets a number, unique in this observer, that deliveries refer to; the same name may be added more than once.
/// Promise: everything posted after this returned is delivered. May be called while another thread waits in `tidings_next`. -ENOSPC: no room for more names. -ESTALE: the center has ended.
///
/// Many names, by TIDINGS_ADD_PREFIX or all: there is no subject to it (-EINVAL; look at the delivery's). What they missed is told
/// under `name` as it is given here, exactly. Who may only read the center can't look by prefix: -EACCES, as nobody would count what it misses.
/// Bound: walk along the ring, with TIDINGS_ADD_RETAINED of many names also along the names, and a copy of the names
/// that it observes. Waits up to 100 ms in all for unfinished posts in the ring, which are then revoked. Waits for a
/// `tidings_next` under way only while that reads the names.
int tidings_observer_add(tidings_observer *observer, const char *name, size_t name_length, const char *subject, size_t subject_length,
                         uint32_t flags, uint32_t *subscription);
/// No longer looks at it: nothing of this interest is delivered after this returned. -ENOENT.
/// Bound: a copy of the names that it observes, and as `tidings_observer_close` for this one. Waits for
/// the moments in which `tidings_next` looks at the names.
int tidings_observer_remove(tidings_observer *observer, uint32_t subscription);

/// Moves the cursor: UINT64_MAX to the end, 0 to the oldest that is still there, otherwise to that sequence (or the oldest after it). Before the first
/// `tidings_observer_add` only: -EBUSY later. -ERANGE: a sequence beyond the end, which belongs to another center or was never posted.
/// Bound: constant. Never waits.
int tidings_observer_seek(tidings_observer *observer, uint64_t sequence);

/// Moves the cursor to what follows a sequence of that incarnation (`tidings_incarnation`), or the oldest after it: how to go on where an earlier observer stopped. Before the first
/// `tidings_observer_add` only: -EBUSY later. -ESTALE: the incarnation is another center's, so the sequence says nothing here. -ERANGE: the sequence is beyond the end.
/// Bound: constant. Never waits.
int tidings_observer_seek_after(tidings_observer *observer, uint64_t incarnation, uint64_t sequence);

enum {
    TIDINGS_DELIVERY_MESSAGE = 0,  ///< a notification
    TIDINGS_DELIVERY_MISSED = 1,   ///< `missed` notifications of `subscriptions[0]` were lost to this observer
};

enum {
    TIDINGS_DELIVERY_RETAINED = 1,  ///< posted before the observer looked, kept for it
    TIDINGS_DELIVERY_OWN = 2,       ///< posted through this process's own handle of the center
    TIDINGS_DELIVERY_IMMEDIATE = 4,  ///< posted with TIDINGS_POST_IMMEDIATE
    TIDINGS_DELIVERY_CLEARED = 8,    ///< the value kept for the name was cleared (`tidings_state_set`): there is no payload
};

/// What `tidings_next` found. Pointers are valid until the observer's next call.
typedef struct tidings_delivery {
    int32_t kind;               ///< TIDINGS_DELIVERY_MESSAGE or …_MISSED
    uint32_t flags;             ///< TIDINGS_DELIVERY_RETAINED, …_OWN, …_IMMEDIATE, …_CLEARED
    uint64_t sequence;          ///< its place in the order (of a MISSED: where delivery goes on)
    uint64_t missed;            ///< how many (MISSED only)
    const uint32_t *subscriptions;  ///< the subscriptions it matches
    size_t subscription_count;      ///< at least 1
    const char *name;           ///< UTF-8, NUL-terminated too
    size_t name_length;
    const char *subject;  ///< UTF-8, NUL-terminated too; "" if none
    size_t subject_length;
    const void *payload;  ///< a copy of ours, aligned to 16 bytes; or in memory of the caller (`tidings_observer_lend`)
    size_t size;
    uint64_t posted_at_ns;  ///< CLOCK_REALTIME; exact for a thread's first post in a kernel tick, that same time for others of the tick
    int32_t pid;            ///< the poster's, in its own pid namespace, as it says itself
    uint32_t uid;           ///< the poster's, as it says itself
    uint32_t participant;   ///< the poster's place, for `tidings_participant`
    uint8_t format;         ///< TIDINGS_FORMAT_…
} tidings_delivery;

/// The next delivery. Waits up to `timeout_ns` for one: 0 not at all, -1 without end. While waiting it sleeps: no CPU, no timer.
/// -EAGAIN (nothing there, with 0), -ETIMEDOUT, -EINTR (`tidings_observer_interrupt`) (these three leave the error line as it was), -ECHILD (opened before a fork), -ENOMEM (no memory for the payload; it counts as missed), -EBADF (the program closed the center's descriptor, and others took it for dead: open the center again),
/// -ESTALE (the center was removed, unlinked or replaced, and all that it still had has been delivered; so is each later call. Close the observer).
/// Bound: copy, a walk along the records in the ring that are not for this observer and, when it was lapped, along its names. Waits up
/// to `timeout_ns`; with 0 never, but for a post in the ring that is not finished: a few
/// milliseconds until it is revoked.
int tidings_next(tidings_observer *observer, int64_t timeout_ns, tidings_delivery *delivery);

/// Gives memory of `size` bytes, aligned to 16, or NULL. See `tidings_observer_lend`.
typedef void *(*tidings_allocate)(void *context, size_t size);

#define TIDINGS_LEND_MIN 4096u  ///< bytes: smaller payloads always go to the observer's own memory

/// From the next delivery on, the observer copies each payload of `from` bytes or more into memory of the caller, who can
/// keep a large payload without a second copy. NULL for `allocate`: into the observer's own memory, as in the beginning.
/// Promise: `tidings_next` calls `allocate` with `context` for each such payload, and returns the payload at the address
/// that it got. `size` is the payload's size and at most 528 bytes more. The memory is the caller's: the observer never
/// frees it, and no longer uses it once `tidings_next` or `allocate` is called again. If a payload is lost while it is
/// copied, one `tidings_next` calls `allocate` more than once. The observer frees its own memory for payloads first: it
/// never has both.
/// -EINVAL: `from` is less than TIDINGS_LEND_MIN. If `allocate` returns NULL, the payload counts as missed, and
/// `tidings_next` returns -ENOMEM. `allocate` must return, and must call no function of this library. An observer without
/// payloads (TIDINGS_OBSERVE_BARE) never calls it. For the thread that calls `tidings_next`, between two calls.
/// Bound: constant. Never waits.
int tidings_observer_lend(tidings_observer *observer, size_t from, tidings_allocate allocate, void *context);

/// Where the observer looks next: everything before this place in the order has been delivered, told as missed, or was of other names. For the thread that calls `tidings_next`, between two calls.
/// Bound: constant. Never waits.
uint64_t tidings_observer_position(const tidings_observer *observer);

/// True: nothing has been posted at this place in the order, or after it. One look at one word: how to ask often, and cheaply, whether `tidings_next` would find anything at all. Async-signal-safe.
/// Bound: constant. Never waits.
bool tidings_nothing_since(const tidings_center *center, uint64_t sequence);

/// Once the center of this observer has ended (-ESTALE): waits up to `timeout_ns` (-1: without end) until another file has its path, which `tidings_open` can open then. While
/// waiting it sleeps: no CPU, and no timer where the kernel offers inotify. What comes to be there may be anything; opening checks it.
/// -ETIMEDOUT, -EINTR (`tidings_observer_interrupt`), -ECHILD (opened before a fork), -EINVAL (a sealed center has no path). From one thread at a time, like `tidings_next`.
/// Bound: constant for each file that comes into the directory. Waits up to `timeout_ns`.
int tidings_observer_await_successor(tidings_observer *observer, int64_t timeout_ns);

/// Makes the running or the next wait of `tidings_next` return -EINTR, once. Async-signal-safe.
/// Bound: constant. Never waits.
void tidings_observer_interrupt(tidings_observer *observer);

/// A descriptor that is readable while there may be something for `tidings_next` (for poll, epoll, Dispatch), and for ever once the center has ended. Call `tidings_next` with time-out 0 until -EAGAIN, which makes it unreadable again. After any other error it stays readable: end the loop.
/// It belongs to the observer: don't close or read it. Starts one helper thread.
/// Bound: constant. Never waits.
int tidings_observer_descriptor(tidings_observer *observer, int *descriptor);

/// How many nanoseconds to look for new notifications before going to sleep: 0 never, UINT32_MAX without end (benchmarks only). Default: adaptive,
/// at most 20 µs, never on a machine or in a process with one processor.
/// Bound: constant. Never waits.
void tidings_observer_spin(tidings_observer *observer, uint32_t nanoseconds);

// MARK: State

/// Keeps a value for the topic's name, and tells observers: `tidings_post` with TIDINGS_POST_RETAIN. Size 0 with payload NULL clears it; observers are told (TIDINGS_DELIVERY_CLEARED).
/// A name has one value. A topic with a subject has none: -EINVAL, here, of a retained post and of `tidings_state_get`. Values that stand side by side have names of their own.
/// Bound and waiting: as `tidings_post`.
int tidings_state_set(tidings_publisher *publisher, const void *payload, size_t size, const tidings_post_options *options);
/// Copies the kept value of a name. `size` holds the buffer's size, and gets the value's: -ENOBUFS if it doesn't fit (buffer may be NULL). -ENOENT: none was set, or it was cleared. `format` and `sequence` may be NULL.
/// Bound: copy, and a walk along the ring. Never waits.
int tidings_state_get(tidings_publisher *publisher, void *buffer, size_t *size, uint8_t *format, uint64_t *sequence);

// MARK: Looking at a center

typedef struct tidings_statistics {
    uint64_t posted;           ///< positions used since birth
    uint64_t retained_from;    ///< the oldest still in the ring
    uint64_t revoked;          ///< posts whose poster was stopped too long, and posted anew
    uint64_t file_size;        ///< bytes, sparse
    uint64_t memory;           ///< bytes of memory taken
    uint64_t maximum_payload;  ///< bytes
    uint32_t slots;
    uint32_t participants, participants_max;
    uint32_t observers, observers_max;
    uint32_t observers_asleep;
    uint32_t observers_lossless;
    uint32_t names, names_max;
    uint32_t chunks_used, chunks_max;
    uint32_t format_version;
} tidings_statistics;

/// Bound: walk. Never waits.
int tidings_statistics_get(tidings_center *center, tidings_statistics *statistics);

/// Counts the names with a retained value, and the center's chunks; each value takes one chunk. Approximate while peers post. Does not
/// walk along the names. -ENOMEM: no memory to count.
/// Bound: walk along the slots and the chunks. Never waits.
int tidings_values(tidings_center *center, uint32_t *values, uint32_t *values_max);

typedef struct tidings_participant_info {
    uint32_t index;
    int32_t pid;
    uint32_t uid;
    bool alive;  ///< its lock is held. Of everybody where that can't be asked: in a center that others may only read, by one of them
    bool own;    ///< it is this handle
    uint64_t joined_at_ns;
    char executable[TIDINGS_EXECUTABLE_MAX + 1];
} tidings_participant_info;

/// The participant at an index below `participants_max`: -ENOENT if nobody ever was there or it has been tidied up, -ERANGE beyond (both without a line).
/// Bound: constant. Never waits.
int tidings_participant(tidings_center *center, uint32_t index, tidings_participant_info *info);

typedef struct tidings_participant_observers {
    uint32_t observers;  ///< places it has taken
    uint32_t lossless;   ///< how many of them are lossless
    uint64_t behind;     ///< of the one of these that is furthest behind: how many posts there are, of whatever name, from the first that it has still to take. Posters are held back when that is the whole ring
} tidings_participant_observers;

/// What the participant at that index observes with; nothing, if there is none. It looks along the ring once; where
/// very many prefixes are observed, `behind` may be more than it is.
/// Bound: walk. Never waits.
void tidings_participant_observers_get(tidings_center *center, uint32_t index, tidings_participant_observers *observers);

typedef struct tidings_name_info {
    uint32_t observers;  ///< how many observer handles look at it
    bool retained;
    bool prefix;  ///< they look at every name that begins with `name`
    char name[TIDINGS_NAME_MAX + 1];
    char subject[TIDINGS_SUBJECT_MAX + 1];
} tidings_name_info;

/// The observed or retained name at an index below `names_max`: -ENOENT if there is none, -ERANGE beyond the last (both without a line).
/// Bound: walk along the ring. Never waits.
int tidings_name(tidings_center *center, uint32_t index, tidings_name_info *info);

/// What participants that died, or stand still, have left in a center. It harms nobody: whom it concerns tidies it up in passing. True only approximately while others are at work.
typedef struct tidings_orphans {
    uint32_t participants;        ///< dead ones, whose places nobody has taken yet
    uint32_t observers;           ///< observers of theirs, and
    uint32_t observers_lossless;  ///< how many of these were lossless. They hold no post back: who meets one asks whether it lives
    uint32_t names;               ///< that only the dead observe, or that they had half-way in or out of the table
    uint32_t payloads;            ///< places for payloads that they had taken and not posted
    uint32_t claims;              ///< slots that an unfinished post of theirs holds; observers wait 2 ms at each, once
    uint32_t evictions;           ///< 1: the oldest notifications were being counted out, and nobody has finished that; the next post that needs room does
    uint32_t verdicts;            ///< posts that somebody was about to revoke; the next to look finishes that
    uint32_t slots_held;          ///< slots of posts that were revoked because their poster stood still; they are free as soon as it goes on, or dies. Not mended by `tidings_reclaim`
    int32_t holder;               ///< of one of these: its thread, or (from another pid namespace) its process
} tidings_orphans;

/// Bound: walk. Waits 10 ms if something may be half-way, to look at it twice.
int tidings_orphans_get(tidings_center *center, tidings_orphans *orphans);

/// Tidies up all of that but slots of posters that live. Happens by itself whenever it matters; returns how many participants were tidied, or a negative errno. Others go on undisturbed.
/// Bound: walk. Never waits.
int tidings_reclaim(tidings_center *center);

enum {
    TIDINGS_STALE_FILE_UNFINISHED = 1,  ///< a creator was killed before its center was finished, on a file system without unnamed files
    TIDINGS_STALE_FILE_WRITERS_FILE = 2,   ///< the second file of a center (its `mode` lets somebody read who may not write) that is gone, or was never finished
    TIDINGS_STALE_FILE_REMOVED = 3,     ///< a center that was being removed; who opens the name finishes that
};

/// A file that nobody needs any more.
typedef struct tidings_stale_file {
    int32_t kind;      ///< TIDINGS_STALE_FILE_…
    bool deleted;      ///< by this call
    uint64_t memory;   ///< bytes of memory it takes, or took
    const char *file;  ///< its name in the directory; valid during the call
} tidings_stale_file;

/// Finds files that creators and removers of this user's centers left when they were killed, and deletes them if asked to. What somebody is just at work on is left alone.
/// `directory` as in a configuration. Calls `each` for every one until that returns false; returns how many, or a negative errno.
/// Bound: for each file of the directory constant, for each companion a walk along the directory. Never waits.
int tidings_stale_files(const char *directory, bool delete_them, bool (*each)(void *context, const tidings_stale_file *stale_file), void *context);

#ifdef __cplusplus
}
#endif

#endif
