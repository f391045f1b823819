// The command `tidings stat`.
import ArgumentParser
import Foundation
import Tidings
import TidingsAdministration

struct Stat: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show a center's numbers, participants and names.",
        discussion: """
            This command opens the center, and so is one of its participants. In a center that it may only read, it is \
            no participant, and can't find out which participants are alive.

            Each post uses a position of the center's order. A post that is revoked uses another one, so the number of \
            positions used may exceed the number of notifications. A participant that has ended, by an exit or by a \
            signal, is listed as ended until its entry is reused.

            If a relay connects the center with other machines ("tidings relay"), each of its links is shown: whether \
            it works, what it has sent and posted, how often it has repaired a gap, how far it is behind, and how long \
            a notification and its acknowledgement take.

              tidings stat --center com.example.player
              tidings stat --watch --json | jq .positionsUsed
            """)

    @OptionGroup var options: CenterOptions

    @Flag(help: "Show the center again every second, until interrupted.")
    var watch = false

    @Flag(help: "Print one JSON object per line.")
    var json = false

    func run() throws {
        guard watch else { return try show() }
        let finish = Finish()
        finish.includeSignals()
        repeat {
            // On a terminal, each output replaces the previous one.
            if Terminal.isInteractive, !json { try Terminal.write(Array("\u{1B}[H\u{1B}[2J".utf8)) }
            try show()
        } while finish.wait(seconds: 1) == nil
    }

    /// Opens the center for each output, so that the next output of `--watch` notices that the center was removed.
    private func show() throws {
        let center = try options.openToLook()
        let picture = try Picture(of: center)
        try Terminal.print(json ? picture.json() : picture.text)
    }
}

/// All figures of a center at one moment.
private struct Picture: Encodable {
    var center: String
    var path: String
    var positionsUsed: UInt64
    var oldestSequence: UInt64
    var revoked: UInt64
    var memory: UInt64
    var fileSize: UInt64
    var maximumPayloadSize: UInt64
    var slots: Int
    var participants: [Participant]
    var participantLimit: Int
    var observers: Int
    var observerLimit: Int
    var observersAsleep: Int
    var observersLossless: Int
    var names: [Name]
    var nameLimit: Int
    var chunks: Int
    var chunkLimit: Int
    var formatVersion: String
    /// Missing if the center has no relay.
    var relay: RelayedLinks?

    struct Participant: Encodable {
        var pid: Int32
        var uid: UInt32
        var executable: String
        var isAlive: Bool
        var isOwn: Bool
        var joinedAt: String
        var observers: Int
        var observersLossless: Int
        var behind: Int
        /// Of observers of any kind; missing if none of them says it.
        var distance: Int?
        var payloadsHeld: Int
        var memoryHeld: UInt64
        /// Since the oldest of them; missing if there are none.
        var heldSeconds: Double?
        var isAnnounced: Bool
        /// Missing if it is not announced.
        var role: String?
    }

    struct Name: Encodable {
        var name: String
        var subject: String?
        var observers: Int
        var isRetained: Bool
        var isPrefix: Bool
    }

    init(of center: Center) throws(SharedNotificationError) {
        let statistics = try center.statistics
        self.center = center.name
        path = center.path
        positionsUsed = statistics.posted
        oldestSequence = statistics.oldestSequence
        revoked = statistics.revoked
        memory = statistics.memory
        fileSize = statistics.fileSize
        maximumPayloadSize = statistics.maximumPayloadSize
        slots = statistics.slots
        participants = try center.participants.map {
            Participant(
                pid: $0.pid, uid: $0.uid, executable: $0.executable, isAlive: $0.isAlive, isOwn: $0.isOwn,
                joinedAt: $0.joinedAt.formatted(.iso8601), observers: $0.observers,
                observersLossless: $0.observersLossless, behind: $0.behind, distance: $0.distance,
                payloadsHeld: $0.payloadsHeld, memoryHeld: $0.memoryHeld,
                // Never below zero, also if a peer or the clock has gone back.
                heldSeconds: $0.holdsSince.map { max(0, -$0.timeIntervalSinceNow) },
                isAnnounced: $0.announced != nil, role: $0.announced?.role)
        }
        participantLimit = statistics.participantLimit
        observers = statistics.observers
        observerLimit = statistics.observerLimit
        observersAsleep = statistics.observersAsleep
        observersLossless = statistics.observersLossless
        names = try center.observedNames.map {
            Name(
                name: $0.name.rawValue, subject: $0.subject, observers: $0.observers, isRetained: $0.isRetained,
                isPrefix: $0.isPrefix)
        }
        nameLimit = statistics.nameLimit
        chunks = statistics.chunks
        chunkLimit = statistics.chunkLimit
        formatVersion = statistics.formatVersion
        relay = try RelayedLinks(of: center)
    }

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self).printable
    }

    /// The participant's observers, and whether they hold posters back or soon will.
    private func observers(of participant: Participant) -> String {
        guard participant.observers > 0 else { return "" }
        let all = ", " + counted(participant.observers, "observer")
        guard participant.observersLossless > 0 else { return all }
        let isFull = participant.behind >= slots
        let behind = counted(participant.behind, "position")
        return all + ", \(participant.observersLossless.grouped) lossless, \(behind) behind"
            + (isFull ? ": the whole ring; posters wait for it" : "")
    }

    /// The payloads that the participant reads in place, whose memory no post can use.
    private func holds(of participant: Participant) -> String {
        guard let seconds = participant.heldSeconds else { return "" }
        return ", holds \(counted(participant.payloadsHeld, "payload")) in place, \(participant.memoryHeld.asBytes), "
            + "for \(String(format: "%.1f", seconds)) s"
    }

    var text: String {
        var lines = [
            "center        \(center.printable), \(path.printable), format \(formatVersion)",
            "positions     \(positionsUsed.grouped) used, oldest in the ring #\(oldestSequence), "
                + "\(revoked.grouped) revoked",
            "ring          \(counted(slots, "slot"))",
            "payloads      up to \(maximumPayloadSize.asBytes), \(chunks.grouped) of \(chunkLimit.grouped) chunks",
            "memory        \(memory.asBytes)",
            "observers     \(observers.grouped) of \(observerLimit.grouped), \(observersAsleep.grouped) asleep, "
                + "\(observersLossless.grouped) lossless",
            "participants  \(participants.count.grouped) of \(participantLimit.grouped)",
        ]
        for participant in participants {
            #if MUTANT_ENDED_CALLED_DEAD  // Found by: command statListsAParticipantWhoseProcessEndedAsEnded
                if isMutant("ENDED_CALLED_DEAD"), !participant.isAlive {
                    lines.append("  pid \(participant.pid), dead")
                    continue
                }
            #endif
            let state = participant.isOwn ? "this command" : participant.isAlive ? "alive" : "ended"
            lines.append(
                "  pid \(participant.pid), uid \(participant.uid), \(participant.executable.printable), \(state), "
                    + "since \(participant.joinedAt)"
                    + (participant.role.map { ", announced as \"\($0.printable)\"" } ?? "") + observers(of: participant)
                    + holds(of: participant))
        }
        if let relay {
            lines.append("relay         \(relay.lines[0])")
            lines += relay.lines.dropFirst().map { "  link \($0)" }
        }
        lines.append("names         \(names.count.grouped) of \(nameLimit.grouped)")
        for name in names {
            let subject = name.subject.map { " [\($0.printable)]" } ?? ""
            lines.append(
                "  \(name.name.printable)\(subject), \(counted(name.observers, "observer"))"
                    + (name.isRetained ? ", retained value" : "")
                    + (name.isPrefix ? ", all names with this prefix" : ""))
        }
        return lines.joined(separator: "\n")
    }
}
