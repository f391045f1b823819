/// What `Encodable` code can get wrong, told as an error where other coders trap.
enum CBORMisuse: String {
    case finished = "the container is used after the value it belongs to was encoded"
    case twice = "a second value is encoded where there is one already"
    case tooDeep = "arrays and maps are nested more than 128 deep"
    case nothing = "the value did not encode anything"
    case notFinite = "a date that is not a finite number has no encoding"

    func error(path: [any CodingKey], value: Any = ()) -> EncodingError {
        .invalidValue(value, EncodingError.Context(codingPath: path, debugDescription: rawValue))
    }
}
