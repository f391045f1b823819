// A subject of NATS as a transport.

#if Relay
    #if canImport(CTidingsNATS)
        internal import CTidingsNATS
    #endif
    internal import Glibc
    internal import NIOConcurrencyHelpers

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
        // Sendable: the variables are locked, and the functions of CTidingsNATS take locks of their own.
        private struct State: @unchecked Sendable {
            // Sendable: used with the lock.
            /// `nil`: there is no connection.
            var handle: OpaquePointer?
            var maximum = 0
            var isClosing = false
            /// The server has refused the last connection.
            var isRefused = false
        }
        /// Seconds until another connection is tried, and the most of these while the server refuses them.
        private static let pause = 0.2
        private static let refusedPause = 30.0

        private let state = NIOLockedValueBox(State())
        private let options: NATSOptions
        private let onEvent: @Sendable (LinkEvent) -> Void
        /// 1: the connection has ended, or is to be closed.
        private let change = ConditionLock(value: 0)
        /// 1 once the thread has ended that keeps the connection.
        private let end = ConditionLock(value: 0)

        /// - Parameter onEvent: called on threads of this object, one call at a time. They hold no lock. While it does
        ///   not return, nothing is received.
        /// - Throws: the first connection failed. There is no second attempt. Later, the object tries, and stays, until
        ///   it is closed.
        package init(_ options: NATSOptions, onEvent: @escaping @Sendable (LinkEvent) -> Void) throws(TransportError) {
            self.options = options
            self.onEvent = onEvent
            LinkSocket.awaitServer(of: options.url) { false }
            let handle = try open(timeout: 0)
            state.withLockedValue { $0.handle = handle }
            startThread { [self] in keepConnected() }
        }

        private func keepConnected() {
            var handle = state.withLockedValue { $0.handle }
            var pause = Self.pause
            var attempts = 0
            while true {
                if let opened = handle {
                    let maximum = tidings_nats_maximum(opened)
                    state.withLockedValue {
                        $0.handle = opened
                        $0.maximum = maximum
                        $0.isRefused = false
                    }
                    onEvent(.connected)
                    tidings_nats_begin(opened)
                    change.lock(whenValue: 1)
                    change.unlock(withValue: 0)
                    // `send` holds the lock while it uses the handle.
                    state.withLockedValue { $0.handle = nil }
                    tidings_nats_close(opened)
                }
                #if MUTANT_TRANSPORT_STAYS_REFUSED  // Found by: transports nats again
                    if isMutant("TRANSPORT_STAYS_REFUSED"), state.withLockedValue({ $0.isRefused }) { sleep(1000) }
                #endif
                pause = state.withLockedValue { $0.isRefused } ? min(Self.refusedPause, 2 * pause) : Self.pause
                let isClosing = state.withLockedValue { $0.isClosing }
                if !isClosing, change.lock(whenValue: 1, timeoutSeconds: pause) { change.unlock(withValue: 0) }
                if state.withLockedValue({ $0.isClosing }) { break }
                do throws(TransportError) {
                    LinkSocket.awaitServer(of: options.url) { [state] in state.withLockedValue { $0.isClosing } }
                    // Each fourth attempt is for a slow network.
                    attempts += 1
                    handle = try open(timeout: attempts % 4 == 0 ? 5000 : 1500)
                    attempts = 0
                } catch {
                    handle = nil
                    state.withLockedValue { $0.isRefused = error.errno == EACCES }
                    onEvent(.disconnected(error.message))
                }
            }
            end.lock()
            end.unlock(withValue: 1)
        }

        /// - Parameter timeout: milliseconds; 0: the first attempt.
        private func open(timeout: Int32) throws(TransportError) -> OpaquePointer? {
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
                native.timeout_ms = timeout
                native.context = Unmanaged.passUnretained(self).toOpaque()
                native.event = { context, event, bytes, size in
                    let transport = Unmanaged<NATSTransport>.fromOpaque(context!).takeUnretainedValue()
                    let bytes = [UInt8](UnsafeRawBufferPointer(start: bytes, count: size))
                    if event == Int32(TIDINGS_NATS_RECEIVED) { return transport.onEvent(.received(bytes)) }
                    transport.ended(
                        String(decoding: bytes, as: UTF8.self), isRefused: event == Int32(TIDINGS_NATS_REFUSED))
                }
                return tidings_nats_open(&native, &handle, &line, line.count)
            }
            guard result == 0 else {
                let text = line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
                throw TransportError(errno: -result, message: String(decoding: text, as: UTF8.self))
            }
            return handle
        }

        /// On the thread of the handle.
        private func ended(_ why: String, isRefused: Bool) {
            state.withLockedValue {
                $0.handle = nil
                $0.isRefused = isRefused
            }
            onEvent(.disconnected(why))
            change.lock()
            change.unlock(withValue: 1)
        }

        package var maximum: Int { state.withLockedValue { $0.handle == nil ? 0 : $0.maximum } }

        package func send(_ bytes: [UInt8]) -> LinkSending {
            state.withLockedValue { state in
                guard let handle = state.handle else { return .notConnected }
                switch tidings_nats_send(handle, bytes, bytes.count) {
                case 0: return .sent
                case -EAGAIN: return .busy
                default: return .notConnected
                }
            }
        }

        package func close() {
            let isFirst = state.withLockedValue { state in
                defer { state.isClosing = true }
                return !state.isClosing
            }
            guard isFirst else { return }
            change.lock()
            change.unlock(withValue: 1)
            end.lock(whenValue: 1)
            end.unlock()
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
