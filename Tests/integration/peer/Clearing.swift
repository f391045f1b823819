import Tidings

/// A message whose name the tests use, too.
private struct Kept: SharedNotificationCenter.Message {
    static let name: SharedNotificationCenter.Name = "kept"
    var number: Int
}

extension TestPeer {
    /// Clears the retained value of `name` in one of the ways that the API offers.
    static func keepNothing(_ center: SharedNotificationCenter, _ name: SharedNotificationCenter.Name, by way: String)
        throws
    {
        let key = SharedNotificationCenter.Key<Int, String>(name)
        let number: Int? = nil
        let (payload, kept): (SharedNotificationCenter.RawPayload?, Kept?) = (nil, nil)
        switch way {
        case "literal": try center.setState(nil, for: name)
        case "value": try center.setState(number, for: name)
        case "payload": try center.setState(payload, for: name)
        case "message": try center.setState(kept)
        case "name": try center.setState(nil, for: name, timeout: .seconds(600))
        case "type": try center.setState(nil, for: Kept.name)
        case "key": try center.setState(nil, for: key.name)
        case "state": try MainActor.assumeIsolated { try center.observedState(for: name, as: Int.self).clear() }
        default: say("there is no such way")
        }
        say("retained nothing")
    }
}
