#if Relay
    internal import Glibc
    public import Logging
    public import ServiceLifecycle
    public import Tidings
    internal import TidingsAdministration
    internal import TidingsLink

    /// Relays the notifications of a center to centers of other machines, and theirs to this center.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter(named: "com.example.player")
    /// let tokyo = Relay.Link(
    ///     "tokyo", url: "nats://broker.example.com:4222", sends: ["com.example.*"], accepts: ["com.example.*"],
    ///     retained: true)
    /// let logger = Logger(label: "relay")
    /// let relay = try Relay(center, links: [tokyo], logger: logger)
    /// let group = ServiceGroup(services: [relay], gracefulShutdownSignals: [.sigterm], logger: logger)
    /// try await group.run()
    /// ```
    ///
    /// A center has one relay at a time, in any of its processes. The relay at the other end has a link of the same
    /// name.
    ///
    /// Promise, for each link (Docs/Design/Relay.md has the protocol behind it):
    /// - Each notification of a center that both lists allow is posted once in the other center, with its origin, and
    ///   in the order of its center.
    /// - What is lost on the way is sent again while the center's ring has it. Each loss beyond that is counted, and
    ///   reported with the next notification of its name.
    /// - With ``Link/retained`` at both ends, retained values are equal at both ends after each connection. The value
    ///   that was set later holds; the clocks decide if neither end knew of the other's value.
    /// - A post of a local process never waits for a link, unless that has ``Link/lossless`` names.
    /// - With ``Link/serves`` and ``Link/calls``, a request finds a server of the other center if its own center has
    ///   none. A server receives it at most once. An interruption of the link ends it, with `.serverEnded`, or with
    ///   `.noServer` if it was never sent.
    /// - With ``Link/announces`` and ``Link/shows``, the participants of the other center are known here
    ///   (``SharedNotificationCenter/remotePresence()``). They have died if its relay is silent for 5 s.
    /// - A relay that is killed and started again goes on where it was, if its center's ring still has what was posted
    ///   meanwhile. A second one that stands by goes on where the first one was, also if the ring has gone round.
    ///
    /// The center has these retained values of the relay: `tidings.relay.links` (``State``, at most once a second, and
    /// only if it changed), `tidings.relay.origins`, `tidings.relay.checkpoint`, and `tidings.relay.presence` if a link
    /// has ``Link/shows``.
    public final class Relay: Service {
        private let center: SharedNotificationCenter
        private let logger: Logger
        private let driver: RelayDriver
        private let report: ReportBox

        /// The report, which is used with the driver's lock once it runs.
        private struct ReportBox: @unchecked Sendable {
            // Sendable: `run` hands it to the driver, and uses it again after the driver's end.
            let report: RelayReport
        }

        /// Opens the center a second time, and reads what an earlier relay has stored. Links begin to connect, unless
        /// the relay stands by; notifications pass in ``run()``.
        ///
        /// Waits for at most 5 s if the center has no relay, and one that stands by does not take it.
        ///
        /// - Parameters:
        ///   - center: a center with a file that this process may post to.
        ///   - links: at least one; each name once.
        ///   - standby: if another relay has the center, this one waits in ``run()`` until that ends, and goes on for
        ///     it. Until then it reads the center's ring as an observer, and connects no link.
        ///   - logger: receives a line when a link connects, ends or has a problem.
        /// - Throws: ``RelayError``: `.invalidLink`, `.isRelayed` (another relay has the center), `.center`.
        public init(
            _ center: SharedNotificationCenter, links: [Link], standby: Bool = false, logger: Logger
        ) throws(RelayError) {
            let configurations = try Link.check(links)
            let port = try RelayCenter(path: center.path, name: center.name, incarnation: center.incarnation)
            var isTaken = try port.takeCenter(standby: standby)
            while !isTaken, !standby {
                guard port.freeSince != nil else { throw port.isRelayed }
                // No event tells that another process has taken a lock, and a wait for a lock has no timeout.
                usleep(10_000)
                isTaken = try port.takeCenter(standby: false)
            }
            self.center = center
            self.logger = logger
            let host = Self.hostName
            let report = RelayReport(center: center, logger: logger, host: host)
            self.report = ReportBox(report: report)
            driver = try RelayDriver(
                center: port, shared: center,
                own: Origin(incarnation: center.incarnation, host: host, center: center.name),
                links: links, configurations: configurations, report: report, standsBy: !isTaken)
        }

        private static var hostName: String {
            var name = [CChar](repeating: 0, count: 256)
            gethostname(&name, name.count - 1)
            return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }

        /// Relays until a graceful shutdown or a cancellation, on a thread of its own. Then it stores where it is. For
        /// a `ServiceGroup`, as ``Relay`` shows. Call it once.
        ///
        /// - Throws: ``RelayError``: `.removed` (the center was removed), `.center`.
        public func run() async throws {
            let (center, driver, report) = (self.center, self.driver, self.report)
            try await withTaskCancellationHandler {
                try await withGracefulShutdownHandler {
                    try await withCheckedThrowingContinuation { continuation in
                        startThread {
                            let result = Result { () throws(RelayError) in
                                defer { driver.releaseCenter() }
                                if driver.isStandby {
                                    let announcement = try? center.announce(role: "relay standby")
                                    defer { announcement?.withdraw() }
                                    guard try driver.standBy() else { return }
                                }
                                let announcement = try? center.announce(
                                    role: "relay", will: RelayPresence.will(center))
                                defer { announcement?.withdraw() }
                                defer { report.report.ended() }
                                try driver.run()
                            }
                            continuation.resume(with: result.mapError { $0 as any Error })
                        }
                    }
                } onGracefulShutdown: {
                    driver.order(.end)
                }
            } onCancel: {
                driver.order(.end)
            }
        }

        /// Goes on with these links. Links that are as before keep their connection; nothing is lost meanwhile, because
        /// the ring keeps it. A link with another list of names begins a new session, which takes milliseconds.
        ///
        /// ```swift
        /// let center = try SharedNotificationCenter(named: "com.example.player")
        /// let file = "/etc/tidings/relay.json"
        /// let relay = try Relay(center, links: Relay.links(inFile: file), logger: Logger(label: "relay"))
        /// try relay.reload(Relay.links(inFile: file))        // for instance on SIGHUP
        /// ```
        ///
        /// - Throws: ``RelayError``: `.invalidLink`. The present links go on then.
        public func reload(_ links: [Link]) throws(RelayError) {
            let configurations = try Link.check(links)
            driver.order(.links(links, configurations))
        }
    }
#endif
