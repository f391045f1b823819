import Glibc
import Tidings

/// The items of a recording: a CBOR sequence (RFC 8742), which other programs can read.
///
/// The first item is a map: `{"tidings": 1, "architecture": "x86_64", "center": "default", "incarnation": 7}`. Each
/// further one is an array:
/// - a notification: `[sequence, name, subject or null, postedAt, pid, uid, format, flags, payload]`; the time in
///   nanoseconds since 1970, the flags 1 retained and 2 cleared, the payload as a byte string;
/// - a gap: `[missed, name or null]`; null: notifications of all names together;
/// - the end of a recording that was not cut off: `[]`.
enum RecordingFormat {
    static let version: UInt64 = 1

    /// The architecture of this machine. A payload that is a value's bytes in memory has meaning on no other one.
    static var architecture: String {
        var names = utsname()
        uname(&names)
        return withUnsafeBytes(of: &names.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    static func header(center: String, incarnation: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendHead(.map, 4)
        bytes.appendItem("tidings")
        bytes.appendHead(.unsigned, version)
        bytes.appendItem("architecture")
        bytes.appendItem(architecture)
        bytes.appendItem("center")
        bytes.appendItem(center)
        bytes.appendItem("incarnation")
        bytes.appendHead(.unsigned, incarnation)
        return bytes
    }

    /// Replaces the bytes by those of a notification's item.
    static func set(_ bytes: inout [UInt8], to notification: Center.Notification) {
        let envelope = notification.envelope
        bytes.removeAll(keepingCapacity: true)
        bytes.appendHead(.array, 9)
        bytes.appendHead(.unsigned, envelope.sequence)
        bytes.appendItem(notification.name.rawValue)
        bytes.appendItem(envelope.subject)
        #if MUTANT_RECORDED_WITHOUT_SUBJECT  // Found by: command aReplayPostsWhatWasRecorded
            if isMutant("RECORDED_WITHOUT_SUBJECT"), let subject = envelope.subject {
                bytes.removeLast(subject.utf8.count + 1)
                bytes.append(0xF6)
            }
        #endif
        bytes.appendHead(.unsigned, envelope.postedAtNanoseconds)
        bytes.appendHead(.unsigned, UInt64(UInt32(bitPattern: envelope.poster.pid)))
        bytes.appendHead(.unsigned, UInt64(envelope.poster.uid))
        bytes.appendHead(.unsigned, UInt64(notification.payload.format.rawValue))
        bytes.appendHead(.unsigned, (envelope.isRetained ? 1 : 0) | (envelope.isCleared ? 2 : 0))
        bytes.appendHead(.bytes, UInt64(notification.payload.count))
        bytes.append(contentsOf: notification.payload.bytes)
    }

    static func gap(_ missed: Int, of name: String?) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendHead(.array, 2)
        bytes.appendHead(.unsigned, UInt64(max(0, missed)))
        bytes.appendItem(name)
        return bytes
    }

    static let end: [UInt8] = [0x80]

    /// The major types of CBOR that a recording has.
    enum Major: UInt8 {
        case unsigned = 0
        case bytes = 2
        case text, array, map
    }

    enum Item {
        /// The payload of a name's value that was cleared is empty.
        case notification(PostedLine, postedAt: UInt64)
        case gap(missed: UInt64, name: String?)
        case end
    }
}

extension [UInt8] {
    fileprivate mutating func appendHead(_ major: RecordingFormat.Major, _ value: UInt64) {
        let type = major.rawValue << 5
        switch value {
        case ..<24: append(type | UInt8(value))
        case ..<0x100: append(contentsOf: [type | 24, UInt8(value)])
        default:
            let size = value < 0x1_0000 ? 2 : value < 0x1_0000_0000 ? 4 : 8
            append(type | (size == 2 ? 25 : size == 4 ? 26 : 27))
            for byte in stride(from: 8 * (size - 1), through: 0, by: -8) {
                append(UInt8(truncatingIfNeeded: value >> UInt64(byte)))
            }
        }
    }

    fileprivate mutating func appendItem(_ text: String?) {
        guard let text else { return append(0xF6) }
        appendHead(.text, UInt64(text.utf8.count))
        append(contentsOf: text.utf8)
    }
}

/// Reads a recording item by item. Trusts no byte of it.
struct RecordingReader {
    let path: String
    /// Of the machine that recorded.
    private(set) var architecture = ""
    /// How many items were read, with the header.
    private(set) var number = 0
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var start = 0

    private static let largestPayload: UInt64 = 1 << 30
    private static let longestText: UInt64 = 255

    /// - Parameter path: the file; `-`: standard input.
    init(_ path: String) throws {
        self.path = path == "-" ? "standard input" : path.printable
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure("can't replay \(self.path)", errno: errno) }
        do {
            try readHeader()
        } catch {
            close()
            throw error
        }
    }

    private mutating func readHeader() throws {
        let isRecording: Bool
        do {
            isRecording = try head(.map) == 4 && text() == "tidings"
        } catch is Failure {
            isRecording = false
        }
        guard isRecording else { throw Failure("can't replay \(path): it isn't a file of \"tidings record\"") }
        let version = try head(.unsigned)
        #if MUTANT_VERSION_UNCHECKED  // Found by: command anotherVersionOrMachineIsRefused
            let isKnown = version == RecordingFormat.version || isMutant("VERSION_UNCHECKED")
        #else
            let isKnown = version == RecordingFormat.version
        #endif
        guard isKnown else {
            throw Failure(
                "can't replay \(path): it has version \(version), this command reads version "
                    + "\(RecordingFormat.version); use the command that recorded it")
        }
        guard try text() == "architecture", let architecture = try text(), try text() == "center",
            try text() != nil, try text() == "incarnation"
        else { throw damaged }
        _ = try head(.unsigned)
        self.architecture = architecture
        #if MUTANT_MACHINE_UNCHECKED  // Found by: command anotherVersionOrMachineIsRefused
            if isMutant("MACHINE_UNCHECKED") { self.architecture = RecordingFormat.architecture }
        #endif
        number = 1
    }

    func close() {
        if descriptor != STDIN_FILENO { Glibc.close(descriptor) }
    }

    /// The next item. Throws also at the end of a file that was cut off.
    mutating func next() throws -> RecordingFormat.Item {
        guard try fill(1) else {
            #if MUTANT_CUT_TAKEN_FOR_AN_END  // Found by: command aTruncatedRecordingIsReported
                if isMutant("CUT_TAKEN_FOR_AN_END") { return .end }
            #endif
            throw Failure("\(path) is truncated: it ends after item \(number) of the recording, without an end")
        }
        number += 1
        switch try head(.array) {
        case 0: return .end
        case 2: return .gap(missed: try head(.unsigned), name: try text())
        case 9:
            _ = try head(.unsigned)
            guard let name = try text() else { throw damaged }
            let (subject, postedAt) = (try text(), try head(.unsigned))
            _ = (try head(.unsigned), try head(.unsigned))
            guard let format = UInt8(exactly: try head(.unsigned)) else { throw damaged }
            let flags = try head(.unsigned)
            let bytes = try bytes(head(.bytes), most: Self.largestPayload)
            let isCleared = flags & 2 != 0
            return .notification(
                PostedLine(
                    name: name, subject: subject,
                    payload: isCleared ? nil : .init(format: .init(rawValue: format), bytes: Array(bytes)),
                    isRetained: flags & 1 != 0), postedAt: postedAt)
        default: throw damaged
        }
    }

    private var damaged: Failure { Failure("\(path) is damaged in item \(number) of the recording") }

    /// Reads the head of an item of that type.
    private mutating func head(_ major: RecordingFormat.Major) throws -> UInt64 {
        let first = try bytes(1, most: 1).first!
        guard first >> 5 == major.rawValue else { throw damaged }
        switch first & 31 {
        case let value where value < 24: return UInt64(value)
        case let value where value < 28:
            return try bytes(1 << UInt64(value - 24), most: 8).reduce(0) { $0 << 8 | UInt64($1) }
        default: throw damaged
        }
    }

    private mutating func text() throws -> String? {
        guard try fill(1) else { throw truncated }
        if buffer[start] == 0xF6 {
            start += 1
            return nil
        }
        guard let text = String(validating: try bytes(head(.text), most: Self.longestText), as: UTF8.self) else {
            throw damaged
        }
        return text
    }

    private mutating func bytes(_ count: UInt64, most: UInt64) throws -> ArraySlice<UInt8> {
        #if MUTANT_LENGTH_UNCHECKED  // Found by: command aDamagedRecordingIsReported
            if isMutant("LENGTH_UNCHECKED") {
                guard try fill(Int(count)) else { throw truncated }
                defer { start += Int(count) }
                return buffer[start..<start + Int(count)]
            }
        #endif
        guard count <= most else { throw damaged }
        guard try fill(Int(count)) else { throw truncated }
        defer { start += Int(count) }
        return buffer[start..<start + Int(count)]
    }

    private var truncated: Failure { Failure("\(path) is truncated: it ends inside item \(number) of the recording") }

    /// Reads until so many bytes wait. False: the file ends before. The memory grows with what the file has, not with
    /// what it says.
    private mutating func fill(_ count: Int) throws -> Bool {
        guard buffer.count - start < count else { return true }
        buffer.removeFirst(start)
        start = 0
        while buffer.count < count {
            if try read(descriptor, appendingTo: &buffer, named: path) == 0 { return false }
        }
        return true
    }
}
