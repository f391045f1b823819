// Carries out what the link core asks for: reads the center, sends on links, posts and stores. One thread owns it.

#if Relay
    internal import Glibc
    internal import TidingsLink

    #if MUTANTS
        import TidingsCoding
    #endif

    final class RelayDriver: @unchecked Sendable {
        // Sendable: the thread of `run` alone uses everything but `events` and `orders`, which have locks of their own.
        static let checkpointName = "tidings.relay.checkpoint"
        /// Records that are read, or outputs carried out, before the other side has its turn.
        private static let turn = 256
        private static let startLimit = 16
        /// Nanoseconds between two questions for the oldest position, which take a walk along the center's tables.
        private static let ringInterval: UInt64 = 50_000_000
        /// Nanoseconds after which a post without room is given up.
        private static let postLimit: UInt64 = 5_000_000_000
        /// Milliseconds until a post that was refused for now is tried again.
        private static let postRetry: UInt64 = 5
        /// Nanoseconds until a message or a checkpoint that was refused for now is tried again.
        private static let retry: UInt64 = 2_000_000
        /// Nanoseconds after which a relay goes on without a checkpoint that can't be stored.
        private static let storeLimit: UInt64 = 2_000_000_000

        private let center: RelayCenter
        private let own: Origin
        private let limits: LinkLimits
        private let events = RelayEvents()
        private let report: RelayReport
        private var core: RelayCore
        private var lanes: [RelayLane] = []
        private var configurations: [LinkConfiguration]
        private var laneCount = 0
        private var taken: [(lane: Int, event: RelayEvents.Event)] = []
        private var now: UInt64 = 0
        private var storing: (bytes: [UInt8], since: UInt64)?
        private var toldPostProblem = false
        /// The values could not be listed after a loss.
        private var needsRefresh = false
        private var ringAskedAt: UInt64 = 0
        /// When the post that waits was first refused without an observer that holds it back; 0: none waits.
        private var postWaitsSince: UInt64 = 0
        private var orders: [Order] = []

        enum Order {
            case end
            case links([Relay.Link], [LinkConfiguration])
        }

        init(
            center: RelayCenter, own: Origin, links: [Relay.Link], configurations: [LinkConfiguration],
            report: RelayReport
        ) throws(RelayError) {
            self.center = center
            self.own = own
            self.report = report
            self.configurations = configurations
            var limits = LinkLimits()
            limits.payload = center.maximumPayload
            self.limits = limits
            #if MUTANT_RELAY_FORGETS_ITS_CHECKPOINT  // Found by: relay kills
                let isForgotten = isMutant("RELAY_FORGETS_ITS_CHECKPOINT")
                let stored = isForgotten ? nil : center.stored(as: Self.checkpointName)
            #else
                let stored = center.stored(as: Self.checkpointName)
            #endif
            let checkpoint = stored.flatMap { CheckpointCoding.decode($0, incarnation: own.incarnation) }
            if stored != nil, checkpoint == nil { report.lostCheckpoint() }
            core = try Self.makeCore(center, own, checkpoint, configurations, limits)
            setLinks(links)
        }

        private static func makeCore(
            _ center: RelayCenter, _ own: Origin, _ checkpoint: Checkpoint?, _ links: [LinkConfiguration],
            _ limits: LinkLimits
        ) throws(RelayError) -> RelayCore {
            // A busy center can go round meanwhile.
            for _ in 0..<startLimit {
                let position = try center.observe(ObservedNames(links), fromOldest: checkpoint != nil)
                let end = center.end
                var core: RelayCore
                if var checkpoint, checkpoint.position <= end {
                    checkpoint.origins[0].origin = own
                    core = RelayCore(
                        checkpoint: checkpoint, oldest: position, slots: center.slots, links: links, limits: limits)
                    center.number(namesBy: &core)
                    guard let records = try center.history(before: end, for: &core) else { continue }
                    core.replay(records)
                } else {
                    core = RelayCore(
                        center: own, slots: center.slots, links: links, position: position, limits: limits)
                    center.number(namesBy: &core)
                }
                core.readThrough(center.position)
                try refresh(&core, center)
                return core
            }
            throw RelayError(
                .center,
                "can't relay for center \"\(own.center)\": its ring goes round before it is read; give it more slots"
            )
        }

        /// Without all values, a missing one would count as cleared.
        @discardableResult
        private static func refresh(_ core: inout RelayCore, _ center: RelayCenter) throws(RelayError) -> Bool {
            for _ in 0..<startLimit {
                if let values = try center.values(for: &core) {
                    core.refresh(values, date: realtime())
                    return true
                }
            }
            return false
        }

        /// A relay that never ran.
        deinit {
            for lane in lanes { lane.connector.end() }
        }

        // MARK: - Orders of other threads

        func order(_ order: Order) {
            events.withLock { orders.append(order) }
            events.wake()
        }

        private func takeOrders() -> [Order] {
            events.withLock {
                defer { orders = [] }
                return orders
            }
        }

        // MARK: - Links

        /// Links whose server, name and credentials are as before keep their connection.
        private func setLinks(_ links: [Relay.Link]) {
            var before = lanes
            lanes = links.map { link in
                if let at = before.firstIndex(where: { $0.link.isConnectedAs(link) }) {
                    let lane = before.remove(at: at)
                    lane.link = link
                    return lane
                }
                laneCount += 1
                let connector = RelayConnector(lane: laneCount, events: events) {
                    onEvent throws(TransportError) in try link.open(onEvent)
                }
                return RelayLane(number: laneCount, link: link, connector: connector, limits: limits)
            }
            for lane in before { lane.connector.end() }
            for at in lanes.indices where lanes[at].isUp { begin(at) }
        }

        private func begin(_ at: Int) {
            let session = UInt64.random(in: 1 ..< .max)
            lanes[at].begin(session: session)
            lanes[at].connectedAt = now
            core.connected(at, session: session)
            report.connected(lanes[at])
        }

        private func change(_ links: [Relay.Link], _ configurations: [LinkConfiguration]) throws(RelayError) {
            let checkpoint = core.makeCheckpoint()
            #if MUTANT_RELAY_RELOADS_AT_THE_END  // Found by: relay reload
                if isMutant("RELAY_RELOADS_AT_THE_END") {
                    core = try Self.makeCore(center, own, nil, configurations, limits)
                    return setLinks(links)
                }
            #endif
            storing = nil
            do throws(RelayError) {
                core = try Self.makeCore(center, own, checkpoint, configurations, limits)
                self.configurations = configurations
                setLinks(links)
            } catch {
                guard error.code == .center else { throw error }
                // The center has no room for these names: the present links go on.
                report.reloadFailed(error.message)
                core = try Self.makeCore(center, own, checkpoint, self.configurations, limits)
                setLinks(lanes.map(\.link))
            }
        }

        // MARK: - The loop

        /// Runs until it is ordered to end. Then it stores a checkpoint.
        ///
        /// - Throws: the center has ended, or can't be read.
        func run() throws(RelayError) {
            defer {
                events.setInterruption(nil)
                for lane in lanes { lane.connector.end() }
                lanes = []
            }
            events.setInterruption(center.interruption)
            while true {
                now = Self.monotonic()
                for order in takeOrders() {
                    switch order {
                    case .end:
                        store(core.makeCheckpoint())
                        return
                    case .links(let links, let configurations):
                        events.setInterruption(nil)
                        defer { events.setInterruption(center.interruption) }
                        try change(links, configurations)
                    }
                }
                core.advance(to: now / 1_000_000)
                if needsRefresh { needsRefresh = try !Self.refresh(&core, center) }
                if now > ringAskedAt + Self.ringInterval {
                    ringAskedAt = now
                    core.ringBegins(at: center.oldest)
                }
                takeEvents()
                let hasMore = try read(timeout: 0)
                let isBusy = try carryOut()
                report.update(lanes, core, center, now: now)
                // A read that did not wait may have used up the interruption.
                if hasMore || isBusy || events.isPending || events.withLock({ !orders.isEmpty }) { continue }
                center.caughtUp()
                _ = try read(timeout: timeout)
            }
        }

        /// Nanoseconds until something is due.
        private var timeout: Int64 {
            let now = Self.monotonic()
            var next = core.deadline.map { $0 * 1_000_000 } ?? now + 1_000_000_000_000
            if storing != nil || lanes.contains(where: { !$0.isWritable }) { next = min(next, now + Self.retry) }
            if let due = report.due { next = min(next, due) }
            for lane in lanes {
                if let token = lane.nextToken(now: now) { next = min(next, token) }
            }
            return Int64(clamping: max(next, now + 1000) - now)
        }

        private func takeEvents() {
            events.take(into: &taken)
            for (number, event) in taken {
                guard let at = lanes.firstIndex(where: { $0.number == number }) else { continue }
                let lane = lanes[at]
                switch event {
                case .opened(let transport): if lane.opened(transport) { begin(at) }
                case .failed(let error): report.failed(lane, error.message)
                case .transport(.connected): if lane.connected() { begin(at) }
                case .transport(.disconnected(let why)):
                    guard lane.isUp else {
                        report.failed(lane, why)
                        continue
                    }
                    lane.disconnected()
                    core.disconnected(at)
                    report.disconnected(lane, why)
                case .transport(.received(let bytes)): lane.arrived(bytes)
                }
            }
            taken.removeAll(keepingCapacity: true)
            for at in lanes.indices {
                lanes[at].takeFrames(now: now) { core.received($0, link: at) }
                if !lanes[at].isWritable {
                    lanes[at].flush()
                    core.setWritable(lanes[at].isWritable, link: at)
                }
            }
        }

        /// Reads what is in the ring, one turn at most. True: there may be more.
        private func read(timeout: Int64) throws(RelayError) -> Bool {
            var timeout = timeout
            for _ in 0..<Self.turn {
                switch center.next(timeout: timeout, for: &core) {
                case .read: break
                case .missed(let counts, let end):
                    core.missed(counts, before: end)
                    needsRefresh = try !Self.refresh(&core, center)
                case .nothing:
                    core.readThrough(center.position)
                    return false
                case .ended:
                    throw RelayError(
                        .removed, "center \"\(own.center)\" was removed; start the relay again for the next one")
                case .failed(let line): throw RelayError(.center, line)
                }
                timeout = 0
            }
            core.readThrough(center.position)
            return true
        }

        /// True: there is more to do, one turn was enough.
        private func carryOut() throws(RelayError) -> Bool {
            if let waiting = storing {
                guard tryToStore(waiting.bytes, since: waiting.since) else { return false }
            }
            for _ in 0..<Self.turn {
                guard let output = core.next(center) else { return false }
                switch output {
                case .send(let link, let frame):
                    let lane = lanes[link]
                    lane.send(frame, now: now)
                    core.setWritable(lane.isWritable, link: link)
                case .post(let post):
                    switch center.post(post, core) {
                    case .at(let position):
                        core.posted(at: position)
                        toldPostProblem = false
                        postWaitsSince = 0
                    case .later(let why, let isHeld):
                        if postWaitsSince == 0 || isHeld { postWaitsSince = now }
                        // Without an observer that holds it back there may never be room.
                        if now > postWaitsSince + Self.postLimit {
                            report.postFailed(core.name(post.name).text, why, now)
                            // The next one without room does not wait again.
                            core.discarded()
                            continue
                        }
                        core.notPosted(until: now / 1_000_000 + Self.postRetry)
                        if !toldPostProblem { report.postWaits(why) }
                        toldPostProblem = true
                    case .never(let why):
                        report.postFailed(core.name(post.name).text, why, now)
                        core.discarded()
                    case .ended:
                        core.notPosted()
                        throw RelayError(
                            .removed, "center \"\(own.center)\" was removed; start the relay again for the next one")
                    }
                case .store(let checkpoint): if !store(checkpoint) { return false }
                }
            }
            return true
        }

        @discardableResult
        private func store(_ checkpoint: Checkpoint) -> Bool {
            report.origins(checkpoint.origins.map(\.origin))
            return tryToStore(CheckpointCoding.encode(checkpoint), since: now)
        }

        private func tryToStore(_ bytes: [UInt8], since: UInt64) -> Bool {
            if let why = center.store(bytes, as: Self.checkpointName) {
                guard now > since + Self.storeLimit || bytes.count > limits.payload || report.isCheckpointFailing else {
                    storing = (bytes, since)
                    return false
                }
                report.checkpointFailed(why, now)
            } else {
                report.checkpointStored()
            }
            storing = nil
            core.stored()
            return true
        }

        static func monotonic() -> UInt64 { clock(CLOCK_MONOTONIC) }
        static func realtime() -> UInt64 { clock(CLOCK_REALTIME) }

        private static func clock(_ id: clockid_t) -> UInt64 {
            var time = timespec()
            clock_gettime(id, &time)
            return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
        }
    }
#endif
