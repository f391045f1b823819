// What carries the frames of a link. Docs/Design/Relay.md, section 8, says what a transport must provide.

/// May lose, repeat and reorder messages. Delivers each one whole and unchanged.
package protocol LinkTransport: AnyObject, Sendable {
    /// Bytes of the largest message at present; 0: not connected.
    var maximum: Int { get }
    /// Sends one message of at most `maximum` bytes, without waiting for the peer.
    func send(_ bytes: [UInt8]) -> LinkSending
    /// Returns after the last event.
    func close()
}

package enum LinkSending: Sendable {
    case sent
    /// Not now: what was sent before has not gone out. Try again after some milliseconds.
    case busy
    /// There is no connection. `LinkEvent.connected` follows when there is one.
    case notConnected
}

package enum LinkEvent: Sendable {
    case connected
    case disconnected(String)
    case received([UInt8])
}

/// Why there is no transport, as a line.
package struct TransportError: Error, Hashable, Sendable {
    package var errno: Int32
    package var message: String
}

#if Relay
    package import TidingsLink

    /// Frames over a transport: as bytes, and in parts if they are too large for it.
    package struct LinkPort: Sendable {
        package let transport: any LinkTransport
        private let limits: LinkLimits
        private var splitter: FrameSplitter?
        private var joiner: FrameJoiner
        /// The parts of a frame that the transport has not taken yet.
        private var kept: [[UInt8]] = []

        package init(transport: any LinkTransport, limits: LinkLimits) {
            self.transport = transport
            self.limits = limits
            joiner = FrameJoiner(limit: RelayLane.frameLimit(limits))
        }

        /// Call it at each connection: the maximum may have changed.
        package mutating func connected(session: UInt64) {
            kept = []
            splitter = FrameSplitter(maximum: transport.maximum, number: session)
        }

        /// `.busy`: what the transport did not take is kept. Send no other frame before `resume` has sent it.
        package mutating func send(_ frame: Frame) -> LinkSending {
            guard splitter != nil else { return .notConnected }
            kept = splitter!.parts(of: FrameCoding.encode(frame))
            return resume()
        }

        package var isWritable: Bool { kept.isEmpty }

        /// Sends what was kept, if there is anything.
        package mutating func resume() -> LinkSending {
            for (index, part) in kept.enumerated() {
                switch transport.send(part) {
                case .sent: continue
                case .busy:
                    kept.removeFirst(index)
                    return .busy
                case .notConnected:
                    kept = []
                    return .notConnected
                }
            }
            kept = []
            return .sent
        }

        /// `nil`: no whole frame yet, or none at all.
        package mutating func frame(from bytes: [UInt8]) -> Frame? {
            joiner.frame(from: bytes).flatMap { FrameCoding.decode($0, limits: limits) }
        }
    }
#endif
