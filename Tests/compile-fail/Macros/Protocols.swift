@NotificationProtocol
protocol UserObserver: AnyObject {
    func userNameChanged(oldName: String, newName: String)
    func visited(_ count: Int)
    func signedOut()
}
extension UserObserver { func signedOut() {} }

@NotificationProtocol
protocol StationObserver: AnyObject {
    func tuned(to station: String)
}

// `signedOut` is optional.
final class Roster: UserObserver, Sendable {
    func userNameChanged(oldName: String, newName: String) {}
    func visited(_ count: Int) {}
}
let center = try SharedNotificationCenter.sealed(named: "test")
let poster = UserObserverPoster(center)
try poster.userNameChanged(oldName: "a", newName: "b")
try poster.visited(1)
try poster.signedOut()
let token = try center.addObserver(Roster(), as: UserObserverMessages.self)
center.removeObservers(of: Roster())

// It would end at once, because the token is not kept.
// refused: result of call to 'addObserver
try center.addObserver(Roster(), as: UserObserverMessages.self)

// Another thread calls its methods: it is Sendable, or given away.
final class Clerk: StationObserver {
    var stations: [String] = []
    func tuned(to station: String) { stations.append(station) }
}
func give(_ clerk: Clerk, to center: SharedNotificationCenter) {
    // refused: sending
    _ = try? center.addObserver(clerk, as: StationObserverMessages.self)
}
func give(again clerk: Clerk, to center: SharedNotificationCenter) {
    // refused: sending
    _ = try? center.addObserver(clerk, as: StationObserverMessages.self)
}
func give(any observer: any StationObserver, to center: SharedNotificationCenter) {
    // refused: sending
    _ = try? center.addObserver(observer, as: StationObserverMessages.self)
}

// A conformance that is isolated to an actor: another thread would call the methods.
@NotificationProtocol
protocol ScreenObserver: AnyObject, SendableMetatype {
    func turned(on: Bool)
}
final class Panel: ScreenObserver, Sendable {
    func turned(on: Bool) {}
}
_ = try center.addObserver(Panel(), as: ScreenObserverMessages.self)
// refused: cannot form main actor-isolated conformance of 'Screen' to SendableMetatype-inheriting protocol
@MainActor final class Screen: @MainActor ScreenObserver { func turned(on: Bool) {} }

// A declaration that can't be sent is refused at its position.
// refused: an empty name
@Message("") struct Nameless { var title: String }
// refused: a tuple can't be sent
@Message struct Pair { var both: (Int, Int) }
// refused: a tuple can't be sent
@Message struct Pairs { var all: [(x: Int, y: Int)]? }
// refused: a tuple can't be sent
@Message struct PairValue { var both = (1, 2) }
// refused: a tuple can't be sent
@Message struct Outcome { var result: Result<(Int, Int), Never> }
// refused: a function can't be sent to another process
@Message struct Callback { var action: @Sendable () -> Void }
// refused: write the type of 'when'
@Message struct Untyped { var when = Date() }
// refused: a constant with a value is sent
@Message struct Constant { let version = 1 }
// refused: declare the properties of this tuple one by one
@Message struct Pattern { var (title, artist) = ("", "") }

// A poster has the protocol's own methods.
// refused: cannot convert value of type 'Int' to expected argument type 'String'
try poster.userNameChanged(oldName: 1, newName: "b")
// refused: cannot convert value of type 'String' to expected argument type 'Int'
try poster.visited("1")
// refused: missing argument for parameter 'newName' in call
try poster.userNameChanged(oldName: "a")
// refused: incorrect argument label
try poster.userNameChanged(oldName: "a", name: "b")
// refused: must precede argument 'newName'
try poster.userNameChanged(newName: "b", oldName: "a")
// refused: argument passed to call that takes no arguments
try poster.signedOut(at: 1)
// refused: has no member 'tuned'
try poster.tuned(to: "a")

// An observer has all methods that are not optional, with the types that are posted.
// refused: does not conform to protocol 'UserObserver'
final class Deaf: UserObserver, Sendable { func userNameChanged(oldName: String, newName: String) {} }
// refused: does not conform to protocol 'StationObserver'
final class Other: StationObserver, Sendable { func tuned(to station: Int) {} }
// refused: StationObserver
_ = try center.addObserver(Roster(), as: StationObserverMessages.self)
