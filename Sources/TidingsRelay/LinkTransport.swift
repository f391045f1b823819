// What carries the frames of a link. Docs/Design/Relay.md, section 8, says what a transport must provide.

/// May lose, repeat and reorder messages. Delivers each one whole and unchanged.
package protocol LinkTransport: AnyObject, Sendable {
    /// Bytes of the largest message at present; 0: not connected.
    var maximum: Int { get }
    /// Sends one message, without waiting for the peer.
    func send(_ bytes: [UInt8]) -> LinkSending
    /// Returns after the last event.
    func close()
}

package enum LinkSending: Sendable {
    case sent
    /// Not now: what was sent before has not gone out.
    case busy
    /// There is no connection. `LinkEvent.connected` follows when there is one.
    case notConnected
}

package enum LinkEvent: Sendable {
    case connected
    case disconnected(String)
    case received([UInt8])
}

#if TIDINGS_SIMULATED || canImport(TidingsLink)
    #if canImport(TidingsLink)
        package import TidingsLink
    #endif

    /// Frames over a transport: as bytes, and in parts if they are too large for it.
    package struct LinkPort: Sendable {
        package let transport: any LinkTransport
        private let limits: LinkLimits
        private var splitter: FrameSplitter?
        private var joiner: FrameJoiner

        package init(transport: any LinkTransport, limits: LinkLimits) {
            self.transport = transport
            self.limits = limits
            joiner = FrameJoiner(limit: limits.payload + limits.batchBytes + 4096)
        }

        /// Call it at each connection: the maximum may have changed.
        package mutating func connected(session: UInt64) {
            splitter = FrameSplitter(maximum: transport.maximum, number: session)
        }

        /// A frame of which a part is not sent is lost.
        package mutating func send(_ frame: Frame) -> LinkSending {
            guard splitter != nil else { return .notConnected }
            for part in splitter!.parts(of: FrameCoding.encode(frame)) {
                let sending = transport.send(part)
                guard case .sent = sending else { return sending }
            }
            return .sent
        }

        /// `nil`: no whole frame yet, or none at all.
        package mutating func frame(from bytes: [UInt8]) -> Frame? {
            joiner.frame(from: bytes).flatMap { FrameCoding.decode($0, limits: limits) }
        }
    }
#endif
