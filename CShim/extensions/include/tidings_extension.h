/// Extensions in C: a program that a host (the Swift module `TidingsExtensions`) starts, supervises and ends. It needs
/// no name, directory or configuration: all that it needs comes over descriptor 0.
///
/// ```c
/// #include <stdio.h>
/// #include <tidings_extension.h>
///
/// int main(void) {
///     tidings_extension *extension;
///     if (tidings_extension_open(NULL, &extension) < 0) return fprintf(stderr, "%s\n", tidings_last_error()), 1;
///     // … open observers and servers …
///     if (tidings_extension_ready(extension) < 0) return fprintf(stderr, "%s\n", tidings_last_error()), 1;
///     (void)tidings_extension_post(extension, "com.example.liked", 17, "So What", 7, NULL);
///     (void)tidings_extension_await_end(extension, -1);
///     tidings_extension_close(extension);
/// }
/// ```
///
/// # The two centers
///
/// The *private center* belongs to this extension and its host. It holds the launch's configuration as retained
/// values. What the extension posts there, the host posts into the broadcast center, if a grant names it. The extension
/// serves requests of the host there, and makes requests to the host. If the host refuses notifications, it posts
/// TIDINGS_EXTENSION_REFUSED there.
///
/// The *broadcast center* belongs to all extensions of the host. An extension with at least one TIDINGS_GRANT_OBSERVES
/// receives it, and can read all of it and write nothing. It can list its participants, and cannot announce itself.
///
/// Use both centers with tidings.h. Functions return 0 or a negative `errno`; `tidings_last_error()` is then one line.
///
/// # The end
///
/// SIGTERM asks the extension to end. An extension that ends without being asked may be started again. If the host ends
/// or is killed, its launcher kills the extension with its descendants. An extension that was started by other means
/// than the host's launcher watches for the end itself: `tidings_extension_await_end` or
/// `tidings_extension_descriptor`.
#ifndef TIDINGS_EXTENSION_H
#define TIDINGS_EXTENSION_H

#include <tidings.h>
#include <tidings_handshake.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The name of a notification in the private center: the host has refused notifications or requests that no grant
/// names. CBOR, a map: "kind" (TIDINGS_GRANT_POSTS or TIDINGS_GRANT_REQUESTS), "notification" the refused name, "count"
/// how many of that name were refused. Comes at the counts 1, 2, 4, 8 …
#define TIDINGS_EXTENSION_REFUSED "tidings.extension.refused"

typedef struct tidings_extension tidings_extension;  ///< the connection to the host

/// Receives the grants and the centers from descriptor 0, and joins both centers. Announces the extension in the
/// private center (`tidings_announce`), so that the host learns of its end also behind a wrapper script: after
/// `tidings_extension_close` or `tidings_withdraw` the process has two seconds to exit. Afterwards descriptor 0 reads
/// as an empty file. Call it once, before other code reads descriptor 0.
///
/// `will` (or NULL): what is posted into the private center if this process dies. The host posts it into the broadcast
/// center, after all that the process has posted. That needs a TIDINGS_GRANT_POSTS for its name, and takes up to a
/// second after the end. `exit` and `tidings_extension_close` are no death. The will's memory is the caller's again.
///
/// - -ENOTSOCK: descriptor 0 is no socket: no host started this program.
/// - -EPROTO: the host speaks another version of the hand-shake. It has been told; the program should end.
/// - -EBADMSG: descriptor 0 is another program's socket.
/// - -ECONNRESET: the host has ended.
/// - Others as `tidings_receive` and `tidings_announce`.
///
/// Not async-signal-safe.
/// Bound: two times that of `tidings_receive`, and `tidings_announce`. Waits for the host's messages, which it sends
/// before it starts the extension.
int tidings_extension_open(const tidings_will *will, tidings_extension **extension);

/// Closes both centers and the connection. The caller closes their observers and publishers before. NULL is ignored.
/// Bound and waiting: as `tidings_close`, two times, and as `tidings_withdraw`.
void tidings_extension_close(tidings_extension *extension);

/// The center that the extension shares with its host alone. Valid until `tidings_extension_close`.
/// Bound: constant. Never waits.
tidings_center *tidings_extension_private_center(const tidings_extension *extension);

/// The center of all extensions of the host, read-only; NULL without a grant to observe. Valid until
/// `tidings_extension_close`.
/// Bound: constant. Never waits.
tidings_center *tidings_extension_broadcast_center(const tidings_extension *extension);

/// Returns the number of grants. `*grants` (or NULL) receives them, valid until `tidings_extension_close`.
/// Bound: constant. Never waits.
size_t tidings_extension_grants(const tidings_extension *extension, const tidings_grant **grants);

/// True if a grant of that kind (TIDINGS_GRANT_…) has that name.
/// Bound: a comparison with each grant. Never waits.
bool tidings_extension_is_granted(const tidings_extension *extension, uint8_t kind, const char *name,
                                  size_t name_length);

/// Tells the host that the extension is ready: its observers and servers exist. The host kills an extension that does
/// not say so in time. A second call does nothing. -EPIPE: the host has ended.
/// Bound: constant. Never waits.
int tidings_extension_ready(tidings_extension *extension);

/// Posts into the private center; the host posts the notification into the broadcast center. -EPERM: no
/// TIDINGS_GRANT_POSTS has the name; the host was told the name alone, and counts and reports the refusal. `options`
/// (or NULL) and other errors as `tidings_post`. The host is a lossless observer of the private center: -EAGAIN if it
/// is a whole ring behind, unless the options have a timeout.
/// Bound and waiting: as `tidings_post`, and a comparison with each grant.
int tidings_extension_post(tidings_extension *extension, const char *name, size_t name_length, const void *payload,
                           size_t size, const tidings_post_options *options);

/// A descriptor that is readable when the host has ended, and not before. For poll, epoll, Dispatch. It belongs to the
/// extension: don't read or close it.
/// Bound: constant. Never waits.
int tidings_extension_descriptor(const tidings_extension *extension);

/// Waits for the end of the host: 0. -ETIMEDOUT: it has not ended in time. A negative timeout has no end. Several
/// threads may wait.
/// Bound: constant. Waits up to `timeout_ns`.
int tidings_extension_await_end(const tidings_extension *extension, int64_t timeout_ns);

#ifdef __cplusplus
}
#endif

#endif
