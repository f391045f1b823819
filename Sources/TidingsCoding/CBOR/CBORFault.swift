/// What is wrong with a payload, and where. One word, so that throwing it costs nothing; containers turn it into a
/// `DecodingError` with a path.
@usableFromInline
package struct CBORFault: Error {
    @usableFromInline
    package enum Reason: String, Sendable {
        // Well-formed CBOR, but of another type than the one asked for.
        case unsigned = "an unsigned integer"
        case negative = "a negative integer"
        case bytes = "a byte string"
        case text = "a text string"
        case array = "an array"
        case map = "a map"
        case tag = "a tag"
        case boolean = "a boolean"
        case number = "a floating-point number"
        case simple = "a simple value"
        /// Null or undefined where a value was asked for.
        case null = "null"
        // Not CBOR.
        case truncated = "the payload ends too early"
        case reserved = "a reserved value in an item's head"
        case indefinite = "an indefinite length where there is none"
        case simpleForm = "a simple value in the wrong form"
        case stop = "a stop where there is nothing to stop"
        case tags = "too many tags on one item"
        case chunk = "a string is made of something else than strings"
        case depth = "nested more than 128 deep"
        case trailing = "bytes follow the payload"
        case tooLarge = "payloads of 2 GiB and more can't be decoded"
        case notUTF8 = "a text string that is not UTF-8"
        case longString = "a string is longer than the payload"
        case longArray = "an array is longer than the payload"
        case longMap = "a map is longer than the payload"
        // No value of the type.
        case keys = "a map with keys that are neither text nor integers"
        case integerRange = "a number that the integer type does not have"
        case bignumRange = "a bignum of more than 128 bits"
        case floatRange = "a number out of the type's range"
        case decimalRange = "a number out of Decimal's range"
        case decimalPair = "a decimal fraction that is not a pair"
        case dateText = "a date that is not of the form 2013-03-21T20:04:00Z"
        case dateRange = "a date that is not a finite number"
        case uuidSize = "a UUID that is not 16 bytes long"
        case uuidText = "a text that is not a UUID"
        case url = "a text that is not a URL"
        // Of payloads in JSON.
        case json = "the payload is not JSON"
        case encoding = "the payload is not UTF-8"
        /// One look at the bytes contradicts an earlier one.
        case changed = "the payload changed while it was read"
        /// The decoding that the bytes were lent to is over.
        case finished = "a decoder is used after its decoding ended"

        /// Of the majors, in their order.
        fileprivate static let majors = [Reason.unsigned, .negative, .bytes, .text, .array, .map, .tag, .simple]

        /// Whether the payload has a value, but of another type.
        fileprivate var isMismatch: Bool { Reason.majors.contains(self) || self == .boolean || self == .number }
    }

    package var reason: Reason
    package var offset: UInt32

    /// Offsets beyond 4 GiB don't occur: such a payload is refused by its size.
    @usableFromInline
    package init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = UInt32(clamping: offset)
    }

    /// Another type than asked for.
    static func mismatch(_ head: CBORHead, at offset: UInt32) -> CBORFault {
        var reason = Reason.majors[Int(head.major.rawValue)]
        if head.bool != nil { reason = .boolean }
        if head.isNull { reason = .null }
        if head.float != nil { reason = .number }
        return CBORFault(reason, at: Int(offset))
    }

    package func error(expecting type: Any.Type, path: [any CodingKey]) -> DecodingError {
        let isOther = reason == .null || reason.isMismatch
        let text = isOther ? "expected \(type), found \(reason.rawValue) at" : "\(reason.rawValue), at"
        let context = DecodingError.Context(codingPath: path, debugDescription: "\(text) byte \(offset)")
        if reason == .null { return .valueNotFound(type, context) }
        return isOther ? .typeMismatch(type, context) : .dataCorrupted(context)
    }

    /// For code that can't say in its type that it throws nothing but faults: closures.
    package static func describe(_ error: any Error, expecting type: Any.Type) -> any Error {
        (error as? CBORFault)?.error(expecting: type, path: []) ?? error
    }
}

/// What `Encodable` code can get wrong, told as an error where other coders trap.
enum CBORMisuse: String {
    case finished =
        """
        the container is used after its value was encoded, or replaced by another of the same key; \
        use it only inside its own encode(to:)
        """
    case twice = "a second value is encoded where there is one already"
    case otherKind =
        "a nested container is asked for where the key has a value of another kind; give it another key"
    case tooDeep = "arrays and maps are nested more than 128 deep"
    case nothing = "the value did not encode anything"
    case notFinite = "a number that is not finite has no encoding"

    func error(path: [any CodingKey], value: Any = ()) -> EncodingError {
        .invalidValue(value, EncodingError.Context(codingPath: path, debugDescription: rawValue))
    }
}
