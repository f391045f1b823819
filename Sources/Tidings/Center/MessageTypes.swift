/// The types that a center object has posted or observed, by name, to tell of those that don't go together.
final class MessageTypes: Sendable {
    typealias Name = SharedNotificationCenter.Name

    private let types = Locked<[Name: [Any.Type]]>([:])
    private let diagnostics: Diagnostics
    private let generation = Forking.generation
    // Names of keys are without end. What was told stays told (`Diagnostics`).
    private static let names = 1024

    init(_ diagnostics: Diagnostics) {
        self.diagnostics = diagnostics
    }

    /// Where a type is first posted under a name, and where it is observed. Of a key, the type of its arguments as they are posted.
    func note(_ type: Any.Type, name: Name) {
        // A forked child may find the lock held.
        guard generation == Forking.generation else { return }
        let others = types.withLock { types -> [Any.Type] in
            let known = types[name] ?? []
            guard !known.contains(where: { $0 == type }) else { return [] }
            if types.count >= Self.names { types = [:] }
            types[name] = known + [type]
            return known
        }
        for other in others {
            if let mistake = Self.mistake(name, other, type) { diagnostics.tell(mistake) }
        }
    }

    /// `nil`: they go together.
    private static func mistake(
        _ name: Name, _ first: Any.Type, _ second: Any.Type
    ) -> SharedNotificationCenter.Mistake? {
        switch (first as? any ArgumentList.Type, second as? any ArgumentList.Type) {
        case (let one?, let other?):
            // The one may be an older program's, which has fewer.
            if zip(one.types, other.types).allSatisfy({ $0 == $1 }) { return nil }
            return .nameOfTwoKeys(name, text(one), text(other))
        case (nil, nil)
        where (first is any SharedNotificationCenter.Message.Type)
            != (second is any SharedNotificationCenter.Message.Type):
            // The same notification with Foundation's spelling and without, as `MainActorMessage` says.
            return nil
        case (let one, let other):
            return .nameOfTwoTypes(
                name, one.map(text) ?? String(reflecting: first), other.map(text) ?? String(reflecting: second))
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
