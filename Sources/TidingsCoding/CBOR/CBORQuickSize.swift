/// The sizes of items whose first byte says it all.
enum CBORQuickSize {
    /// By first byte, sixteen to a line: the size of integers, simple values, floating-point numbers and strings below
    /// 24 bytes; `oneByteLength` for those below 256; 0 for everything that takes a closer look, good or bad. A
    /// literal, because that is in the program's constant data and an array is not.
    private static var table: StaticString {
        """
        \u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\
        \u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{2}\u{3}\u{5}\u{9}\u{0}\u{0}\u{0}\u{0}\
        \u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\
        \u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{2}\u{3}\u{5}\u{9}\u{0}\u{0}\u{0}\u{0}\
        \u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}\u{8}\u{9}\u{A}\u{B}\u{C}\u{D}\u{E}\u{F}\u{10}\
        \u{11}\u{12}\u{13}\u{14}\u{15}\u{16}\u{17}\u{18}\u{7F}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\
        \u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}\u{8}\u{9}\u{A}\u{B}\u{C}\u{D}\u{E}\u{F}\u{10}\
        \u{11}\u{12}\u{13}\u{14}\u{15}\u{16}\u{17}\u{18}\u{7F}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\
        \u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\
        \u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\
        \u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\
        \u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\
        \u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\
        \u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\
        \u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\
        \u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{0}\u{3}\u{5}\u{9}\u{0}\u{0}\u{0}\u{0}
        """
    }

    static let oneByteLength = 0x7F

    @inline(__always)
    static func of(_ first: UInt8) -> Int {
        Int(table.utf8Start[Int(first)])
        // In bounds: the literal has 256 characters, all of them ASCII. It is a pointer, not a lone character.
    }
}

extension CBORBytes {
    /// The offset behind an item, if its first byte says its size and all of it is there; nil takes the long way.
    @inline(__always)
    func quickEnd(at offset: Int) -> Int? {
        guard offset < count else { return nil }
        var size = CBORQuickSize.of(base.load(fromByteOffset: offset, as: UInt8.self))
        // In bounds: offsets are never negative, and this one is below `count`.
        if size == CBORQuickSize.oneByteLength {
            guard count &- offset > 1 else { return nil }
            size = 2 + Int(base.load(fromByteOffset: offset + 1, as: UInt8.self))
            // In bounds: two bytes or more remain.
        }
        return size != 0 && size <= count &- offset ? offset &+ size : nil
    }
}
