import Foundation
import Testing

@testable import Tidings

/// The examples of RFC 8949, Appendix A.
@Suite(.serialized) struct CBORAppendixATests {
    /// An example: a type that can hold the value, and whether the encoder writes the same bytes.
    struct Example: CustomTestStringConvertible, Sendable {
        let hex: String
        let check: @Sendable (String) throws -> Void

        var testDescription: String { hex }

        /// An example for both directions.
        init<T: Codable & Equatable & Sendable>(both value: T, _ hex: String) {
            self.hex = hex
            check = { (hex: String) throws in
                #expect(try cborDecode(T.self, hex: hex) == value)
                #expect(try encodedHex(value) == hex)
            }
        }

        /// An example whose value the encoder writes in another form.
        init<T: Codable & Equatable & Sendable>(decoded value: T, _ hex: String) {
            self.hex = hex
            check = { (hex: String) throws in #expect(try cborDecode(T.self, hex: hex) == value) }
        }

        init(nan hex: String) {
            self.hex = hex
            check = { (hex: String) throws in #expect(try cborDecode(Double.self, hex: hex).isNaN) }
        }

        /// An example for which Codable has no value.
        init<T: Decodable & Sendable>(refused type: T.Type, _ hex: String) {
            self.hex = hex
            check = { hex in #expect(throws: DecodingError.self) { try cborDecode(type, hex: hex) } }
        }
    }

    static let examples: [Example] = [
        Example(both: 0, "00"), Example(both: 1, "01"), Example(both: 10, "0a"), Example(both: 23, "17"),
        Example(both: 24, "1818"), Example(both: 25, "1819"), Example(both: 100, "1864"), Example(both: 1000, "1903e8"),
        Example(both: 1_000_000, "1a000f4240"), Example(both: 1_000_000_000_000, "1b000000e8d4a51000"),
        Example(both: UInt64.max, "1bffffffffffffffff"),
        Example(both: Int128(18_446_744_073_709_551_616), "c249010000000000000000"),
        Example(both: UInt128(18_446_744_073_709_551_616), "c249010000000000000000"),
        Example(both: Int128(-18_446_744_073_709_551_616), "3bffffffffffffffff"),
        Example(both: Int128(-18_446_744_073_709_551_617), "c349010000000000000000"),
        Example(refused: Int64.self, "3bffffffffffffffff"),
        Example(both: -1, "20"), Example(both: -10, "29"), Example(both: -100, "3863"), Example(both: -1000, "3903e7"),
        Example(decoded: 0.0, "f90000"), Example(decoded: 1.0, "f93c00"), Example(both: 1.1, "fb3ff199999999999a"),
        Example(decoded: 1.5, "f93e00"), Example(decoded: 65504.0, "f97bff"), Example(decoded: 100000.0, "fa47c35000"),
        Example(both: Float(100000.0), "fa47c35000"),
        Example(both: Float(3.4028234663852886e+38), "fa7f7fffff"),
        Example(decoded: 3.4028234663852886e+38, "fa7f7fffff"), Example(both: 1.0e+300, "fb7e37e43c8800759c"),
        Example(decoded: 5.960464477539063e-8, "f90001"), Example(decoded: 0.00006103515625, "f90400"),
        Example(decoded: -4.0, "f9c400"), Example(both: -4.1, "fbc010666666666666"),
        Example(decoded: Double.infinity, "f97c00"), Example(nan: "f97e00"),
        Example(decoded: -Double.infinity, "f9fc00"),
        Example(both: Float.infinity, "fa7f800000"), Example(nan: "fa7fc00000"),
        Example(both: -Float.infinity, "faff800000"), Example(both: Double.infinity, "fb7ff0000000000000"),
        Example(nan: "fb7ff8000000000000"), Example(both: -Double.infinity, "fbfff0000000000000"),
        Example(both: false, "f4"), Example(both: true, "f5"), Example(both: Int?.none, "f6"),
        Example(decoded: Int?.none, "f7"), Example(refused: Int.self, "f0"), Example(refused: Int.self, "f8ff"),
        Example(refused: Bool.self, "f0"), Example(refused: Bool.self, "f8ff"), Example(refused: Int?.self, "f0"),
        Example(
            decoded: Date(timeIntervalSince1970: 1_363_896_240),
            "c074323031332d30332d32315432303a30343a30305a"),
        Example(decoded: Date(timeIntervalSince1970: 1_363_896_240), "c11a514b67b0"),
        Example(both: Date(timeIntervalSince1970: 1_363_896_240.5), "c1fb41d452d9ec200000"),
        Example(decoded: Data([1, 2, 3, 4]), "d74401020304"),
        Example(decoded: Data(cborBytes("6449455446")), "d818456449455446"),
        Example(both: URL(string: "http://www.example.com")!, "d82076687474703a2f2f7777772e6578616d706c652e636f6d"),
        Example(both: Data(), "40"), Example(both: Data([1, 2, 3, 4]), "4401020304"),
        Example(both: "", "60"), Example(both: "a", "6161"), Example(both: "IETF", "6449455446"),
        Example(both: "\"\\", "62225c"), Example(both: "\u{fc}", "62c3bc"), Example(both: "\u{6c34}", "63e6b0b4"),
        Example(both: "\u{10151}", "64f0908591"),
        Example(both: [Int](), "80"), Example(both: [1, 2, 3], "83010203"),
        Example(
            decoded: Nested.list([.one(1), .list([.one(2), .one(3)]), .list([.one(4), .one(5)])]), "8301820203820405"),
        Example(both: Array(1...25), "98190102030405060708090a0b0c0d0e0f101112131415161718181819"),
        Example(both: [String: Int](), "a0"), Example(decoded: [1: 2, 3: 4], "a201020304"),
        Example(decoded: AB(a: 1, b: [2, 3]), "a26161016162820203"),
        Example(both: AB(a: 1, b: [2, 3]), "a26161016162820203"),
        Example(decoded: Pair(first: "a", second: ["b": "c"]), "826161a161626163"),
        Example(
            decoded: ["a": "A", "b": "B", "c": "C", "d": "D", "e": "E"], "a56161614161626142616361436164614461656145"),
        Example(decoded: Data([1, 2, 3, 4, 5]), "5f42010243030405ff"),
        Example(decoded: "streaming", "7f657374726561646d696e67ff"),
        Example(decoded: [Int](), "9fff"),
        Example(
            decoded: Nested.list([.one(1), .list([.one(2), .one(3)]), .list([.one(4), .one(5)])]),
            "9f018202039f0405ffff"),
        Example(
            decoded: Nested.list([.one(1), .list([.one(2), .one(3)]), .list([.one(4), .one(5)])]),
            "9f01820203820405ff"),
        Example(
            decoded: Nested.list([.one(1), .list([.one(2), .one(3)]), .list([.one(4), .one(5)])]),
            "83018202039f0405ff"),
        Example(
            decoded: Nested.list([.one(1), .list([.one(2), .one(3)]), .list([.one(4), .one(5)])]),
            "83019f0203ff820405"),
        Example(decoded: Array(1...25), "9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff"),
        Example(decoded: AB(a: 1, b: [2, 3]), "bf61610161629f0203ffff"),
        Example(decoded: Pair(first: "a", second: ["b": "c"]), "826161bf61626163ff"),
        Example(decoded: ["Fun": Either.bool(true), "Amt": .int(-2)], "bf6346756ef563416d7421ff"),
    ]

    @Test(arguments: examples) func example(_ example: Example) throws {
        try example.check(example.hex)
    }

    struct AB: Codable, Equatable {
        var a: Int
        var b: [Int]
    }

    enum Nested: Codable, Equatable {
        case one(Int)
        case list([Nested])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let int = try? container.decode(Int.self) {
                self = .one(int)
            } else {
                self = .list(try container.decode([Nested].self))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .one(let int): try container.encode(int)
            case .list(let list): try container.encode(list)
            }
        }
    }

    struct Pair: Codable, Equatable {
        var first: String
        var second: [String: String]

        init(first: String, second: [String: String]) {
            self.first = first
            self.second = second
        }

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            first = try container.decode(String.self)
            second = try container.decode([String: String].self)
            #expect(container.isAtEnd)
        }
    }

    enum Either: Codable, Equatable {
        case bool(Bool)
        case int(Int)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let bool = try? container.decode(Bool.self) {
                self = .bool(bool)
            } else {
                self = .int(try container.decode(Int.self))
            }
        }
    }
}

private func encodedHex<T: Encodable>(_ value: T) throws -> String { cborHex(try cborEncode(value)) }
