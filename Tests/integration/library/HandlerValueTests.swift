import Testing
import Tidings
import TidingsAdministration

/// A program's unit tests can call its handlers with values that the tests make. Not `@testable`: the public
/// initializers must be enough.
@Suite struct HandlerValueTests {
    struct Volume: SharedNotificationCenter.Message, Equatable { var level: Double }

    private func line(_ volume: Volume, _ envelope: SharedNotificationCenter.Envelope) -> String {
        "\(volume.level) of \(envelope.subject ?? "none") from \(envelope.poster.pid)"
    }

    private func line(_ delivery: SharedNotificationCenter.Delivery<Volume>) -> String {
        switch delivery {
        case .message(let volume, let envelope): line(volume, envelope)
        case .missed(let count): "\(count) missed"
        case .reopened(let incarnation): "in \(incarnation)"
        case .centerEnded(let error): "\(error.code)"
        }
    }

    @Test func handlersAreCalledWithMadeValues() {
        let envelope = SharedNotificationCenter.Envelope(sequence: 7, poster: .init(pid: 42), subject: "a")
        #expect(line(.message(Volume(level: 0.5), envelope)) == "0.5 of a from 42")
        #expect(line(.message(Volume(level: 1), .init())) == "1.0 of none from 0")
        #expect(line(.missed(3)) == "3 missed")
        #expect(line(.centerEnded(.init(.removed, message: "gone"))) == "removed")
    }

    @Test func untypedHandlersAreCalledWithMadeValues() throws {
        let payload = try SharedNotificationCenter.RawPayload(encoding: Volume(level: 2))
        let notification = SharedNotificationCenter.Notification(name: "a", payload: payload)
        #expect(notification.object == nil)
        #expect(try notification.payload.decode(Volume.self) == Volume(level: 2))
    }

    @Test func aCenterInMemoryHasNoFile() async throws {
        let center = try SharedNotificationCenter.sealed(named: "unit")
        let (stream, values) = AsyncStream.makeStream(of: Double.self)
        let token = try center.addObserver(for: Volume.self) { values.yield($0.level) }
        try center.post(Volume(level: 0.25))
        expectEqual(await stream.first { _ in true }, 0.25)
        token.cancel()
        #expect(center.path.hasPrefix("/memfd:"))
    }
}
