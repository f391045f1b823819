import Foundation
import Testing
import TidingsFoundation

@testable import Tidings
@testable import TidingsCoding

/// Decoding returns the encoded value: dates to the last bit, each key once, numbers by one rule.
@Suite(.serialized) struct CBORExactnessTests {
    typealias Custom = CBOREncodingContainerTests.Custom

    // MARK: Dates

    private func bits(_ date: Date) -> UInt64 { date.timeIntervalSinceReferenceDate.bitPattern }

    private func date(bits: UInt64) -> Date { Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits)) }

    /// A failure reports the seed and the bits.
    @Test func datesOfTheClockComeBackBitByBit() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = CBORSeededGenerator(seed: seed)
        for _ in 0..<(isSanitized ? 1_000 : 5_000) {
            let date = Date(timeIntervalSinceReferenceDate: .random(in: -3e9...3e9, using: &generator))
            let bytes = try cborEncode(date)
            // A date that every reader decodes: seconds since 1970, or a text.
            #expect(bytes[0] == 0xC1 || bytes[0] == 0xC0, "seed \(seed)")
            #expect(bits(try cborDecode(Date.self, bytes)) == bits(date), "seed \(seed), bits \(bits(date))")
        }
    }

    @Test func everyBitPatternOfADateComesBack() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = CBORSeededGenerator(seed: seed)
        var patterns = (0..<(isSanitized ? 1_000 : 5_000)).map { _ in UInt64.random(in: 0 ... .max, using: &generator) }
        let special: [Double] = [
            0, -0.0, 1, -1, .infinity, -.infinity, .nan, .signalingNaN, -.nan, .leastNonzeroMagnitude,
            -.leastNonzeroMagnitude, .leastNormalMagnitude, -1e-20, .greatestFiniteMagnitude, 0x1p53, -0x1p53,
            0x1.fffffffffffffp37, 63_113_904_000, -63_114_076_800, 252_423_993_599.99997, 252_423_993_600,
            -63_145_699_200, -63_145_699_200.00001, -0.1, -978_307_200,
        ]
        patterns += special.map(\.bitPattern)
        for pattern in patterns {
            let back = try cborDecode(Date.self, cborEncode(date(bits: pattern)))
            #expect(bits(back) == pattern, "seed \(seed), bits \(pattern)")
            // In a map, beside other values, and as a property list's value.
            let property = SharedNotificationCenter.PropertyValue.date(date(bits: pattern))
            let entries = try cborDecode(
                [String: SharedNotificationCenter.PropertyValue].self, cborEncode(["a": property, "b": 1]))
            #expect(entries["a"]?.date.map(bits) == pattern)
            #expect(entries["b"] == 1)
        }
    }

    @Test(arguments: [
        (816_580_444.1, "2026-11-17T03:54:04.1Z"), (-0x1p-30, "2000-12-31T23:59:59.999999999068677425384521484375Z"),
        (0x1p-30, "2001-01-01T00:00:00.000000000931322574615478515625Z"),
    ])
    func textWhereSecondsSince1970WouldRound(_ number: Double, _ text: String) throws {
        let date = Date(timeIntervalSinceReferenceDate: number)
        let bytes = try cborEncode(date)
        #expect(bytes[0] == 0xC0)
        let written = try cborDecode(String.self, Array(bytes.dropFirst()))
        let read = try #require(CBORDateText.parse(text))
        #expect(bits(read) == bits(date))
        #expect(written.count <= text.count && CBORDateText.parse(written).map(bits) == bits(date), "\(written)")
    }

    @Test func fractionsOfAnyLengthAreTheNearestDate() throws {
        let half = "2013-03-21T20:04:00.5"
        let zeros = String(repeating: "0", count: 5_000)
        #expect(CBORDateText.parse("\(half)\(zeros)Z") == Date(timeIntervalSince1970: 1_363_896_240.5))
        #expect(CBORDateText.parse("\(half)\(zeros)1Z") == Date(timeIntervalSince1970: 1_363_896_240.5))
        #expect(CBORDateText.parse("2000-12-31T23:59:59.\(zeros)1Z") == Date(timeIntervalSinceReferenceDate: -1))
        // Halfway between two dates, and a digit far beyond that decides.
        let tie = Date(timeIntervalSinceReferenceDate: 816_580_444)
        let next = tie.timeIntervalSinceReferenceDate.nextUp
        let middle = "2026-11-17T03:54:04.000000059604644775390625"
        #expect(CBORDateText.parse("\(middle)Z") == tie)
        #expect(CBORDateText.parse("\(middle)\(zeros)1Z") == Date(timeIntervalSinceReferenceDate: next))
    }

    @Test func datesAreSecondsInJSONWhateverTheirForm() throws {
        for number in [816_580_444.5, 816_580_444.1] {
            let date = Date(timeIntervalSinceReferenceDate: number)
            let payload = SharedNotificationCenter.RawPayload(format: .cbor, bytes: try cborEncode(["at": date]))
            #expect(payload.json == #"{"at":\#(date.timeIntervalSince1970)}"#)
        }
    }

    // MARK: Keys

    /// The value of a payload, for comparison with the output of `JSONEncoder` for the same value.
    private func meaning(_ bytes: [UInt8]) throws -> NSObject {
        // Each key occurs once, or there is no tree.
        _ = try #require(CBORTree(bytes), "\(cborHex(bytes))")
        let json = try #require(CBORToJSON.convert(bytes))
        return try #require(JSONSerialization.jsonObject(with: Data(json.utf8)) as? NSObject)
    }

    private func expectAsInFoundation(_ value: some Encodable, _ comment: Comment? = nil) throws {
        let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(value)) as? NSObject
        #expect(try meaning(cborEncode(value)) == json, comment)
    }

    @Test func theLastValueOfAKeyWins() throws {
        try expectAsInFoundation(
            Custom { encoder throws in
                var map = encoder.container(keyedBy: CBORKey.self)
                try map.encode(1, forKey: "a")
                try map.encode("between", forKey: "b")
                try map.encode([1, 2, 3], forKey: "a")
                try map.encode(3, forKey: "b")
                try map.encodeNil(forKey: "c")
                try map.encode("x", forKey: "c")
                try map.encodeIfPresent(Int?.none, forKey: "c")
                try map.encode(["k": [1]], forKey: "")
                try map.encode(true, forKey: "")
            })
    }

    @Test func containersOfOneKeyMerge() throws {
        try expectAsInFoundation(
            Custom { encoder throws in
                var map = encoder.container(keyedBy: CBORKey.self)
                var first = map.nestedContainer(keyedBy: CBORKey.self, forKey: "m")
                var list = map.nestedUnkeyedContainer(forKey: "l")
                try first.encode(1, forKey: "a")
                try list.encode(1)
                var second = map.nestedContainer(keyedBy: CBORKey.self, forKey: "m")
                try second.encode(2, forKey: "b")
                try second.encode(3, forKey: "a")
                try first.encode(4, forKey: "c")
                var more = map.nestedUnkeyedContainer(forKey: "l")
                try more.encode(2)
                try list.encode(3)
                // A container that was encoded as a whole can be continued as well.
                try map.encode(["a": 1, "b": 2], forKey: "n")
                var third = map.nestedContainer(keyedBy: CBORKey.self, forKey: "n")
                try third.encode(3, forKey: "b")
                try third.encode(4, forKey: "c")
                try map.encode([1], forKey: "o")
                var fourth = map.nestedUnkeyedContainer(forKey: "o")
                try fourth.encode(2)
                try map.encode(true, forKey: "end")
            })
    }

    /// A superclass and a subclass that write to one map.
    @Test func aSubclassOverridesKeysOfItsSuperclass() throws {
        class Base: Encodable {
            enum CodingKeys: CodingKey { case kind, base, nested }
            func encode(to encoder: any Encoder) throws {
                var map = encoder.container(keyedBy: CodingKeys.self)
                try map.encode("base", forKey: .kind)
                try map.encode(1, forKey: .base)
                var nested = map.nestedContainer(keyedBy: CodingKeys.self, forKey: .nested)
                try nested.encode(1, forKey: .base)
            }
        }
        final class Sub: Base {
            enum CodingKeys: CodingKey { case sub, nested, kind }
            override func encode(to encoder: any Encoder) throws {
                try super.encode(to: encoder)
                var map = encoder.container(keyedBy: CodingKeys.self)
                try map.encode("sub", forKey: .kind)
                var nested = map.nestedContainer(keyedBy: CodingKeys.self, forKey: .nested)
                try nested.encode(2, forKey: .sub)
            }
        }
        try expectAsInFoundation(Sub())
        try expectAsInFoundation([Sub(), Base()])
    }

    @Test(arguments: 1...80 as ClosedRange<UInt64>) func randomKeysAgain(seed: UInt64) throws {
        let isLarge = seed % 4 == 0
        let value = Custom { encoder throws in
            var generator = CBORSeededGenerator(seed: seed)
            var maps = [encoder.container(keyedBy: CBORKey.self)]
            // The content of each key of each map. A replaced container is not used again.
            var kinds: [[String: Int]] = [[:]]
            for step in 0..<Int.random(in: 1...300, using: &generator) {
                let index = Int.random(in: 0..<maps.count, using: &generator)
                let number = Int.random(in: 0..<(isLarge ? 120 : 9), using: &generator)
                let key = "\(isLarge ? "a long key, number " : "")\(number)"
                let kind = kinds[index][key]
                // Only whole numbers and texts replace a value: Foundation continues to write to a replaced container.
                switch Int.random(in: 0..<6, using: &generator) {
                case 0 where kind == nil && maps.count < 12:
                    maps.append(maps[index].nestedContainer(keyedBy: CBORKey.self, forKey: CBORKey(stringValue: key)))
                    kinds.append([:])
                    kinds[index][key] = 1
                case 1 where kind == nil || kind == 2:
                    var list = maps[index].nestedUnkeyedContainer(forKey: CBORKey(stringValue: key))
                    try list.encode(step)
                    kinds[index][key] = 2
                case 2 where kind == 1:
                    var again = maps[index].nestedContainer(keyedBy: CBORKey.self, forKey: CBORKey(stringValue: key))
                    try again.encode(step, forKey: "by another handle")
                case 3 where kind != 1:
                    try maps[index].encode([step: ["x": step]], forKey: CBORKey(stringValue: key))
                    kinds[index][key] = 3
                case _ where kind != 1:
                    try maps[index].encode("\(step)", forKey: CBORKey(stringValue: key))
                    kinds[index][key] = 3
                default: continue
                }
            }
        }
        try expectAsInFoundation(value, "seed \(seed)")
        try expectAsInFoundation(["within": [value]], "seed \(seed)")
    }

    @Test func aContainerThatWasReplacedIsOutOfUse() throws {
        let bytes = try cborEncode(
            Custom { encoder throws in
                var map = encoder.container(keyedBy: CBORKey.self)
                var nested = map.nestedContainer(keyedBy: CBORKey.self, forKey: "a")
                var inner = nested.nestedUnkeyedContainer(forKey: "b")
                try inner.encode(1)
                try map.encode(2, forKey: "a")
                #expect(throws: EncodingError.self) { try nested.encode(3, forKey: "c") }
                #expect(throws: EncodingError.self) { try inner.encode(4) }
                _ = map.superEncoder(forKey: "d")
                var single = map.superEncoder(forKey: "d").singleValueContainer()
                try single.encode(5)
            })
        #expect(CBORTree(bytes) == .map(["a": .unsigned(2), "d": .unsigned(5)]))
    }

    @Test func aContainerWhereAKeyHasAnotherKindIsAnError() throws {
        let misuses: [(inout KeyedEncodingContainer<CBORKey>) throws -> Void] = [
            { map in
                try map.encode(1, forKey: "a")
                _ = map.nestedContainer(keyedBy: CBORKey.self, forKey: "a")
            },
            { map in
                _ = map.nestedUnkeyedContainer(forKey: "a")
                _ = map.nestedContainer(keyedBy: CBORKey.self, forKey: "a")
            },
            { map in
                try map.encode(["x": 1], forKey: "a")
                _ = map.nestedUnkeyedContainer(forKey: "a")
            },
        ]
        for misuse in misuses {
            let error = #expect(throws: EncodingError.self) {
                try cborEncode(
                    Custom {
                        var map = $0.container(keyedBy: CBORKey.self)
                        try misuse(&map)
                    })
            }
            #expect("\(error.map { "\($0)" } ?? "")".contains("another kind"))
        }
    }

    /// A value writes to the map to which it is being written.
    @Test func aValueThatWritesItsOwnKeyAgain() throws {
        let bytes = try cborEncode(
            Custom { encoder throws in
                var map = encoder.container(keyedBy: CBORKey.self)
                for number in 0..<23 { try map.encode(number, forKey: CBORKey(stringValue: "key \(number)")) }
                let door = map
                let again = Custom { inner throws in
                    var (own, door) = (inner.container(keyedBy: CBORKey.self), door)
                    try own.encode(1, forKey: "a")
                    // While this pair is written, the header grows and an older pair is removed.
                    try door.encode("behind", forKey: "new")
                    try door.encode("instead", forKey: "key 3")
                    try own.encode(2, forKey: "b")
                }
                try map.encode(again, forKey: "key 7")
                try map.encode("last", forKey: "end")
            })
        guard case .map(let pairs)? = CBORTree(bytes) else {
            Issue.record("not a map: \(cborHex(bytes))")
            return
        }
        #expect(pairs.count == 25)
        #expect(pairs["key 7"] == .map(["a": .unsigned(1), "b": .unsigned(2)]))
        #expect(pairs["key 3"] == .text("instead") && pairs["new"] == .text("behind") && pairs["end"] == .text("last"))
    }

    // MARK: Types and paths

    class Animal: Codable {
        var name: String
        var kind: String { "animal" }
        init(name: String) { self.name = name }
        required init(from decoder: any Decoder) throws {
            name = try decoder.container(keyedBy: CBORKey.self).decode(String.self, forKey: "name")
        }
    }

    final class Dog: Animal {
        override var kind: String { "dog" }
    }

    @Test func theRequestedTypeIsCreated() throws {
        struct Kennel: Decodable {
            let kinds: [String?]
            init(from decoder: any Decoder) throws {
                let map = try decoder.container(keyedBy: CBORKey.self)
                var list = try map.nestedUnkeyedContainer(forKey: "list")
                let single = try map.superDecoder(forKey: "one").singleValueContainer()
                // Not in a keyed container: the standard library's `decodeIfPresent` passes the static type, with every
                // decoder.
                kinds = [
                    try list.decode(Dog.self as Animal.Type).kind, try single.decode(Dog.self as Animal.Type).kind,
                    try list.decodeIfPresent(Dog.self as Animal.Type)?.kind,
                    try list.decodeIfPresent(Dog.self as Animal.Type)?.kind,
                    try list.decodeIfPresent(Dog.self as Animal.Type)?.kind,
                ]
            }
        }
        let rex = try cborEncode(["name": "Rex"])
        #expect(try cborDecode(Dog.self as Animal.Type, rex).kind == "dog")
        #expect(try cborDecode(Animal.self, rex).kind == "animal")
        let kennel = try cborEncode(
            Custom { encoder throws in
                var map = encoder.container(keyedBy: CBORKey.self)
                try map.encode(["name": "Rex"], forKey: "one")
                try map.encode([["name": "Rex"], ["name": "Rex"], nil], forKey: "list")
            })
        let kinds = try cborDecode(Kennel.self, kennel).kinds
        #expect(kinds == ["dog", "dog", "dog", nil, nil])
        let payload = SharedNotificationCenter.RawPayload(format: .cbor, bytes: rex)
        #expect(try payload.decode(Dog.self as Animal.Type).kind == "dog")
        let json = SharedNotificationCenter.RawPayload(format: .json, bytes: Array(#"{"name":"Rex"}"#.utf8))
        #expect(try json.decode(Dog.self as Animal.Type).kind == "dog")
    }

    enum Numbered: Int, CodingKey {
        case first = 1
        case second = 2
    }

    @Test func pathsKeepIntegerKeys() throws {
        struct Inner: Codable {
            var path: [Int?] = []
            init() {}
            init(from decoder: any Decoder) throws { path = decoder.codingPath.map(\.intValue) }
            func encode(to encoder: any Encoder) throws {
                let path = encoder.codingPath
                #expect(path.map(\.intValue) == [2, 7], "\(path)")
                #expect(path.map(\.stringValue) == ["second", "7"])
                var single = encoder.singleValueContainer()
                try single.encode(true)
            }
        }
        struct Outer: Codable {
            var path: [Int?]?
            init() {}
            func encode(to encoder: any Encoder) throws {
                var map = encoder.container(keyedBy: Numbered.self)
                try map.encode(false, forKey: .first)
                try map.encode([7: Inner()], forKey: .second)
                let nested = map.nestedContainer(keyedBy: CBORKey.self, forKey: .first)
                _ = nested
            }
            init(from decoder: any Decoder) throws {
                let map = try decoder.container(keyedBy: Numbered.self)
                path = try map.decode([Int: Inner].self, forKey: .second)[7]?.path
            }
        }
        let value = Custom { encoder throws in
            var map = encoder.container(keyedBy: Numbered.self)
            try map.encode([7: Inner()], forKey: .second)
            let nested = map.nestedContainer(keyedBy: CBORKey.self, forKey: .first)
            #expect(nested.codingPath.map(\.intValue) == [1])
        }
        #expect(try cborDecode(Outer.self, cborEncode(value)).path == [2, 7])
    }

    // MARK: Dates in JSON

    /// A date shown by `RawPayload.json` or the command, and posted again as JSON, is the same date.
    @Test func datesInJSONCountFrom1970() throws {
        struct Event: SharedNotificationCenter.Message, Equatable {
            static let encoding = SharedNotificationCenter.PayloadEncoding.json
            var at: Date
        }
        let event = Event(at: Date(timeIntervalSince1970: 1_700_000_000.25))
        #expect(String(decoding: try PayloadCoding.jsonBytes(of: event), as: UTF8.self) == #"{"at":1700000000.25}"#)
        let shown = try SharedNotificationCenter.RawPayload(encoding: event).json
        #expect(shown == #"{"at":1700000000.25}"#)
        #expect(try SharedNotificationCenter.RawPayload.json(shown).decode(Event.self) == event)
        #expect(throws: (any Error).self) { try PayloadCoding.jsonBytes(of: Date(timeIntervalSince1970: .nan)) }
        #expect(throws: DecodingError.self) { try JSONPayload.decode(Date.self, Array(#""yesterday""#.utf8)) }
    }

    @Test func datesInJSONComeBackBitByBit() throws {
        var random = SystemRandomNumberGenerator()
        var texts = 0
        for _ in 0..<2000 {
            let date = Date(timeIntervalSinceReferenceDate: Double.random(in: 5e8...9e8, using: &random))
            let json = try PayloadCoding.jsonBytes(of: date)
            let back = try JSONPayload.decode(Date.self, json)
            #expect(back.timeIntervalSinceReferenceDate.bitPattern == date.timeIntervalSinceReferenceDate.bitPattern)
            if json.first == UInt8(ascii: "\"") { texts += 1 }
            // A shown payload has the nearest number of seconds since 1970.
            let shown = try SharedNotificationCenter.RawPayload(encoding: date).json
            let nearest = try JSONPayload.decode(Date.self, Array(shown.utf8))
            #expect(nearest == Date(timeIntervalSince1970: date.timeIntervalSince1970))
        }
        #expect(texts > 0 && texts < 2000)
        // For a year that the text form can't express: the nearest number.
        let far = Date(timeIntervalSinceReferenceDate: 1e300)
        #expect(try JSONPayload.decode(Date.self, PayloadCoding.jsonBytes(of: far)) == far)
    }

    // MARK: Numbers

    /// One rule: an integer is exact or refused; a floating-point number is the nearest one, and is infinite or 0 only
    /// if the number is.
    @Test(arguments: [
        ("1.5", "fb3ff8000000000000"), ("1.0", "fb3ff0000000000000"), ("300", "19012c"), ("-1", "20"),
        ("-129", "3880"), ("9007199254740993", "1b0020000000000001"), ("-9007199254740993", "3b0020000000000000"),
        ("16777217", "1a01000001"),
        ("9223372036854775808", "1b8000000000000000"), ("18446744073709551615", "1bffffffffffffffff"),
        ("18446744073709551616", "c249010000000000000000"), ("-18446744073709551617", "c349010000000000000000"),
        ("1e300", "fb7e37e43c8800759c"), ("1e-60", "fb3379b604aaaca626"), ("0.1", "fb3fb999999999999a"),
        ("340282366920938463463374607431768211455", "c250ffffffffffffffffffffffffffffffff"), ("0", "00"),
        ("-0.0", "fb8000000000000000"),
        // Decimal fractions: 0.1, 5, 50, 500, 1.50, −129, −2^127, 3e-60, 1e60, 16777217, 0, and 0.1 of indefinite
        // length.
        ("0.1", "c4822001"), ("5", "c4820005"), ("50", "c4820105"), ("5.00", "c482211901f4"), ("1.50", "c482211896"),
        ("-129", "c482003880"),
        ("-170141183460469231731687303715884105728", "c48200c3507fffffffffffffffffffffffffffffff"),
        ("3e-60", "c482383b03"), ("1e60", "c482183c01"), ("16777217", "c482001a01000001"), ("0", "c482187f00"),
        ("0.1", "c49f2001ff"),
    ])
    func numbersByOneRule(_ json: String, _ hex: String) throws {
        func both<T: Codable & Equatable>(_ type: T.Type) throws {
            let one = try? cborDecode(type, hex: hex)
            let other = try? JSONPayload.decode(type, Array(json.utf8))
            #expect(one == other, "\(json) as \(type)")
        }
        try both(Int.self)
        try both(Int8.self)
        try both(UInt8.self)
        try both(Int64.self)
        try both(UInt64.self)
        try both(UInt128.self)
        try both(Float.self)
        try both(Double.self)
    }

    @Test func aPostedDecimalIsAnyNumber() throws {
        for text in ["0.1", "5", "500", "-1.5", "0", "-3e-40", "7e30"] {
            let decimal = try #require(Decimal(string: text))
            let (cbor, json) = (try cborEncode(decimal), try PayloadCoding.jsonBytes(of: decimal))
            #expect(try cborDecode(Double.self, cbor) == JSONPayload.decode(Double.self, json))
            #expect((try? cborDecode(Float.self, cbor)) == (try? JSONPayload.decode(Float.self, json)))
            #expect((try? cborDecode(Int.self, cbor)) == (try? JSONPayload.decode(Int.self, json)))
            #expect((try? cborDecode(UInt128.self, cbor)) == (try? JSONPayload.decode(UInt128.self, json)))
        }
        #expect(try cborDecode(Double.self, cborEncode(Decimal(string: "0.1")!)) == 0.1)
        #expect(try cborDecode(Int.self, cborEncode(Decimal(5))) == 5)
        // −1280e-1.
        #expect(try cborDecode(Int8.self, hex: "c482203904ff") == -128)
        // Not a pair, an exponent that is not of major type 0 or 1, and one far out of range.
        for hex in ["c48105", "c483000505", "c482c482000105", "820005", "c4821b7fffffffffffffff01"] {
            #expect(throws: DecodingError.self, "\(hex)") { try cborDecode(Double.self, hex: hex) }
            #expect(throws: DecodingError.self, "\(hex)") { try cborDecode(Int.self, hex: hex) }
        }
    }

    struct Whole: SharedNotificationCenter.BitwiseMessage, Equatable {
        static let name: SharedNotificationCenter.Name = "exactness.number"
        var number: Int64
    }

    struct Same: SharedNotificationCenter.BitwiseMessage, Equatable {
        static let name: SharedNotificationCenter.Name = "exactness.number"
        struct Inner: Codable, BitwiseCopyable, Equatable { var value: Int }
        var inner: Inner
    }

    struct Unsigned: SharedNotificationCenter.BitwiseMessage, Equatable {
        static let name: SharedNotificationCenter.Name = "exactness.number"
        var number: UInt64
    }

    struct Fraction: SharedNotificationCenter.BitwiseMessage, Equatable {
        static let name: SharedNotificationCenter.Name = "exactness.number"
        var number: Double
    }

    struct Floats: SharedNotificationCenter.BitwiseMessage {
        static let name: SharedNotificationCenter.Name = "exactness.vector"
        var numbers: SIMD2<Float>
    }

    struct Integers: SharedNotificationCenter.BitwiseMessage {
        static let name: SharedNotificationCenter.Name = "exactness.vector"
        var numbers: SIMD2<Int32>
    }

    enum Left: Int64, Codable { case zero }
    enum Right: Int64, Codable { case zero }

    struct Leaf<Value: Codable & BitwiseCopyable & Sendable>: SharedNotificationCenter.BitwiseMessage {
        static var name: SharedNotificationCenter.Name { "exactness.leaf" }
        var value: Value
    }

    /// Bitwise payloads are not converted: another kind of number is another type.
    @Test func bitwiseNumbersOfAnotherKindAreRefused() throws {
        func bytes<M: SharedNotificationCenter.BitwiseMessage>(_ message: M) -> [UInt8] {
            withUnsafeBytes(of: PayloadCoding.fingerprint(of: M.self).littleEndian) { Array($0) }
                + withUnsafeBytes(of: message) { Array($0) }
        }
        func decode<M: SharedNotificationCenter.Message>(_ type: M.Type, _ bytes: [UInt8]) throws -> M {
            try bytes.withUnsafeBytes {
                try PayloadCoding.message(
                    type, format: SharedNotificationCenter.PayloadFormat.bitwise.rawValue, bytes: $0)
            }
        }
        let posted = bytes(Whole(number: -1))
        #expect(try decode(Whole.self, posted) == Whole(number: -1))
        // Structs of whole numbers of one width are the same type, whatever their names.
        #expect(try decode(Same.self, posted).inner.value == -1)
        #expect(throws: DecodingError.self) { try decode(Unsigned.self, posted) }
        #expect(throws: DecodingError.self) { try decode(Fraction.self, posted) }
        #expect(throws: DecodingError.self) { try decode(Whole.self, bytes(Fraction(number: 1))) }
        // Vectors are compared by their numbers.
        let vector = bytes(Floats(numbers: [1, 2]))
        #expect(try decode(Floats.self, vector).numbers == [1, 2])
        #expect(throws: DecodingError.self) { try decode(Integers.self, vector) }
        // A type that is no number and has no fields is compared by its name.
        #expect(try decode(Leaf<Left>.self, bytes(Leaf(value: Left.zero))).value == .zero)
        #expect(throws: DecodingError.self) { try decode(Leaf<Right>.self, bytes(Leaf(value: Left.zero))) }
        #expect(throws: DecodingError.self) { try decode(Leaf<Bool>.self, bytes(Leaf(value: UInt8(1)))) }
        func kinds<Value>(_ type: Value.Type) -> UInt64 {
            BitwiseFingerprint.compute(name: "", of: type, isBitwise: true)
        }
        #expect(kinds(InlineArray<2, Float>.self) == kinds(InlineArray<2, Float>.self))
        #expect(kinds(InlineArray<2, Float>.self) != kinds(InlineArray<2, Int32>.self))
        #expect(kinds(SIMD3<Float>.self) != kinds(SIMD4<Float>.self))
        #expect(kinds(SIMD2<Int>.self) == kinds(SIMD2<Int64>.self))
        #expect(kinds(SIMD2<UInt>.self) != kinds(SIMD2<Int64>.self))
    }

    // MARK: After the end

    @Test func encodersUsedAfterTheirCallReportItWithoutAffectingOthers() throws {
        var kept: KeyedEncodingContainer<CBORKey>?
        var list: (any UnkeyedEncodingContainer)?
        var encoder: (any Encoder)?
        _ = try cborEncode(
            Custom {
                encoder = $0
                kept = $0.container(keyedBy: CBORKey.self)
                list = kept?.nestedUnkeyedContainer(forKey: "list")
            })
        func useAll() {
            #expect(throws: EncodingError.self) { try kept?.encode(1, forKey: "late") }
            #expect(throws: EncodingError.self) { try list?.encode(1) }
            // These calls can't throw, so the resulting encoding throws.
            var nested = kept?.nestedContainer(keyedBy: CBORKey.self, forKey: "late")
            #expect(throws: EncodingError.self) { try nested?.encode(1, forKey: "late") }
            var inner = list?.nestedUnkeyedContainer()
            #expect(throws: EncodingError.self) { try inner?.encode(1) }
            var other = encoder?.container(keyedBy: CBORKey.self)
            #expect(throws: EncodingError.self) { try other?.encode([1], forKey: "late") }
            var single = encoder?.singleValueContainer()
            #expect(throws: EncodingError.self) { try single?.encode(1) }
            var behind = kept?.superEncoder().singleValueContainer()
            #expect(throws: EncodingError.self) { try behind?.encodeNil() }
            #expect(encoder?.codingPath.isEmpty == true && encoder?.userInfo.isEmpty == true && list?.count == 0)
        }
        useAll()
        // The next encoding of this thread is independent, before and during the calls.
        #expect(try cborEncode([1]) == [0x81, 1])
        let during = try cborEncode(
            Custom { encoder throws in
                var map = encoder.container(keyedBy: CBORKey.self)
                try map.encode(1, forKey: "a")
                useAll()
                try map.encode(2, forKey: "b")
            })
        #expect(CBORTree(during) == .map(["a": .unsigned(1), "b": .unsigned(2)]))
    }

    @Test func decodersUsedAfterTheirCallReportIt() throws {
        final class Kept: Decodable {
            struct Nothing: Decodable {}
            let decoder: any Decoder
            let map: KeyedDecodingContainer<CBORKey>
            let list: any UnkeyedDecodingContainer
            let single: any SingleValueDecodingContainer
            init(from decoder: any Decoder) throws {
                self.decoder = decoder
                map = try decoder.container(keyedBy: CBORKey.self)
                list = try map.nestedUnkeyedContainer(forKey: "list")
                single = try map.superDecoder(forKey: "one").singleValueContainer()
            }
        }
        let kept = try cborDecode(Kept.self, hex: "a2 646c697374 83010203 636f6e65 01")
        func finished(_ body: () throws -> Void) {
            let error = #expect(throws: DecodingError.self) { try body() }
            #expect("\(error.map { "\($0)" } ?? "")".contains("after its decoding ended"))
        }
        func useAll() {
            var list = kept.list
            finished { _ = try kept.map.decode(Int.self, forKey: "one") }
            finished { _ = try kept.map.decodeIfPresent(Int.self, forKey: "one") }
            finished { _ = try kept.map.nestedContainer(keyedBy: CBORKey.self, forKey: "one") }
            finished { _ = try kept.single.decode(Int.self) }
            finished { _ = try kept.single.decode(Kept.Nothing.self) }
            finished { _ = try list.decode(Int.self) }
            finished { _ = try list.decode(Kept.Nothing.self) }
            finished { _ = try list.decodeNil() }
            finished { _ = try list.nestedUnkeyedContainer() }
            finished { _ = try [Int](from: kept.decoder) }
            finished { _ = try Int?(from: kept.decoder) }
            // A loop over a finished decoder does not end as if the container were empty.
            finished { while !list.isAtEnd { _ = try list.decode(Int.self) } }
            #expect(kept.decoder.codingPath.isEmpty && kept.decoder.userInfo.isEmpty && kept.map.codingPath.isEmpty)
        }
        useAll()
        struct During: Decodable {
            nonisolated(unsafe) static var body: () -> Void = {}
            init(from decoder: any Decoder) throws { Self.body() }
        }
        // Only this test uses it, on one thread.
        During.body = useAll
        defer { During.body = {} }
        _ = try cborDecode(
            [String: During].self, cborBytes("a1616101"), userInfo: [CodingUserInfoKey(rawValue: "k")!: 1])
    }
}
