import TidingsFoundation

struct TrackChanged: SharedNotificationCenter.Message {
    var title: String
}
struct Paused: SharedNotificationCenter.MainActorMessage {
    typealias Subject = Player
    var at: Double
}
final class Player: Sendable {}
final class Controller: Sendable {
    func trackChanged(_ change: TrackChanged) {}
    func progressed(_ percent: Int, _ stage: String) {}
}
let progress = SharedNotificationCenter.Key<Int, String>("com.example.progress")
let center = try SharedNotificationCenter.sealed(named: "test")
let controller = Controller()
try center.post(progress, 42, "decoding")
try center.post(TrackChanged(title: "So What"))
let owned = try center.addObserver(for: TrackChanged.self, options: .init(owner: controller)) { [weak controller] in
    controller?.trackChanged($0)
}
let token = try center.addObserver(for: progress) { percent, stage in print(percent + 1, stage.count) }

// What is posted has the key's types, and as many of them.
// refused: cannot convert value of type 'String' to expected argument type 'Int'
try center.post(progress, "42", "decoding")
// refused: missing argument
try center.post(progress, 42)
// refused: 'Int, String' and 'Int, String, Bool' have the same shape
try center.post(progress, 42, "decoding", true)

// So has what comes.
// refused: cannot convert value of type
_ = try center.addObserver(for: progress) { (percent: String, stage: String) in }
// refused: 'Int, String' and 'Any, _, _' have the same shape
_ = try center.addObserver(for: progress) { percent, stage, more in print(percent) }
// refused: 'Int, String' and 'Any' have the same shape
_ = try center.addObserver(for: progress) { percent in print(percent) }
// refused: cannot convert value of type 'String' to expected argument type 'Int'
_ = try center.addObserver(for: progress) { percent, stage in controller.progressed(stage, stage) }
// refused: value of type 'TrackChanged' has no member 'titel'
_ = try center.addObserver(for: TrackChanged.self) { (change: TrackChanged) in print(change.titel) }

// What may fail says so.
// refused: call can throw
func forgets(_ center: SharedNotificationCenter) { center.post(TrackChanged(title: "So What")) }

// A closure runs in its own isolation. One that uses the main actor's state says so.
@MainActor final class Model {
    var title = ""
    func follow(_ center: SharedNotificationCenter) throws -> SharedNotificationCenter.ObservationToken {
        // refused: main actor-isolated property 'title' can not be mutated
        _ = try center.addObserver(for: TrackChanged.self) { [weak self] change in self?.title = change.title }
        return try center.addObserver(for: TrackChanged.self) { @MainActor [weak self] change in
            self?.title = change.title
        }
    }
}
// An owner is shared between threads.
final class View { var title = "" }
func follow(_ center: SharedNotificationCenter, _ view: View) throws {
    // refused: does not conform to the 'Sendable' protocol
    _ = try center.addObserver(for: TrackChanged.self, options: .init(owner: view)) { print($0.title) }
}

// An observer whose token is not kept would end at once.
// refused: result of call to 'addObserver
try center.addObserver(for: progress) { percent, stage in print(percent, stage) }
// refused: result of call to 'addObserver
try center.addObserver(for: TrackChanged.self) { change in print(change.title) }
// refused: result of call to 'addObserver
try center.addObserver(for: TrackChanged.self, options: .init(queue: .main)) { change in print(change.title) }
// refused: result of call to 'addObserver
try center.addObserver(forNames: "com.example.changed") { print($0.name) }
// refused: result of call to 'addObserver
center.addObserver(for: Paused.self) { print($0.at) }

// A name has one value, without a subject.
// refused: extra argument 'subject'
try center.setState(TrackChanged(title: "So What"), subject: "player-1")
// refused: extra argument 'subject'
_ = try center.state(for: TrackChanged.self, subject: "player-1")

// The memory that a payload is built in is the closure's until it returns.
try center.post(name: "com.example.frame", capacity: 4) { output in output.append(7) }
func keeps(_ center: SharedNotificationCenter) throws {
    // refused: lifetime-dependent value escapes its scope
    try center.post(name: "a", capacity: 4) { output in Task { [bytes = output.bytes] in print(bytes.byteCount) } }
    // refused: escaping closure captures 'inout' parameter 'output'
    try center.post(name: "a", capacity: 4) { output in Task { output.append(7) } }
    // refused: missing reinitialization of inout parameter 'output' after consume
    try center.post(name: "a", capacity: 4) { output in _ = consume output }
}
// refused: call can throw
func builds(_ center: SharedNotificationCenter) { center.post(name: "a", capacity: 4) { output in output.append(7) } }

// A payload is read during the closure only.
// refused: requires that 'RawSpan' conform to 'Escapable'
func reads(_ payload: SharedNotificationCenter.RawPayload) -> Int { payload.withBytes { $0 }.byteCount }
// refused: requires that 'Bool' conform to 'Numeric'
func flags(_ one: SharedNotificationCenter.RawPayload) throws -> Int { try one.withSpan(of: Bool.self) { $0.count } }

// A message is what can travel.
// refused: not a message: declare the type as
try center.post(7)
// refused: not a message: declare the type as
try center.post(controller)
// refused: does not conform to protocol 'Decodable'
struct Window: SharedNotificationCenter.Message { var pointer: OpaquePointer }
// refused: 'Sendable'
final class Shared: SharedNotificationCenter.Message { var title = "" }
// refused: non-bitwise-copyable type 'String'
struct Named: SharedNotificationCenter.BitwiseMessage { var name: String }

// About an object of the subject's type.
// refused: cannot convert value of type 'Controller' to expected argument type 'Paused.Subject'
@MainActor func post(to center: SharedNotificationCenter) { center.post(Paused(at: 0), subject: controller) }
// refused: main actor-isolated
func post(to center: SharedNotificationCenter) { center.post(Paused(at: 0)) }
