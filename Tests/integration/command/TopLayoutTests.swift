import Foundation
import Glibc
import Testing
import Tidings
import TidingsAdministration

@testable import tidings

/// What `tidings top` makes of numbers and keys, without a terminal.
@Suite
struct TopLayoutTests {
    private static func name(_ name: String, _ posts: Double, observers: Int = 1, isRetained: Bool = false)
        -> TopReport.Name
    {
        TopReport.Name(
            name: name, observers: observers, isRetained: isRetained, isPrefix: name.hasSuffix("*"),
            postsPerSecond: posts, bytesPerSecond: posts * 64, deliveriesPerSecond: posts * Double(observers))
    }

    private static func process(
        _ pid: Int32, _ executable: String, _ activity: TopReport.Process.Activity, _ posts: Double = 0,
        behind: Int? = nil, missed: Double = 0
    ) -> TopReport.Process {
        TopReport.Process(
            pid: pid, uid: 0, executable: executable, isOwn: false, activity: activity, postsPerSecond: posts,
            observers: 1, observersLossless: behind == nil ? 0 : 1, behind: behind, missedPerSecond: missed)
    }

    private static func report(
        names: [TopReport.Name] = [
            Self.name("com.example.a", 1000), Self.name("com.example.b", 234, observers: 2, isRetained: true),
            Self.name("com.example.*", 1234), Self.name("z", 0),
        ],
        processes: [TopReport.Process] = [
            Self.process(7, "player", .running, 1234, missed: 12), Self.process(8, "logger", .asleep),
            Self.process(9, "slow", .full, behind: 4096), Self.process(10, "held", .stopped),
            Self.process(11, "gone", .ended),
        ],
        unseen: UInt64 = 0
    ) -> TopReport {
        TopReport(
            center: "player", seconds: 1, positionsUsed: 99, revoked: 0, memory: 1 << 20, slots: 4096, chunks: 3,
            chunkLimit: 512, observers: 5, observersAsleep: 2, observersLossless: 1, participants: 5,
            postsPerSecond: 1234, bytesPerSecond: 65_536, deliveriesPerSecond: 2468,
            missedPerSecond: processes.reduce(0) { $0 + $1.missedPerSecond }, unseen: unseen,
            processes: processes, names: names)
    }

    private static func lines(
        _ width: Int, _ height: Int, _ report: TopReport = Self.report(), _ view: TopView = TopView()
    ) -> [String] {
        TopLayout(report, view, width: width, height: height).lines.map(\.plain)
    }

    /// Fails if a narrow screen leaves out what matters most, or if a line is longer than the screen.
    @Test
    func fitsIn20ColumnsAnd5Lines() {
        #expect(
            Self.lines(20, 5) == [
                "1,234 posts/s  64.0…",
                "NAME        ↓POSTS/S",
                "com.examp…     1,234",
                "com.examp…     1,000",
                "q quit  Tab table  …",
            ])
        var view = TopView()
        view.focus = .processes
        #expect(
            Self.lines(20, 5, Self.report(), view)[1...3] == [
                "PROCESS     ↓POSTS/S", "player         1,234", "logger             0",
            ])
    }

    /// Fails if a table hides the other one, or a column is not in its place.
    @Test
    func hasBothTablesIn80Columns() {
        let lines = Self.lines(80, 24)
        #expect(lines.count == 24)
        #expect(lines[0] == "1,234 posts/s  64.0 KiB/s  2,468 deliveries/s  12 missed/s  center player")
        #expect(lines[1].hasPrefix("5 observers, 2 asleep, 1 lossless  5 participants  3 of 512 chunks  1.0 MiB"))
        #expect(
            lines[2].split(separator: " ")
                == ["PID", "PROCESS", "STATE", "↓POSTS/S", "BYTES/S", "OBS/LOSSL", "BEHIND", "MISSED/S"])
        #expect(
            lines[3].split(separator: " ") == ["7", "player", "running", "1,234", "0", "bytes", "1/0", "-", "12"])
        let slow = lines.first { $0.contains("slow") } ?? ""
        #expect(slow.contains("full") && slow.contains(" 1/1    4,096 "), "\(slow)")
        let title = lines.firstIndex { $0.hasPrefix("NAME ") } ?? 0
        #expect(title == 8)
        #expect(
            lines[title].split(separator: " ") == ["NAME", "↓POSTS/S", "BYTES/S", "DELIV/S", "OBSERVERS", "VALUE"])
        #expect(lines[title + 3].split(separator: " ") == ["com.example.b", "234", "14.6", "KiB", "468", "2", "yes"])
        // Each number ends where its title ends.
        func end(_ line: String, _ text: String) -> Int? {
            line.range(of: text, options: .backwards).map { line.distance(from: line.startIndex, to: $0.upperBound) }
        }
        for (head, cell) in [("POSTS/S", "234"), ("DELIV/S", "468"), ("VALUE", "yes")] {
            #expect(end(lines[title], head) == end(lines[title + 3], cell), "\(head)")
        }
        #expect(lines[23].hasPrefix("q quit"))
    }

    @Test
    func usesALargeScreen() {
        let names = (0..<100).map { Self.name(String(format: "name.%03d", $0), Double($0)) }
        let lines = Self.lines(200, 60, Self.report(names: names))
        #expect(lines.count == 60)
        #expect(lines[2].contains("CPU%") && lines[2].contains("HELD"))
        // Two lines of the head, six of the processes, a title, and the keys: all others are names.
        #expect(lines.filter { $0.hasPrefix("name.") }.count == 50)
        #expect(lines.first { $0.hasPrefix("name.") }?.hasPrefix("name.099") == true)
    }

    /// Fails if a line is longer than a screen of any size, or if a name controls the terminal.
    @Test
    func fitsInEachSize() {
        let texts = ["\u{1B}[2Jx", "日本語の名前", "e\u{301}\u{301}", "👩‍👩‍👧", String(repeating: "n", count: 255), "", "\n"]
        let report = Self.report(
            names: texts.map { Self.name($0, 1e15) },
            processes: texts.map { Self.process(.max, $0, .full, 1e18, behind: .max) }, unseen: .max)
        var view = TopView()
        for focus in [TopView.Table.names, .processes] {
            view.focus = focus
            for isTyping in [false, true] {
                (view.isTyping, view.filter) = (isTyping, isTyping ? "日本" : "")
                for width in Array(0...40) + [79, 80, 81, 132, 200] {
                    for height in Array(0...30) + [60] {
                        let lines = TopLayout(report, view, width: width, height: height).lines
                        #expect(lines.count == max(1, height))
                        for line in lines {
                            #expect(line.plain.columns <= max(1, width), "\(width) × \(height): \(line.plain)")
                            #expect(!line.plain.unicodeScalars.contains { $0.value < 0x20 })
                        }
                    }
                }
            }
        }
    }

    @Test
    func countsColumns() {
        #expect("abc".columns == 3 && "日本".columns == 4 && "e\u{301}".columns == 1 && "…".columns == 1)
        #expect("日本語".clipped(to: 5) == "日本…" && "日本語".clipped(to: 6) == "日本語")
        #expect("abc".clipped(to: 0) == "" && "abc".clipped(to: 1) == "…")
    }

    @Test(arguments: [
        (0, "0"), (0.04, "0"), (2.54, "2.5"), (9.96, "10"), (99_999, "99,999"), (100_000, "100k"), (999_400, "999k"),
        (4_560_000, "4.56M"), (45_600_000, "45.6M"), (456_000_000, "456M"), (1e15, ">999G"),
    ])
    func ratesAreShort(rate: Double, text: String) {
        #expect(rate.asRate == text)
    }

    // MARK: Keys

    @Test
    func keysSort() {
        var view = TopView()
        func first() -> Substring? {
            let lines = Self.lines(200, 60, Self.report(), view)
            let title = lines.firstIndex { $0.hasPrefix("NAME") } ?? 0
            return lines[title + 1].split(separator: " ").first
        }
        #expect(first() == "com.example.*")
        #expect(view.handle(.character("r")) == .draw)
        #expect(first() == "z")
        // The column before is that of the names, which begins with A.
        _ = view.handle(.left)
        #expect(view.namesOrder == .init(column: 0) && first() == "com.example.*")
        _ = view.handle(.character("r"))
        #expect(first() == "z")
        let count = TopColumns.names.count
        for _ in 0..<count { _ = view.handle(.character("s")) }
        #expect(view.namesOrder.column == 0)
        _ = view.handle(.character("S"))
        #expect(view.namesOrder.column == count - 1)
        // The other table has an order of its own.
        let order = view.namesOrder
        _ = view.handle(.tab)
        _ = view.handle(.right)
        #expect(view.namesOrder == order && view.focus == .processes)
    }

    @Test
    func keysFilter() {
        var view = TopView()
        for key in "/Example.B".map(TopKey.character) { #expect(view.handle(key) == .draw) }
        var names: [Substring] {
            let lines = Self.lines(80, 10, Self.report(), view)
            return lines.dropFirst(2).dropLast().compactMap { $0.split(separator: " ").first }
        }
        #expect(names == ["com.example.b"])
        #expect(Self.lines(80, 10, Self.report(), view).last?.hasPrefix("/Example.B_") == true)
        // While keys are text, they do nothing else.
        #expect(view.handle(.character("q")) == .draw)
        #expect(names == [])
        _ = view.handle(.backspace)
        _ = view.handle(.enter)
        #expect(names == ["com.example.b"])
        #expect(view.handle(.character("q")) == .quit)
        _ = view.handle(.escape)
        #expect(names.count == 4)
        _ = view.handle(.tab)
        for key in "/stopped".map(TopKey.character) { _ = view.handle(key) }
        #expect(Self.lines(80, 10, Self.report(), view)[2].contains("held"))
        // Control-C ends also while the user types.
        #expect(view.handle(.interrupt) == .quit)
    }

    /// Fails if the last page is not full, or if scrolling goes on behind it.
    @Test
    func keysScroll() {
        let report = Self.report(names: (0..<20).map { Self.name("n\($0)", Double(20 - $0)) })
        var view = TopView()
        func shown() -> [Substring] {
            Self.lines(80, 8, report, view).dropFirst(2).dropLast().compactMap { $0.split(separator: " ").first }
        }
        #expect(shown() == ["n0", "n1", "n2", "n3", "n4"])
        _ = view.handle(.down)
        #expect(shown().first == "n1")
        _ = view.handle(.pageDown, page: 5)
        #expect(shown().first == "n6")
        _ = view.handle(.end)
        #expect(shown() == ["n15", "n16", "n17", "n18", "n19"])
        _ = view.handle(.home)
        _ = view.handle(.up)
        #expect(shown().first == "n0")
    }

    @Test
    func readsKeysOfATerminal() {
        var bytes = Array("q\u{1B}[A\u{1B}OB\u{1B}[5~\u{1B}[1;5C\u{1B}[99~ä\r\u{7F}\u{3}\u{1B}".utf8)
        #expect(
            TopKey.take(from: &bytes) == [
                .character("q"), .up, .down, .pageUp, .right, .character("ä"), .enter, .backspace, .interrupt, .escape,
            ])
        #expect(bytes.isEmpty)
        // A character and a sequence that come in two reads.
        bytes = [0xC3]
        #expect(TopKey.take(from: &bytes).isEmpty)
        bytes += [0xA4, 0x1B, 0x5B]
        #expect(TopKey.take(from: &bytes) == [.character("ä")])
        bytes += [0x42]
        #expect(TopKey.take(from: &bytes) == [.down] && bytes.isEmpty)
        // What no terminal sends neither fills the memory nor becomes a key.
        bytes = [0xFF, 0xFE, 0x00] + Array("\u{1B}[".utf8) + [UInt8](repeating: 0x30, count: 100)
        #expect(TopKey.take(from: &bytes).isEmpty && bytes.isEmpty)
    }

    // MARK: Frames

    /// Fails if a frame writes lines that have not changed, or leaves lines of a longer frame.
    @Test
    func framesHaveOnlyWhatChanged() {
        func text(_ lines: [String], _ shown: [String]?) -> String {
            String(decoding: TopScreen.frame(lines, over: shown), as: UTF8.self)
        }
        #expect(text(["a", "b"], ["a", "b"]) == "")
        #expect(text(["a", "c"], ["a", "b"]) == "\u{1B}[?2026h\u{1B}[2;1Hc\u{1B}[?2026l")
        #expect(text(["a"], ["a", "b"]) == "\u{1B}[?2026h\u{1B}[2;1H\u{1B}[K\u{1B}[?2026l")
        #expect(text(["a"], nil) == "\u{1B}[?2026h\u{1B}[0m\u{1B}[2J\u{1B}[1;1Ha\u{1B}[?2026l")
    }

    @Test
    func coloursAreOptional() {
        var line = TopLine(limit: 10)
        line.append("ab", .alarm)
        line.append("c")
        #expect(line.escaped(colours: true) == "\u{1B}[0;1;31mab\u{1B}[0mc")
        #expect(line.escaped(colours: false) == "\u{1B}[0;1mab\u{1B}[0mc")
    }

    // MARK: Reports

    @Test
    func readsProcStat() throws {
        let activity = try #require(
            ProcessActivity(stat: "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 100 200 0 0 20 0 1 0 55 1 1"))
        #expect(activity.command == "a) b" && activity.state == "S")
        #expect(activity.processorTime == 300 / Double(sysconf(Int32(_SC_CLK_TCK))))
        #expect(ProcessActivity(stat: "") == nil && ProcessActivity(stat: "7 (a) S 1") == nil)
        #expect(ProcessActivity(pid: getpid()) != nil && ProcessActivity(pid: -1) == nil)
        #expect(activity.fits(executable: "a) bcd") && !activity.fits(executable: "b"))
    }

    @Test
    func tellsStatesApart() {
        func state(_ letter: String, _ used: Double?, isAlive: Bool = true, isFull: Bool = false)
            -> TopReport.Process.Activity
        {
            let activity = ProcessActivity(stat: "7 (a) \(letter) 1 7 7 0 -1 4194560 1 2 3 4 1 2")
            return TopReport.activity(isAlive: isAlive, isReader: false, isFull: isFull, activity, used)
        }
        #expect(state("S", 0) == .asleep && state("S", 0.1) == .running && state("R", 0) == .running)
        #expect(state("S", nil) == .running)
        #expect(state("T", 0, isFull: true) == .stopped && state("t", 0) == .stopped && state("Z", 0) == .ended)
        #expect(state("S", 0, isFull: true) == .full && state("R", 1, isAlive: false) == .ended)
        #expect(TopReport.activity(isAlive: true, isReader: false, isFull: false, nil, nil) == .alive)
        #expect(TopReport.activity(isAlive: true, isReader: true, isFull: false, nil, nil) == .unknown)
    }

    /// Fails if a rate is that of another name or process, or if subjects and prefixes are not taken into account.
    @Test(.timeLimit(.minutes(10)))
    func twoSnapshotsMakeRates() throws {
        let directory = try CenterDirectory()
        let center = try directory.center()
        let tokens = [
            try center.addObserver(forNames: "a.b") { _ in },
            try center.addObserver(forNames: "a.b", options: .init(subject: "s", lossless: true)) { _ in },
            try center.addObserver(forNames: .prefix("a."), options: .init(from: .oldest)) { _ in },
        ]
        let counter = try SharedNotificationCenter.TrafficCounter(of: center)
        try center.post(name: "a.b", payload: .json("1234"))
        try center.post(name: "a.b", payload: .json("12"), options: .init(subject: "s"))
        try center.post(name: "c", payload: .empty)
        while try counter.count() > 0 {}
        func snapshot(_ seconds: Double, _ traffic: SharedNotificationCenter.Traffic) throws -> TopSnapshot {
            TopSnapshot(
                center: "a", seconds: seconds, statistics: try center.statistics,
                participants: try center.participants, names: try center.observedNames, traffic: traffic,
                activities: [:])
        }
        var traffic = counter.take()
        #expect(traffic.notifications == 3 && traffic.bytes == 6 && traffic.missed == 0)
        let before = try snapshot(10, .init())
        let report = TopReport(from: before, to: try snapshot(12, traffic))
        #expect(report.seconds == 2 && report.postsPerSecond == 1.5 && report.bytesPerSecond == 3)
        let names = Dictionary(uniqueKeysWithValues: report.names.map { ($0.name, $0) })
        #expect(Set(names.keys) == ["a.b", "a.*", "c"])
        #expect(names["a.b"]?.postsPerSecond == 1 && names["a.b"]?.bytesPerSecond == 3)
        // The first has two observers, the second also the one of its subject.
        #expect(names["a.b"]?.deliveriesPerSecond == 2.5)
        #expect(names["a.*"]?.postsPerSecond == 1 && names["a.*"]?.deliveriesPerSecond == 1)
        #expect(names["c"]?.deliveriesPerSecond == 0 && report.deliveriesPerSecond == 2.5)
        let own = report.processes.first { $0.pid == getpid() }
        #expect(own?.postsPerSecond == 1.5 && own?.observersLossless == 1 && own?.behind != nil)
        // The counts of losses wrap around; and they go back if an observer ends.
        func missed(_ first: UInt32, _ last: UInt32) throws -> Double? {
            var (before, now) = (before, try snapshot(12, .init()))
            before.participants[0].missed = first
            now.participants[0].missed = last
            return TopReport(from: before, to: now).processes.first { $0.pid == getpid() }?.missedPerSecond
        }
        #expect(try missed(3, 9) == 3 && missed(0x7fff_fffe, 2) == 2 && missed(9, 3) == 0)
        // Of 12 posts, 3 were counted: each stands for 4.
        traffic.missed = 9
        let estimate = TopReport(from: before, to: try snapshot(12, traffic))
        #expect(estimate.postsPerSecond == 6 && estimate.bytesPerSecond == 12 && estimate.unseen == 9)
        #expect(estimate.names.first { $0.name == "c" }?.postsPerSecond == 2)
        withExtendedLifetime(tokens) {}
    }

    /// Fails if memory grows with the number of names, if names share a count, or if a loss is not counted.
    @Test(.timeLimit(.minutes(10)))
    func countsWithinItsLimits() throws {
        let directory = try CenterDirectory()
        let center = try directory.center(slots: 8192)
        let counter = try SharedNotificationCenter.TrafficCounter(of: center)
        for number in 0..<5000 { try center.post(name: .init("n\(number)"), payload: .empty) }
        while try counter.count() > 0 {}
        let first = counter.take()
        #expect(first.notifications + first.missed == 5000)
        #expect(first.names.count == SharedNotificationCenter.TrafficCounter.limit)
        #expect(Set(first.names.map(\.name)).count == SharedNotificationCenter.TrafficCounter.limit)
        // The names of the last interval take no room in this one.
        try center.post(name: "last", payload: .empty)
        #expect(try counter.count() == 1)
        #expect(counter.take().names.map(\.name) == ["last"])
        for _ in 0..<20_000 { try center.post(name: "a", payload: .empty) }
        while try counter.count() > 0 {}
        let lapped = counter.take()
        #expect(lapped.missed > 0 && lapped.notifications + lapped.missed == 20_000)
    }
}
