// The command `tidings top`.
import ArgumentParser
import Foundation
import Glibc
import Tidings
import TidingsAdministration

struct Top: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Watch what a center does: rates by name and by process, and what holds posters back.",
        discussion: """
            A screen that is drawn again in each second: the posts, bytes and deliveries per second of each name; and \
            for each process its posts and bytes per second, its observers and how many of them are lossless, how \
            far its slowest observer is behind, how many notifications they missed per second, the memory that it \
            holds in place, and its state:

              full     a lossless observer is nearly a whole ring behind: posters wait for it
              stopped  stopped by a signal or a debugger
              running  it ran, or another of its threads did
              asleep   it used no processor time
              ended    it has exited or was killed
              alive    in another pid namespace, so its state is not known; unknown: the center may only be read

            Deliveries are the posts of a name times its observers, without observers of all names, which a center \
            does not count by name. A process that was built with version 1.0 of the center's format does not say \
            what its observers missed, and how far those are behind that are not lossless.

            The command is one observer of all names that reads no payloads. It never sleeps in the center, so posters \
            never wake it. If posts come faster than it counts, the sum stays exact, the rates of names and processes \
            are estimates (≈), and the number of notifications that it did not count is shown.

            Keys: q quits. Tab changes the table. s and S, or the arrows, choose the column that sorts; r reverses the \
            order. / shows only rows with a text; Escape shows all. p pauses. Up, down, Page Up, Page Down, Home and \
            End scroll.

              tidings top --center com.example.player
              tidings top --once --format json | jq '.names[] | select(.postsPerSecond > 1000) | .name'
              tidings top --format json --interval 10s >>rates.jsonl

            Without a terminal the command prints one interval as lines, as with --once. SIGINT (Control-C), SIGTERM \
            and the end of the program that reads the output end it with status 0. If the center is removed, it \
            reports that and ends with status 1.
            """)

    @OptionGroup var options: CenterOptions

    @Option(
        help: ArgumentHelp("The length of an interval, from 100ms to 1h. Default: 1s.", valueName: "duration"))
    var interval: Seconds?

    @Flag(help: "Print one interval, and end.")
    var once = false

    @Option(
        help: """
            pretty, or json: one object per line and interval with center, seconds, positionsUsed, revoked, memory, \
            slots, chunks, chunkLimit, observers, observersAsleep, observersLossless, participants, postsPerSecond, \
            bytesPerSecond, deliveriesPerSecond, missedPerSecond, unseen, processes and names.
            """)
    var format = Centers.Format.pretty

    func validate() throws {
        guard let interval else { return }
        guard (0.1...3600).contains(interval.value) else {
            throw ValidationError("--interval must be from 100ms to 1h.")
        }
    }

    private var seconds: Double { interval?.value ?? 1 }

    func run() throws {
        if format == .pretty, !once, let screen = TopScreen() { return try show(on: screen) }
        #if MUTANT_TOP_CREATES  // Found by: command refusesWhatItCantDo
            if isMutant("TOP_CREATES") { _ = try options.open() }
        #endif
        let finish = Finish()
        finish.includeSignals()
        let sampler = try TopSampler(options.openToLook())
        defer { sampler.end() }
        let isOne = once || format == .pretty
        repeat {
            guard finish.wait(seconds: seconds) == nil else { return }
            let report = try sampler.report()
            #if MUTANT_TOP_WRITES_ON  // Found by: command endsWithTheProgramThatReads hangs
                if isMutant("TOP_WRITES_ON") {
                    try? Terminal.print(report.json)
                    continue
                }
            #endif
            if format == .json {
                try Terminal.print(report.json)
            } else {
                try Terminal.print(Self.text(of: report))
            }
        } while !isOne
    }

    /// All rows, for an output that is no screen.
    static func text(of report: TopReport) -> String {
        // Each table has a title, and may take half of the lines; two lines of the head, and one of the keys.
        let height = max(12, 5 + 2 * max(report.names.count, report.processes.count))
        let layout = TopLayout(report, TopView(), width: 120, height: height)
        // Without the line of the keys.
        let lines = layout.lines.dropLast().map { line in
            var text = line.plain
            while text.last == " " { text.removeLast() }
            return text
        }
        return lines.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    private func show(on screen: TopScreen) throws {
        let events = TopEvents()
        events.includeSignals {
            screen.endModes()
            Glibc._exit(1)
        }
        let sampler = try TopSampler(options.openToLook())
        defer { sampler.end() }
        try screen.enter()
        defer { screen.leave() }
        if screen.hasKeys { events.includeKeys() }
        var display = Display(screen: screen, events: events, sampler: sampler, seconds: seconds)
        try display.run()
    }
}

extension TopReport {
    /// One JSON object on one line.
    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self).printable
        }
    }
}

/// The loop of the screen: waits for events and draws.
private struct Display {
    let screen: TopScreen
    let events: TopEvents
    let sampler: TopSampler
    let seconds: Double
    private var view = TopView()
    private var report: TopReport?
    private var page = 10

    init(screen: TopScreen, events: TopEvents, sampler: TopSampler, seconds: Double) {
        (self.screen, self.events, self.sampler, self.seconds) = (screen, events, sampler, seconds)
    }

    mutating func run() throws {
        // The first numbers come soon.
        var next = monotonicSeconds() + min(seconds, 0.25)
        try draw()
        while true {
            switch events.next(until: next) {
            case .end?: return
            case .resized?:
                screen.forget()
                try draw()
            case .resumed?:
                try screen.enter()
                try draw()
            case .key(let key)?:
                switch view.handle(key, page: page) {
                case .quit: return
                case .suspend: try suspend()
                case .drawAnew:
                    screen.forget()
                    try draw()
                case .draw: try draw()
                }
            case nil:
                let began = monotonicSeconds()
                let latest = try sampler.report()
                if !view.isPaused || report == nil { report = latest }
                try draw()
                // The tables of a large center take long to read: at most a tenth of the time goes into that.
                let ended = monotonicSeconds()
                next = max(began + seconds, ended + 9 * (ended - began))
            }
        }
    }

    private mutating func draw() throws {
        let size = screen.size
        guard let report else {
            var line = TopLine(limit: size.width)
            line.append("counting …", .dim)
            return try screen.draw([line], size: size)
        }
        let layout = TopLayout(report, view, width: size.width, height: size.height)
        page = max(1, layout.page)
        // Scrolling beyond the end must not have to be taken back key by key.
        view.scroll = min(view.scroll, max(0, layout.rows - layout.page))
        try screen.draw(layout.lines, size: size)
    }

    /// Stops the job, as Control-Z does elsewhere. It goes on here when the user continues it, and at once if it can't
    /// be stopped, because no shell controls it.
    private mutating func suspend() throws {
        screen.leave()
        kill(0, SIGTSTP)
        try screen.enter()
        try draw()
    }
}
