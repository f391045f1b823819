// Names of notifications, and which of them a link sends or accepts.

/// The name of a notification. Compared by bytes, as a center does: two texts that Swift calls equal can be two names.
package struct LinkName: Hashable, Comparable, Sendable, ExpressibleByStringLiteral {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package init(stringLiteral text: String) {
        self.text = text
    }

    package static func == (left: LinkName, right: LinkName) -> Bool {
        left.text.utf8.count == right.text.utf8.count && left.text.utf8.elementsEqual(right.text.utf8)
    }

    package static func < (left: LinkName, right: LinkName) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// 1 to 255 bytes without NUL.
    var isValid: Bool {
        let bytes = text.utf8
        return bytes.count >= 1 && bytes.count <= LinkLimits.text && !bytes.contains(0)
    }
}

/// Names, and prefixes of names. Names of the library itself (`tidings.…`) never match.
package struct NameList: Hashable, Sendable {
    package static let reserved = "tidings."

    /// Sorted, each once.
    package let names: [LinkName]
    /// Sorted, each once; "" matches all names.
    package let prefixes: [LinkName]

    package init(names: [LinkName] = [], prefixes: [LinkName] = []) {
        self.names = Set(names).sorted()
        self.prefixes = Set(prefixes).sorted()
    }

    package static let all = NameList(prefixes: [""])

    package var isEmpty: Bool { names.isEmpty && prefixes.isEmpty }

    package func matches(_ name: LinkName) -> Bool {
        let bytes = name.text.utf8
        if bytes.starts(with: Self.reserved.utf8) { return false }
        return prefixes.contains { $0.text.isEmpty || bytes.starts(with: $0.text.utf8) } || names.contains(name)
    }

    /// Whether names of the library itself are among those that the texts describe.
    package var mayBeReserved: Bool {
        prefixes.contains { Self.reserved.utf8.starts(with: $0.text.utf8) }
            || (prefixes + names).contains { $0.text.utf8.starts(with: Self.reserved.utf8) }
    }

    /// Whether each name that matches the other list, other than those of the library, matches this one.
    package func covers(_ other: NameList) -> Bool {
        other.names.allSatisfy(matches)
            && other.prefixes.allSatisfy { prefix in
                prefixes.contains { prefix.text.utf8.starts(with: $0.text.utf8) }
            }
    }

    /// Whether some name may match both lists.
    func overlaps(_ other: NameList) -> Bool {
        if names.contains(where: other.matches) || other.names.contains(where: matches) { return true }
        return prefixes.contains { mine in
            other.prefixes.contains { theirs in
                mine.text.isEmpty || theirs.text.isEmpty || mine.text.utf8.starts(with: theirs.text.utf8)
                    || theirs.text.utf8.starts(with: mine.text.utf8)
            }
        }
    }
}
