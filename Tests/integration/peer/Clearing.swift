import Tidings

/// A message whose name a test knows.
private struct Kept: SharedNotificationCenter.Message {
    static let name: SharedNotificationCenter.Name = "kept"
    var number: Int
}

extension TestPeer {
    /// Every way to say that there is nothing to keep.
    static func keepNothing(_ center: SharedNotificationCenter, _ name: SharedNotificationCenter.Name, by way: String)
        throws
    {
        let one = SharedNotificationCenter.Key<Int>(name)
        let two = SharedNotificationCenter.Key<Int, String>(name)
        let (number, pair): (Int?, (Int, String)?) = (nil, nil)
        let (payload, kept): (SharedNotificationCenter.RawPayload?, Kept?) = (nil, nil)
        switch way {
        case "literal": try center.setState(nil, for: name)
        case "value": try center.setState(number, for: name)
        case "payload": try center.setState(payload, for: name)
        case "message": try center.setState(kept)
        case "key": try center.setState(nil, for: two)
        case "argument": try center.setState(number, for: one)
        case "arguments": try center.setState(pair, for: two)
        case "post": try center.post(name: name, payload: nil, retain: true)
        case "post-payload": try center.post(name: name, payload: payload, retain: true)
        case "post-message": try center.post(kept, retain: true)
        case "post-key": try center.post(two, nil, retain: true)
        case "post-argument": try center.post(one, number, retain: true, deadline: .seconds(600))
        case "post-arguments": try center.post(two, pair, retain: true)
        case "state": try MainActor.assumeIsolated { try center.observedState(for: name, as: Int.self).set(nil) }
        default: say("there is no such way")
        }
        say("kept nothing")
    }
}
