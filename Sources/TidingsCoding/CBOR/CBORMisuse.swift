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
