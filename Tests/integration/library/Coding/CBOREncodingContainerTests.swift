import Foundation
import Testing

@testable import Tidings
@testable import TidingsCoding

/// `Encodable` code that uses its containers in orders that synthesized code never uses.
@Suite(.serialized) struct CBOREncodingContainerTests {
    /// Encodes by a closure.
    struct Custom: Encodable {
        let body: (any Encoder) throws -> Void

        init(_ body: @escaping (any Encoder) throws -> Void) { self.body = body }

        func encode(to encoder: any Encoder) throws { try body(encoder) }
    }

    struct Failure: Error {}

    @Test func nestedContainersWrittenInTurns() throws {
        let bytes = try cborEncode(
            Custom { encoder throws in
                var map = encoder.container(keyedBy: CBORKey.self)
                var first = map.nestedUnkeyedContainer(forKey: "first")
                var second = map.nestedContainer(keyedBy: CBORKey.self, forKey: "second")
                for number in 0..<30 {
                    try first.encode(number)
                    try second.encode(number, forKey: CBORKey(intValue: number))
                    try map.encode(true, forKey: CBORKey(stringValue: "own \(number)"))
                }
                #expect(first.count == 30)
            })
        var expected: [String: CBORTree] = [:]
        expected["first"] = .array((0..<30).map { .unsigned($0) })
        expected["second"] = .map(Dictionary(uniqueKeysWithValues: (0..<30).map { ("\($0)", .unsigned($0)) }))
        for number in 0..<30 { expected["own \(number)"] = .simple(21) }
        #expect(CBORTree(bytes) == .map(expected))
    }

    /// Random containers at random positions, written in a random order, compared with a model.
    @Test(arguments: 1...60 as ClosedRange<UInt64>) func randomTurns(seed: UInt64) throws {
        var generator = CBORSeededGenerator(seed: seed)
        let model = Model(kind: .map)
        let bytes = try cborEncode(
            Custom { encoder throws in
                var open: [(Model, Open)] = [(model, .map(encoder.container(keyedBy: CBORKey.self)))]
                for step in 0..<Int.random(in: 1...400, using: &generator) {
                    let index = Int.random(in: 0..<open.count, using: &generator)
                    if let new = try Self.write(step, &open[index], &generator) { open.append(new) }
                }
            })
        #expect(CBORTree(bytes) == model.tree, "seed \(seed): \(cborHex(bytes))")
    }

    /// The expected content of the random test.
    final class Model {
        enum Kind {
            case map, array
            case value(CBORTree)
            case reserved
        }
        var kind: Kind
        var entries: [(String, Model)] = []

        init(kind: Kind) { self.kind = kind }

        var tree: CBORTree {
            switch kind {
            case .map: .map(Dictionary(uniqueKeysWithValues: entries.map { ($0, $1.tree) }))
            case .array: .array(entries.map(\.1.tree))
            case .value(let tree): tree
            case .reserved: .map([:])
            }
        }
    }

    enum Open {
        case map(KeyedEncodingContainer<CBORKey>)
        case array(any UnkeyedEncodingContainer)
        case encoder(any Encoder)
    }

    static func write(
        _ step: Int, _ target: inout (Model, Open), _ generator: inout CBORSeededGenerator
    ) throws -> (Model, Open)? {
        let key = CBORKey(
            stringValue: String(repeating: "k", count: Int.random(in: 0...30, using: &generator)) + "\(step)")
        let choice = Int.random(in: 0..<6, using: &generator)
        let model: Model
        var new: Open?
        switch target.1 {
        case .map(var map):
            switch choice {
            case 0:
                model = Model(kind: .map)
                new = .map(map.nestedContainer(keyedBy: CBORKey.self, forKey: key))
            case 1:
                model = Model(kind: .array)
                new = .array(map.nestedUnkeyedContainer(forKey: key))
            case 2:
                model = Model(kind: .reserved)
                new = .encoder(map.superEncoder(forKey: key))
            case 3:
                model = Model(kind: .value(.array([.unsigned(1), .text("x")])))
                try map.encode(Mixed(), forKey: key)
            case 4:
                model = Model(kind: .value(.simple(22)))
                // A value whose encoding fails midway leaves no trace.
                try? map.encode(Failing(), forKey: CBORKey(stringValue: "failing"))
                try map.encodeNil(forKey: key)
            default:
                model = Model(kind: .value(.unsigned(UInt64(step))))
                try map.encode(step, forKey: key)
            }
            target.1 = .map(map)
        case .array(var array):
            switch choice {
            case 0:
                model = Model(kind: .map)
                new = .map(array.nestedContainer(keyedBy: CBORKey.self))
            case 1:
                model = Model(kind: .array)
                new = .array(array.nestedUnkeyedContainer())
            case 2:
                model = Model(kind: .reserved)
                new = .encoder(array.superEncoder())
            case 3:
                model = Model(kind: .value(.array([.unsigned(1), .text("x")])))
                try array.encode(Mixed())
            case 4:
                model = Model(kind: .value(.simple(22)))
                try? array.encode(Failing())
                try array.encodeNil()
            default:
                model = Model(kind: .value(.unsigned(UInt64(step))))
                try array.encode(step)
            }
            target.1 = .array(array)
        case .encoder(let encoder):
            if case .reserved = target.0.kind {
                switch choice {
                case 0, 1:
                    target.0.kind = .map
                    target.1 = .map(encoder.container(keyedBy: CBORKey.self))
                case 2:
                    target.0.kind = .array
                    target.1 = .array(encoder.unkeyedContainer())
                case 3:
                    var container = encoder.singleValueContainer()
                    try? container.encode(Failing())
                case 4:
                    target.0.kind = .value(.array([.unsigned(1), .text("x")]))
                    var container = encoder.singleValueContainer()
                    try container.encode(Mixed())
                default:
                    target.0.kind = .value(.text("single"))
                    var container = encoder.singleValueContainer()
                    try container.encode("single")
                }
            }
            return nil
        }
        target.0.entries.append((key.stringValue, model))
        return new.map { (model, $0) }
    }

    struct Mixed: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            try container.encode(1)
            var single = container.superEncoder().singleValueContainer()
            try single.encode("x")
        }
    }

    struct Failing: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CBORKey.self)
            var nested = container.nestedUnkeyedContainer(forKey: "nested")
            try container.encode("something", forKey: "before")
            try nested.encode(1)
            throw Failure()
        }
    }

    @Test func countsThatWidenTheHeader() throws {
        for count in [0, 1, 23, 24, 25, 255, 256, 257, 65535, 65536, 65537] {
            let bytes = try cborEncode(Array(repeating: true, count: count))
            #expect(CBORTree(bytes) == .array(Array(repeating: .simple(21), count: count)))
            let nested = try cborEncode([[Array(repeating: 1, count: count), [2]], [[3]]])
            #expect(try cborDecode([[[Int]]].self, nested)[0][0].count == count)
        }
        for count in [23, 24, 255, 256, 300] {
            try cborRoundTrip(["m": Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0)", [$0]) }), "n": [:]])
        }
    }

    @Test func nothingEncoded() throws {
        let nothing = Custom { _ in }
        #expect(throws: EncodingError.self) { try cborEncode(nothing) }
        #expect(CBORTree(try cborEncode(["a": nothing])) == .map(["a": .map([:])]))
        #expect(try cborEncode([nothing, nothing]) == [0x82, 0xA0, 0xA0])
        #expect(try cborEncode(Custom { _ = $0.container(keyedBy: CBORKey.self) }) == [0xA0])
        #expect(try cborEncode(Custom { _ = $0.unkeyedContainer() }) == [0x80])
        let reserved = Custom { encoder throws in
            var map = encoder.container(keyedBy: CBORKey.self)
            _ = map.superEncoder()
        }
        #expect(CBORTree(try cborEncode(reserved)) == .map(["super": .map([:])]))
    }

    @Test func misuseThrows() throws {
        // Two kinds of container, two single values, one kind after the other.
        let misuses: [(any Encoder) throws -> Void] = [
            { encoder in
                _ = encoder.container(keyedBy: CBORKey.self)
                _ = encoder.unkeyedContainer()
            },
            { encoder in
                var first = encoder.singleValueContainer()
                var second = encoder.singleValueContainer()
                try first.encode(1)
                try second.encode(2)
            },
            { encoder in
                _ = encoder.unkeyedContainer()
                var single = encoder.singleValueContainer()
                try single.encode(2)
            },
            { encoder in
                var single = encoder.singleValueContainer()
                try single.encode("x")
                var map = encoder.container(keyedBy: CBORKey.self)
                try? map.encode(1, forKey: "a")
                _ = map.nestedContainer(keyedBy: CBORKey.self, forKey: "b")
            },
        ]
        for misuse in misuses {
            #expect(throws: EncodingError.self) { try cborEncode(Custom(misuse)) }
            #expect(throws: EncodingError.self) { try cborEncode([Custom(misuse)]) }
        }
    }

    @Test func aContainerKeptTooLongThrows() throws {
        var kept: KeyedEncodingContainer<CBORKey>?
        var encoder: (any Encoder)?
        _ = try cborEncode([
            Custom {
                kept = $0.container(keyedBy: CBORKey.self)
                encoder = $0
            }
        ])
        #expect(throws: EncodingError.self) { try kept?.encode(1, forKey: "late") }
        let other = try cborEncode([
            Custom {
                var own = $0.container(keyedBy: CBORKey.self)
                try own.encode(2, forKey: "own")
                #expect(throws: EncodingError.self) { try kept?.encode(1, forKey: "late") }
                #expect(encoder?.codingPath.isEmpty == true)
            }
        ])
        #expect(cborHex(other) == "81a1636f776e02")
        // These calls can't throw, and do not affect the current encoding.
        #expect(
            try cborEncode(
                Custom {
                    _ = encoder?.container(keyedBy: CBORKey.self)
                    _ = $0.container(keyedBy: CBORKey.self)
                }) == [0xA0])
    }

    @Test func anotherPayloadInsideOne() throws {
        let bytes = try cborEncode(
            Custom {
                var map = $0.container(keyedBy: CBORKey.self)
                try map.encode(1, forKey: "a")
                try map.encode(Data(cborEncode(["inner": [1, 2, 3]])), forKey: "b")
                try map.encode(2, forKey: "c")
            })
        #expect(
            CBORTree(bytes)
                == .map(["a": .unsigned(1), "b": .bytes(innerBytes), "c": .unsigned(2)]))
    }

    @Test func pathsInErrors() throws {
        struct Refusing: Encodable {
            func encode(to encoder: any Encoder) throws {
                let context = EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "")
                throw EncodingError.invalidValue(0, context)
            }
        }
        func pathOf(_ value: some Encodable) -> String? {
            cborFailingPath { _ = try cborEncode(value) }
        }
        #expect(pathOf(["a": [[1: "x"]], "b": []] as [String: [[Int: String]]]) == nil)
        #expect(pathOf(["a": ["b": [Refusing()]]]) == "a.b.[0]")
        #expect(pathOf([["x"]: [[Refusing()]]] as [[String]: [[Refusing]]]) == "[1].[0].[0]")
        #expect(pathOf([Date(timeIntervalSince1970: .nan)]) == nil)
        let long = String(repeating: "long key ", count: 40)
        #expect(pathOf([long: ["": Refusing()]]) == long + ".")
        let mixed = Custom { encoder throws in
            var map = encoder.container(keyedBy: CBORKey.self)
            var list = map.nestedUnkeyedContainer(forKey: "list")
            try map.encode(1, forKey: "other")
            try list.encode(1)
            var inner = list.nestedContainer(keyedBy: CBORKey.self)
            try map.encode(2, forKey: "another")
            #expect(inner.codingPath.map(\.stringValue) == ["list", "1"])
            try inner.encode(Refusing(), forKey: "in")
        }
        #expect(pathOf(mixed) == "list.[1].in")
    }

    @Test func growthThatFailsEndsTheEncoding() throws {
        let value = ["a": [1, 2, 3], "b": [4]]
        let size = try cborEncode(value).count
        for limit in 0..<size {
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: limit, alignment: 1)
            defer { memory.deallocate() }
            var owner = FixedMemory { used, needed in
                #expect(used <= limit && needed > limit)
                throw Failure()
            }
            // Also if the value ignores the error, and in calls that can't throw.
            let careless = Custom { encoder throws in
                var list = encoder.unkeyedContainer()
                for _ in 0..<10 { try? list.encode("some text") }
                _ = list.nestedUnkeyedContainer()
            }
            withUnsafeMutablePointer(to: &owner) { owner in
                var buffer = PayloadBuffer(memory, owner: owner)
                #expect(throws: Failure.self) { try CBORPayloadEncoder().encode(value, into: &buffer) }
                #expect(throws: Failure.self) { try CBORPayloadEncoder().encode(careless, into: &buffer) }
                #expect(buffer.count == 0)
            }
        }
    }

    @Test func encodingAppends() throws {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 1)
        defer { memory.deallocate() }
        var owner = FixedMemory { _, _ in throw Failure() }
        try withUnsafeMutablePointer(to: &owner) { owner in
            var buffer = PayloadBuffer(memory, owner: owner)
            try CBORPayloadEncoder().encode([1], into: &buffer)
            try CBORPayloadEncoder().encode("x", into: &buffer)
            #expect(throws: (any Error).self) { try CBORPayloadEncoder().encode(["k": Failing()], into: &buffer) }
            #expect(cborHex(Array(buffer.bytes)) == "81016178")
        }
    }

    @Test func manyThreadsAtOnce() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for round in 0..<200 { try cborRoundTrip(["\(task)": [round, task], "other": []]) }
                }
            }
            try await group.waitForAll()
        }
    }
}

private let innerBytes = cborBytes("a165696e6e657283010203")

extension CBORKey: ExpressibleByStringLiteral {
    public init(stringLiteral value: String) { self.init(stringValue: value) }
}
