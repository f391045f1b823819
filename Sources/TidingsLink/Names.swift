// Numbers for names: the tables of a relay use them. A number stays with its name as long as the relay lives.

struct NameTable: Sendable {
    private(set) var names: [LinkName] = []
    private var numbers: [LinkName: Int] = [:]
    /// The bytes of all names, one after the other, and where each ends.
    private var bytes: [UInt8] = []
    private var ends: [Int] = []
    /// Numbers that were asked for lately, by a cheap hash: -1: none. `numbers` decides, with a hash that a peer can't
    /// predict.
    private var recent: [Int32] = []
    private var recentCount = 1024
    private static let steps = 8

    var count: Int { names.count }

    func number(of name: LinkName) -> Int? { numbers[name] }

    mutating func intern(_ name: LinkName) -> Int {
        if let number = numbers[name] { return number }
        names.append(name)
        numbers[name] = names.count - 1
        bytes.append(contentsOf: name.text.utf8)
        ends.append(bytes.count)
        if names.count * 4 > recentCount, recentCount < 1 << 19 {
            recentCount *= 2
            recent = []
        }
        return names.count - 1
    }

    /// The number of a name that was asked for lately.
    func recentNumber(of name: UnsafeRawBufferPointer) -> Int? {
        guard !recent.isEmpty else { return nil }
        let place = place(of: name)
        for step in 0..<Self.steps {
            let number = Int(recent[(place + step) & (recentCount - 1)])
            if number < 0 { return nil }
            if isEqual(number, name) { return number }
        }
        return nil
    }

    private func isEqual(_ number: Int, _ name: UnsafeRawBufferPointer) -> Bool {
        let start = number == 0 ? 0 : ends[number - 1]
        guard ends[number] - start == name.count else { return false }
        #if MUTANT_NAME_BY_HASH_ALONE  // Found by: link 1
            return true
        #else
            return bytes.withUnsafeBytes { bytes in
                var at = 0
                while at + 8 <= name.count {
                    let known = bytes.loadUnaligned(fromByteOffset: start + at, as: UInt64.self)
                    guard known == name.loadUnaligned(fromByteOffset: at, as: UInt64.self) else { return false }
                    at += 8
                }
                while at < name.count {
                    guard bytes[start + at] == name[at] else { return false }
                    at += 1
                }
                return true
            }
        #endif
    }

    mutating func setRecent(_ number: Int, of name: UnsafeRawBufferPointer) {
        if recent.isEmpty { recent = [Int32](repeating: -1, count: recentCount) }
        let first = place(of: name)
        var place = first
        for step in 0..<Self.steps where recent[place] >= 0 {
            place = step + 1 < Self.steps ? (first + step + 1) & (recentCount - 1) : first
        }
        recent[place] = Int32(number)
    }

    private func place(of name: UnsafeRawBufferPointer) -> Int {
        var hash = UInt64(truncatingIfNeeded: name.count)
        var at = 0
        while at + 8 <= name.count {
            hash = (hash ^ name.loadUnaligned(fromByteOffset: at, as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15
            hash ^= hash >> 29
            at += 8
        }
        while at < name.count {
            hash = (hash ^ UInt64(name[at])) &* 0x9E37_79B9_7F4A_7C15
            at += 1
        }
        return Int(truncatingIfNeeded: hash >> 40) & (recentCount - 1)
    }
}
