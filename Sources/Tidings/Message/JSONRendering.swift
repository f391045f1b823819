import TidingsCoding

/// Any payload as one line of JSON, for people and scripts. It reads CBOR and JSON without knowing their types, never
/// beyond the bytes, and at most 128 arrays and maps deep.
enum JSONRendering {
    static func render(_ payload: SharedNotificationCenter.RawPayload) -> String {
        let rendered: String? =
            switch payload.format {
            case .cbor: CBORToJSON.convert(payload.bytes)
            case .json: JSONCompactor.compact(payload.bytes)
            case .text: String(validating: payload.bytes, as: UTF8.self).map(JSONText.quoted)
            case .bytes where payload.bytes.isEmpty: "null"
            default: nil
            }
        return rendered ?? #"{"bytes":"\#(JSONText.hexadecimal(payload.bytes))"}"#
    }
}
