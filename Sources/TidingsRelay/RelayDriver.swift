// Carries out what the link core asks for: reads the center, sends on links, posts and stores. Each thread that has an
// event runs the core, with the lock. Docs/Design/Relay.md, "The driver", says why this can't come to a standstill.

#if Relay
    internal import Glibc
    internal import NIOConcurrencyHelpers
    internal import Tidings
    internal import TidingsLink

    final class RelayDriver: @unchecked Sendable {
        // Sendable: `lock` guards all variables. No thread waits while it has the lock.
        static let checkpointName = "tidings.relay.checkpoint"
        /// Records that are read, or outputs carried out, before another thread has its turn.
        private static let turn = 1024
        /// Bytes of messages that arrive before `run`. More are dropped. Their link repairs that.
        private static let earlyLimit = 64 << 20
        private static let startLimit = 16
        /// Nanoseconds between two questions for the oldest position, at least, and how many times as long as the last
        /// answer took: it is a walk along the center's tables.
        private static let ringInterval: UInt64 = 50_000_000
        private static let ringShare: UInt64 = 32
        /// Nanoseconds after which a post without room is given up.
        private static let postLimit: UInt64 = 5_000_000_000
        /// Milliseconds until a post that was refused for now is tried again.
        private static let postRetry: UInt64 = 5
        /// Nanoseconds until a message that was refused for now is tried again.
        private static let retry: UInt64 = 2_000_000
        /// Nanoseconds between two attempts of a relay that stands by to take the center.
        private static let standbyInterval: UInt64 = 100_000_000
        /// Milliseconds until a checkpoint that was refused for now is made again.
        private static let storeRetry: UInt64 = 10
        /// Nanoseconds after which a relay goes on without a checkpoint that can't be stored.
        private static let storeLimit: UInt64 = 2_000_000_000

        private let center: RelayCenter
        /// Another relay has the center, and this one follows it; `nil`: this one has it.
        private var follower: RelayFollower?
        /// Of a relay that stands by: it connects none of them.
        private var links: [Relay.Link]
        /// Passes requests on; `nil`: no link does.
        private var requests: RelayRequests?
        /// Participants; `nil`: no link tells or shows any.
        private var presence: RelayPresence?
        private let shared: SharedNotificationCenter
        private let own: Origin
        private let limits: LinkLimits
        private let lock = NIOLock()
        private let report: RelayReport
        private var core: RelayCore
        private var lanes: [RelayLane] = []
        private var configurations: [LinkConfiguration]
        private var laneCount = 0
        private var phase = Phase.new
        /// What came before `run`.
        private var early: [(lane: Int, event: LaneEvent)] = []
        private var earlyBytes = 0
        /// Why the relay must end: another thread than that of `run` has found it.
        private var failure: RelayError?
        private var now: UInt64 = 0
        /// When the checkpoint that waits was first refused; 0: none waits.
        private var storeWaitsSince: UInt64 = 0
        private var toldPostProblem = false
        /// The values could not be listed after a loss.
        private var needsRefresh = false
        private var ringAskAt: UInt64 = 0
        /// Where the ring ended at the last question.
        private var ringEnd: UInt64 = 0
        /// When the post that waits was first refused without an observer that holds it back; 0: none waits.
        private var postWaitsSince: UInt64 = 0
        private let mailbox = NIOLockedValueBox(Mailbox())

        /// What the thread of `run` looks at before it waits. Its lock comes last: handlers and callers of requests
        /// give orders, and some do so with the driver's lock.
        private struct Mailbox {
            var orders: [Order] = []
            /// When the wait of the thread of `run` ends at the latest; `nil`: it does not wait.
            var waitsUntil: UInt64?
        }

        private enum Phase {
            case new, running, ended
        }

        enum Order: @unchecked Sendable {
            // Sendable: the closure is called with the driver's lock, and uses what that lock guards.
            case end
            case links([Relay.Link], [LinkConfiguration])
            /// Runs with the driver's lock, on the thread of `run`.
            case core((inout RelayCore) -> Void)
        }

        /// - Parameter standsBy: another relay has the center, and `standBy` takes it.
        init(
            center: RelayCenter, shared: SharedNotificationCenter, own: Origin, links: [Relay.Link],
            configurations: [LinkConfiguration], report: RelayReport, standsBy: Bool
        ) throws(RelayError) {
            self.center = center
            self.shared = shared
            self.own = own
            self.report = report
            self.configurations = configurations
            var limits = LinkLimits()
            limits.payload = center.maximumPayload
            self.limits = limits
            self.links = links
            core = RelayCore(center: own, slots: center.slots, links: configurations, position: 0, limits: limits)
            if standsBy {
                follower = try RelayFollower(center, ObservedNames(configurations))
            } else {
                try begin()
            }
        }

        private func begin() throws(RelayError) {
            #if MUTANT_RELAY_FORGETS_ITS_CHECKPOINT  // Found by: relay kills
                let isForgotten = isMutant("RELAY_FORGETS_ITS_CHECKPOINT")
                let stored = isForgotten ? nil : center.stored(as: Self.checkpointName)
            #else
                let stored = center.stored(as: Self.checkpointName)
            #endif
            let checkpoint = stored.flatMap { CheckpointCoding.decode($0, incarnation: own.incarnation) }
            if stored != nil, checkpoint == nil { report.lostCheckpoint() }
            core = try makeCore(checkpoint, configurations)
            setLinks(links)
            links = []
        }

        private func makeCore(_ checkpoint: Checkpoint?, _ links: [LinkConfiguration]) throws(RelayError) -> RelayCore {
            // A busy center can go round meanwhile.
            for _ in 0..<Self.startLimit {
                center.now = Self.monotonic() / 1_000_000
                let lossless = links.enumerated().compactMap { at, link in
                    link.lossless.map { (at, $0, link.losslessTimeout) }
                }
                let position = try center.observe(
                    ObservedNames(links), fromOldest: checkpoint != nil, lossless: lossless)
                let end = center.end
                var made: RelayCore
                if var checkpoint, checkpoint.position <= end {
                    checkpoint.origins[0].origin = own
                    let log = try followed(from: position, upTo: end)
                    made = RelayCore(
                        checkpoint: checkpoint, oldest: log?.begin ?? position, slots: center.slots, links: links,
                        limits: limits)
                    center.number(namesBy: &made)
                    let before = log?.records(before: end) { made.number(of: core.name($0)) } ?? []
                    let begin = log.map { min($0.end, end) } ?? position
                    guard let records = try center.history(from: begin, before: end, for: &made) else { continue }
                    made.replay(before + records)
                } else {
                    made = RelayCore(
                        center: own, slots: center.slots, links: links, position: position, limits: limits)
                    center.number(namesBy: &made)
                }
                made.readThrough(center.position)
                try Self.refresh(&made, center)
                return made
            }
            throw RelayError(
                .center,
                "can't relay for center \"\(own.center)\": its ring goes round before it is read; give it more slots"
            )
        }

        /// What this relay has read while it stood by, if that reaches back further than `position`, where the ring
        /// begins, and no gap is between the two.
        private func followed(from position: UInt64, upTo end: UInt64) throws(RelayError) -> StandbyLog? {
            #if MUTANT_RELAY_STANDBY_KEEPS_NOTHING  // Found by: relay standby
                if isMutant("RELAY_STANDBY_KEEPS_NOTHING") { return nil }
            #endif
            guard let follower else { return nil }
            while follower.log.end < end, try follower.read(most: Self.turn, for: &core) {}
            return follower.log.begin < position && follower.log.end >= position ? follower.log : nil
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
            mailbox.withLockedValue {
                $0.orders.append(order)
                wake(&$0)
            }
        }

        /// Ends the wait of the thread of `run`, if it ends later than this.
        private func wake(before time: UInt64 = 0) {
            mailbox.withLockedValue { if let end = $0.waitsUntil, time < end { wake(&$0) } }
        }

        private func wake(_ mailbox: inout Mailbox) {
            guard mailbox.waitsUntil != nil else { return }
            // Once is enough: the thread looks at everything when it has the lock.
            mailbox.waitsUntil = nil
            if let follower { follower.interrupt() } else { center.interrupt() }
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
                let number = laneCount
                let connector = RelayConnector { [weak self] event in
                    self?.take(event, lane: number)
                } open: { onEvent throws(TransportError) in
                    try link.open(onEvent)
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
            // The core will be a new one: calls of the present one end.
            endRequests()
            let checkpoint = core.makeCheckpoint()
            #if MUTANT_RELAY_RELOADS_AT_THE_END  // Found by: relay reload
                if isMutant("RELAY_RELOADS_AT_THE_END") {
                    core = try makeCore(nil, configurations)
                    return setLinks(links)
                }
            #endif
            storeWaitsSince = 0
            do throws(RelayError) {
                core = try makeCore(checkpoint, configurations)
                self.configurations = configurations
                setLinks(links)
            } catch {
                guard error.code == .center else { throw error }
                // The center has no room for these names: the present links go on.
                report.reloadFailed(error.message)
                core = try makeCore(checkpoint, self.configurations)
                setLinks(lanes.map(\.link))
            }
            do throws(RelayError) {
                try beginRequests()
            } catch {
                report.problem("can't pass requests and participants on: \(error.message); reload again")
            }
        }

        /// Gives the lock away meanwhile, because it waits for servers.
        private func endRequests() {
            let (requests, presence) = (requests, presence)
            self.requests = nil
            self.presence = nil
            lock.unlock()
            requests?.end()
            presence?.end()
            lock.lock()
        }

        private func beginRequests() throws(RelayError) {
            let onCore: @Sendable (@escaping (inout RelayCore) -> Void) -> Void = { [weak self] body in
                self?.order(.core(body))
            }
            if configurations.contains(where: { $0.announces || $0.shows }) {
                presence = try RelayPresence(
                    shared, announces: configurations.contains(where: \.announces), onCore: onCore)
            }
            guard configurations.contains(where: { !$0.serves.isEmpty || !$0.calls.isEmpty }) else { return }
            requests = try RelayRequests(
                shared, hasServers: configurations.contains { !$0.serves.isEmpty },
                onCore: onCore,
                onProblem: { [weak self] line in self?.order(.core { _ in self?.report.problem(line) }) })
        }

        // MARK: - Events of links

        /// On a thread of the lane's transport or connector, which holds no lock.
        private func take(_ event: LaneEvent, lane number: Int) {
            lock.withLock {
                guard phase == .running else {
                    if phase == .new { keep(event, number) }
                    return
                }
                guard failure == nil else { return }
                now = Self.monotonic()
                core.advance(to: now / 1_000_000)
                apply(event, number)
                do throws(RelayError) {
                    // What one turn leaves is for the thread of `run`.
                    if try carryOut() { wake() }
                    hold()
                } catch {
                    failure = error
                    wake()
                }
                report.update(lanes, &core, center, now: now)
                // What is due later is for that thread, too.
                wake(before: due)
            }
        }

        private func keep(_ event: LaneEvent, _ number: Int) {
            if case .transport(.received(let bytes)) = event {
                guard earlyBytes + bytes.count <= Self.earlyLimit else { return }
                earlyBytes += bytes.count
            }
            early.append((number, event))
        }

        private func apply(_ event: LaneEvent, _ number: Int) {
            guard let at = lanes.firstIndex(where: { $0.number == number }) else { return }
            let lane = lanes[at]
            switch event {
            case .opened(let transport): if lane.opened(transport) { begin(at) }
            case .failed(let error): report.failed(lane, error.message)
            case .transport(.connected): if lane.connected() { begin(at) }
            case .transport(.disconnected(let why)):
                guard lane.isUp else { return report.failed(lane, why) }
                lane.disconnected()
                core.disconnected(at)
                report.disconnected(lane, why)
            case .transport(.received(let bytes)):
                lane.arrived(bytes)
                takeFrames(at)
            }
        }

        private func takeFrames(_ at: Int) {
            lanes[at].takeFrames(now: now) { core.received($0, link: at) }
        }

        // MARK: - The loop

        /// Another relay has the center.
        var isStandby: Bool { lock.withLock { follower != nil } }

        /// Follows the center's relay until that ends, and takes the center then. False: it was ordered to end.
        ///
        /// - Throws: as `run`.
        func standBy() throws(RelayError) -> Bool {
            lock.lock()
            defer { lock.unlock() }
            report.standsBy()
            var triesAt: UInt64 = 0
            while true {
                for order in takeOrders() {
                    switch order {
                    case .end: return false
                    case .links(let links, let configurations): follow(links, configurations)
                    case .core: break  // only handlers of requests give these
                    }
                }
                guard let follower else { return true }
                let hasMore = try follower.read(most: Self.turn, for: &core)
                now = Self.monotonic()
                if now >= triesAt {
                    follower.shorten { center.stored(as: Self.checkpointName).flatMap(CheckpointCoding.position) }
                    if follower.isIncomplete { report.standbyIncomplete(now) }
                    if try center.takeCenter(standby: true) { break }
                    triesAt = now + Self.standbyInterval
                }
                if hasMore { continue }
                let isIdle = mailbox.withLockedValue {
                    guard $0.orders.isEmpty else { return false }
                    $0.waitsUntil = .max
                    return true
                }
                guard isIdle else { continue }
                lock.unlock()
                follower.wait(Int64(Self.standbyInterval))
                lock.lock()
                mailbox.withLockedValue { $0.waitsUntil = nil }
            }
            try begin()
            follower = nil
            report.takesOver()
            return true
        }

        private func follow(_ links: [Relay.Link], _ configurations: [LinkConfiguration]) {
            let names = ObservedNames(configurations)
            do throws(RelayError) {
                if names != follower?.names { follower = try RelayFollower(center, names) }
                (self.links, self.configurations) = (links, configurations)
            } catch {
                report.reloadFailed(error.message)
            }
        }

        /// Another relay can take the center. After `run`, or instead of it.
        func releaseCenter() { lock.withLock { center.releaseCenter() } }

        /// Runs until it is ordered to end. Then it stores a checkpoint.
        ///
        /// - Throws: the center has ended, or can't be read.
        func run() throws(RelayError) {
            lock.lock()
            phase = .running
            defer {
                // No thread of a transport uses the core from here on.
                phase = .ended
                for lane in lanes { lane.connector.end() }
                lanes = []
                center.holds = []
                endRequests()
                lock.unlock()
            }
            now = Self.monotonic()
            core.advance(to: now / 1_000_000)
            try beginRequests()
            // First of all it stores its state.
            var hasMore = try carryOut()
            report.begins(lanes.count)
            // Now, so that the lines of links come after that of the relay.
            for (number, event) in early { apply(event, number) }
            early = []
            while true {
                now = Self.monotonic()
                if let failure { throw failure }
                for order in takeOrders() {
                    switch order {
                    case .end:
                        center.holds = []
                        store(core.makeCheckpoint(), isLast: true)
                        return
                    case .links(let links, let configurations): try change(links, configurations)
                    case .core(let body): body(&core)
                    }
                }
                core.advance(to: now / 1_000_000)
                center.now = now / 1_000_000
                if needsRefresh { needsRefresh = try !Self.refresh(&core, center) }
                if now >= ringAskAt, center.end != ringEnd { askForOldest() }
                for at in lanes.indices {
                    takeFrames(at)
                    if !lanes[at].isWritable {
                        lanes[at].flush()
                        core.setWritable(lanes[at].isWritable, link: at)
                    }
                }
                hasMore = try read()
                let isBusy = try carryOut()
                hold()
                if let why = presence?.write(now: now) { report.presenceFailed(why, now) }
                report.update(lanes, &core, center, now: now)
                if hasMore || isBusy {
                    // Threads of transports have their turn.
                    lock.unlock()
                    lock.lock()
                    continue
                }
                center.caughtUp()
                let end = due
                let isIdle = mailbox.withLockedValue {
                    guard $0.orders.isEmpty else { return false }
                    $0.waitsUntil = end
                    return true
                }
                guard isIdle else { continue }
                let timeout = Int64(clamping: max(end, now + 1000) - now)
                lock.unlock()
                center.wait(timeout)
                lock.lock()
                mailbox.withLockedValue { $0.waitsUntil = nil }
            }
        }

        private func askForOldest() {
            ringEnd = center.end
            core.ringBegins(at: center.oldest)
            let took = Self.monotonic() - now
            ringAskAt = now + max(Self.ringInterval, Self.ringShare * took)
        }

        private func takeOrders() -> [Order] {
            mailbox.withLockedValue { mailbox in
                defer { mailbox.orders = [] }
                return mailbox.orders
            }
        }

        /// When something is due, in nanoseconds.
        private var due: UInt64 {
            var next = core.deadline.map { $0 * 1_000_000 } ?? now + 1_000_000_000_000
            for held in center.holds {
                if let due = held.deadline { next = min(next, due * 1_000_000) }
            }
            if lanes.contains(where: { !$0.isWritable }) { next = min(next, now + Self.retry) }
            if let due = presence?.due { next = min(next, due) }
            if let due = report.due { next = min(next, due) }
            for lane in lanes {
                if let token = lane.nextToken(now: now) { next = min(next, token) }
            }
            return next
        }

        /// Lets the lossless observers of links go as far as their peers.
        private func hold() {
            guard !center.holds.isEmpty else { return }
            let end = core.cursor
            for held in center.holds {
                let change = held.update(&core, oldest: end - min(end, center.slots), end: end, now: now / 1_000_000)
                if let change { report.held(lanes[held.link], change) }
            }
        }

        /// Reads what is in the ring, one turn at most. True: there may be more.
        private func read() throws(RelayError) -> Bool {
            for _ in 0..<Self.turn {
                switch center.next(for: &core) {
                case .read: break
                case .missed(let counts, let end):
                    core.missed(counts, before: end)
                    needsRefresh = try !Self.refresh(&core, center)
                case .nothing:
                    core.readThrough(center.position)
                    return false
                case .ended:
                    throw center.isRemoved
                case .failed(let line): throw RelayError(.center, line)
                }
            }
            core.readThrough(center.position)
            return true
        }

        /// True: there is more to do, one turn was enough.
        private func carryOut() throws(RelayError) -> Bool {
            for _ in 0..<Self.turn {
                guard let output = core.next(center) else { return false }
                switch output {
                case .send(let link, let frame):
                    let lane = lanes[link]
                    lane.send(frame, now: now)
                    core.setWritable(lane.isWritable, link: link)
                case .post(let post):
                    switch center.post(post, &core) {
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
                        throw center.isRemoved
                    }
                case .store(let checkpoint): store(checkpoint)
                case .dialog(let event):
                    requests?.take(event)
                    presence?.take(event)
                }
            }
            return true
        }

        /// A checkpoint that an observer holds back is made again after a while. Links go on meanwhile: perhaps it is
        /// the relay's own lossless observer, and a link has to send before it goes on.
        private func store(_ checkpoint: Checkpoint, isLast: Bool = false) {
            report.origins(checkpoint.origins.map(\.origin))
            let bytes = CheckpointCoding.encode(checkpoint)
            guard let why = center.store(bytes, as: Self.checkpointName) else {
                storeWaitsSince = 0
                report.checkpointStored()
                return core.stored()
            }
            if storeWaitsSince == 0 { storeWaitsSince = now }
            guard
                isLast || now > storeWaitsSince + Self.storeLimit || bytes.count > limits.payload
                    || report.isCheckpointFailing
            else { return core.notStored(until: now / 1_000_000 + Self.storeRetry) }
            report.checkpointFailed(why, now)
            core.stored()
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
