import Tidings
import TidingsFoundation

// What programs do with the messages of Foundation's `NotificationCenter` (SF-0011), with the center's type put in and the values made Codable: no
// `try`, no other label. Whatever compiles in `MainActorMessageTests` and `AsyncMessageTests` is spelled as there, with these.

final class Player: Sendable {}
final class Library: Sendable {}

struct Paused: Center.MainActorMessage {
    typealias Subject = Player
    var at: Int
    var by: String
}
extension Center.MessageIdentifier where Self == Center.BaseMessageIdentifier<Paused> {
    static var changed: Self { .init() }
}

struct BookAdded: Center.AsyncMessage {
    typealias Subject = Library
    var number: Int
    var title = "Solaris"
}
extension Center.MessageIdentifier where Self == Center.BaseMessageIdentifier<BookAdded> {
    // The same word as above: the subject tells them apart.
    static var changed: Self { .init() }
}
