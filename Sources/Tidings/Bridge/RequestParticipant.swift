internal import CTidings
import Glibc

/// The participant of a center object's servers and callers: the same center, opened another time.
///
/// A participant of the C library with servers or callers can be neither announced nor withdrawn, and a center object
/// may be both at any time. So its servers and callers have a participant of their own, from the first one on.
final class RequestParticipant: Sendable {
    private let opened = Locked<(beside: CenterHandle, handle: CenterHandle)?>(nil)

    /// The participant beside the center object's own. Opening it may wait for other processes.
    func handle(beside own: CenterHandle) throws(SharedNotificationError) -> CenterHandle {
        var released: CenterHandle?
        defer { withExtendedLifetime(released) {} }
        return try opened.withLock { (opened) throws(SharedNotificationError) in
            if let opened, opened.beside === own { return opened.handle }
            let handle = try own.another()
            released = opened?.handle
            opened = (own, handle)
            return handle
        }
    }
}

extension CenterHandle {
    /// The names that servers of other participants serve. A name that is not UTF-8 is none of Swift's.
    func servedElsewhere() throws(SharedNotificationError) -> [String] {
        var names: [String] = []
        let result = withUnsafeMutablePointer(to: &names) { names in
            tidings_served(
                center,
                { context, name, length in
                    let bytes = UnsafeRawBufferPointer(start: name, count: length)
                    if let name = String(validating: bytes, as: UTF8.self) {
                        context!.assumingMemoryBound(to: [String].self).pointee.append(name)
                    }
                    return true
                }, names)
        }
        guard result == 0 else { throw SharedNotificationError(errno: -result) }
        return names
    }

    /// The same center, as another participant.
    func another() throws(SharedNotificationError) -> CenterHandle {
        guard let origin else { return try anotherOverSocket() }
        var configuration = origin.configuration
        configuration.creation = .never
        // Not by the environment, which may have changed.
        if let slash = path.lastIndex(of: "/") { configuration.directory = String(path[..<slash]) }
        do throws(SharedNotificationError) {
            let handle = try CenterHandle(name: origin.name, configuration: configuration)
            if handle.incarnation == incarnation { return handle }
        } catch {
            guard error.code == .notFound else { throw error }
        }
        throw SharedNotificationError(
            .removed, message: "can't use center \"\(origin.name)\" for requests: it was removed; open it again")
    }

    /// A center without a file is passed on by its descriptors alone.
    private func anotherOverSocket() throws(SharedNotificationError) -> CenterHandle {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw SharedNotificationError(
                .system(errno),
                message: "can't open a sealed center another time, for requests: \(String(cString: strerror(errno)))")
        }
        defer { for end in ends { close(end) } }
        try send(over: ends[0], isReadOnly: false)
        return try CenterHandle(receivedOver: ends[1], maximumSize: .max)
    }
}
