import Foundation

@testable import Tidings
@testable import TidingsCoding

/// Bytes that change while they are decoded, as shared memory may. The decoder comes here between its reads: each
/// value's `init(from:)` takes a turn.
struct Meddler {
    private var bytes: UnsafeMutableRawBufferPointer
    private var edits: ArraySlice<UInt8>
    private var waiting = 0

    nonisolated(unsafe) static var current: Meddler?
    // One thread fuzzes.

    /// The last byte says how many edits precede it, of three bytes each: turns to wait, where, what.
    static func run(_ input: UnsafeRawBufferPointer) {
        guard let last = input.last, last > 0, input.count > Int(last % 16) * 3 + 1 else { return }
        let size = input.count - 1 - Int(last % 16) * 3
        // In memory of exactly that size, so that the address sanitizer sees a read beyond it.
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
        defer { bytes.deallocate() }
        defer { current = nil }
        // As a payload that lies in the center is decoded, too: with a bound to what is read.
        for isShared in [false, true] {
            bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: input[..<size]))
            current = Meddler(bytes: bytes, edits: Array(input[size..<(input.count - 1)])[...])
            let payload = UnsafeRawBufferPointer(bytes)
            _ = try? CBORPayloadDecoder().decode(Meddled.self, from: payload, isShared: isShared)
            _ = try? CBORField.bytes(of: "name", in: payload)
        }
    }

    mutating func turn() {
        guard let wait = edits.first else { return }
        guard waiting >= wait % 8 else {
            waiting += 1
            return
        }
        waiting = 0
        let place = Int(edits[edits.startIndex + 1]) % bytes.count
        bytes[place] = edits[edits.startIndex + 2]
        edits = edits.dropFirst(3)
    }
}

/// Takes whatever is there, in every way there is, with turns in between.
struct Meddled: Decodable {
    init(from decoder: any Decoder) throws {
        Meddler.current?.turn()
        if var list = try? decoder.unkeyedContainer() {
            // One that doesn't decode stays where it is.
            while !list.isAtEnd, (try? list.decode(Meddled.self)) != nil { Meddler.current?.turn() }
            return
        }
        if let map = try? decoder.container(keyedBy: Anything.Key.self) {
            for key in map.allKeys {
                Meddler.current?.turn()
                _ = map.contains(key)
                _ = try? map.decodeNil(forKey: key)
                _ = try? map.decode(Meddled.self, forKey: key)
            }
            Meddler.current?.turn()
            _ = try? Person(from: decoder)
            return
        }
        let single = try decoder.singleValueContainer()
        Meddler.current?.turn()
        _ = try? single.decode(String.self)
        Meddler.current?.turn()
        _ = try? single.decode(Data.self)
        Meddler.current?.turn()
        _ = try? single.decode(Date.self)
        Meddler.current?.turn()
        _ = try? single.decode(Decimal.self)
        Meddler.current?.turn()
        _ = try? single.decode(UInt64.self)
        _ = try? single.decode(Double.self)
    }
}
