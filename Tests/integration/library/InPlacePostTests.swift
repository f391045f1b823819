import Foundation
import Testing
import TidingsAdministration

@testable import Tidings

/// Posts whose payload a closure builds in place.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct InPlacePostTests {
    struct Refusal: Error, Equatable { var number: Int }

    private static let built = Array(repeating: 1 as UInt8, count: 50_000) + Array(repeating: 2, count: 50_000)

    @Test(arguments: [true, false])
    func thePayloadIsWhatTheClosureAppended(follows: Bool) async throws {
        let test = try TestCenter(.init(maximumPayloadSize: 2 << 20, followsName: follows))
        let got = Events<Center.Notification>()
        let token = try test.center.addObserver(forNames: ["test.built"]) { got.add($0) }
        let sizes = [0, 1, 100, 1024, 5000, 100_000, 1 << 20, 2 << 20]
        var positions: [UInt64] = []
        for size in sizes {
            for part in [size, size / 2, 0] {
                positions.append(
                    try test.center.post(
                        name: "test.built", format: .init(rawValue: 77), capacity: size,
                        options: .init(subject: "subject")
                    ) { output in
                        #expect(output.capacity == size && output.byteCount == 0)
                        output.append(repeating: UInt8(truncatingIfNeeded: size / 3), count: part, as: UInt8.self)
                    })
            }
        }
        let all = await got.wait(for: 3 * sizes.count)
        for (index, size) in sizes.enumerated() {
            for (offset, part) in [size, size / 2, 0].enumerated() {
                let notification = all[3 * index + offset]
                #expect(notification.payload.format.rawValue == 77 && notification.object == "subject")
                #expect(
                    notification.payload.bytes
                        == Array(repeating: UInt8(truncatingIfNeeded: size / 3), count: part))
            }
        }
        #expect(all.map(\.envelope.sequence) == positions)
        token.cancel()
    }

    @Test func bytesFormatDecodesAsTheMessageOfThatName() async throws {
        let test = try TestCenter()
        let got = Events<PayloadTests.Frame>()
        let token = try test.center.addObserver(for: PayloadTests.Frame.self) { got.add($0) }
        try test.center.post(name: PayloadTests.Frame.name, capacity: 3, options: .init(retain: true)) { output in
            for byte in 1...3 { output.append(UInt8(byte)) }
        }
        expectEqual(await got.wait(for: 1), [.init(pixels: [1, 2, 3])])
        #expect(try test.center.state(for: PayloadTests.Frame.self) == .init(pixels: [1, 2, 3]))
        token.cancel()
    }

    @Test(arguments: [true, false])
    func elementsAreAligned(follows: Bool) async throws {
        let test = try TestCenter(.init(followsName: follows))
        for count in [1, 10, 100, 1000, 100_000] {
            try test.center.post(name: "test.wide", capacity: 16 * count, options: .init(retain: true)) { output in
                output.withUnsafeMutableBytes { memory, _ in #expect(Int(bitPattern: memory.baseAddress) % 16 == 0) }
                for number in 0..<count { output.append(SIMD4(repeating: Float(number)), as: SIMD4<Float>.self) }
            }
            let bytes = try #require(try test.center.rawState(for: "test.wide")).bytes
            let numbers = bytes.withUnsafeBytes { memory in
                stride(from: 0, to: memory.count, by: 4).map {
                    memory.loadUnaligned(fromByteOffset: $0, as: Float.self)
                }
            }
            #expect(numbers == (0..<4 * count).map { Float($0 / 4) })
        }
    }

    @Test(arguments: [0, 100, 100_000])
    func aClosureThatThrowsPostsNothing(_ size: Int) async throws {
        let test = try TestCenter()
        let got = Events<Center.Name>()
        let token = try test.center.addObserver(forNames: .all) { got.add($0.name) }
        // More often than there are chunks: each chunk is given back.
        for number in 0..<200 {
            let error = try #require(throws: SharedNotificationError.self) {
                try test.center.post(name: "test.refused", capacity: size) { output in
                    output.append(repeating: 0, count: size, as: UInt8.self)
                    throw Refusal(number: number)
                }
            }
            try #require(error.code == .encodingFailed)
            #expect(error.underlyingError as? Refusal == Refusal(number: number))
            #expect(error.message.contains("test.refused") && error.message.contains("Refusal"))
        }
        let own = SharedNotificationError(.removed, message: "a test")
        let error = #expect(throws: SharedNotificationError.self) {
            try test.center.post(name: "test.refused", capacity: size) { _ in throw own }
        }
        #expect(error?.code == .removed && error?.message == "a test")
        #expect(try test.center.statistics.chunks == 0)
        try test.center.post(name: "test.end")
        expectEqual(await got.wait(for: 1), ["test.end"])
        token.cancel()
    }

    @Test func aClosureCanPostAndTheInnerPostComesFirst() async throws {
        let test = try TestCenter()
        let got = Events<Int>()
        let token = try test.center.addObserver(forNames: .all) { got.add($0.payload.bytes.count) }
        try test.center.post(name: "test.outer", capacity: 10_000) { outer in
            try test.center.post(name: "test.inner", capacity: 20_000) { inner in
                inner.append(repeating: 0, count: 20_000, as: UInt8.self)
            }
            outer.append(repeating: 0, count: 10_000, as: UInt8.self)
        }
        expectEqual(await got.wait(for: 2), [20_000, 10_000])
        token.cancel()
    }

    @Test func anImpossibleCapacityIsRefusedBeforeTheClosure() throws {
        let test = try TestCenter(.init(maximumPayloadSize: 10_000))
        func refusal(_ name: Center.Name, _ capacity: Int, in center: Center? = nil) -> SharedNotificationError? {
            #expect(throws: SharedNotificationError.self) {
                try (center ?? test.center).post(name: name, capacity: capacity) { _ in Issue.record("it was called") }
            }
        }
        for capacity in [10_001, .max] {
            let error = refusal("test.large", capacity)
            #expect(error?.code == .payloadTooLarge && error?.message.contains("maximum is 10000") == true)
        }
        #expect(refusal("test.large", -1)?.code == .invalidArgument)
        #expect(refusal("", 1)?.code == .invalidName)
        let reader = try test.recorded(
            Center(
                named: test.name,
                configuration: .init(directory: test.directory, isReadOnly: true, creation: .never)))
        #expect(refusal("test.large", 1, in: reader)?.code == .notPermitted)
        #expect(throws: Never.self) { try test.center.post(name: "test.large", capacity: 10_000) { _ in } }
        #expect(try test.center.statistics.chunks == 0)
    }

    @Test func aCenterObjectThatFollowsItsNameChecksWhatWasBuilt() throws {
        let test = try TestCenter(.init(maximumPayloadSize: 10_000, followsName: true))
        func post(_ count: Int) throws {
            try test.center.post(name: "test.large", capacity: 20_000) { output in
                output.append(repeating: 0, count: count, as: UInt8.self)
            }
        }
        try post(10_000)
        let error = #expect(throws: SharedNotificationError.self) { try post(10_001) }
        #expect(error?.code == .payloadTooLarge && error?.message.contains("maximum is 10000") == true)
        #expect(try test.center.statistics.posted == 1)
    }

    @Test(arguments: [true, false])
    func aCenterThatEndsInTheClosure(follows: Bool) throws {
        let test = try TestCenter(.init(followsName: follows))
        func post() throws -> UInt64 {
            try test.center.post(name: "test.moved", capacity: 100_000, options: .init(retain: true)) { output in
                output.append(repeating: 5, count: 100_000, as: UInt8.self)
                try Center.remove(named: test.name, configuration: .init(directory: test.directory))
            }
        }
        if follows {
            _ = try post()
            let bytes = try test.other().rawState(for: "test.moved")?.bytes
            #expect(bytes == Array(repeating: 5, count: 100_000))
        } else {
            let error = #expect(throws: SharedNotificationError.self) { try post() }
            #expect(error?.code == .removed)
        }
    }

    @Test func anotherProcessReceivesIt() async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "observe", "test.numbers", "2")
        expectEqual(await peer.line(), "observing")
        for (number, padding) in [(42, 0), (43, 20_000)] as [(UInt8, Int)] {
            // {"number": number, "pad": padding bytes}
            let head: [UInt8] =
                [0xA2, 0x66] + Array("number".utf8) + [0x18, number, 0x63] + Array("pad".utf8) + [0x59]
            let capacity = head.count + 2 + padding
            let position = try test.center.post(name: "test.numbers", format: .cbor, capacity: capacity) { output in
                for byte in head { output.append(byte) }
                output.append(UInt8(padding >> 8))
                output.append(UInt8(padding & 0xFF))
                output.append(repeating: 0, count: padding, as: UInt8.self)
            }
            expectEqual(await peer.line(Int(number) - 40), "got \(number) \(position) \(getpid())")
        }
        await peer.waitForEnd()
    }

    @Test func aProcessKilledInTheClosureLeavesNothing() async throws {
        let test = try TestCenter()
        let got = Events<Center.Name>()
        let token = try test.center.addObserver(forNames: .all) { got.add($0.name) }
        let peer = try Peer(test, "build", "test.built", "kill")
        await peer.waitForEnd()
        expectEqual(await peer.line(), "building")
        try test.center.post(name: "test.end")
        expectEqual(await got.wait(for: 1), ["test.end"])
        try test.center.reclaim()
        let statistics = try test.center.statistics
        #expect(statistics.participants == 1 && statistics.chunks == 0)
        token.cancel()
    }

    @Test func aProcessStoppedInTheClosureDelaysNoOtherProcess() async throws {
        let test = try TestCenter(smallRing)
        let got = Events<[UInt8]>()
        let token = try test.center.addObserver(forNames: .all, options: .init(lossless: true)) {
            got.add($0.payload.bytes)
        }
        let peer = try Peer(test, "build", "test.built", "stop")
        expectEqual(await peer.line(), "building")
        try peer.waitUntilStopped()
        for _ in 0..<1000 { try test.center.post(name: "test.other", options: .init(timeout: .seconds(600))) }
        await got.wait(for: 1000)
        peer.signal(SIGCONT)
        await peer.waitForEnd()
        expectEqual(await got.wait(for: 1001), Array(repeating: [], count: 1000) + [Self.built])
        token.cancel()
    }

    @Test func aChildForkedInTheClosureDoesNotPostIt() async throws {
        let test = try TestCenter()
        let got = Events<[UInt8]>()
        let token = try test.center.addObserver(forNames: .all) { got.add($0.payload.bytes) }
        let peer = try Peer(test, "build", "test.built", "fork")
        expectEqual(await peer.lines(through: "posted"), ["building", "child: invalidArgument"])
        await peer.waitForEnd()
        try test.center.post(name: "test.end")
        expectEqual(await got.wait(for: 2), [Self.built, []])
        token.cancel()
    }

    @Test func aLosslessClosurePostsWithATimeout() async throws {
        let test = try TestCenter()
        let got = Events<[UInt8]>()
        let token = try test.center.addObserver(forNames: ["test.first"], options: .init(lossless: true)) { _ in
            _ = try? test.center.post(name: "test.second", capacity: 5000, options: .init(timeout: .seconds(600))) {
                $0.append(repeating: 9, count: 5000, as: UInt8.self)
            }
        }
        let second = try test.center.addObserver(forNames: ["test.second"]) { got.add($0.payload.bytes) }
        try test.center.post(name: "test.first")
        expectEqual(await got.wait(for: 1), [Array(repeating: 9, count: 5000)])
        for token in [token, second] { token.cancel() }
    }
}
