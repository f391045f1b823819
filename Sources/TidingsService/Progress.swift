#if Service
    internal import Glibc
    internal import Tidings

    /// How far a service's closure has come, for `tidings_observer_lag` and the health of the center.
    final class Progress: Sendable {
        private struct Running: Sendable {
            var incarnation: UInt64
            var sequence: UInt64
        }

        private let center: SharedNotificationCenter
        private let running = Locked<Running?>(nil)

        init(_ center: SharedNotificationCenter) {
            self.center = center
            Self.all.withLock { all in
                all.removeAll { $0.progress == nil }
                all.append(Weak(progress: self))
            }
        }

        func begins(_ envelope: SharedNotificationCenter.Envelope) {
            running.withLock { $0 = Running(incarnation: envelope.incarnation, sequence: envelope.sequence) }
        }

        func ends() { running.withLock { $0 = nil } }

        /// How many positions, of all names, lie between the message that its closure handles now and the next post. 0:
        /// it handles none, so it has caught up, or another message arrives at once.
        private func lag(at end: UInt64, in incarnation: UInt64) -> Int {
            let now = running.withLock { $0 }
            guard let now, now.incarnation == incarnation, end > now.sequence else { return 0 }
            return Int(clamping: end - now.sequence - 1)
        }

        /// The largest lag of the services of a center object.
        static func lag(of center: SharedNotificationCenter, at end: UInt64) -> Int {
            let services = all.withLock { $0.compactMap(\.progress) }
            return services.filter { $0.center === center }.map { $0.lag(at: end, in: center.incarnation) }.max() ?? 0
        }

        private struct Weak: Sendable {
            weak let progress: Progress?
        }

        private static let all = Locked<[Weak]>([])
    }

    /// The real-time clock, as the time of a post.
    enum Wall {
        static var nanoseconds: UInt64 {
            var now = timespec()
            clock_gettime(CLOCK_REALTIME, &now)
            return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
        }
    }
#endif
