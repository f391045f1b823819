/// One place in the output where a value goes: the root, an element, or what a `superEncoder` was made for.
///
/// `Encodable` never says that a container is finished, and lets several be open and written in turns. So the header's
/// count is true after every entry, and a write to a frame that is not at the output's end moves what lies behind it.
struct CBORFrame {
    enum Kind: UInt8 {
        /// Nothing written yet.
        case empty
        /// An empty map stands in for a value that a `superEncoder` may still bring.
        case reserved
        /// A value that is not a container of ours.
        case single
        case map, array

        /// What is written first.
        var emptyItem: UInt8 { self == .array ? CBORMajor.array.initialByte : CBORMajor.map.initialByte }
    }

    /// Where the frame is within its parent.
    struct Spot {
        /// The bytes of the key right before `start`, 0 if the parent isn't a map.
        var keyLength = 0
        /// The key's own number, of which the output has only the text.
        var intKey: Int?
        /// The position in the parent array, or −1.
        var index = -1
    }

    /// The offset of the item's first byte.
    var start: Int
    /// The offset behind the item. Stale while the writer appends to the frame or one within: the output's end counts.
    var end: Int
    /// Pairs in a map, elements in an array.
    var count: Int
    var spot: Spot
    /// Of a map: which keys it may have, see `CBORWriter.markKey`.
    var keys: UInt64 = 0
    /// The parent's number, or −1.
    var parent: Int
    /// Arrays and maps around the item's contents.
    var depth: Int
    /// Tells this use of the frame's storage from earlier ones.
    var serial: UInt32
    var kind: Kind
    /// Dropped when its value is encoded. A nested container's frame, where this is false, is dropped with its parent.
    var isPushed = false

    /// The offsets of the key before the item.
    var key: Range<Int> { start - spot.keyLength..<start }
}

/// What encoders and containers hold of a frame: enough to find it, and to notice that it is gone.
struct CBORFrameID: Equatable {
    var number: UInt32
    var serial: UInt32

    /// No frame: what a container holds that could not be made. Serials start at 1.
    static let none = CBORFrameID(number: .max, serial: 0)
    /// The current frame of a writer that is not encoding. No container holds this number, so none is the current one.
    static let idle = CBORFrameID(number: .max, serial: .max)
}
