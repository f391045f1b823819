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
        // Sendable: `state` and `opening` are locks, and the C client's functions take its own.
        private struct State {
            var handle: OpaquePointer?
            var isClosing = false
        }
        private let state = NIOLockedValueBox(State())
        private let options: NATSOptions
        private let onEvent: @Sendable (LinkEvent) -> Void
        /// 1 while a thread opens a connection again.
        private let opening = ConditionLock(value: 0)

        /// - Parameter onEvent: called on threads of the client, also before this returns. Received messages come one
        ///   at a time.
        /// - Throws: the first connection failed. There is no second attempt. Later, the object tries until it is
        ///   closed.
        package init(_ options: NATSOptions, onEvent: @escaping @Sendable (LinkEvent) -> Void) throws(TransportError) {
            self.options = options
            self.onEvent = onEvent
            let handle = try open()
            state.withLockedValue { $0.handle = handle }
            onEvent(.connected)
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
                    case Int32(TIDINGS_NATS_CONNECTED): transport.onEvent(.connected)
                    default:
                        transport.onEvent(.disconnected(String(decoding: bytes, as: UTF8.self)))
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
            opening.lock()
            opening.unlock(withValue: 1)
            startThread { [self] in
                let ended = state.withLockedValue { state in
                    defer { state.handle = nil }
                    return state.handle
                }
                tidings_nats_close(ended)
                while !state.withLockedValue({ $0.isClosing }) {
                    do throws(TransportError) {
                        let handle = try open()
                        state.withLockedValue { $0.handle = handle }
                        onEvent(.connected)
                        break
                    } catch {
                        onEvent(.disconnected(error.message))
                        // Not forever: `close` waits for it.
                        sleep(1)
                    }
                }
                opening.lock()
                opening.unlock(withValue: 0)
            }
        }

        deinit { close() }

        package var maximum: Int { state.withLockedValue { $0.handle.map { tidings_nats_maximum($0) } ?? 0 } }

        package func send(_ bytes: [UInt8]) -> LinkSending {
            state.withLockedValue { state in
                guard let handle = state.handle else { return .notConnected }
                switch -tidings_nats_send(handle, bytes, bytes.count) {
                case 0: return .sent
                case EAGAIN: return .busy
                default: return .notConnected
                }
            }
        }

        package func close() {
            state.withLockedValue { $0.isClosing = true }
            opening.lock(whenValue: 0)
            opening.unlock()
            let handle = state.withLockedValue { state in
                defer { state.handle = nil }
                return state.handle
            }
            tidings_nats_close(handle)
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
