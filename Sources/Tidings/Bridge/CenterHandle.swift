// Opening, sending, receiving and removing centers through the C library, and the small configuration.
internal import CTidings
import Glibc

/// An open center of the C library: one participant. Closed with its last reference; publishers and observers hold one.
final class CenterHandle: @unchecked Sendable {
    // Sendable: the pointer never changes, and every function of the C library may be called from any thread.
    let center: OpaquePointer
    /// What it was opened by; `nil`: a center without a file.
    let origin: (name: String, configuration: SharedNotificationCenter.Configuration)?

    init(name: String, configuration: SharedNotificationCenter.Configuration) throws(SharedNotificationError) {
        center = try Self.begin(name, configuration, tidings_open)
        origin = (name, configuration)
    }

    init(
        sealedNamed name: String, configuration: SharedNotificationCenter.Configuration
    ) throws(SharedNotificationError) {
        center = try Self.begin(name, configuration, tidings_create_sealed)
        origin = nil
    }

    private static func begin(
        _ name: String, _ configuration: SharedNotificationCenter.Configuration,
        _ open: (UnsafePointer<CChar>, UnsafePointer<tidings_configuration>, UnsafeMutablePointer<OpaquePointer?>) ->
            Int32
    ) throws(SharedNotificationError) -> OpaquePointer {
        Forking.begin()
        var opened: OpaquePointer?
        let result = try configuration.withC { raw in name.withCString { open($0, raw, &opened) } }
        guard result == 0, let opened else {
            let isNameBad = !CenterHandle.isValidCenterName(name)
            throw SharedNotificationError(errno: -result, invalid: isNameBad ? .invalidName : .invalidArgument)
        }
        return opened
    }

    init(receivedOver socket: Int32, maximumSize: Int) throws(SharedNotificationError) {
        guard maximumSize > 0 else {
            throw SharedNotificationError(
                .invalidArgument,
                message: "can't receive a center of at most \(maximumSize) bytes; pass a maximumSize of at least 1")
        }
        Forking.begin()
        var received: OpaquePointer?
        let result = tidings_receive_at_most(socket, UInt64(maximumSize), &received)
        guard result == 0, let received else { throw Self.errorOfSocket(-result) }
        center = received
        origin = nil
    }

    /// Maps an error of the socket: the same codes have another meaning for a post.
    private static func errorOfSocket(_ code: Int32) -> SharedNotificationError {
        let error = SharedNotificationError(errno: code)
        if code == EFBIG { return SharedNotificationError(.centerTooLarge, message: error.message) }
        let isTheSockets = [EAGAIN, ETIMEDOUT, EMSGSIZE].contains(code)
        return isTheSockets ? SharedNotificationError(.system(code), message: error.message) : error
    }

    func send(over socket: Int32, isReadOnly: Bool) throws(SharedNotificationError) {
        let result = tidings_send(center, socket, isReadOnly ? UInt32(TIDINGS_SEND_READ_ONLY) : 0)
        guard result == 0 else { throw Self.errorOfSocket(-result) }
    }

    deinit { tidings_close(center) }

    /// Whether the center has ended. Asks the kernel.
    var hasEnded: Bool { tidings_ended(center) != 0 }

    var incarnation: UInt64 { tidings_incarnation(center) }

    var path: String { String(cString: tidings_path(center)) }

    /// The executable of the participant at that index, if it still belongs to that process.
    func executable(ofParticipant index: UInt32, pid: Int32) -> String? {
        var info = tidings_participant_info()
        guard tidings_participant(center, index, &info) == 0, info.pid == pid else { return nil }
        let name = String(untilNUL: &info.executable)
        return name.isEmpty ? nil : name
    }

    static func remove(
        name: String, configuration: SharedNotificationCenter.Configuration
    ) throws(SharedNotificationError) {
        let result = try configuration.withC { raw in name.withCString { tidings_remove($0, raw) } }
        guard result == 0 else { throw SharedNotificationError(errno: -result, invalid: .invalidName) }
    }

    /// The rule of `tidings.h`. It distinguishes a bad name from a bad configuration, because the C library returns
    /// EINVAL for both.
    private static func isValidCenterName(_ name: String) -> Bool {
        let bytes = name.utf8
        return (1...Int(TIDINGS_CENTER_NAME_MAX)).contains(bytes.count) && bytes.first != UInt8(ascii: ".")
            && !bytes.contains(UInt8(ascii: "/")) && !bytes.contains(0)
    }
}

extension String {
    /// The text of a C character array, up to its NUL or its end: another process may have overwritten the NUL.
    package init<Characters>(untilNUL characters: inout Characters) {
        self = withUnsafeBytes(of: &characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}

extension SharedNotificationCenter.Configuration {
    /// The smallest memory use: 512 slots and 256 KiB in all, plus payloads that do not fit a slot.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter(named: "com.example.player", configuration: .small)
    /// ```
    public static let small: SharedNotificationCenter.Configuration = {
        let small = tidings_small_configuration
        func size(_ number: some BinaryInteger) -> Int? { number == 0 ? nil : Int(number) }
        return SharedNotificationCenter.Configuration(
            maximumPayloadSize: size(small.maximum_payload), slots: size(small.slots),
            participants: size(small.participants), observers: size(small.observers), names: size(small.names),
            permissions: small.mode == 0 ? nil : small.mode)
    }()

    /// Passes the configuration as a C structure that is valid during the call.
    fileprivate func withC<Result>(
        _ body: (UnsafePointer<tidings_configuration>) -> Result
    ) throws(SharedNotificationError) -> Result {
        var raw = tidings_configuration()
        raw.maximum_payload = try Self.checked(maximumPayloadSize, "maximumPayloadSize")
        raw.slots = try Self.checked(slots, "slots")
        raw.participants = try Self.checked(participants, "participants")
        raw.observers = try Self.checked(observers, "observers")
        raw.names = try Self.checked(names, "names")
        raw.mode = permissions ?? 0
        switch creation {
        case .ifNeeded: break
        case .never: raw.flags |= UInt32(TIDINGS_OPEN_EXISTING)
        case .exclusive: raw.flags |= UInt32(TIDINGS_OPEN_EXCLUSIVE)
        }
        if isReadOnly { raw.flags |= UInt32(TIDINGS_OPEN_READ_ONLY) }
        if allowsSharedDirectory { raw.flags |= UInt32(TIDINGS_OPEN_SHARED_DIRECTORY) }
        if let owner {
            raw.flags |= UInt32(TIDINGS_OPEN_OWNER)
            raw.owner = owner
        }
        if let group {
            raw.flags |= UInt32(TIDINGS_OPEN_GROUP)
            raw.group = group
        }
        guard let directory else { return body(&raw) }
        return directory.withCString {
            raw.directory = $0
            return body(&raw)
        }
    }

    private static func checked<Number: FixedWidthInteger>(
        _ value: Int?, _ what: String
    ) throws(SharedNotificationError) -> Number {
        guard let value else { return 0 }
        // The C library reads 0 as "default", so 0 is refused here.
        guard value > 0, let number = Number(exactly: value) else {
            throw SharedNotificationError(.invalidArgument, message: "\(what) can't be \(value)")
        }
        return number
    }
}
