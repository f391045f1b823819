import TidingsCoding

/// Converts values to bytes and back, for each payload format.
@usableFromInline
enum PayloadCoding {
    typealias Format = SharedNotificationCenter.PayloadFormat

    // MARK: Decoding

    /// Decodes a message from a payload, by the format that the payload declares.
    ///
    /// - Parameter isShared: whether other processes can change the bytes meanwhile. A coder of the program's must not
    ///   be given such bytes.
    static func message<M: SharedNotificationCenter.Message>(
        _ type: M.Type, format: UInt8, bytes: UnsafeRawBufferPointer, isShared: Bool = false
    ) throws -> M {
        // CBOR first: the most common format.
        if format == Format.cbor.rawValue { return try messageInCBOR(type, bytes, isShared: isShared) }
        return try messageOtherwise(type, format: format, bytes: bytes, isShared: isShared)
    }

    @inline(__always)
    static func messageInCBOR<M: SharedNotificationCenter.Message>(
        _ type: M.Type, _ bytes: UnsafeRawBufferPointer, isShared: Bool = false
    ) throws -> M {
        do {
            guard bytes.count < 1 << 31 else { throw CBORFault(.tooLarge, at: 0) }
            var decoder = SharedNotificationCenter._FieldDecoder(bytes, isShared: isShared)
            let message = try type.init(_decodingField: &decoder)
            try decoder.finish()
            return message
        } catch {
            throw CBORFault.describe(error, expecting: type)
        }
    }

    // A function of its own: a generic function resolves the types of all its paths when it is called. Resolving the
    // types of this path costs as much as decoding a field.
    @inline(never)
    private static func messageOtherwise<M: SharedNotificationCenter.Message>(
        _ type: M.Type, format: UInt8, bytes: UnsafeRawBufferPointer, isShared: Bool
    ) throws -> M {
        switch (Format(rawValue: format), M.encoding.kind) {
        case (.bitwise, .bitwise):
            return try bitwise(type, as: type, bytes)
        case (let format, .custom(let coder)) where coder.format == format:
            return try coder.decode(type, from: bytes)
        case (.bytes, _) where bytes.isEmpty:
            return try messageOfNothing(type)
        case (let format, _):
            return try decode(type, format: format, bytes: bytes, isShared: isShared)
        }
    }

    /// Decodes a post of a name without a payload, for example by `notify_post`. The message must have no fields, or a
    /// default for each field.
    static func messageOfNothing<M: SharedNotificationCenter.Message>(_ type: M.Type) throws -> M {
        let noFields: [UInt8] = [0xa0]
        guard let message = try? noFields.withUnsafeBytes({ try messageInCBOR(type, $0) }) else {
            throw undecodable("there is no payload")
        }
        return message
    }

    /// Decodes a value of any type. Custom formats are not decoded.
    static func decode<T: Decodable>(
        _ type: T.Type, format: Format, bytes: UnsafeRawBufferPointer, isShared: Bool = false
    ) throws -> T {
        // CBOR first: the most common format.
        if format.rawValue == Format.cbor.rawValue {
            return try CBORPayloadDecoder().decode(type, from: bytes, isShared: isShared)
        }
        return try decodeOtherwise(type, format: format, bytes: bytes)
    }

    @inline(never)
    private static func decodeOtherwise<T: Decodable>(
        _ type: T.Type, format: Format, bytes: UnsafeRawBufferPointer
    ) throws -> T {
        switch format {
        case .json:
            do {
                return try JSONPayload.decode(type, Array(bytes))
            } catch {
                throw CBORFault.describe(error, expecting: type)
            }
        case .text where type == String.self:
            // A copy is validated: another process may change the bytes afterwards.
            guard let text = String(validating: Array(bytes), as: UTF8.self) as? T else {
                throw undecodable("the text is not UTF-8")
            }
            return text
        case .bitwise:
            guard let message = type as? any SharedNotificationCenter.BitwiseMessage.Type else { fallthrough }
            return try bitwise(type, as: message, bytes)
        default:
            throw undecodable(
                bytes.isEmpty ? "there is no payload" : "\(T.self) can't be decoded from a payload of format \(format)")
        }
    }

    /// The bytes of a field of type `Data`, where they lie in the payload.
    static func field(_ name: String, format: Format, bytes: UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer {
        guard format == .cbor else { throw undecodable("a payload of format \(format) has no field \"\(name)\"") }
        return try CBORField.bytes(of: name, in: bytes)
    }

    // MARK: Bitwise

    /// A bitwise payload is eight bytes of fingerprint, then the value's bytes.
    static var fingerprintSize: Int { BitwiseFingerprint.size }

    private static let fingerprints = TypeTable<UInt64>()

    /// The fingerprint at the beginning of the type's bitwise payloads.
    @inline(__always)
    static func fingerprint(of type: any SharedNotificationCenter.Message.Type) -> UInt64 {
        fingerprints.value(of: ObjectIdentifier(type)) ?? newFingerprint(of: type)
    }

    @inline(never)
    private static func newFingerprint(of type: any SharedNotificationCenter.Message.Type) -> UInt64 {
        fingerprints.insert(computedFingerprint(of: type), for: ObjectIdentifier(type))
    }

    private static func computedFingerprint<M: SharedNotificationCenter.Message>(of type: M.Type) -> UInt64 {
        BitwiseFingerprint.compute(
            name: M.name.rawValue, of: type, isBitwise: M.self is any SharedNotificationCenter.BitwiseMessage.Type)
    }

    /// Throws unless the bytes are the type's fingerprint and a value of that size.
    @inline(__always)
    @usableFromInline
    static func checkBitwise(
        _ bytes: UnsafeRawBufferPointer, for type: any SharedNotificationCenter.Message.Type, size: Int
    ) throws {
        #if MUTANT_BITWISE_SIZE_UNCHECKED  // Found by: fuzz swift
            let size = isMutant("BITWISE_SIZE_UNCHECKED") ? bytes.count - fingerprintSize : size
        #endif
        guard bytes.count == fingerprintSize + size,
            UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)) == fingerprint(of: type)
        else { throw undecodable("\(type) lies otherwise in memory where this was posted, or is another type") }
    }

    /// `message` is the same type as `type`, with the conformance that allows bitwise coding.
    @inline(__always)
    private static func bitwise<T>(
        _ type: T.Type, as message: any SharedNotificationCenter.Message.Type, _ bytes: UnsafeRawBufferPointer
    ) throws -> T {
        try checkBitwise(bytes, for: message, size: MemoryLayout<T>.size)
        // The type is BitwiseCopyable. The callers have checked its encoding, which only `BitwiseMessage` can have, or
        // its conformance.
        let value = bytes.baseAddress! + fingerprintSize
        if Int(bitPattern: value) & (MemoryLayout<T>.alignment - 1) == 0 {
            return value.assumingMemoryBound(to: T.self).pointee
        }
        return unaligned(type, bytes)
    }

    // A function of its own, for the reason of `messageOtherwise`.
    @inline(never)
    private static func unaligned<T>(_ type: T.Type, _ bytes: UnsafeRawBufferPointer) -> T {
        withUnsafeTemporaryAllocation(of: T.self, capacity: 1) { value in
            UnsafeMutableRawBufferPointer(value).copyMemory(
                from: UnsafeRawBufferPointer(rebasing: bytes[fingerprintSize...]))
            return value.baseAddress!.pointee
        }
    }

    @inline(never)
    static func undecodable(_ why: String) -> DecodingError {
        DecodingError.dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: why))
    }

    // MARK: Encoding

    /// Appends a message to the buffer's contents, by the coder generated for its type, or by Codable.
    @inline(__always)
    static func encode<M: SharedNotificationCenter.Message>(_ message: M, into buffer: inout PayloadBuffer) throws {
        let count = buffer.count
        try withUnsafeMutablePointer(to: &buffer) { buffer in
            // The pointer is to the caller's variable, and is used during this call only.
            var encoder = SharedNotificationCenter._FieldEncoder(buffer)
            do {
                try message._encodeField(to: &encoder)
                encoder.finish()
            } catch {
                buffer.pointee.count = count
                throw error
            }
        }
    }

    /// Encodes a value as CBOR outside shared memory.
    static func cborBytes<T: Encodable>(of value: T) throws -> [UInt8] {
        try PayloadBuffer.bytes { try CBORPayloadEncoder().encode(value, into: &$0) }
    }

    /// Encodes a message as CBOR outside shared memory.
    static func cborBytes<M: SharedNotificationCenter.Message>(of message: M) throws -> [UInt8] {
        try PayloadBuffer.bytes { try encode(message, into: &$0) }
    }

    static func jsonBytes<T: Encodable>(of value: T) throws -> [UInt8] { try JSONPayload.encode(value) }
}
