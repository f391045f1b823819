// What a relay tells: its log, its metrics, and the state of its links as a retained value of the center.

#if Relay
    internal import Glibc
    internal import Logging
    internal import Metrics
    internal import Tidings
    internal import TidingsLink

    extension Relay {
        /// How a link is: a part of ``State``, which has an example.
        public struct LinkState: Codable, Hashable, Sendable {
            /// The phases of a link, as ``State`` has them.
            public enum Phase: String, Codable, Hashable, Sendable {
                /// There is no connection to the server, or to the other end; `problem` says why.
                case connecting
                /// There is a connection, and no relay has answered yet.
                case waiting
                /// Both relays hear each other.
                case connected
            }

            /// The link's name.
            public var name: String
            /// Without a user and a password.
            public var url: String
            /// What the link does now.
            public var phase: Phase
            /// One line; `nil`: none.
            public var problem: String?
            /// The peer's host; `nil`: there is no peer.
            public var peerHost: String?
            /// The name of the peer's center; `nil`: there is no peer.
            public var peerCenter: String?
            /// Notifications sent since the relay began, or its links changed. What is sent again counts again.
            public var sent: UInt64 = 0
            /// Notifications of the peer that were posted here since then.
            public var posted: UInt64 = 0
            /// Notifications that came twice, and were posted once.
            public var duplicates: UInt64 = 0
            /// How often a gap was asked for again.
            public var repaired: UInt64 = 0
            /// Notifications that this relay does not accept.
            public var refused: UInt64 = 0
            /// Positions of this center's ring that were not looked at for this link.
            public var lag: UInt64 = 0
            /// Notifications that were sent, and are not posted at the other end, as far as is known.
            public var unacknowledged: Int = 0
            /// Requests of this center that wait for an answer of the other end. `nil`: the link passes no requests.
            public var calls: Int?
            /// Requests of the other end that are answered here. `nil`: the link passes no requests.
            public var answering: Int?
            /// Whether posts wait, if need be, for the other end to take the link's lossless names: `false`, it has
            /// acknowledged nothing for the timeout. `nil`: the link has no such names.
            public var holdsPosts: Bool?
            /// Seconds from a send until the peer had posted it and said so; `nil`: nothing was sent yet.
            public var roundTrip: Double?

            init(_ name: String, _ url: String, _ phase: Phase) {
                self.name = name
                self.url = url
                self.phase = phase
            }
        }

        /// The retained value `tidings.relay.links` of a relayed center.
        ///
        /// ```swift
        /// let center = try SharedNotificationCenter(named: "com.example.player")
        /// if let state = try center.state(for: "tidings.relay.links", as: Relay.State.self) {
        ///     for link in state.links { print(link.name, link.phase, link.problem ?? "") }
        /// }
        /// ```
        public struct State: Codable, Hashable, Sendable {
            /// The relay's process. If it is not a participant of the center any more, the relay has ended.
            public var pid: Int32
            /// The relay's machine.
            public var host: String
            /// Notifications of other centers that were lost on their way to this one.
            public var lost: UInt64
            /// One element for each link, in the order of the configuration.
            public var links: [LinkState]
        }

        static let stateName: SharedNotificationCenter.Name = "tidings.relay.links"
    }

    /// Used with the driver's lock alone.
    final class RelayReport {
        /// Nanoseconds between two reports.
        private static let interval: UInt64 = 1_000_000_000
        /// Nanoseconds without an answer after which a link says so.
        private static let unanswered: UInt64 = 3_000_000_000

        private let center: SharedNotificationCenter
        private let logger: Logger
        private let host: String
        private var told: [String: String] = [:]
        private var last: Relay.State?
        private var lastAt: UInt64 = 0
        private var phases: [Int: Relay.LinkState.Phase] = [:]
        private var troubles: [Int: String] = [:]
        private var published: [Origin] = []
        private(set) var isCheckpointFailing = false
        private var checkpointToldAt: UInt64 = 0
        private var postToldAt: UInt64 = 0
        private var presenceToldAt: UInt64 = 0
        private var incompleteToldAt: UInt64 = 0
        private var meters: [String: RelayMeters] = [:]
        /// When `update` should be called at the latest, in nanoseconds; `nil`: when there is something to report.
        private(set) var due: UInt64?

        init(center: SharedNotificationCenter, logger: Logger, host: String) {
            self.center = center
            self.logger = logger
            self.host = host
        }

        // MARK: - Lines

        private func say(_ level: Logger.Level, _ lane: RelayLane, _ line: String) {
            logger.log(level: level, "link \(lane.link.name): \(line)", metadata: ["tidings.center": "\(center.name)"])
        }

        /// A line that is repeated only after another one.
        private func sayOnce(_ level: Logger.Level, _ lane: RelayLane, _ line: String) {
            guard lane.problem != line else { return }
            lane.problem = line
            say(level, lane, line)
        }

        func failed(_ lane: RelayLane, _ line: String) {
            sayOnce(.warning, lane, "\(line); trying again")
        }

        func connected(_ lane: RelayLane) {
            lane.problem = nil
            say(.debug, lane, "connected to \(lane.link.shownURL)")
        }

        func disconnected(_ lane: RelayLane, _ why: String) {
            sayOnce(.warning, lane, "disconnected from \(lane.link.shownURL): \(why); connecting again")
        }

        /// One line a minute.
        func presenceFailed(_ why: String, _ now: UInt64) {
            guard now > presenceToldAt + 60 * Self.interval || presenceToldAt == 0 else { return }
            presenceToldAt = now
            problem("can't show the participants of other machines: \(why)")
        }

        func problem(_ line: String) {
            logger.warning("\(line)", metadata: ["tidings.center": "\(center.name)"])
        }

        func held(_ lane: RelayLane, _ change: RelayHold.Change) {
            switch change {
            case .letGo:
                say(
                    .warning, lane,
                    "the other end has acknowledged nothing for \(lane.link.losslessTimeout); posts do not wait for it "
                        + "now, and what the ring loses is counted")
            case .holdsAgain: say(.info, lane, "the other end acknowledges; its lossless names are kept for it again")
            }
            lastAt = 0
        }

        func lostCheckpoint() {
            logger.warning(
                """
                center \(center.name): the stored state of the relay is not valid; the relay begins anew, and its \
                links' losses until now are not known
                """
            )
        }

        /// Until it is stored again: a line each minute.
        func checkpointFailed(_ why: String, _ now: UInt64) {
            if isCheckpointFailing, now < checkpointToldAt + 60 * Self.interval { return }
            isCheckpointFailing = true
            checkpointToldAt = now
            logger.warning(
                """
                can't store the relay's state: \(why); if the relay ends now, the next one may count more losses than \
                there were
                """
            )
        }

        func checkpointStored() { isCheckpointFailing = false }

        func reloadFailed(_ why: String) {
            logger.error("can't go on with these links: \(why); the present links go on")
        }

        func standsBy() {
            logger.info("center \(center.name) has a relay; standing by until that ends")
        }

        /// One line a minute.
        func standbyIncomplete(_ now: UInt64) {
            guard now > incompleteToldAt + 60 * Self.interval || incompleteToldAt == 0 else { return }
            incompleteToldAt = now
            problem(
                "center \(center.name) has lost notifications that its relay has not stored and this one has not read; "
                    + "if that relay ends now, more losses may be counted than there were")
        }

        func takesOver() {
            logger.notice("the relay of center \(center.name) has ended; this one goes on")
        }

        func begins(_ links: Int) {
            logger.info("relaying center \(center.name) on \(links) link\(links == 1 ? "" : "s")")
        }

        func postWaits(_ why: String) {
            logger.warning("a notification of another center waits: \(why)")
        }

        /// One line each second.
        func postFailed(_ name: String, _ why: String, _ now: UInt64) {
            guard now > postToldAt + Self.interval else { return }
            postToldAt = now
            logger.warning("a notification of another center is lost: \(why)", metadata: ["tidings.name": "\(name)"])
        }

        // MARK: - Values of the center

        func origins(_ origins: [Origin]) {
            guard origins != published else { return }
            let entries = origins.map { KnownOrigin(incarnation: $0.incarnation, host: $0.host, center: $0.center) }
            do {
                try center.setState(entries, for: .init(KnownOrigin.name))
                published = origins
            } catch {
                // With the next checkpoint, again.
            }
        }

        /// Reports changes: phases at once, numbers each second.
        ///
        /// - Parameter core: is not changed. To pass it by value would copy it.
        func update(_ lanes: [RelayLane], _ core: inout RelayCore, _ ring: RelayCenter, now: UInt64) {
            due = nil
            var hasPhaseChanged = false
            for (at, lane) in lanes.enumerated() {
                let peer = core.isReceiving(onLink: at) ? core.peer(ofLink: at) : nil
                if lane.peer?.incarnation != peer?.incarnation {
                    if let peer {
                        say(.info, lane, "connected with center \(peer.center) on \(peer.host)")
                        lane.problem = nil
                    } else if let before = lane.peer, lane.isUp {
                        sayOnce(
                            .warning, lane,
                            "center \(before.center) on \(before.host) does not answer; waiting for its relay")
                        lane.connectedAt = now
                    }
                    lane.peer = peer
                    hasPhaseChanged = true
                }
                if let trouble = core.trouble(ofLink: at) {
                    sayOnce(.error, lane, Self.line(trouble))
                } else if core.isDialogUnanswered(onLink: at) {
                    sayOnce(
                        .warning, lane,
                        "the relay at the other end knows no requests and participants, and only notifications pass; "
                            + "install the same version at both ends")
                } else if peer == nil, lane.isUp, lane.problem == nil {
                    if now >= lane.connectedAt + Self.unanswered {
                        sayOnce(
                            .warning, lane,
                            "no relay answers at \(lane.link.shownURL); start one with the link name \(lane.link.name) "
                                + "at the other end")
                    } else {
                        due = min(due ?? .max, lane.connectedAt + Self.unanswered)
                    }
                } else if peer != nil, lane.isUp {
                    // A trouble that has passed, as of a third relay with the link's name.
                    lane.problem = nil
                }
                let phase = Self.phase(lane, peer)
                if phases[lane.number] != phase || troubles[lane.number] != lane.problem {
                    phases[lane.number] = phase
                    troubles[lane.number] = lane.problem
                    hasPhaseChanged = true
                }
            }
            guard hasPhaseChanged || now >= lastAt + Self.interval else {
                if last.map({ !$0.hasNumbers(of: &core, lanes) }) ?? true {
                    due = min(due ?? .max, lastAt + Self.interval)
                }
                return
            }
            let state = Relay.State(
                pid: getpid(), host: host, lost: core.lostInAll,
                links: lanes.enumerated().map { at, lane in Self.state(at, lane, &core, ring) })
            lastAt = now
            guard state != last else { return }
            do {
                try center.setState(state, for: Relay.stateName)
                last = state
            } catch {
                due = min(due ?? .max, now + Self.interval)
            }
            for link in state.links {
                let meter = meters[link.name] ?? RelayMeters(center.name, link.name)
                meters[link.name] = meter
                meter.record(link, lost: state.lost)
            }
            // Links that a new configuration has no more.
            for (name, meter) in meters where !state.links.contains(where: { $0.name == name }) {
                meter.end()
                meters[name] = nil
            }
        }

        func ended() {
            try? center.setState(nil as Relay.State?, for: Relay.stateName)
            for meter in meters.values { meter.end() }
        }

        private static func phase(_ lane: RelayLane, _ peer: Origin?) -> Relay.LinkState.Phase {
            !lane.isUp ? .connecting : peer == nil ? .waiting : .connected
        }

        private static func state(
            _ at: Int, _ lane: RelayLane, _ core: inout RelayCore, _ ring: RelayCenter
        ) -> Relay.LinkState {
            let peer = lane.peer
            var state = Relay.LinkState(lane.link.name, lane.link.shownURL, phase(lane, peer))
            let figures = core.figures(ofLink: at)
            state.problem = lane.problem
            state.peerHost = peer?.host
            state.peerCenter = peer?.center
            state.sent = figures.sent
            state.posted = figures.posted
            state.duplicates = figures.duplicates
            state.repaired = figures.repairs
            state.refused = figures.refused
            (state.lag, state.unacknowledged) = core.waiting(ofLink: at)
            if lane.link.passesRequests { (state.calls, state.answering) = core.calls(onLink: at) }
            state.holdsPosts = ring.holds.first { $0.link == at }?.isHolding
            state.roundTrip = lane.roundTrip == 0 ? nil : Double(lane.roundTrip) / 1e9
            return state
        }

        private static func line(_ trouble: LinkTrouble) -> String {
            switch trouble {
            case .version(let version):
                "the relay at the other end speaks version \(version) of the link protocol, and this one version 1; "
                    + "install the same version at both ends"
            case .itself: "the other end is this center; give each link two different centers"
            case .taken(let origin):
                "center \(origin.center) on \(origin.host) uses this link name, too, and the link has two ends "
                    + "already; give each link a name of its own"
            case .name(let name):
                "the relay at the other end names the link \"\(name)\"; give both ends the same name"
            case .noCommonName:
                "neither end sends a name that the other one accepts; let --out of one end and --in of the other "
                    + "overlap"
            }
        }
    }

    extension Relay.State {
        fileprivate func hasNumbers(of core: inout RelayCore, _ lanes: [RelayLane]) -> Bool {
            guard links.count == lanes.count else { return false }
            return links.indices.allSatisfy { at in
                let figures = core.figures(ofLink: at)
                let waiting = core.waiting(ofLink: at)
                return links[at].sent == figures.sent && links[at].posted == figures.posted
                    && links[at].refused == figures.refused && links[at].repaired == figures.repairs
                    && links[at].duplicates == figures.duplicates && links[at].lag == waiting.lag
                    && links[at].unacknowledged == waiting.unacknowledged
                    && (links[at].calls ?? 0, links[at].answering ?? 0) == core.calls(onLink: at)
            }
        }
    }

    /// The metrics of one link.
    final class RelayMeters {
        private let sent, posted, duplicates, repaired, refused: Counter
        private let up, lag, lost, roundTrip: Gauge
        private var last: Relay.LinkState?

        init(_ center: String, _ link: String) {
            let labels = [("center", center), ("link", link)]
            func counter(_ name: String) -> Counter { Counter(label: name, dimensions: labels) }
            func gauge(_ name: String) -> Gauge { Gauge(label: name, dimensions: labels) }
            sent = counter("tidings_relay_sent_total")
            posted = counter("tidings_relay_posted_total")
            duplicates = counter("tidings_relay_duplicates_total")
            repaired = counter("tidings_relay_repaired_total")
            refused = counter("tidings_relay_refused_total")
            up = gauge("tidings_relay_up")
            lag = gauge("tidings_relay_lag")
            lost = gauge("tidings_relay_lost")
            roundTrip = gauge("tidings_relay_round_trip_seconds")
        }

        func record(_ link: Relay.LinkState, lost total: UInt64) {
            func add(_ counter: Counter, _ key: KeyPath<Relay.LinkState, UInt64>) {
                let (now, before) = (link[keyPath: key], last?[keyPath: key] ?? 0)
                // A new configuration counts anew.
                counter.increment(by: Int64(clamping: now >= before ? now - before : now))
            }
            add(sent, \.sent)
            add(posted, \.posted)
            add(duplicates, \.duplicates)
            add(repaired, \.repaired)
            add(refused, \.refused)
            up.record(link.phase == .connected ? 1 : 0)
            lag.record(Int64(clamping: link.lag))
            lost.record(Int64(clamping: total))
            if let seconds = link.roundTrip { roundTrip.record(seconds) }
            last = link
        }

        /// The link has ended with its relay, or was removed: it is down, and nothing waits for it any more.
        func end() {
            up.record(0)
            lag.record(0)
        }
    }
#endif
