import Dispatch
import Foundation
import TidingsAdministration
import TidingsFoundation
import harness

@testable import Tidings

typealias Center = SharedNotificationCenter

struct Numbered: Center.Message {
    static let name: Center.Name = "a"
    var number: Int
    var text: String
}

struct Flat: Center.BitwiseMessage {
    static let name: Center.Name = "b"
    var x: Double
    var y: Double
}

/// One center, and what this process does with it while its memory changes.
final class Script {
    static let longest = 80
    /// Posts of one script: an input ends in milliseconds.
    private static let mostPosts = 1200
    private static let sizes = [0, 8, 100, 200, 1000, 6000, 60000, 70000]
    private static let names: [Center.Name] = [
        "a", "b", "c", "com.example.progress", .init("com.example.long." + String(repeating: "x", count: 200)),
    ]

    /// The meaning of a step's first byte. Below `words`, the step changes a word, chosen by its kind. Below `changes`,
    /// it changes a word, chosen by its offset. Otherwise it uses the API.
    enum Code {
        static let words = 0..<104
        static let changes = 0..<128
    }

    private let center: Center
    private let tasks = ManualExecutor()
    private let queue = DispatchQueue(label: "fuzz")
    private let tally = Tally()
    private var tokens = [Center.ObservationToken?](repeating: nil, count: 8)
    private var readers = [Reader?](repeating: nil, count: 4)
    private var pollables = [Center.PollableObserver?](repeating: nil, count: 2)
    private var posts = 0

    init?(beginning: UInt8) {
        let configuration = Center.Configuration(
            directory: String(cString: harness_directory()), maximumPayloadSize: 65536, slots: 256, participants: 8,
            observers: 16, names: 256, permissions: beginning & 64 == 0 ? nil : 0o644)
        guard let center = try? Center(named: "f", configuration: configuration) else { return nil }
        self.center = center
        let tally = tally
        center.onDiagnostic = { tally.note($0) }
        guard harness_map(center.path) else { harness_fail("the center's file is mapped", 0) }
        if beginning & 1 != 0 { furnish() }
        if beginning & 2 != 0 { postMany(300) }
    }

    /// Observers of most kinds, a value, and posts of most sizes.
    private func furnish() {
        for kind in [0, 1, 2, 4] { observe(kind, as: kind, how: kind == 4 ? 64 : 0) }
        begin(0, kind: 2, how: 4)
        poll(0, how: 0)
        for kind in 0..<6 { post(kind: kind, size: kind, how: 0) }
        post(kind: 0, size: 2, how: 1)
        settle()
    }

    func run(_ step: Step) {
        if Code.changes.contains(step[0]) {
            return step.withArguments {
                Code.words.contains(step[0]) ? harness_change_word($0, $1) : harness_change_place($0, $1)
            }
        }
        switch (step[0] - Code.changes.upperBound) % 16 {
        case 0, 1, 2: post(kind: step[1], size: step[2], how: step[3])
        case 3: postMany(step[1] % 4 == 3 ? 300 : step[1] / 4)
        case 4, 5: observe(step[1], as: step[2], how: step[3])
        case 6: begin(step[1], kind: step[2], how: step[3])
        case 7: read(step[1], count: step[2] % 64)
        case 8: poll(step[1], how: step[2])
        case 9, 10: suspend(step[1])
        case 11, 12: state(step[1], how: step[2])
        case 13: look(step[1])
        case 14: drop(step[1])
        default: harness_turn_helpers()
        }
        harness_used("a use of the Swift API")
        // Without this, what is posted next finds dispatchers that have fallen behind.
        if step[7] % 4 != 3 { settle() }
    }

    private func settle() {
        harness_settle()
        // Closures on queues, then tasks: those that are resumed may make room for a dispatcher that waits.
        for _ in 0..<2 {
            queue.sync {}
            for token in tokens { token?.anchor?.observation.queue?.sync {} }
            tasks.run()
            harness_settle()
        }
        harness_used("dispatching")
    }

    /// Ends everything in the order in which a program would.
    func end() {
        center.isSuspended = false
        settle()
        for index in tokens.indices { tokens[index] = nil }
        for index in readers.indices { dropReader(index) }
        for index in pollables.indices { pollables[index] = nil }
        center.onDiagnostic = nil
        tasks.run()
        queue.sync {}
        tally.check()
    }

    // MARK: Posting

    private func post(kind: Int, size: Int, how: Int) {
        guard posts < Self.mostPosts else { return }
        posts += 1
        let text = String(repeating: "x", count: Self.sizes[size % Self.sizes.count])
        let (retain, subject) = (how & 1 != 0, how & 2 != 0 ? "one" : nil)
        let deadline: Duration? = how & 4 != 0 ? .microseconds(10) : nil
        let name = Self.names[how / 16 % Self.names.count]
        do {
            switch kind % 6 {
            case 0:
                try center.post(
                    Numbered(number: size, text: text),
                    options: .init(subject: subject, retain: retain, timeout: deadline))
            case 1:
                try center.post(Flat(x: 1, y: 2), options: .init(subject: subject, retain: retain, timeout: deadline))
            case 2:
                try center.post(
                    name: name, userInfo: ["n": 1, "t": .string(text)],
                    options: .init(subject: subject, deliverImmediately: how & 8 != 0))
            case 3:
                try center.post(
                    name: name, payload: .text(text),
                    options: .init(subject: subject, retain: retain, timeout: deadline))
            case 4: try center.post(name: name, options: .init(subject: subject, retain: retain))
            default:
                try center.post(
                    name: "b", payload: .init(format: .bitwise, bytes: Array(text.utf8)), options: .init(retain: retain)
                )
            }
            nearLastPost()
        } catch {}  // refused: the memory is hostile
    }

    /// A typed post does not return its position.
    private func nearLastPost() {
        if let posted = try? center.statistics.posted, posted > 0 { harness_near(posted - 1) }
    }

    private func postMany(_ count: Int) {
        for _ in 0..<count where posts < Self.mostPosts {
            posts += 1
            if (try? center.post(Flat(x: 1, y: 2))) != nil { nearLastPost() }
        }
    }

    // MARK: Closures

    private func observe(_ index: Int, as kind: Int, how: Int) {
        let index = index % tokens.count
        tokens[index] = nil
        let (tally, center) = (tally, center)
        let subject = how & 1 != 0 ? "one" : nil
        let start = self.start(how / 2)
        let lossless = how & 8 != 0
        let queue = how & 16 != 0 ? queue : nil
        let own = how & 32 != 0
        // These have an observer of their own anyway.
        let inPlace: Center.InPlace? = lossless ? .from(0) : nil
        tokens[index] =
            switch kind % 8 {
            case 0:
                try? center.addObserver(
                    for: Numbered.self,
                    options: .init(
                        subject: subject, from: start, excludingOwnPosts: own, lossless: lossless, inPlace: inPlace,
                        queue: queue,
                        onMissed: { count, _ in tally.miss(count) }, onUndecodable: { tally.note(.undecodable($0, $1)) }
                    ),
                    using: { tally.take($0.number, $0.text.utf8.count) })
            case 1:
                try? center.addObserver(
                    for: Flat.self, options: .init(from: start, lossless: lossless, inPlace: inPlace, queue: queue)
                ) {
                    tally.take($0.x.isNaN ? 1 : 0, $0.y.isNaN ? 1 : 0)
                    tally.take($1)
                }
            case 2:
                try? center.addObserver(
                    forNames: .all,
                    options: .init(
                        subject: subject, from: start, excludingOwnPosts: own, lossless: lossless, inPlace: inPlace,
                        queue: queue,
                        onMissed: { count, _ in tally.miss(count) }), using: { tally.take($0) })
            case 3:
                try? center.addObserver(
                    forNames: .init(["c"], prefixes: ["com.example.", "b"]),
                    options: .init(from: start, lossless: lossless, inPlace: inPlace, queue: queue)
                ) { tally.take($0) }
            case 4, 5:
                try? center.addObserver(
                    forNames: kind % 8 == 4 ? .all : "a",
                    options: .init(
                        subject: subject, from: start, lossless: lossless, queue: queue,
                        onMissed: { count, _ in tally.miss(count) }), suspensionBehavior: Self.behavior(how / 64),
                    using: {
                        tally.take($0.userInfo?.count ?? 0, $0.name.rawValue.utf8.count)
                        tally.take($0.envelope)
                    })
            case 6:
                try? center.addObserver(
                    for: Numbered.self,
                    options: .init(from: start, executor: tasks, onMissed: { count, _ in tally.miss(count) }),
                    using: { (message: Numbered) async in
                        await Task.yield()
                        tally.take(message.number, message.text.utf8.count)
                    })
            default:
                // Posts what it is called for, a few times.
                try? center.addObserver(for: Flat.self) { [weak center] _ in
                    if tally.mayPost { _ = try? center?.post(Flat(x: 0, y: 0)) }
                }
            }
    }

    private func start(_ how: Int) -> Center.Start {
        switch how % 4 {
        case 0, 1: .now
        case 2: .oldest
        default: .after(UInt64(how) &* 4_611_686_018_427_387_903, in: center.incarnation)
        }
    }

    private static func behavior(_ how: Int) -> Center.SuspensionBehavior {
        [.drop, .coalesce(limit: 3), .hold(limit: 1), .deliverImmediately][how % 4]
    }

    private func suspend(_ how: Int) {
        switch how % 5 {
        case 0, 1: center.suspend()
        case 2: center.resume()
        default: center.isSuspended = how % 5 == 3
        }
    }

    // MARK: Sequences

    private func begin(_ index: Int, kind: Int, how: Int) {
        let index = index % readers.count
        dropReader(index)
        let tally = tally
        let keeping: Center.Keeping = how & 1 == 0 ? .newest : .oldest
        let start = self.start(how / 2)
        let bufferSize = how & 32 != 0 ? 1 : how & 8 == 0 ? 4 : 1024
        let lossless = how & 16 != 0
        let inPlace: Center.InPlace? = lossless ? .from(0) : nil
        readers[index] =
            switch kind % 4 {
            case 0:
                Reader(
                    center.messages(
                        of: Numbered.self,
                        options: .init(
                            from: start, lossless: lossless, inPlace: inPlace,
                            onMissed: { count, _ in tally.miss(count) }),
                        bufferSize: bufferSize, keeping: keeping
                    ).makeAsyncIterator()
                ) { tally.take($0.number, $0.text.utf8.count) }
            case 1:
                Reader(
                    center.deliveries(
                        of: Flat.self, options: .init(from: start, lossless: lossless, inPlace: inPlace),
                        bufferSize: bufferSize,
                        keeping: keeping
                    ).makeAsyncIterator()
                ) {
                    switch $0 {
                    case .message(let message, let envelope):
                        tally.take(message.x.isNaN ? 1 : 0, 0)
                        tally.take(envelope)
                    case .missed(let count): tally.miss(count)
                    case .reopened, .centerEnded: break
                    }
                }
            default:
                Reader(
                    center.deliveries(
                        ofNames: .init(kind % 4 == 2 ? nil : ["a", "c"]),
                        options: .init(from: start, lossless: lossless, inPlace: inPlace), bufferSize: bufferSize,
                        keeping: keeping
                    ).makeAsyncIterator()
                ) { tally.take($0) }
            }
    }

    private func read(_ index: Int, count: Int) {
        readers[index % readers.count]?.read(count, on: tasks)
        tasks.run()
    }

    private func dropReader(_ index: Int) {
        readers[index]?.cancel()
        tasks.run()
        readers[index] = nil
    }

    private func drop(_ which: Int) {
        switch which % 4 {
        case 0, 1: tokens[which / 4 % tokens.count] = nil
        case 2: dropReader(which / 4 % readers.count)
        default: pollables[which / 4 % pollables.count] = nil
        }
    }

    // MARK: Polling

    private func poll(_ index: Int, how: Int) {
        let index = index % pollables.count
        if pollables[index] == nil || how % 8 == 7 {
            pollables[index] = nil
            harness_dispatched(false)
            defer { harness_dispatched(true) }
            pollables[index] = try? center.pollableObserver(
                forNames: .init(how & 8 == 0 ? nil : ["a", "b"], prefixes: how & 16 == 0 ? [] : ["com."]),
                options: .init(from: start(how / 2), lossless: how & 32 != 0, inPlace: how & 32 != 0 ? .from(0) : nil))
        }
        for _ in 0...how {
            guard let delivery = try? pollables[index]?.next() else { return }
            tally.take(delivery)
        }
    }

    // MARK: State and statistics

    private func state(_ what: Int, how: Int) {
        let name = Self.names[how % Self.names.count]
        switch what % 8 {
        case 0: _ = try? center.setState(Numbered(number: how, text: "state"))
        case 1: _ = try? center.setState(how, for: name)
        case 2: _ = try? center.setState(.text(String(repeating: "s", count: Self.sizes[how / 8 % 8])), for: name)
        case 3: try? center.setState(nil, for: name)
        case 4: if let value = try? center.state(for: Numbered.self) { tally.take(value.number, value.text.utf8.count) }
        case 5: if let value = try? center.state(for: name, as: Int.self) { tally.take(value, 0) }
        default: if let value = try? center.rawState(for: name) { tally.take(value.bytes.count, 0) }
        }
    }

    private func look(_ what: Int) {
        switch what % 8 {
        case 0, 1, 2:
            guard let numbers = try? center.statistics else { return }
            tally.take(numbers.slots &+ numbers.participants &+ numbers.names &+ numbers.chunks, numbers.missed)
            let isNegative = numbers.missed < 0 || numbers.undecodable < 0
            if isNegative { harness_fail("a count is not negative", Int64(numbers.missed)) }
        case 3: for one in (try? center.participants) ?? [] { tally.take(one.behind, one.executable.utf8.count) }
        case 4, 5:
            for one in (try? center.observedNames) ?? [] { tally.take(one.observers, one.name.rawValue.utf8.count) }
        case 6: if let orphans = try? center.orphans { tally.take(orphans.names, orphans.heldSlots) }
        default: _ = try? center.reclaim()
        }
    }
}
