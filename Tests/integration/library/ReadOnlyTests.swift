import Testing
import TidingsAdministration

@testable import Tidings

/// A center opened for reading only, besides the owner's center object, which posts.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct ReadOnlyTests {
    private func reader(of test: TestCenter) throws -> Center {
        try Center(named: test.name, configuration: .init(directory: test.directory, isReadOnly: true))
    }

    @Test func closuresAndSequencesReceivePosts() async throws {
        let test = try TestCenter(.init(permissions: 0o644))
        let center = try reader(of: test)
        let received = Events<Track>()
        let token = try center.addObserver(for: Track.self) { received.add($0) }
        var sequence = center.messages(of: Track.self).makeAsyncIterator()
        for number in 0..<100 {
            try test.center.post(Track(number))
            expectEqual(await received.wait(for: number + 1).last, Track(number))
            expectEqual(await sequence.next(), Track(number))
        }
        token.cancel()
        try test.center.setState(5, for: "volume")
        #expect(try center.state(for: "volume", as: Int.self) == 5)
    }

    @Test(arguments: EndOfCenterTests.End.allCases)
    func observersAreToldOfTheEnd(_ how: EndOfCenterTests.End) async throws {
        let test = try TestCenter(.init(permissions: 0o644))
        let center = try reader(of: test)
        let reports = Events<SharedNotificationError.Code>()
        center.onDiagnostic = { diagnostic in
            if case .dispatchFailed(let error) = diagnostic { reports.add(error.code) }
        }
        let numbers = Events<Int>()
        let token = try center.addObserver(for: Track.self) { numbers.add($0.number) }
        var sequence = center.messages(of: Track.self).makeAsyncIterator()
        try test.center.post(Track(1))
        try EndOfCenterTests().end(test, how)
        expectEqual(await reports.wait(for: 1), [.removed])
        expectEqual(await numbers.wait(for: 1), [1])
        // A sequence ends after what was posted before the end.
        expectEqual(await sequence.next(), Track(1))
        expectEqual(await sequence.next(), nil)
        token.cancel()
    }

    @Test func callsThatWriteAreNotPermitted() throws {
        let test = try TestCenter(.init(permissions: 0o644))
        let center = try reader(of: test)
        let refused: [() throws -> Void] = [
            { try center.post(Track(1)) }, { try center.setState(1, for: "volume") },
            { _ = try center.addObserver(for: Track.self, options: .init(lossless: true)) { _ in } },
        ]
        for body in refused {
            let error = #expect(throws: SharedNotificationError.self) { try body() }
            #expect(error?.code == .notPermitted && error?.message.contains("TIDINGS_") == false)
        }
        #expect(try test.center.statistics.posted == 0)
    }
}
