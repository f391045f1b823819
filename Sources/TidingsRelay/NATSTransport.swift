// A subject of NATS as a transport. The C client connects again by itself.

#if Relay
    #if canImport(CTidingsNATS)
        internal import CTidingsNATS
    #endif
    internal import Glibc
    internal import NIOConcurrencyHelpers
    internal import NIOCore

    #if MUTANTS
        import TidingsCoding
    #endif

    /// The server, and how it knows this relay.
    package struct NATSOptions: Hashable, Sendable {
        package var url: String
        package var link: String
        /// A file with a JWT and a key.
        package var credentials: String?
        /// A file with certificates. With it, TLS is required.
        package var certificateAuthority: String?

        package init(url: String, link: String, credentials: String? = nil, certificateAuthority: String? = nil) {
            self.url = url
            self.link = link
            self.credentials = credentials
            self.certificateAuthority = certificateAuthority
        }

        /// `nil`: the link's name can't be a token of a subject.
        var subject: String? {
            let isToken = !link.isEmpty && link.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !".*>".utf8.contains($0) }
            return isToken ? "tidings.link.\(link)" : nil
        }
    }

    package final class NATSTransport: LinkTransport, @unchecked Sendable {
        // Sendable: `state`, `publishing` and the conditions are locks, and the C client's functions take its own.
        private struct State: @unchecked Sendable {
            // Sendable: the C client's functions take the client's lock.
            var handle: OpaquePointer?
            var isConnected = false
            var isClosing = false
            /// Of a message. The client's lock may be held for seconds, so this is a copy.
            var maximum = 0
            /// The client has ended, and another one is made.
            var isReplacing = false
            var openedAt = NIODeadline.now()
            /// Seconds before another client is made. It grows if clients end soon.
            var pause = 1
            var waiting: [[UInt8]] = []
            /// Bytes that the client has not taken.
            var bytes = 0
        }
        /// Beyond these bytes `send` answers `.busy`.
        private static let waitingMaximum = 4 << 20

        private let state = NIOLockedValueBox(State())
        private let options: NATSOptions
        private let onEvent: @Sendable (LinkEvent) -> Void
        /// 1 while a connection is opened.
        private let opening = ConditionLock(value: 1)
        /// 1 while there is something for the thread that publishes.
        private let sender = ConditionLock(value: 0)
        /// 1 once that thread has ended.
        private let senderEnd = ConditionLock(value: 0)
        /// Held while the client's functions publish.
        private let publishing = NIOLock()

        /// - Parameter onEvent: called on threads of the client, also before this returns. Received messages come one
        ///   at a time.
        /// - Throws: the first connection failed. There is no second attempt. Later, the object tries until it is
        ///   closed.
        package init(_ options: NATSOptions, onEvent: @escaping @Sendable (LinkEvent) -> Void) throws(TransportError) {
            self.options = options
            self.onEvent = onEvent
            let handle: OpaquePointer?
            do {
                handle = try open()
            } catch {
                // Nothing to close.
                state.withLockedValue { $0.isClosing = true }
                throw error
            }
            // A client waits as long as the server takes nothing. The relay's thread does not.
            startThread { [state, sender, senderEnd, publishing, weak self] in
                Self.publish(state, sender, publishing) { self?.sentTooLarge() }
                senderEnd.lock()
                senderEnd.unlock(withValue: 1)
            }
            begin(handle)
        }

        private func begin(_ handle: OpaquePointer?) {
            let maximum = handle.map { tidings_nats_maximum($0) } ?? 0
            state.withLockedValue {
                $0.handle = handle
                $0.maximum = maximum
                $0.isConnected = true
                $0.openedAt = .now()
            }
            onEvent(.connected)
            // A client that ended meanwhile is replaced only now.
            opening.lock()
            opening.unlock(withValue: 0)
        }

        private func connected() {
            // On a thread of the client, which has sent its greeting to the server.
            let maximum = state.withLockedValue { $0.handle }.map { tidings_nats_maximum($0) }
            state.withLockedValue {
                $0.isConnected = true
                if let maximum { $0.maximum = maximum }
            }
            onEvent(.connected)
        }

        private func disconnected(_ line: String) {
            state.withLockedValue {
                $0.isConnected = false
                // Frames of a session that has ended.
                $0.waiting = []
                $0.bytes = 0
            }
            onEvent(.disconnected(line))
        }

        /// The server takes less than it did: frames must be split anew.
        private func sentTooLarge() {
            disconnected("the server takes smaller messages now")
            openAgain()
        }

        private static func publish(
            _ state: NIOLockedValueBox<State>, _ sender: ConditionLock<Int>, _ publishing: NIOLock,
            onTooLarge: () -> Void
        ) {
            while true {
                sender.lock(whenValue: 1)
                sender.unlock(withValue: 0)
                var result: Int32 = 0
                let isClosing = publishing.withLock { () -> Bool in
                    let (handle, messages, isClosing) = state.withLockedValue { state in
                        defer { state.waiting = [] }
                        return (state.handle, state.waiting, state.isClosing)
                    }
                    for message in messages {
                        // What is left after a failure belongs to a session that has ended.
                        let goesOn = state.withLockedValue { $0.isConnected && !$0.isClosing } && result == 0
                        if let handle, goesOn { result = tidings_nats_send(handle, message, message.count) }
                        state.withLockedValue { $0.bytes = max(0, $0.bytes - message.count) }
                    }
                    return isClosing
                }
                if isClosing { return }
                if result == -EMSGSIZE { onTooLarge() }
            }
        }

        private func open() throws(TransportError) -> OpaquePointer? {
            guard let subject = options.subject else {
                throw TransportError(
                    errno: EINVAL,
                    message: "can't use link name \"\(options.link)\" with NATS: use letters, digits, - and _")
            }
            var handle: OpaquePointer?
            var line = [CChar](repeating: 0, count: 512)
            let texts = [
                options.url, subject, "tidings relay \(options.link)", options.credentials,
                options.certificateAuthority,
            ]
            let result = Self.withStrings(texts) { texts in
                var native = tidings_nats_options()
                native.url = texts[0]
                native.subject = texts[1]
                native.name = texts[2]
                native.credentials = texts[3]
                native.ca = texts[4]
                native.context = Unmanaged.passUnretained(self).toOpaque()
                native.event = { context, event, bytes, size in
                    let transport = Unmanaged<NATSTransport>.fromOpaque(context!).takeUnretainedValue()
                    let bytes = [UInt8](UnsafeRawBufferPointer(start: bytes, count: size))
                    switch event {
                    case Int32(TIDINGS_NATS_RECEIVED): transport.onEvent(.received(bytes))
                    case Int32(TIDINGS_NATS_CONNECTED): transport.connected()
                    default:
                        transport.disconnected(String(decoding: bytes, as: UTF8.self))
                        if event == Int32(TIDINGS_NATS_ENDED) { transport.openAgain() }
                    }
                }
                return tidings_nats_open(&native, &handle, &line, line.count)
            }
            guard result == 0 else {
                let text = line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
                throw TransportError(errno: -result, message: String(decoding: text, as: UTF8.self))
            }
            return handle
        }

        /// The client has given up. Its handle is closed on another thread, because this one is the client's.
        private func openAgain() {
            #if MUTANT_TRANSPORT_STAYS_REFUSED  // Found by: transports nats again
                if isMutant("TRANSPORT_STAYS_REFUSED") { return }
            #endif
            let isFirst = state.withLockedValue { state in
                if state.isReplacing || state.isClosing { return false }
                state.isReplacing = true
                let hasLasted = NIODeadline.now() - state.openedAt > .seconds(5)
                state.pause = hasLasted ? 1 : min(30, 2 * state.pause)
                return true
            }
            guard isFirst else { return }
            startThread { [self] in
                // Not before the client that ended was begun.
                opening.lock(whenValue: 0)
                opening.unlock(withValue: 1)
                tidings_nats_close(takeHandle())
                while sleepUnlessClosing() {
                    // The end of the new client counts from its first moment. Its thread waits for `opening`.
                    state.withLockedValue { $0.isReplacing = false }
                    do throws(TransportError) {
                        begin(try open())
                        return
                    } catch {
                        onEvent(.disconnected(error.message))
                    }
                }
                opening.lock()
                opening.unlock(withValue: 0)
            }
        }

        /// False: `close` waits.
        private func sleepUnlessClosing() -> Bool {
            let end = NIODeadline.now() + .seconds(Int64(state.withLockedValue { $0.pause }))
            while NIODeadline.now() < end {
                if state.withLockedValue({ $0.isClosing }) { return false }
                usleep(50_000)
            }
            return !state.withLockedValue { $0.isClosing }
        }

        /// Nothing uses it any more.
        private func takeHandle() -> OpaquePointer? {
            publishing.withLock {
                state.withLockedValue { state in
                    defer {
                        state.handle = nil
                        state.isConnected = false
                        state.waiting = []
                        state.bytes = 0
                    }
                    return state.handle
                }
            }
        }

        deinit { close() }

        package var maximum: Int { state.withLockedValue { $0.isConnected ? $0.maximum : 0 } }

        package func send(_ bytes: [UInt8]) -> LinkSending {
            state.withLockedValue { state in
                guard state.isConnected, !state.isClosing else { return .notConnected }
                guard state.bytes < Self.waitingMaximum else { return .busy }
                state.waiting.append(bytes)
                state.bytes += bytes.count
                if state.waiting.count == 1 {
                    sender.lock()
                    sender.unlock(withValue: 1)
                }
                return .sent
            }
        }

        package func close() {
            let isFirst = state.withLockedValue { state in
                defer { state.isClosing = true }
                return !state.isClosing
            }
            guard isFirst else { return }
            opening.lock(whenValue: 0)
            opening.unlock()
            sender.lock()
            sender.unlock(withValue: 1)
            senderEnd.lock(whenValue: 1)
            senderEnd.unlock()
            tidings_nats_close(takeHandle())
        }

        private static func withStrings<Result>(
            _ texts: [String?], _ body: ([UnsafePointer<CChar>?]) -> Result
        ) -> Result {
            let copies = texts.map { $0.map { strdup($0)! } }
            defer { for copy in copies { free(copy) } }
            return body(copies.map { $0.map { UnsafePointer($0) } })
        }
    }
#endif
