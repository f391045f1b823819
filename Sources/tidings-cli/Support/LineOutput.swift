/// Prints lines, and ends the command at the limit, or if a line can't be printed.
final class LineOutput: Sendable {
    private let finish: Finish
    private let left: Locked<Int?>

    init(limit: Int?, finish: Finish) {
        self.finish = finish
        left = Locked(limit)
    }

    /// Does nothing once the command has an end. `then` runs after the line was printed, and belongs to it.
    func print(_ line: @autoclosure () -> String, then: () throws -> Void = {}) {
        guard !finish.hasEnded else { return }
        do {
            try Terminal.print(line())
            try then()
        } catch is BrokenPipe {
            return finish.end(.brokenPipe)
        } catch {
            return finish.end(.failed("\(error)"))
        }
        let isLast = left.withLock { left in
            guard let count = left else { return false }
            left = count - 1
            return count == 1
        }
        if isLast { finish.end(.complete) }
    }
}
