import ArgumentParser
import Foundation

/// Where an observer starts: after a position of the order, or a length of time ago.
enum Since: ExpressibleByArgument {
    case sequence(UInt64)
    case seconds(Double)

    /// A number is a position; a length of time has a unit.
    init?(argument: String) {
        if let sequence = UInt64(argument) {
            self = .sequence(sequence)
        } else if Double(argument) == nil, let length = Seconds(argument: argument) {
            self = .seconds(length.value)
        } else {
            return nil
        }
    }
}
