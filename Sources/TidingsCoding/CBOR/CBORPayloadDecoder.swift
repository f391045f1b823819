/// Decodes one value from CBOR (RFC 8949) of any encoder.
///
/// Keys may come in any order, unknown ones are passed over, of equal ones the first counts. Lengths may be indefinite,
/// floating-point numbers of 16, 32 or 64 bits, unknown tags are passed over. Nothing that the bytes hold makes it
/// crash, hang or read beyond them, not even if they change during the call.
package struct CBORPayloadDecoder: Sendable {
    package var userInfo = [CodingUserInfoKey: any Sendable]()

    package init() {}

    package init(userInfo: [CodingUserInfoKey: any Sendable]) { self.userInfo = userInfo }

    /// Decodes the one item that `bytes` holds. They need to be valid during the call only.
    ///
    /// Throws what the type's `init(from:)` throws, and `DecodingError`: `dataCorrupted` for anything but exactly one
    /// well-formed item nested at most 128 deep, the others as usual.
    package func decode<T: Decodable>(_ type: T.Type, from bytes: UnsafeRawBufferPointer) throws -> T {
        let reader = CBORThreadCache.takeReader()
        reader.begin(bytes, userInfo: userInfo)
        defer {
            reader.end()
            CBORThreadCache.giveBack(reader)
        }
        let root = CBORPlace(offset: 0, span: 0)
        do {
            try CBORScanner(reader).scan()
            if CBORReader.knows(type) { return try reader.known(type, at: root) }
        } catch {
            throw error.error(expecting: type, path: [])
        }
        return try type.init(from: CBORDecoder(reader: reader, step: CBORStep.root, place: root))
    }

    /// Decodes an item that is `depth` maps and arrays deep in a payload. Returns the offset behind the item. Paths in
    /// errors begin at the item.
    package func decode<T: Decodable>(
        _ type: T.Type, from bytes: UnsafeRawBufferPointer, at offset: Int, depth: Int
    ) throws -> (value: T, end: Int) {
        let reader = CBORThreadCache.takeReader()
        reader.begin(bytes, userInfo: userInfo)
        defer {
            reader.end()
            CBORThreadCache.giveBack(reader)
        }
        // The first span is the first that is found.
        let place = CBORPlace(offset: UInt32(truncatingIfNeeded: offset), span: 0)
        let end: Int
        do {
            end = try CBORScanner(reader).end(ofItemAt: offset, depth: depth)
            if CBORReader.knows(type) { return (try reader.known(type, at: place), end) }
        } catch {
            throw error.error(expecting: type, path: [])
        }
        return (try type.init(from: CBORDecoder(reader: reader, step: CBORStep.root, place: place)), end)
    }
}

extension CBORReader {
    func begin(_ bytes: UnsafeRawBufferPointer, userInfo: [CodingUserInfoKey: any Sendable]) {
        state.pointee.bytes = PayloadBytes(bytes)
        if !userInfo.isEmpty { state.pointee.userInfo = userInfo }
    }

    /// Lets go of everything, so that a container that outlives the decoding finds nothing.
    func end() {
        state.pointee.epoch &+= 1
        // Wraps after 2³² decodings of a thread, no container is kept for as long.
        state.pointee.bytes = .none
        state.pointee.spanCount = 0
        state.pointee.hint = CBORHint()
        if !state.pointee.indexes.isEmpty {
            state.pointee.indexes = [:]
            state.pointee.indexed = []
        }
        if !state.pointee.userInfo.isEmpty { state.pointee.userInfo = [:] }
        if !state.pointee.steps.isEmpty {
            state.pointee.steps.removeAll(keepingCapacity: state.pointee.steps.capacity <= 1 << 10)
        }
        shrinkSpans()
    }
}
