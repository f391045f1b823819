import Tidings
import TidingsFoundation

// Uses of the messages of Foundation's `NotificationCenter` (SF-0011), with this center's type and `Codable` values:
// without `try`, with the same labels. The code in `MainActorMessageTests` and `AsyncMessageTests` has Foundation's
// spelling.

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
    // The same identifier as above: the type of the subject decides between them.
    static var changed: Self { .init() }
}
