/// The types that a center object has posted or observed, by name, to tell of those that don't go together.
final class MessageTypes: Sendable {
    typealias Name = SharedNotificationCenter.Name

    private struct Use: Sendable {
        let type: Any.Type
        /// Whether those who read a key of that name have to do with its arguments.
        var isPosted = false
        /// How many arguments nobody who observes or reads it can do without; 0 also if nobody does.
        var needed = 0
    }

    private let uses = Locked<[Name: [Use]]>([:])
    private let diagnostics: Diagnostics
    private let generation = Forking.generation
    // Names of keys are without end. What was told stays told (`Diagnostics`).
    private static let names = 1024

    init(_ diagnostics: Diagnostics) {
        self.diagnostics = diagnostics
    }

    /// Where a type is first posted under a name, and where it is observed. Of a key, the type of its arguments as they are posted.
    ///
    /// - Parameter needed: how many arguments a key has to find that is observed or read; `nil`: posted, or no key.
    func note(_ type: Any.Type, name: Name, needed: Int? = nil) {
        // A forked child may find the lock held.
        guard generation == Forking.generation else { return }
        let (known, place) = uses.withLock { uses -> ([Use], Int) in
            if uses.count >= Self.names, uses[name] == nil { uses = [:] }
            var known = uses[name] ?? []
            let place = known.firstIndex { $0.type == type } ?? known.endIndex
            let isNew = place == known.endIndex
            if isNew { known.append(Use(type: type)) }
            let before = known[place]
            if let needed { known[place].needed = max(needed, before.needed) } else { known[place].isPosted = true }
            guard isNew || known[place].needed > before.needed || known[place].isPosted != before.isPosted else {
                return ([], 0)
            }
            uses[name] = known
            return (known, place)
        }
        // In the order in which they came: a pair is the same each time, and told once.
        for other in known.indices where other != place {
            let mistake = Self.mistake(name, known[min(other, place)], known[max(other, place)])
            if let mistake { diagnostics.tell(mistake) }
        }
    }

    /// `nil`: they go together.
    private static func mistake(_ name: Name, _ first: Use, _ second: Use) -> SharedNotificationCenter.Mistake? {
        switch (first.type as? any ArgumentList.Type, second.type as? any ArgumentList.Type) {
        case (let one?, let other?):
            // The one may be an older program's, which has fewer. Those who observe must be able to do with what is posted.
            let agree = zip(one.types, other.types).allSatisfy { $0 == $1 }
            let suffice =
                (!first.isPosted || one.types.count >= second.needed)
                && (!second.isPosted || other.types.count >= first.needed)
            if agree && suffice { return nil }
            return .nameOfTwoKeys(name, text(one), text(other))
        case (nil, nil)
        where (first.type is any SharedNotificationCenter.Message.Type)
            != (second.type is any SharedNotificationCenter.Message.Type):
            // The same notification with Foundation's spelling and without, as `MainActorMessage` says. What isn't does not decode, which is told.
            return nil
        case (let one, let other):
            return .nameOfTwoTypes(
                name, one.map(text) ?? String(reflecting: first.type),
                other.map(text) ?? String(reflecting: second.type))
        }
    }

    private static func text(_ list: any ArgumentList.Type) -> String {
        "Key<\(list.types.map { String(reflecting: $0) }.joined(separator: ", "))>".replacing("Swift.", with: "")
    }
}

/// What a key's arguments are posted as.
protocol ArgumentList {
    static var types: [Any.Type] { get }
}

extension PostedArguments: ArgumentList {
    static var types: [Any.Type] {
        var types: [Any.Type] = []
        repeat types.append((each Argument).self)
        return types
    }
}
