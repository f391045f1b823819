import Glibc
import Testing
import TidingsAdministration

@testable import Tidings

@Suite(.serialized, .timeLimit(.minutes(10)))
struct SealedTests {
    private func pair() -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    @Test(arguments: [false, true])
    func aSealedCenterIsPassedToAnotherProcess(isReadOnly: Bool) async throws {
        let (near, far) = pair()
        defer { for end in [near, far] { close(end) } }
        let center = try Center.sealed(named: "handed", configuration: .init(slots: 256, permissions: 0o644))
        try center.send(over: near, isReadOnly: isReadOnly)
        let received = try Center(receivedOver: far)
        #expect(received.name == "handed")
        var tracks = received.messages(of: Track.self).makeAsyncIterator()
        try center.post(Track(1))
        expectEqual(await tracks.next(), Track(1))
        let error = isReadOnly ? #expect(throws: SharedNotificationError.self) { try received.post(Track(2)) } : nil
        #expect(error?.code == (isReadOnly ? .notPermitted : nil))
        guard !isReadOnly else { return }
        try received.post(Track(2))
        expectEqual(await tracks.next(), Track(2))
    }

    @Test func aReceiverLimitsTheSize() throws {
        let (near, far) = pair()
        defer { for end in [near, far] { close(end) } }
        let center = try Center.sealed(named: "handed", configuration: .init(slots: 256))
        let size = Int(try center.statistics.fileSize)
        try center.send(over: near)
        // A value that can't be a size is refused before the call receives a descriptor.
        for never in [0, -1, Int.min] {
            let error = #expect(throws: SharedNotificationError.self) {
                _ = try Center(receivedOver: far, maximumSize: never)
            }
            #expect(error?.code == .invalidArgument && error?.message.contains("\(never) bytes") == true)
        }
        try Center(receivedOver: far, maximumSize: Int.max).post(Track(1))
        for refused in [1, size - 1] {
            try center.send(over: near)
            let error = #expect(throws: SharedNotificationError.self) {
                _ = try Center(receivedOver: far, maximumSize: refused)
            }
            #expect(error?.code == .centerTooLarge && error?.message.contains("raise the receiver's limit") == true)
        }
        try center.send(over: near)
        try Center(receivedOver: far, maximumSize: size).post(Track(2))
        let large = try Center.sealed(named: "large", configuration: .init(maximumPayloadSize: 1 << 30))
        try large.send(over: near)
        let error = #expect(throws: SharedNotificationError.self) { _ = try Center(receivedOver: far) }
        #expect(error?.code == .centerTooLarge)
    }

    @Test func errorsNameTheCause() throws {
        let (near, far) = pair()
        defer { close(far) }
        let test = try TestCenter()
        let file = #expect(throws: SharedNotificationError.self) { try test.center.send(over: near) }
        #expect(file?.code == .invalidArgument)
        #expect(Glibc.send(near, "junk", 4, 0) == 4)
        let junk = #expect(throws: SharedNotificationError.self) { _ = try Center(receivedOver: far) }
        #expect(junk?.code == .notACenter)
        for error in [file, junk] { #expect(error?.message.contains("tidings_") == false) }
        close(near)
        let gone = #expect(throws: SharedNotificationError.self) { _ = try Center(receivedOver: far) }?.code
        #expect(gone == .system(ECONNRESET))
        let name = #expect(throws: SharedNotificationError.self) { _ = try Center.sealed(named: "") }?.code
        #expect(name == .invalidName)
    }
}
