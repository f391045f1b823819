import Foundation
import Testing

@testable import Tidings

@Suite(.serialized) struct CBORRoundTripTests {
    @Test func integersOfAllWidthsAtTheirEnds() throws {
        func ends<I: FixedWidthInteger & Codable>(_ type: I.Type) throws {
            for value in [I.min, I.max, 0, 1, 23, 24, I.max / 2] {
                try cborRoundTrip(value)
                try cborRoundTrip([value])
                try cborRoundTrip(["key": value])
                try cborRoundTrip(Box(value: value))
            }
        }
        try ends(Int.self)
        try ends(Int8.self)
        try ends(Int16.self)
        try ends(Int32.self)
        try ends(Int64.self)
        try ends(Int128.self)
        try ends(UInt.self)
        try ends(UInt8.self)
        try ends(UInt16.self)
        try ends(UInt32.self)
        try ends(UInt64.self)
        try ends(UInt128.self)
    }

    @Test func integersAroundEveryPowerOfTwo() throws {
        for bit in 0..<127 {
            for offset in [-2, -1, 0, 1] as [Int128] {
                try cborRoundTrip((Int128(1) << bit) &+ offset)
                try cborRoundTrip(-((Int128(1) << bit) &+ offset))
            }
        }
    }

    @Test func anIntegerOutOfRangeIsRefused() throws {
        let big = try cborEncode(256)
        #expect(throws: DecodingError.self) { try cborDecode(UInt8.self, big) }
        let negative = try cborEncode(-1)
        #expect(throws: DecodingError.self) { try cborDecode(UInt64.self, negative) }
        #expect(throws: DecodingError.self) { try cborDecode(UInt128.self, negative) }
        let low = try cborEncode(-129)
        #expect(throws: DecodingError.self) { try cborDecode(Int8.self, low) }
        let huge = try cborEncode(UInt128.max)
        #expect(throws: DecodingError.self) { try cborDecode(Int128.self, huge) }
        #expect(throws: DecodingError.self) { try cborDecode(Int.self, huge) }
        // A bignum of 129 bits.
        #expect(throws: DecodingError.self) {
            try cborDecode(UInt128.self, hex: "c2510100000000000000000000000000000000")
        }
        // A bignum that fits is an ordinary integer, with or without leading zeros.
        #expect(try cborDecode(Int.self, hex: "c243000102") == 258)
        #expect(try cborDecode(Int8.self, hex: "c34105") == -6)
    }

    @Test func floatingPointNumbers() throws {
        for value in [0, -0.0, 1.5, .pi, .infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude] {
            try cborRoundTrip(value)
            try cborRoundTrip([Float(value)])
            #expect(try cborDecode(Double.self, cborEncode(value)).sign == value.sign)
        }
        #expect(try cborDecode(Double.self, cborEncode(Double.nan)).isNaN)
        #expect(try cborDecode([Float].self, cborEncode([Float.nan]))[0].isNaN)
        let payload = Double(bitPattern: 0x7FF8_0000_DEAD_BEEF)
        #expect(try cborDecode(Double.self, cborEncode(payload)).bitPattern == payload.bitPattern)
    }

    @Test func numbersOfOneKindReadAsAnother() throws {
        #expect(try cborDecode(Double.self, hex: "1864") == 100)
        #expect(try cborDecode(Float.self, hex: "3863") == -100)
        #expect(try cborDecode(Int.self, cborEncode(3.0)) == 3)
        #expect(throws: DecodingError.self) { try cborDecode(Int.self, cborEncode(3.5)) }
        #expect(throws: DecodingError.self) { try cborDecode(Int.self, cborEncode(1e300)) }
        #expect(throws: DecodingError.self) { try cborDecode(Int.self, cborEncode(Double.nan)) }
        // 2⁵³ + 1 is no double: decoding returns the nearest one.
        #expect(try cborDecode(Double.self, cborEncode(9_007_199_254_740_993)) == 9_007_199_254_740_992)
        #expect(try cborDecode(Float.self, cborEncode(0.1)) == 0.1)
        #expect(throws: DecodingError.self) { try cborDecode(Float.self, cborEncode(1e300)) }
    }

    @Test func strings() throws {
        for count in [0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 22, 23, 24, 25, 255, 256, 65535, 65536] {
            try cborRoundTrip(String(repeating: "x", count: count))
            try cborRoundTrip([String(repeating: "k", count: count): String(repeating: "ü", count: count)])
            try cborRoundTrip(Data(repeating: 7, count: count))
        }
        try cborRoundTrip(["\u{0}", "e\u{301}", "👩‍👩‍👧", "\u{FFFD}", "🏴", "日本"])
        try cborRoundTrip(["e\u{301}": 1, "\u{e9}x": 2])
    }

    @Test func foundationTypes() throws {
        try cborRoundTrip(Date(timeIntervalSince1970: 1_700_000_000.25))
        try cborRoundTrip(Date(timeIntervalSince1970: -62_135_596_800))
        try cborRoundTrip(Date.distantFuture)
        try cborRoundTrip([Date.distantPast])
        try cborRoundTrip(UUID(uuidString: "01234567-89AB-CDEF-0123-456789ABCDEF")!)
        try cborRoundTrip([UUID()])
        try cborRoundTrip(URL(string: "https://example.com/a%20b?c=d#e")!)
        try cborRoundTrip(["u": URL(fileURLWithPath: "/tmp/x")])
        try cborRoundTrip(Data([0, 255]))
        try cborRoundTrip([Data(), Data([1])])
        try cborRoundTrip(Data([9, 8, 7, 6])[1...2] as Data)
        #expect(
            try cborHex(cborEncode(UUID(uuidString: "01234567-89AB-CDEF-0123-456789ABCDEF")!))
                == "d825500123456789abcdef0123456789abcdef")
        try cborRoundTrip(Date())
    }

    @Test func otherFormsOfFoundationTypes() throws {
        #expect(try cborDecode(Date.self, hex: "1a514b67b0") == Date(timeIntervalSince1970: 1_363_896_240))
        #expect(try cborDecode(Date.self, hex: "fb41d452d9ec200000") == Date(timeIntervalSince1970: 1_363_896_240.5))
        #expect(try cborDecode(Date.self, hex: "c120") == Date(timeIntervalSince1970: -1))
        #expect(throws: DecodingError.self) { try cborDecode(Date.self, hex: "f97e00") }
        #expect(try cborDecode(URL.self, hex: "6161") == URL(string: "a"))
        #expect(try cborDecode(UUID.self, hex: "500123456789abcdef0123456789abcdef").uuid.15 == 0xEF)
        #expect(throws: DecodingError.self) { try cborDecode(UUID.self, hex: "4f0123456789abcdef0123456789abcd") }
        let text = UUID()
        #expect(try cborDecode(UUID.self, cborEncode(text.uuidString)) == text)
    }

    @Test(arguments: [
        ("2013-03-21T20:04:00Z", 1_363_896_240.0), ("2013-03-21T20:04:00.5Z", 1_363_896_240.5),
        ("2013-03-21T21:04:00+01:00", 1_363_896_240.0), ("2013-03-21t15:34:00-04:30", 1_363_896_240.0),
        ("1970-01-01T00:00:00Z", 0.0), ("1969-12-31T23:59:59.75z", -0.25), ("2000-02-29T00:00:00Z", 951_782_400.0),
        ("1600-02-29T12:00:00Z", -11_670_955_200.0), ("0001-01-01T00:00:00Z", -62_135_596_800.0),
        ("0000-01-01T00:00:00Z", -62_167_219_200.0), ("9999-12-31T23:59:59Z", 253_402_300_799.0),
        ("2016-12-31T23:59:60Z", 1_483_228_800.0),
    ])
    func textDates(_ text: String, _ seconds: Double) throws {
        #expect(try cborDecode(Date.self, [0xC0] + cborEncode(text)) == Date(timeIntervalSince1970: seconds))
    }

    @Test(arguments: [
        "", "2013", "2013-3-21T20:04:00Z", "2013-13-21T20:04:00Z", "2013-02-29T20:04:00Z", "2013-03-00T20:04:00Z",
        "2013-03-21 20:04:00Z", "2013-03-21T24:04:00Z", "2013-03-21T20:60:00Z", "2013-03-21T20:04:61Z",
        "2013-03-21T20:04:00", "2013-03-21T20:04:00.Z", "2013-03-21T20:04:00Zx", "2013-03-21T20:04:00+1:00",
        "2013-03-21T20:04:00+24:00", "-013-03-21T20:04:00Z", "２０１３-03-21T20:04:00Z",
    ])
    func badTextDates(_ text: String) throws {
        #expect(throws: DecodingError.self) { try cborDecode(Date.self, [0xC0] + cborEncode(text)) }
    }

    @Test func decimals() throws {
        for text in [
            "0", "1", "-1", "273.15", "-0.1", "1e127", "1e-128", "-12345678901234567890123456789012345678",
            "340282366920938463463374607431768211455", "-340282366920938463463374607431768211455e-20",
            "18446744073709551615", "18446744073709551616", "-18446744073709551616", "-18446744073709551617",
        ] {
            let value = try #require(Decimal(string: text))
            try cborRoundTrip(value)
            try cborRoundTrip(["d": value])
        }
        #expect(try cborDecode(Decimal.self, cborEncode(Decimal.nan)).isNaN)
        // The example of RFC 8949, 3.4.4.
        #expect(try cborHex(cborEncode(Decimal(string: "273.15")!)) == "c48221196ab3")
        #expect(try cborDecode(Decimal.self, hex: "c49f21196ab3ff") == Decimal(string: "273.15"))
        #expect(try cborDecode(Decimal.self, hex: "1864") == 100)
        #expect(try cborDecode(Decimal.self, hex: "3863") == -100)
        #expect(try cborDecode(Decimal.self, hex: "fb3ff8000000000000") == 1.5)
        for bad in ["82016161", "c4820102ff", "c48301 0203", "c48101", "c480", "c4821880 01", "c48221f6", "f97c00"] {
            #expect(throws: DecodingError.self, "\(bad)") { try cborDecode(Decimal.self, hex: bad) }
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64]) func randomDecimals(seed: UInt64) throws {
        var generator = CBORSeededGenerator(seed: seed)
        for _ in 0..<200 {
            let mantissa =
                UInt128.random(in: 0...UInt128.max, using: &generator) >> UInt128.random(in: 0...127, using: &generator)
            let significand = try #require(Decimal(string: String(mantissa)))
            let value = Decimal(
                sign: Bool.random(using: &generator) ? .plus : .minus,
                exponent: Int.random(in: -128...80, using: &generator), significand: significand)
            if value.isNaN { continue }
            try cborRoundTrip(value)
        }
    }

    @Test func optionals() throws {
        try cborRoundTrip(Optionals(a: nil, b: 1, c: [nil, 2], d: ["x": nil, "y": 3], e: .some(.some(4))))
        try cborRoundTrip([Int?.none])
        // As with every coder, of two nested nils the outer one is decoded.
        #expect(try cborDecode(Int??.self, cborEncode(Int??.some(.none))) == .none)
        try cborRoundTrip(Int?.none)
        #expect(try cborHex(cborEncode(Optionals(a: nil, b: nil, c: [], d: [:], e: nil))) == "a2616380" + "6164a0")
        // Null and an absent key both decode as nil.
        #expect(try cborDecode(Optionals.self, hex: "a3 6161f6 616380 6164a0").a == nil)
    }

    @Test func dictionariesByKindOfKey() throws {
        try cborRoundTrip(["b": 1, "a": 2])
        try cborRoundTrip([1: "one", -5: "minus five", Int.max: ""])
        try cborRoundTrip([UUID(): 1, UUID(): 2])
        try cborRoundTrip([1.5: 2])
        try cborRoundTrip(["05": 1, "5": 2, "": 3])
        try cborRoundTrip(Dictionary(uniqueKeysWithValues: (0..<1000).map { ("key \($0)", $0) }))
        try cborRoundTrip(Dictionary(uniqueKeysWithValues: (0..<1000).map { ($0, $0) }))
        try cborRoundTrip(Set(0..<300))
    }

    @Test func enums() throws {
        try cborRoundTrip([
            Shape.empty, .circle(radius: 2), .labelled("x", at: [1, 2]), .nested(.circle(radius: 1)), .raw(.second),
        ])
        #expect(try cborHex(cborEncode(Shape.empty)) == "a165656d707479a0")
    }

    @Test func classesAndTheirSuperclasses() throws {
        let object = Derived(base: "b", own: [1, 2], after: "z")
        let copy = try cborDecode(Derived.self, cborEncode(object))
        #expect(copy.base == "b" && copy.own == [1, 2] && copy.after == "z")
        let shared = SharedContainer(base: "b", own: 5)
        let other = try cborDecode(SharedContainer.self, cborEncode(shared))
        #expect(other.base == "b" && other.own == 5)
        let absent = try cborDecode(Derived.self, hex: "a2636f776e80 656166746572617a")
        #expect(absent.base == "no super")
    }

    @Test func deepValues() throws {
        let deep = List(depth: 127)
        try cborRoundTrip(deep)
        #expect(throws: EncodingError.self) { try cborEncode(List(depth: 128)) }
    }

    @Test func userInfoReachesBothSides() throws {
        let bytes = try cborEncode(Informed(), userInfo: [Informed.key: "told"])
        #expect(try cborDecode(String.self, bytes) == "told")
        #expect(try cborDecode(Informed.self, bytes, userInfo: [Informed.key: "also"]).seen == "also")
        #expect(try cborDecode(Informed.self, bytes).seen == "nothing")
    }

    struct Box<Value: Codable & Equatable>: Codable, Equatable { var value: Value }

    struct Optionals: Codable, Equatable {
        var a: Int?
        var b: Int?
        var c: [Int?]
        var d: [String: Int?]
        var e: Int??
    }

    enum Ordinal: Int, Codable {
        case first = 1
        case second
    }

    indirect enum Shape: Codable, Equatable {
        case empty
        case circle(radius: Double)
        case labelled(String, at: [Int])
        case nested(Shape)
        case raw(Ordinal)
    }

    struct List: Codable, Equatable {
        var next: [List]

        init(depth: Int) {
            next = []
            // Each level is a map and an array.
            for _ in 1..<max(1, (depth + 1) / 2) { next = [List(next: next)] }
            if depth.isMultiple(of: 2) { next = [List(next: next)] }
        }

        init(next: [List]) { self.next = next }
    }

    struct Informed: Codable {
        static let key = CodingUserInfoKey(rawValue: "info")!
        var seen = ""

        init() {}

        init(from decoder: any Decoder) throws { seen = decoder.userInfo[Self.key] as? String ?? "nothing" }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(encoder.userInfo[Self.key] as? String ?? "nothing")
        }
    }

    class Base: Codable {
        var base: String

        init(base: String) { self.base = base }

        required init(from decoder: any Decoder) throws {
            if try decoder.singleValueContainer().decodeNil() {
                base = "no super"
            } else {
                base = try decoder.container(keyedBy: Keys.self).decode(String.self, forKey: .base)
            }
        }

        enum Keys: CodingKey { case base }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(base, forKey: .base)
        }
    }

    /// The superclass under its own key, written before the end.
    final class Derived: Base {
        var own: [Int]
        var after: String

        init(base: String, own: [Int], after: String) {
            self.own = own
            self.after = after
            super.init(base: base)
        }

        enum OwnKeys: CodingKey { case own, after }

        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: OwnKeys.self)
            own = try container.decode([Int].self, forKey: .own)
            after = try container.decode(String.self, forKey: .after)
            try super.init(from: container.superDecoder())
        }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: OwnKeys.self)
            try container.encode(own, forKey: .own)
            try super.encode(to: container.superEncoder())
            try container.encode(after, forKey: .after)
        }
    }

    /// The superclass in the same map.
    final class SharedContainer: Base {
        var own: Int

        init(base: String, own: Int) {
            self.own = own
            super.init(base: base)
        }

        enum OwnKeys: CodingKey { case own }

        required init(from decoder: any Decoder) throws {
            own = try decoder.container(keyedBy: OwnKeys.self).decode(Int.self, forKey: .own)
            try super.init(from: decoder)
        }

        override func encode(to encoder: any Encoder) throws {
            try super.encode(to: encoder)
            var container = encoder.container(keyedBy: OwnKeys.self)
            try container.encode(own, forKey: .own)
        }
    }
}
