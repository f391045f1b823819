// The task that supervises one extension: it starts the process, reacts to what happens to it, and starts it again.
internal import Glibc

/// What the supervising task reacts to. Numbers are those of a start.
enum Signal: Sendable {
    /// The process has answered, or closed its socket.
    case answered(Int)
    /// The process may not take longer to be ready.
    case late(Int)
    /// The process must be ended for this reason.
    case failed(Int, ExtensionError)
    /// The participant that announced itself in the private center has left. Behind a wrapper script, it is not the
    /// started process.
    case left(Int)
    /// That participant has left a while ago.
    case leftBehind(Int)
    /// The process has ended.
    case ended(Int, Ending)
    case stop(Duration)
    /// The timeout of a stop is over.
    case stopLate
    /// The pause before a restart is over.
    case resume
}

extension Duration {
    /// The duration between zero and a hundred years. Every duration that a program passes goes through here: sleeping
    /// longer, and computing with much longer ones, ends the process.
    var bounded: Duration { min(max(.zero, self), .seconds(100 * 365 * 86_400)) }
}

extension Extension {
    /// Runs until the extension has ended and is not started again.
    func supervise(_ received: AsyncStream<Signal>) async {
        var received = received.makeAsyncIterator()
        var supervision = Supervision(self)
        var number = 0
        var restarts = 0
        repeat {
            number += 1
            await supervision.run(number, &received)
        } while await supervision.isToRestart(&restarts, &received)
        settleLaunch(.failure(HostCore.ended))
        finish()
    }
}

private struct Supervision {
    let one: Extension
    var isStopping = false
    /// How long the last start was ready; `nil`: it was not.
    var readyFor: Duration?
    var hasFailed = false
    /// The first start is not repeated before it was ready.
    var hasBeenReady = false
    private var timers: [Task<Void, Never>] = []

    init(_ one: Extension) {
        self.one = one
    }

    private func emit(_ event: Extension.Event) {
        one.lifecycle.feed.emit(event)
    }

    private mutating func after(_ duration: Duration, _ signal: Signal) {
        timers.append(
            Task { [signals = one.signals] in
                do { try await Task.sleep(for: duration.bounded) } catch { return }
                signals.yield(signal)
            })
    }

    private mutating func cancelTimers() {
        for each in timers { each.cancel() }
        timers = []
    }

    /// Starts the process, and returns when it has ended.
    mutating func run(_ number: Int, _ received: inout AsyncStream<Signal>.Iterator) async {
        readyFor = nil
        hasFailed = true
        emit(.launching)
        let start: Launched
        do throws(ExtensionError) {
            start = try await one.core.queue.result { [one] () throws(ExtensionError) in
                let start = try Launched(number, of: one)
                one.began(start)
                return start
            }
        } catch {
            emit(.failed(error))
            return one.settleLaunch(.failure(error))
        }
        after(one.specification.readyTimeout, .late(number))
        let (ending, failure) = await end(of: start, &received)
        cancelTimers()
        one.startEnded()
        await start.end()
        hasFailed = failure != nil || ending != .exited(0)
        emit(ending.event)
        one.settleLaunch(.failure(isStopping ? stopped : failure ?? early(ending)))
    }

    /// Reacts until the process has ended.
    private mutating func end(
        of start: Launched, _ received: inout AsyncStream<Signal>.Iterator
    ) async -> (Ending, ExtensionError?) {
        var readySince: ContinuousClock.Instant?
        var failure: ExtensionError?
        let (number, core, process) = (start.number, one.core, start.process)

        func fail(_ error: ExtensionError) {
            guard failure == nil else { return }
            failure = error
            emit(.failed(error))
            core.kill(process)
        }

        func takeAnswer() {
            guard readySince == nil, failure == nil, let answer = start.answer() else { return }
            guard case .ready = answer else { return fail(error(for: answer)) }
            readySince = .now
            one.becameReady()
            emit(.ready(pid: process.pid))
            one.settleLaunch(.success(()))
        }

        while let signal = await received.next() {
            switch signal {
            case .answered(number): takeAnswer()
            case .late(number):
                // The answer may be there, and its event be late.
                takeAnswer()
                if readySince == nil { fail(notReady) }
            case .failed(number, let error): fail(error)
            case .left(number): after(.seconds(2), .leftBehind(number))
            // While it is stopped, its timeout counts.
            case .leftBehind(number): if !isStopping { fail(leftBehind) }
            case .ended(number, let ending):
                takeAnswer()
                readyFor = readySince?.duration(to: .now)
                hasBeenReady = hasBeenReady || readySince != nil
                return (ending, failure)
            case .stop(let timeout):
                // The first stop alone sends SIGTERM. A later one only adds an earlier timeout.
                if !isStopping { core.signal(process, SIGTERM) }
                isStopping = true
                after(timeout, .stopLate)
            case .stopLate: core.kill(process)
            case .answered, .late, .failed, .left, .leftBehind, .ended, .resume: break
            }
        }
        // Not reached: the stream ends after this function.
        return (.crashed(SIGKILL), failure)
    }

    // MARK: Errors

    private func error(for answer: HandShake.Answer) -> ExtensionError {
        switch answer {
        case .otherVersion(let version):
            ExtensionError(
                .otherVersion,
                message: """
                    can't use extension "\(one.name)": it has version \(version) of the hand-shake, and this host \
                    version \(HandShake.version); build both with one version of the library
                    """)
        case .failed(let status):
            // Not by the initializer for errors of this process: its code and advice are about the launch.
            ExtensionError(
                .system(status),
                message: """
                    can't use extension "\(one.name)": it answered that it cannot be ready \
                    (\(String(cString: strerror(status)))); see what it wrote to standard error
                    """)
        case .ready, .unknown:
            ExtensionError(
                .otherVersion,
                message: """
                    can't use extension "\(one.name)": it wrote something other than an answer to its standard \
                    input; let the library alone write there
                    """)
        }
    }

    private var notReady: ExtensionError {
        ExtensionError(
            .notReady,
            message: """
                can't use extension "\(one.name)": it was not ready within \(one.specification.readyTimeout); see that \
                it calls ready(), or raise readyTimeout
                """)
    }

    private var leftBehind: ExtensionError {
        ExtensionError(
            .left,
            message: """
                can't use extension "\(one.name)" any more: its process has ended, and its wrapper has not; let the \
                wrapper end with it, or use exec
                """)
    }

    private var stopped: ExtensionError {
        ExtensionError(.stopped, message: "can't wait for extension \"\(one.name)\": it was stopped")
    }

    private func early(_ ending: Ending) -> ExtensionError {
        let how =
            switch ending {
            case .exited(let status): "exited with status \(status)"
            case .crashed(let signal): "was ended by signal \(signal)"
            }
        return ExtensionError(
            .endedEarly,
            message: """
                can't use extension "\(one.name)": it \(how) before it was ready; see what it wrote to standard error
                """)
    }

    /// After the end of a start: waits for the pause before the next one. False: there is no next one.
    mutating func isToRestart(_ restarts: inout Int, _ received: inout AsyncStream<Signal>.Iterator) async -> Bool {
        let policy = one.specification.restart
        guard hasBeenReady, !isStopping, !one.core.isClosed else { return false }
        switch policy.occasion {
        case .never: return false
        case .failure where !hasFailed: return false
        case .failure, .always: break
        }
        if let readyFor, readyFor >= policy.backoff.longest { restarts = 0 }
        guard restarts < policy.limit else {
            emit(.gaveUp)
            return false
        }
        restarts += 1
        let pause = policy.backoff.pause(before: restarts)
        emit(.restarting(after: pause))
        after(pause, .resume)
        defer { cancelTimers() }
        while let signal = await received.next() {
            switch signal {
            case .resume: return true
            case .stop: return false
            default: break
            }
        }
        return false
    }
}
