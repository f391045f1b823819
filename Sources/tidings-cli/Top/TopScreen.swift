import Foundation
import Glibc

/// The terminal of `tidings top`: its modes, its size and its lines.
///
/// The screen is the alternate one, so the user's text comes back at the end. Each frame is one write of the lines that
/// have changed. Where the terminal knows synchronized updates (mode 2026), it shows a frame at once; other terminals
/// ignore the request.
final class TopScreen: @unchecked Sendable {
    // Sendable: `saved` and `isEntered` are accessed only while the lock is held. Only the main thread uses the rest.
    private let lock = NSLock()
    private var saved: termios?
    private var isEntered = false
    private var shown: [String] = []
    private var shownSize: Size?
    let hasColours: Bool

    struct Size: Equatable {
        var width: Int
        var height: Int
    }

    /// Terminals that have no colours, as their names say.
    private static let colourless = ["vt100", "vt102", "vt220", "vt320", "xterm-mono"]

    /// - Returns: `nil`: standard output is no terminal that can place a cursor.
    init?(environment: [String: String] = ProcessInfo.processInfo.environment) {
        let name = environment["TERM"] ?? ""
        guard Terminal.isInteractive, !name.isEmpty, name != "dumb" else { return nil }
        // https://no-color.org
        hasColours = (environment["NO_COLOR"] ?? "").isEmpty && !Self.colourless.contains(name)
    }

    /// Whether keys can be read: standard input is a terminal.
    var hasKeys: Bool { isatty(STDIN_FILENO) == 1 }

    /// What the terminal says, or else the environment, or else 80 × 24. A terminal says 0 if it does not know.
    var size: Size {
        var said = winsize()
        let result = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &said)
        func number(_ name: String, _ cells: UInt16, _ other: Int) -> Int {
            if result == 0, cells > 0 { return Int(cells) }
            let number = ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? other
            return (1...1000).contains(number) ? number : other
        }
        return Size(width: number("COLUMNS", said.ws_col, 80), height: number("LINES", said.ws_row, 24))
    }

    /// Takes the screen, and keys without their echo; also anew, after the process was stopped. The keys of signals are
    /// keys, too.
    func enter() throws {
        lock.lock()
        if hasKeys {
            var modes = termios()
            if tcgetattr(STDIN_FILENO, &modes) == 0 {
                if saved == nil { saved = modes }
                modes.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
                // Control-S must not hold the output: the command could not end then.
                modes.c_iflag &= ~tcflag_t(IXON | ICRNL)
                withUnsafeMutableBytes(of: &modes.c_cc) { characters in
                    characters[Int(VMIN)] = 1
                    characters[Int(VTIME)] = 0
                }
                tcsetattr(STDIN_FILENO, TCSADRAIN, &modes)
            }
        }
        let begins = !isEntered
        isEntered = true
        lock.unlock()
        (shown, shownSize) = ([], nil)
        // The alternate screen, once: it keeps where the cursor was. No cursor; no line goes on in the next one.
        try Terminal.write(Array(((begins ? "\u{1B}[?1049h" : "") + "\u{1B}[?25l\u{1B}[?7l").utf8))
    }

    /// Gives the terminal back as it was. Does nothing if that was done.
    func leave() {
        guard endModes() else { return }
        #if MUTANT_TOP_SCREEN_KEPT  // Found by: command controlCGivesTheTerminalBack hangs
            if isMutant("TOP_SCREEN_KEPT") { return }
        #endif
        let bytes = Array("\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l".utf8)
        // A terminal that is gone needs nothing.
        try? Terminal.write(bytes)
    }

    /// Gives the modes back, without writing: also if the terminal reads nothing. From any thread.
    ///
    /// - Returns: whether this call did.
    @discardableResult
    func endModes() -> Bool {
        lock.lock()
        defer { lock.unlock() }
        guard isEntered else { return false }
        isEntered = false
        if var modes = saved { tcsetattr(STDIN_FILENO, TCSANOW, &modes) }
        return true
    }

    /// Forgets what the screen shows, so that the next frame writes every line.
    func forget() {
        shownSize = nil
    }

    /// Shows a frame. If the terminal's size has changed since the frame was laid out, the terminal cuts lines that are
    /// too long, and writes those that are too low over its last one. The next frame repairs that.
    func draw(_ lines: [TopLine], size: Size) throws {
        // After the last column, the sequence would clear that column.
        let texts = lines.map { $0.escaped(colours: hasColours) + ($0.width < size.width ? "\u{1B}[K" : "") }
        #if MUTANT_TOP_LINES_LEFT  // Found by: command aResizeDuringARedrawLeavesNothing hangs
            if isMutant("TOP_LINES_LEFT") {
                let texts = lines.map { $0.escaped(colours: hasColours) }
                try Terminal.write(Self.frame(texts, over: size == shownSize ? shown : []))
                (shown, shownSize) = (texts, size)
                return
            }
        #endif
        let bytes = Self.frame(texts, over: size == shownSize ? shown : nil)
        (shown, shownSize) = (texts, size)
        if !bytes.isEmpty { try Terminal.write(bytes) }
    }

    /// The bytes that turn one screen into another; empty if they are equal.
    ///
    /// - Parameter shown: the lines on the screen; `nil`: not known, so the screen is cleared.
    static func frame(_ lines: [String], over shown: [String]?) -> [UInt8] {
        #if MUTANT_TOP_EACH_LINE_WRITTEN  // Found by: command framesHaveOnlyWhatChanged
            let shown = isMutant("TOP_EACH_LINE_WRITTEN") ? nil : shown
        #endif
        var text = shown == nil ? "\u{1B}[0m\u{1B}[2J" : ""
        let known = shown ?? []
        for (row, line) in lines.enumerated() where row >= known.count || known[row] != line {
            text += "\u{1B}[\(row + 1);1H\(line)"
        }
        for row in lines.count..<max(lines.count, known.count) { text += "\u{1B}[\(row + 1);1H\u{1B}[K" }
        return text.isEmpty ? [] : Array("\u{1B}[?2026h\(text)\u{1B}[?2026l".utf8)
    }
}
