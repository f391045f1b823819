import TidingsCoding

/// The payloads of several messages of one type, one after the other in memory.
struct PayloadBatch {
    let format: UInt8
    let bytes: [UInt8]
    private let ends: [Int]

    var count: Int { ends.count }

    /// Where payload `index` lies in `bytes`.
    func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

    init<M: SharedNotificationCenter.Message>(encoding messages: some Sequence<M>) throws {
        var bytes: [UInt8] = []
        var ends: [Int] = []
        ends.reserveCapacity(messages.underestimatedCount)
        var format = PayloadCoding.Format.bytes
        switch M.encoding.kind {
        case .cbor:
            format = .cbor
            bytes = try PayloadBuffer.bytes { buffer in
                for message in messages {
                    try PayloadCoding.encode(message, into: &buffer)
                    ends.append(buffer.count)
                }
            }
        case .bitwise:
            format = .bitwise
            let fingerprint = PayloadCoding.fingerprint(of: M.self).littleEndian
            bytes.reserveCapacity(
                messages.underestimatedCount * (PayloadCoding.fingerprintSize + MemoryLayout<M>.size))
            for message in messages {
                withUnsafeBytes(of: fingerprint) { bytes += $0 }
                withUnsafeBytes(of: message) { bytes += $0 }
                ends.append(bytes.count)
            }
        case .json, .custom:
            for message in messages {
                let payload = try SharedNotificationCenter.RawPayload(inItsEncoding: message)
                format = payload.format
                bytes += payload.bytes
                ends.append(bytes.count)
            }
        }
        self.format = format.rawValue
        self.bytes = bytes
        self.ends = ends
    }
}
