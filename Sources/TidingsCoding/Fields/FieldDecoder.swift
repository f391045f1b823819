/// Where generated code reads a message from: one way through the bytes, each looked at once. Public for it alone: see ``FieldCodable``.
///
/// What it takes and refuses is what the library's `Decoder` does, and so are the errors. Whatever isn't in the form that our own encoder
/// gives it (another width, a tag, an indefinite length), or of a type that only `Codable` knows, is left to that.
public struct FieldDecoder: ~Copyable {
    let bytes: CBORBytes
    /// Of the next item.
    @usableFromInline var offset = 0
    /// Maps and arrays around it.
    @usableFromInline var depth = 0

    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = CBORBytes(bytes)
    }

    /// A map that is being read, by ``nextField(in:of:)``.
    public struct Map {
        let start: Int
        /// Pairs that are left; below zero: until the stop.
        var left: Int
        /// The number of the field that comes next if poster and observer have the same struct, and where its name is in the list.
        var expected = 0
        var cursor = 0
    }

    /// An array that is being read.
    @usableFromInline
    struct Elements {
        /// As in a map.
        var left: Int

        /// For reserving memory: a poster can claim any number.
        @usableFromInline var likelyCount: Int { max(0, min(left, 1024)) }
    }

    // MARK: Maps

    /// Begins to read a map.
    ///
    /// - Throws: as ``FieldCodable/init(decodingField:)``.
    public mutating func beginMap() throws -> Map {
        do throws(CBORFault) {
            let start = offset
            return Map(start: start, left: try enter(.map))
        } catch {
            throw error.error(expecting: [String: Any].self, path: [])
        }
    }

    /// Reads the next name, and returns its place in a list of names, −1 for one that isn't there; `nil` at the map's end.
    ///
    /// The value must be read, or passed over by ``skipValue()``, before the next call.
    ///
    /// - Parameters:
    ///   - map: whose fields they are, and how many are left.
    ///   - names: the names as they are in CBOR, one behind the other.
    /// - Throws: as ``FieldCodable/init(decodingField:)``.
    public mutating func nextField(in map: inout Map, of names: StaticString) throws -> Int? {
        guard try hasNext(&map.left) else { return nil }
        let name = map.cursor
        if name < names.utf8CodeUnitCount {
            let size = FieldNames.size(of: names, at: name)
            if size <= bytes.count &- offset,
                bytes.equal(
                    UnsafeRawBufferPointer(start: names.utf8Start + name, count: size), from: offset,
                    to: offset &+ size)
            {
                // In bounds: compared with the list's and the payload's sizes right before.
                offset &+= size
                map.cursor = name &+ size
                map.expected &+= 1
                return map.expected &- 1
            }
        }
        return try findField(in: &map, of: names)
    }

    @inline(never)
    private mutating func findField(in map: inout Map, of names: StaticString) throws -> Int {
        let key = try key(in: map)
        var (index, cursor) = (0, 0)
        while cursor < names.utf8CodeUnitCount {
            let size = FieldNames.size(of: names, at: cursor)
            cursor += size
            if key.utf8.elementsEqual(FieldNames.text(of: names, size: size, endingAt: cursor)) {
                map.expected = index + 1
                map.cursor = cursor
                return index
            }
            index += 1
        }
        return -1
    }

    /// The next key, whatever it is; an integer as its digits. `nil` at the map's end.
    @usableFromInline
    mutating func nextKey(in map: inout Map) throws -> String? {
        try hasNext(&map.left) ? try key(in: map) : nil
    }

    private mutating func key(in map: Map) throws(CBORFault) -> String {
        let head = try bytes.head(at: offset)
        switch head.major {
        case .unsigned, .negative:
            offset = head.end
            return head.major == .unsigned ? "\(head.argument)" : "\(~Int128(head.argument))"
        case .text where head.isIndefinite:
            return try another { (reader, place) throws(CBORFault) in try reader.string(at: place) }
        case .text:
            let end = try bytes.endOfString(head)
            let text = try bytes.text(from: head.end, to: end)
            offset = end
            return text
        default: throw CBORFault(.keys, at: map.start)
        }
    }

    // MARK: Arrays

    @usableFromInline
    mutating func beginArray() throws -> Elements {
        do throws(CBORFault) {
            return Elements(left: try enter(.array))
        } catch {
            throw error.error(expecting: [Any].self, path: [])
        }
    }

    @usableFromInline
    mutating func nextElement(in array: inout Elements) throws -> Bool { try hasNext(&array.left) }

    // MARK: Both

    private mutating func enter(_ major: CBORMajor) throws(CBORFault) -> Int {
        let head = try bytes.content(at: place).head
        if head.isStop { throw CBORFault(.stop, at: offset) }
        guard head.major == major else { throw .mismatch(head, at: place.offset) }
        guard depth < CBORLimit.depth else { throw CBORFault(.depth, at: head.end) }
        depth &+= 1
        offset = head.end
        if head.isIndefinite { return -1 }
        // Every element takes a byte or more, and so does every key: a count beyond the bytes that remain is a lie.
        let most = (bytes.count &- offset) / (major == .map ? 2 : 1)
        guard head.argument <= UInt64(truncatingIfNeeded: most) else {
            throw CBORFault(major == .map ? .longMap : .longArray, at: offset)
        }
        return Int(truncatingIfNeeded: head.argument)
    }

    @inline(__always)
    private mutating func hasNext(_ left: inout Int) throws(CBORFault) -> Bool {
        if left > 0 {
            left &-= 1
            return true
        }
        if left < 0 {
            guard try bytes.isStop(at: offset) else { return true }
            offset &+= 1
        }
        depth &-= 1
        return false
    }

    var place: CBORPlace { CBORPlace(offset: UInt32(truncatingIfNeeded: offset), span: 0) }
    // Offsets fit 31 bits, for the payload's size does: `PayloadCoding` compares it.

    // MARK: The long way

    /// Passes over the next item.
    ///
    /// - Throws: as ``FieldCodable/init(decodingField:)``.
    public mutating func skipValue() throws {
        if let end = bytes.quickEnd(at: offset) {
            offset = end
        } else {
            try another { (_, _) throws(CBORFault) in }
        }
    }

    /// Reads the next item by what the library's `Decoder` is made of, which looks at all of it first.
    @inline(never)
    mutating func another<Value>(
        _ read: (CBORReader, CBORPlace) throws(CBORFault) -> Value
    ) throws(CBORFault) -> Value {
        let state = CBORThreadCache.takeReader()
        state.begin(UnsafeRawBufferPointer(start: bytes.base, count: bytes.count), userInfo: [:])
        defer {
            state.end()
            CBORThreadCache.giveBack(state)
        }
        let end = try CBORScanner(state).end(ofItemAt: offset, depth: depth)
        let value = try read(state, place)
        offset = end
        return value
    }

    @usableFromInline @inline(never)
    package mutating func decodeCodable<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let bytes = UnsafeRawBufferPointer(start: bytes.base, count: bytes.count)
        if depth == 0 {
            // The whole payload. Moved on first: a value of a type that isn't known here would have to be moved for it afterwards.
            offset = bytes.count
            return try CBORPayloadDecoder().decode(type, from: bytes)
        }
        let (value, end) = try CBORPayloadDecoder().decode(type, from: bytes, at: offset, depth: depth)
        offset = end
        return value
    }

    /// Throws unless everything has been read.
    package func finish() throws(CBORFault) {
        if offset != bytes.count { throw CBORFault(.trailing, at: offset) }
    }
}

/// Names as `nextField` is given them. All of a name and its head are ASCII or part of valid UTF-8, so that they can stand in a literal: the
/// head is one byte, or two from 24 bytes on; `@Message` refuses a name of more than 127.
enum FieldNames {
    /// The size of a name and its head.
    @inline(__always)
    static func size(of names: StaticString, at offset: Int) -> Int {
        let first = Int(truncatingIfNeeded: names.utf8Start[offset]) & 31
        // In bounds: the callers compared the offset with the list's size.
        let size = first < 24 ? 1 &+ first : longSize(of: names, at: offset)
        // Never beyond the end, should the list be anything but names.
        return min(size, names.utf8CodeUnitCount &- offset)
    }

    @inline(never)
    private static func longSize(of names: StaticString, at offset: Int) -> Int {
        2 + Int(names.utf8Start[min(offset + 1, names.utf8CodeUnitCount - 1)])
        // In bounds: as above.
    }

    static func text(of names: StaticString, size: Int, endingAt end: Int) -> UnsafeBufferPointer<UInt8> {
        let count = size - (size > 24 ? 2 : 1)
        return UnsafeBufferPointer(start: names.utf8Start + (end - count), count: count)
        // In bounds: the end is at most the list's size, and the name as long as its head says.
    }
}
