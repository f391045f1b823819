import Foundation
import Testing

@testable import Tidings
@testable import TidingsCoding

/// Bytes that another process changes between two reads of the decoder. What changes them here is the type that is
/// decoded: the decoder comes to its `init(from:)` between two reads.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct CBORChangingBytesTests {
    private static func decode<T: Decodable>(
        _ type: T.Type, _ bytes: [UInt8], _ during: (UnsafeMutableRawBufferPointer) -> Void = { _ in }
    ) throws -> T {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        defer { memory.deallocate() }
        memory.copyBytes(from: bytes)
        during(memory)
        return try CBORPayloadDecoder().decode(type, from: UnsafeRawBufferPointer(memory), isShared: true)
    }

    /// An array of this many elements, and the offset of the first.
    private static func array(_ count: Int, of element: [UInt8]) -> [UInt8] {
        cborHead(4, count) + Array(repeating: element, count: count).joined()
    }

    private struct Nested: Decodable {
        nonisolated(unsafe) static var memory: UnsafeMutableRawBufferPointer?
        nonisolated(unsafe) static var deepest = 0
        nonisolated(unsafe) static var depth = 0

        init(from decoder: any Decoder) throws {
            if let memory = Self.memory {
                for offset in 5..<memory.count { memory[offset] = 0x81 }
                Self.memory = nil
            }
            Self.depth += 1
            defer { Self.depth -= 1 }
            Self.deepest = max(Self.deepest, Self.depth)
            guard var list = try? decoder.unkeyedContainer() else { return }
            while !list.isAtEnd { _ = try list.decode(Nested.self) }
        }
    }

    /// `[[1], [1], …]` becomes `[[[[…` after the scan. The stack of a thread would not hold a call for each.
    @Test func valuesAreNotNestedDeeperThanAPayloadMayBe() throws {
        Nested.deepest = 0
        #expect(throws: DecodingError.self) {
            try Self.decode(Nested.self, Self.array(100_000, of: [0x81, 0x01])) { Nested.memory = $0 }
        }
        #expect(Nested.deepest > 100 && Nested.deepest <= CBORLimit.depth + 2)
    }

    private struct Grown: Decodable {
        nonisolated(unsafe) static var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        nonisolated(unsafe) static var next = 0
        nonisolated(unsafe) static var read = 0

        init(from decoder: any Decoder) throws {
            let place = Self.next
            Self.next += 1
            let left = Self.memory.count - place - 5
            guard left > 0 else { return }
            // An empty text is as long as the rest of the payload while it is read.
            let head = cborHead(3, left)
            for (index, byte) in head.enumerated() { Self.memory[place + index] = byte }
            for index in place + head.count..<Self.memory.count { Self.memory[index] = 0x61 }
            defer { for index in place..<Self.memory.count { Self.memory[index] = 0x60 } }
            Self.read += try String(from: decoder).utf8.count
        }
    }

    @Test func textsThatGrowWhileTheyAreReadAreNotAllCopied() throws {
        let bytes = Self.array(70_000, of: [0x60])
        (Grown.next, Grown.read) = (5, 0)
        #expect(throws: DecodingError.self) { try Self.decode([Grown].self, bytes) { Grown.memory = $0 } }
        #expect(Grown.read > bytes.count && Grown.read <= 18 * bytes.count, "each byte is read 16 times at most")
    }

    /// What stays as it is may be read several times, and is decoded as a copy of it would be.
    @Test func bytesThatStayAreDecoded() throws {
        let texts = (0..<1000).map { "text number \($0)" }
        #expect(try Self.decode([String].self, try cborEncode(texts)) == texts)
        let deep = Array(repeating: 0x81 as UInt8, count: 127) + [0x80]
        _ = try Self.decode(Nested.self, deep)
        let numbers = Dictionary(uniqueKeysWithValues: (0..<1000).map { ("key \($0)", $0) })
        #expect(try Self.decode([String: Int].self, try cborEncode(numbers)) == numbers)
        #expect(
            try Self.decode(Decimal.self, try cborEncode(Decimal(string: "-1.25e-20")!)) == Decimal(
                string: "-1.25e-20")!)
    }

    /// Another thread changes bytes all the time. Under the address sanitizer a read beyond the payload is found.
    @Test(.enabled(if: getenv("TSAN_OPTIONS") == nil, "the thread sanitizer reports this race, which is meant"))
    func noChangeMakesTheDecoderReadElsewhere() async throws {
        struct Person: Codable {
            var name: String
            var data: Data
            var tags: [String: [Int]]
            var amount: Decimal
            var friends: [Person]?
        }
        let friend = Person(
            name: String(repeating: "né", count: 40), data: Data(repeating: 7, count: 300),
            tags: Dictionary(uniqueKeysWithValues: (0..<40).map { ("tag \($0)", [$0, -$0]) }), amount: 1.5)
        var person = friend
        person.friends = Array(repeating: friend, count: 5)
        let original = try cborEncode(person)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: original.count, alignment: 1)
        memory.copyBytes(from: original)
        nonisolated(unsafe) let shared = memory
        let isOver = Locked(false)
        let changing = Task.detached {
            var generator = CBORSeededGenerator(seed: 1)
            while !isOver.withLock({ $0 }) {
                for _ in 0..<100 {
                    let place = Int.random(in: 0..<shared.count, using: &generator)
                    shared[place] =
                        generator.next() % 2 == 0 ? original[place] : UInt8(truncatingIfNeeded: generator.next())
                    if generator.next() % 64 == 0 { shared.copyBytes(from: original) }
                }
            }
        }
        for round in 0..<(isSanitized ? 500 : 3000) {
            let bytes = UnsafeRawBufferPointer(memory)
            _ = try? CBORPayloadDecoder().decode(Person.self, from: bytes, isShared: true)
            _ = try? CBORPayloadDecoder().decode(CBORHostileBytesTests.Anything.self, from: bytes, isShared: true)
            if round % 10 == 0 { memory.copyBytes(from: original) }
        }
        isOver.withLock { $0 = true }
        await changing.value
        memory.deallocate()
    }
}
