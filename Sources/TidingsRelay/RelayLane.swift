// The driver's side of one link: its transport, what waits to be sent, and what was received.

#if Relay
    internal import Glibc
    internal import NIOConcurrencyHelpers
    internal import TidingsLink

    /// What the threads of transports and connectors tell the driver.
    enum LaneEvent: Sendable {
        case opened(any LinkTransport)
        case failed(TransportError)
        case transport(LinkEvent)
    }

    /// Opens a transport on a thread of its own, because that may take seconds, and tries again until it works.
    final class RelayConnector: @unchecked Sendable {
        // Sendable: nothing changes; the thread alone uses the transport until it is handed over.
        private let isEnding = NIOLockedValueBox(false)
        private let wake: Int32

        /// - Parameter onEvent: called on threads of the transport, and on the connector's.
        init(
            onEvent: @escaping @Sendable (LaneEvent) -> Void,
            open:
                @escaping @Sendable (@escaping @Sendable (LinkEvent) -> Void) throws(TransportError) ->
                any LinkTransport
        ) {
            var ends: [Int32] = [-1, -1]
            _ = pipe(&ends)
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            wake = ends[1]
            let read = ends[0]
            startThread { [isEnding] in
                defer { Glibc.close(read) }
                while !isEnding.withLockedValue({ $0 }) {
                    do throws(TransportError) {
                        let transport = try open { onEvent(.transport($0)) }
                        onEvent(.opened(transport))
                        Self.wait(read, -1)
                        // Returns after the last event.
                        transport.close()
                    } catch {
                        onEvent(.failed(error))
                        // A server that does not run yet is asked more often than one that refuses this relay.
                        Self.wait(read, [ECONNREFUSED, ETIMEDOUT].contains(error.errno) ? 200 : 1000)
                    }
                }
            }
        }

        /// Does not wait for the end: the transport may be connecting.
        func end() {
            isEnding.withLockedValue { $0 = true }
            Glibc.close(wake)
        }

        private static func wait(_ descriptor: Int32, _ milliseconds: Int32) {
            var one = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            while poll(&one, 1, milliseconds) < 0, errno == EINTR {}
        }
    }

    /// Starts a thread with all signals blocked, so that these reach the program's own threads.
    func startThread(_ body: @escaping @Sendable () -> Void) {
        final class Body {
            let run: @Sendable () -> Void
            init(_ run: @escaping @Sendable () -> Void) { self.run = run }
        }
        var blocked = sigset_t()
        var before = sigset_t()
        sigfillset(&blocked)
        for fault in [SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGBUS, SIGSEGV, SIGSYS, SIGPROF] { sigdelset(&blocked, fault) }
        pthread_sigmask(SIG_SETMASK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { argument in
                Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
                return nil
            }, Unmanaged.passRetained(Body(body)).toOpaque())
        precondition(result == 0, "can't start a thread: \(String(cString: strerror(result)))")
        pthread_detach(thread)
    }

    /// Used with the driver's lock alone.
    final class RelayLane {
        /// Beyond, a frame is dropped. The link repairs that.
        private static let pendingLimit = 64 << 20
        /// Bytes that a received message takes beside its own.
        private static let overhead = 128

        let number: Int
        var link: Relay.Link
        let connector: RelayConnector
        private var transport: (any LinkTransport)?
        private var isConnected = false
        private var splitter: FrameSplitter?
        private var joiner: FrameJoiner
        private let limits: LinkLimits
        /// Parts of frames that the transport did not take yet.
        private var pending: [[UInt8]] = []
        private var pendingBytes = 0
        var isWritable: Bool { pending.isEmpty }

        /// Received messages that the rate holds back.
        var received: [[UInt8]] = []
        private var receivedBytes = 0
        private var tokens = 0.0
        private var filledAt: UInt64 = 0

        var problem: String?
        var isReported = false
        var sentTails: [(tail: UInt64, at: UInt64)] = []
        /// Nanoseconds from sending items until the peer had posted them.
        var roundTrip: UInt64 = 0
        var peer: Origin?
        var connectedAt: UInt64 = 0

        init(number: Int, link: Relay.Link, connector: RelayConnector, limits: LinkLimits) {
            self.number = number
            self.link = link
            self.connector = connector
            self.limits = limits
            joiner = FrameJoiner(limit: Self.frameLimit(limits))
        }

        /// Accounts and lists of names take more than the payloads of a center with small ones.
        static func frameLimit(_ limits: LinkLimits) -> Int {
            max(limits.payload, 4 << 20) + limits.batchBytes + 4096
        }

        var isUp: Bool { isConnected && transport != nil }

        /// True: the link has a connection now that it did not have.
        func opened(_ transport: any LinkTransport) -> Bool {
            self.transport = transport
            return isConnected
        }

        func connected() -> Bool {
            isConnected = true
            return transport != nil
        }

        func disconnected() {
            isConnected = false
            drop()
        }

        private func drop() {
            splitter = nil
            pending = []
            pendingBytes = 0
            received = []
            receivedBytes = 0
            sentTails = []
        }

        func begin(session: UInt64) {
            drop()
            splitter = FrameSplitter(maximum: transport?.maximum ?? 0, number: session)
            joiner = FrameJoiner(limit: Self.frameLimit(limits))
        }

        // MARK: - Sending

        /// Control frames go before the parts of a frame that waits.
        func send(_ frame: Frame, now: UInt64) {
            guard splitter != nil else { return }
            if case .items(let items) = frame.body, sentTails.count < 64 { sentTails.append((items.last + 1, now)) }
            let parts = splitter!.parts(of: FrameCoding.encode(frame))
            let bytes = parts.reduce(0) { $0 + $1.count }
            guard pending.isEmpty || pendingBytes + bytes <= Self.pendingLimit else { return }
            if !pending.isEmpty, parts.count == 1 {
                pending.insert(contentsOf: parts, at: 0)
            } else {
                pending.append(contentsOf: parts)
            }
            pendingBytes += bytes
            flush()
        }

        func flush() {
            guard let transport, isConnected else { return }
            var sent = 0
            for part in pending {
                switch transport.send(part) {
                case .sent:
                    sent += 1
                    pendingBytes -= part.count
                case .busy:
                    pending.removeFirst(sent)
                    return
                case .notConnected:
                    pending = []
                    pendingBytes = 0
                    return
                }
            }
            pending.removeAll(keepingCapacity: true)
        }

        // MARK: - Receiving

        func arrived(_ bytes: [UInt8]) {
            guard receivedBytes + bytes.count <= Self.pendingLimit else { return }
            received.append(bytes)
            receivedBytes += bytes.count + Self.overhead
        }

        /// The frames that the rate lets through now.
        func takeFrames(now: UInt64, _ body: (Frame) -> Void) {
            refill(now)
            var taken = 0
            while taken < received.count, link.rate == nil || tokens > 0 {
                let bytes = received[taken]
                taken += 1
                receivedBytes -= bytes.count + Self.overhead
                guard let whole = joiner.frame(from: bytes),
                    let frame = FrameCoding.decode(whole, limits: limits)
                else { continue }
                switch frame.body {
                case .items(let items): tokens -= Double(items.count)
                case .value: tokens -= 1
                default: break
                }
                if case .beat(let beat) = frame.body { measure(beat, now) }
                body(frame)
            }
            received.removeFirst(taken)
        }

        private func refill(_ now: UInt64) {
            guard let rate = link.rate else { return }
            let passed = Double(now - min(now, filledAt)) / 1e9
            filledAt = now
            tokens = min(Double(rate), tokens + passed * Double(rate))
        }

        /// When a held message can be taken, in nanoseconds; `nil`: none is held.
        func nextToken(now: UInt64) -> UInt64? {
            guard let rate = link.rate, !received.isEmpty else { return nil }
            return now + UInt64(max(1, 1 - tokens) / Double(rate) * 1e9)
        }

        private func measure(_ beat: Beat, _ now: UInt64) {
            while let first = sentTails.first, first.tail <= beat.handled {
                roundTrip = now - first.at
                sentTails.removeFirst()
            }
        }
    }
#endif
