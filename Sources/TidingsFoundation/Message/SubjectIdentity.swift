import Foundation
import Tidings

/// The text that identifies an object as a subject.
///
/// An object that is `Identifiable` by a text, a number or a UUID has the same text in all processes. Any other object
/// gets a number when it is first used as a subject. Its address would not do: another object may get that address
/// after the object has been deallocated.
final class SubjectIdentity: Sendable {
    private struct Entry: @unchecked Sendable {
        // Sendable: the object is only compared by identity with a subject, and tested for being alive. Its type does
        // not matter.
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
        /// At this number of entries, the entries of deallocated objects are removed. 64: a program with a few subjects
        /// never reaches it.
        var limit = 64
    }

    private static let local = ForkLocal { SubjectIdentity() }
    private let numbers = Locked(Numbers())
    /// Distinguishes processes, also those with the same pid in different namespaces or one after the other.
    private let process = UInt64.random(in: 0 ... .max)

    static func text(of subject: AnyObject) -> String {
        if let identifiable = subject as? any Identifiable, let text = text(ofID: identifiable.id) { return text }
        return local.object.text(of: subject)
    }

    /// Returns `nil` if the identifier means nothing to other processes.
    static func text(ofID id: Any) -> String? {
        switch id {
        case let id as any LosslessStringConvertible: id.description
        case let id as UUID: id.uuidString
        default: nil
        }
    }

    private func text(of subject: AnyObject) -> String {
        // Released without the lock: one may be the last reference, and a deinit may use subjects.
        var alive: [AnyObject] = []
        let number = numbers.withLock { numbers in
            let address = ObjectIdentifier(subject)
            if let entry = numbers.entries[address], entry.object === subject { return entry.number }
            if numbers.entries.count >= numbers.limit {
                numbers.entries = numbers.entries.filter { _, entry in
                    guard let object = entry.object else { return false }
                    alive.append(object)
                    return true
                }
                numbers.limit = max(64, 2 * numbers.entries.count)
            }
            defer { numbers.next += 1 }
            numbers.entries[address] = Entry(subject, numbers.next)
            return numbers.next
        }
        withExtendedLifetime(alive) {}
        return "object \(number) of \(String(process, radix: 16))"
    }
}
