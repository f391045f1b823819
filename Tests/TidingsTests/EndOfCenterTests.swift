import Foundation
import Glibc
import Testing

@testable import Tidings

/// What observers and posters learn when their center is removed, deleted or replaced.
@Suite(.timeLimit(.minutes(10)))
struct EndOfCenterTests {
    enum End: CaseIterable { case removed, deleted, replaced }

    private func end(_ test: TestCenter, _ how: End) throws {
        switch how {
        case .removed: try Center.remove(named: test.name, configuration: .init(directory: test.directory))
        case .deleted: #expect(unlink(test.center.path) == 0)
        case .replaced:
            let other = try Center(named: "other", configuration: .init(directory: test.directory))
            #expect(rename(other.path, test.center.path) == 0)
        }
    }

    @Test(arguments: End.allCases) func everyObserverIsTold(_ how: End) async throws {
        let test = try TestCenter()
        let reports = Events<SharedNotificationError.Code>()
        test.center.onDiagnostic = { diagnostic in
            if case .dispatchFailed(let error) = diagnostic { reports.add(error.code) }
        }
        let numbers = Events<Int>()
        let token = try test.center.addObserver(for: Track.self) { numbers.add($0.number) }
        let pollable = try test.center.pollableObserver(forNames: nil)
        let read = Events<Int>()
        let isReading = Events<Void>()
        let reading = Task {
            var iterator = test.center.messages(of: Track.self).makeAsyncIterator()
            isReading.add(())
            while let track = await iterator.next() { read.add(track.number) }
        }
        // It observes from its iterator on.
        await isReading.wait(for: 1)
        try test.center.post(Track(1))
        await read.wait(for: 1)
        try end(test, how)
        // The sequence ends, after what was posted; the closure's report comes; the descriptor is readable.
        await reading.value
        #expect(read.all == [1])
        let told = await reports.wait(for: 1)
        #expect(told == [.removed], "\(told)")
        #expect(numbers.all == [1])
        #expect(try pollable.next() != nil)
        let ended = #expect(throws: SharedNotificationError.self) { while try pollable.next() != nil {} }
        #expect(ended?.code == .removed)
        token.cancel()
    }

    @Test(arguments: End.allCases) func nothingBeginsAnyMore(_ how: End) async throws {
        let test = try TestCenter()
        try test.center.post(Track(0))
        try end(test, how)
        // A poster looks now and then, by the clock: until it has, posts go to those who have the center open.
        while (try? test.center.post(Track(1))) != nil { await Task.yield() }
        let post = #expect(throws: SharedNotificationError.self) { try test.center.post(Track(1)) }
        #expect(post?.code == .removed)
        let add = #expect(throws: SharedNotificationError.self) {
            try test.center.addObserver(for: Track.self) { _ in }
        }
        #expect(add?.code == .removed)
    }

    @Test func eachCenterOfANameHasANumberOfItsOwn() throws {
        let test = try TestCenter()
        let first = test.center.incarnation
        #expect(first != 0)
        #expect(try test.other().incarnation == first)
        try end(test, .removed)
        let next = try Center(named: test.name, configuration: .init(directory: test.directory))
        #expect(next.incarnation != first && next.incarnation != 0)
    }
}
