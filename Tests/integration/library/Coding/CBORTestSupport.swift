import Foundation
import Testing

@testable import Tidings
@testable import TidingsCoding

/// Encodes into a buffer that starts small and grows in small steps, so that it grows in the middle of an item.
func cborEncode<T: Encodable>(
    _ value: T, userInfo: [CodingUserInfoKey: any Sendable] = [:], initial: Int = 3
) throws -> [UInt8] {
    var memory = SmallMemory(memory: .allocate(byteCount: initial, alignment: 8))
    defer { memory.memory.deallocate() }
    return try withUnsafeMutablePointer(to: &memory) { memory in
        var buffer = PayloadBuffer(memory.pointee.memory, owner: memory)
        try CBORPayloadEncoder(userInfo: userInfo).encode(value, into: &buffer)
        return Array(buffer.bytes)
    }
}

private struct SmallMemory: PayloadMemory {
    var memory: UnsafeMutableRawBufferPointer

    mutating func grow(used: Int, needed: Int) -> UnsafeMutableRawBufferPointer {
        let grown = UnsafeMutableRawBufferPointer.allocate(byteCount: needed + needed / 2, alignment: 8)
        grown.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<used]))
        // The old bytes are overwritten: a coder that still uses them writes a wrong payload.
        memory.initializeMemory(as: UInt8.self, repeating: 0xFF)
        memory.deallocate()
        memory = grown
        return grown
    }
}

/// Memory of a fixed size: `refuse` throws the error for growing it.
struct FixedMemory: PayloadMemory {
    var refuse: (_ used: Int, _ needed: Int) throws -> Never

    func grow(used: Int, needed: Int) throws -> UnsafeMutableRawBufferPointer { try refuse(used, needed) }
}

func cborDecode<T: Decodable>(
    _ type: T.Type, _ bytes: [UInt8], userInfo: [CodingUserInfoKey: any Sendable] = [:]
) throws -> T {
    // In memory of exactly that size, so that a sanitizer detects a read beyond it.
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyBytes(from: bytes)
    return try CBORPayloadDecoder(userInfo: userInfo).decode(type, from: UnsafeRawBufferPointer(copy))
}

func cborDecode<T: Decodable>(_ type: T.Type, hex: String) throws -> T {
    try cborDecode(type, cborBytes(hex))
}

func cborBytes(_ hex: String) -> [UInt8] {
    let digits = hex.filter { $0.isHexDigit }.map { UInt8($0.hexDigitValue!) }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

func cborHex(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
}

/// Encodes and decodes, and requires that the same value returns and that another reader accepts the bytes as CBOR.
func cborRoundTrip<T: Codable & Equatable>(_ value: T, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let encoded = try cborEncode(value)
    _ = try #require(CBORTree(encoded), "not CBOR: \(cborHex(encoded))", sourceLocation: sourceLocation)
    #expect(try cborDecode(T.self, encoded) == value, "\(cborHex(encoded))", sourceLocation: sourceLocation)
}

/// SplitMix64: the same numbers for the same seed on every machine.
struct CBORSeededGenerator: RandomNumberGenerator {
    var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// The processor time that this thread takes for `body`, in seconds. For code that must not take quadratic time: the
/// bounds are far above the measured time on any machine, and far below quadratic time.
func cborProcessorTime(_ body: () throws -> Void) rethrows -> Double {
    func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    let before = now()
    try body()
    return now() - before
}

/// An item's head with an argument of 32 bits.
func cborHead(_ major: UInt8, _ argument: Int) -> [UInt8] {
    [major << 5 | 26] + withUnsafeBytes(of: UInt32(argument).bigEndian) { Array($0) }
}

/// The path in an error, as text.
func cborPath(of error: any Error) -> String? {
    let path: [any CodingKey]
    switch error {
    case DecodingError.dataCorrupted(let context): path = context.codingPath
    case DecodingError.keyNotFound(_, let context): path = context.codingPath
    case DecodingError.typeMismatch(_, let context): path = context.codingPath
    case DecodingError.valueNotFound(_, let context): path = context.codingPath
    case EncodingError.invalidValue(_, let context): path = context.codingPath
    default: return nil
    }
    return path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: ".")
}

/// The path in the error that `body` throws.
func cborFailingPath(_ body: () throws -> Void) -> String? {
    do {
        try body()
        return nil
    } catch {
        return cborPath(of: error)
    }
}
