import Foundation
import Glibc
import Tidings
import TidingsAdministration

// The other process in tests of several processes. It executes the commands of its arguments, one after the other, and
// prints a line on standard output for each event. Tests wait for these lines, never for time.
//
//   TestPeer DIRECTORY CENTER COMMAND…
//
// For each command: what it does, and after → what it prints.
//
//   post NAME N             Posts N notifications of {"number": 0…N-1}.
//                           → posted N
//   post-subject NAME S N   The same, with subject S.
//                           → posted N
//   retain NAME N           Posts one retained {"number": N}.
//                           → retained
//   observe NAME N          Observes NAME ("NAME*": all names that begin with NAME) until N notifications have come.
//                           → observing, then for each "got NUMBER SEQUENCE PID", "missed COUNT" or
//                             "missed COUNT NAME*"
//   lossless NAME N         The same, losslessly, one notification for each line on standard input.
//                           → observing, then as above
//   participant             Only opens the center.
//                           → open PID
//   wait                    Waits for a line on standard input.
//   stop                    Sends SIGSTOP to itself.
//                           → stopping, and after SIGCONT: going on
//   kill                    Sends SIGKILL to itself.
//   fork NAME               Observes NAME, posts 1 and forks. The child posts 2 and 3, is refused an observer, posts 4,
//                           and sets a hook for diagnostics.
//                           → child ended with STATUS, got 1 own, 2 child, …
//   fork-beside-diagnostics N
//                           Forks N children beside a thread that sets the hook. Each child sets a hook.
//                           → forked N, or child ended with STATUS
//   encode-and-kill NAME    Kills itself inside the encoder of a large payload.
//   encode-and-stop NAME    Stops inside the encoder of a large payload, and posts after SIGCONT.
//                           → stopping, posted 1
//   build NAME WAY          Builds a payload of 100,000 bytes in place. In the closure it kills itself ("kill"), stops
//                           ("stop"), or forks a child that tries to post the payload, too ("fork").
//                           → building, "child: CODE" for "fork", posted
//   post-json NAME TEXT     Posts JSON.
//                           → posted
//   key NAME N              Posts N times to a key: (0…N-1, "stage").
//                           → posted N
//   clear NAME              Clears the retained value of NAME.
//                           → cleared
//   keep-nothing NAME WAY   Posts or sets nil in the way WAY (Clearing.swift).
//                           → retained nothing
//   bridge NAME             Bridges NotificationCenter.default both ways and observes there. Posts {"number": LINE}
//                           there for each line on standard input, until the line "end".
//                           → bridged, then for each "OBJECT NUMBER", at last ended
//   observe-key NAME N      Observes a key of a number, a text and an optional text, until N notifications have come
//                           or were undecodable.
//                           → observing, then for each "got NUMBER TEXT OPTIONAL" or "undecodable"
//   untyped NAME OBJECT     Posts NAME with an object ("-": none) and the dictionary `everything`.
//                           → posted
//   observe-untyped NAME OBJECT N
//                           Observes NAME ("-": all) and an object ("-": all), until N notifications have come.
//                           → observing, then for each "NAME OBJECT everything|none|JSON"
//   default                 The commands after this one use the default center of DIRECTORY.
//                           → default
//   empty                   Posts messages without payload, as a type, as a key and as the name alone.
//                           → posted 4
//   observe-empty N         Observes that type and that key, until N notifications have come or were undecodable.
//                           → observing, then for each "empty", "nothing" or "undecodable"
//   urgent NAME OBJECT NUMBER
//                           Posts {"number": NUMBER} with an object ("-": none), delivered immediately also in
//                           suspended centers.
//                           → posted
//   observe-suspended NAME LIMIT N
//                           Suspends its center. Observes NAME, holding LIMIT notifications at most, and NAME.now,
//                           delivered immediately. Resumes on a line on standard input, and ends when N have come or
//                           were missed.
//                           → suspended, "now NUMBER", resumed, "got NUMBER", "missed COUNT NAME"
//   announce ROLE           Announces itself with that role, and posts "test.will" about its role if it dies.
//                           → announced ID
//   withdraw                Ends the announcement.
//                           → withdrawn
//   fork-announced          Forks a child that announces itself as "child" and calls _exit. Waits for its end.
//                           → child ended with STATUS
//   serve N                 Serves test.work, N requests at a time (0: the default). A request's way: echo, refuse,
//                           wait (until it is cancelled), second (wait, unless another server ended with it).
//                           → serving, then for each "handling NUMBER" or "handling NUMBER again"
//   unserve                 Ends the server.
//                           → unserved
//   request NUMBER WAY      Makes a request, and waits for its end.
//                           → "reply NUMBER PID" or "failed CODE"
//   actors NAME             Creates an actor and registers it as NAME. What the actor says is printed, too.
//                           → its ID as JSON
//   release NAME            Releases that actor.
//                           → released
//   observers               Counts the observers of all processes.
//                           → observers N
//   observe-memory NAME KIND N
//                           Observes NAME until N notifications have come. KIND is a closure, "untouched" (a closure
//                           that reads no byte), a queue, a sequence or a pollable observer.
//                           → observing, then "got" for each, then the KiB by which its own memory grew at most
//   hold NAME N             Observes NAME in place, and keeps N payloads until a line on standard input.
//                           → holding, then "held" for each, at last released
//   fork-held NAME          Holds a payload of NAME in place, and forks a child that reads it and lets it go.
//                           → child ended with STATUS, "held COUNT, then COUNT"
//   objects N               Posts about N objects of its own.
//                           → posted N
//   copied-object           Observes an object, and posts 1 and 4 about it. A forked child posts 2 and 3 about its
//                           copy.
//                           → child ended with STATUS, got [1, 4]
//   post-build BUILD        Posts the message of one build of a program (Evolution.swift).
//                           → posted
//   observe-build BUILD N   Observes as that build, until N notifications have come or were undecodable.
//                           → observing, then for each "got …" or "undecodable"
//   notify NAME N           Posts N times, alternately by notify_post and by the default center of DIRECTORY, and
//                           receives each by both.
//                           → met N
//   observe-protocol N      With the trait Macros: observes by a protocol of two methods and an optional one, until N
//                           notifications have come.
//                           → observing, then for each "changed …", "count …" or "out"
//   post-protocol           Posts by that protocol.
//   observe-import N        Observes by a protocol of a method with several arguments, until N notifications have
//                           come.
//                           → observing, then for each "PERCENT STAGE"
//   post-import             Posts 7 and "copying" by that protocol.
@main
struct TestPeer {
    struct Numbered: Codable, Sendable {
        var number: Int
    }

    /// A payload too large for the stack. Calls `interrupt` half-way through its encoding.
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
        if words.first == "target" {  // DIRECTORY SEED target: for Tests/adversary
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
            case "fork-beside-diagnostics": forkBesideDiagnostics(center, number())
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
            case "build": try build(center, .init(word()), word())
            case "post-json":
                try center.post(name: .init(word()), payload: .json(word()))
                say("posted")
            case "clear":
                try center.setState(nil, for: SharedNotificationCenter.Name(word()))
                say("cleared")
            case "keep-nothing": try keepNothing(center, .init(word()), by: word())
            case "bridge": try bridge(center, .init(word()))
            case "key": try postKey(center, .init(word()), number())
            case "observe-key": try observeKey(center, .init(word()), number())
            case "untyped": try postUntyped(center, .init(word()), word())
            case "observe-untyped": try observeUntyped(center, word(), word(), number())
            case "default":
                // `default` reads the variable at its first use, which is below.
                setenv("TIDINGS_DIRECTORY", directory, 1)
                center = try SharedNotificationCenter.default
                say(try center === SharedNotificationCenter.default ? center.name : "another")
            case "empty": try postEmpty(center)
            case "observe-empty": try observeEmpty(center, number())
            case "urgent": try postUrgent(center, word(), word(), number())
            case "observe-suspended": try observeSuspended(center, word(), number(), number())
            case "announce": try announce(center, word())
            case "withdraw": withdraw()
            case "fork-announced": forkAnnounced(center)
            case "serve": try serve(center, number())
            case "unserve": unserve()
            case "count": try count(center)
            case "replies": replies(center, number())
            case "request": request(center, number(), word())
            case "actors": try createActor(center, word())
            case "release": release(word())
            case "observers": say("observers \(try center.statistics.observers)")
            case "observe-memory": try observeMemory(center, word(), word(), number())
            case "hold": try hold(center, .init(word()), number())
            case "fork-held": try forkHeld(center, .init(word()))
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
        // `print` and `fflush` would wait while another thread reads standard input.
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

    final class Mutable: @unchecked Sendable {
        // Sendable: used by one observer's closure only, and its calls never overlap.
        var value: Int
        init(_ value: Int) { self.value = value }
    }
}
