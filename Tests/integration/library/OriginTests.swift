import CTidings
import Testing

@testable import Tidings

/// What observers learn of notifications that a relay has brought. The test posts as a relay does.
@Suite(.timeLimit(.minutes(10)))
struct OriginTests {
    private static let field: Center.Name = "test.remote"

    /// A participant that posts with the section of a relay.
    private final class Relay {
        let center: OpaquePointer
        private let publisher: OpaquePointer

        init(_ test: TestCenter, _ name: Center.Name = OriginTests.field) throws {
            var (center, publisher): (OpaquePointer?, OpaquePointer?) = (nil, nil)
            let opened = test.directory.withCString { directory in
                var configuration = tidings_configuration()
                configuration.directory = directory
                return tidings_open(test.name, &configuration, &center)
            }
            try #require(opened == 0)
            let text = name.rawValue
            try #require(tidings_publisher_open(center, text, text.utf8.count, nil, 0, &publisher) == 0)
            (self.center, self.publisher) = (center!, publisher!)
        }

        deinit {
            tidings_publisher_close(publisher)
            tidings_close(center)
        }

        /// The number is the payload, as text.
        func post(_ number: Int, _ section: OriginSection?, retain: Bool = false) throws {
            let isRemote = section != nil
            var text = "\(number)"
            let result = withUnsafeBytes(of: section ?? OriginTests.said(0)) { bytes in
                var fields = tidings_section(
                    bytes: bytes.baseAddress, size: MemoryLayout<OriginSection>.size,
                    type: UInt16(TIDINGS_SECTION_ORIGIN))
                return withUnsafePointer(to: &fields) { fields in
                    var options = tidings_post_options()
                    options.format = UInt8(TIDINGS_FORMAT_TEXT)
                    options.flags = retain ? UInt8(TIDINGS_POST_RETAIN) : 0
                    if isRemote {
                        options.flags |= UInt8(TIDINGS_POST_SECTIONS | TIDINGS_POST_SECTIONS_REQUIRED)
                        (options.section_count, options.sections) = (1, fields)
                    }
                    return text.withUTF8 { tidings_post(publisher, $0.baseAddress, $0.count, &options, nil) }
                }
            }
            #expect(result == 0)
        }
    }

    private static func said(
        _ count: UInt64, of incarnation: UInt64 = 77, lost: UInt64 = 0, before: UInt64 = 0, at: UInt64 = 0
    ) -> OriginSection {
        var section = OriginSection(
            incarnation: incarnation, sequence: 1000 &+ count, count: count, postedAtNanoseconds: 5, pid: 42, uid: 1001)
        (section.lost, section.lastLoss, section.lostAt) = (lost, UInt32(clamping: lost &- before), at)
        return section
    }

    /// Deliveries as texts, without waiting: what was posted is there.
    private func take(_ observer: Center.PollableObserver) throws -> [String] {
        var taken: [String] = []
        while let delivery = try observer.next() {
            switch delivery {
            case .notification(let notification): taken.append(try notification.payload.decode(String.self))
            case .missed(let count, let name): taken.append("missed \(count) of \(name.map { "\($0)" } ?? "all")")
            default: taken.append("\(delivery)")
            }
        }
        return taken
    }

    /// Other programs read the section: Docs/Design/Relay.md has these offsets.
    @Test func theSectionLiesInMemoryAsDocumented() {
        typealias Layout = MemoryLayout<OriginSection>
        #expect(Layout.size == 104 && Layout.alignment == 8)
        let offsets = [
            Layout.offset(of: \.incarnation), Layout.offset(of: \.sequence), Layout.offset(of: \.count),
            Layout.offset(of: \.date), Layout.offset(of: \.lost), Layout.offset(of: \.lostUnsure),
            Layout.offset(of: \.lostAt), Layout.offset(of: \.unsure), Layout.offset(of: \.postedAtNanoseconds),
            Layout.offset(of: \.pid), Layout.offset(of: \.uid), Layout.offset(of: \.flags), Layout.offset(of: \.base),
            Layout.offset(of: \.versionSequence), Layout.offset(of: \.lastLoss),
        ]
        #expect(offsets == [0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 76, 80, 88, 96, 84])
    }

    @Test func anEnvelopeHasItsOrigin() async throws {
        let test = try TestCenter()
        let relay = try Relay(test)
        let envelopes = Events<Center.Envelope>()
        let token = try test.center.addObserver(forNames: [Self.field]) { envelopes.add($0.envelope) }
        try relay.post(0, nil)
        try relay.post(1, Self.said(1))
        try test.center.setState(
            [KnownOrigin(incarnation: 77, host: "mercury", center: "player")], for: Center.Name(KnownOrigin.name))
        try relay.post(2, Self.said(2))
        try relay.post(3, Self.said(3, of: 78))
        let received = await envelopes.wait(for: 4)
        var origin = Center.Origin(incarnation: 77, sequence: 1001, postedAtNanoseconds: 5, pid: 42, uid: 1001)
        #expect(received[0].origin == nil)
        // The closure may run before or after the names are stored.
        #expect(received[1].origin?.sequence == 1001 && received[1].origin?.incarnation == 77)
        (origin.host, origin.center, origin.sequence) = ("mercury", "player", 1002)
        #expect(received[2].origin == origin)
        (origin.host, origin.center, origin.sequence, origin.incarnation) = (nil, nil, 1003, 78)
        #expect(received[3].origin == origin)
        #expect(received[3].sequence == received[2].sequence + 1)
        token.cancel()
    }

    @Test func anObserverSelectsByOrigin() throws {
        let test = try TestCenter()
        let relay = try Relay(test)
        func observer(_ filter: Center.OriginFilter) throws -> Center.PollableObserver {
            try test.center.pollableObserver(forNames: [Self.field], options: .init(origin: filter))
        }
        let (any, local, remote) = (try observer(.any), try observer(.local), try observer(.remote))
        let one = try observer(.center(78))
        for (number, origin) in [UInt64?.none, 77, 78, nil, 77].enumerated() {
            try relay.post(number, origin.map { Self.said(UInt64(number), of: $0) })
        }
        try expectEqual(take(any), ["0", "1", "2", "3", "4"])
        try expectEqual(take(local), ["0", "3"])
        try expectEqual(take(remote), ["1", "2", "4"])
        try expectEqual(take(one), ["2"])
    }

    @Test(arguments: [false, true]) func closuresAndSequencesSelectByOrigin(remote: Bool) async throws {
        let test = try TestCenter()
        let relay = try Relay(test)
        let events = Events<String>()
        let options = Center.ObserverOptions(origin: remote ? .remote : .local)
        let token = try test.center.addObserver(forNames: [Self.field], options: options) { notification in
            events.add((try? notification.payload.decode(String.self)) ?? "?")
        }
        for number in 0..<6 { try relay.post(number, number % 2 == 0 ? nil : Self.said(UInt64(number))) }
        expectEqual(await events.wait(for: 3), remote ? ["1", "3", "5"] : ["0", "2", "4"])
        token.cancel()
    }

    /// The total tells what was lost since the last notification of the same name and origin.
    @Test func lossesOnTheWayAreMissedBeforeTheNextNotification() throws {
        let test = try TestCenter()
        let (relay, other) = (try Relay(test), try Relay(test, "test.other"))
        let observer = try test.center.pollableObserver(forNames: [Self.field, "test.other"])
        try relay.post(1, Self.said(1))
        try relay.post(2, Self.said(5, lost: 3, at: 1))
        try other.post(3, Self.said(9))
        try relay.post(4, Self.said(6, lost: 3, at: 1))
        try relay.post(5, Self.said(1, of: 78))
        try relay.post(6, Self.said(8, lost: 4, before: 3, at: 5))
        try relay.post(7, Self.said(4, of: 78, lost: 2, at: 6))
        let expected = [
            "1", "missed 3 of test.remote", "2", "3", "4", "5", "missed 1 of test.remote", "6",
            "missed 2 of test.remote", "7",
        ]
        try expectEqual(take(observer), expected)
    }

    /// At the first notification, the last loss is told if it became known after the observer had begun.
    @Test func lossesBeforeTheRegistrationAreNotTold() throws {
        let test = try TestCenter()
        let relay = try Relay(test)
        try relay.post(1, Self.said(8, lost: 7, at: 0))
        let early = try test.center.pollableObserver(forNames: [Self.field])
        let history = try test.center.pollableObserver(forNames: [Self.field], options: .init(from: .oldest))
        try relay.post(2, Self.said(9, lost: 7, at: 0))
        try relay.post(3, Self.said(14, lost: 11, before: 7, at: 2))
        let late = try test.center.pollableObserver(forNames: [Self.field])
        let first = try test.center.pollableObserver(forNames: [Self.field])
        try relay.post(4, Self.said(15, lost: 11, before: 7, at: 2))
        try expectEqual(take(early), ["2", "missed 4 of test.remote", "3", "4"])
        try expectEqual(
            take(history), ["missed 7 of test.remote", "1", "2", "missed 4 of test.remote", "3", "4"])
        try expectEqual(take(late), ["4"])
        try relay.post(5, Self.said(18, lost: 13, before: 11, at: 4))
        try expectEqual(take(late), ["missed 2 of test.remote", "5"])
        try expectEqual(take(first), ["4", "missed 2 of test.remote", "5"])
    }

    /// An observer that was lapped learns from the total what the overwritten notifications told.
    @Test func aLappedObserverLearnsOfLossesOnTheWay() throws {
        let test = try TestCenter(smallRing)
        let relay = try Relay(test)
        let observer = try test.center.pollableObserver(forNames: [Self.field])
        try relay.post(0, Self.said(1))
        try expectEqual(take(observer), ["0"])
        for number in 1...1000 { try relay.post(number, Self.said(UInt64(number) + 1, lost: UInt64(number / 10))) }
        let taken = try take(observer)
        let oldest = try #require(Int(taken[2]))
        // 1 to 1000 in the ring; each tenth of them has one more loss before it.
        #expect(taken[0] == "missed \(oldest - 1) of test.remote")
        #expect(taken[1] == "missed \(oldest / 10) of test.remote")
        #expect(taken.count { $0.hasPrefix("missed") } == 2 + (1000 / 10 - oldest / 10))
        #expect(taken.last == "1000")
    }

    @Test func closuresAreToldOfLossesOnTheWay() async throws {
        let test = try TestCenter()
        let relay = try Relay(test)
        let events = Events<String>()
        var options = Center.ObserverOptions()
        options.onMissed = { count, name in events.add("missed \(count) of \(name.map { "\($0)" } ?? "all")") }
        let token = try test.center.addObserver(forNames: .prefix("test."), options: options) { notification in
            events.add((try? notification.payload.decode(String.self)) ?? "?")
        }
        for count in 1...100 as ClosedRange<UInt64> {
            let lost = count / 10
            try relay.post(Int(count), Self.said(2 * count, lost: lost, before: max(lost, 1) - 1, at: count))
        }
        let received = await events.wait(for: 110)
        let expected = (1...100).flatMap { $0 % 10 == 0 ? ["missed 1 of test.remote", "\($0)"] : ["\($0)"] }
        #expect(received == expected)
        token.cancel()
    }

    /// Nothing that a section says ends the process.
    @Test func sectionsThatLieAreTolerated() throws {
        let test = try TestCenter()
        let relay = try Relay(test)
        let observer = try test.center.pollableObserver(forNames: [Self.field])
        try relay.post(1, Self.said(.max, lost: .max, before: .max, at: .max))
        try relay.post(2, Self.said(0, lost: 0, before: .max, at: .max))
        try relay.post(3, Self.said(0, of: 0, lost: .max, before: 0, at: .max))
        try relay.post(4, Self.said(0, of: 0, lost: 1, before: 2, at: .max))
        try expectEqual(take(observer), ["1", "2", "missed \(UInt32.max) of test.remote", "3", "4"])
        try test.center.setState("no list of origins", for: Center.Name(KnownOrigin.name))
        try relay.post(5, Self.said(1, of: 5))
        let delivery = try #require(try observer.next())
        guard case .notification(let notification) = delivery else { return #expect(Bool(false), "\(delivery)") }
        #expect(notification.envelope.origin?.host == nil && notification.envelope.origin?.incarnation == 5)
    }
}
