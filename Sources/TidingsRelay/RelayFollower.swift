// Reads the ring of a center that another relay has, for a relay that stands by.

#if Relay
    internal import CTidings
    internal import Glibc
    internal import TidingsLink

    /// Used with the driver's lock, except for `wait` and `interrupt`.
    final class RelayFollower {
        /// How many positions the log may keep, whatever the size of the ring. A mark has some 150 bytes.
        private static let least: UInt64 = 1 << 18

        private let center: RelayCenter
        private let observer: OpaquePointer
        private var delivery = tidings_delivery()
        /// `wait` has taken a delivery, which `read` uses.
        private var isTaken = false
        let names: ObservedNames
        private(set) var log: StandbyLog
        /// The log begins behind what the center's relay has stored.
        private(set) var isIncomplete = false
        /// Where the log ended when it was last shortened.
        private var shortenedAt: UInt64 = 0

        init(_ center: RelayCenter, _ names: ObservedNames) throws(RelayError) {
            self.center = center
            self.names = names
            observer = try center.open(names, seeking: 0, flags: UInt32(TIDINGS_ADD_HISTORY))
            // Each addition lists what the ring has then.
            let position = max(tidings_observer_position(observer), center.oldest)
            log = StandbyLog(at: position, limit: max(center.slots, Self.least))
        }

        deinit { tidings_observer_close(observer) }

        /// As those of `RelayCenter`.
        func interrupt() { tidings_observer_interrupt(observer) }
        func wait(_ timeout: Int64) { isTaken = tidings_next(observer, timeout, &delivery) == 0 }

        /// Reads what is in the ring, `most` notifications at most. True: there may be more.
        ///
        /// - Parameter core: gives names their numbers.
        func read(most: Int, for core: inout RelayCore) throws(RelayError) -> Bool {
            for _ in 0..<most {
                let result = isTaken ? 0 : tidings_next(observer, 0, &delivery)
                isTaken = false
                switch -result {
                case 0: break
                case EAGAIN, ETIMEDOUT, EINTR:
                    log.readThrough(tidings_observer_position(observer))
                    return false
                // A notification without memory for its payload counts as missed.
                case ENOMEM:
                    log.lapped(before: tidings_observer_position(observer))
                    continue
                case ESTALE: throw center.isRemoved
                default: throw RelayError(.center, RelayCenter.lastError)
                }
                if delivery.kind == TIDINGS_DELIVERY_MISSED {
                    #if MUTANT_RELAY_STANDBY_IGNORES_LOSSES  // Found by: relay standby
                        if isMutant("RELAY_STANDBY_IGNORES_LOSSES") { continue }
                    #endif
                    log.lapped(before: delivery.sequence)
                } else if let name = RelayCenter.number(of: delivery, &core) {
                    log.read(RelayCenter.record(of: delivery, name: name).0)
                } else if core.isFullOfNames {
                    log.lapped(before: delivery.sequence + 1)
                }
            }
            return true
        }

        /// - Parameter position: of the state that the center's relay has stored; `nil`: there is none.
        func shorten(_ position: () -> UInt64?) {
            guard isIncomplete || log.begin > shortenedAt || log.end - shortenedAt > center.slots / 2 else { return }
            shortenedAt = log.end
            guard let position = position() else { return }
            isIncomplete = position < log.begin
            log.forget(before: position)
        }
    }
#endif
