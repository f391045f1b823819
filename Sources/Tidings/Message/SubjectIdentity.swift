#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What an object is called as a subject, which is a text.
///
/// One that is `Identifiable` by a text, a number or a UUID has that name in all processes. Any other gets a number when it is first a
/// subject: not its address, which another object may have after its death.
final class SubjectIdentity: Sendable {
    private struct Entry: @unchecked Sendable {
        // Sendable: nothing but whether it still lives is asked of the object, whatever it is.
        private(set) weak var object: AnyObject?
        let number: UInt64

        init(_ object: AnyObject, _ number: UInt64) {
            self.object = object
            self.number = number
        }
    }

    private struct Numbers: Sendable {
        var entries: [ObjectIdentifier: Entry] = [:]
        var next: UInt64 = 1
        /// When so many, those who are gone are forgotten. 64: a program with a few subjects never does.
        var limit = 64
    }

    private static let local = ForkLocal { SubjectIdentity() }
    private let numbers = Locked(Numbers())
    /// Tells processes apart, also those that have the same pid in different namespaces or one after the other.
    private let process = UInt64.random(in: 0 ... .max)

    static func text(of subject: AnyObject) -> String {
        if let identifiable = subject as? any Identifiable, let text = text(ofID: identifiable.id) { return text }
        return local.object.text(of: subject)
    }

    /// `nil`: it means nothing to other processes.
    static func text(ofID id: Any) -> String? {
        switch id {
        case let id as any LosslessStringConvertible: id.description
        case let id as UUID: id.uuidString
        default: nil
        }
    }

    private func text(of subject: AnyObject) -> String {
        let number = numbers.withLock { numbers in
            let address = ObjectIdentifier(subject)
            if let entry = numbers.entries[address], entry.object === subject { return entry.number }
            if numbers.entries.count >= numbers.limit {
                numbers.entries = numbers.entries.filter { $0.value.object != nil }
                numbers.limit = max(64, 2 * numbers.entries.count)
            }
            defer { numbers.next += 1 }
            numbers.entries[address] = Entry(subject, numbers.next)
            return numbers.next
        }
        return "object \(number) of \(String(process, radix: 16))"
    }
}
