import ArgumentParser
import Foundation

/// Where an observer starts: after a position of the order, or a length of time ago.
enum Since: ExpressibleByArgument {
    case sequence(UInt64, in: UInt64? = nil)
    case seconds(Double)

    /// A number is a position, of the present center or of one with this incarnation (`42@7c1d55a09e2b4f36`). A length
    /// of time has a unit.
    init?(argument: String) {
        let parts = argument.split(separator: "@", omittingEmptySubsequences: false)
        if let sequence = UInt64(parts[0]), parts.count == 1 {
            self = .sequence(sequence)
        } else if parts.count == 2, let sequence = UInt64(parts[0]), let incarnation = UInt64(parts[1], radix: 16) {
            self = .sequence(sequence, in: incarnation)
        } else if Double(argument) == nil, let length = Seconds(argument: argument) {
            self = .seconds(length.value)
        } else {
            return nil
        }
    }
}
