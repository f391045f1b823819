extension SharedNotificationCenter {
    /// A payload as it travels: its format and its bytes.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forNames: ["com.example.volume"]) { notification in
    ///     print(notification.payload.json, (try? notification.payload.decode(Double.self)) ?? 1)
    /// }
    /// try center.post(name: "com.example.volume", payload: .init(encoding: 0.5))
    /// ```
    ///
    /// If the observer has ``ObserverOptions/inPlace``, the bytes of a large payload can lie in the center: then
    /// ``withBytes(_:)`` and ``decode(_:)-(Value.Type)`` read them there, ``bytes`` copies them, and the center's
    /// memory is free again when the last copy of this value is gone.
    public struct RawPayload: Hashable, Sendable {
        /// The format of the bytes.
        public var format: PayloadFormat
        /// The bytes, unless there is a `held` payload. Two properties, not an enum: each access to the content of an
        /// enum would retain and release it.
        @usableFromInline var own: [UInt8]
        @usableFromInline var held: HeldPayload?

        /// The payload's bytes. A payload in place is copied by each access; after a change it is a copy.
        public var bytes: [UInt8] {
            get {
                guard let held else { return own }
                return Array(held.bytes)
            }
            set {
                own = newValue
                held = nil
            }
        }

        /// How many bytes the payload has.
        public var count: Int { held?.bytes.count ?? own.count }

        /// Creates a payload from bytes of a format. The bytes are not checked.
        public init(format: PayloadFormat, bytes: [UInt8]) {
            self.format = format
            own = bytes
        }

        init(format: PayloadFormat, held: HeldPayload) {
            self.format = format
            own = []
            self.held = held
        }

        /// Calls a closure with the payload's bytes, without a copy.
        ///
        /// ```swift
        /// let center = try SharedNotificationCenter.default
        /// let token = try center.addObserver(forNames: "com.example.frame", options: .init(inPlace: .large)) {
        ///     let brightest = $0.payload.withBytes { bytes in
        ///         bytes.byteOffsets.reduce(0) { max($0, bytes.unsafeLoad(fromByteOffset: $1, as: UInt8.self)) }
        ///     }
        ///     print(brightest)
        /// }
        /// ```
        ///
        /// The compiler refuses a closure that keeps the span. If the payload lies in the center, a process with write
        /// access that does not keep to the library's rules can change the bytes meanwhile: do not rely on a byte that
        /// was read before, but read each once, or check again. No such change makes the span read elsewhere.
        ///
        /// - Throws: what the closure throws.
        public func withBytes<Result, Failure: Error>(
            _ body: (RawSpan) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            guard let held else { return try body(own.span.bytes) }
            defer { withExtendedLifetime(held) {} }
            return try body(RawSpan(_unsafeBytes: held.bytes))
        }

        /// Calls a closure with the numbers in the payload, or in a field of it.
        ///
        /// ```swift
        /// func mean(_ spectrum: SharedNotificationCenter.Notification) throws -> Float {
        ///     try spectrum.payload.withSpan(of: Float.self) { samples in
        ///         samples.indices.reduce(0) { $0 + samples[$1] } / Float(samples.count)
        ///     }
        /// }
        /// func firstPixel(_ frame: SharedNotificationCenter.Notification) throws -> UInt8 {
        ///     try frame.payload.withSpan(of: UInt8.self, at: "pixels") { $0[0] }
        /// }
        /// ```
        ///
        /// The numbers are those of the poster's machine, without gaps. They are read where the payload lies, and
        /// copied only if they are not aligned there. The payload of a post that builds it
        /// (`post(name:format:capacity:options:building:)`) is aligned for every number type, and a byte is aligned
        /// everywhere. What ``withBytes(_:)`` says of payloads in place holds for each number, too.
        ///
        /// - Parameters:
        ///   - type: the type of the numbers.
        ///   - field: the name of a field of type `Data` in a message encoded as CBOR. `nil`: the whole payload.
        ///   - body: receives the numbers. The compiler refuses a closure that keeps the span.
        /// - Throws: what the closure throws; a `DecodingError` if there is no such field, or if its size is not a
        ///   multiple of the element's size.
        public func withSpan<Element: Numeric & BitwiseCopyable, Result>(
            of type: Element.Type = Element.self, at field: String? = nil, _ body: (Span<Element>) throws -> Result
        ) throws -> Result {
            try withPointer { payload in
                let bytes = try field.map { try PayloadCoding.field($0, format: format, bytes: payload) } ?? payload
                let (count, rest) = bytes.count.quotientAndRemainder(dividingBy: MemoryLayout<Element>.stride)
                guard rest == 0 else {
                    throw PayloadCoding.undecodable("\(bytes.count) bytes are no whole number of elements of \(type)")
                }
                guard let base = bytes.baseAddress, count > 0 else { return try body(Span()) }
                // Every bit pattern is a number.
                if Int(bitPattern: base) % MemoryLayout<Element>.alignment == 0 {
                    let start = base.assumingMemoryBound(to: Element.self)
                    return try body(Span(_unsafeStart: start, count: count))
                }
                return try withUnsafeTemporaryAllocation(of: Element.self, capacity: count) { copy in
                    UnsafeMutableRawBufferPointer(copy).copyMemory(from: bytes)
                    return try body(Span(_unsafeElements: copy))
                }
            }
        }

        /// As ``withBytes(_:)``, with a pointer.
        @inlinable
        func withPointer<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
            guard let held else { return try own.withUnsafeBytes(body) }
            defer { withExtendedLifetime(held) {} }
            return try body(held.bytes)
        }

        /// Compares formats and bytes. Not stable for a payload in place that a peer changes.
        public static func == (left: RawPayload, right: RawPayload) -> Bool {
            left.format == right.format
                && left.withPointer { left in right.withPointer { left.elementsEqual($0) } }
        }

        /// Hashes the format and the bytes. Not stable for a payload in place that a peer changes.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(format)
            withPointer { hasher.combine(bytes: $0) }
        }

        /// Encodes a value as CBOR.
        ///
        /// - Throws: the error of the value's `encode(to:)`, or an `EncodingError` if the value is nested more than 128
        ///   deep.
        public init(encoding value: some Encodable) throws {
            self.init(format: .cbor, bytes: try PayloadCoding.cborBytes(of: value))
        }

        /// Encodes a message as CBOR, whatever its ``Message/encoding`` is. If `@Message` generated a coder for the
        /// type, the message is encoded by that coder.
        ///
        /// - Throws: the error of the message's `encode(to:)`, or an `EncodingError` if it is nested more than 128
        ///   deep.
        public init<M: Message>(encoding message: M) throws {
            self.init(format: .cbor, bytes: try PayloadCoding.cborBytes(of: message))
        }

        /// A text as UTF-8, posted as ``json(_:)`` shows. It decodes as a `String`.
        public static func text(_ text: String) -> RawPayload {
            RawPayload(format: .text, bytes: Array(text.utf8))
        }

        /// A JSON text. The text is not checked before an observer decodes it.
        ///
        /// ```swift
        /// try SharedNotificationCenter.default.post(name: "com.example.volume", payload: .json("0.5"))
        /// ```
        public static func json(_ text: String) -> RawPayload {
            RawPayload(format: .json, bytes: Array(text.utf8))
        }

        /// No payload: zero bytes.
        public static let empty = RawPayload(format: .bytes, bytes: [])

        /// Decodes a value from CBOR, from JSON, from text (a `String`), or from a ``BitwiseMessage``'s bytes in
        /// memory.
        ///
        /// ```swift
        /// let numbers = try SharedNotificationCenter.RawPayload.json("[1, 2, 3]").decode([Int].self)
        /// ```
        ///
        /// - Throws: the decoder's error, or a `DecodingError` if the format is none of these, or the bytes are of
        ///   another type. Also a `DecodingError` if CBOR or JSON is nested more than 128 deep.
        public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
            try decodeAsEncoded(type)
        }

        /// Decodes a message that travels as its bytes in memory, as `decode(_:)` does; faster where the compiler knows
        /// the type.
        ///
        /// - Throws: a `DecodingError` if the bytes are of another type. In another format: the error of its decoder.
        @inlinable
        public func decode<M: BitwiseMessage>(_ type: M.Type = M.self) throws -> M {
            guard format.rawValue == PayloadFormat.bitwise.rawValue else { return try decodeAsEncoded(type) }
            return try withPointer { bytes in
                try PayloadCoding.checkBitwise(bytes, for: type, size: MemoryLayout<M>.size)
                return bytes.loadUnaligned(fromByteOffset: 8, as: M.self)
            }
        }

        /// Decodes a message of any type, by the coder that `@Message` generated for the type, if there is one. Does
        /// not decode the format of a ``PayloadCoder``: use the coder itself.
        ///
        /// ```swift
        /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
        /// let track = try SharedNotificationCenter.RawPayload.json(#"{"title":"So What"}"#).decode(TrackChanged.self)
        /// ```
        ///
        /// - Throws: a `DecodingError`, or the error of the type's `init(from:)`.
        @inlinable
        public func decode<M: Message>(_ type: M.Type = M.self) throws -> M {
            guard format.rawValue == PayloadFormat.bitwise.rawValue, case .bitwise = M.encoding.kind else {
                return try decodeMessage(type)
            }
            return try withPointer { bytes in
                try PayloadCoding.checkBitwise(bytes, for: type, size: MemoryLayout<M>.size)
                return withUnsafeTemporaryAllocation(of: M.self, capacity: 1) { value in
                    // The type is BitwiseCopyable: only `BitwiseMessage` can have that encoding, which is not public.
                    UnsafeMutableRawBufferPointer(value).copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[8...]))
                    return value[0]
                }
            }
        }

        @usableFromInline
        func decodeAsEncoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try reading { try PayloadCoding.decode(type, format: format, bytes: $0, isShared: $1) }
        }

        @usableFromInline
        func decodeMessage<M: Message>(_ type: M.Type) throws -> M {
            guard format.rawValue == PayloadFormat.cbor.rawValue else {
                return self == .empty ? try PayloadCoding.messageOfNothing(type) : try decodeAsEncoded(type)
            }
            return try reading { try PayloadCoding.messageInCBOR(type, $0, isShared: $1) }
        }

        /// Calls one of the library's decoders with the bytes in place. If the decoder fails there, calls it again with
        /// a copy: a peer may have changed the bytes, and a decoder of shared bytes has stricter limits
        /// (`CBORReader.spend`).
        func reading<Value>(_ decode: (UnsafeRawBufferPointer, _ isShared: Bool) throws -> Value) throws -> Value {
            guard let held else { return try own.withUnsafeBytes { try decode($0, false) } }
            return try Self.reading(held, decode)
        }

        @inline(never)
        static func reading<Value>(
            _ held: HeldPayload, _ decode: (UnsafeRawBufferPointer, _ isShared: Bool) throws -> Value
        ) throws -> Value {
            defer { withExtendedLifetime(held) {} }
            do {
                return try decode(held.bytes, true)
            } catch {
                return try Array(held.bytes).withUnsafeBytes { try decode($0, false) }
            }
        }

        /// The payload as one line of JSON, whatever its format. Never fails: a payload without another form becomes an
        /// object with hexadecimal digits, `{"bytes":"00ff"}`.
        public var json: String { JSONRendering.render(self) }
    }
}
