// An extension for tests. Its first argument names how it behaves. With `host` it is a host of such an extension.
import Dispatch
import Foundation
import Tidings
import TidingsExtensions

typealias Center = SharedNotificationCenter

struct Track: Center.Message, Equatable { var title: String }
struct Liked: Center.Message, Equatable { var title: String }
struct Secret: Center.Message { var number: Int }
struct Volume: Center.Message { var level: Double }
/// Served by the extension: carries out the command in the text.
struct Command: Center.Request {
    typealias Reply = String
    struct Failure: Error, Codable { var why: String }
    var text: String
}
/// Served by the host.
struct Lookup: Center.Request {
    typealias Reply = String
    var word: String
}
/// Under the same name as `Command`, with another reply.
struct Numbers: Center.Request {
    static let name = Command.name
    typealias Reply = [Int]
    var text: String
}

/// Likewise of `Lookup`.
struct LookupOfNumbers: Center.Request {
    static let name = Lookup.name
    typealias Reply = [Int]
    var word: String
}

@main
enum Main {
    static func main() async throws {
        switch CommandLine.arguments[1] {
        case "host": try await beHost()
        case "hostOfKeeper": try await beHostOfKeeper()
        case "measure": try await Measurement.run(Array(CommandLine.arguments.dropFirst(2)))
        default: await ExtensionPeer.main()
        }
    }

    /// Prints how extensions that keep descriptors end, and what a sibling replies. Returns when this process has no
    /// more descriptors than after the first of them.
    private static func beHostOfKeeper() async throws {
        let host = try ExtensionHost(broadcast: .sealed(named: "broadcast"))
        func specification(_ arguments: String...) -> LaunchSpecification {
            .init(
                executable: CommandLine.arguments[0], arguments: arguments, name: arguments[0],
                grants: [.observes(Track.self), .serves(Command.self), .posts(Liked.self)],
                limits: .init(openFiles: 4096), readyTimeout: .seconds(60))
        }
        func descriptors() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").map {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) ?? ""
            }
        }
        let sibling = try await host.launch(specification("commands"))
        var before: Int?
        for _ in 0..<3 {
            var report = ""
            do { _ = try await host.launch(specification("keepsDescriptors", "neverReady")) } catch let error
                as ExtensionError
            { report = "\(error.code)" }
            let keeper = try await host.launch(specification("keepsDescriptors"))
            report += try await " " + sibling.request(Command(text: "echo a"))
            await keeper.stop()
            for await event in keeper.lifecycle { report += " \(event)" }
            // A private center is closed when its threads have ended.
            while try descriptors().contains(where: { $0.contains("keepsDescriptors") }) { await Task.yield() }
            if let before { while try descriptors().count > before { await Task.yield() } }
            before = try before ?? descriptors().count
            print(report)
        }
        withExtendedLifetime(host) {}
    }

    private static func beHost() async throws {
        let host = try ExtensionHost(broadcast: .sealed(named: "broadcast"))
        var likes = try host.broadcast.messages(of: Liked.self).register()
        let one = try await host.launch(
            .init(executable: CommandLine.arguments[0], arguments: ["forks"], grants: [.posts(Liked.self)]))
        guard let child = await likes.next() else { return }
        // One write, so that the test reads the whole line.
        FileHandle.standardOutput.write(Data("\(one.processIdentifier ?? 0) \(child.title)\n".utf8))
        for await _ in one.lifecycle {}
        // An optimizer may release it after its last use, and extensions end with it.
        withExtendedLifetime(host) {}
    }
}

struct ExtensionPeer: TidingsExtension {
    init() {
        if CommandLine.arguments[1] == "terminatedEarly" { kill(getpid(), SIGTERM) }
    }

    var will: Center.Will? {
        CommandLine.arguments[1] == "leavesWill" ? .init(Liked(title: "will of \(getpid())")) : nil
    }

    func run(_ host: HostConnection) async throws {
        switch CommandLine.arguments[1] {
        case "commands", "leavesWill": try await obey(host)
        case "exits": exit(Int32(CommandLine.arguments[2])!)
        case "crashes": kill(getpid(), SIGKILL)
        case "crashesWhenReady":
            try host.ready()
            kill(getpid(), SIGKILL)
        case "neverReady": try await forever()
        case "terminatedEarly":
            try host.ready()
            try await forever()
        case "ignoresTermination":
            signal(SIGTERM, SIG_IGN)
            try host.ready()
            await Task.detached { while true { try? await Task.sleep(for: .seconds(1000)) } }.value
        case "returns": try host.ready()
        case "throws":
            try host.ready()
            throw Command.Failure(why: "it throws")
        case "postsWithoutGrant": try await postWithoutGrant(host, Int(CommandLine.arguments[2])!)
        case "floods":
            try host.ready()
            while !Task.isCancelled { try? host.center.post(Secret(number: 0)) }
        case "fillsItsCenter":
            let server = try host.serve(Command.self) { _, _ in "here" }
            try await readyUntilVolume(host)
            // More than both centers have slots for. The host's messages may fill this one first.
            for number in 0..<2048 {
                try await host.center.waitingForRoom(timeout: .seconds(1000)) { try $0.post(Secret(number: number)) }
            }
            try await forever()
            server.cancel()
        case "holdsItsCenterFull":
            let server = try host.serve(Command.self) { _, _ in "here" }
            // Takes nothing out of its buffer.
            let volumes = try host.center.deliveries(of: Volume.self, options: .init(lossless: true), bufferSize: 1)
                .register()
            try host.ready()
            try await forever()
            withExtendedLifetime((server, volumes)) {}
        case "spoils":
            try host.ready()
            try spoil("spoils")
            try await forever()
        case "spoilsWord":
            let place = Int(CommandLine.arguments[2])!
            try spoil("spoils", place..<place + 8)
            // The host has not made a request yet.
            try host.ready()
            try await forever()
        case "spoilsBeforeReady":
            try spoil("spoils")
            try await forever()
        case "neverReplies":
            let server = try host.serve(Command.self) { _, _ in
                try await Task.sleep(for: .seconds(1000))
                return ""
            }
            try host.ready()
            try await forever()
            server.cancel()
        case "servesTwice":
            let first = try host.serve(Command.self) { _, _ in "first" }
            let second = try host.serve(Command.self) { _, _ in "second" }
            try await readyUntilVolume(host)
            first.cancel()
            try host.post(Liked(title: "first has ended"))
            try await forever()
            second.cancel()
        case "repliesGarbage":
            let server = try host.serve(Numbers.self) { _, _ in [1, 2, 3] }
            try host.ready()
            try await forever()
            server.cancel()
        case "asksGarbage":
            // The payload is no `Lookup`, because this type has the same name and another field.
            struct Question: Center.Request {
                static let name = Lookup.name
                typealias Reply = String
                var number: Int
            }
            try host.ready()
            var reason = ""
            for number in 1...Int(CommandLine.arguments[2])! {
                do { _ = try await host.request(Question(number: number)) } catch { reason = "\(error)" }
            }
            try host.post(Liked(title: reason))
            try await forever()
        case "forks":
            try host.post(Liked(title: "\(try spawn(["sleep", "1000"]))"))
            if !CommandLine.arguments.contains("neverReady") { try host.ready() }
            try await forever()
        case "forksWithoutEnd":
            try host.ready()
            // At most as many at a time.
            let most = 32
            while !Task.isCancelled {
                for _ in 0..<most { _ = try spawn(["true"]) }
                for _ in 0..<most { wait(nil) }
            }
        case "burns":
            try host.ready()
            for _ in 0..<ProcessInfo.processInfo.activeProcessorCount { Thread { while getppid() > 0 {} }.start() }
            try await forever()
        case "keepsDescriptors":
            // A process that is no member of the group has the hand-shake's socket and both centers.
            _ = try spawn(["sleep", "1000"], keeping: try descriptors())
            if CommandLine.arguments.contains("neverReady") { exit(0) }
            // The first timer of a process takes descriptors of libdispatch, which traps if there are none.
            try await Task.sleep(for: .nanoseconds(1))
            var kept: [Int32] = []
            while true {
                let descriptor = dup(STDIN_FILENO)
                guard descriptor >= 0 else { break }
                kept.append(descriptor)
            }
            try host.ready()
            // The leak check at the exit needs some.
            defer { for descriptor in kept.suffix(32) { close(descriptor) } }
            try await forever()
        case "exhaustsMemory":
            try host.ready()
            var blocks: [UnsafeMutableRawPointer] = []
            while true {
                guard let block = malloc(16 << 20) else { exit(9) }
                memset(block, 1, 16 << 20)
                blocks.append(block)
            }
        case let other: throw Command.Failure(why: "no mode \(other)")
        }
    }

    private func obey(_ host: HostConnection) async throws {
        // Two at a time: a handler may make a request that another one has to answer.
        let server = try host.serve(Command.self, options: .init(concurrency: 2)) { command, _ in
            let words = command.text.split(separator: " ").map(String.init)
            switch words[0] {
            case "echo": return words[1]
            case "pid": return "\(getpid())"
            case "volume": return "\(try host.center.state(for: Volume.self)?.level ?? -1)"
            case "like":
                try host.post(Liked(title: words[1]), options: .init(subject: "s"))
                return "posted"
            case "likeAndExit":
                try host.post(Liked(title: words[1]))
                exit(7)
            case "likeAndKill":
                try host.post(Liked(title: words[1]))
                kill(getpid(), SIGKILL)
            case "fillAndKill":
                do { while true { try host.post(name: "filler") } } catch { kill(getpid(), SIGKILL) }
            case "spoil":
                let place = Int(words[1])!
                try spoil("spoils", place..<place + 8)
            case "secret":
                do { try host.post(Secret(number: 0)) } catch let error as ExtensionError { return "\(error.code)" }
                return "posted"
            case "observedSecret":
                var secrets = try host.center.deliveries(ofNames: .init([Secret.name])).register()
                try? host.post(Secret(number: 0))
                // Past the check of `HostConnection`.
                try host.center.post(Secret(number: 1))
                guard case .notification(let first)? = await secrets.next() else { return "" }
                return "\(try first.payload.decode(Secret.self).number)"
            case "inventRefusal":
                try host.center.post(name: "tidings.extension.ungranted", options: .init(subject: words[1]))
            case "lookup": return try await host.request(Lookup(word: words[1]))
            case "lookupPastTheCheck":
                var refusals = try host.refusals.register()
                do { return try await host.center.request(Lookup(word: words[1])) } catch let error
                    as SharedNotificationError
                {
                    var refusal = await refusals.next()!
                    // The report of an earlier request may come this late.
                    if refusal.count == 1 { refusal = await refusals.next()! }
                    return "\(error.code), \(refusal.grant) \(refusal.count)"
                }
            case "lookupLarge":
                return try await host.request(Lookup(word: String(repeating: "x", count: Int(words[1])!)))
            case "lookupNumbers": return "\(try await host.request(LookupOfNumbers(word: words[1])))"
            case "self": return try await host.center.request(Command(text: "echo \(words[1])"))
            case "exit": exit(Int32(words[1])!)
            case "kill": kill(getpid(), Int32(words[1])!)
            case "raise": throw Command.Failure(why: words[1])
            case "broadcast":
                do { try host.broadcast.post(Secret(number: 1)) } catch { return "\(error)" }
                return "posted"
            case "open": return "\(open(words[1], O_RDONLY) >= 0)"
            case "socket": return "\(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) >= 0)"
            case "large": return String(repeating: "x", count: Int(words[1])!)
            case "frame":
                // Retained: it arrives at once.
                var frames = try host.center.deliveries(ofNames: ["frame"], options: .init(inPlace: .large)).register()
                guard case .notification(let frame)? = await frames.next() else { return "" }
                return try frame.payload.withSpan(of: UInt32.self) { "\($0.count) \($0[0]) \($0[$0.count - 1])" }
            case "postFrame":
                let count = Int(words[1])!
                try host.center.post(name: "frame", capacity: 4 * count) { output in
                    for number in 0..<count { output.append(UInt32(number), as: UInt32.self) }
                }
            case "descriptors": return "\(try descriptors().count)"
            default: throw Command.Failure(why: "no command \(command.text)")
            }
            return ""
        }
        if host.grants.contains(where: { $0.kind == .observes }) {
            let tracks = try host.broadcast.messages(of: Track.self).register()
            try host.ready()
            for await track in tracks { try host.post(Liked(title: track.title)) }
        } else {
            try host.ready()
            try await forever()
        }
        server.cancel()
    }

    /// Posts past the check of `HostConnection`, and tells by `Liked` what the host reports.
    private func postWithoutGrant(_ host: HostConnection, _ count: Int) async throws {
        let refusals = try host.refusals.register()
        try host.ready()
        for number in 1...count {
            try await host.center.waitingForRoom(timeout: .seconds(60)) { try $0.post(Secret(number: number)) }
        }
        for await refusal in refusals {
            try host.post(Liked(title: "\(refusal.grant.name) \(refusal.count)"))
        }
    }

    /// Is ready, and waits until the host posts a `Volume`, however many it posts.
    private func readyUntilVolume(_ host: HostConnection) async throws {
        // Not messages, which report to standard error what they miss.
        var volumes = try host.center.deliveries(of: Volume.self).register()
        try host.ready()
        _ = await volumes.next()
    }

    private func forever() async throws {
        while true { try await Task.sleep(for: .seconds(1000)) }
    }

    private func descriptors() throws -> [Int32] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
    }

    /// - Parameter kept: descriptors that the process has too.
    private func spawn(_ words: [String], keeping kept: [Int32] = []) throws -> pid_t {
        // Not closed on exec.
        for descriptor in kept { _ = fcntl(descriptor, F_SETFD, 0) }
        var pid: pid_t = 0
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        // A group of its own: a signal to the extension's group does not reach it.
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        guard posix_spawnp(&pid, words[0], nil, &attributes, &arguments, environ) == 0 else {
            throw Command.Failure(why: "spawn")
        }
        return pid
    }

    /// Overwrites bytes of each writable mapping of the center of that name.
    private func spoil(_ name: String, _ range: Range<Int> = 0..<1 << 20) throws {
        // Not `String(contentsOfFile:)`, which reads only the beginning of a long file of `/proc`.
        var isSpoiled = false
        let maps = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/maps")).readToEnd() ?? Data()
        for line in String(decoding: maps, as: UTF8.self).split(separator: "\n")
        where line.contains("/memfd:\(name)") && line.contains(" rw-s ") {
            let ends = line.prefix { $0 != " " }.split(separator: "-").map { UInt(String($0), radix: 16)! }
            let start = UnsafeMutableRawPointer(bitPattern: ends[0])
            let all = UnsafeMutableRawBufferPointer(start: start, count: Int(ends[1] - ends[0]))
            let bytes = UnsafeMutableRawBufferPointer(rebasing: all[range.clamped(to: all.indices)])
            var state: UInt64 = 88_172_645_463_325_252
            for index in bytes.indices {
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                bytes[index] = UInt8(truncatingIfNeeded: state)
            }
            isSpoiled = true
        }
        guard isSpoiled else { throw Command.Failure(why: "no mapping of \(name)") }
    }
}
