/// The types that a center object has posted or observed, by name. Reports two types that do not fit one name.
final class MessageTypes: Sendable {
    typealias Name = SharedNotificationCenter.Name

    private struct Use: Sendable {
        let type: Any.Type
        /// Whether arguments of this type are posted, so that observers of a key of that name must be able to read
        /// them.
        var isPosted = false
        /// How many arguments the observers and readers of this type need at least; 0 if there are none.
        var needed = 0
    }

    private let uses = Locked<[Name: [Use]]>([:])
    private let diagnostics: Diagnostics
    private let generation = Forking.generation
    // Bounds the memory, because the number of names is unbounded. A mistake is still reported once (`Diagnostics`).
    private static let names = 1024

    init(_ diagnostics: Diagnostics) { self.diagnostics = diagnostics }

    /// Notes a type when it is first posted under a name, and when it is observed. For a key, this is the type that its
    /// arguments are posted as.
    ///
    /// - Parameter needed: for a key that is observed or read, how many arguments a payload must have. `nil`: the type
    ///   is posted, or is not a key's.
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
        // In the order in which the types came, so that a pair is the same each time and is reported once.
        for other in known.indices where other != place {
            let mistake = Self.mistake(name, known[min(other, place)], known[max(other, place)])
            if let mistake { diagnostics.tell(mistake) }
        }
    }

    /// The mistake of using both types for that name; `nil`: they fit.
    private static func mistake(_ name: Name, _ first: Use, _ second: Use) -> SharedNotificationCenter.Mistake.Kind? {
        switch (first.type as? any ArgumentList.Type, second.type as? any ArgumentList.Type) {
        case (let one?, let other?):
            // One key may be an older program's and have fewer arguments. Observers need enough of the posted
            // arguments.
            let agree = zip(one.types, other.types).allSatisfy { $0 == $1 }
            let suffice =
                (!first.isPosted || one.types.count >= second.needed)
                && (!second.isPosted || other.types.count >= first.needed)
            if agree && suffice { return nil }
            return .nameOfTwoKeys(name, text(one), text(other))
        case (nil, nil)
        where (first.type is any SharedNotificationCenter.Message.Type)
            != (second.type is any SharedNotificationCenter.Message.Type):
            // One notification declared with Foundation's protocol and without, as `MainActorMessage` describes. If
            // their fields differ, the payload does not decode, and that is reported.
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

/// The type that a key's arguments are posted as.
protocol ArgumentList {
    static var types: [Any.Type] { get }
}

extension PostedArguments: ArgumentList {}
