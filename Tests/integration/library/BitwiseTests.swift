import Dispatch
import Testing
import TidingsAdministration

@testable import Tidings

/// Bitwise messages are sent as their bytes, whether or not the compiler knows the type.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct BitwiseTests {
    struct Reading: Center.BitwiseMessage, Equatable {
        static let name: Center.Name = "test.reading"
        var value: Double
        var flags: UInt8
        var count: UInt16
    }

    struct Other: Center.BitwiseMessage, Equatable {
        static let name: Center.Name = "test.other"
        var value: Double
        var flags: UInt8
        var count: UInt16
    }

    struct Chooses: Center.BitwiseMessage, Equatable {
        static let name: Center.Name = "test.chooses"
        static var encoding: Center.PayloadEncoding { .json }
        var value: Int
    }

    private let reading = Reading(value: 2.5, flags: 7, count: 515)

    private func postGeneric<M: Center.Message>(_ message: M, to center: Center) throws {
        try center.post(message, options: .init(retain: true))
    }

    private func decodeMessage<M: Center.Message>(_ payload: Center.RawPayload, as type: M.Type) throws -> M {
        try payload.decode(type)
    }

    private func decodeGeneric<Value: Decodable>(_ payload: Center.RawPayload, as type: Value.Type) throws -> Value {
        try payload.decode(type)
    }

    @Test func theBytesDoNotDependOnWhetherTheTypeIsKnown() throws {
        let test = try TestCenter()
        try test.center.post(reading, options: .init(retain: true))
        let known = try #require(try test.center.rawState(for: Reading.name))
        try postGeneric(reading, to: test.center)
        let generic = try #require(try test.center.rawState(for: Reading.name))
        #expect(known.format == .bitwise)
        #expect(known.bytes.count == 8 + MemoryLayout<Reading>.size)
        // Not compared byte by byte: the padding between the fields is undefined.
        #expect(generic.format == .bitwise && generic.bytes.count == known.bytes.count)
        #expect(generic.bytes.prefix(8) == known.bytes.prefix(8))
        #expect(try known.decode(Reading.self) == reading && generic.decode(Reading.self) == reading)
    }

    @Test func allOptionsReachThePost() throws {
        let test = try TestCenter()
        try test.center.post(reading, options: .init(retain: true, timeout: .seconds(100_000)))
        try test.center.post(reading, options: .init(subject: "here", timeout: .seconds(100_000)))
        try test.center.post(reading)
        #expect(try test.center.statistics.posted == 3)
        #expect(try test.center.state(for: Reading.self) == reading)
        #expect(throws: SharedNotificationError.self) { try test.center.post(reading, options: .init(subject: "a\0b")) }
    }

    @Test func aTypeWithAnotherFormatIsSentInThatFormat() throws {
        let test = try TestCenter()
        try test.center.post(Chooses(value: 3), options: .init(retain: true))
        let payload = try #require(try test.center.rawState(for: Chooses.name))
        #expect(payload == .json(#"{"value":3}"#))
        #expect(try payload.decode(Chooses.self) == Chooses(value: 3))
    }

    @Test func rawPayloadsDecode() throws {
        let test = try TestCenter()
        try test.center.post(reading, options: .init(retain: true))
        let payload = try #require(try test.center.rawState(for: Reading.name))
        #expect(try payload.decode(Reading.self) == reading)
        #expect(try decodeGeneric(payload, as: Reading.self) == reading)
        #expect(try decodeMessage(payload, as: Reading.self) == reading)
        #expect(try decodeMessage(Center.RawPayload(encoding: Track(1)), as: Track.self) == Track(1))
        let inferred: Reading = try payload.decode()
        #expect(inferred == reading)
        // Other formats decode as before.
        #expect(try Center.RawPayload(encoding: reading).decode(Reading.self) == reading)
        #expect(try test.center.state(for: Reading.name, as: Reading.self) == reading)
    }

    @Test func otherBytesAreRefused() throws {
        let test = try TestCenter()
        try test.center.post(reading, options: .init(retain: true))
        let payload = try #require(try test.center.rawState(for: Reading.name))
        #expect(throws: DecodingError.self) { try payload.decode(Other.self) }
        #expect(throws: DecodingError.self) { try decodeGeneric(payload, as: Other.self) }
        #expect(throws: DecodingError.self) { try payload.decode(Track.self) }
        #expect(throws: DecodingError.self) { try payload.decode(Int.self) }
        for count in 0..<payload.bytes.count {
            let short = Center.RawPayload(format: .bitwise, bytes: Array(payload.bytes[..<count]))
            #expect(throws: DecodingError.self) { try short.decode(Reading.self) }
            #expect(throws: DecodingError.self) { try decodeGeneric(short, as: Reading.self) }
            #expect(throws: DecodingError.self) { try decodeMessage(short, as: Reading.self) }
        }
        let long = Center.RawPayload(format: .bitwise, bytes: payload.bytes + [0])
        #expect(throws: DecodingError.self) { try long.decode(Reading.self) }
    }

    @Test func theTableOfTypesKeepsTheFirstAnswer() {
        // More types than chains of the table. All threads look up all types at the same time.
        let types = (0..<200).map { Self.nested(Int.self, $0) }
        let table = TypeTable<Int>()
        let answers = Locked<[[Int]]>([])
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            let mine = types.indices.map { index in
                table.value(of: types[index]) ?? table.insert(thread * 1000 + index, for: types[index])
            }
            answers.withLock { $0.append(mine) }
        }
        let all = answers.withLock { $0 }
        #expect(Set(all).count == 1)
        #expect(all[0].enumerated().allSatisfy { $0.element % 1000 == $0.offset })
        #expect(types.indices.allSatisfy { table.value(of: types[$0]) == all[0][$0] })
        #expect(table.value(of: ObjectIdentifier(String.self)) == nil)
    }

    /// A distinct type for each depth.
    private static func nested<T>(_ type: T.Type, _ depth: Int) -> ObjectIdentifier {
        depth == 0 ? ObjectIdentifier(type) : nested(Optional<T>.self, depth - 1)
    }
}
