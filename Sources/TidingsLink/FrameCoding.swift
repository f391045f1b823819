// Frames as bytes. The decoder trusts no byte: each number is checked against its range before it is used, and each
// count against the bytes that remain before memory is taken (invariant T1).
//
// Numbers are LEB128: seven bits a byte, the lowest first. Texts and payloads are their length and their bytes.

package enum FrameCoding {
    /// The first byte of each frame.
    static let format: UInt8 = 0xA7
    /// The kind of a frame of items: ItemCoding.swift.
    static let items: UInt8 = 3

    package static func encode(_ frame: Frame) -> [UInt8] {
        if case .items(let items) = frame.body { return items.bytes }
        var output = FrameOutput()
        output.bytes.append(format)
        output.fixed(frame.session)
        output.fixed(frame.to)
        switch frame.body {
        case .greeting(let greeting):
            output.bytes.append(1)
            output.number(UInt64(greeting.version))
            output.text(greeting.link)
            output.origin(greeting.center)
            output.number(greeting.payload)
            output.list(greeting.sends)
            output.list(greeting.accepts)
        case .beat(let beat):
            output.bytes.append(2)
            output.number(UInt64(beat.round))
            // The end is 0.
            output.number(beat.received &+ 1)
            output.number(beat.handled)
            output.number(UInt64(beat.peerRound))
            output.number(beat.tail)
            output.number(beat.through)
            output.number(beat.generation)
        case .items: break
        case .ask(let number, let isFirst, let from):
            output.bytes.append(4)
            output.number(UInt64(number))
            output.flag(isFirst)
            output.number(from)
        case .accounts(let accounts):
            output.bytes.append(5)
            output.number(UInt64(accounts.number))
            output.number(UInt64(accounts.states.count))
            for state in accounts.states {
                output.mark(state.mark)
                output.version(state.version, of: state.mark.origin)
            }
            output.number(accounts.next)
            output.number(accounts.place)
            output.number(accounts.generation)
        case .pull(let number, let names):
            output.bytes.append(6)
            output.number(UInt64(number))
            output.number(UInt64(names.count))
            for name in names { output.text(name.text) }
        case .value(let number, let item):
            output.bytes.append(7)
            output.number(UInt64(number))
            output.item(item)
        case .pulled(let number):
            output.bytes.append(8)
            output.number(UInt64(number))
        case .dialog(let dialog):
            output.bytes.append(9)
            output.number(dialog.dialog)
            output.number(dialog.to)
            output.flag(dialog.isFirst)
            output.number(dialog.first)
            output.number(dialog.taken)
            output.number(UInt64(dialog.messages.count))
            for message in dialog.messages { output.message(message) }
        }
        return output.bytes
    }

    /// `nil`: the bytes are no frame, or break a limit.
    package static func decode(_ bytes: [UInt8], limits: LinkLimits) -> Frame? {
        guard bytes.count < Int(Int32.max) else { return nil }
        return bytes.withUnsafeBytes { buffer in
            var input = FrameInput(bytes: buffer, limits: limits)
            return try? input.frame(bytes)
        }
    }
}

struct FrameOutput {
    var bytes: [UInt8] = []

    mutating func number(_ number: UInt64) {
        var number = number
        while number > 0x7F {
            bytes.append(UInt8(truncatingIfNeeded: number) | 0x80)
            number >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: number))
    }

    /// Random numbers are shorter this way.
    mutating func fixed(_ number: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(shift))) }
    }

    mutating func flag(_ flag: Bool) { bytes.append(flag ? 1 : 0) }

    mutating func text(_ text: String) {
        number(UInt64(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    mutating func origin(_ origin: Origin) {
        fixed(origin.incarnation)
        text(origin.host)
        text(origin.center)
    }

    mutating func list(_ list: NameList) {
        for texts in [list.names, list.prefixes] {
            number(UInt64(texts.count))
            for name in texts { text(name.text) }
        }
    }

    mutating func mark(_ mark: Mark) {
        origin(mark.origin)
        text(mark.name.text)
        number(mark.sequence)
        number(mark.count)
        number(mark.base)
        number(mark.unsure)
    }

    /// Its incarnation is that of the mark.
    mutating func version(_ version: Version?, of origin: Origin) {
        flag(version != nil)
        guard let version else { return }
        number(version.date)
        number(version.sequence)
        flag(version.isCleared)
    }

    mutating func item(_ item: Item) {
        number(item.place)
        mark(item.mark)
        version(item.version, of: item.mark.origin)
        flag(item.isCleared)
        let content = item.content
        content.withBytes { subject, payload in
            number(UInt64(subject.count))
            bytes.append(contentsOf: subject)
            bytes.append(content.format)
            number(UInt64(UInt32(bitPattern: content.pid)))
            number(UInt64(content.uid))
            fixed(content.postedAt)
            number(UInt64(payload.count))
            bytes.append(contentsOf: payload)
        }
    }
}

struct FrameInput {
    struct Fault: Error {}

    let bytes: UnsafeRawBufferPointer
    let limits: LinkLimits
    var at = 0

    init(bytes: UnsafeRawBufferPointer, limits: LinkLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    var left: Int { bytes.count - at }

    mutating func byte() throws(Fault) -> UInt8 {
        guard at < bytes.count else { throw Fault() }
        defer { at += 1 }
        return bytes[at]
    }

    mutating func number(below bound: UInt64 = LinkLimits.number) throws(Fault) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            let byte = try byte()
            guard shift < 63 || byte <= 1 else { throw Fault() }
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 {
                guard number < bound else { throw Fault() }
                return number
            }
        }
        throw Fault()
    }

    /// A place behind an item can be the bound of the items' places itself, and a beat adds 1.
    mutating func place() throws(Fault) -> UInt64 { try number(below: LinkLimits.number * 2) }

    mutating func number32() throws(Fault) -> UInt32 {
        UInt32(try number(below: 1 << 32))
    }

    /// A number of elements of at least `size` bytes each.
    mutating func count(of size: Int, most: Int) throws(Fault) -> Int {
        let count = try number(below: UInt64(most) + 1)
        #if !MUTANT_COUNT_UNCHECKED  // Found by: link --hostile 1
            guard Int(count) * size <= left else { throw Fault() }
        #endif
        return Int(count)
    }

    mutating func fixed() throws(Fault) -> UInt64 {
        guard left >= 8 else { throw Fault() }
        defer { at += 8 }
        return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
    }

    mutating func flag() throws(Fault) -> Bool {
        let byte = try byte()
        guard byte < 2 else { throw Fault() }
        return byte == 1
    }

    /// An unsigned number of that many bytes.
    mutating func little(_ size: Int) throws(Fault) -> UInt64 {
        guard left >= size else { throw Fault() }
        defer { at += size }
        if size == 8 { return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)) }
        return UInt64(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self)))
    }

    /// Valid UTF-8 without NUL.
    mutating func text(least: Int = 0) throws(Fault) -> String {
        let count = try count(of: 1, most: LinkLimits.text)
        guard count >= least else { throw Fault() }
        return try text(count: count)
    }

    @discardableResult
    private mutating func text(count: Int) throws(Fault) -> String {
        let slice = UnsafeRawBufferPointer(rebasing: bytes[at..<(at + count)])
        at += count
        guard !slice.contains(0), let text = String(validating: slice, as: UTF8.self) else { throw Fault() }
        return text
    }

    mutating func check(text count: Int) throws(Fault) { try text(count: count) }

    mutating func name() throws(Fault) -> LinkName { LinkName(try text(least: 1)) }

    mutating func origin() throws(Fault) -> Origin {
        Origin(incarnation: try fixed(), host: try text(), center: try text())
    }

    mutating func list() throws(Fault) -> NameList {
        var lists: [[LinkName]] = [[], []]
        for number in 0..<2 {
            let count = try count(of: 1, most: 4096)
            for _ in 0..<count { lists[number].append(LinkName(try text())) }
        }
        return NameList(names: lists[0], prefixes: lists[1])
    }

    mutating func mark() throws(Fault) -> Mark {
        Mark(
            origin: try origin(), name: try name(), sequence: try number(), count: try number(), base: try number(),
            unsure: try number())
    }

    mutating func version(of origin: Origin) throws(Fault) -> Version? {
        guard try flag() else { return nil }
        return Version(
            date: try number(), incarnation: origin.incarnation, sequence: try number(),
            isCleared: try flag())
    }

    mutating func item() throws(Fault) -> Item {
        let place = try number()
        let mark = try mark()
        let version = try version(of: mark.origin)
        let isCleared = try flag()
        let subject = try text()
        let format = try byte()
        let pid = Int32(bitPattern: try number32())
        let uid = try number32()
        let postedAt = try fixed()
        let size = try count(of: 1, most: limits.payload)
        let payload = Array(bytes[at..<(at + size)])
        at += size
        return Item(
            place: place, mark: mark, version: version, isCleared: isCleared,
            content: Content(
                subject: subject, format: format, pid: pid, uid: uid, postedAt: postedAt, payload: payload))
    }

    mutating func frame(_ frame: [UInt8]) throws(Fault) -> Frame {
        guard try byte() == FrameCoding.format else { throw Fault() }
        let session = try fixed()
        let to = try fixed()
        let body = try body(frame)
        guard left == 0 else { throw Fault() }
        return Frame(session: session, to: to, body: body)
    }

    private mutating func body(_ frame: [UInt8]) throws(Fault) -> Frame.Body {
        switch try byte() {
        case 1:
            return .greeting(
                Greeting(
                    version: UInt16(try number(below: 1 << 16)), link: try text(), center: try origin(),
                    payload: try number(), sends: try list(), accepts: try list()))
        case 2:
            let round = try number32()
            // The end is 0: `Beat.end` has no 62 bits.
            let received = try place() &- 1
            return .beat(
                Beat(
                    round: round, received: received, handled: try place(), peerRound: try number32(),
                    tail: try place(), through: try place(), generation: try place()))
        case FrameCoding.items: return .items(try items(frame))
        case 4: return .ask(number: try number32(), isFirst: try flag(), from: try self.number())
        case 5:
            let number = try number32()
            var states: [AccountState] = []
            for _ in 0..<(try count(of: 16, most: 65_536)) {
                let mark = try mark()
                states.append(AccountState(mark: mark, version: try version(of: mark.origin)))
            }
            return .accounts(
                Accounts(
                    number: number, states: states, next: try self.number(), place: try place(),
                    generation: try place()))
        case 6:
            let number = try number32()
            var names: [LinkName] = []
            for _ in 0..<(try count(of: 2, most: 65_536)) { names.append(try name()) }
            return .pull(number: number, names: names)
        case 7: return .value(number: try number32(), try item())
        case 8: return .pulled(number: try number32())
        case 9:
            let (dialog, to, isFirst) = (try self.number(), try self.number(), try flag())
            let (first, taken) = (try self.number(), try self.number())
            var messages: [Message] = []
            for _ in 0..<(try count(of: 2, most: 65_536)) { messages.append(try message()) }
            return .dialog(
                DialogFrame(
                    dialog: dialog, to: to, isFirst: isFirst, first: first, taken: taken, messages: messages))
        default: throw Fault()
        }
    }
}
