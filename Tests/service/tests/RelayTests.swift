#if Relay
    import CoreMetrics
    import Foundation
    import Logging
    import MetricsTestKit
    import ServiceLifecycle
    import Testing
    import Tidings
    import TidingsRelay
    import TidingsTesting

    /// A relay in a program: its end as a service, and its metrics. What passes, scenes of several processes test
    /// (Tests/relay).
    @Suite(.serialized, .timeLimit(.minutes(10)))
    struct RelayTests {
        /// Relays make their metrics on threads of their own, with the factory of the process.
        private static let metrics = {
            let metrics = TestMetrics()
            MetricsSystem.bootstrap(metrics)
            return metrics
        }()

        /// Two centers, and the ends of a link between them over TLS.
        private final class Ends {
            let here: TestCenter, there: TestCenter
            let link: Relay.Link, otherLink: Relay.Link
            private let folder: URL

            init() throws {
                let (here, there) = ("here\(UInt32.random(in: 0 ... .max))", "there\(UInt32.random(in: 0 ... .max))")
                self.here = try TestCenter(named: here, in: .directory)
                self.there = try TestCenter(named: there, in: .directory)
                folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidings-\(here)")
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                    .appendingPathComponent("../../link/certificates.sh").standardized.path
                let process = try Process.run(
                    URL(fileURLWithPath: "/usr/bin/env"), arguments: ["bash", script, folder.path])
                process.waitUntilExit()
                #expect(process.terminationStatus == 0)
                let path = folder.path
                func link(_ url: String, sends: [String], accepts: [String]) -> Relay.Link {
                    Relay.Link(
                        "pair", url: url, sends: sends, accepts: accepts,
                        certificateAuthority: path + "/authority.pem", certificate: path + "/relay.pem",
                        key: path + "/relay.key")
                }
                let port = try Self.freePort()
                self.link = link("tls-listen://127.0.0.1:\(port)", sends: ["test.*"], accepts: [])
                otherLink = link("tls://127.0.0.1:\(port)", sends: [], accepts: ["test.*"])
            }

            deinit {
                try? FileManager.default.removeItem(at: folder)
            }

            private static func freePort() throws -> UInt16 {
                let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
                defer { close(descriptor) }
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_addr.s_addr = inet_addr("127.0.0.1")
                var size = socklen_t(MemoryLayout<sockaddr_in>.size)
                let error = withUnsafeMutablePointer(to: &address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        bind(descriptor, $0, size) | getsockname(descriptor, $0, &size)
                    }
                }
                if error != 0 { throw Unexpected() }
                return UInt16(bigEndian: address.sin_port)
            }

            func relay(_ test: TestCenter, _ links: [Relay.Link]) throws -> Relay {
                try Relay(test.center, links: links, logger: Logger(label: "test"))
            }

            /// The last value of a gauge of the center's end of the link.
            func gauge(_ label: String, _ test: TestCenter) -> Double? {
                try? RelayTests.metrics.expectGauge(label, labels(test)).lastValue
            }

            func count(_ label: String, _ test: TestCenter) -> Int64? {
                try? RelayTests.metrics.expectCounter(label, labels(test)).totalValue
            }

            private func labels(_ test: TestCenter) -> [(String, String)] {
                [("center", test.center.name), ("link", "pair")]
            }
        }

        /// Waits until it holds: metrics tell no one that they change. The time limit of the suite ends it.
        private func wait(until holds: () -> Bool) async throws {
            while !holds() { try await Task.sleep(for: .milliseconds(5)) }
        }

        /// The relays end without an error, and the center is free for the next one, which sends what was posted
        /// meanwhile, and only that.
        @Test func aGracefulShutdownEndsARelay() async throws {
            _ = Self.metrics
            let ends = try Ends()
            let received = Events<Int>()
            let token = try ends.there.center.addObserver(
                for: Track.self, options: .init(onMissed: { count, _ in received.add(-Int(count)) })
            ) { received.add($0.number) }
            var next = 0
            for _ in 0..<2 {
                for _ in 0..<3 {
                    try ends.here.center.post(Track(next))
                    next += 1
                }
                let relays = try [ends.relay(ends.here, [ends.link]), ends.relay(ends.there, [ends.otherLink])]
                let group = ServiceGroup(services: relays, logger: Logger(label: "test"))
                let running = Task { try await group.run() }
                // The first relay of a center begins at its end.
                try await wait { ends.gauge("tidings_relay_up", ends.here) == 1 }
                try ends.here.center.post(Track(next))
                next += 1
                while try await received.next() != next - 1 {}
                await group.triggerGracefulShutdown()
                try await running.value
                #expect(ends.gauge("tidings_relay_up", ends.here) == 0)
                #expect(ends.gauge("tidings_relay_up", ends.there) == 0)
            }
            #expect(received.all == [3, 4, 5, 6, 7])
            token.cancel()
        }

        @Test func aCancellationEndsARelay() async throws {
            let ends = try Ends()
            let relay = try ends.relay(ends.here, [ends.link])
            let running = Task { try await relay.run() }
            running.cancel()
            try await running.value
            // The center is free.
            _ = try ends.relay(ends.here, [ends.link])
        }

        @Test func aRelayCountsWhatPasses() async throws {
            _ = Self.metrics
            let ends = try Ends()
            let relays = try [ends.relay(ends.here, [ends.link]), ends.relay(ends.there, [ends.otherLink])]
            let running = Task {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for relay in relays { group.addTask { try await relay.run() } }
                    try await group.waitForAll()
                }
            }
            try await wait { ends.gauge("tidings_relay_up", ends.here) == 1 }
            try await wait { ends.gauge("tidings_relay_up", ends.there) == 1 }
            // What is sent during the peer's first comparison is sent again, and counts again. The first one shows that
            // it is over.
            try ends.here.center.post(Track(0))
            try await wait { ends.count("tidings_relay_posted_total", ends.there) == 1 }
            for number in 1..<7 { try ends.here.center.post(Track(number)) }
            try await wait { ends.count("tidings_relay_posted_total", ends.there) == 7 }
            try await wait { ends.count("tidings_relay_sent_total", ends.here) ?? 0 >= 7 }
            try await wait { ends.gauge("tidings_relay_lag", ends.here) == 0 }
            try await wait { ends.gauge("tidings_relay_round_trip_seconds", ends.here).map { (0..<60) ~= $0 } ?? false }
            #expect(ends.count("tidings_relay_posted_total", ends.here) == 0)
            #expect(ends.count("tidings_relay_refused_total", ends.there) == 0)
            #expect(ends.gauge("tidings_relay_lost", ends.there) == 0)
            // A link that a new configuration does not have is down in the metrics, too.
            var link = ends.link
            link.name = "another"
            try relays[0].reload([link])
            try await wait { ends.gauge("tidings_relay_up", ends.here) == 0 }
            running.cancel()
            try await running.value
        }
    }
#endif
