/// The parts of the reply to one request: the handler sends the next one when the caller has asked for it.
///
/// The server's thread says when the caller has asked, or has stopped. After the handler has returned no part is sent.
final class ReplyParts: @unchecked Sendable {
    // Sendable: the properties that change are accessed only with the lock held.
    private let request: UInt64
    private let handle: ServerHandle
    private let lock: Lock

    // MARK: Guarded by the lock

    /// A part was sent or is being sent, and the caller has not asked for the next one.
    private var isFull = false
    private var isOver = false
    private var waiting: [UnsafeContinuation<Void, Never>] = []

    /// - Parameter lock: the server's. So a request whose handler sends no part costs no lock of its own.
    init(of request: UInt64, _ handle: ServerHandle, _ lock: Lock) {
        self.request = request
        self.handle = handle
        self.lock = lock
    }

    /// Sends a part. Waits until the caller has asked for it.
    ///
    /// - Throws: `CancellationError`: the caller does not wait any more, the server has ended, or the handler has
    ///   returned. ``SharedNotificationError``: the part can't be sent.
    func send(_ payload: SharedNotificationCenter.RawPayload) async throws {
        while try !takeTurn() { await wait { isFull && !isOver } }
        do {
            guard try handle.send(part: payload, to: request) else { throw CancellationError() }
        } catch {
            goOn()
            throw error
        }
    }

    /// Whether the calling task sends the next part.
    private func takeTurn() throws -> Bool {
        try lock.withLock {
            if isOver || Task.isCancelled { throw CancellationError() }
            defer { isFull = true }
            return !isFull
        }
    }

    /// The next part may be sent: the caller has asked for it, or the last one could not be sent.
    func goOn() { wake { isFull = false } }

    /// No further part is sent: tasks that wait for their turn throw.
    ///
    /// - Returns: whether the caller has asked for what follows the last part.
    @discardableResult
    func stop() -> Bool {
        wake {
            isOver = true
            return !isFull
        }
    }

    /// Stops, and waits until the caller has asked for what follows the last part. False: the task is cancelled.
    func end() async -> Bool {
        if stop() { return true }
        await wait { isFull }
        return lock.withLock { !isFull }
    }

    /// Waits until the condition is false, or the task is cancelled.
    ///
    /// - Parameter condition: called with the lock held.
    private func wait(while condition: () -> Bool) async {
        while lock.withLock(condition), !Task.isCancelled {
            await withTaskCancellationHandler {
                await withUnsafeContinuation { continuation in
                    let isNow = lock.withLock {
                        guard condition(), !Task.isCancelled else { return true }
                        waiting.append(continuation)
                        return false
                    }
                    if isNow { continuation.resume() }
                }
            } onCancel: {
                wake {}
            }
        }
    }

    private func wake<Result>(after change: () -> Result) -> Result {
        let (result, waiting) = lock.withLock {
            let result = change()
            defer { self.waiting = [] }
            return (result, self.waiting)
        }
        for continuation in waiting { continuation.resume() }
        return result
    }
}
