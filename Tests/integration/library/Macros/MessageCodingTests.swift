#if Macros
    import Foundation
    import Testing

    @testable import Tidings
    @testable import TidingsCoding

    struct Cover: Codable, Equatable, Sendable {
        var width = 300
        var taken = Date(timeIntervalSince1970: 0.5)
    }

    enum Kind: String, Codable, Sendable { case live, studio }

    @Message struct Label: Equatable {
        var x: Int
        var city: String?
    }

    /// Fields of every kind. `PlainEverything` has the same fields with the compiler's coder.
    @Message struct Everything: Equatable {
        var number: UInt64
        var title: String
        var artist: String
        var position: Double
        var isPlaying: Bool
        var i8: Int8
        var i16: Int16
        var i32: Int32
        var i64: Int64
        var int: Int
        var u8: UInt8
        var u16: UInt16
        var u32: UInt32
        var uint: UInt
        var huge: Int128
        var float: Float
        var subtitle: String?
        var count: Int?
        var tags: [String]
        var scores: [Int?]
        var bytes: [UInt8]
        var data: Data
        var cover: Cover
        var otherCover: Cover?
        var kind: Kind
        var label: Label
        var labels: [Label]
        var labelsByName: [String: Label]
        var ratings: [String: Int?]
        var sets: Set<Int>
        var byNumber: [Int: String]
        var nested: [[String: [Double]]]
        var when: Date
        var id: UUID
        var place: URL?
        var aNameThatTakesMoreThanTwentyThreeBytes: Int
    }

    struct PlainLabel: Codable, Equatable, Sendable {
        var x: Int
        var city: String?
    }

    struct PlainEverything: Center.Message, Equatable {
        var number: UInt64
        var title: String
        var artist: String
        var position: Double
        var isPlaying: Bool
        var i8: Int8
        var i16: Int16
        var i32: Int32
        var i64: Int64
        var int: Int
        var u8: UInt8
        var u16: UInt16
        var u32: UInt32
        var uint: UInt
        var huge: Int128
        var float: Float
        var subtitle: String?
        var count: Int?
        var tags: [String]
        var scores: [Int?]
        var bytes: [UInt8]
        var data: Data
        var cover: Cover
        var otherCover: Cover?
        var kind: Kind
        var label: PlainLabel
        var labels: [PlainLabel]
        var labelsByName: [String: PlainLabel]
        var ratings: [String: Int?]
        var sets: Set<Int>
        var byNumber: [Int: String]
        var nested: [[String: [Double]]]
        var when: Date
        var id: UUID
        var place: URL?
        var aNameThatTakesMoreThanTwentyThreeBytes: Int
    }

    extension Everything {
        /// Random values. Collections without an order have at most one entry, so that the encoded order is defined.
        static func random(_ generator: inout some RandomNumberGenerator) -> Everything {
            func text() -> String {
                let size = [0, 1, 5, 15, 16, 23, 24, 80, 255, 256, 3000].randomElement(using: &generator)!
                return String((0..<size).map { _ in ["a", "7", "é", "語"].randomElement(using: &generator)! }.joined())
            }
            func number<N: FixedWidthInteger>(_ type: N.Type = N.self) -> N {
                N(
                    truncatingIfNeeded: UInt64.random(in: 0 ... .max, using: &generator)
                        >> UInt64.random(in: 0..<64, using: &generator))
                    &* (Bool.random(using: &generator) ? 1 : ~0)
            }
            func few<T>(_ make: () -> T) -> [T] {
                (0..<[0, 1, 3, 23, 24, 300].randomElement(using: &generator)!).map { _ in make() }
            }
            func maybe<T>(_ make: () -> T) -> T? { Bool.random(using: &generator) ? make() : nil }
            func label() -> Label { Label(x: number(), city: maybe(text)) }
            return Everything(
                number: number(), title: text(), artist: text(), position: Double(bitPattern: number()) + 0,
                isPlaying: .random(using: &generator), i8: number(), i16: number(), i32: number(), i64: number(),
                int: number(), u8: number(),
                u16: number(), u32: number(), uint: number(),
                huge: Int128(number(Int64.self)) * .init(number(Int32.self)),
                float: Float(Int(number(Int32.self))), subtitle: maybe(text), count: maybe { number() },
                tags: few(text).prefix(20).map { String($0.prefix(30)) }, scores: few { maybe { number() } },
                bytes: few { number() }, data: Data(few { number() }), cover: Cover(width: number()),
                otherCover: maybe { Cover(width: number()) }, kind: .studio, label: label(),
                labels: few { Label(x: number(), city: nil) }, labelsByName: maybe { ["a": label()] } ?? [:],
                ratings: ["only": maybe { number() }], sets: [number()], byNumber: [number(): text()],
                nested: few { ["a": [0.5]] }, when: Date(timeIntervalSince1970: 1.5), id: UUID(),
                place: maybe { URL(string: "http://a.b")! },
                aNameThatTakesMoreThanTwentyThreeBytes: number())
        }
    }

    /// Bytes of the generated coder, in both directions, compared with Codable.
    @Suite struct MessageCodingTests {
        private func payload(_ bytes: [UInt8]) -> Center.RawPayload { Center.RawPayload(format: .cbor, bytes: bytes) }

        /// The Codable form of a generated type, which is used for an argument of a key.
        private func codable(_ value: some Encodable) throws -> [UInt8] {
            try PayloadCoding.cborBytes(of: AnyEncodable(value: value))
        }

        private struct AnyEncodable<Value: Encodable>: Encodable {
            var value: Value
            func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
        }

        @Test func theSameBytesAsCodable() throws {
            let seed = UInt64.random(in: 0 ... .max)
            print("seed \(seed)")
            var generator = Seeded(state: seed)
            for _ in 0..<30 {
                let value = Everything.random(&generator)
                let bytes = try Center.RawPayload(encoding: value).bytes
                #expect(try bytes == codable(value), "seed \(seed)")
                // Each coder decodes the other's bytes.
                let plain = try payload(bytes).decode(PlainEverything.self)
                let plainBytes = try Center.RawPayload(encoding: plain).bytes
                #expect(plainBytes == bytes, "seed \(seed)")
                let back = try payload(plainBytes).decode(Everything.self)
                #expect(
                    try Center.RawPayload(encoding: back).bytes == bytes && back.title == value.title, "seed \(seed)")
            }
        }

        @Test func lengthsOfMaps() throws {
            // A map of 24 pairs needs a longer head than one of 23. A nil field makes the difference.
            for count in [0, 22, 23, 24] {
                let value = Many(count)
                let bytes = try Center.RawPayload(encoding: value).bytes
                #expect(try bytes == codable(value))
                #expect(
                    bytes.prefix(2) == (count + 1 < 24 ? [0xA0 + UInt8(count + 1), 0x63] : [0xB8, UInt8(count + 1)]))
                #expect(try payload(bytes).decode(Many.self) == value)
            }
        }

        @Test func jsonGoesByTheSameRules() throws {
            let json = Center.RawPayload.json(#"{"title":"x","unknown":[1]}"#)
            let value = try json.decode(NewSeek.self)
            #expect(value == NewSeek(title: "x", speed: 1, note: nil))
            #expect(throws: DecodingError.self) { try Center.RawPayload.json(#"{"speed":2}"#).decode(NewSeek.self) }
        }

        // MARK: Evolution

        @Test func oldAndNewUnderstandEachOther() throws {
            let old = try Center.RawPayload(encoding: OldSeek(title: "x", gone: [1, 2]))
            #expect(try old.decode(NewSeek.self) == NewSeek(title: "x", speed: 1, note: nil))
            let new = try Center.RawPayload(encoding: NewSeek(title: "y", speed: 2, note: "z"))
            #expect(try new.decode(OldSeek.self) == OldSeek(title: "y", gone: []))
        }

        @Test func nilArrivesAsNilWhateverTheDefault() throws {
            let bytes = try Center.RawPayload(encoding: Tempting(note: nil))
            #expect(try bytes.decode(Tempting.self) == Tempting(note: nil))
        }

        @Test func keysOfItsOwn() throws {
            let bytes = try Center.RawPayload(encoding: Renamed(position: 1, cache: 5))
            #expect(bytes.json == #"{"größe q":1}"#)
            #expect(try bytes.decode(Renamed.self) == Renamed(position: 1, cache: 7))
        }

        // MARK: Payloads of other encoders

        /// The fields in any order and twice, in other widths, tagged, and in indefinite lengths: decoded as by
        /// `Decoder`.
        @Test(arguments: [
            "a2 61782a 6463697479 6141",  // plain: x 42? as unsigned 24-bit head below
            "bf 61781829 6463697479 7f 6141 6142 ff ff", "a2 6463697479 f6 6178 c2 42 0100", "a2 6178 f94400 6178 03",
            "a3 01 80 6178 01 6463697479 c1 6141", "a1 6178 3863", "a1 7f 6178 ff 05", "d9d9f7 a1 6178 05",
            "a2 6178 01 63c3a9c3 01", "a1 6463697479 6141", "a1 6178 f5", "a1 6178 1bffffffffffffffff",
            "a1 6178 3bffffffffffffffff",
            "a1 6178 fb3ff8000000000000", "80", "f6", "a16178", "a1617801 00", "a1 41 78 01",
            "a2 6178 01 6463697479 62 c328",
            "a1 6178 a0", "a1 6178 f6", "a2 6178 01 63666f6f 9f9f9f01ffffff", "a2 6178 01 63666f6f 9f9f9f01ffff",
            "bf 6178 01", "ff", "",
            "a2 6178 01 6463697479 01", "a1 6178 c2 50 ffffffffffffffffffffffffffffffff", "bf ff", "a2 6178 01 6178 f6",
            "b818 6178 01",
        ])
        func asTheDecoderHasIt(hexadecimal: String) throws {
            let bytes = stride(from: 0, to: hexadecimal.filter { $0 != " " }.count, by: 2).map { index in
                let digits = Array(hexadecimal.filter { $0 != " " })
                return UInt8(String(digits[index...(index + 1)]), radix: 16)!
            }
            #expect(
                told { try self.payload(bytes).decode(Label.self) } == told { try self.byCodable(Label.self, bytes) })
        }

        /// A valid payload with single bits changed, or cut at any position: both coders fail, or both return the same
        /// value.
        @Test func spoiledPayloads() throws {
            var generator = Seeded(state: 7)
            let good = try Center.RawPayload(encoding: Spoiled()).bytes
            for index in good.indices {
                for bit in 0..<8 {
                    var bytes = good
                    bytes[index] ^= 1 << bit
                    compare(bytes)
                }
                compare(Array(good[..<index]))
            }
            for _ in 0..<20_000 {
                var bytes = good
                for _ in 0..<Int.random(in: 2...5, using: &generator) {
                    bytes[.random(in: bytes.indices, using: &generator)] = .random(in: 0 ... .max, using: &generator)
                }
                compare(bytes)
            }
        }

        private func compare(_ bytes: [UInt8]) {
            let generated = try? payload(bytes).decode(Spoiled.self)
            let plain = try? byCodable(Spoiled.self, bytes)
            #expect((generated == nil) == (plain == nil), "\(bytes)")
            if let generated, let plain { #expect("\(generated)" == "\(plain)", "\(bytes)") }
        }

        @Test func depthIsLimitedAsInTheDecoder() throws {
            for (depth, isGood) in [(127, true), (128, false)] {
                let nested = Deep(inner: Nest(depth: depth))
                if isGood {
                    let bytes = try Center.RawPayload(encoding: nested).bytes
                    #expect(try bytes == codable(nested))
                    #expect(try payload(bytes).decode(Deep.self) == nested)
                } else {
                    #expect(throws: EncodingError.self) { try Center.RawPayload(encoding: nested) }
                }
            }
        }

        @Test func pathsOfErrors() throws {
            let map: [UInt8] =
                [0xA1, 0x66] + Array("labels".utf8) + [0x82, 0xA1, 0x61, 0x78, 0x01, 0xA1, 0x61, 0x78, 0x61, 0x41]
            #expect(told { try self.payload(map).decode(Labels.self) } == told { try self.byCodable(Labels.self, map) })
        }

        @Test func datesComeBackBitByBit() throws {
            for number in [816_580_444.1234567, -0.1, 0x1p-40, -0.0, .nan, -.infinity, 0x1.fffffffffffffp37] {
                let bytes = try Center.RawPayload(
                    encoding: Labels(labels: [], when: Date(timeIntervalSinceReferenceDate: number))
                ).bytes
                let when = try payload(bytes).decode(Labels.self).when
                #expect(when?.timeIntervalSinceReferenceDate.bitPattern == number.bitPattern)
            }
        }

        private func byCodable<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) throws -> Value {
            try bytes.withUnsafeBytes { try CBORPayloadDecoder().decode(type, from: $0) }
        }

        /// The value, or the error's kind and path, in which both coders must agree.
        private func told<Value>(_ body: () throws -> Value) -> String {
            do {
                return "\(try body())"
            } catch DecodingError.typeMismatch(let type, let context) {
                return "not \(type): \(context.codingPath.map(\.stringValue)) \(context.debugDescription)"
            } catch DecodingError.keyNotFound(let key, let context) {
                return
                    "without \(key.stringValue): \(context.codingPath.map(\.stringValue)) \(context.debugDescription)"
            } catch DecodingError.valueNotFound(let type, let context) {
                return "no \(type): \(context.codingPath.map(\.stringValue)) \(context.debugDescription)"
            } catch DecodingError.dataCorrupted(let context) {
                return "bad: \(context.debugDescription)"
            } catch { return "\(error)" }
        }
    }

    /// The same numbers for the same seed, in all versions of the standard library.
    struct Seeded: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return mixed ^ mixed >> 31
        }
    }
#endif
