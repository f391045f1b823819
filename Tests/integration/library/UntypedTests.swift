import Foundation
import Testing
import TidingsAdministration
import TidingsFoundation

@testable import Tidings

/// Names with an object and a dictionary.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct UntypedTests {
    /// The dictionary of `TestPeer.everything`.
    static let everything: Center.UserInfo = [
        "string": "Grüße\u{0}\n", "empty": "", "integer": 42, "negative": -1, "largest": .integer(.max),
        "smallest": .integer(.min),
        "double": 0.5, "whole": .double(1), "infinite": .double(.infinity), "true": true, "false": false,
        "date": .date(Date(timeIntervalSince1970: 1_234_567.5)), "data": .data(Data([0, 1, 255])),
        "nothing": .data(Data()),
        "array": [1, "two", 3.5, [true, []], ["deep": .date(Date(timeIntervalSince1970: 0))]],
        "dictionary": ["a": ["b": ["c": [1, 2, 3]]], "d": [:], "": "no key"],
    ]

    @Test func everythingComesThroughFromAnotherProcess() async throws {
        let test = try TestCenter()
        let got = Events<Center.Notification>()
        let token = try test.center.addObserver(forNames: "test.untyped") { got.add($0) }
        let peer = try Peer(test, "untyped", "test.untyped", "player-1", "untyped", "test.untyped", "-", "wait")
        let all = await got.wait(for: 2)
        #expect(all.map(\.object) == ["player-1", nil] && all.allSatisfy { $0.name == "test.untyped" })
        #expect(all.allSatisfy { $0.userInfo == Self.everything && $0.envelope.poster.pid == peer.pid })
        token.cancel()
    }

    @Test func nameAndObjectAreFilters() async throws {
        let test = try TestCenter()
        let filters = [("a", "x"), ("a", "-"), ("-", "x"), ("-", "-")]
        let counts = [1, 3, 2, 5]
        var peers: [Peer] = []
        for (filter, count) in zip(filters, counts) {
            peers.append(try Peer(test, "observe-untyped", filter.0, filter.1, "\(count)"))
        }
        for peer in peers { expectEqual(await peer.line(), "observing") }
        try test.center.post(name: "a", userInfo: Self.everything, options: .init(subject: "x"))
        try test.center.post(name: "a", userInfo: ["one": 1], options: .init(subject: "y"))
        try test.center.post(name: "a")
        try test.center.post(name: "b", userInfo: [:], options: .init(subject: "x"))
        try test.center.post(name: "b", options: .init(subject: "y"))
        for peer in peers { await peer.waitForEnd() }
        var lines: [[String]] = []
        for (peer, count) in zip(peers, counts) {
            lines.append(Array(await peer.lines.wait(for: count + 1).dropFirst()))
        }
        let all = ["a x everything", #"a y {"one":1}"#, "a - none", "b x {}", "b y none"]
        #expect(lines[0] == [all[0]])
        #expect(lines[1] == Array(all[..<3]))
        #expect(lines[2] == [all[0], all[3]])
        #expect(lines[3] == all)
    }

    @Test func messagesHaveADictionaryToo() async throws {
        let test = try TestCenter()
        let got = Events<Center.Notification>()
        let token = try test.center.addObserver(forNames: .all, options: .init(queue: .global())) { got.add($0) }
        try test.center.post(Track(7), options: .init(subject: "s"))
        try test.center.post(Center.Key<Int>("test.key"), 1)
        try test.center.post(name: "test.json", payload: .json(#"{"a":[1,2.5,true,"x",{"b":1}],"n":null}"#))
        try test.center.post(name: "test.bad", payload: .init(format: .cbor, bytes: [0xff]))
        let all = await got.wait(for: 4)
        #expect(all[0].userInfo == ["title": "So What", "number": 7] && all[0].object == "s")
        #expect(all[1].userInfo == nil && all[1].payload.json == "[1]")
        #expect(all[2].userInfo == ["a": [1, 2.5, true, "x", ["b": 1]]])
        #expect(all[3].userInfo == nil)
        token.cancel()
    }

    @Test func typedObserversReceiveDecodableDictionaries() async throws {
        let test = try TestCenter()
        let (got, undecodable) = (Events<Track>(), Events<Void>())
        let token = try test.center.addObserver(
            for: Track.self, options: .init(onUndecodable: { _, _ in undecodable.add(()) }), using: { got.add($0) })
        try test.center.post(name: Track.name, userInfo: ["title": "So What", "number": 1])
        try test.center.post(name: Track.name, userInfo: ["title": "So What"])
        try test.center.post(name: Track.name, userInfo: ["title": "So What", "number": 2, "more": 3])
        expectEqual(await got.wait(for: 2), [Track(1), Track(2)])
        #expect(undecodable.count == 1)
        token.cancel()
    }

    /// CBOR of RFC 8949 that this library does not write.
    @Test(arguments: [
        ("a1 6161 f6", "{}"),  // null
        ("bf 6161 1903e8 ff", #"{"a":1000}"#),  // indefinite
        ("a1 6161 c1 1a514b67b0", "date 1363896240.0"),  // an integer with tag 1
        ("a1 6161 c0 74323031332d30332d32315432303a30343a30305a", "date 1363896240.0"),
        ("a1 6161 f93c00", "double 1.0"),  // half
        ("a1 6161 d820 6162", #"{"a":"b"}"#),  // URL
        ("a1 6161 c2 420100", #"{"a":256}"#),  // bignum
        ("a1 6161 1bffffffffffffffff", "nil"),
        ("a1 6161 81f6", "nil"),
        ("a1 6161 f7", "{}"),
        ("a1 6161 c48221196ab3", "nil"),  // decimal fraction
        ("a1 01 02", "nil"),
        ("81 01", "nil"),
        ("a1 6161 a1 6162 43616263", "data 3"),
    ])
    func foreignCBOR(_ hexadecimal: String, _ expected: String) throws {
        let digits = hexadecimal.filter { $0 != " " }.map { UInt8(String($0), radix: 16)! }
        let bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
        let payload = Center.RawPayload(format: .cbor, bytes: bytes)
        let userInfo = (try? payload.decode(Center.PropertyValue.self))?.dictionary
        let shown: String =
            switch userInfo?["a"] {
            case .date(let date): "date \(date.timeIntervalSince1970)"
            case .double(let double): "double \(double)"
            case .dictionary(let entries) where entries["b"]?.data != nil: "data \(entries["b"]!.data!.count)"
            default:
                try userInfo.map { try Center.RawPayload(encoding: $0).json } ?? "nil"
            }
        #expect(shown == expected)
    }

    /// Each text is read as a payload, and as a value within another type if Foundation reads it.
    @Test(
        arguments: [
            (
                #"{"a": [1, -2.5e+1, true, false], "b": {"c": ""}, "d": null}"#,
                ["a": [1, -25, true, false], "b": ["c": ""]]
            ),
            (#"{"a":1,"a":2}"#, ["a": 1]), (#"{"a":null,"a":2}"#, [:]), (#"{"":0}"#, ["": 0]),
            (" [ ] ", []), ("{ }", [:]), ("[[],{}]", [[], [:]]), ("0", 0), ("-0.0", 0), ("1e2", 100), ("1.50", 1.5),
            ("1e-2", 0.01),
            ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("1E18", 1_000_000_000_000_000_000),
            ("9007199254740993.0", 9_007_199_254_740_993), ("18446744073709551615", 18_446_744_073_709_551_615.0),
            ("1e300", 1e300),
            (#""\u00e9\n\/\"\\\ud83d\ude00é""#, "é\n/\"\\😀é"), (#""\u0000""#, "\0"), ("\u{feff}1", 1),
            ("", nil), ("[", nil), ("[1,]", nil), ("[1 2]", nil), ("{,}", nil), (#"{"a"}"#, nil), (#"{"a":1,}"#, nil),
            ("{1:2}", nil),
            ("[null]", nil), ("null", nil), ("nul", nil), ("truer", nil), ("01", nil), ("1.", nil), (".1", nil),
            ("+1", nil), ("-", nil),
            ("1e", nil), ("1e400", nil), ("1 1", nil), ("[]]", nil), (#"""#, nil), ("\"\n\"", nil), (#""\x""#, nil),
            (#""\u12g4""#, nil),
            (#""\ud83d""#, nil), (#""\ude00""#, nil), (#""\ud83d\u0041""#, nil), ("[1}", nil), ("NaN", nil),
        ] as [(Quoted, Center.PropertyValue?)])
    func foreignJSON(_ quoted: Quoted, _ expected: Center.PropertyValue?) {
        let text = quoted.text
        let payload = Center.RawPayload.json(text)
        #expect((try? payload.decode(Center.PropertyValue.self)) == expected)
        #expect((try? payload.decode(Center.UserInfo.self)) == expected?.dictionary)
        let inside = try? Center.RawPayload.json("[" + text + "]").decode([Center.PropertyValue].self)
        // Several values, or none, are different values within an array; and Foundation accepts a trailing comma.
        if !["", "\u{feff}1", "[]]", "[1,]", #"{"a":1,}"#].contains(text) { #expect(inside == expected.map { [$0] }) }
    }

    @Test func jsonThatIsNoUTF8DoesNotDecode() {
        for bytes in [
            [0xFF, 0xFE, 0x31, 0], [0x31, 0], [0, 0x31], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
            [0x22, 0xFF, 0x22],
        ] as [[UInt8]] {
            let payload = Center.RawPayload(format: .json, bytes: bytes)
            #expect(throws: DecodingError.self) { try payload.decode(Center.PropertyValue.self) }
            #expect(throws: DecodingError.self) { try payload.decode(Int.self) }
        }
    }

    /// A depth of 500 took seconds, and minutes with text inside: quadratic in the depth for each value.
    @Test func deepJSONIsRefusedAndTakesNoTime() throws {
        struct Nested: Decodable {
            let depth: Int
            init(from decoder: any Decoder) throws {
                var list = try decoder.unkeyedContainer()
                depth = try list.isAtEnd ? 1 : list.decode(Nested.self).depth + 1
            }
        }
        func nested(_ depth: Int, _ inside: String = "") -> Center.RawPayload {
            .json(String(repeating: "[", count: depth) + inside + String(repeating: "]", count: depth))
        }
        var value = try nested(128).decode(Center.PropertyValue.self)
        var depth = 1
        while let inner = value[0] { (value, depth) = (inner, depth + 1) }
        #expect(depth == 128)
        #expect(try nested(128).decode(Nested.self).depth == 128)
        #expect(throws: DecodingError.self) { try nested(129).decode(Center.PropertyValue.self) }
        #expect(throws: DecodingError.self) { try nested(129).decode(Nested.self) }
        #expect(throws: DecodingError.self) { try nested(1_000_000).decode(Center.PropertyValue.self) }
        // Brackets in strings do not nest.
        let brackets = String(repeating: #"[\"{"#, count: 1000)
        #expect(try Center.RawPayload.json("[\"\(brackets)\"]").decode([String].self)[0].count == 3000)
        let text = "0" + String(repeating: ",\"\"", count: 1 << 14)
        let time = try cborProcessorTime {
            #expect((try? nested(500, text).decode(Center.PropertyValue.self)) == nil)
            #expect((try? nested(500, text).decode(Center.UserInfo.self)) == nil)
            _ = try nested(127, text).decode(Center.PropertyValue.self)
        }
        #expect(time < 5)
    }

    @Test func valuesComeFromAnyAndGoThere() throws {
        let any: [String: Any] = [
            "a": 1, "b": "two", "c": [UInt8(3), 4.5, Float(0.5), true] as [Any], "d": Date(timeIntervalSince1970: 6),
            "e": ["f": Data([7])],
        ]
        let expected: Center.PropertyValue = [
            "a": 1, "b": "two", "c": [3, 4.5, 0.5, true], "d": .date(Date(timeIntervalSince1970: 6)),
            "e": ["f": .data(Data([7]))],
        ]
        let value = try #require(Center.PropertyValue(any))
        #expect(value == expected)
        #expect(Center.PropertyValue(value.any) == value)
        #expect(Center.PropertyValue(["a": TestCenter.self]) == nil && Center.PropertyValue(UInt64.max) == nil)
        #expect(value["c"]?[1]?.double == 4.5 && value["a"]?.double == 1 && value["c"]?[4] == nil && value["x"] == nil)
        #expect(value["a"]?.string == nil && value["e"]?["f"]?.data == Data([7]) && value["c"]?[3]?.boolean == true)
    }

    @Test func aDictionaryThatCannotBeSentIsAnError() throws {
        let test = try TestCenter(.init(maximumPayloadSize: 1024))
        var deep: Center.PropertyValue = 1
        for _ in 0..<200 { deep = [deep] }
        func code(_ userInfo: Center.UserInfo, _ object: String? = nil) -> SharedNotificationError.Code? {
            do {
                try test.center.post(name: "test.untyped", userInfo: userInfo, options: .init(subject: object))
                return nil
            } catch { return error.code }
        }
        #expect(code(["deep": deep]) == .encodingFailed)
        #expect(code(["large": .data(Data(count: 2000))]) == .payloadTooLarge)
        #expect(code([:], String(repeating: "x", count: 256)) == .invalidName)
        #expect(try test.center.statistics.posted == 0)
    }
}
