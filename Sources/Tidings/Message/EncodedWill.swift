/// A last will, encoded.
struct EncodedWill: Sendable {
    var name: SharedNotificationCenter.Name
    var payload: SharedNotificationCenter.RawPayload
    var options: SharedNotificationCenter.PostOptions
}
