// A subject of NATS as a transport. The C client connects again by itself.

#if Relay
    #if canImport(CTidingsNATS)
        internal import CTidingsNATS
    #endif
    internal import Glibc

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
        // Sendable: `handle` is set before the object is shared, and the C client's functions take its own locks.
        private var handle: OpaquePointer?
        private let onEvent: @Sendable (LinkEvent) -> Void

        /// - Parameter onEvent: called on threads of the client, also before this returns. Received messages come one
        ///   at a time.
        /// - Throws: the first connection failed. There is no second attempt.
        package init(_ options: NATSOptions, onEvent: @escaping @Sendable (LinkEvent) -> Void) throws(TransportError) {
            self.onEvent = onEvent
            guard let subject = options.subject else {
                throw TransportError(
                    errno: EINVAL,
                    message: "can't use link name \"\(options.link)\" with NATS: use letters, digits, - and _")
            }
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
                    default: transport.onEvent(.disconnected(String(decoding: bytes, as: UTF8.self)))
                    }
                }
                return tidings_nats_open(&native, &handle, &line, line.count)
            }
            guard result == 0 else {
                let text = line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
                throw TransportError(errno: -result, message: String(decoding: text, as: UTF8.self))
            }
        }

        deinit { close() }

        package var maximum: Int { handle.map { tidings_nats_maximum($0) } ?? 0 }

        package func send(_ bytes: [UInt8]) -> LinkSending {
            guard let handle else { return .notConnected }
            switch -tidings_nats_send(handle, bytes, bytes.count) {
            case 0: return .sent
            case EAGAIN: return .busy
            default: return .notConnected
            }
        }

        package func close() {
            tidings_nats_close(handle)
            handle = nil
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
