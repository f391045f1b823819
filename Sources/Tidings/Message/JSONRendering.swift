import TidingsCoding

/// Renders any payload as one line of JSON, for people and scripts.
///
/// The conversion needs no types for CBOR and JSON. It never reads beyond the bytes, and follows at most 128 nested
/// arrays and maps.
enum JSONRendering {
    static func render(_ payload: SharedNotificationCenter.RawPayload) -> String {
        let rendered: String? =
            switch payload.format {
            case .cbor: CBORToJSON.convert(payload.bytes)
            case .json: JSONCompactor.compact(payload.bytes)
            case .text: String(validating: payload.bytes, as: UTF8.self).map(JSONText.quoted)
            case .bytes where payload.count == 0: "null"
            default: nil
            }
        return rendered ?? #"{"bytes":"\#(JSONText.hexadecimal(payload.bytes))"}"#
    }
}
