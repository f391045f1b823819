// Two programs in one: `swift run Users observe`, and in another terminal `swift run Users post`.
import Dispatch
import Tidings

@Message("com.example.users.visited") struct Visited {
    var city: String
    var country = "Italy"
}

@NotificationProtocol(prefix: "com.example")
protocol UserObserver: AnyObject {
    func userNameChanged(oldName: String, newName: String)
    func signedOut()
}

extension UserObserver {
    /// A default: an observer that does not need this notification omits the method.
    func signedOut() {}
}

final class Roster: UserObserver, Sendable {
    func userNameChanged(oldName: String, newName: String) { print("\(oldName) is \(newName) now") }
}

let center = try SharedNotificationCenter(named: "com.example.users")
switch CommandLine.arguments.dropFirst().first {
case "observe":
    let roster = Roster()
    let tokens = [
        try center.addObserver(roster, as: UserObserverMessages.self),
        try center.addObserver(for: Visited.self) { visit in print("in \(visit.city), \(visit.country)") },
    ]
    print("observing")
    withExtendedLifetime((roster, tokens)) { dispatchMain() }
case "post":
    try UserObserverPoster(center).userNameChanged(oldName: "Ada Byron", newName: "Ada Lovelace")
    try UserObserverPoster(center).signedOut()
    try center.post(Visited(city: "Turin"))
default:
    print("swift run Users observe|post")
}
