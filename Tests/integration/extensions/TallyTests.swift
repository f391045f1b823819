import Testing
import Tidings

@testable import TidingsExtensions

struct TallyTests {
    @Test func noKindOfDiagnosticHidesAnother() {
        let failure = SharedNotificationError(.full, message: "full")
        func undecodable(_ name: String) -> Center.Diagnostic { .undecodable(.init(name: .init(name)), failure) }
        var tally = DiagnosticTally()
        // More names than are counted separately.
        let names = (1...100).map { tally.count(undecodable("\($0)")) }
        expectEqual(names.filter { $0 != nil }.count, 16 + 7)
        expectEqual((1...8).map { _ in tally.count(.missed(1, nil)) }, [1, 2, nil, 4, nil, nil, nil, 8])
        for diagnostic: Center.Diagnostic in [.observerFailed(nil, failure), .postFailed("a", failure)] {
            expectEqual((1...3).map { _ in tally.count(diagnostic) }, [1, 2, nil])
        }
        expectEqual((1...3).map { _ in tally.count(undecodable("1")) }, [2, nil, 4])
    }
}
