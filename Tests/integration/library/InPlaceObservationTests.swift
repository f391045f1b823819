import Foundation
import Glibc
import Testing
import TidingsAdministration

@testable import Tidings

/// Observers that read payloads where they lie in the center.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct InPlaceObservationTests {
    struct Picture: Center.Message, Equatable {
        static let name: Center.Name = "test.picture"
        var number: Int
        var pixels: Data

        init(_ number: Int, size: Int = 100_000) {
            self.number = number
            pixels = Data(repeating: UInt8(truncatingIfNeeded: number), count: size)
        }
    }

    struct Matrix: Center.BitwiseMessage, Equatable {
        static let name: Center.Name = "test.matrix"
        var rows = SIMD64<Double>(repeating: 2)
    }

    struct Frame: Center.BytesMessage, Equatable {
        static let name: Center.Name = "test.frame"
        var pixels: [UInt8]
        init(pixels: [UInt8]) { self.pixels = pixels }
        init(payloadBytes bytes: UnsafeRawBufferPointer) { pixels = Array(bytes) }
        func payloadBytes() -> [UInt8] { pixels }
    }

    private static func raw(_ letter: UInt8, size: Int = 100_000) -> Center.RawPayload {
        .init(format: .bytes, bytes: Array(repeating: letter, count: size))
    }

    /// Observes in place, and keeps the payload of each notification.
    private func keepRaw(
        of center: Center, in got: Locked<[Center.RawPayload]>, _ arrived: Events<Void>
    ) throws -> Center.ObservationToken {
        try center.addObserver(forNames: "test.raw", options: .init(inPlace: .large)) { one in
            got.withLock { $0.append(one.payload) }
            arrived.add(())
        }
    }

    /// How many payloads the center object holds.
    private func held(_ center: Center) throws -> Int {
        try center.participants.filter(\.isOwn).map(\.payloadsHeld).reduce(0, +)
    }

    private func isHeld(_ payload: Center.RawPayload) -> Bool { payload.held != nil }

    private func isAll(_ payload: Center.RawPayload, _ letter: UInt8, size: Int = 100_000) -> Bool {
        payload.withPointer { $0.count == size && $0.allSatisfy { $0 == letter } }
    }

    /// Posts until each chunk that is not held has been used again.
    private func goRound(_ center: Center, size: Int = 100_000) throws {
        for _ in 0..<200 { try center.post(name: "test.other", payload: Self.raw(0xff, size: size)) }
    }

    // MARK: Messages

    @Test func aMessageIsDecodedInPlaceAndHeldUntilThen() async throws {
        let test = try TestCenter()
        let (got, counts) = (Events<Picture>(), Events<Int?>())
        let token = try test.center.addObserver(for: Picture.self, options: .init(inPlace: .large)) { picture in
            counts.add(try? held(test.center))
            got.add(picture)
        }
        // As many as the center has memory for at a time: none is lost.
        for number in 0..<30 { try test.center.post(Picture(number)) }
        expectEqual(await got.wait(for: 30), (0..<30).map { Picture($0) })
        // Decoded before the closure is called: it can run as long as it likes.
        expectEqual(counts.all, Array(repeating: 0, count: 30))
        token.cancel()
    }

    enum Way: CaseIterable { case closure, queue, actor, task, messages, deliveries, pollable }

    @Test(arguments: Way.allCases)
    func everyKindOfObserverReadsInPlace(_ way: Way) async throws {
        let test = try TestCenter()
        let got = Events<Picture>()
        var options = Center.ObserverOptions(inPlace: .large)
        var token: Center.ObservationToken?
        var task: Task<Void, any Error>?
        switch way {
        case .closure: token = try test.center.addObserver(for: Picture.self, options: options) { got.add($0) }
        case .queue:
            options.queue = DispatchQueue(label: "test")
            token = try test.center.addObserver(for: Picture.self, options: options) { got.add($0) }
        case .actor:
            token = try test.center.addObserver(for: Picture.self, options: options) { @MainActor in got.add($0) }
        case .task:
            token = try test.center.addObserver(for: Picture.self, options: options) {
                await Task.yield()
                got.add($0)
            }
        case .messages:
            let pictures = try test.center.messages(of: Picture.self, options: options).register()
            task = Task { for await picture in pictures { got.add(picture) } }
        case .deliveries:
            let all = try test.center.deliveries(ofNames: [Picture.name], options: options).register()
            task = Task {
                for await case .notification(let notification) in all {
                    got.add(try notification.payload.decode(Picture.self))
                }
            }
        case .pollable:
            let observer = try test.center.pollableObserver(forNames: [Picture.name], options: options)
            task = Task.detached {
                while got.count < 30 {
                    guard case .notification(let notification) = try observer.next() else { continue }
                    #expect(isHeld(notification.payload))
                    got.add(try notification.payload.decode(Picture.self))
                }
            }
        }
        for number in 0..<30 { try test.center.post(Picture(number)) }
        expectEqual(await got.wait(for: 30), (0..<30).map { Picture($0) })
        token?.cancel()
        task?.cancel()
        try? await task?.value
        #expect(try held(test.center) == 0)
    }

    @Test func otherFormatsAndKeysAreReadInPlace() async throws {
        let test = try TestCenter()
        let options = Center.ObserverOptions(inPlace: .from(0))
        let key = Center.Key<Int, String>("test.key")
        let (matrices, frames, pairs, texts) = (Events<Matrix>(), Events<Frame>(), Events<String>(), Events<String>())
        let tokens = [
            try test.center.addObserver(for: Matrix.self, options: options) { matrices.add($0) },
            try test.center.addObserver(for: Frame.self, options: options) { frames.add($0) },
            try test.center.addObserver(for: key, options: options) { pairs.add("\($0) \($1.count)") },
            try test.center.addObserver(forNames: "test.text", options: options) { notification in
                #expect(isHeld(notification.payload))
                texts.add((try? notification.payload.decode(String.self)) ?? "undecodable")
            },
        ]
        let long = String(repeating: "é", count: 5000)
        try test.center.post(Matrix())
        try test.center.post(Frame(pixels: [1, 2, 3]))
        try test.center.post(Frame(pixels: Array(repeating: 9, count: 50_000)))
        try test.center.post(key, 7, long)
        for payload in [Center.RawPayload.text(long), .json("\"\(long)\""), try .init(encoding: long)] {
            try test.center.post(name: "test.text", payload: payload)
        }
        expectEqual(await matrices.wait(for: 1), [Matrix()])
        expectEqual(
            await frames.wait(for: 2), [Frame(pixels: [1, 2, 3]), Frame(pixels: Array(repeating: 9, count: 50_000))])
        expectEqual(await pairs.wait(for: 1), ["7 5000"])
        expectEqual(await texts.wait(for: 3), [long, long, long])
        for token in tokens { token.cancel() }
        #expect(try held(test.center) == 0)
    }

    @Test func aPayloadThatDoesNotDecodeIsReported() async throws {
        let test = try TestCenter()
        let got = Events<Center.Notification>()
        var options = Center.ObserverOptions(inPlace: .large)
        options.onUndecodable = { notification, _ in got.add(notification) }
        let token = try test.center.addObserver(for: Picture.self, options: options) { _ in }
        try test.center.post(name: Picture.name, payload: .init(format: .cbor, bytes: Self.raw(0x81).bytes))
        let payload = await got.wait(for: 1)[0].payload
        #expect(isAll(payload, 0x81))
        token.cancel()
    }

    // MARK: Payloads

    @Test func aPayloadStaysUntilItsLastCopyIsGone() async throws {
        let test = try TestCenter()
        let (got, arrived) = (Locked<[Center.RawPayload]>([]), Events<Void>())
        let token = try keepRaw(of: test.center, in: got, arrived)
        for letter in UInt8(1)...3 { try test.center.post(name: "test.raw", payload: Self.raw(letter)) }
        await arrived.wait(for: 3)
        #expect(try held(test.center) == 3)
        let own = try #require(test.center.participants.first { $0.isOwn })
        #expect(own.memoryHeld >= 300_000 && own.holdsSince != nil)
        try goRound(test.center)
        got.withLock { payloads in
            for letter in UInt8(1)...3 {
                let payload = payloads[Int(letter) - 1]
                #expect(isHeld(payload) && isAll(payload, letter) && payload.count == 100_000)
                #expect(payload == Self.raw(letter) && payload.hashValue == Self.raw(letter).hashValue)
                #expect(payload != Self.raw(letter + 1))
                #expect(payload.withBytes { $0.unsafeLoad(fromByteOffset: 99_999, as: UInt8.self) } == letter)
            }
        }
        // A copy keeps the payload, a change makes a copy of the bytes, and any thread may be the last.
        let last = got.withLock { payloads in
            defer { payloads = [] }
            return payloads[0]
        }
        #expect(try held(test.center) == 1)
        var changed = last
        changed.bytes.append(4)
        #expect(!isHeld(changed) && changed.count == 100_001 && isAll(last, 1))
        let kept = Locked<Center.RawPayload?>(last)
        await onThread { kept.withLock { #expect($0.map { isHeld($0) } == true) } }
        token.cancel()
        _ = last
        kept.withLock { $0 = nil }
    }

    @Test func aPayloadOutlivesItsObserverItsCenterObjectAndItsCenter() async throws {
        let directory = "/dev/shm/tidings-tests-held-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let configuration = Center.Configuration(directory: directory)
        var center: Center? = try Center(named: "held", configuration: configuration)
        let other = try Center(named: "held", configuration: configuration)
        func arrives() async throws -> Center.RawPayload {
            let got = Locked<Center.RawPayload?>(nil)
            let arrived = Events<Void>()
            let token = try center!.addObserver(forNames: "test.raw", options: .init(inPlace: .large)) { one in
                got.withLock { $0 = one.payload }
                arrived.add(())
            }
            try center!.post(name: "test.raw", payload: Self.raw(5))
            await arrived.wait(for: 1)
            token.cancel()
            return got.withLock { $0.take()! }
        }
        var payload: Center.RawPayload? = try await arrives()
        center = nil
        try goRound(other)
        #expect(isAll(payload!, 5))
        #expect(try other.participants.map(\.payloadsHeld).reduce(0, +) == 1)
        try Center.remove(named: "held", configuration: configuration)
        #expect(isHeld(payload!) && isAll(payload!, 5))
        // Now the center object's participant leaves.
        payload = nil
        #expect(try other.participants.filter { !$0.isOwn }.isEmpty)
    }

    @Test func beyondTheHoldsOfACenterObjectPayloadsAreCopied() async throws {
        let test = try TestCenter()
        let (got, arrived) = (Locked<[Center.RawPayload]>([]), Events<Void>())
        let token = try keepRaw(of: test.center, in: got, arrived)
        for number in 0..<40 {
            try test.center.post(name: "test.raw", payload: Self.raw(UInt8(number), size: 20_000))
        }
        await arrived.wait(for: 40)
        got.withLock { payloads in
            #expect(payloads.filter { isHeld($0) }.count == 31)
            for (number, payload) in payloads.enumerated() { #expect(isAll(payload, UInt8(number), size: 20_000)) }
            payloads = []
        }
        token.cancel()
        #expect(try held(test.center) == 0)
    }

    /// An observer that falls behind leaves the center's memory to posters.
    @Test func fewPayloadsWaitInPlace() async throws {
        let test = try TestCenter()
        let queue = DispatchQueue(label: "test")
        let gate = Gate()
        let got = Events<Bool>()
        queue.async { gate.pass() }
        let options = Center.ObserverOptions(inPlace: .large, queue: queue)
        let token = try test.center.addObserver(forNames: "test.raw", options: options) { got.add(isHeld($0.payload)) }
        let observation = token.anchor!.observation
        for _ in 0..<30 { try test.center.post(name: "test.raw", payload: Self.raw(1)) }
        while observation.dispatcher.lock.withLock({ observation.machine.buffer.count < 30 }) { sched_yield() }
        #expect(try held(test.center) == DeliveryBuffer.mostInPlace)
        gate.open()
        expectEqual(await got.wait(for: 30), (0..<30).map { $0 < DeliveryBuffer.mostInPlace })
        token.cancel()
        queue.sync {}
        #expect(try held(test.center) == 0)
    }

    /// A suspension may be long.
    @Test func noPayloadWaitsInPlaceForTheEndOfASuspension() async throws {
        let test = try TestCenter()
        let got = Events<Bool>()
        test.center.suspend()
        let token = try test.center.addObserver(
            forNames: "test.raw", options: .init(inPlace: .large), suspensionBehavior: .hold(limit: 100)
        ) { got.add(isHeld($0.payload)) }
        let machine = token.anchor!.observation.dispatcher.lock.withLock { token.anchor!.observation.machine }
        #expect(!machine.mayHold)
        try test.center.post(name: "test.raw", payload: Self.raw(1))
        while token.anchor!.observation.dispatcher.lock.withLock({ token.anchor!.observation.machine.isIdle }) {
            sched_yield()
        }
        test.center.resume()
        expectEqual(await got.wait(for: 1), [false])
        token.cancel()
    }

    @Test func aReaderReceivesACopy() async throws {
        let test = try TestCenter(.init(permissions: 0o644))
        let reader = try test.recorded(
            Center(
                named: test.name, configuration: .init(directory: test.directory, isReadOnly: true, creation: .never)))
        let got = Events<Bool>()
        let token = try reader.addObserver(forNames: "test.raw", options: .init(inPlace: .large)) {
            got.add(!isHeld($0.payload) && isAll($0.payload, 3))
        }
        try test.center.post(name: "test.raw", payload: Self.raw(3))
        expectEqual(await got.wait(for: 1), [true])
        token.cancel()
    }

    // MARK: Spans

    @Test func numbersOfAPayloadAreReadWhereTheyLie() async throws {
        let test = try TestCenter()
        let observer = try test.center.pollableObserver(forNames: .all, options: .init(inPlace: .large))
        func next() throws -> Center.RawPayload {
            guard case .notification(let notification)? = try observer.next() else { return .empty }
            return notification.payload
        }
        func place<Element: BitwiseCopyable>(_ span: Span<Element>) -> UnsafeRawPointer? {
            span.withUnsafeBytes { $0.baseAddress }
        }
        try test.center.post(name: "test.floats", capacity: 40_000) { output in
            for number in 0..<10_000 { output.append(Float(number), as: Float.self) }
        }
        let floats = try next()
        #expect(isHeld(floats))
        let sum = try floats.withSpan(of: Float.self) { span in
            #expect(place(span) == floats.withPointer { $0.baseAddress })
            var sum: Float = 0
            for index in span.indices { sum += span[index] }
            return sum
        }
        let expected = (0..<10_000).reduce(into: Float(0)) { $0 += Float($1) }
        #expect(sum == expected)
        #expect(try floats.withSpan(of: UInt128.self) { $0.count } == 2500)

        // A field: bytes lie anywhere, wider numbers may have to be copied.
        try test.center.post(Picture(3))
        let picture = try next()
        try picture.withSpan(of: UInt8.self, at: "pixels") { span in
            #expect(span.count == 100_000 && span[0] == 3 && span[99_999] == 3)
            let whole = picture.withPointer { $0 }
            #expect(whole.baseAddress! < place(span)! && place(span)! + 100_000 <= whole.baseAddress! + whole.count)
        }
        #expect(try picture.withSpan(of: UInt32.self, at: "pixels") { Set($0.indices.map { $0 }).count } == 25_000)
        #expect(try picture.withSpan(of: UInt32.self, at: "pixels") { $0[24_999] } == 0x0303_0303)
        for (field, payload) in [
            ("absent", picture), ("number", picture), ("pixels", floats), ("pixels", .json("{}")), ("a", .empty),
        ] {
            #expect(throws: DecodingError.self) { try payload.withSpan(of: UInt8.self, at: field) { _ in } }
        }
        let odd = Center.RawPayload(format: .bytes, bytes: [1, 2, 3])
        #expect(throws: DecodingError.self) { try odd.withSpan(of: UInt16.self) { _ in } }
        #expect(try Center.RawPayload.empty.withSpan(of: Double.self) { $0.count } == 0)
    }

    /// Payloads of other encoders, and bad ones.
    @Test(
        arguments: [
            ("a2 6161 01 6162 420102", [1, 2]), ("bf 6161 8101 6162 420102 ff", [1, 2]), ("a1 7f616160ff 4103", nil),
            ("a1 7f616260ff 4103", [3]), ("a1 6162 c2 4103", [3]), ("a1 6162 5f4101ff", nil), ("a1 6162 6101", nil),
            ("a2 6162 4101 6162 4102", [1]), ("a1 6162 45 01", nil), ("81 6162", nil), ("a1 8001 4101", nil),
            ("bf 6161 01", nil),
            ("a1 02 4101", nil), ("", nil),
        ] as [(String, [UInt8]?)])
    func fieldsAreFoundInAnyMap(_ hex: String, _ expected: [UInt8]?) throws {
        let payload = Center.RawPayload(format: .cbor, bytes: cborBytes(hex))
        func field() throws -> [UInt8] {
            try payload.withSpan(of: UInt8.self, at: "b") { span in span.indices.map { span[$0] } }
        }
        if let expected {
            #expect(try field() == expected)
        } else {
            #expect(throws: DecodingError.self) { try field() }
        }
    }

    // MARK: Other processes

    @Test func aPostThatFindsAllMemoryHeldNamesTheHolderUntilItDies() async throws {
        let test = try TestCenter(.init(maximumPayloadSize: 1 << 20))
        let peer = try Peer(test, "hold", "test.raw", "16")
        expectEqual(await peer.line(), "holding")
        for number in 0..<16 {
            try test.center.post(name: "test.raw", payload: Self.raw(1, size: 1 << 20))
            expectEqual(await peer.line(2 + number), "held")
        }
        let holder = try #require(test.center.participants.first { $0.pid == peer.pid })
        #expect(holder.payloadsHeld == 16 && holder.memoryHeld >= 16 << 20)
        let error = #expect(throws: SharedNotificationError.self) {
            try test.center.post(
                name: "test.raw", payload: Self.raw(1, size: 1 << 20), options: .init(timeout: .seconds(60)))
        }
        #expect(error?.code == .full && error?.message.contains("process \(peer.pid) holds 16 ") == true)
        #expect(error?.message.contains("\n") == false && error?.message.contains("tidings_") == false)
        // Smaller payloads find memory, also if the holder is stopped.
        peer.signal(SIGSTOP)
        try peer.waitUntilStopped()
        try test.center.post(name: "test.other", payload: Self.raw(1))
        peer.signal(SIGKILL)
        await peer.waitForEnd()
        for _ in 0..<20 { try test.center.post(name: "test.raw", payload: Self.raw(1, size: 1 << 20)) }
    }

    @Test func aForkedChildReleasesNothingOfItsParent() async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "fork-held", "test.raw")
        expectEqual(await peer.line(), "child ended with 0")
        expectEqual(await peer.line(2), "held 1, then 0")
        await peer.waitForEnd()
    }

    // MARK: A hostile writer

    /// Changes the payload in the center while it is decoded, as a process with write access can.
    struct Changing: Decodable {
        nonisolated(unsafe) static var change: (() -> Void)?
        var depth = 0

        init(from decoder: any Decoder) throws {
            Self.change?()
            Self.change = nil
            guard var list = try? decoder.unkeyedContainer() else { return }
            while !list.isAtEnd { depth = max(depth, try list.decode(Changing.self).depth + 1) }
        }
    }

    @Test func aPayloadThatChangesIsDecodedFromACopy() async throws {
        let test = try TestCenter()
        let got = Events<Result<Int, any Error>>()
        let token = try test.center.addObserver(forNames: "test.changing", options: .init(inPlace: .large)) { one in
            let payload = one.payload
            Changing.change = {
                payload.withPointer { bytes in
                    let memory = UnsafeMutableRawBufferPointer(mutating: bytes)
                    // [[1], [1], …] becomes [[[[…
                    for offset in 5..<memory.count { memory[offset] = 0x81 }
                }
            }
            got.add(Result { try payload.decode(Changing.self).depth })
        }
        let count = 100_000
        let lists = [0x9A, 0, 1, 0x86, 0xA0] + Array(repeating: [0x81, 0x01] as [UInt8], count: count).joined()
        try test.center.post(name: "test.changing", payload: .init(format: .cbor, bytes: Array(lists)))
        // In place the decoder meets more levels than there can be. The copy is not what was posted, and is refused.
        let result = await got.wait(for: 1)[0]
        #expect(throws: DecodingError.self) { try result.get() }
        token.cancel()
    }
}
