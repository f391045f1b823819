import Testing
import TidingsFoundation

@testable import Tidings

/// Two types under one name are reported once for each pair, wherever the center finds them. Compatible types are not
/// reported.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct TypeMistakeTests {
    final class Player: Sendable, Identifiable {
        let id: String
        init(_ id: String) { self.id = id }
    }
    private enum Old {
        struct Played: Center.AsyncMessage {
            typealias Subject = Player
            static let name: Center.Name = "played"
            var title: String
        }
        struct Paused: Center.MainActorMessage {
            typealias Subject = Player
            static let name: Center.Name = "paused"
            var title: String
        }
    }
    private enum New {
        struct Played: Center.AsyncMessage {
            typealias Subject = Player
            static let name: Center.Name = "played"
            var number: Int
        }
        struct Paused: Center.MainActorMessage {
            typealias Subject = Player
            static let name: Center.Name = "paused"
            var number: Int
        }
        struct Track: Center.Message {
            static let name: Center.Name = "test.track"
            var number: Int
        }
    }

    /// The mistakes that a center's hook received, by name.
    private static func told(_ center: Center) -> Events<String> {
        let told = Events<String>()
        center.onDiagnostic = { diagnostic in
            guard case .mistake(let mistake) = diagnostic else { return }
            switch mistake.kind {
            case .nameOfTwoTypes(let name, let first, let second):
                told.add("\(name): \(first.suffix(10)), \(second.suffix(10))")
            case .nameOfTwoKeys(let name, let first, let second): told.add("\(name): \(first), \(second)")
            default: break
            }
        }
        return told
    }

    @Test func messagesOfAnyThread() async throws {
        let test = try TestCenter()
        let told = Self.told(test.center)
        let player = Player("1")
        for _ in 0..<3 {
            let token = test.center.addObserver(of: player, for: Old.Played.self) { _ in }
            test.center.post(Old.Played(title: "a"), subject: player)
            token.cancel()
        }
        #expect(told.count == 0)
        for number in 0..<3 {
            test.center.post(New.Played(number: number))
            test.center.post(New.Played(number: number), subject: player)
            _ = test.center.messages(for: New.Played.self).makeAsyncIterator()
        }
        #expect(told.all == ["played: Old.Played, New.Played"])
        // In the reverse order, and by observing alone.
        let other = try test.other()
        let elsewhere = Self.told(other)
        _ = other.messages(for: New.Played.self).makeAsyncIterator()
        let token = other.addObserver(for: Old.Played.self) { _ in }
        #expect(elsewhere.all == ["played: New.Played, Old.Played"])
        token.cancel()
    }

    @Test @MainActor func messagesOfTheMainActor() throws {
        let test = try TestCenter()
        let told = Self.told(test.center)
        let token = test.center.addObserver(for: Old.Paused.self) { _ in }
        test.center.post(Old.Paused(title: "a"))
        #expect(told.count == 0)
        for number in 0..<3 { test.center.post(New.Paused(number: number), subject: Player("1")) }
        #expect(told.all == ["paused: Old.Paused, New.Paused"])
        token.cancel()
    }

    /// Posts with a subject, immediate and deferred; values.
    @Test func messagesWithASubject() throws {
        let test = try TestCenter()
        let told = Self.told(test.center)
        for number in 0..<3 { try test.center.post(Track(number), options: .init(subject: "a")) }
        for number in 0..<3 { try test.center.post(New.Track(number: number), options: .init(subject: "a")) }
        for number in 0..<3 { try test.center.post(New.Track(number: number), options: .init(subject: "b")) }
        #expect(told.all == ["test.track: ests.Track, .New.Track"])
        let other = try test.other()
        let elsewhere = Self.told(other)
        try other.enqueue(Track(1), postingStyle: .asap)
        try other.enqueue(New.Track(number: 1), postingStyle: .whenIdle, options: .init(subject: "b"))
        #expect(other.diagnosed(elsewhere) == ["test.track: ests.Track, .New.Track"])
    }

    @Test @MainActor func valuesThatAreTracked() throws {
        let test = try TestCenter()
        let told = Self.told(test.center)
        try test.center.setState(New.Track(number: 1))
        _ = try? test.center.observedState(for: Track.self)
        #expect(told.all == ["test.track: .New.Track, ests.Track"])
    }

    @Test func keysOfOtherArguments() throws {
        let test = try TestCenter()
        let told = Self.told(test.center)
        let (one, other) = (Center.Key<Int, String>("key"), Center.Key<String, Int?>("key"))
        for number in 0..<3 {
            try test.center.post(one, number, "a")
            try test.center.post(one, number, "a", options: .init(subject: "s"))
            _ = test.center.messages(of: one)
        }
        #expect(told.count == 0)
        for number in 0..<3 {
            try test.center.post(other, "a", number)
            try test.center.post(other, "a", number, options: .init(subject: "s"))
            try test.center.setState("a", number, for: other)
            _ = test.center.deliveries(of: other)
        }
        #expect(told.all == ["key: Key<Int, String>, Key<String, Optional<Int>>"])
        // Each pair: observed, read and deferred.
        let token = try test.center.addObserver(for: Center.Key<Double>("key")) { _ in }
        _ = try? test.center.state(for: Center.Key<Bool>("key"))
        try test.center.enqueue(Center.Key<[Int]>("key"), [1], postingStyle: .asap)
        #expect(test.center.diagnosed(told).count == 1 + 2 + 3 + 4)
        #expect(Set(told.all).count == told.count)
        // Also with a message.
        try test.center.post(Center.Key<Int>("test.track"), 1)
        try test.center.post(Track(1))
        #expect(told.all.last == "test.track: Key<Int>, ests.Track")
        token.cancel()
    }

    /// If an observer or reader of a key has more arguments than another key of that name, the additional ones must be
    /// optional.
    @Test func keysThatNeedMoreArgumentsThanArePosted() throws {
        let older = Center.Key<Int>("key")
        let (newer, optional) = (Center.Key<Int, String>("key"), Center.Key<Int, String?>("key"))
        let complete = Center.Key<Int, String>("key", defaults: (nil, "a"))
        let expected = "key: Key<Int>, Key<Int, String>"
        enum Use: CaseIterable { case observer, sequence, state }
        /// In both orders, and for one way to read a key.
        func told(_ key: Center.Key<Int, String>, _ use: Use, isPostedFirst: Bool) throws -> [String] {
            let test = try TestCenter()
            let told = Self.told(test.center)
            if isPostedFirst { try test.center.post(older, 1) }
            var token: Center.ObservationToken?
            for _ in 0..<2 {
                switch use {
                case .observer: token = try test.center.addObserver(for: key) { _, _ in }
                case .sequence: _ = test.center.messages(of: key)
                case .state: _ = try? test.center.state(for: key)
                }
            }
            for _ in 0..<2 { try test.center.setState(1, for: older) }
            token?.cancel()
            return told.all
        }
        for use in Use.allCases {
            #expect(try told(newer, use, isPostedFirst: true) == [expected])
            #expect(try told(newer, use, isPostedFirst: false) == ["key: Key<Int, String>, Key<Int>"])
            for isPostedFirst in [true, false] { #expect(try told(complete, use, isPostedFirst: isPostedFirst) == []) }
        }
        // More posted arguments than observed ones are harmless, and so is observing alone.
        let test = try TestCenter()
        let (center, told) = (test.center, Self.told(test.center))
        let none: Center.Key<> = .init("key")
        try center.post(newer, 1, "a")
        _ = (center.messages(of: none), center.messages(of: older), center.messages(of: newer))
        _ = (try? center.state(for: none), try? center.state(for: older), try? center.state(for: newer))
        #expect(told.all == [])
        // An optional argument may be absent.
        let other = try test.other()
        let elsewhere = Self.told(other)
        _ = other.messages(of: optional)
        try other.post(older, 1)
        #expect(elsewhere.all == [])
    }

    /// Two spellings of one notification: reported only if it does not decode, by the observer that receives it.
    @Test func aMessageAndOneOfFoundations() async throws {
        struct Played: Center.Message {
            static let name: Center.Name = "played"
            var title: String
        }
        let test = try TestCenter()
        let center = test.center
        let told = Events<String>()
        center.onDiagnostic = { diagnostic in
            if case .undecodable(let notification, _) = diagnostic {
                told.add("\(notification.name) \(notification.payload.json)")
            } else {
                told.add("\(diagnostic)")
            }
        }
        let (same, other) = (Events<String>(), Events<Int>())
        let tokens = [
            center.addObserver(for: Old.Played.self) { same.add($0.title) },
            try center.addObserver(for: Played.self) { same.add($0.title) },
        ]
        center.post(Old.Played(title: "a"))
        try center.post(Played(title: "b"))
        expectEqual(await same.wait(for: 4).sorted(), ["a", "a", "b", "b"])
        #expect(told.count == 0)
        let elsewhere = try test.other()
        elsewhere.onDiagnostic = center.onDiagnostic
        let token = elsewhere.addObserver(for: New.Played.self) { other.add($0.number) }
        try center.post(Played(title: "c"))
        expectEqual(await told.wait(for: 1), [#"played {"title":"c"}"#])
        #expect(other.count == 0)
        token.cancel()
        for token in tokens { token.cancel() }
    }

    /// A key that gained arguments, in both orders, also if some arguments are missing; a key that is declared once;
    /// values and untyped posts of one name; and a message in both of its spellings.
    @Test func compatibleTypesAreNotReported() throws {
        let test = try TestCenter()
        let center = test.center
        let told = Self.told(center)
        let older = Center.Key<Int, String>("key")
        let newer = Center.Key<Int, String, Double>("key", defaults: (nil, nil, 1))
        try center.post(newer, 1, "a", 0.5)
        try center.post(older, 1, "a")
        try center.post(Center.Key<Int>("key"), 1)
        try center.post(Center.Key<Int, String>("key"), 1, "a")
        let none: Center.Key<> = .init("key")
        try center.post(none)
        try center.setState(1, for: "value")
        try center.setState("a", for: "value")
        try center.post(name: "value", userInfo: ["a": 1])
        try center.post(name: "key", payload: .text("a"))
        struct Played: Center.Message {
            static let name: Center.Name = "played"
            var title: String
        }
        try center.post(Played(title: "a"))
        center.post(Old.Played(title: "a"))
        #expect(told.all == [])
    }

    /// With any number of names of keys.
    @Test func anyNumberOfNames() throws {
        let test = try TestCenter()
        let told = Self.told(test.center)
        for number in 0..<3000 { try test.center.post(Center.Key<Int>(.init("key.\(number)")), number) }
        for number in 2990..<3000 { try test.center.post(Center.Key<String>(.init("key.\(number)")), "a") }
        #expect(told.count == 10)
    }

    @Test func theReportNamesTheRemedy() {
        let keys = "\(Center.Mistake(.nameOfTwoKeys("progress", "Key<Int>", "Key<String>")))"
        #expect(keys.contains("\"progress\"") && keys.contains("Key<Int>") && keys.contains("another name"))
        let types = "\(Center.Mistake(.nameOfTwoTypes("played", "Old.Played", "New.Played")))"
        #expect(types.contains("\"played\"") && types.contains("Old.Played") && types.contains("static let name"))
    }
}

extension Center {
    /// The reports after all deferred posts were posted.
    fileprivate func diagnosed(_ told: Events<String>) -> [String] {
        postPending()
        return told.all
    }
}
