import Dispatch

/// Runs an asynchronous function, on behalf of the main thread, which waits.
func blocking<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) throws -> Result {
    let done = DispatchSemaphore(value: 0)
    let outcome = Locked<Swift.Result<Result, any Error>?>(nil)
    Task {
        do {
            let result = try await body()
            outcome.withLock { $0 = .success(result) }
        } catch {
            outcome.withLock { $0 = .failure(error) }
        }
        done.signal()
    }
    done.wait()
    return try outcome.withLock { $0! }.get()
}
