// A subject of NATS as a transport. The C client connects again by itself.

#if Relay
    #if canImport(CTidingsNATS)
        internal import CTidingsNATS
    #endif
    internal import Glibc
    internal import NIOConcurrencyHelpers

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
        /// 1 while there is something for the thread that publishes, 2 once it has ended.
        private let sender = ConditionLock(value: 0)
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
            startThread { [state, sender, publishing] in Self.publish(state, sender, publishing) }
            begin(handle)
        }

        private func begin(_ handle: OpaquePointer?) {
            let maximum = handle.map { tidings_nats_maximum($0) } ?? 0
            state.withLockedValue {
                $0.handle = handle
                $0.maximum = maximum
                $0.isConnected = true
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

        private static func publish(
            _ state: NIOLockedValueBox<State>, _ sender: ConditionLock<Int>, _ publishing: NIOLock
        ) {
            while true {
                sender.lock(whenValue: 1)
                sender.unlock(withValue: 0)
                let isClosing = publishing.withLock { () -> Bool in
                    let (handle, messages, isClosing) = state.withLockedValue { state in
                        defer { state.waiting = [] }
                        return (state.handle, state.waiting, state.isClosing)
                    }
                    guard let handle, !isClosing else { return isClosing }
                    for message in messages {
                        let isSent = tidings_nats_send(handle, message, message.count) == 0
                        let goesOn = state.withLockedValue { state in
                            state.bytes = max(0, state.bytes - message.count)
                            return isSent && state.isConnected && !state.isClosing
                        }
                        // What is left belongs to a session that has ended.
                        if !goesOn { break }
                    }
                    return false
                }
                if isClosing { break }
            }
            sender.lock()
            sender.unlock(withValue: 2)
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
            startThread { [self] in
                // One at a time.
                opening.lock(whenValue: 0)
                opening.unlock(withValue: 1)
                let ended = takeHandle()
                tidings_nats_close(ended)
                // A client that is refused at once would be replaced without a pause. `close` waits for it.
                sleep(1)
                while !state.withLockedValue({ $0.isClosing }) {
                    do throws(TransportError) {
                        begin(try open())
                        return
                    } catch {
                        onEvent(.disconnected(error.message))
                        sleep(1)
                    }
                }
                opening.lock()
                opening.unlock(withValue: 0)
            }
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
                    // Under the lock of the state: not after `close` has begun to wait for the value 2.
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
            sender.lock(whenValue: 2)
            sender.unlock()
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
