import Foundation
import Tidings
import TidingsFoundation

extension TestPeer {
    /// As `UntypedTests.everything`.
    static let everything: SharedNotificationCenter.UserInfo = [
        "string": "Grüße\u{0}\n", "empty": "", "integer": 42, "negative": -1, "largest": .integer(.max),
        "smallest": .integer(.min),
        "double": 0.5, "whole": .double(1), "infinite": .double(.infinity), "true": true, "false": false,
        "date": .date(Date(timeIntervalSince1970: 1_234_567.5)), "data": .data(Data([0, 1, 255])),
        "nothing": .data(Data()),
        "array": [1, "two", 3.5, [true, []], ["deep": .date(Date(timeIntervalSince1970: 0))]],
        "dictionary": ["a": ["b": ["c": [1, 2, 3]]], "d": [:], "": "no key"],
    ]

    static func postUntyped(
        _ center: SharedNotificationCenter, _ name: SharedNotificationCenter.Name, _ object: String
    ) throws {
        try center.post(name: name, userInfo: everything, options: .init(subject: object == "-" ? nil : object))
        say("posted")
    }

    static func observeUntyped(_ center: SharedNotificationCenter, _ name: String, _ object: String, _ count: Int)
        throws
    {
        let done = DispatchSemaphore(value: 0)
        let token = try center.addObserver(
            forNames: name == "-" ? .all : [.init(name)], options: .init(subject: object == "-" ? nil : object)
        ) { notification in
            let what =
                switch notification.userInfo {
                case nil: "none"
                case everything: "everything"
                default: notification.payload.json
                }
            say("\(notification.name) \(notification.object ?? "-") \(what)")
            done.signal()
        }
        say("observing")
        for _ in 0..<count { done.wait() }
        token.cancel()
    }
}
