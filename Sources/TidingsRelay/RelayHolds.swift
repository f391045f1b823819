// Links without loss: a lossless observer for each, which keeps in the ring what the peer has not acknowledged. `Hold`
// decides how far it goes.

#if Relay
    internal import CTidings
    internal import TidingsLink

    /// Used with the driver's lock.
    final class RelayHold {
        /// Of the relay's links.
        let link: Int
        private let center: OpaquePointer
        private let names: NameList
        private var hold: Hold
        private var observer: OpaquePointer?
        private var delivery = tidings_delivery()
        /// By the numbers of names: whether it is one of the link's names; 0: not known, 1: no, 2: yes.
        private var isNamed: [UInt8] = []
        /// The observer may have gone less far than other processes know, or there may be a notification that the relay
        /// could not read.
        private var isUnsettled = false

        /// What the log says about it.
        enum Change { case letGo, holdsAgain }

        /// - Parameter position: the oldest position that the relay reads from now on.
        init(_ link: Int, _ names: NameList, timeout: UInt64, in center: OpaquePointer, from position: UInt64)
            throws(RelayError)
        {
            self.link = link
            self.names = names
            self.center = center
            hold = Hold(timeout: timeout)
            guard open(from: position) else { throw RelayError(.center, RelayCenter.lastError) }
        }

        deinit { tidings_observer_close(observer) }

        var isHolding: Bool { hold.isHolding }

        /// When `update` is due without any event, in milliseconds.
        var deadline: UInt64? { hold.deadline }

        /// Opens the observer at this position, or at the oldest one.
        private func open(from position: UInt64) -> Bool {
            tidings_observer_close(observer)
            observer = nil
            #if MUTANT_RELAY_HOLDS_NOTHING  // Found by: relay lossless
                if isMutant("RELAY_HOLDS_NOTHING") { return true }
            #endif
            var opened: OpaquePointer?
            let flags = UInt32(TIDINGS_OBSERVE_LOSSLESS | TIDINGS_OBSERVE_BARE)
            var result = tidings_observer_open(center, flags, &opened)
            guard result == 0, let opened else { return false }
            result = tidings_observer_seek(opened, position)
            for prefix in names.prefixes where result == 0 {
                let flags = UInt32(TIDINGS_ADD_HISTORY | TIDINGS_ADD_PREFIX)
                _ = RelayCenter.add(prefix.text, flags, to: opened, &result)
            }
            for name in names.names where result == 0 {
                _ = RelayCenter.add(name.text, UInt32(TIDINGS_ADD_HISTORY), to: opened, &result)
            }
            guard result == 0 else {
                tidings_observer_close(opened)
                return false
            }
            observer = opened
            isUnsettled = true
            return true
        }

        /// The relay has read this notification.
        func read(_ position: UInt64, name: Int, _ core: RelayCore, now: UInt64) {
            if name >= isNamed.count {
                isNamed.append(contentsOf: repeatElement(0, count: max(64, name + 1 - isNamed.count)))
            }
            if isNamed[name] == 0 { isNamed[name] = names.matches(core.name(name)) ? 2 : 1 }
            if isNamed[name] == 2 { hold.read(position, now: now) }
        }

        /// The relay has read past a notification that it can't pass on.
        func passed() { isUnsettled = true }

        /// - Parameter end: the position that the relay reads next.
        func update(_ core: inout RelayCore, oldest: UInt64, end: UInt64, now: UInt64) -> Change? {
            #if MUTANT_RELAY_HOLDS_FOR_EVER  // Found by: relay lossless hangs
                if isMutant("RELAY_HOLDS_FOR_EVER") {
                    let acknowledged = core.acknowledged(onLink: link)
                    if case .pass(let last) = hold.update(acknowledged: acknowledged, oldest: 0, end: end, now: 0) {
                        pass(last)
                    }
                    return nil
                }
            #endif
            switch hold.update(acknowledged: core.acknowledged(onLink: link), oldest: oldest, end: end, now: now) {
            case .none: break
            case .pass(let position): pass(position)
            case .letGo:
                tidings_observer_close(observer)
                observer = nil
                return .letGo
            case .hold(let position):
                guard open(from: position) else {
                    hold.notOpened(acknowledged: core.acknowledged(onLink: link))
                    return nil
                }
                return .holdsAgain
            }
            if hold.isEmpty, isUnsettled, observer != nil { settle(end) }
            return nil
        }

        private func pass(_ last: UInt64) {
            guard observer != nil else { return }
            isUnsettled = true
            // Each step takes one notification of the names, and `last` is one of them.
            while tidings_observer_position(observer) <= last {
                guard tidings_next(observer, 0, &delivery) == 0 else { return }
            }
        }

        /// Goes as far as the relay has read: the observer tells other processes how far it is when it finds nothing.
        /// So this is done when nothing is there that the relay has not read. What is posted in this very moment may be
        /// received, too: the ring does not keep that one.
        private func settle(_ end: UInt64) {
            guard tidings_posted(center) == end else { return }
            isUnsettled = false
            while tidings_next(observer, 0, &delivery) == 0, delivery.sequence < end {}
        }
    }
#endif
