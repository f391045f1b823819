import Foundation
import Testing
import TidingsFoundation

@testable import Tidings
@testable import TidingsCoding

/// Payloads that the decoder accepts, and its errors for others.
@Suite(.serialized) struct CBORDecodingTests {
    struct Track: Codable, Equatable {
        var id: Int
        var title: String
        var tags: [String]
        var position: Double?
    }

    static let track = Track(id: 7, title: "t", tags: ["x"], position: 1.5)

    @Test func keysInAnyOrderAmongUnknownKeys() throws {
        let pairs = ["626964 07", "657469746c65 6174", "6474616773 816178", "68706f736974696f6e f93e00"]
        let others = ["6161 a16162 9f01ff", "03 04", "6163 c1c2 4101", "617a 5f4101ff"]
        for seed in 1...30 as ClosedRange<UInt64> {
            var generator = CBORSeededGenerator(seed: seed)
            let all = (pairs + others.prefix(Int.random(in: 0...4, using: &generator))).shuffled(using: &generator)
            let map = "b8" + String(format: "%02x", all.count) + all.joined()
            #expect(try cborDecode(Track.self, hex: map) == Self.track, "seed \(seed)")
            #expect(try cborDecode(Track.self, hex: "bf" + all.joined() + "ff") == Self.track, "seed \(seed)")
        }
    }

    @Test(arguments: [3, 16, 17, 18, 100, 1000]) func largeMapsInAnyOrder(count: Int) throws {
        var generator = CBORSeededGenerator(seed: UInt64(count))
        var pairs = try (0..<count).map { try cborEncode("key \($0)") + cborEncode(["v": $0]) }
        pairs.shuffle(using: &generator)
        for head in [[0xB9, UInt8(count >> 8), UInt8(count & 255)], [0xBF]] as [[UInt8]] {
            let bytes: [UInt8] = head + pairs.joined() + (head == [0xBF] ? [0xFF] : [])
            try look(bytes) { container throws in
                for number in (0..<count).shuffled(using: &generator) {
                    let key = CBORKey(stringValue: "key \(number)")
                    #expect(container.contains(key))
                    #expect(try container.decode([String: Int].self, forKey: key) == ["v": number])
                    #expect(try container.decodeIfPresent(Int.self, forKey: "absent") == nil)
                }
                #expect(container.allKeys.count == count)
            }
        }
    }

    @Test func aKeyIsFoundByItsWholeNameAlone() throws {
        let names = ["", "a", "b", "ab", "abcd", "abce", "abcdefgh", "abcdefgi", "abcdefghi"]
        for there in names {
            // A key before the pair, and one after it, so that the search starts again from the beginning.
            let pair = try cborEncode(there) + [7]
            for bytes in [[0xA1] + pair, [0xA2, 0x61, 0x7A, 0x01] + pair] as [[UInt8]] {
                try look(bytes) { container throws in
                    for name in names {
                        let found = try container.decodeIfPresent(Int.self, forKey: CBORKey(stringValue: name))
                        #expect(found == (name == there ? 7 : nil), "\(name.debugDescription) in \(bytes)")
                    }
                }
            }
        }
    }

    @Test func theFirstOfEqualKeysCounts() throws {
        // {"a": 1, "a": 2, "b": 3, "a": 4}
        let small = "a4 6161 01 6161 02 6162 03 6161 04"
        #expect(try cborDecode([String: Int].self, hex: small) == ["a": 1, "b": 3])
        try look(small) { container throws in
            #expect(try container.decode(Int.self, forKey: "b") == 3)
            #expect(try container.decode(Int.self, forKey: "a") == 1)
        }
        let many = "b81e" + (0..<30).map { "61" + ($0 % 2 == 0 ? "61" : "62") + String(format: "18%02x", $0) }.joined()
        #expect(try cborDecode([String: Int].self, hex: many) == ["a": 0, "b": 1])
        let indefinite = "bf" + many.dropFirst(4) + "ff"
        #expect(try cborDecode([String: Int].self, hex: indefinite) == ["a": 0, "b": 1])
        // A key of indefinite length equals the same key of definite length; an integer key equals its digits.
        #expect(try cborDecode([String: Int].self, hex: "a2 7f 6161 6162 ff 01 626162 02") == ["ab": 1])
        #expect(try cborDecode([String: Int].self, hex: "a2 05 01 6135 02") == ["5": 1])
        #expect(try cborDecode([Int: Int].self, hex: "a3 6135 02 05 01 20 03") == [5: 2, -1: 3])
    }

    /// A type may read a field, check the value, and read the field again.
    @Test(arguments: [2, 3, 16, 17, 40, 200]) func aKeyRequestedTwiceHasOneValue(count: Int) throws {
        // Each key twice: adjacent, or all keys and then all again, or with different values.
        let names = (0..<count).map { "\($0 % 10)k\($0 / 10)" }
        for distance in [1, 2, count / 2 + 1, count] {
            for isIndefinite in [false, true] {
                var (pairs, first): ([UInt8], [String: Int]) = ([], [:])
                for number in 0..<count {
                    let name = names[number / (2 * distance) * distance + number % distance]
                    if first[name] == nil { first[name] = number }
                    pairs += try cborEncode(name) + cborEncode(number)
                }
                let bytes = isIndefinite ? [0xBF] + pairs + [0xFF] : cborHead(5, count) + pairs
                #expect(try cborDecode([String: Int].self, bytes) == first)
                try look(bytes) { container throws in
                    for number in 0..<count {
                        let name = names[number / (2 * distance) * distance + number % distance]
                        let key = CBORKey(stringValue: name)
                        for _ in 0..<3 {
                            _ = try? container.decode(String.self, forKey: key)
                            #expect(try container.decode(Int.self, forKey: key) == first[name], "\(count) \(distance)")
                            #expect(try container.decodeIfPresent(Int.self, forKey: key) == first[name])
                        }
                    }
                }
            }
        }
        // {"a": "safe", "a": "evil"}
        try look("a2 6161 6473616665 6161 64 6576696c") { container throws in
            #expect((try? container.decode(Int.self, forKey: "a")) == nil)
            for _ in 0..<3 { #expect(try container.decode(String.self, forKey: "a") == "safe") }
        }
    }

    @Test(arguments: [0, 20]) func ofKeysThatAreEqualInSwiftTheFirstCounts(others: Int) throws {
        var pairs = try cborEncode("\u{e9}") + [1] + cborEncode("e\u{301}") + [2]
        for number in 0..<others { pairs += try cborEncode("\(number)") + [0] }
        for bytes in [cborHead(5, others + 2) + pairs, [0xBF] + pairs + [0xFF]] {
            #expect(try cborDecode([String: Int].self, bytes)["\u{e9}"] == 1)
            #expect(try cborDecode(Center.PropertyValue.self, bytes)["\u{e9}"] == 1)
            // In the order in which generated code reads.
            #expect(
                try bytes.withUnsafeBytes {
                    var decoder = Center._FieldDecoder($0)
                    return try [String: Int](_decodingField: &decoder)["\u{e9}"]
                } == 1)
            try look(bytes) { container throws in
                #expect(container.allKeys.count == others + 1)
                #expect(try container.decode(Int.self, forKey: "e\u{301}") == 2)
            }
        }
    }

    @Test func integerKeysMatchTheIntValue() throws {
        struct Numbered: Decodable, Equatable {
            var a: Int
            var b: Int
            enum CodingKeys: Int, CodingKey {
                case a = 1
                case b = -2
            }
        }
        #expect(try cborDecode(Numbered.self, hex: "a2 21 0b 01 0a") == Numbered(a: 10, b: 11))
        #expect(try cborDecode(Numbered.self, hex: "a2 6162 0b 6161 0a") == Numbered(a: 10, b: 11))
        let large = "b812 01 0a 21 0b" + (10..<26).map { String(format: "18%02x00", $0 + 20) }.joined()
        #expect(try cborDecode(Numbered.self, hex: large) == Numbered(a: 10, b: 11))
    }

    @Test func unusualKeysAreSkipped() throws {
        // {"x": {[1]: 2, h'00': 3}, "id": 1}
        #expect(try cborDecode([String: Int?].self, hex: "a1 626964 01") == ["id": 1])
        struct Only: Decodable { var id: Int }
        #expect(try cborDecode(Only.self, hex: "a2 6178 a2 8101 02 4100 03 626964 01").id == 1)
        #expect(throws: DecodingError.self) { try cborDecode([String: Int].self, hex: "a1 4161 01") }
        #expect(throws: DecodingError.self) { try cborDecode(Only.self, hex: "a2 626964 01 8101 02") }
    }

    @Test func tagsAreIgnored() throws {
        #expect(try cborDecode([Int].self, hex: "d9d9f7 82 c6 01 d8ff d81802") == [1, 2])
        #expect(try cborDecode([String: String].self, hex: "d9d9f7 a1 6161 d818 6162") == ["a": "b"])
        #expect(try cborDecode(Bool?.self, hex: "d9d9f7 f6") == nil)
        struct Two: Decodable, Equatable { var a: [Int], b: Int }
        #expect(try cborDecode(Two.self, hex: "a2 6161 c6c6 8101 6162 c5 02") == Two(a: [1], b: 2))
    }

    /// These decoded to NaN: a number close to zero, and two whose digits and exponent each fit alone.
    @Test(arguments: ["fb 01a56e1fc2f8f359", "c4 82 187f 0a", "c4 82 187f 1864"]) func aNumberBeyondDecimalIsRefused(
        _ hex: String
    ) throws {
        #expect(throws: DecodingError.self) { try cborDecode(Decimal.self, hex: hex) }
    }

    @Test func decimalsAtTheEndsOfTheirRange() throws {
        #expect(try cborDecode(Decimal.self, hex: "f97e00").isNaN)
        #expect(
            try cborDecode(Decimal.self, hex: "c4 82 187f 01") == Decimal(sign: .plus, exponent: 127, significand: 1))
        #expect(
            try cborDecode(Decimal.self, hex: "c4 82 387f 0a") == Decimal(sign: .plus, exponent: -128, significand: 10))
    }

    @Test func aUUIDIsDigitsAndDashes() throws {
        let text = "E621E1F8-C36C-495A-93FC-0C247A3E6E5f"
        #expect(try cborDecode(UUID.self, cborEncode(text)) == UUID(uuidString: text))
        let end = String(text.dropFirst(2))
        let beginning = String(text.dropLast())
        let others: [String] = [
            "+6\(end)", " 6\(end)", "\(text)\0", "\(text)x", beginning, "", "\(beginning)g", "0x\(end)", "é\(end)",
            text.replacing("-", with: ""), text.replacing("-4", with: "4-"),
        ]
        for other in others {
            #expect(throws: DecodingError.self, "\(other.debugDescription)") {
                try cborDecode(UUID.self, cborEncode(other))
            }
        }
    }

    @Test func anAbsentSuperclassIsNull() throws {
        try look("a1616101") { container throws in
            let decoder = try container.superDecoder()
            #expect(try decoder.singleValueContainer().decodeNil())
            #expect(throws: DecodingError.self) { try decoder.container(keyedBy: CBORKey.self) }
            #expect(throws: DecodingError.self) { try decoder.unkeyedContainer() }
            #expect(throws: DecodingError.self) { try decoder.singleValueContainer().decode(Int.self) }
            #expect(try Int?(from: decoder) == nil)
            #expect(decoder.codingPath.map(\.stringValue) == ["super"])
        }
    }

    @Test func containersReadInTurns() throws {
        try look("a3 6161 83010203 6162 a2617801617902 6163 09") { container throws in
            var list = try container.nestedUnkeyedContainer(forKey: "a")
            let map = try container.nestedContainer(keyedBy: CBORKey.self, forKey: "b")
            #expect(list.count == 3)
            #expect(try list.decode(Int.self) == 1)
            #expect(try map.decode(Int.self, forKey: "y") == 2)
            #expect(try container.decode(Int.self, forKey: "c") == 9)
            #expect(try list.decodeNil() == false)
            #expect(try list.decode(Int.self) == 2)
            #expect(try map.decode(Int.self, forKey: "x") == 1)
            #expect(throws: DecodingError.self) { try list.decode(String.self) }
            #expect(list.currentIndex == 2)
            #expect(try list.superDecoder().singleValueContainer().decode(Int.self) == 3)
            #expect(list.isAtEnd)
            #expect(throws: DecodingError.self) { try list.decode(Int.self) }
            #expect(throws: DecodingError.self) { try list.decodeNil() }
            #expect(map.codingPath.map(\.stringValue) == ["b"])
            #expect(list.codingPath.map(\.stringValue) == ["a"])
        }
    }

    /// A value passes its decoder to code that reads it later, as polymorphic code often does.
    @Test func aDecoderUsedAfterItsValue() throws {
        struct Keeper: Decodable {
            let decoder: any Decoder
            init(from decoder: any Decoder) throws { self.decoder = decoder }
        }
        var late: (any Decoder)?
        try look("a2 6161 a1617801 6162 02") { container throws in
            let keeper = try container.decode(Keeper.self, forKey: "a")
            #expect(try container.decode(Int.self, forKey: "b") == 2)
            #expect(try keeper.decoder.container(keyedBy: CBORKey.self).decode(Int.self, forKey: "x") == 1)
            late = keeper.decoder
        }
        let decoder = try #require(late)
        #expect(throws: DecodingError.self) { try decoder.container(keyedBy: CBORKey.self) }
        #expect(throws: DecodingError.self) { try decoder.singleValueContainer().decode(Int.self) }
        #expect(throws: DecodingError.self) { try decoder.singleValueContainer().decode(String.self) }
        try look("a1617801") { container throws in
            // The same reader is in use again, and the old decoder must not affect it.
            #expect(throws: DecodingError.self) { try decoder.container(keyedBy: CBORKey.self) }
            #expect(try decoder.singleValueContainer().decodeNil() == false)
            #expect(try container.decode(Int.self, forKey: "x") == 1)
        }
    }

    @Test func anotherPayloadInsideOne() throws {
        let inner = try cborEncode(["i": [1, 2]])
        try look("a3 6161 01 6162 02 6163 03") { container throws in
            #expect(try container.decode(Int.self, forKey: "a") == 1)
            #expect(try cborDecode([String: [Int]].self, inner) == ["i": [1, 2]])
            #expect(try container.decode(Int.self, forKey: "b") == 2)
        }
    }

    @Test func errorsHaveThePath() throws {
        struct Album: Decodable {
            var tracks: [Track]
            var by: [String: Track]
        }
        func pathOf<T: Decodable>(_ type: T.Type, _ hex: String) -> String? {
            cborFailingPath { _ = try cborDecode(type, hex: hex) }
        }
        let good = "a3626964 01 657469746c65 6161 6474616773 80"
        let bad = "a3626964 01 657469746c65 6161 6474616773 8201 6162"
        let lacking = "a2626964 01 657469746c65 6161"
        #expect(pathOf(Album.self, "a2 66747261636b73 82\(good)\(good) 626279 a1616b\(good)") == nil)
        #expect(pathOf(Album.self, "a2 66747261636b73 82\(good)\(bad) 626279 a0") == "tracks.[1].tags.[0]")
        #expect(pathOf(Album.self, "a2 66747261636b73 82\(good)\(lacking) 626279 a0") == "tracks.[1]")
        #expect(pathOf(Album.self, "a2 626279 a1616b\(bad) 66747261636b73 80") == "by.k.tags.[0]")
        #expect(pathOf(Album.self, "a2 626279 a105\(bad) 66747261636b73 80") == "by.[5].tags.[0]")
        #expect(pathOf(Album.self, "a2 626279 01 66747261636b73 80") == "by")
        #expect(pathOf([Int].self, "8201f6") == "[1]")
        #expect(pathOf(Track.self, "a3626964 61ff 657469746c65 6161 6474616773 80") == "id")
        #expect(pathOf(Track.self, "a3626964 01 657469746c65 62c328 6474616773 80") == "title")
        #expect(pathOf(Track.self, "a4 6161a0") == "")
        #expect(pathOf([String: Date].self, "a1 6161 6162") == "a")
        #expect(pathOf([Data].self, "81 6162") == "[0]")
    }

    @Test func kindsOfError() throws {
        func kind<T: Decodable>(_ type: T.Type, _ hex: String) -> String {
            do {
                _ = try cborDecode(type, hex: hex)
                return "none"
            } catch DecodingError.typeMismatch {
                return "mismatch"
            } catch DecodingError.valueNotFound {
                return "null"
            } catch DecodingError.keyNotFound {
                return "key"
            } catch DecodingError.dataCorrupted {
                return "corrupt"
            } catch {
                return "\(error)"
            }
        }
        #expect(kind(Int.self, "6161") == "mismatch")
        #expect(kind(Int.self, "f6") == "null")
        #expect(kind(Int.self, "f7") == "null")
        #expect(kind([Int].self, "a0") == "mismatch")
        #expect(kind([String: Int].self, "80") == "mismatch")
        #expect(kind([String: Int].self, "f6") == "null")
        #expect(kind(Track.self, "a0") == "key")
        #expect(kind(Track.self, "a4626964 f6 657469746c65 6161 6474616773 80 6161 00") == "null")
        #expect(kind(UInt8.self, "190100") == "corrupt")
        #expect(kind(String.self, "61ff") == "corrupt")
        #expect(kind(String.self, "4161") == "mismatch")
        #expect(kind(Data.self, "6161") == "mismatch")
        #expect(kind(Bool.self, "01") == "mismatch")
        #expect(kind(Int.self, "") == "corrupt")
        #expect(kind(Int.self, "0101") == "corrupt")
    }

    /// Runs code in the `init(from:)` of a value.
    func look(_ hex: String, _ body: (KeyedDecodingContainer<CBORKey>) throws -> Void) throws {
        try look(cborBytes(hex), body)
    }

    func look(_ bytes: [UInt8], _ body: (KeyedDecodingContainer<CBORKey>) throws -> Void) throws {
        try withoutActuallyEscaping(body) { body in
            try Lookup.$body.withValue(Lookup.Body(run: body)) { _ = try cborDecode(Lookup.self, bytes) }
        }
    }

    struct Lookup: Decodable {
        /// Called only on the thread that made it, within the call that made it.
        struct Body: @unchecked Sendable {
            // Proof: a task-local value passes it down the stack of one thread.
            let run: (KeyedDecodingContainer<CBORKey>) throws -> Void
        }

        @TaskLocal static var body: Body?

        init(from decoder: any Decoder) throws {
            try Self.body?.run(decoder.container(keyedBy: CBORKey.self))
        }
    }
}
