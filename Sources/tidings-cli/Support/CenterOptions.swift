import ArgumentParser
import Foundation
import Tidings

/// The options that select a center.
struct CenterOptions: ParsableArguments {
    @Option(
        name: .long, help: ArgumentHelp("The center's name.", valueName: "name"),
        completion: .custom(Completions.centers))
    var center = "default"

    @Option(help: ArgumentHelp("The user that owns the center, by name or number. Default: you.", valueName: "user"))
    var owner: String?

    @Flag(help: "Open the center also in a directory where another user may rename files, and so replace it.")
    var sharedDirectory = false

    /// Opens the center, and creates it first if it does not exist.
    func open(follow: Bool = false) throws -> Center {
        try open(creation: .ifNeeded, follow: follow)
    }

    /// Opens the center if it exists: a command that only inspects a center must not create it.
    func openExisting() throws -> Center {
        try open(creation: .never)
    }

    /// Opens the center if it exists. If another user owns it and grants reading only, opens it for reading.
    func openToLook() throws -> Center {
        do {
            return try openExisting()
        } catch let error as SharedNotificationError where error.code == .notPermitted && owner != nil {
            // If reading is not permitted either, the error is the same.
            return try openToRead()
        }
    }

    /// Opens the center for reading only, if it exists.
    func openToRead(follow: Bool = false) throws -> Center {
        try open(isReadOnly: true, follow: follow)
    }

    private func open(
        isReadOnly: Bool = false, creation: Center.Configuration.Creation = .ifNeeded, follow: Bool = false
    ) throws -> Center {
        try Center(
            named: center,
            configuration: .init(
                owner: try idNumber(owner, of: "user") { getpwnam($0)?.pointee.pw_uid }, isReadOnly: isReadOnly,
                allowsSharedDirectory: sharedDirectory,
                creation: creation, followsName: follow))
    }
}

/// A user or a group of the command line, by name or number.
func idNumber(_ id: String?, of kind: String, named: (String) -> UInt32?) throws -> UInt32? {
    guard let id else { return nil }
    guard let number = UInt32(id) ?? named(id) else {
        throw ValidationError("There is no \(kind) \"\(id.printable)\" on this machine.")
    }
    return number
}
