import Testing
import TidingsFoundation

@testable import Tidings

extension Center.MessageIdentifier where Self == Center.BaseMessageIdentifier<FoundationMessageTests.Docked> {
    static var docked: Self { .init() }
}

/// Messages, and notifications with a name, an object and a dictionary: each is posted and observed as the other.
extension FoundationMessageTests {
    final class Dock: Sendable, Identifiable {
        let id: String
        init(_ id: String) { self.id = id }
    }
    struct Docked: Center.MainActorMessage {
        typealias Subject = Dock
        static let name: Center.Name = "com.example.docked"
        var number: Int
        var text: String
    }
    struct Opened: Center.MainActorMessage {
        typealias Subject = Dock
        static let name: Center.Name = "com.example.opened"
    }

    /// The notifications that observers of the name received, with the requested object.
    private func notifications(
        _ center: Center, _ object: String?, _ name: Center.Name = Docked.name
    ) throws -> (Events<String>, Center.ObservationToken) {
        let seen = Events<String>()
        let token = try center.addObserver(forNames: [name], options: .init(subject: object)) { notification in
            let number = notification.userInfo?["number"]?.integer ?? -1
            let text = notification.userInfo?["text"]?.string ?? "-"
            seen.add("\(notification.object ?? "-") \(number) \(text) \(notification.name)")
        }
        return (seen, token)
    }

    @Test @MainActor func aMessageAboutAnObjectIsANotificationWithIt() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let (seen, token) = try notifications(center, "dock-1")
        center.post(Docked(number: 1, text: "One"), subject: Dock("dock-2"))
        center.post(Docked(number: 2, text: "Two"), subject: Dock("dock-1"))
        expectEqual(await seen.wait(for: 1), ["dock-1 2 Two com.example.docked"])
        center.removeObserver(token)
    }

    @Test @MainActor func aMessageAboutAnObjectIsANotificationForAll() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let (seen, token) = try notifications(center, nil)
        center.post(Docked(number: 1, text: "One"), subject: Dock("dock-1"))
        center.post(Docked(number: 2, text: "Two"), subject: Dock("dock-2"))
        expectEqual(await seen.wait(for: 2), ["dock-1 1 One com.example.docked", "dock-2 2 Two com.example.docked"])
        center.removeObserver(token)
    }

    @Test @MainActor func aMessageAboutNothingIsNoNotificationWithAnObject() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let (seen, token) = try notifications(center, "dock-1")
        center.post(Docked(number: 1, text: "One"))
        center.post(Docked(number: 2, text: "Two"), subject: Dock("dock-1"))
        expectEqual(await seen.wait(for: 1), ["dock-1 2 Two com.example.docked"])
        center.removeObserver(token)
    }

    @Test @MainActor func aMessageAboutNothingIsANotificationForAll() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let (seen, token) = try notifications(center, nil)
        center.post(Docked(number: 1, text: "One"))
        expectEqual(await seen.wait(for: 1), ["- 1 One com.example.docked"])
        center.removeObserver(token)
    }

    /// In Foundation, the dictionary contains the message under a key of the system.
    @Test @MainActor func aMessageWithoutFieldsIsANotificationWithAnEmptyDictionary() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let seen = Events<Center.UserInfo?>()
        let token = try center.addObserver(forNames: [Opened.name]) { seen.add($0.userInfo) }
        center.post(Opened())
        expectEqual(await seen.wait(for: 1), [[:]])
        center.removeObserver(token)
    }

    @Test @MainActor func aNotificationWithAnObjectIsAMessageAboutIt() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let seen = Events<String>()
        let token = center.addObserver(of: Dock("dock-1"), for: Docked.self) { seen.add("\($0.number) \($0.text)") }
        try center.post(name: Docked.name, userInfo: ["number": 4, "text": "Four"], options: .init(subject: "dock-2"))
        try center.post(name: Docked.name, userInfo: ["number": 5, "text": "Six"], options: .init(subject: "dock-1"))
        expectEqual(await seen.wait(for: 1), ["5 Six"])
        center.removeObserver(token)
    }

    @Test @MainActor func aNotificationWithAnObjectIsAMessageForAll() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let seen = Events<Int>()
        let token = center.addObserver(of: Dock.self, for: .docked) { seen.add($0.number) }
        try center.post(name: Docked.name, userInfo: ["number": 5, "text": "Six"], options: .init(subject: "dock-1"))
        expectEqual(await seen.wait(for: 1), [5])
        center.removeObserver(token)
    }

    @Test @MainActor func aNotificationWithoutAnObjectIsNoMessageAboutOne() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let seen = Events<Int>()
        let token = center.addObserver(of: Dock("dock-1"), for: Docked.self) { seen.add($0.number) }
        try center.post(name: Docked.name, userInfo: ["number": 5, "text": "Six"])
        center.post(Docked(number: 7, text: ""), subject: Dock("dock-1"))
        #expect(seen.all == [7])
        center.removeObserver(token)
    }

    @Test @MainActor func aNotificationWithoutAnObjectIsAMessageForAll() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let seen = Events<Int>()
        let token = center.addObserver(of: Dock.self, for: .docked) { seen.add($0.number) }
        try center.post(name: Docked.name, userInfo: ["number": 5, "text": "Six"])
        expectEqual(await seen.wait(for: 1), [5])
        center.removeObserver(token)
    }

    /// Foundation does not report it.
    @Test @MainActor func aNotificationThatIsNoMessage() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let (seen, told) = (Events<String>(), Events<Center.Name>())
        center.onDiagnostic = { if case .undecodable(let notification, _) = $0 { told.add(notification.name) } }
        let tokens = [
            center.addObserver(for: Opened.self) { _ in seen.add("opened") },
            center.addObserver(for: Docked.self) { _ in seen.add("docked") },
        ]
        try center.post(name: Docked.name)
        try center.post(name: Opened.name)
        center.post(Opened())
        expectEqual(await told.wait(for: 2).map(\.rawValue).sorted(), ["com.example.docked", "com.example.opened"])
        #expect(seen.all == ["opened"])
        for token in tokens { center.removeObserver(token) }
    }
}
