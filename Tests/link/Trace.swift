// What happens in a schedule, as lines: for `LINK_TRACE=1 simulation SEED 1`.

import Glibc

let isTraced = getenv("LINK_TRACE") != nil

func trace(_ line: @autoclosure () -> String) {
    if isTraced { print(line()) }
}

extension Mark {
    var line: String { "\(origin.incarnation - 100)#\(sequence) \(name.text) count \(count)" }
}

extension Content: CustomStringConvertible {
    /// Not the buffer, which other contents share.
    package var description: String { "#\(uid) of center \(pid), \(payloadCount) bytes" }
}

extension AccountState {
    var line: String {
        guard let version else { return mark.line }
        return mark.line + " version \(version.date) #\(version.sequence)\(version.isCleared ? " cleared" : "")"
    }
}

extension Frame {
    var line: String {
        switch body {
        case .greeting: "greeting of session \(session) to \(to)"
        case .beat(let beat):
            "beat: round \(beat.round) received \(beat.received) handled \(beat.handled); "
                + "peer's round \(beat.peerRound) tail \(beat.tail) through \(beat.through) "
                + "generation \(beat.generation)"
        case .items(let frame):
            "items: round \(frame.round) after \(frame.after): "
                + frame.items.map { item in
                    let name = item.definition >= 0 ? frame.definitions[Int(item.definition)] : nil
                    return "at \(item.place) #\(item.sequence) slot \(item.slot)"
                        + (name.map { " = \($0.name.text) of \($0.origin.incarnation - 100)" } ?? "")
                        + " count \(item.count)"
                }.joined(separator: ", ")
        case .ask(let number, let isFirst, let from):
            "ask \(number)\(isFirst ? ", first," : "") from \(from)"
        case .accounts(let accounts):
            "accounts \(accounts.number) place \(accounts.place) next \(accounts.next): "
                + accounts.states.map(\.line).joined(separator: ", ")
        case .pull(let number, let names): "pull \(number) \(names.map(\.text))"
        case .pulled(let number): "pulled \(number)"
        case .dialog(let frame):
            "dialog \(frame.dialog) to \(frame.to): first \(frame.first) taken \(frame.taken) \(frame.messages)"
        case .value(let number, let item): "value \(number) \(item.mark.line)"
        }
    }
}
