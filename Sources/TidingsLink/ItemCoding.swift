// A frame of items as bytes. The core writes it directly, and takes the items out of the bytes that it received:
// payloads are not copied again. T1 holds here as in FrameCoding.
//
// A number is LEB128 unless its size is given; those are little-endian.
//
//     frame: 0xA7, session 8, receiver's session 8, 3, round 4, after 8, number of items 4, items
//     item:  flags 1, place - what was covered before, slot, definition, sequence, count, date 8, body
//     definition: incarnation 8, host, center, name, base, unsure
//     body:  format 1, pid 4, uid 4, posted at 8, bytes of the subject 1, bytes of the payload, subject, payload
//
// The flags say which of these fields an item has. A slot stands for an account of the sender. The first item of a
// round that uses a slot defines it. A later item defines it again if it stands for another account, base or unsure
// from then on. The receiver applies definitions in the order of items, when it takes them out of its inbox.

enum ItemFlags {
    static let defines: UInt8 = 1
    /// The slot of the item before this one.
    static let sameSlot: UInt8 = 2
    static let retained: UInt8 = 4
    static let cleared: UInt8 = 8
    /// The sequence is the place.
    static let own: UInt8 = 16
    static let all: UInt8 = 31
}

/// What a slot stands for.
struct SlotDefinition: Hashable, Sendable {
    var origin: Origin
    var name: LinkName
    var base: UInt64
    var unsure: UInt64
}

/// An item as it lies in the bytes of its frame.
struct FramedItem: Sendable {
    var place: UInt64
    var sequence: UInt64
    var count: UInt64
    /// Of the version: with `ItemFlags.retained`.
    var date: UInt64
    var slot: Int32
    /// The index of its definition; -1: none.
    var definition: Int32
    var body: Int32
    var subjectCount: Int32
    var payload: Int32
    var payloadCount: Int32
    var flags: UInt8

    var isCleared: Bool { flags & ItemFlags.cleared != 0 }
    var hasVersion: Bool { flags & ItemFlags.retained != 0 }
}

/// A frame of items. Its bytes are the whole frame.
package struct ItemFrame: Hashable, Sendable {
    package let round: UInt32
    /// The place of the item before the first one, or where the round began. No item for this link lies between the
    /// two.
    package let after: UInt64
    package let count: Int
    /// The place of the last item.
    package let last: UInt64
    package let bytes: [UInt8]
    /// What the decoder has found; empty in a frame that this core has made.
    let items: [FramedItem]
    let definitions: [SlotDefinition]

    package static func == (left: ItemFrame, right: ItemFrame) -> Bool { left.bytes == right.bytes }
    package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

    func content(of item: FramedItem) -> Content {
        Content(
            frame: bytes, at: Int(item.body), subjectCount: Int(item.subjectCount), payloadAt: Int(item.payload),
            payloadCount: Int(item.payloadCount))
    }
}

enum ItemCoding {
    static let header = 34
    /// Bytes of a body before the size of its payload.
    static let fixedBody = 18
    /// The most bytes of an item before its body.
    static let mostBefore = 1 + 10 * 6 + 8 * 2 + 3 * (2 + LinkLimits.text)

    /// The most bytes of a body before its payload.
    static let mostBeforePayload = fixedBody + 5 + LinkLimits.text

    /// Writes a body, and returns its size: at most `encodedCount`.
    static func write(_ view: ContentView, to bytes: UnsafeMutableRawPointer) -> Int {
        let at = writeBeforePayload(view, to: bytes)
        guard view.payload.count > 0 else { return at }
        (bytes + at).copyMemory(from: view.payload.baseAddress!, byteCount: view.payload.count)
        return at + view.payload.count
    }

    /// Writes a body without its payload, and returns its size.
    static func writeBeforePayload(_ view: ContentView, to bytes: UnsafeMutableRawPointer) -> Int {
        bytes.storeBytes(of: view.format, as: UInt8.self)
        bytes.storeBytes(of: view.pid.littleEndian, toByteOffset: 1, as: Int32.self)
        bytes.storeBytes(of: view.uid.littleEndian, toByteOffset: 5, as: UInt32.self)
        bytes.storeBytes(of: view.postedAt.littleEndian, toByteOffset: 9, as: UInt64.self)
        let subjectCount = min(view.subject.count, LinkLimits.text)
        bytes.storeBytes(of: UInt8(subjectCount), toByteOffset: 17, as: UInt8.self)
        var at = write(UInt64(view.payload.count), to: bytes, at: fixedBody)
        if subjectCount > 0 {
            (bytes + at).copyMemory(from: view.subject.baseAddress!, byteCount: subjectCount)
            at += subjectCount
        }
        return at
    }

    /// Writes a number, and returns where it ends.
    @inline(__always)
    static func write(_ number: UInt64, to bytes: UnsafeMutableRawPointer, at start: Int) -> Int {
        var (number, at) = (number, start)
        while number > 0x7F {
            bytes.storeBytes(of: UInt8(truncatingIfNeeded: number) | 0x80, toByteOffset: at, as: UInt8.self)
            number >>= 7
            at += 1
        }
        bytes.storeBytes(of: UInt8(truncatingIfNeeded: number), toByteOffset: at, as: UInt8.self)
        return at + 1
    }

    static func write(_ text: String, to bytes: UnsafeMutableRawPointer, at start: Int) -> Int {
        var text = text
        return text.withUTF8 { text in
            let count = min(text.count, LinkLimits.text)
            let at = write(UInt64(count), to: bytes, at: start)
            if count > 0 { (bytes + at).copyMemory(from: text.baseAddress!, byteCount: count) }
            return at + count
        }
    }
}

/// Makes one frame of items.
struct ItemWriter {
    private(set) var bytes: [UInt8]
    private(set) var count = 0
    private var covered: UInt64
    private let round: UInt32
    private let after: UInt64
    private var slot = -1

    init(session: UInt64, to: UInt64, round: UInt32, after: UInt64, capacity: Int) {
        self.round = round
        self.after = after
        covered = after
        bytes = [UInt8](repeating: 0, count: ItemCoding.header)
        bytes.reserveCapacity(ItemCoding.header + capacity)
        bytes.withUnsafeMutableBytes { bytes in
            bytes[0] = FrameCoding.format
            bytes.storeBytes(of: session.littleEndian, toByteOffset: 1, as: UInt64.self)
            bytes.storeBytes(of: to.littleEndian, toByteOffset: 9, as: UInt64.self)
            bytes[17] = FrameCoding.items
            bytes.storeBytes(of: round.littleEndian, toByteOffset: 18, as: UInt32.self)
            bytes.storeBytes(of: after.littleEndian, toByteOffset: 22, as: UInt64.self)
        }
    }

    /// Everything of an item but its body.
    mutating func begin(_ record: RingIndex.Record, slot: Int, definition: SlotDefinition?, hasVersion: Bool) {
        withUnsafeTemporaryAllocation(byteCount: ItemCoding.mostBefore, alignment: 8) { buffer in
            let to = buffer.baseAddress!
            var flags: UInt8 = 0
            var at = ItemCoding.write(record.position - covered, to: to, at: 1)
            if slot == self.slot {
                flags |= ItemFlags.sameSlot
            } else {
                at = ItemCoding.write(UInt64(slot), to: to, at: at)
            }
            if let definition {
                flags |= ItemFlags.defines
                to.storeBytes(of: definition.origin.incarnation.littleEndian, toByteOffset: at, as: UInt64.self)
                at = ItemCoding.write(definition.origin.host, to: to, at: at + 8)
                at = ItemCoding.write(definition.origin.center, to: to, at: at)
                at = ItemCoding.write(definition.name.text, to: to, at: at)
                at = ItemCoding.write(definition.base, to: to, at: at)
                at = ItemCoding.write(definition.unsure, to: to, at: at)
            }
            if record.sequence == record.position {
                flags |= ItemFlags.own
            } else {
                at = ItemCoding.write(record.sequence, to: to, at: at)
            }
            at = ItemCoding.write(record.count, to: to, at: at)
            if hasVersion {
                flags |= ItemFlags.retained
                to.storeBytes(of: record.date.littleEndian, toByteOffset: at, as: UInt64.self)
                at += 8
            }
            if record.isCleared { flags |= ItemFlags.cleared }
            to.storeBytes(of: flags, as: UInt8.self)
            bytes.append(contentsOf: UnsafeRawBufferPointer(start: to, count: at))
        }
        covered = record.position + 1
        self.slot = slot
        count += 1
    }

    mutating func body(_ body: UnsafeRawBufferPointer) { bytes.append(contentsOf: body) }

    mutating func body(_ view: ContentView) {
        withUnsafeTemporaryAllocation(byteCount: ItemCoding.mostBeforePayload, alignment: 8) { room in
            let to = room.baseAddress!
            let size = ItemCoding.writeBeforePayload(view, to: to)
            bytes.append(contentsOf: UnsafeRawBufferPointer(start: to, count: size))
        }
        bytes.append(contentsOf: view.payload)
    }

    mutating func finish() -> ItemFrame {
        let number = UInt32(count).littleEndian
        bytes.withUnsafeMutableBytes { $0.storeBytes(of: number, toByteOffset: 30, as: UInt32.self) }
        return ItemFrame(
            round: round, after: after, count: count, last: covered - 1, bytes: bytes, items: [],
            definitions: [])
    }
}

extension FrameInput {
    /// All of a frame behind its kind. `frame` are the bytes that this reads.
    mutating func items(_ frame: [UInt8]) throws(Fault) -> ItemFrame {
        let round = UInt32(truncatingIfNeeded: try little(4))
        let after = try little(8)
        let count = Int(try little(4))
        // An item has at least 22 bytes.
        #if !MUTANT_COUNT_UNCHECKED
            guard count <= left / 22 else { throw Fault() }
        #endif
        guard after < LinkLimits.number else { throw Fault() }
        var items: [FramedItem] = []
        items.reserveCapacity(count)
        var definitions: [SlotDefinition] = []
        var covered = after
        var slot: Int32 = -1
        for _ in 0..<count {
            let flags = try byte()
            guard flags & ~ItemFlags.all == 0 else { throw Fault() }
            let place = covered + (try number())
            guard place < LinkLimits.number else { throw Fault() }
            covered = place + 1
            if flags & ItemFlags.sameSlot == 0 { slot = Int32(try number(below: UInt64(limits.table))) }
            guard slot >= 0 else { throw Fault() }
            var definition: Int32 = -1
            if flags & ItemFlags.defines != 0 {
                definition = Int32(definitions.count)
                definitions.append(
                    SlotDefinition(
                        origin: try origin(), name: try name(), base: try number(), unsure: try number()))
            }
            let sequence = flags & ItemFlags.own != 0 ? place : try number()
            let number = try number()
            let date = flags & ItemFlags.retained != 0 ? try little(8) : 0
            guard date < LinkLimits.number else { throw Fault() }
            let body = Int32(at)
            guard left > ItemCoding.fixedBody else { throw Fault() }
            let subjectCount = Int(bytes[at + 17])
            at += ItemCoding.fixedBody
            let payloadCount = Int(try self.number(below: UInt64(limits.payload) + 1))
            #if MUTANT_ITEM_SIZE_TRUSTED  // Found by: fuzz link
                let left = isMutant("ITEM_SIZE_TRUSTED") ? Int.max : left
            #endif
            guard subjectCount + payloadCount <= left else { throw Fault() }
            if subjectCount > 0 { try check(text: subjectCount) }
            let payload = at
            at += payloadCount
            items.append(
                FramedItem(
                    place: place, sequence: sequence, count: number, date: date, slot: slot, definition: definition,
                    body: body, subjectCount: Int32(subjectCount), payload: Int32(payload),
                    payloadCount: Int32(payloadCount), flags: flags))
        }
        return ItemFrame(
            round: round, after: after, count: count, last: covered &- 1, bytes: frame, items: items,
            definitions: definitions)
    }
}
