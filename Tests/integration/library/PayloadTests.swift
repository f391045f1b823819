import Foundation
import Testing
import TidingsAdministration

@testable import Tidings

@Suite(.serialized, .timeLimit(.minutes(10)))
struct PayloadTests {
    struct Point: Center.BitwiseMessage, Equatable {
        static let name: Center.Name = "test.point"
        var x: Double
        var y: Int32
    }

    struct AsJSON: Center.Message, Equatable {
        static let name: Center.Name = "test.json"
        static var encoding: Center.PayloadEncoding { .json }
        var text: String
    }

    struct Backwards: Center.PayloadCoder {
        var format: Center.PayloadFormat { .init(rawValue: 77) }
        func encode<T: Encodable>(_ value: T) throws -> [UInt8] { try JSONEncoder().encode(value).reversed() }
        func decode<T: Decodable>(_ type: T.Type, from bytes: UnsafeRawBufferPointer) throws -> T {
            try JSONDecoder().decode(type, from: Data(bytes.reversed()))
        }
    }

    struct Frame: Center.BytesMessage, Equatable {
        struct TooBright: Error {}
        static let name: Center.Name = "test.frame"
        var pixels: [UInt8]

        init(pixels: [UInt8]) { self.pixels = pixels }
        init(payloadBytes bytes: UnsafeRawBufferPointer) throws {
            if bytes.contains(255) { throw TooBright() }
            pixels = Array(bytes)
        }
        func payloadBytes() throws -> [UInt8] {
            if pixels.contains(255) { throw TooBright() }
            return pixels
        }
    }

    struct Custom: Center.Message, Equatable {
        static let name: Center.Name = "test.custom"
        static var encoding: Center.PayloadEncoding { .custom(Backwards()) }
        var text: String
    }

    struct Picky: Center.Message {
        struct No: Error {}
        static let name: Center.Name = "test.picky"
        var size = 0
        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            try container.encode(String(repeating: "x", count: size))
            throw No()
        }
    }

    struct Blob: Center.Message, Equatable {
        static let name: Center.Name = "test.blob"
        var numbers: [Int]
    }

    private func roundTrip<M: Center.Message & Equatable>(_ message: M, format: Center.PayloadFormat) async throws {
        let test = try TestCenter()
        let got = Events<M>()
        let raw = Events<Center.PayloadFormat>()
        let tokens = [
            try test.center.addObserver(for: M.self) { got.add($0) },
            try test.center.addObserver(forNames: [M.name]) { raw.add($0.payload.format) },
        ]
        try test.center.post(message)
        try test.center.post(message, options: .init(subject: "s"))
        expectEqual(await got.wait(for: 2), [message, message])
        expectEqual(await raw.wait(for: 2), [format, format])
        for token in tokens { token.cancel() }
    }

    @Test func cbor() async throws { try await roundTrip(Track(5, title: "héllo"), format: .cbor) }
    @Test func bitwise() async throws { try await roundTrip(Point(x: 1.5, y: -3), format: .bitwise) }
    @Test func json() async throws { try await roundTrip(AsJSON(text: "a/b"), format: .json) }
    @Test(arguments: [[], [1, 2, 3], Array(repeating: 7 as UInt8, count: 100_000)])
    func bytesOfTheMessagesOwn(_ pixels: [UInt8]) async throws {
        try await roundTrip(Frame(pixels: pixels), format: .bytes)
    }

    @Test func bytesOfTheMessagesOwnInOtherPayloads() async throws {
        let test = try TestCenter()
        let key = Center.Key<Frame, Int>("test.frames")
        let (frames, errors) = (Events<Frame>(), Events<String>())
        var options = Center.ObserverOptions()
        options.onUndecodable = { errors.add("\($1)") }
        let tokens = [
            try test.center.addObserver(for: key) { frame, _ in frames.add(frame) },
            try test.center.addObserver(for: Frame.self, options: options) { frames.add($0) },
        ]
        try test.center.post(key, Frame(pixels: [9, 8]), 1)
        expectEqual(await frames.wait(for: 1), [Frame(pixels: [9, 8])])
        try test.center.setState(Frame(pixels: [4]))
        expectEqual(try test.center.state(for: Frame.self), Frame(pixels: [4]))
        // The type itself refuses the largest byte, when it encodes and when it decodes.
        #expect(throws: SharedNotificationError.self) { try test.center.post(Frame(pixels: [255])) }
        try test.center.post(name: Frame.name, payload: .init(format: .bytes, bytes: [1, 255]))
        expectEqual(await errors.wait(for: 1), ["TooBright()"])
        for token in tokens { token.cancel() }
    }

    @Test func custom() async throws { try await roundTrip(Custom(text: "abc"), format: .init(rawValue: 77)) }

    // With a sanitizer the largest size takes a minute, in code that the other sizes run as well.
    @Test(arguments: [10, 1000, 1021, 1024, 5000, 100_000] + (isSanitized ? [] : [2_000_000]))
    func anySize(_ count: Int) async throws {
        try await roundTrip(Blob(numbers: Array(0..<count)), format: .cbor)
    }

    @Test func aTypedObserverReadsEveryFormat() async throws {
        let test = try TestCenter()
        let got = Events<Track>()
        let points = Events<Point>()
        let tokens = [
            try test.center.addObserver(for: Track.self) { got.add($0) },
            try test.center.addObserver(for: Point.self) { points.add($0) },
        ]
        try test.center.post(name: Track.name, payload: .json(#"{"title": "from the shell", "number": 3}"#))
        try test.center.post(name: Track.name, payload: .init(encoding: Track(4)))
        try test.center.post(name: Point.name, payload: .json(#"{"x": 2, "y": 1}"#))
        expectEqual(await got.wait(for: 2), [Track(3, title: "from the shell"), Track(4)])
        expectEqual(await points.wait(for: 1), [Point(x: 2, y: 1)])
        for token in tokens { token.cancel() }
    }

    @Test func anUndecodablePayloadIsReportedAndTheNextArrives() async throws {
        let test = try TestCenter()
        let got = Events<Track>()
        let bad = Events<Center.Notification>()
        let told = Events<String>()
        test.center.onDiagnostic = {
            if case .undecodable(let notification, _) = $0 { told.add("\(notification.payload.json)") }
        }
        let tokens = [
            try test.center.addObserver(
                for: Track.self, options: .init(onUndecodable: { notification, _ in bad.add(notification) }),
                using: { got.add($0) }),
            try test.center.addObserver(for: Track.self) { _ in },
        ]
        try test.center.post(name: Track.name, payload: .json("{}"))
        try test.center.post(name: Track.name, payload: .text("what?"))
        try test.center.post(name: Track.name, payload: .init(format: .cbor, bytes: [0xff]))
        try test.center.post(name: Track.name, payload: .empty)
        try test.center.post(name: Track.name, payload: .init(format: .bitwise, bytes: [1, 2, 3]))
        try test.center.post(name: Track.name, payload: .init(format: .init(rawValue: 200), bytes: [1, 2, 3]))
        try test.center.post(Track(1))
        expectEqual(await got.wait(for: 1), [Track(1)])
        #expect(bad.all.map(\.payload.format.rawValue) == [3, 4, 1, 0, 2, 200])
        #expect(bad.all.allSatisfy { $0.name == Track.name })
        let all = await told.wait(for: 6)
        #expect(all[0] == "{}" && all[1] == "\"what?\"" && all[3] == "null")
        #expect(try test.center.statistics.undecodable == 12)
        for token in tokens { token.cancel() }
    }

    @Test func bitwiseOfAnotherTypeIsUndecodable() async throws {
        struct Wider: Center.BitwiseMessage {
            static let name: Center.Name = "test.point"
            var x: Double
            var y: Int64
        }
        let test = try TestCenter(expecting: ["two types: test.point: Point, Wider"])
        let got = Events<Point>()
        let bad = Events<Center.PayloadFormat>()
        let token = try test.center.addObserver(
            for: Point.self, options: .init(onUndecodable: { notification, _ in bad.add(notification.payload.format) }),
            using: { got.add($0) })
        try test.center.post(Wider(x: 1, y: 2))
        try test.center.post(Point(x: 1, y: 2))
        expectEqual(await got.wait(for: 1), [Point(x: 1, y: 2)])
        #expect(bad.all == [.bitwise])
        #expect(test.reports.all == ["two types: test.point: Point, Wider"])
        token.cancel()
    }

    @Test(arguments: [0, 100, 100_000])
    func anEncoderThatThrowsPostsNothing(_ size: Int) async throws {
        let test = try TestCenter()
        let got = Events<Center.Name>()
        let token = try test.center.addObserver(forNames: .all) { got.add($0.name) }
        // More often than there are buffers for payloads: each buffer is returned.
        for _ in 0..<200 {
            let error = #expect(throws: SharedNotificationError.self) { try test.center.post(Picky(size: size)) }
            #expect(error?.code == .encodingFailed)
            #expect(error?.message.contains("test.picky") == true && error?.message.contains("No()") == true)
        }
        try test.center.post(Track(1))
        expectEqual(await got.wait(for: 1), [Track.name])
        #expect(try test.center.statistics.chunks == 0)
        token.cancel()
    }

    @Test func tooLargeIsAnError() async throws {
        let test = try TestCenter(.init(maximumPayloadSize: 10_000))
        #expect(throws: Never.self) { try test.center.post(Blob(numbers: Array(0..<1000))) }
        let error = #expect(throws: SharedNotificationError.self) {
            try test.center.post(Blob(numbers: Array(0..<10_000)))
        }
        #expect(error?.code == .payloadTooLarge)
        let raw = #expect(throws: SharedNotificationError.self) {
            try test.center.post(name: "a", payload: .init(format: .bytes, bytes: Array(repeating: 0, count: 10_001)))
        }
        #expect(raw?.code == .payloadTooLarge)
    }

    @Test func aMessageThatPostsInsideItsEncoder() async throws {
        struct Nested: Center.Message {
            static let name: Center.Name = "test.nested"
            var center: Center?
            var padding = Array(repeating: 1, count: 10_000)
            init(_ center: Center) { self.center = center }
            init(from decoder: any Decoder) throws {}
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                try container.encode(padding)
                try center?.post(Blob(numbers: padding))
                try container.encode(padding)
            }
        }
        let test = try TestCenter()
        let got = Events<Center.Name>()
        let token = try test.center.addObserver(forNames: .all) { got.add($0.name) }
        try test.center.post(Nested(test.center))
        expectEqual(await got.wait(for: 2), [Blob.name, Nested.name])
        token.cancel()
    }
}
