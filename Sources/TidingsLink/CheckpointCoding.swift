// A checkpoint as bytes, as it lies in the center. Other processes can write it, so each number is checked before it is
// used (invariant T1).

/// LEB128 numbers; texts and lists behind their length.
package enum CheckpointCoding {
    private static let format: UInt8 = 0xC1

    package static func encode(_ checkpoint: Checkpoint) -> [UInt8] {
        var output = FrameOutput()
        output.bytes.append(format)
        output.number(checkpoint.position)
        output.number(checkpoint.ownBase)
        output.number(UInt64(checkpoint.origins.count))
        for record in checkpoint.origins {
            output.number(record.origin.incarnation)
            output.text(record.origin.host)
            output.text(record.origin.center)
            output.number(UInt64(record.accounts.count))
            for (name, account) in record.accounts {
                output.text(name.text)
                output.number(account.sequence)
                output.number(account.count)
                output.number(account.base)
                output.number(account.lost)
                output.number(account.lostUnsure)
                output.number(account.unsure)
                output.number(account.lostAt)
                output.number(account.lostBefore)
            }
        }
        output.number(UInt64(checkpoint.values.count))
        for (name, value) in checkpoint.values {
            output.text(name.text)
            output.number(value.version.date)
            output.number(value.version.incarnation)
            output.number(value.version.sequence)
            output.number(value.version.isCleared ? 1 : 0)
            output.number(value.position)
            output.number(value.origin.incarnation)
        }
        output.number(UInt64(checkpoint.places.count))
        for place in checkpoint.places {
            output.text(place.link)
            output.number(place.incarnation)
            output.number(place.place)
        }
        output.number(UInt64(checkpoint.uncertain.count))
        for link in checkpoint.uncertain { output.text(link) }
        return output.bytes
    }

    /// `nil`: no relay of this version wrote these bytes for the center with this incarnation.
    package static func decode(_ bytes: [UInt8], incarnation: UInt64) -> Checkpoint? {
        var input = ByteInput(bytes: bytes)
        guard let checkpoint = try? read(&input), input.left == 0,
            checkpoint.origins.first?.origin.incarnation == incarnation
        else { return nil }
        return checkpoint
    }

    /// The position of a checkpoint alone.
    package static func position(of bytes: [UInt8]) -> UInt64? {
        var input = ByteInput(bytes: bytes)
        return try? position(&input)
    }

    private static func position(_ input: inout ByteInput) throws -> UInt64 {
        guard try input.byte() == format else { throw ByteInput.Fault() }
        return try input.bounded()
    }

    private static func read(_ input: inout ByteInput) throws -> Checkpoint {
        let position = try position(&input)
        let ownBase = try input.bounded()
        var origins: [Checkpoint.OriginAccounts] = []
        for _ in 0..<(try input.count()) {
            let origin = try input.origin()
            var accounts: [LinkName: Account] = [:]
            for _ in 0..<(try input.count()) {
                let name = try input.name()
                let (sequence, count, base) = (try input.bounded(), try input.bounded(), try input.bounded())
                var account = Account(sequence: sequence, count: count, base: base)
                account.lost = try input.bounded()
                account.lostUnsure = try input.bounded()
                account.unsure = try input.bounded()
                account.lostAt = try input.bounded()
                account.lostBefore = try input.bounded()
                accounts[name] = account
            }
            origins.append(Checkpoint.OriginAccounts(origin: origin, accounts: accounts))
        }
        var values: [LinkName: Checkpoint.Value] = [:]
        for _ in 0..<(try input.count()) {
            let name = try input.name()
            let (date, incarnation, sequence) = (try input.bounded(), try input.number(), try input.bounded())
            let version = Version(
                date: date, incarnation: incarnation, sequence: sequence, isCleared: try input.number() == 1)
            values[name] = Checkpoint.Value(
                version: version, position: try input.bounded(), origin: Origin(incarnation: try input.number()))
        }
        var places: [Checkpoint.LinkPlace] = []
        for _ in 0..<(try input.count()) {
            places.append(
                Checkpoint.LinkPlace(
                    link: try input.text(), incarnation: try input.number(), place: try input.place()))
        }
        var uncertain: [String] = []
        for _ in 0..<(try input.count()) { uncertain.append(try input.text()) }
        return Checkpoint(
            position: position, origins: origins, values: values, places: places, uncertain: uncertain,
            ownBase: ownBase)
    }
}

private struct ByteInput {
    struct Fault: Error {}

    let bytes: [UInt8]
    var at = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var left: Int { bytes.count - at }

    mutating func byte() throws -> UInt8 {
        guard at < bytes.count else { throw Fault() }
        defer { at += 1 }
        return bytes[at]
    }

    mutating func number() throws -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            let byte = try byte()
            guard shift < 63 || byte <= 1 else { throw Fault() }
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
        }
        throw Fault()
    }

    /// Sums of two such numbers do not overflow.
    mutating func bounded() throws -> UInt64 {
        let number = try number()
        guard number < LinkLimits.number else { throw Fault() }
        return number
    }

    /// A place behind the last item that a peer can have is the bound itself.
    mutating func place() throws -> UInt64 {
        #if MUTANT_CHECKPOINT_PLACE_REFUSED  // Found by: fuzz link
            if isMutant("CHECKPOINT_PLACE_REFUSED") { return try bounded() }
        #endif
        let number = try number()
        guard number <= LinkLimits.number else { throw Fault() }
        return number
    }

    /// A number of elements, each of at least one byte.
    mutating func count() throws -> Int {
        let count = try number()
        guard count <= UInt64(left) else { throw Fault() }
        return Int(count)
    }

    mutating func text() throws -> String {
        let count = try count()
        guard count <= 255, let text = String(validating: bytes[at..<(at + count)], as: UTF8.self) else {
            throw Fault()
        }
        at += count
        return text
    }

    mutating func name() throws -> LinkName {
        let text = try text()
        guard !text.isEmpty else { throw Fault() }
        return LinkName(text)
    }

    mutating func origin() throws -> Origin {
        Origin(incarnation: try number(), host: try text(), center: try text())
    }
}
