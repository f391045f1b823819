/// The parts of the reply to one request: the handler sends the next one when the caller has asked for it.
///
/// The server's thread says when that is. At the end of the handler's task no part is sent any more.
final class ReplyParts: @unchecked Sendable {
    // Sendable: the properties that change are accessed only with the lock held.
    private let request: UInt64
    private let handle: ServerHandle
    private let lock = Lock()

    // MARK: Guarded by the lock

    /// A part was sent, and the caller has not asked for the next one.
    private var isFull = false
    private var isOver = false
    private var waiting: [UnsafeContinuation<Void, Never>] = []

    init(of request: UInt64, _ handle: ServerHandle) {
        self.request = request
        self.handle = handle
    }

    /// Sends a part. Waits until the caller has asked for it.
    ///
    /// - Throws: `CancellationError`: the caller does not wait any more, the server has ended, or the handler has
    ///   returned. ``SharedNotificationError``: the part can't be sent.
    func send(_ payload: SharedNotificationCenter.RawPayload) async throws {
        while true {
            await untilRoom()
            let isSent = try lock.withLock {
                if isOver || Task.isCancelled { throw CancellationError() }
                if isFull { return false }
                guard try handle.send(part: payload, to: request) else { throw CancellationError() }
                isFull = true
                return true
            }
            if isSent { return }
        }
    }

    /// The caller has asked for the next part.
    func goOn() {
        wake { isFull = false }
    }

    /// Ends the parts, when the caller has taken the last one. False: the task is cancelled.
    func end() async -> Bool {
        await untilRoom()
        return lock.withLock {
            isOver = true
            return !isFull
        }
    }

    /// Waits until a part may be sent, or the task is cancelled.
    private func untilRoom() async {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let isNow = lock.withLock {
                    guard isFull, !isOver, !Task.isCancelled else { return true }
                    waiting.append(continuation)
                    return false
                }
                if isNow { continuation.resume() }
            }
        } onCancel: {
            wake {}
        }
    }

    private func wake(after change: () -> Void) {
        let waiting = lock.withLock {
            change()
            defer { self.waiting = [] }
            return self.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
