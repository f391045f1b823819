import Foundation
import Testing
import TidingsFoundation

@testable import Tidings
@testable import TidingsCoding

/// Bytes of an adversarial peer: decoding ends with an error or a value, promptly.
@Suite(.serialized) struct CBORHostileBytesTests {
    /// A type that reads the whole content of any payload.
    indirect enum Anything: Codable, Equatable {
        case null
        case bool(Bool)
        case int(Int128)
        case double(Double)
        case text(String)
        case data(Data)
        case list([Anything])
        case map([String: Anything])

        init(from decoder: any Decoder) throws {
            let single = try decoder.singleValueContainer()
            if single.decodeNil() {
                self = .null
            } else if let bool = try? single.decode(Bool.self) {
                self = .bool(bool)
            } else if let int = try? single.decode(Int128.self) {
                self = .int(int)
            } else if let double = try? single.decode(Double.self) {
                self = .double(double)
            } else if let text = try? single.decode(String.self) {
                self = .text(text)
            } else if let data = try? single.decode(Data.self) {
                self = .data(data)
            } else if var list = try? decoder.unkeyedContainer() {
                var elements: [Anything] = []
                while !list.isAtEnd { elements.append(try list.decode(Anything.self)) }
                self = .list(elements)
            } else {
                self = .map(try single.decode([String: Anything].self))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var single = encoder.singleValueContainer()
            switch self {
            case .null: try single.encodeNil()
            case .bool(let value): try single.encode(value)
            case .int(let value): try single.encode(value)
            case .double(let value): try single.encode(value)
            case .text(let value): try single.encode(value)
            case .data(let value): try single.encode(value)
            case .list(let value): try single.encode(value)
            case .map(let value): try single.encode(value)
            }
        }
    }

    struct Fixed: Codable, Equatable {
        var id: UInt64
        var title: String
        var date: Date?
        var amount: Decimal?
        var link: URL?
        var uuid: UUID?
        var list: [Int16]
        var map: [Int: String]
        var inner: [Fixed]
        var blob: Data
    }

    // Created for each use: LeakSanitizer reports the bytes of a static `Data` as a leak.
    static var fixed: Fixed {
        Fixed(
            id: 5_000_000_000, title: "Grüße", date: Date(timeIntervalSince1970: 5.5),
            amount: Decimal(string: "-12.50"),
            link: URL(string: "http://a.b/c"), uuid: UUID(uuidString: "01234567-89AB-CDEF-0123-456789ABCDEF"),
            list: [1, -1, 300], map: [1: "one"],
            inner: [
                Fixed(
                    id: 1, title: "", date: nil, amount: nil, link: nil, uuid: nil, list: [], map: [:], inner: [],
                    blob: Data([1, 2, 3]))
            ], blob: Data(repeating: 5, count: 30))
    }

    /// Correct payloads, which the tests damage.
    static let corpus: [[UInt8]] =
        [try! cborEncode(fixed), try! cborEncode(Dictionary(uniqueKeysWithValues: (0..<20).map { ("k\($0)", [$0]) }))]
        + [
            "bf6161 9f 01 7f 6161 6162 ff ff 6162 5f 4101 4102 ff 6163 bf ff ff", "c48221196ab3",
            "c249010000000000000000", "c07432303133", "d9d9f7 83 f93c00 fa47c35000 fb7ff8000000000000",
            "a2 8101 02 01 03", "83 f6 f7 f8ff", "9f 9f 9f a1 6161 9f ff ff ff ff", "d82501",
            "8202 c349010000000000000000",
        ].map(cborBytes)

    /// Decodes as several types. A decoded value must encode and decode to the same value again.
    func feed(_ bytes: [UInt8]) throws {
        if let value = try? cborDecode(Anything.self, bytes) {
            let again = try cborEncode(value)
            // Compares bytes, because a NaN does not equal itself.
            #expect(try cborEncode(cborDecode(Anything.self, again)).count == again.count, "\(cborHex(bytes))")
        }
        _ = try? cborDecode(Fixed.self, bytes)
        _ = try? cborDecode([Decimal].self, bytes)
        _ = try? cborDecode(Date.self, bytes)
        _ = try? cborDecode([String: [Int]].self, bytes)
        _ = try? cborDecode([Int: Data].self, bytes)
        _ = try? cborDecode(CBORRoundTripTests.Shape.self, bytes)
    }

    @Test func theCorpusItself() throws {
        #expect(try cborDecode(Fixed.self, Self.corpus[0]) == Self.fixed)
        for bytes in Self.corpus { try feed(bytes) }
    }

    @Test func payloadsCutAtEveryPosition() throws {
        for bytes in Self.corpus {
            for end in 0..<bytes.count {
                let cut = Array(bytes[..<end])
                #expect(throws: DecodingError.self, "\(cborHex(cut))") { try cborDecode(Anything.self, cut) }
                try feed(cut)
            }
            #expect(throws: DecodingError.self) { try cborDecode(Anything.self, bytes + [0]) }
        }
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>) func oneByteChanged(seed: UInt64) throws {
        var generator = CBORSeededGenerator(seed: seed)
        for _ in 0..<(isSanitized ? 100 : 500) {
            var bytes = Self.corpus.randomElement(using: &generator)!
            bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            try feed(bytes)
        }
    }

    @Test(arguments: 11...14 as ClosedRange<UInt64>) func severalBytesChangedMovedOrMissing(seed: UInt64) throws {
        var generator = CBORSeededGenerator(seed: seed)
        for _ in 0..<500 {
            var bytes = Self.corpus.randomElement(using: &generator)!
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let at = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes.remove(at: at)
                case 1: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: at)
                case 2: bytes.insert(contentsOf: Self.corpus.randomElement(using: &generator)!, at: at)
                default: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                }
                if bytes.isEmpty { bytes = [0] }
            }
            try feed(bytes)
        }
    }

    @Test(arguments: 21...24 as ClosedRange<UInt64>) func bytesByChance(seed: UInt64) throws {
        var generator = CBORSeededGenerator(seed: seed)
        for _ in 0..<(isSanitized ? 400 : 2000) {
            try feed(
                (0..<Int.random(in: 0...24, using: &generator)).map { _ in .random(in: 0...255, using: &generator) })
        }
    }

    @Test func everyFirstByteAlone() throws {
        for first in 0...255 as ClosedRange<UInt8> {
            let scalar = (first >> 5 <= 1 && first & 31 < 24) || [0x40, 0x60, 0x80, 0xA0].contains(first)
            let simple = (0xF4...0xF7).contains(first)
            if scalar || simple {
                _ = try cborDecode(Anything.self, [first])
            } else {
                #expect(throws: DecodingError.self, "\(first)") { try cborDecode(Anything.self, [first]) }
            }
            // The reserved values, followed by many bytes.
            if (28...30).contains(first & 31) {
                #expect(throws: DecodingError.self) {
                    try cborDecode(Anything.self, [first] + Array(repeating: 0, count: 64))
                }
            }
        }
    }

    @Test(arguments: [
        // Simple values in the wrong form, stops at the wrong position, indefinite lengths where none are allowed.
        "f800", "f814", "f81f", "ff", "81ff", "a1ff", "a1 6161 ff", "bf 6161 ff", "82 01 ff", "c1ff", "1f", "3f",
        "df00",
        "9f", "9f01", "bf", "bf6161", "5f", "5f4101", "7f", "7f61",
        // Strings that consist of other items.
        "5f6161ff", "7f4101ff", "5f01ff", "5f5f4101ffff", "7f7f6161ffff", "5f8101ff",
        // Invalid UTF-8: a lone continuation, a surrogate, too long, too high, cut in two.
        "6180", "63eda080", "62c080", "64f4908080", "64f8808080", "7f61c361bcff", "62c3", "61c3", "a1 61c3 01",
        "a1 62c328 01",
        // Bytes after the end.
        "0000", "8000", "f6f6", "6000",
    ])
    func malformed(_ hex: String) throws {
        #expect(throws: DecodingError.self) { try cborDecode(Anything.self, hex: hex) }
        #expect(throws: DecodingError.self) { try cborDecode([Anything].self, cborBytes("81" + hex)) }
    }

    @Test func depth() throws {
        let opens: [(String, String)] = [("81", ""), ("9f", "ff"), ("a1 6161", ""), ("bf 6161", "ff"), ("a1 01", "")]
        for (open, close) in opens {
            func nested(_ depth: Int) -> [UInt8] {
                let (open, close) = (cborBytes(open), cborBytes(close))
                return Array(repeating: open, count: depth).joined() + [0x01]
                    + Array(repeating: close, count: depth).joined()
            }
            _ = try cborDecode(Anything.self, nested(128))
            #expect(throws: DecodingError.self) { try cborDecode(Anything.self, nested(129)) }
            #expect(throws: DecodingError.self) { try cborDecode(Anything.self, nested(200_000)) }
            #expect(throws: DecodingError.self) { try cborDecode(Int.self, nested(200_000)) }
        }
        // The deepest value on a small stack: 1 MiB is enough without optimization; sanitizers have larger frames.
        let deepest = Array(repeating: 0x81, count: 128) + [0x01] as [UInt8]
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            let value = try? cborDecode(Anything.self, deepest)
            #expect((try? value.map { try cborEncode($0) }) == deepest)
            done.signal()
        }
        thread.stackSize = (isSanitized ? 2048 : 1024) << 10
        thread.start()
        done.wait()
        // Nested keys.
        #expect(throws: DecodingError.self) { try cborDecode(Anything.self, Array(repeating: 0xA1, count: 1_000_000)) }
        #expect(throws: DecodingError.self) { try cborDecode(Anything.self, Array(repeating: 0xC1, count: 1_000_000)) }
        _ = try cborDecode(Int.self, Array(repeating: 0xC6, count: 16) + [1])
        #expect(throws: DecodingError.self) { try cborDecode(Int.self, Array(repeating: 0xC6, count: 17) + [1]) }
    }

    @Test func wrongLengthsAndCounts() throws {
        for major in [2, 3, 4, 5] as [UInt8] {
            for length in [
                "18ff", "19ffff", "1a7fffffff", "1affffffff", "1b7fffffffffffffff", "1bffffffffffffffff",
                "1b00000001ffffffff",
                "1b8000000000000000", "1b0000000000000010",
            ] {
                var lie = cborBytes(length)
                lie[0] |= major << 5
                for tail in [[], [0], Array(repeating: 0, count: 15), Array(repeating: 0x60, count: 15)] as [[UInt8]] {
                    #expect(throws: DecodingError.self) { try cborDecode(Anything.self, lie + tail) }
                    #expect(throws: DecodingError.self) { try cborDecode(Anything.self, [0x81] + lie + tail) }
                    #expect(throws: DecodingError.self) { try cborDecode(Anything.self, [0x5F] + lie + tail) }
                    #expect(throws: DecodingError.self) { try cborDecode([String: Int].self, [0xA1] + lie + tail) }
                }
            }
        }
    }

    /// Inputs that make a careless decoder quadratic. The test's time limit detects a hang.
    @Test(.timeLimit(.minutes(10))) func inputsThatTakeQuadraticTime() throws {
        let size = isSanitized ? 40_000 : 200_000
        // Many keys: all equal, all different, in an order that no type requests.
        let same = [0xBF] + Array(repeating: [0x61, 0x61, 0x01] as [UInt8], count: size).joined() + [0xFF]
        #expect(try cborDecode([String: Int].self, same) == ["a": 1])
        struct Wanted: Decodable { var z: Int?, y: Int?, x: Int?, w: Int?, v: Int? }
        #expect(try cborDecode(Wanted.self, same).z == nil)
        // Many empty chunks in one string, which every lookup of an absent key reads again.
        let chunks =
            cborBytes("bf6161") + [0x7F] + Array(repeating: 0x60, count: size) + [0xFF] + cborBytes("6162 02 ff")
        #expect(try cborDecode(Wanted.self, chunks).v == nil)
        // Wide and deep.
        let deep =
            Array(repeating: 0x9F as UInt8, count: 120) + Array(repeating: 0x80, count: size)
            + Array(repeating: 0xFF, count: 120)
        #expect(throws: DecodingError.self) { try cborDecode([Int].self, deep) }
        let shorter = Array(deep[..<120]) + Array(repeating: 0x80, count: 200) + Array(repeating: 0xFF, count: 120)
        _ = try cborDecode(Anything.self, shorter)
        // Small integers, then an error at the very end.
        #expect(throws: DecodingError.self) {
            try cborDecode([Int].self, [0x9F] + Array(repeating: 1, count: size) + [0x60, 0xFF])
        }
    }

    /// A map of indefinite length whose first key consists of many chunks: it was joined again for every other key.
    @Test func aLongKeyOfManyChunksIsReadFewTimes() throws {
        func map(_ size: Int) -> [UInt8] {
            let first: [UInt8] = [0x7F] + Array(repeating: 0x60, count: size / 2) + [0x61, 0x61, 0xFF, 0x00]
            var others: [UInt8] = []
            for number in 0..<size / 16 { others += [0x66] + Array(String(format: "%06d", number).utf8) + [0x00] }
            return [0xBF] + first + others + [0xFF]
        }
        let bytes = map(1 << 16)
        let time = try cborProcessorTime {
            let (numbers, values) = (
                try cborDecode([String: Int].self, bytes), try cborDecode(Center.PropertyValue.self, bytes)
            )
            #expect(numbers.count == 4097 && values.dictionary?.count == 4097)
        }
        #expect(time < 5)
    }

    /// A type that tries one alternative after another receives an error for each failure. The keys on the path are
    /// read once: the path of each error has the same string.
    @Test func pathsOfErrorsAreBuiltOnce() throws {
        struct Errors: Decodable {
            var paths: [[any CodingKey]] = []
            init(from decoder: any Decoder) throws {
                if let map = try? decoder.container(keyedBy: CBORKey.self) {
                    self = try map.decode(Errors.self, forKey: map.allKeys[0])
                } else if var list = try? decoder.unkeyedContainer() {
                    while !list.isAtEnd {
                        do {
                            _ = try list.decode(String.self)
                        } catch DecodingError.typeMismatch(_, let context) {
                            paths.append(context.codingPath)
                            if let deeper = try? list.decode(Errors.self) { paths += deeper.paths }
                        }
                    }
                }
            }
        }
        let count = 100
        let list = cborHead(4, count) + Array(repeating: 0, count: count)
        let key = cborHead(3, 1000) + Array(repeating: 0x61, count: 1000)
        for depth in [0, 100] {
            let errors = try cborDecode(Errors.self, Array(repeating: 0x81, count: depth) + [0xA1] + key + list).paths
                .filter { $0.count == depth + 2 }
            #expect(errors.count == count)
            let places = Set(
                errors.map { path in path[depth].stringValue.utf8.withContiguousStorageIfAvailable { $0.baseAddress } })
            #expect(places.count == 1 && places.first != .some(nil))
        }
    }

    /// An index has room for more keys than most maps have. If each of many small maps kept one, the indexes would take
    /// 190 times the payload.
    @Test func indexesAreMadeForLargeMapsAloneAndForgotten() throws {
        func indexes(_ count: Int, within: Bool = false) -> Int {
            var pairs: [UInt8] = []
            for number in 0..<count { pairs += [0x61, 0x61 + UInt8(number), UInt8(number)] }
            var most = 0
            for (head, end) in [([0xA0 | UInt8(count)], []), ([0xBF], [0xFF])] as [([UInt8], [UInt8])] {
                let map = (head[0] == 0xBF || count < 16 ? head : [0xB8, UInt8(count)]) + pairs + end
                let list = [0x82] + map + map
                list.withUnsafeBytes { list in
                    let reader = CBORReader.begin(list)
                    defer { reader.end() }
                    #expect(throws: Never.self) { try CBORScanner(reader).scan() }
                    let decoder = CBORDecoder(reader: reader, step: CBORStep.root, place: CBORPlace(offset: 0, span: 0))
                    let value = try? within ? [[String: Int]](from: decoder) : Opened(from: decoder).maps
                    #expect(value?.count == 2 && value?[1].count == count)
                    most = max(most, reader.state.pointee.indexes.count)
                    #expect(reader.state.pointee.indexes.count == reader.state.pointee.indexed.count)
                }
            }
            return most
        }
        #expect(indexes(0) == 0 && indexes(15) == 0)
        #expect(indexes(20) == 2)
        #expect(indexes(20, within: true) == 0)
    }

    /// Reads the maps of a list itself, instead of each map as a value.
    private struct Opened: Decodable {
        var maps: [[String: Int]] = []
        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            while !list.isAtEnd {
                let map = try list.nestedContainer(keyedBy: CBORKey.self)
                maps.append([:])
                for key in map.allKeys { maps[maps.count - 1][key.stringValue] = try map.decode(Int.self, forKey: key) }
            }
        }
    }

    @Test func bytesThatChangeWhileTheyAreRead() throws {
        // A type that overwrites its own payload during decoding, as another process could.
        let original = try cborEncode(Self.fixed)
        for seed in 1...300 as ClosedRange<UInt64> {
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: original.count, alignment: 1)
            defer { memory.deallocate() }
            memory.copyBytes(from: original)
            let scribbler = Scribbler(memory: memory, generator: CBORSeededGenerator(seed: seed))
            let list = CBORPayloadDecoder(userInfo: [Scribbler.key: scribbler])
            _ = try? list.decode(Scribbled.self, from: UnsafeRawBufferPointer(memory))
        }
    }

    final class Scribbler: @unchecked Sendable {
        // Proof: one thread makes it, uses it and releases it.
        static let key = CodingUserInfoKey(rawValue: "scribbler")!
        let memory: UnsafeMutableRawBufferPointer
        var generator: CBORSeededGenerator

        init(memory: UnsafeMutableRawBufferPointer, generator: CBORSeededGenerator) {
            self.memory = memory
            self.generator = generator
        }

        func scribble() {
            memory[Int.random(in: 0..<memory.count, using: &generator)] = .random(in: 0...255, using: &generator)
        }
    }

    /// Reads the whole payload, and overwrites it before each read.
    struct Scribbled: Decodable {
        init(from decoder: any Decoder) throws {
            guard let scribbler = decoder.userInfo[Scribbler.key] as? Scribbler else { return }
            scribbler.scribble()
            _ = decoder.codingPath
            if let map = try? decoder.container(keyedBy: CBORKey.self) {
                for key in map.allKeys {
                    scribbler.scribble()
                    _ = try? map.decode(Anything.self, forKey: key)
                    _ = try? map.decode(Scribbled.self, forKey: key)
                }
            } else if var list = try? decoder.unkeyedContainer() {
                while !list.isAtEnd {
                    scribbler.scribble()
                    if (try? list.decode(Scribbled.self)) == nil { break }
                }
            } else {
                _ = try Anything(from: decoder)
            }
        }
    }
}
