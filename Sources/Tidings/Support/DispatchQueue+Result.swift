// Work that may wait, started by a task.
package import Dispatch

extension DispatchQueue {
    /// Runs on the queue what may wait, and blocks no thread of the cooperative pool meanwhile.
    package func result<Result: Sendable, Failure: Error>(
        of body: @escaping @Sendable () throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        // By a lock: the thread sanitizer does not see that a continuation orders what a thread of Dispatch wrote.
        let result = Locked<Swift.Result<Result, Failure>?>(nil)
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            async {
                let outcome: Swift.Result<Result, Failure>
                do throws(Failure) { outcome = .success(try body()) } catch { outcome = .failure(error) }
                result.withLock { $0 = outcome }
                continuation.resume()
            }
        }
        return try result.withLock { $0! }.get()
    }
}
