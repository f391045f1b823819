import Observation
import Testing
import TidingsAdministration

@testable import Tidings

/// State that the Observation framework can track.
@MainActor @Suite(.serialized, .timeLimit(.minutes(10)))
struct ObservedStateTests {
    @Test func theStateChangesWhenAnotherProcessSetsIt() async throws {
        let test = try TestCenter()
        let state = try test.center.observedState(for: "ticks", as: Numbered.self)
        #expect(state.value == nil)
        let peer = try Peer(
            test, "wait", "retain", "ticks", "1", "wait", "retain", "ticks", "2", "wait", "clear", "ticks", "wait")
        for expected in [Numbered(number: 1), Numbered(number: 2), nil] {
            let changed = Events<Void>()
            withObservationTracking {
                _ = state.value
            } onChange: {
                changed.add(())
            }
            peer.send()
            await changed.wait(for: 1)
            // The value changes in the same turn of the main actor.
            #expect(state.value == expected)
        }
        peer.send()
        await peer.waitForEnd()
    }

    @Test func aSequenceOfValuesEndsWithTheLast() async throws {
        let test = try TestCenter()
        let state = try test.center.observedState(for: Track.self)
        let other = try test.other()
        let seen = Events<Int>()
        let task = Task { @MainActor in
            for await number in Observations({ state.value?.number ?? 0 }) {
                seen.add(number)
                if number == 500 { return }
            }
        }
        await seen.wait(for: 1)
        for number in 1...500 {
            try other.setState(Track(number))
            if number % 50 == 0 { await Task.yield() }
        }
        await task.value
        let all = seen.all
        #expect(all == all.sorted() && Set(all).count == all.count)
        #expect(state.value == Track(500))
    }

    @Test func aSetValueIsVisibleAtOnceAndToOtherProcesses() async throws {
        let test = try TestCenter()
        try test.center.setState(0.25, for: "volume")
        let state = try test.center.observedState(for: "volume", as: Double.self)
        #expect(state.value == 0.25)
        try state.set(0.5)
        #expect(state.value == 0.5)
        #expect(try test.other().state(for: "volume", as: Double.self) == 0.5)
        try state.clear()
        #expect(state.value == nil)
        #expect(try test.other().rawState(for: "volume") == nil)
    }

    @Test func aValueOfAnotherTypeIsReportedAndChangesNothing() async throws {
        let test = try TestCenter()
        let told = Events<Center.Name>()
        test.center.onDiagnostic = {
            if case .undecodable(let notification, let error) = $0, error is DecodingError {
                told.add(notification.name)
            }
        }
        let state = try test.center.observedState(for: "volume", as: Double.self)
        try state.set(1)
        try test.other().setState("loud", for: "volume")
        expectEqual(await told.wait(for: 1), ["volume"])
        #expect(state.value == 1)
        let error = #expect(throws: SharedNotificationError.self) {
            try test.center.observedState(for: "volume", as: Int.self)
        }
        #expect(error?.code == .decodingFailed)
    }

    @Test func theObservationEndsWithTheStateObject() async throws {
        let test = try TestCenter()
        var state: Center.ObservedState<Double>? = try test.center.observedState(for: "volume")
        #expect(try test.center.statistics.observers == 1)
        withExtendedLifetime(state) {}
        state = nil
        #expect(try test.center.statistics.observers == 0)
    }
}
