#if Service
    public import Logging
    public import Tidings

    extension SharedNotificationCenter {
        /// Writes the diagnostics of this center object (`onDiagnostic`) to a logger.
        ///
        /// ```swift
        /// let center = try SharedNotificationCenter(named: "com.example.player")
        /// center.log(to: Logger(label: "com.example.player"))
        /// ```
        ///
        /// Promise: each kind of diagnostic has its own message and level, and its own limit. What the limit leaves out
        /// is counted, and the next line of that kind has the number. Diagnostics that are caused by the log handler
        /// itself, on its thread, are left out as well. The log handler runs on the thread that noticed the event.
        ///
        /// | diagnostic | level |
        /// |---|---|
        /// | a payload does not decode, notifications were missed, a probable mistake of the program | `warning` |
        /// | a deferred post failed, an observer could not start, dispatching has ended | `error` |
        /// | the observers go on in the next center | `notice` |
        ///
        /// Metadata: `tidings.center`; where there is one `tidings.name`, `tidings.sequence`, `tidings.poster` (process
        /// id), `tidings.count`, `tidings.code` (of the error), `tidings.incarnation`; `tidings.suppressed`, if lines
        /// of this kind were left out before. Payloads are not logged.
        ///
        /// Replaces `onDiagnostic`. Without a call of this function, diagnostics go to standard error.
        ///
        /// - Parameters:
        ///   - logger: receives the lines.
        ///   - burst: how many lines of each kind may be written at once, at least 1.
        ///   - perSecond: how many lines of each kind may follow each second. 0: none.
        public func log(to logger: Logger, burst: Int = 10, perSecond: Double = 1) {
            let log = DiagnosticLog(logger, center: name, burst: burst, perSecond: perSecond)
            onDiagnostic = { log.write($0) }
        }
    }

    /// Turns diagnostics into lines of a logger, within limits.
    final class DiagnosticLog: Sendable {
        private let logger: Logger
        private let limits: Locked<[Kind: Limit]>
        private let fresh: Limit
        /// The log handler is running on this thread or task.
        @TaskLocal private static var isWriting = false

        /// A fixed set: names are unbounded, so they have no limits of their own.
        enum Kind: Hashable, Sendable { case undecodable, missed, observerFailed, postFailed, mistake, ended, reopened }

        init(_ logger: Logger, center: String, burst: Int, perSecond: Double) {
            var logger = logger
            logger[metadataKey: "tidings.center"] = "\(center)"
            self.logger = logger
            fresh = Limit(burst: Double(max(1, burst)), perSecond: max(0, perSecond.isFinite ? perSecond : 0))
            limits = Locked([:])
        }

        func write(_ diagnostic: SharedNotificationCenter.Diagnostic) {
            var line = Line(diagnostic)
            let isWithin = Self.isWriting
            let suppressed = limits.withLock { limits -> Int? in
                var limit = limits[line.kind] ?? fresh
                defer { limits[line.kind] = limit }
                #if MUTANT_SERVICE_LOG_UNLIMITED  // Found by: service theLogIsLimitedAndCountsWhatItLeavesOut
                    if isMutant("SERVICE_LOG_UNLIMITED") { return 0 }
                #endif
                return limit.admit(at: .now, isWithin)
            }
            guard let suppressed else { return }
            if suppressed > 0 { line.metadata["tidings.suppressed"] = "\(suppressed)" }
            Self.$isWriting.withValue(true) {
                logger.log(level: line.level, line.message, error: line.error, metadata: line.metadata)
            }
        }

        /// A bucket of lines that fills with time.
        struct Limit: Sendable {
            private let burst: Double
            private let perSecond: Double
            private var left: Double
            private var filledAt = ContinuousClock.now
            private var suppressed = 0

            init(burst: Double, perSecond: Double) {
                self.burst = burst
                self.perSecond = perSecond
                left = burst
            }

            /// How many lines were left out since the last one; `nil`: this one is left out, too.
            mutating func admit(at now: ContinuousClock.Instant, _ isWithin: Bool) -> Int? {
                left = min(burst, left + perSecond * (now - filledAt).seconds)
                filledAt = now
                guard left >= 1, !isWithin else {
                    if suppressed < .max { suppressed += 1 }
                    return nil
                }
                left -= 1
                defer { suppressed = 0 }
                return suppressed
            }
        }

        struct Line {
            var kind: Kind
            var level: Logger.Level
            var message: Logger.Message
            var error: (any Error)?
            var metadata: Logger.Metadata = [:]

            init(_ diagnostic: SharedNotificationCenter.Diagnostic) {
                switch diagnostic {
                case .undecodable(let notification, let error):
                    (kind, level) = (.undecodable, .warning)
                    message = "can't decode a notification"
                    self.error = error
                    metadata["tidings.name"] = "\(notification.name)"
                    metadata["tidings.sequence"] = "\(notification.envelope.sequence)"
                    metadata["tidings.poster"] = "\(notification.envelope.poster.pid)"
                case .missed(let count, let name):
                    (kind, level) = (.missed, .warning)
                    message = "an observer was too slow and missed notifications"
                    metadata["tidings.count"] = "\(count)"
                    metadata["tidings.name"] = name.map { "\($0)" }
                case .observerFailed(let name, let error):
                    (kind, level) = (.observerFailed, .error)
                    message = "can't observe"
                    self.error = error
                    metadata["tidings.name"] = name.map { "\($0)" }
                case .postFailed(let name, let error):
                    (kind, level) = (.postFailed, .error)
                    message = "can't post"
                    self.error = error
                    metadata["tidings.name"] = "\(name)"
                case .mistake(let mistake):
                    (kind, level) = (.mistake, .warning)
                    message = "\(mistake.description)"
                case .dispatchFailed(let error):
                    (kind, level) = (.ended, .error)
                    message = "no more notifications arrive"
                    self.error = error
                case .reopened(let incarnation):
                    (kind, level) = (.reopened, .notice)
                    message = "the center has ended; its observers go on in the next one"
                    metadata["tidings.incarnation"] = "\(String(incarnation, radix: 16))"
                }
                if let error = error as? SharedNotificationError { metadata["tidings.code"] = "\(error.code)" }
            }
        }
    }

    extension Duration {
        var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
    }
#endif
