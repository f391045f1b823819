/// Tidings: notifications between processes on one machine, through a ring in shared memory.
///
/// A *center* is one ring in shared memory: a file, or, if it is *sealed*, memory without a name. A *poster* adds
/// notifications to it; an *observer* receives those that match its names and subjects. A *reader* is an observer whose
/// process may not write to the center. A notification's *position* is its number in the center's one order; the ring
/// stores it in a *slot*. A payload that does not fit a slot takes a *chunk* of the center's payload memory.
///
/// # Promises
///
/// The same promises, in full: Docs/Guarantees.md.
///
/// - **Order.** A center has one order. Every observer receives its matching notifications in that order, regardless of
///   their posters. The sequence number grows by one with each post. It skips a number if a poster died before its
///   commit, or was revoked.
/// - **Delivery.** An observer receives each matching notification posted after its registration returned, once.
/// - **Loss.** An observer that falls a whole ring behind receives the exact number of matching notifications it
///   missed, before the next notification. A post that the death of its poster cut short may count as one. Nothing is
///   dropped silently.
/// - **Posting.** A post never waits for another process, unless it waits for a lossless observer. A poster that is
///   killed at any instruction delays no other process and corrupts nothing. A poster that is stopped in the middle of
///   a post delays observers once, by a few milliseconds. It does not delay other posters, and corrupts nothing.
/// - **Cost.** An awake observer costs posters nothing. A sleeping observer costs a post on its names one wake-up. A
///   post on other names costs it nothing.
/// - **Lossless observers.** An observer can be lossless, if it asks for that. Then posters are held back, or receive
///   -EAGAIN or -ETIMEDOUT, rather than overwrite what the observer has not received. A dead lossless observer is
///   noticed at once.
/// - **Late registration.** A new observer can first receive the retained notification of its name, if there is one. On
///   request it also receives the notifications that are still in the ring.
/// - **End of a center.** If a center is removed, unlinked or replaced, each of its observers wakes and receives
///   -ESTALE, after the notifications posted before. Each post returns -ESTALE. Posters and observers learn of it
///   within a second. An idle process sleeps without a timer where the kernel offers inotify; a reader wakes once a
///   second. The limit: a directory that is moved away takes its centers along. Another center at the old path is no
///   end of them.
/// - **Death, fork and exec.** After a process dies, nothing has to be cleaned up. A forked child can post through the
///   same center. An observer belongs to the process that opened it (-ECHILD in every other process). The limit: a
///   child made by `_Fork`, `vfork` or raw `clone` runs no fork handlers and keeps its parent's locks. If the parent
///   dies, other processes take the parent for alive until that child calls `exec` or ends. A child that was forked in
///   a signal handler, above a call of this library, must not return from the handler. A handler must not fork above a
///   call that opens, creates, closes, sends or receives a center: `fork` would wait for that call for ever.
/// - **Presence.** A participant can announce itself. Its joining, its leaving and its death are notifications in the
///   center's order. Its death is reported once, together with its last will, unless every participant that announced
///   itself or watches is dead; then the next one reports it. See "Presence" below.
/// - **Requests.** Exactly one server of a name receives each request. Each call ends once: with a reply, at once
///   without a server, or within milliseconds after its server ended. See "Requests" below.
/// - **Trust.** A center belongs to its owner (mode 0600), unless its creator asks for another mode. A peer with write
///   access can spoil the center's data. It can never make another process crash, hang or over-read. There is one
///   exception: it can truncate the center's file, or punch holes into it. A *sealed* center rules that out too. An
///   observer can be given read-only access.
/// - **Time.** Every function states an upper bound of processor time, whatever the shared memory contains.
///
/// # Bounds
///
/// Each function has a line that begins with *Bound*. It states what the function costs at most, and whether it waits.
/// The classes:
///
/// | class | processor time | what the function does at most |
/// |---|---|---|
/// | *constant* | microseconds | reads some words |
/// | *copy* | as `memcpy` of what it moves | constant, and the payload or text |
/// | *walk* | 20 ms, 250 ms in the largest center | one or a few walks along the tables (see below) |
/// | *rare walk* | constant otherwise | a walk when room is needed: evict, table full, participant died |
///
/// The tables are: participants, observers, names, slots. The 20 ms are for a center of the default shape. The largest
/// center has 2^20 slots, 4,096 participants and 2^20 names. A rare walk happens when the ring is evicted, a table is
/// full, or a participant died.
///
/// The two figures hold for optimized code on a machine of 2026, in spoiled centers too. A test allows four times as
/// much (Docs/Testing.md). One walk reclaims all dead participants, so their number adds nothing. Three costs come on
/// top: copying a payload, and the kernel's time to give or take back memory and to wake sleeping observers.
///
/// *Waits*: the call may sleep, for as long as its line says. It holds no lock of the process meanwhile.
/// *Never waits*: the call waits for no other process. It waits only for threads that change the same handle.
///
/// # Limits
///
/// - A payload has at most the center's `maximum_payload` bytes (16 MiB unless configured).
/// - A name has 1 to 255 bytes of UTF-8 without NUL. A subject has 0 to 255 bytes, likewise.
/// - A center's name has 1 to 200 bytes of UTF-8 without NUL and '/', and does not begin with '.'.
/// - A notification stays in the ring until the ring has gone round (4,096 notifications unless configured). If its
///   payload does not fit a slot, it stays until its chunk is needed (16 chunks of the largest size, 512 of 1 KiB).
/// - An observer uses memory for payloads: at most the largest payload so far, 12 % and a page. With
///   `tidings_observer_lend`, large payloads go to memory of the caller instead. With
///   `tidings_observer_in_place` they stay in the center. A server uses as much for requests, a caller for replies.
///
/// # Conventions
///
/// Every function returns 0 or a negative `errno`, unless it says otherwise. After a failure `tidings_last_error()` is
/// one line: what was tried on what, why it failed, and what to do. Handles are opaque.
///
/// All functions may be called from any thread. Only one thread at a time may call `tidings_next` or
/// `tidings_observer_await_successor` of one observer. A signal handler may call only functions marked
/// *async-signal-safe*.
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
#define TIDINGS_ROLE_MAX 64          ///< bytes in the role of an announced participant

typedef struct tidings_center tidings_center;        ///< an open center: one participant
typedef struct tidings_publisher tidings_publisher;  ///< a name, with or without a subject, prepared for posting
typedef struct tidings_observer tidings_observer;    ///< a cursor in the order, and subscriptions to names

#define TIDINGS_HOLDS_MAX 31  ///< payloads that one handle of a center can hold in place (`tidings_hold`)

// MARK: Opening

/// Sizes and access of a center. All zero is the default. The creator's sizes count; a process that opens an existing
/// center takes that center's sizes.
typedef struct tidings_configuration {
    const char *directory;     ///< the directory of centers; NULL: $TIDINGS_DIRECTORY, or /dev/shm
    uint64_t maximum_payload;  ///< bytes, 1 to 1 GiB; 0: 16 MiB
    uint32_t slots;            ///< notifications in the ring: a power of two, 256 to 2^20; 0: 4,096
    uint32_t participants;     ///< processes at a time, 2 to 4,096; 0: 512
    uint32_t observers;        ///< observer handles at a time, 2 to 1,024; 0: 1,024
    uint32_t names;            ///< observed names, 64 to 2^20; 0: 131,072
    /// Permission bits of the file; 0: 0600. A user with permission to read and not to write may observe (0644: every
    /// user, 0640: the group). See TIDINGS_OPEN_READ_ONLY.
    uint32_t mode;
    uint32_t flags;  ///< TIDINGS_OPEN_…
    uint32_t owner;  ///< with TIDINGS_OPEN_OWNER: the user that owns the center
    uint32_t group;  ///< with TIDINGS_OPEN_GROUP: the group that the center's file is given to
} tidings_configuration;

enum {
    TIDINGS_OPEN_EXISTING = 1,   ///< do not create: -ENOENT if there is no such center
    TIDINGS_OPEN_EXCLUSIVE = 2,  ///< create only: -EEXIST if there is one
    /// Opens the center of user `owner`, not that of this process's (effective) user. If the two differ, the center is
    /// never created.
    TIDINGS_OPEN_OWNER = 4,
    TIDINGS_OPEN_GROUP = 8,  ///< if it is created, its file belongs to `group`: -EPERM if this process isn't in it
    /// Maps the center for reading, and needs permission to read only. Observers work, except lossless ones, if `mode`
    /// gives a user read access without write access. State and statistics can be read; posting is -EACCES. Such a
    /// process cannot stop or damage other processes, whatever code it runs. It can use up the memory that the file may
    /// ever take.
    TIDINGS_OPEN_READ_ONLY = 16,
    /// Opens the center also in a directory where another user may rename files, and so replace the center. Such a
    /// directory is writable for its group or every user without the sticky bit. Or it belongs to a user other than
    /// root, this process's (effective) user and `owner`. Without this flag: -EPERM. Opening checks the directory's own
    /// mode and owner, and not those of its parents.
    TIDINGS_OPEN_SHARED_DIRECTORY = 32,
};

/// A configuration for little memory: 512 slots and 256 KiB in all (plus payloads that do not fit a slot).
extern const tidings_configuration tidings_small_configuration;

/// Opens the center of that name, and makes this process a participant of it. If there is no such center, creates it
/// first.
///
/// - -EINVAL: the name or the configuration is invalid.
/// - -ENOSPC: the directory's file system is full; the error line states how much is needed.
/// - -EACCES: no permission.
/// - -EPERM: it is another user's center, or another user may rename files in the directory
///   (TIDINGS_OPEN_SHARED_DIRECTORY).
/// - -ESTALE: another process has been removing the center for two seconds.
/// - -EBADMSG: the file is not a center, or is damaged. -EPROTO: another major version of the format, or another layout
///   (built for another architecture), or the center needs a feature that this program does not have.
/// - -ENOENT, -EEXIST: see TIDINGS_OPEN_EXISTING and TIDINGS_OPEN_EXCLUSIVE.
/// - -EUSERS: all participant entries are taken.
/// - -EROFS, -ENOMEM, -EMFILE: as the kernel reports them.
///
/// Not async-signal-safe.
/// Bound: walk. Waits up to two seconds while another process removes that center, without holding up other openings,
/// closings or forks.
int tidings_open(const char *name, const tidings_configuration *configuration, tidings_center **center);

/// Leaves the center. NULL is ignored. Ends the handle's announcement, if it has one (`tidings_withdraw`).
/// The caller must close the publishers, observers, servers and callers of this handle before, and release the payloads
/// that it holds (`tidings_release`). No other thread may be
/// in a function of the handle, or call one later: its memory is freed. To end threads that wait, call
/// `tidings_observer_interrupt`, `tidings_server_interrupt` or `tidings_caller_interrupt`, and join the threads.
/// Bound: walk along the chunks; the kernel unmaps the file. Never waits, unless the handle is announced or watches:
/// then as `tidings_withdraw`.
void tidings_close(tidings_center *center);

/// Deletes the center's file: no process can open it any more. In processes that have it open, the next post returns
/// -ESTALE. Observers wake, and `tidings_next` returns -ESTALE after the notifications posted before. Never touches a
/// file that is not a center.
/// Bound: constant; the kernel frees the file with its last user. Waits up to two seconds while another process removes
/// it.
int tidings_remove(const char *name, const tidings_configuration *configuration);

/// Creates a center without a file: unnamed memory, for peers that receive it by `tidings_send`. Its size is sealed, so
/// no peer can truncate it, whatever code the peer runs. Truncation is the one way in which a center with a file can
/// make a process crash. `name` is for messages only; it cannot be opened. The center ends with the last process that
/// has it. `configuration->directory` is ignored. Fails like `tidings_open`.
/// Bound: walk (the kernel gives the memory). Never waits.
int tidings_create_sealed(const char *name, const tidings_configuration *configuration, tidings_center **center);

enum {
    /// The receiver may observe and not post (TIDINGS_OPEN_READ_ONLY), if `mode` gives a user read access without write
    /// access.
    TIDINGS_SEND_READ_ONLY = 1,
};

/// Sends a sealed center to the process at the other end of a Unix socket.
///
/// The sender needs /proc. The receiver needs access to nothing else: no directory, and no /proc. A child that the
/// receiver forks needs /proc to continue with the center, and permission to open it, by `mode`. Otherwise the child
/// receives -ECHILD. A read-only receiver that runs as another user, or without /proc, cannot gain write access.
///
/// -EINVAL: the center is not sealed. -EACCES: more access than this process has itself. Other errors are those of
/// `sendmsg`.
/// Bound: constant. Waits as `sendmsg` does on that socket.
int tidings_send(tidings_center *center, int socket, uint32_t flags);

/// Receives a center sent by `tidings_send`, and becomes a participant of it. Waits as `recvmsg` does on that socket
/// (-EAGAIN, if the socket does not wait).
///
/// Trusts no sender: a center that is not sealed is refused (-EPERM), and all checks of `tidings_open` apply.
///
/// - -EBADMSG, -EMSGSIZE: the message is something else.
/// - -EMFILE: more descriptors came than this process may have; they are lost.
/// - -ECONNRESET: nothing came, and the other end is closed.
/// - -EFBIG: the center has more than TIDINGS_RECEIVE_MAX bytes. The sender chooses the size, and the receiver reserves
///   that much address space.
/// Bound: walk. Waits as `recvmsg` does on that socket.
int tidings_receive(int socket, tidings_center **center);

#define TIDINGS_RECEIVE_MAX (UINT64_C(1) << 30)  ///< bytes

/// Like `tidings_receive`, with a limit of the receiver's own. A center of more than `largest` bytes is refused
/// (-EFBIG) before any of it is mapped.
/// Bound: walk. Waits as `recvmsg` does on that socket.
int tidings_receive_at_most(int socket, uint64_t largest, tidings_center **center);

/// The directory of centers if a configuration names none: $TIDINGS_DIRECTORY, or /dev/shm. A program that runs with
/// more rights than its caller ignores the variable. The text is as written: if it does not begin with '/', it counts
/// from the current directory. Valid until the program changes its environment. Never fails.
/// Bound: constant. Never waits.
const char *tidings_default_directory(void);

/// The path of the center's file, for messages ("/memfd:<name>" for a sealed center). Valid as long as the handle.
/// Bound: constant. Never waits.
const char *tidings_path(const tidings_center *center);

/// The center's incarnation: a random number other than 0 that distinguishes a center from its successors of the same
/// name. Constant for the handle's life. Async-signal-safe.
/// Bound: constant. Never waits.
uint64_t tidings_incarnation(const tidings_center *center);

/// 0 while the center continues; -ESTALE once this process knows that the center has ended.
///
/// A center ends when it is removed, or its file is unlinked. It also ends when, in the directory it was opened in, its
/// path leads to another file or to none. If that directory itself is moved away, the center continues there. Another
/// center that then gets the path is no end of this one. A sealed center has no file and never ends this way.
///
/// Asks the kernel at once, with at most three `stat` calls; never blocks. After -ESTALE, notifications posted before
/// can still be received; statistics and participants can still be read. Async-signal-safe while it returns 0.
/// Bound: constant. Never waits.
int tidings_ended(tidings_center *center);

/// One line about the last failure of a tidings function on this thread; "" if there was none. Valid until the thread's
/// next call.
/// Bound: constant. Never waits.
const char *tidings_last_error(void);

/// The process that held a post back: one of its lossless observers was a whole ring behind. Or it holds most of the
/// chunks that are large enough (`tidings_hold`).
typedef struct tidings_holder {
    int32_t pid;           ///< its process id, in its own pid namespace; 0 if a peer has damaged its entry
    uint32_t participant;  ///< its number, as in `tidings_delivery` and for `tidings_participant`
    bool own;              ///< it is the calling process
} tidings_holder;

/// Tells which process held the last failed post of this thread back, after -EAGAIN or -ETIMEDOUT. 0, or -ENOENT: the
/// thread's last failure has no holder, also if all chunks were being filled (-EAGAIN). `*holder` is zero then. Call it
/// before the thread's next call of a tidings function.
///
/// Promise: changes neither `errno` nor the error line. The process may have ended by now. Not async-signal-safe.
/// Bound: constant. Never waits.
int tidings_last_error_holder(tidings_holder *holder);

/// Replaces the error line of this thread. For libraries over this one, so that their callers read one error line.
/// Bound: copy of the line. Never waits.
void tidings_last_error_set(const char *line);

// MARK: Posting

/// Prepares a name (and a subject, or NULL) for posting. -EINVAL: the name is empty; or the name or subject is too
/// long, holds a NUL, or isn't UTF-8; or the name is TIDINGS_PRESENCE_NAME.
/// Bound: constant. Never waits.
int tidings_publisher_open(tidings_center *center, const char *name, size_t name_length, const char *subject,
                           size_t subject_length, tidings_publisher **publisher);
/// Closes a publisher.
/// Bound: constant. Never waits.
void tidings_publisher_close(tidings_publisher *publisher);

/// Prepares a name in memory of the caller, for a caller without a heap (a signal handler) or with stack memory.
/// `memory` must be aligned to 8 bytes and hold `tidings_publisher_size` bytes, or -EINVAL. The publisher is never
/// closed: it ends with its memory. Async-signal-safe, as long as it succeeds.
/// Bound: constant. Never waits.
int tidings_publisher_place(tidings_center *center, const char *name, size_t name_length, const char *subject,
                            size_t subject_length, void *memory, size_t size, tidings_publisher **publisher);
/// The size in bytes of a publisher with a name and subject of these lengths; at most TIDINGS_PUBLISHER_SIZE_MAX.
/// Async-signal-safe.
/// Bound: constant. Never waits.
size_t tidings_publisher_size(size_t name_length, size_t subject_length);
#define TIDINGS_PUBLISHER_SIZE_MAX 768

enum {
    TIDINGS_FORMAT_BYTES = 0,    ///< any bytes that poster and observer agreed on
    TIDINGS_FORMAT_CBOR = 1,     ///< RFC 8949
    TIDINGS_FORMAT_BITWISE = 2,  ///< 8 bytes of layout fingerprint, then the value as it lies in memory
    TIDINGS_FORMAT_JSON = 3,     ///< RFC 8259
    TIDINGS_FORMAT_TEXT = 4,     ///< UTF-8
};

enum {
    /// Keeps the notification for observers that register later, until the next retained one of the same name replaces
    /// it. Not with a subject: -EINVAL.
    TIDINGS_POST_RETAIN = 1,
    /// Reported to observers (TIDINGS_DELIVERY_IMMEDIATE), not interpreted: for observers that defer deliveries.
    TIDINGS_POST_IMMEDIATE = 2,
    TIDINGS_POST_SECTIONS = 4,  ///< the notification has the sections of `sections`
    /// With TIDINGS_POST_SECTIONS: the post fails rather than leave them out.
    TIDINGS_POST_SECTIONS_REQUIRED = 8,
};

/// The types of sections. A section is a block of typed bytes beside the payload. The library does not interpret its
/// bytes. The first three are for the values of the HTTP headers of the same names.
enum {
    TIDINGS_SECTION_TRACEPARENT = 1,  ///< W3C Trace Context
    TIDINGS_SECTION_TRACESTATE = 2,   ///< likewise
    TIDINGS_SECTION_BAGGAGE = 3,      ///< W3C Baggage
    /// Where the notification comes from: a relay posted it for a center of another machine (Docs/Design/Relay.md).
    TIDINGS_SECTION_ORIGIN = 4,
};

/// The most bytes of all sections of one notification, including a header of 8 bytes for each section and one of
/// 8 bytes for the area. The bytes of each section are rounded up to a multiple of 8.
#define TIDINGS_SECTIONS_MAX 1024u

/// A section to post. Several sections of a notification may have the same type: `tidings_delivery_section` finds the
/// first of them.
typedef struct tidings_section {
    const void *bytes;  ///< may be NULL if `size` is 0
    size_t size;    ///< in bytes
    uint16_t type;  ///< TIDINGS_SECTION_…
} tidings_section;

/// How to post. All zero is the default.
typedef struct tidings_post_options {
    uint8_t format;     ///< TIDINGS_FORMAT_…, reported to observers, not interpreted
    uint8_t flags;      ///< TIDINGS_POST_…
    uint16_t section_count;  ///< with TIDINGS_POST_SECTIONS: of `sections`; 0: no sections
    /// How long a lossless observer may hold this post back: 0 not at all (-EAGAIN), > 0 nanoseconds (-ETIMEDOUT), -1
    /// without end. The caller's own lossless observer counts too: if this thread is the one that reads it, give a
    /// limit.
    int64_t timeout_ns;
    /// With TIDINGS_POST_SECTIONS. Read during the post only. Sections take room in a slot. They do not count towards
    /// the maximum payload. They make no post fail for lack of memory: if there is none for them, the notification is
    /// posted without them, unless TIDINGS_POST_SECTIONS_REQUIRED is set. With a timeout, a post waits for memory that
    /// has room for them.
    const tidings_section *sections;
} tidings_post_options;

/// Posts a notification. `options` may be NULL. `sequence` (or NULL) receives its position in the center's order.
///
/// Promise: never waits for another process, unless a lossless observer is a whole ring behind and a timeout was
/// given. If it fails, nothing was posted.
///
/// - -EMSGSIZE: the payload is larger than the center's maximum, or the sections than TIDINGS_SECTIONS_MAX.
/// - -EINVAL: a section has none of the types above.
/// - -ENOSPC: no memory for a payload that does not fit a slot. In a center that readers may observe, also: no entry
///   for one more name.
/// - -EAGAIN, -ETIMEDOUT: a lossless observer holds the post back (`timeout_ns`); `tidings_last_error_holder` names its
///   process. -EAGAIN also, at once: all chunks that are large enough are being filled, have retained values or last
///   wills, or are held (`tidings_hold`). If more than a third are held, and more than have values or wills,
///   `tidings_last_error_holder` names the process that holds most of them.
/// - -ESTALE: the center was removed, unlinked or replaced. Posts check this about four times a second.
/// - -EBUSY: as many posts as there are slots have been stopped half-way, or peers have revoked this one
///   1,000 times, or again and again for 5 ms of processor time, or have used the room that this one made so long.
/// - -EBADMSG: a peer has damaged the center.
/// - -EBADF: the program closed the center's descriptor (see `tidings_next`).
///
/// Async-signal-safe, as long as it succeeds, for payloads up to 128 bytes under a name and subject of up to 64 bytes
/// together, without TIDINGS_POST_RETAIN.
/// Bound: copy, and a rare walk. It wakes each observer that sleeps on the name: four or more of a group of 64
/// observers may share one system call, each other one takes its own. Waits only for lossless observers, at most
/// `timeout_ns`. Dead ones cost it one walk together, however many a peer makes meanwhile.
int tidings_post(tidings_publisher *publisher, const void *payload, size_t size, const tidings_post_options *options,
                 uint64_t *sequence);

/// A payload of `tidings_post_many`.
typedef struct tidings_payload {
    const void *bytes;  ///< may be NULL if `size` is 0
    size_t size;
} tidings_payload;

/// Posts `count` notifications in the order of `payloads`, as `tidings_post` posts each, at a lower price: up to 256 of
/// them share one reading of the clock, and so one `posted_at_ns`. The lower price needs `options->flags` of 0,
/// payloads that fit a slot, and a center without readers (`mode`). Each notification has its own position, and is
/// delivered as soon as it is posted. Notifications of other threads and processes may stand between two of them. If
/// the process is killed in this call, the payloads before that point are posted. No other process is delayed.
///
/// If one can't be posted, the call returns that error, as `tidings_post` does, and the later ones are not posted. If
/// `count` is 0, the call returns 0. `posted` (or NULL) receives how many were posted, with and without an error.
/// `sequences` (or NULL) has room for `count` positions. It receives those of the posted notifications; its entries
/// from `*posted` on are unchanged. `options` (or NULL) hold for each; `options->timeout_ns` begins anew for each.
///
/// Async-signal-safe under the conditions of `tidings_post`.
/// Bound and waiting: as `tidings_post`, for each of them.
int tidings_post_many(tidings_publisher *publisher, const tidings_payload *payloads, size_t count,
                      const tidings_post_options *options, size_t *posted, uint64_t *sequences);

/// Memory of the center to build a payload in, private to the caller until it is posted. Two threads can't share one.
typedef struct tidings_reservation {
    void *bytes;        ///< write the payload here
    size_t capacity;    ///< bytes that fit
    uint64_t internal;  ///< private to the library
} tidings_reservation;

/// Reserves at least `capacity` bytes. -EMSGSIZE, -ENOSPC, -EAGAIN: as `tidings_post` without a timeout.
/// Bound: rare walk. Never waits.
int tidings_reserve(tidings_center *center, size_t capacity, tidings_reservation *reservation);
/// Enlarges a reservation to at least `capacity` bytes. Keeps the first `used` bytes; `bytes` may change. If it fails,
/// the reservation is as before. -EINVAL: it was posted or abandoned. Otherwise as `tidings_reserve`.
/// Bound: copy of `used` bytes, and a rare walk. Never waits.
int tidings_reserve_more(tidings_center *center, tidings_reservation *reservation, size_t used, size_t capacity);
/// Posts the first `size` bytes of a reservation. `options` may be NULL. The reservation is used up, also on failure. A
/// small payload is moved into a slot; a larger one stays in its chunk, unless the chunk has no room for sections.
/// Bound and waiting: as `tidings_post`; a large payload is not copied.
int tidings_post_reserved(tidings_publisher *publisher, tidings_reservation *reservation, size_t size,
                          const tidings_post_options *options, uint64_t *sequence);
/// Gives a reservation back unposted.
/// Bound: constant. Never waits.
void tidings_abandon(tidings_center *center, tidings_reservation *reservation);

// MARK: Observing

enum {
    /// Posters are held back rather than overwrite what this observer has not received. Its names are added before the
    /// first `tidings_next` (-EBUSY later).
    TIDINGS_OBSERVE_LOSSLESS = 1,
    /// The observer receives no payloads and no sections: a delivery states the payload's size, and `payload` is "".
    /// If the center can be written to, `tidings_next` with time-out 0 is async-signal-safe for such an observer. The
    /// condition: it has been called once after the last change of names. Still one call at a time.
    TIDINGS_OBSERVE_BARE = 2,
};

/// Opens an observer without names. It starts at the end of the order, or where `tidings_observer_seek` puts it.
///
/// -EUSERS: all observer entries of the center are taken. -ESTALE: the center has ended. -EACCES: the handle is
/// read-only, and either a lossless observer was asked for, or the center's `mode` admits no readers.
///
/// The first observer of a process starts one helper thread, for all centers. The thread sleeps until one of their
/// files is deleted or replaced. If the kernel refuses it (the user's inotify instances, threads, kernels before 5.9),
/// a waiting observer checks the file twice a second instead.
/// Bound: constant; when all entries are taken, a walk that reclaims those of all dead participants. Never waits.
int tidings_observer_open(tidings_center *center, uint32_t flags, tidings_observer **observer);
/// Closes an observer.
/// Bound: constant for each name it observes; one walk along the prefixes if it observes a prefix. Waits until the
/// helper thread of `tidings_observer_descriptor` has ended.
void tidings_observer_close(tidings_observer *observer);

enum {
    /// Delivers the retained notification of this name first, if there is one. For many names: that of each, in the
    /// order in which they were posted.
    TIDINGS_ADD_RETAINED = 1,
    /// Also delivers what is already in the ring, from the observer's cursor on (`tidings_observer_seek`). Only before
    /// the first `tidings_next`: -EBUSY later.
    TIDINGS_ADD_HISTORY = 2,
    /// Observes every name that begins with `name`, compared by bytes, and `name` itself.
    TIDINGS_ADD_PREFIX = 4,
};

/// The limit of prefixes that all observers of a center can observe together. Equal prefixes count once.
#define TIDINGS_PREFIXES_MAX 256u

/// Subscribes to a name; if `name` is NULL, to all names. With a subject, only to notifications posted with that
/// subject. `subscription` receives a number, unique in this observer, that deliveries refer to. The same name may be
/// added more than once.
///
/// Promise: every matching notification posted after this returned is delivered. Another thread may wait in
/// `tidings_next` meanwhile.
///
/// -ENOSPC: no room for more names or prefixes, or 4,096 names whose hash ends like this one's. -ESTALE: the center has
/// ended. -ECHILD: the observer was opened before a fork. -EBADF: as `tidings_next`.
///
/// A subscription to many names (TIDINGS_ADD_PREFIX, or all names) takes no subject: -EINVAL. Read the delivery's
/// subject instead. What such a subscription missed is reported under `name` as given here, exactly. A reader can't
/// subscribe to a prefix (-EACCES): no writer would count what it misses.
/// Bound: walk along the ring, with TIDINGS_ADD_RETAINED of many names also along the names, and a copy of the names
/// that it observes. Waits up to 100 ms in all for unfinished posts in the ring, which are then revoked. Waits for a
/// `tidings_next` under way only while that reads the names.
int tidings_observer_add(tidings_observer *observer, const char *name, size_t name_length, const char *subject,
                         size_t subject_length, uint32_t flags, uint32_t *subscription);
/// Ends a subscription. After this returned, nothing is delivered for it. -ENOENT: there is no such subscription.
/// Bound: a copy of the names that it observes, and as `tidings_observer_close` for this one. Waits for
/// a `tidings_next` under way only while that reads the names.
int tidings_observer_remove(tidings_observer *observer, uint32_t subscription);
/// Ends `count` subscriptions together, or none of them. Costs one copy of the names that the observer observes, where
/// `tidings_observer_remove` of each costs one copy each. -ENOENT: at least one number is no subscription of this
/// observer, or occurs twice. -ENOMEM: no memory for the copy. After both, every subscription goes on.
/// Bound: a copy of the names that it observes, a sort of the numbers, and as `tidings_observer_close` for these. Waits
/// for a `tidings_next` under way only while that reads the names.
int tidings_observer_remove_many(tidings_observer *observer, const uint32_t *subscriptions, size_t count);

/// Moves the cursor: UINT64_MAX to the end, 0 to the oldest notification in the ring, otherwise to that sequence (or
/// the oldest after it). Only before the first `tidings_observer_add`: -EBUSY later. -ERANGE: the sequence is beyond
/// the end; it belongs to another center or was never posted. After the addition with TIDINGS_ADD_HISTORY,
/// `tidings_observer_position` tells where the observer begins: the ring may have lost more by then, and a lossless
/// observer begins behind the up to 64 positions that are being evicted.
/// Bound: constant. Never waits.
int tidings_observer_seek(tidings_observer *observer, uint64_t sequence);

/// Moves the cursor behind a sequence of that incarnation (`tidings_incarnation`), or to the oldest after it. Use it
/// to continue where an earlier observer stopped. Only before the first `tidings_observer_add`: -EBUSY later.
/// -ESTALE: the incarnation is another center's, so the sequence has no meaning here. -ERANGE: the sequence is beyond
/// the end.
/// Bound: constant. Never waits.
int tidings_observer_seek_after(tidings_observer *observer, uint64_t incarnation, uint64_t sequence);

enum {
    TIDINGS_DELIVERY_MESSAGE = 0,  ///< a notification
    TIDINGS_DELIVERY_MISSED = 1,   ///< `missed` notifications of `subscriptions[0]` were lost to this observer
};

enum {
    TIDINGS_DELIVERY_RETAINED = 1,   ///< a retained notification, posted before the subscription
    TIDINGS_DELIVERY_OWN = 2,        ///< posted through this process's own handle of the center
    TIDINGS_DELIVERY_IMMEDIATE = 4,  ///< posted with TIDINGS_POST_IMMEDIATE
    TIDINGS_DELIVERY_CLEARED = 8,    ///< the name's retained value was cleared (`tidings_state_set`): no payload
    TIDINGS_DELIVERY_PRESENCE = 16,  ///< a notice of presence: see `tidings_presence_read`
    TIDINGS_DELIVERY_WILL = 32,      ///< the last will of a participant that died (`tidings_announce`)
    TIDINGS_DELIVERY_IN_PLACE = 64,  ///< `payload` lies in the center (`tidings_observer_in_place`)
    TIDINGS_DELIVERY_SECTIONS = 128,  ///< it has sections (`tidings_delivery_section`)
    TIDINGS_DELIVERY_STATE = 256,     ///< it set or cleared the retained value of its name (`tidings_state_set`)
};

/// What `tidings_next` delivers. Pointers are valid until the observer's next call; see also `tidings_hold`.
typedef struct tidings_delivery {
    int32_t kind;                   ///< TIDINGS_DELIVERY_MESSAGE or …_MISSED
    uint32_t flags;                 ///< TIDINGS_DELIVERY_RETAINED and the like
    uint64_t sequence;              ///< its position in the order (of a MISSED: the position where delivery continues)
    uint64_t missed;                ///< how many (MISSED only)
    const uint32_t *subscriptions;  ///< the subscriptions it matches
    size_t subscription_count;      ///< at least 1
    const char *name;               ///< UTF-8, NUL-terminated too
    size_t name_length;
    const char *subject;  ///< UTF-8, NUL-terminated too; "" if none
    size_t subject_length;
    /// The observer's copy, aligned to 16 bytes; or the caller's (`tidings_observer_lend`); or it lies in the center,
    /// aligned to 64 bytes (TIDINGS_DELIVERY_IN_PLACE).
    const void *payload;
    size_t size;
    /// CLOCK_REALTIME. Exact for a thread's first post in a kernel tick; later posts of the tick carry the same time.
    uint64_t posted_at_ns;
    int32_t pid;           ///< the poster's, in its own pid namespace, as the poster states it
    uint32_t uid;          ///< the poster's, as the poster states it
    uint32_t participant;  ///< the index of the poster's entry, for `tidings_participant`
    uint8_t format;        ///< TIDINGS_FORMAT_…
    /// Private to the library, and set only with TIDINGS_DELIVERY_SECTIONS. The observer's copy, also of a payload in
    /// place; `tidings_hold` does not hold it.
    const void *sections;
    size_t sections_size;
} tidings_delivery;

/// The bytes of the delivery's first section of that type (TIDINGS_SECTION_…), aligned to 8 bytes, and their number in
/// `*size` (`size` must not be NULL). NULL, and 0: it has none. They are as their poster wrote them: check what they
/// are. Valid as long as the delivery's `name`, and after `tidings_hold` not beyond `tidings_release`.
/// Async-signal-safe.
/// Bound: constant. Never waits.
const void *tidings_delivery_section(const tidings_delivery *delivery, uint16_t type, size_t *size);

/// Takes the next delivery. Waits up to `timeout_ns` for one: 0 not at all, -1 without end. While it waits it sleeps:
/// no CPU, no timer.
///
/// - -EAGAIN (nothing to deliver, with 0), -ETIMEDOUT, -EINTR (`tidings_observer_interrupt`): these three leave the
///   error line unchanged.
/// - -ECHILD: the observer was opened before a fork.
/// - -ENOMEM: no memory for the payload; the notification counts as missed.
/// - -EBADF: the program closed the center's descriptor, and other processes took this one for dead. Open the center
///   again.
/// - -ESTALE: the center was removed, unlinked or replaced, and everything in it has been delivered. Each later call
///   returns -ESTALE too. Close the observer.
/// Bound: copy, a walk along the records in the ring that are not for this observer and, when it was lapped, along its
/// names. Waits up to `timeout_ns`; with 0 never, but for a post in the ring that is not finished: a few milliseconds
/// until it is revoked.
int tidings_next(tidings_observer *observer, int64_t timeout_ns, tidings_delivery *delivery);

#define TIDINGS_NEXT_MANY_MAX 64u  ///< the most deliveries of one call

/// Takes the next delivery as `tidings_next` does, and the ones after it that are already there, at a lower price. It
/// takes up to `count` together, and up to TIDINGS_NEXT_MANY_MAX. Returns how many; 0 if `count` is 0; or an error of
/// `tidings_next`.
///
/// All of them stay valid until the observer's next call. After an error, `deliveries` are unspecified. The first
/// delivery may be of any kind. The call stops before a later delivery that does not meet these conditions:
///
/// - The payload lies in the slot (at most 200 bytes), and the name in an entry of the center, not in the slot.
/// - It has no subject and no sections. It was posted without TIDINGS_POST_RETAIN and TIDINGS_POST_IMMEDIATE.
/// - It matches one subscription, which is to its exact name, and the observer has none to many names.
/// - The observer is no reader, and has no descriptor (`tidings_observer_descriptor`).
///
/// The next call takes the delivery before which this one stopped. To take all deliveries, call with time-out 0 until
/// -EAGAIN. A payload in place (`tidings_observer_in_place`) always comes alone; `tidings_hold` holds no payload that
/// came with others.
///
/// The memory of the first call, 13 KiB, stays with the observer. If there is none, each call takes one delivery. Not
/// async-signal-safe.
/// Bound: as `tidings_next`, for each of them. Waits as `tidings_next`, for the first one alone.
int tidings_next_many(tidings_observer *observer, int64_t timeout_ns, tidings_delivery *deliveries, size_t count);

/// Returns memory of `size` bytes, aligned to 16, or NULL. See `tidings_observer_lend`.
typedef void *(*tidings_allocate)(void *context, size_t size);

#define TIDINGS_LEND_MIN 4096u  ///< bytes: smaller payloads always go to the observer's own memory

/// From the next delivery on, the observer copies each payload of `from` bytes or more into memory of the caller. The
/// caller can then keep a large payload without a second copy. If `allocate` is NULL, payloads go to the observer's own
/// memory, as in the beginning.
///
/// Promise: `tidings_next` calls `allocate` with `context` for each such payload, and returns the payload at the
/// address that `allocate` returned. `tidings_observer_add` with TIDINGS_ADD_HISTORY calls it too, for payloads that it
/// reads in the ring. `size` is the payload's size and at most 1,552 bytes more. The memory is the caller's. The
/// observer never frees it, and no longer uses it once `tidings_next` or `allocate` is called again. If a payload is
/// lost during its copy, one `tidings_next` calls `allocate` more than once. The observer frees its own memory for
/// payloads first: it never has both.
///
/// -EINVAL: `from` is less than TIDINGS_LEND_MIN. If `allocate` returns NULL, the payload counts as missed, and
/// `tidings_next` returns -ENOMEM. `allocate` must return, and must call no function of this library. An observer
/// without payloads (TIDINGS_OBSERVE_BARE) never calls it. Only the thread that calls `tidings_next` may call this,
/// between two calls.
/// Bound: constant. Never waits.
int tidings_observer_lend(tidings_observer *observer, size_t from, tidings_allocate allocate, void *context);

/// From the next delivery on, the observer delivers each payload of `from` bytes or more *in place*, without a copy
/// (TIDINGS_DELIVERY_IN_PLACE): `payload` points into the center. This includes retained values. No poster writes there
/// until the observer's next `tidings_next`, or until `tidings_release` (`tidings_hold`). If `from` is SIZE_MAX, the
/// observer copies all payloads, as in the beginning. A payload of less than 4 KiB is copied in less time than it is
/// held.
///
/// A payload is copied nevertheless in these cases:
///
/// - It has at most 200 bytes.
/// - The process may not write to the center (a reader).
/// - This handle of the center holds TIDINGS_HOLDS_MAX payloads already.
/// - The notification leaves the ring at that moment.
/// - There is no memory to note the hold.
///
/// This takes precedence over `tidings_observer_lend`, which is asked for memory only if a payload is copied. A peer
/// that does not keep to the rules can change a payload in place while it is read: read each byte once, or check again
/// what was read. No effect with TIDINGS_OBSERVE_BARE. Only the thread that calls `tidings_next` may call this, between
/// two calls.
/// Bound: constant. Never waits.
void tidings_observer_in_place(tidings_observer *observer, size_t from);

/// Detaches the memory of the latest delivery from the observer: its payload stays there, whatever the observer
/// delivers next. `delivery->payload` points to a copy afterwards. For a thread that still reads the payload while
/// another one calls `tidings_next`. The caller passes `*memory` to `free`; it is NULL if the observer has none of its
/// own (`tidings_observer_lend`).
///
/// `count` is 1 after `tidings_next`. Of several deliveries of `tidings_next_many`, `delivery` is the one whose payload
/// is read, and `count` includes it and the later ones: their payloads may lie in the same memory, and are copied, too.
///
/// -ENOMEM: nothing has changed. -EINVAL: the payload lies in the center (TIDINGS_DELIVERY_IN_PLACE); use
/// `tidings_hold`. Call this between two calls of `tidings_next`, from any thread, while no other thread calls
/// `tidings_next` of this observer.
/// Bound: copy. Never waits.
int tidings_observer_detach(tidings_observer *observer, tidings_delivery *delivery, size_t count, void **memory);

/// A payload that its receiver holds.
typedef struct tidings_held {
    const void *payload;  ///< where the delivery had it; NULL: nothing is held
    size_t size;
    // Private to the library.
    tidings_center *center;
    void *memory;
    uint64_t instance, hold;
    uint32_t entry;
} tidings_held;

/// Holds the payload of the latest delivery: it stays where it is, and unchanged, until `tidings_release`. The observer
/// may deliver further notifications, and close. Name, subject and subscriptions of the delivery are not held.
///
/// Promise: copies nothing. A payload in place is one of the TIDINGS_HOLDS_MAX that the handle can hold in place.
/// Posters use no memory that is held: they never wait for a holder, and other chunks go round faster. If all chunks of
/// a size are held, posts take larger ones; if all chunks that are large enough are held, they fail (-EAGAIN).
/// `tidings_participant_holds_get` shows each holder. The holds of a killed process end when a participant declares its
/// death: a post that finds no chunk does so. A stopped process holds what it held. A payload that was copied is held
/// in the process's own memory, as many as fit there.
///
/// `*held` is overwritten, so it must not be a payload that is still held. Pass the latest delivery: -EINVAL if it has
/// no payload or is held already, and for an earlier one, unless both payloads were copied to the same memory. -ECHILD:
/// the observer was opened before a fork. Only the thread that calls `tidings_next` may call this, between two calls.
/// Bound: constant. Never waits.
int tidings_hold(tidings_observer *observer, const tidings_delivery *delivery, tidings_held *held);

/// Releases a held payload: its memory must not be read any more. Sets `*held` to zero; does nothing if it is zero. Any
/// thread may call it. Call it before `tidings_close` of the center, and never after: it uses the handle. In a forked
/// child it changes nothing for the parent, which still holds a payload in place.
/// Bound: constant. Never waits.
void tidings_release(tidings_held *held);

/// The observer's cursor. Everything before this position was delivered, was reported as missed, or has other names.
/// Only the thread that calls `tidings_next` may call this, between two calls.
/// Bound: constant. Never waits.
uint64_t tidings_observer_position(const tidings_observer *observer);

/// The position that the next post takes: `posted` of `tidings_statistics`, alone. Async-signal-safe.
/// Bound: constant. Never waits.
uint64_t tidings_posted(const tidings_center *center);

/// True: nothing has been posted at this position or after it. Reads one word: a cheap way to ask often whether
/// `tidings_next` would find anything. False for UINT64_MAX, which no center reaches. Async-signal-safe.
/// Bound: constant. Never waits.
bool tidings_nothing_since(const tidings_center *center, uint64_t sequence);

/// After the observer's center has ended (-ESTALE): waits up to `timeout_ns` (-1: without end) until another file has
/// its path. `tidings_open` can then open that file. While it waits it sleeps: no CPU, and no timer where the kernel
/// offers inotify. The new file may be anything; opening checks it.
///
/// -ETIMEDOUT, -EINTR (`tidings_observer_interrupt`), -ECHILD (opened before a fork), -EINVAL (a sealed center has no
/// path). Call it from one thread at a time, like `tidings_next`.
/// Bound: constant for each file that comes into the directory. Waits up to `timeout_ns`.
int tidings_observer_await_successor(tidings_observer *observer, int64_t timeout_ns);

/// Makes the running or the next wait of `tidings_next` return -EINTR, once. Async-signal-safe.
/// Bound: constant. Never waits.
void tidings_observer_interrupt(tidings_observer *observer);

/// Returns a descriptor that is readable while `tidings_next` may have something to deliver, and for ever once the
/// center has ended. For poll, epoll, Dispatch. Call `tidings_next` with time-out 0 until -EAGAIN, which makes the
/// descriptor unreadable again. After any other error it stays readable: end the loop. The descriptor belongs to the
/// observer: don't close or read it. A loop that reads and closes its descriptors can have a duplicate of it (`dup`),
/// if it calls `tidings_next` until -EAGAIN after each read. Starts one helper thread.
/// Bound: constant. Never waits.
int tidings_observer_descriptor(tidings_observer *observer, int *descriptor);

/// Sets how many nanoseconds the observer spins for new notifications before it sleeps: 0 never, UINT32_MAX without end
/// (benchmarks only). Default: adaptive, at most 20 µs, never on a machine or in a process with one processor.
/// Bound: constant. Never waits.
void tidings_observer_spin(tidings_observer *observer, uint32_t nanoseconds);

// MARK: State

/// Sets the retained value of the publisher's name, and notifies observers: `tidings_post` with TIDINGS_POST_RETAIN.
/// Size 0 with payload NULL clears the value; observers receive TIDINGS_DELIVERY_CLEARED. `options` and `sequence` as
/// in `tidings_post`.
///
/// A name has one value. A publisher with a subject has none: -EINVAL, from this function, a retained post and
/// `tidings_state_get`. Values that exist side by side need names of their own.
/// Bound and waiting: as `tidings_post`.
int tidings_state_set(tidings_publisher *publisher, const void *payload, size_t size,
                      const tidings_post_options *options, uint64_t *sequence);
/// Copies the retained value of a name. `size` holds the buffer's size, and receives the value's size. -ENOBUFS: the
/// value doesn't fit (buffer may be NULL). -ENOENT: no value was set, or it was cleared. -EBUSY: other processes
/// replaced the value each time it was copied. `format` and `sequence` may be NULL.
/// Bound: copy, and a walk along the ring. Never waits.
int tidings_state_get(tidings_publisher *publisher, void *buffer, size_t *size, uint8_t *format, uint64_t *sequence);

// MARK: Presence
//
// A participant that announces itself is *present*: other processes learn that it joined, that it left, and that it
// died. Each of these events is a notification under the name TIDINGS_PRESENCE_NAME, in the center's one order. Observe
// it like any other name, and read its deliveries with `tidings_presence_read`.
//
// - The notice of a death, and the last will, name the dead participant as their poster (`pid`, `uid`, `participant`).
// - The kernel marks the death of a participant, and wakes the two participants that watch it. A participant watches
//   from `tidings_announce` or `tidings_presence_watch` on, in a thread of its own, the *guard*. It sleeps without a
//   timer unless a report is unfinished.
// - A stopped process is not dead. `exit`, and a return from `main`, are no death: they close. `_exit`, a signal that
//   ends the process, and `exec` without `tidings_close` are deaths. A zombie is dead.
// - A forked child is not announced, and its end says nothing about its parent. The child may announce itself. A child
//   of `_Fork`, `vfork` or raw `clone` is not announced either. It must neither announce itself nor close its parent's
//   handles: other processes could report the parent as died.
// - A main thread that ends by `pthread_exit` leaves the guard behind: the process goes on, and is alive.
//   Withdraw before. Do not unload this library (`dlclose`) while a handle is announced or watches.
// - A process that closes the center's descriptors is reported as died, although it goes on.
// - The limits: a process that dumps core dies when the dump is written. Two other participants watch each one: if both
//   are stopped, the notice waits until one of them continues. Where the kernel has no `futex_waitv` (before
//   Linux 5.16), the guards wake 200 times a second. A peer that may write to the center can suppress
//   notices, and invent them. If seccomp kills only one thread, and that is the watching one, the process is reported
//   as died and goes on. A thread of a killed process that is inside a post may commit it just after the notice.

/// The name of the notices. Their payload is CBOR: a map of "event" ("joined", "closed" or "died"), "pid", "uid", "id",
/// "role" and "executable". No publisher can be opened for this name: -EINVAL.
#define TIDINGS_PRESENCE_NAME "tidings.presence"

/// What a participant wants posted when it dies.
typedef struct tidings_will {
    const char *name;  ///< as in `tidings_publisher_open`; not TIDINGS_PRESENCE_NAME
    size_t name_length;
    const char *subject;  ///< or NULL
    size_t subject_length;
    const void *payload;
    size_t size;
    uint8_t format;  ///< TIDINGS_FORMAT_…
    uint8_t flags;   ///< TIDINGS_POST_…; those of sections have no effect
} tidings_will;

/// Announces this participant, with a role of up to TIDINGS_ROLE_MAX bytes of UTF-8 (a text for people and programs:
/// "renderer 3"). Posts the notice "joined". Starts a thread that watches other participants.
///
/// Promise: from the return on, one notice follows for this participant: "closed" after `tidings_withdraw`,
/// `tidings_close` or `exit`; "died" if the process ends otherwise. After "died" the will is posted, unless `will` is
/// NULL. The center keeps the will's payload: its memory is the caller's again. Reports deaths first that no process
/// has reported yet, as `tidings_reclaim` does.
///
/// `timeout_ns`: how long a lossless observer may hold the notice back, as in `tidings_post_options`.
///
/// - -EALREADY: this handle is announced. To change role or will, withdraw first.
/// - -EBUSY: servers or callers of this handle are open, and it was not announced before the first of them. Announce
///   first, or open the center a second time for servers and callers.
/// - -EINVAL: the role, or a text of the will, is too long or is not valid; or the will is retained and has a subject.
/// - -EACCES: the handle is read-only. -ESTALE: the center has ended. -EBADF: as `tidings_next`.
/// - -EAGAIN, -ETIMEDOUT, -EMSGSIZE, -ENOSPC: as `tidings_post`, for the notice and for the memory of the will.
///   -EAGAIN also if last wills hold half of the chunks of this will's size: 256 of 1 KiB, 8 of the largest size. Or
///   the death of an earlier participant at this index could not be reported in time: try again.
/// - -ENOMEM, or the error of starting a thread. -ENOSYS: the kernel has no robust lists, and marks no deaths.
/// If it fails, the participant is not announced, and observers have received nothing.
/// Bound: walk. Waits up to 20 ms for a process that reports the death of an earlier participant at this index, up to
/// `timeout_ns`, and in 16 steps for unfinished posts, which it then revokes: a few milliseconds, or 250 ms if a peer
/// has spoiled the ring.
int tidings_announce(tidings_center *center, const char *role, size_t role_length, const tidings_will *will,
                     int64_t timeout_ns);

/// Watches other participants without being announced: this process then reports deaths too. For an observer of
/// TIDINGS_PRESENCE_NAME that may be alone with a participant that dies. Posts nothing about itself. Ends with
/// `tidings_withdraw`, or with `tidings_announce`, which watches as well. 0 also if this handle watches already.
/// Fails as `tidings_announce`.
/// Bound and waiting: as `tidings_announce` without a timeout.
int tidings_presence_watch(tidings_center *center);

/// Ends the announcement: posts "closed", and the will is not posted. `tidings_close` does the same. If the notice is
/// held back, another participant that watches posts it later. -ENOENT: the handle is neither announced nor watches.
/// -ECHILD: it was announced before a fork. -EBUSY: servers or callers of this handle are open. Close them first, or
/// open the center a second time for them.
/// Bound: walk. Waits up to 50 ms for the guard of this handle, and for unfinished posts as `tidings_announce`.
int tidings_withdraw(tidings_center *center);

enum {
    TIDINGS_PRESENCE_JOINED = 1,  ///< it announced itself
    TIDINGS_PRESENCE_CLOSED = 2,  ///< it withdrew, closed or exited
    TIDINGS_PRESENCE_DIED = 3,    ///< it died; its will follows, if it left one
};

/// A notice of presence.
typedef struct tidings_presence {
    int32_t event;         ///< TIDINGS_PRESENCE_…
    int32_t pid;           ///< in its own pid namespace, as it states it
    uint32_t uid;          ///< as it states it
    uint32_t participant;  ///< the index of its entry, for `tidings_participant`
    uint64_t id;           ///< random, below 2^52: the same in all notices of one announcement, and only there
    char role[TIDINGS_ROLE_MAX + 1];
    char executable[TIDINGS_EXECUTABLE_MAX + 1];  ///< a long one may be shortened, to 53 bytes at least
} tidings_presence;

/// Reads a delivery that has TIDINGS_DELIVERY_PRESENCE. -EINVAL: the delivery is no notice. -EBADMSG: its payload is
/// not one that this library writes. Both set no error line. Trusts no payload. Async-signal-safe.
/// Bound: constant. Never waits.
int tidings_presence_read(const tidings_delivery *delivery, tidings_presence *presence);

// MARK: Requests
//
// A *server* answers the requests of a name. A *caller* makes them: a *call* is one request and its outcome. Servers of
// a name may be in any number of processes, and exactly one of them receives each request.
//
// - Every call ends, once: with a reply; with -ECONNREFUSED, at once, if no server serves the name; or with
//   -ECONNRESET, if its server ended without a reply. The death of a server ends its calls within milliseconds, also if
//   no process calls or posts. A call of a stopped server stays: the caller decides how long to wait.
// - If a server ends with a request, another server of the name receives it only if the call is
//   TIDINGS_CALL_IDEMPOTENT.
// - A reply may come in *parts*, one at a time: the server sends the next one when the caller has asked for it.
// - A caller that cancels, closes or dies leaves nothing behind. The server of the call learns of it.
// - A request is announced by a notification in the center's order, under a name of its own (TIDINGS_REQUESTS_PREFIX
//   and the name), also if no server serves it. So a server sleeps as an observer does, and free servers receive
//   requests in the order in which they were made. Request and reply are not in the ring: no call is lost, however many
//   are in flight.
// - Server and caller need the guard of `tidings_presence_watch`: opening one starts it, unless this handle
//   is announced or watches already.
// - The limits: a center has four calls for each of its slots, at most 16,384, for all callers together. A peer that
//   may write to the center can end calls, and change requests and replies. A thread of a killed process that is inside
//   one of these functions may go on just after the death was noticed: a request that it receives then waits
//   for the caller's timeout. If a server is stopped between its reply and the wake-up of its caller, the caller
//   sleeps on. `exit` waits up to 100 ms for threads that are in the middle of a request or a reply. If one takes
//   longer, the exit is a death.

/// The notifications that announce requests have this prefix. Their payload is for servers alone.
#define TIDINGS_REQUESTS_PREFIX "tidings.requests."
#define TIDINGS_REQUEST_NAME_MAX 238  ///< bytes in a request name: with the prefix it is a notification's name

typedef struct tidings_server tidings_server;  ///< receives requests of one name
typedef struct tidings_caller tidings_caller;  ///< makes calls of one name

/// Serves a name, from the return on.
///
/// -EACCES: the handle is read-only. Otherwise fails as `tidings_observer_open`, `tidings_observer_add` and
/// `tidings_presence_watch`.
/// Bound and waiting: as these three.
int tidings_server_open(tidings_center *center, const char *name, size_t name_length, tidings_server **server);
/// Ends a server. Its requests without a reply end with -ECONNRESET, or go to other servers
/// (TIDINGS_CALL_IDEMPOTENT). NULL is ignored. No other thread may use the server.
/// Bound: walk along the calls. Never waits.
void tidings_server_close(tidings_server *server);

enum {
    TIDINGS_REQUEST_NEW = 0,        ///< a request: reply to it with `tidings_reply`
    TIDINGS_REQUEST_CANCELLED = 1,  ///< the caller of request `id` does not wait any more; `tidings_reply` fails
    TIDINGS_REQUEST_CONTINUED = 2,  ///< the caller of request `id` wants the next part of the reply
};

/// What `tidings_server_next` receives. `payload` is valid until the next `tidings_server_next` of this server.
typedef struct tidings_request {
    int32_t kind;     ///< TIDINGS_REQUEST_NEW; or …_CANCELLED or …_CONTINUED, which have only `id`
    bool again;       ///< another server ended with this request: it may have done the work
    bool idempotent;  ///< TIDINGS_CALL_IDEMPOTENT
    bool own;         ///< the caller is of the server's own center handle
    uint8_t format;
    uint64_t id;  ///< for `tidings_reply`; unique in this center for 2^33 uses of one entry
    const void *payload;
    size_t size;
    int32_t pid;           ///< the caller's, in its own pid namespace, as the caller states it
    uint32_t uid;          ///< the caller's, as the caller states it
    uint32_t participant;  ///< the index of the caller's entry, for `tidings_participant`
} tidings_request;

/// Receives the next request that no other server has received. Waits as `tidings_next`. The server may receive further
/// requests before it replies to this one. Only one thread at a time may call this for one server; any thread may
/// reply.
///
/// -EAGAIN, -ETIMEDOUT, -EINTR (`tidings_server_interrupt`), -ECHILD, -EBADF, -ESTALE: as `tidings_next`. -ENOMEM: no
/// memory. If the server had claimed the request, its call ends with -ECONNRESET, or a server receives it again
/// (TIDINGS_CALL_IDEMPOTENT). Otherwise the request stays: a later call of this function, or another server, receives
/// it.
/// Bound: copy of the request, as `tidings_next`, and, if the ring was lapped, a walk along the calls. Waits up to
/// `timeout_ns`.
int tidings_server_next(tidings_server *server, int64_t timeout_ns, tidings_request *request);
/// Makes a `tidings_server_next` that waits, or the next one, return -EINTR.
/// Bound: constant. Never waits.
void tidings_server_interrupt(tidings_server *server);
/// Sets how long the server spins for requests before it sleeps, as `tidings_observer_spin`.
/// Bound: constant. Never waits.
void tidings_server_spin(tidings_server *server, uint32_t nanoseconds);
/// Held: from the next `tidings_server_next` on, the server receives only TIDINGS_REQUEST_CANCELLED and …_CONTINUED. It
/// leaves new requests to other servers. For a server that has as many requests as it handles at a time. Not held any
/// more: it first receives the requests that are still without a server, in the order in which they were made. A
/// `tidings_server_next` that waits has to be interrupted.
/// Bound: constant. Never waits.
void tidings_server_hold(tidings_server *server, bool held);
/// After the server's center has ended: as `tidings_observer_await_successor`, in place of `tidings_server_next`.
/// Bound: as `tidings_observer_await_successor`. Waits up to `timeout_ns`.
int tidings_server_await_successor(tidings_server *server, int64_t timeout_ns);

/// How to reply. All zero is the default.
typedef struct tidings_reply_options {
    uint8_t format;  ///< TIDINGS_FORMAT_…, reported to the caller, not interpreted
    uint16_t code;   ///< reported to the caller, not interpreted: 0 for success, by convention
    /// This is a part of the reply, and another part follows: the call goes on. The next `tidings_reply` to it fails
    /// until TIDINGS_REQUEST_CONTINUED. If the server ends after a part, the call ends with -ECONNRESET, also if it is
    /// TIDINGS_CALL_IDEMPOTENT; a part that the caller has not taken may be lost.
    bool more;
} tidings_reply_options;

/// Replies to a request. `options` may be NULL.
///
/// -ECANCELED: the caller does not wait for the reply any more; or this server has no such request, or has replied to
/// it. -EBUSY: the caller has not asked for another part since the last one. -EMSGSIZE, -ENOSPC, -EAGAIN: as
/// `tidings_post`; the request stays, and a shorter reply may succeed. -ECHILD: the server was opened before a fork.
/// -EBADF: as `tidings_next`.
/// Bound: copy, and a rare walk for a reply of more than 192 bytes. Never waits.
int tidings_reply(tidings_server *server, uint64_t id, const void *payload, size_t size,
                  const tidings_reply_options *options);

/// Ends a request without a reply, for a server that passes requests on to servers elsewhere. `error`: -ECONNRESET, as
/// if this server had ended with the request: the call ends with it, or, if it is TIDINGS_CALL_IDEMPOTENT, a server
/// receives it again, perhaps this one. -ECONNREFUSED: no server has received it; the call ends with that, or with
/// -ECONNRESET if a server has ended with it before (`again`), or a part of the reply was sent.
///
/// -EINVAL: another `error`. -ECANCELED, -ECHILD, -EBADF: as `tidings_reply`.
/// Bound: as `tidings_post` of 8 bytes. Never waits.
int tidings_request_end(tidings_server *server, uint64_t id, int error);

/// Calls `each` for each request name that servers of other participants than this handle serve now, until that returns
/// false. `name` is valid during the call. 0; -ECHILD, -EBADF: as `tidings_post`.
/// Bound: walk along the names. Never waits.
int tidings_served(tidings_center *center, bool (*each)(void *context, const char *name, size_t name_length),
                   void *context);

/// Prepares to call servers of a name. There need not be one yet. Fails as `tidings_presence_watch`; -EINVAL: the name
/// is not valid, or too long. -EACCES: the handle is read-only.
/// Bound and waiting: as `tidings_presence_watch`.
int tidings_caller_open(tidings_center *center, const char *name, size_t name_length, tidings_caller **caller);
/// Cancels all calls of this caller, and closes it. NULL is ignored. No other thread may use the caller.
/// Bound and waiting: as `tidings_call_cancel` for each call.
void tidings_caller_close(tidings_caller *caller);

enum {
    /// If a server ends with the request, another one receives it. For requests that may be carried out twice.
    TIDINGS_CALL_IDEMPOTENT = 1,
};

/// How to call. All zero is the default.
typedef struct tidings_call_options {
    uint8_t format;  ///< TIDINGS_FORMAT_…, reported to the server, not interpreted
    uint8_t flags;   ///< TIDINGS_CALL_…
    /// How long a lossless observer may hold back the notification that announces the request (as in
    /// `tidings_post_options`).
    int64_t timeout_ns;
} tidings_call_options;

/// Makes a call: sends a request, and does not wait for its reply. `options` may be NULL. `id` receives a number for
/// `tidings_caller_next` and `tidings_call_cancel`, other than 0.
///
/// If it fails, there is no call. -ECONNREFUSED: no server serves the name. -EUSERS: all calls of the center are in
/// use. -EMSGSIZE, -ENOSPC, -EAGAIN, -ETIMEDOUT, -ESTALE, -EBUSY, -EBADF: as `tidings_post`. -ECHILD: the caller was
/// opened before a fork.
/// Bound: copy, as `tidings_post` of 8 bytes, and a rare walk for a request of more than 192 bytes. Waits only for
/// lossless observers of such notifications, up to `timeout_ns`.
int tidings_call(tidings_caller *caller, const void *payload, size_t size, const tidings_call_options *options,
                 uint64_t *id);

/// The outcome of a call. `payload` is valid until the caller's next call of `tidings_caller_next`.
typedef struct tidings_outcome {
    /// 0: a reply. -ECONNRESET: the server ended. -ECONNREFUSED: the last server of the name ended before one had
    /// received the request. -EBADMSG: a peer has damaged the reply.
    int32_t error;
    uint16_t code;   ///< as in `tidings_reply_options`
    uint8_t format;  ///< likewise
    /// A part of the reply. The call goes on: let the server send the next part (`tidings_call_continue`), or cancel.
    bool more;
    uint64_t id;
    const void *payload;
    size_t size;
} tidings_outcome;

/// Takes the outcome of call `id`, or, if `id` is 0, of one that has ended or has a part: the earliest call first, and
/// calls of which a part was taken after the others. Waits up to `timeout_ns` for it: 0 not at all, -1 without end. A
/// call that has not ended goes on. Only one thread at a time may call this for one caller; any thread may make,
/// continue and cancel calls. With `id` 0 it also waits for calls that are not made yet.
///
/// -EAGAIN, -ETIMEDOUT, -EINTR (`tidings_caller_interrupt`): these leave the error line unchanged. -ENOENT: call `id`
/// is not in flight. -ENOMEM: no memory for the reply of call `outcome->id`; try again, or cancel it. -ESTALE: the
/// center has ended; no outcome follows. -ECHILD, -EBADF: as `tidings_call`.
/// Bound: copy, and a walk along the calls of this caller. Waits up to `timeout_ns`.
int tidings_caller_next(tidings_caller *caller, uint64_t id, int64_t timeout_ns, tidings_outcome *outcome);
/// Makes a `tidings_caller_next` that waits, or the next one, return -EINTR.
/// Bound: constant. Never waits.
void tidings_caller_interrupt(tidings_caller *caller);
/// Sets how long the caller spins for an outcome before it sleeps, as `tidings_observer_spin`.
/// Bound: constant. Never waits.
void tidings_caller_spin(tidings_caller *caller, uint32_t nanoseconds);

/// Lets the server of a call send the next part of its reply, after `tidings_caller_next` took one. The server learns
/// of it (TIDINGS_REQUEST_CONTINUED). If the call has ended meanwhile, its outcome waits.
///
/// -ENOENT: no such call is in flight. -EINVAL: no part was taken since the last time. -EAGAIN, -ESTALE, -EBUSY,
/// -EBADF: as `tidings_post`; the server may not have been told: call it again, or cancel. -ECHILD: as `tidings_call`.
/// Bound: as `tidings_post` of 8 bytes. Never waits.
int tidings_call_continue(tidings_caller *caller, uint64_t id);

/// Cancels a call: its outcome is not wanted any more. If a server has received the request, it learns of it
/// (TIDINGS_REQUEST_CANCELLED). -ENOENT: no such call is in flight.
/// Bound: as `tidings_post` of 8 bytes. Never waits.
int tidings_call_cancel(tidings_caller *caller, uint64_t id);

// MARK: Looking at a center

/// The figures of a center.
typedef struct tidings_statistics {
    uint64_t posted;           ///< positions used since the center was created
    uint64_t retained_from;    ///< the oldest position still in the ring
    uint64_t revoked;          ///< posts that were revoked because their poster was stopped too long, and posted again
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
    uint32_t format_version;  ///< of the process that created the center: 65,536 times its major, and its minor version
} tidings_statistics;

/// Reads the center's figures.
/// Bound: walk. Never waits.
int tidings_statistics_get(tidings_center *center, tidings_statistics *statistics);

/// Counts the names with a retained value, and the center's chunks; each value takes one chunk. Approximate while peers
/// post. Does not walk along the names. -ENOMEM: no memory to count.
/// Bound: walk along the slots and the chunks. Never waits.
int tidings_values(tidings_center *center, uint32_t *values, uint32_t *values_max);

/// One participant: a process that has the center open.
typedef struct tidings_participant_info {
    uint32_t index;
    int32_t pid;
    uint32_t uid;
    /// The participant's lock is held. True for every participant if the lock can't be checked: for a reader of a
    /// center that it may only read.
    bool alive;
    bool own;  ///< it is this handle
    uint64_t joined_at_ns;
    char executable[TIDINGS_EXECUTABLE_MAX + 1];
    /// It is announced, and its leaving has not been noticed (`tidings_announce`). An observer of TIDINGS_PRESENCE_NAME
    /// that reads all participants after its registration knows which are present: it then applies each notice, and
    /// ignores "joined" of an `id` that it knows.
    bool announced;
    uint64_t presence_id;             ///< as `id` of `tidings_presence`; 0: not announced
    char role[TIDINGS_ROLE_MAX + 1];  ///< "" if it is not announced
} tidings_participant_info;

/// Reads the participant at an index below `participants_max`. -ENOENT: the entry was never used or has been reclaimed.
/// -ERANGE: beyond the last. Both set no error line.
/// Bound: walk along the ring while the participant joins; otherwise constant. Never waits.
int tidings_participant(tidings_center *center, uint32_t index, tidings_participant_info *info);

/// The observers of one participant.
typedef struct tidings_participant_observers {
    uint32_t observers;  ///< observer entries that it has taken
    uint32_t lossless;   ///< how many of them are lossless
    /// Of its lossless observer that is furthest behind: the number of posts, of any name, from the first that it has
    /// still to receive. Posters are held back when this number is the whole ring.
    uint64_t behind;
    /// How many of its observers publish how far they are: all, if its process knows version 1.1 of the format.
    uint32_t known;
    /// What these observers have reported as missed, modulo 2^31. Less, when one of them is closed.
    uint32_t missed;
    /// As `behind`, of the one of these observers that is furthest behind, lossless or not. While an observer is awake,
    /// the number may be up to 64 too large; in a ring of less than 1,024 slots, up to a sixteenth of the ring.
    uint64_t distance;
} tidings_participant_observers;

/// Reads what observers the participant at that index has; all 0, if there is no participant. Walks along the ring
/// twice. If very many prefixes are observed, `behind` and `distance` may be too large.
/// Bound: walk. Never waits.
void tidings_participant_observers_get(tidings_center *center, uint32_t index,
                                       tidings_participant_observers *observers);

/// The payloads that one participant holds in place.
typedef struct tidings_participant_holds {
    uint32_t payloads;  ///< how many, with those of deliveries
    uint64_t memory;    ///< bytes of the chunks that no poster can use meanwhile
    uint64_t since_ns;  ///< CLOCK_REALTIME: when it began to hold the oldest of them; 0: it holds none
} tidings_participant_holds;

/// Reads what the participant at that index holds in place; all 0, if there is no participant. Approximate while it
/// takes and releases payloads.
/// Bound: constant; the first call may let the kernel give the table of holds its memory. Never waits.
void tidings_participant_holds_get(tidings_center *center, uint32_t index, tidings_participant_holds *holds);

/// One name that is observed or has a retained value.
typedef struct tidings_name_info {
    uint32_t observers;  ///< how many observer handles observe it
    bool retained;
    bool prefix;  ///< they observe every name that begins with `name`
    char name[TIDINGS_NAME_MAX + 1];
    char subject[TIDINGS_SUBJECT_MAX + 1];
} tidings_name_info;

/// Reads the observed or retained name at an index below `names_max`. -ENOENT: there is none. -ERANGE: beyond the last.
/// Both set no error line.
/// Bound: walk along the ring. Never waits.
int tidings_name(tidings_center *center, uint32_t index, tidings_name_info *info);

/// What dead or stopped participants have left in a center. It does no damage: a process that needs an orphan's
/// resource reclaims it in passing. Approximate while other processes use the center.
typedef struct tidings_orphans {
    uint32_t participants;        ///< dead participants whose entries have not been taken again
    uint32_t observers;           ///< observers of dead participants
    uint32_t observers_lossless;  ///< how many of these were lossless. They hold no post back: a poster checks for life
    uint32_t names;               ///< entries that only dead participants observe, or left half-way in the table
    uint32_t payloads;            ///< chunks that dead participants had taken and not posted
    uint32_t holds;               ///< payloads that dead participants held in place
    uint32_t claims;              ///< slots held by their unfinished posts; observers wait 2 ms at each, once
    uint32_t evictions;           ///< 1: an eviction is unfinished; the next post that needs room finishes it
    uint32_t verdicts;            ///< unfinished revocations; the next process that reads the slot finishes it
    /// Slots of posts that were revoked because their poster stood still. A slot is free as soon as its poster
    /// continues or dies. `tidings_reclaim` does not free them.
    uint32_t slots_held;
    int32_t holder;  ///< of one of these slots: the poster's thread, or (from another pid namespace) its process
} tidings_orphans;

/// Counts the orphans of a center.
/// Bound: walk. Waits 10 ms if something may be half-way, to read it twice.
int tidings_orphans_get(tidings_center *center, tidings_orphans *orphans);

/// Reclaims all orphans, except slots of living posters. This also happens automatically whenever it matters. Reports
/// the deaths of announced participants that no process has reported (`tidings_announce`): as many as it can within
/// its bound. The next call, or a participant that watches, reports the remaining deaths. Returns how many participants
/// were reclaimed, or a negative errno. Other processes continue undisturbed.
/// Bound: walk. Never waits, unless a death is reported: then up to 250 ms for posts that began before it.
int tidings_reclaim(tidings_center *center);

enum {
    /// A creator was killed before its center was finished, on a file system without unnamed files.
    TIDINGS_STALE_FILE_UNFINISHED = 1,
    /// The second file of a center with readers (`mode` gives a user read access without write access). The center is
    /// gone, or was never finished.
    TIDINGS_STALE_FILE_WRITERS_FILE = 2,
    /// A center that was being removed. The next process that opens the name completes the removal.
    TIDINGS_STALE_FILE_REMOVED = 3,
};

/// A file that no process needs any more.
typedef struct tidings_stale_file {
    int32_t kind;      ///< TIDINGS_STALE_FILE_…
    bool deleted;      ///< by this call
    uint64_t memory;   ///< bytes of memory it takes, or took
    const char *file;  ///< its name in the directory; valid during the call
} tidings_stale_file;

/// Finds files that killed creators and removers of this user's centers left, and deletes them if asked to. A file that
/// a process is working on is not touched. `directory` is as in a configuration. Calls `each` for every stale file
/// until that returns false. Returns how many, or a negative errno.
/// Bound: for each file of the directory constant, for each writers file a walk along the directory. Never waits.
int tidings_stale_files(const char *directory, bool delete_them,
                        bool (*each)(void *context, const tidings_stale_file *stale_file), void *context);

#ifdef __cplusplus
}
#endif

#endif
