import Foundation
import Glibc
import Tidings

// The other process in tests of several processes. It does what its arguments say, one after the other, and says on standard output what it
// has done, one line each; `wait` waits for a line on standard input. So tests wait for events, never for time.
//
//   TestPeer DIRECTORY CENTER COMMAND…
//
//   post NAME N           posts N notifications of {"number": 0…N-1}                 → posted N
//   post-subject NAME S N the same, with a subject                                   → posted N
//   retain NAME N         posts one retained {"number": N}                           → retained
//   observe NAME N        observes ("NAME*": all that begin with NAME), until N have come
//                                                                                    → observing, then one "got NUMBER SEQUENCE PID" each,
//                                                                                      or "missed COUNT", "missed COUNT NAME*"
//   lossless NAME N       the same, losslessly, one for each line on standard input  → observing, got …
//   participant           opens the center, no more                                  → open PID
//   wait                  waits for a line on standard input                         → (nothing)
//   stop                  SIGSTOP to itself                                          → stopping, and after SIGCONT: going on
//   kill                  SIGKILL to itself                                          → (nothing)
//   fork NAME             observes, posts 1, forks; the child posts 2 and 3, is refused an observer, posts 4, and sets a hook for diagnostics
//                                                                                    → child ended with STATUS, got 1 own, 2 child, …
//   encode-and-kill NAME  dies inside the encoder of a large payload                 → (nothing)
//   encode-and-stop NAME  stops inside the encoder of a large payload, posts after   → stopping, posted 1
//   post-json NAME TEXT   posts JSON                                                 → posted
//   key NAME N            posts N times a key's (0…N-1, "stage")                     → posted N
//   clear NAME            clears what is retained                                    → cleared
//   keep-nothing NAME WAY posts or sets nil, in one of many ways (Clearing.swift)    → kept nothing
//   bridge NAME           bridges NotificationCenter.default both ways, observes there, and posts {"number": LINE} there for each line on
//                         standard input                                             → bridged, then "OBJECT NUMBER" each, after the line "end": ended
//   observe-key NAME N    observes a key of a number, a text and an optional text, until N have come or were undecodable
//                                                                                    → observing, then "got NUMBER TEXT OPTIONAL", "undecodable"
//   untyped NAME OBJECT   posts a name with an object ("-": none) and a dictionary of everything there is, `everything`
//                                                                                    → posted
//   observe-untyped NAME OBJECT N
//                         observes a name ("-": all) and an object ("-": all), until N have come
//                                                                                    → observing, then "NAME OBJECT everything|none|JSON"
//   default               what follows is done with the default center of DIRECTORY    → default
//   empty                 posts what has no payload, as a type, as a key and as the name alone
//                                                                                    → posted 4
//   observe-empty N       observes such a type and such a key, until N have come or were undecodable
//                                                                                    → observing, then "empty", "nothing", "undecodable"
//   urgent NAME OBJECT NUMBER
//                         posts {"number": NUMBER} with an object ("-": none), for suspended centers, too
//                                                                                    → posted
//   observe-suspended NAME LIMIT N
//                         suspends its center, observes NAME, of which LIMIT at most wait, and NAME.now, until it is given a line on standard
//                         input and N have come or were told as missed; then it isn't suspended any more
//                                                                                    → suspended, "now NUMBER", resumed, "got NUMBER",
//                                                                                      "missed COUNT NAME"
//   observers             asks how many observers there are in all processes         → observers N
//   observe-memory NAME KIND N
//                         observes NAME with a closure, "untouched" (a closure that reads no byte), a queue, a sequence or a pollable
//                         observer, until N have come                                → observing, then "got" each, then the KiB of its own
//                                                                                      memory that it took at most
//   objects N             posts about N objects of its own                           → posted N
//   copied-object         observes an object and posts 1 and 4 about it; a forked child posts 2 and 3 about its copy
//                                                                                    → child ended with STATUS, got [1, 4]
//   post-build BUILD      posts what a build of a program has to say (Evolution.swift)
//                                                                                    → posted
//   observe-build BUILD N observes as such a build, until N have come or were undecodable
//                                                                                    → observing, then "got …", "undecodable"
//   notify NAME N         posts N times by turns by notify_post and by the default center of DIRECTORY, and hears each both ways
//                                                                                    → met N
//   observe-protocol N    observes by a protocol of two methods and an optional one, until N have come (with the trait Macros)
//                                                                                    → observing, then "changed …", "count …", "out"
//   post-protocol         posts by it                                                → (nothing)
//   observe-import N      observes by a protocol of a method with several arguments, until N have come
//                                                                                    → observing, then "PERCENT STAGE"
//   post-import           posts by it 7 and "copying"                                → (nothing)
@main
struct TestPeer {
    struct Numbered: Codable, Sendable {
        var number: Int
    }

    /// A payload too large for the stack that does something half-way through its encoding.
    struct Interrupted: Encodable {
        var interrupt: @Sendable () -> Void

        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            for number in 0..<100_000 {
                if number == 50_000 { interrupt() }
                try container.encode(number)
            }
        }
    }

    static func main() throws {
        var words = CommandLine.arguments.dropFirst()
        guard let directory = words.popFirst(), let name = words.popFirst() else { exit(64) }
        if words.first == "victim" {  // DIRECTORY SEED victim: for Tests/adversary
            return AdversaryTarget.live(directory: directory, seed: UInt64(name) ?? 0)
        }
        var center = try SharedNotificationCenter(named: name, configuration: .init(directory: directory))
        func word() -> String {
            guard let word = words.popFirst() else { exit(64) }
            return word
        }
        func number() -> Int { Int(word()) ?? 0 }
        while let command = words.popFirst() {
            switch command {
            case "post": try post(center, word(), nil, number())
            case "post-subject": try post(center, word(), word(), number())
            case "retain":
                let name = word()
                let payload = try SharedNotificationCenter.RawPayload(encoding: Numbered(number: number()))
                try center.post(name: .init(name), payload: payload, options: .init(retain: true))
                say("retained")
            case "observe": try observe(center, word(), number(), lossless: false)
            case "lossless": try observe(center, word(), number(), lossless: true)
            case "participant": say("open \(getpid())")
            case "wait": if readLine() == nil { exit(0) }
            case "stop":
                say("stopping")
                raise(SIGSTOP)
                say("going on")
            case "kill": kill(getpid(), SIGKILL)
            case "fork": try forkAndPost(center, word())
            case "encode-and-kill":
                try center.setState(Interrupted { kill(getpid(), SIGKILL) }, for: .init(word()))
            case "encode-and-stop":
                let name = word()
                try center.setState(
                    Interrupted {
                        say("stopping")
                        raise(SIGSTOP)
                    }, for: .init(name))
                say("posted 1")
            case "post-json":
                try center.post(name: .init(word()), payload: .json(word()))
                say("posted")
            case "clear":
                try center.clearState(for: .init(word()))
                say("cleared")
            case "keep-nothing": try keepNothing(center, .init(word()), by: word())
            case "bridge": try bridge(center, .init(word()))
            case "key": try postKey(center, .init(word()), number())
            case "observe-key": try observeKey(center, .init(word()), number())
            case "untyped": try postUntyped(center, .init(word()), word())
            case "observe-untyped": try observeUntyped(center, word(), word(), number())
            case "default":
                // Nothing has asked for it yet.
                setenv("TIDINGS_DIRECTORY", directory, 1)
                center = try SharedNotificationCenter.default
                say(try center === SharedNotificationCenter.default ? center.name : "another")
            case "empty": try postEmpty(center)
            case "observe-empty": try observeEmpty(center, number())
            case "urgent": try postUrgent(center, word(), word(), number())
            case "observe-suspended": try observeSuspended(center, word(), number(), number())
            case "observers": say("observers \(try center.statistics.observers)")
            case "observe-memory": try observeMemory(center, word(), word(), number())
            case "objects":
                let count = number()
                MainActor.assumeIsolated { postAboutObjects(center, count) }
            case "copied-object": MainActor.assumeIsolated { postAboutCopies(center) }
            case "notify": try meetItself(directory, word(), number())
            #if Macros
                case "observe-protocol": try observeProtocol(center, number())
                case "post-protocol": try postProtocol(center)
                case "observe-import": try observeImport(center, number())
                case "post-import": try ImportObserverPoster(center).progressed(percent: 7, stage: "copying")
            #endif
            case "post-build": try postSample(center, build(word()))
            case "observe-build": try observeSamples(center, build(word()), number())
            default: exit(64)
            }
        }
    }

    static func say(_ line: String) {
        // Not by `print` and `fflush`, which waits for whoever reads standard input.
        let bytes = Array("\(line)\n".utf8)
        _ = bytes.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }

    static func post(_ center: SharedNotificationCenter, _ name: String, _ subject: String?, _ count: Int) throws {
        for number in 0..<count {
            let payload = try SharedNotificationCenter.RawPayload(encoding: Numbered(number: number))
            try center.post(
                name: .init(name), payload: payload, options: .init(subject: subject, timeout: .seconds(600)))
        }
        say("posted \(count)")
    }

    static func observe(_ center: SharedNotificationCenter, _ name: String, _ count: Int, lossless: Bool) throws {
        let done = DispatchSemaphore(value: 0)
        let left = Mutable(count)
        let prefix = name.hasSuffix("*") ? String(name.dropLast()) : nil
        let token = try center.addObserver(
            forNames: .init(prefix == nil ? [.init(name)] : [], prefixes: prefix.map { [$0] } ?? []),
            options: .init(
                lossless: lossless,
                onMissed: { count, name in say("missed \(count)" + (prefix == nil ? "" : " \(name?.rawValue ?? "-")")) }
            ),
            using: { notification in
                if lossless { _ = readLine() }
                guard left.value > 0 else { return }
                let number = (try? notification.payload.decode(Numbered.self).number) ?? -1
                say("got \(number) \(notification.envelope.sequence) \(notification.envelope.poster.pid)")
                left.value -= 1
                if left.value == 0 { done.signal() }
            })
        say("observing")
        done.wait()
        token.cancel()
    }

    /// One observer's closure runs one at a time, so nothing more is needed.
    final class Mutable: @unchecked Sendable {
        // Sendable: used by one observer's closure only.
        var value: Int
        init(_ value: Int) { self.value = value }
    }
}
