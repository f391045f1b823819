import Testing

@testable import Tidings

/// Names and subjects are bytes. Strings with different bytes are `==` if Unicode regards them as equal; as names they
/// are different.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct NameTests {
    private static let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
    // Both names have the same number of bytes.
    private static let pairs = [(composed, decomposed), ("\u{212b}", "A\u{30a}")]

    @Test(arguments: pairs)
    func otherBytesAreAnotherName(one: String, other: String) async throws {
        #expect(one == other && Center.Name(one) != Center.Name(other))
        #expect(Set([Center.Name(one), Center.Name(other)]).count == 2 && Center.Name(one) == Center.Name(one))
        let test = try TestCenter()
        let heard = Events<String>()
        let tokens = try [one, other].enumerated().map { index, text in
            try test.center.addObserver(forNames: [Center.Name(text)]) { heard.add("\(index) \($0.payload.json)") }
        }
        for (index, text) in [one, other, one, other].enumerated() {
            try test.center.post(name: Center.Name(text), payload: .json("\(index)"))
        }
        expectEqual(await heard.wait(for: 4).sorted(), ["0 0", "0 2", "1 1", "1 3"])
        for token in tokens { token.cancel() }
    }

    @Test(arguments: pairs)
    func otherBytesAreAnotherSubject(one: String, other: String) async throws {
        let test = try TestCenter()
        let center = test.center
        let (heard, held) = (Events<String>(), Events<String>())
        var tokens = try [one, other].enumerated().flatMap { index, text in
            [
                // Filtered by the center, and in this process.
                try center.addObserver(forNames: "a", options: .init(subject: text)) { _ in heard.add("name \(index)")
                },
                try center.addObserver(forNames: .all, options: .init(subject: text)) { _ in heard.add("all \(index)")
                },
            ]
        }
        try center.post(name: "a", options: .init(subject: one))
        expectEqual(await heard.wait(for: 2).sorted(), ["all 0", "name 0"])
        try center.post(name: "a", options: .init(subject: other))
        expectEqual(await heard.wait(for: 4).suffix(2).sorted(), ["all 1", "name 1"])
        // Neither replaces the other.
        tokens.append(
            try center.addObserver(forNames: "b", suspensionBehavior: .coalesce) {
                held.add($0.object ?? "-")
            })
        tokens.append(
            try center.addObserver(forNames: "b", suspensionBehavior: .deliverImmediately) {
                heard.add($0.object ?? "-")
            })
        center.isSuspended = true
        for object in [one, other] { try center.post(name: "b", options: .init(subject: object)) }
        await heard.wait(for: 6)
        center.isSuspended = false
        expectEqual(await held.wait(for: 2).map { Array($0.utf8) }, [Array(one.utf8), Array(other.utf8)])
        for token in tokens { token.cancel() }
    }
}
