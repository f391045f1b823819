#if Relay
    internal import Glibc
    internal import TidingsLink

    extension Relay {
        /// One link: the relay at its other end, and what passes in each direction.
        ///
        /// ```swift
        /// let tokyo = Relay.Link(
        ///     "tokyo", url: "nats://broker.example.com:4222", sends: ["com.example.*"], accepts: ["com.example.*"])
        /// ```
        ///
        /// A list has names of notifications, and prefixes of names: `com.example.*` is every name that begins with
        /// `com.example.`, and `*` is every name. A star elsewhere is an error. Names that begin with `tidings.` belong
        /// to the library, and never pass.
        public struct Link: Hashable, Sendable {
            /// The same at both ends, and no third relay may use it: 1 to 64 letters, digits, `-` and `_` (ASCII).
            public var name: String
            /// A server of NATS (2.9 or later): `nats://HOST:PORT`, also with `USER:PASSWORD@` before the host. Or the
            /// other relay itself, by TLS 1.3 with certificates on both sides: one end listens at
            /// `tls-listen://ADDRESS:PORT`, and the other one connects to `tls://HOST:PORT`.
            public var url: String
            /// The names that this relay sends. At most 4,096 names, and 128 prefixes in all links.
            public var sends: [String]
            /// The names that this relay accepts. Whatever else a peer sends is refused, and counted.
            public var accepts: [String]
            /// Whether retained values pass as such. Both ends must have it. Otherwise a retained notification arrives
            /// as an ordinary one.
            public var retained: Bool
            /// A file with a JWT and a key, as `nsc generate creds` writes it.
            public var credentials: String?
            /// A file with the certificates (PEM) that must have signed the server's, or the peer's. With it, a server
            /// of NATS must use TLS. TLS links need it.
            public var certificateAuthority: String?
            /// A file (PEM) with this end's certificate: TLS links need it.
            public var certificate: String?
            /// A file (PEM) with the certificate's key: TLS links need it.
            public var key: String?
            /// How many notifications a second are accepted, on average over a second: at least 1,000. `nil`: no limit.
            /// The peer holds back what is beyond, in its ring.
            public var rate: Int?
            /// Bytes of the largest payload that is accepted from the other end: at least 1. `nil`: what this center
            /// takes. The other end counts a larger notification as lost, and keeps a larger retained value to itself.
            /// A larger request or reply fails, and a text says so. What a peer sends all the same is not taken.
            public var maximumPayloadSize: Int?
            /// Names of ``sends`` that the center keeps until the other end has posted them, as for a lossless
            /// observer: names, and prefixes that no name of the library begins with. While a whole ring of
            /// notifications waits for the other end, posts under any name wait, as long as their timeout lets them
            /// (``SharedNotificationCenter/PostOptions/timeout``), and fail with `.full` otherwise.
            public var lossless: [String]
            /// How long posts may wait for ``lossless`` if the other end acknowledges nothing: from 1 ms to a day. Then
            /// they wait no more until it acknowledges again, and what the ring loses is counted.
            public var losslessTimeout: Duration
            /// Names of requests that servers of this center answer for the other end, as names and prefixes. The other
            /// end can call nothing else here.
            public var serves: [String]
            /// Names of requests of this center that servers of the other end may answer, if this center has no server
            /// of that name.
            public var calls: [String]
            /// Whether the other end may show the participants that announce themselves in this center.
            public var announces: Bool
            /// Whether this center shows those of the other end
            /// (``SharedNotificationCenter/remotePresence()``): at most 1,024.
            public var shows: Bool

            /// A link; ``Relay/init(_:links:logger:)`` checks it.
            public init(
                _ name: String, url: String, sends: [String] = [], accepts: [String] = [], retained: Bool = false,
                credentials: String? = nil, certificateAuthority: String? = nil, certificate: String? = nil,
                key: String? = nil, rate: Int? = nil, maximumPayloadSize: Int? = nil, lossless: [String] = [],
                losslessTimeout: Duration = .seconds(1), serves: [String] = [], calls: [String] = [],
                announces: Bool = false, shows: Bool = false
            ) {
                self.name = name
                self.url = url
                self.sends = sends
                self.accepts = accepts
                self.retained = retained
                self.credentials = credentials
                self.certificateAuthority = certificateAuthority
                self.certificate = certificate
                self.key = key
                self.rate = rate
                self.maximumPayloadSize = maximumPayloadSize
                self.lossless = lossless
                self.losslessTimeout = losslessTimeout
                self.serves = serves
                self.calls = calls
                self.announces = announces
                self.shows = shows
            }

            var passesRequests: Bool { !serves.isEmpty || !calls.isEmpty }

            /// The server without a user and a password, for messages.
            var shownURL: String {
                guard let at = url.lastIndex(of: "@"), let scheme = url.range(ofText: "://") else { return url }
                return String(url[..<scheme] + url[url.index(after: at)...])
            }

            func configuration() throws(RelayError) -> LinkConfiguration {
                var configuration = LinkConfiguration(
                    name: name, sends: try list(sends, "sends"), accepts: try list(accepts, "accepts"),
                    retained: retained)
                configuration.serves = try list(serves, "serves")
                configuration.calls = try list(calls, "calls")
                configuration.announces = announces
                configuration.shows = shows
                if let maximumPayloadSize {
                    guard maximumPayloadSize > 0 else {
                        throw RelayError(
                            .invalidLink,
                            "link \"\(name)\" has maximum payload size \(maximumPayloadSize): use at least 1 byte")
                    }
                    configuration.payload = maximumPayloadSize
                }
                guard !lossless.isEmpty else { return configuration }
                let kept = try list(lossless, "keeps")
                guard !kept.mayBeReserved, configuration.sends.covers(kept) else {
                    throw RelayError(
                        .invalidLink,
                        "link \"\(name)\" has lossless names that it does not send, or names that begin with "
                            + "tidings.: give names and prefixes (com.example.*) of those that it sends")
                }
                guard losslessTimeout >= .milliseconds(1), losslessTimeout <= .seconds(86_400) else {
                    throw RelayError(
                        .invalidLink, "link \"\(name)\" has lossless timeout \(losslessTimeout): use 1 ms to a day")
                }
                configuration.lossless = kept
                let (seconds, attoseconds) = losslessTimeout.components
                configuration.losslessTimeout = UInt64(seconds * 1000 + attoseconds / 1_000_000_000_000_000)
                return configuration
            }

            private func list(_ texts: [String], _ verb: String) throws(RelayError) -> NameList {
                var names: [LinkName] = []
                var prefixes: [LinkName] = []
                for text in texts {
                    let isPrefix = text.utf8.last == UInt8(ascii: "*")
                    let name = isPrefix ? String(text.dropLast()) : text
                    guard !name.utf8.contains(UInt8(ascii: "*")), isPrefix || !name.isEmpty, name.utf8.count <= 255,
                        !name.utf8.contains(0)
                    else {
                        throw RelayError(
                            .invalidLink,
                            "link \"\(self.name)\" \(verb) \"\(text)\": use a name of 1 to 255 bytes, a prefix and a "
                                + "star at its end (com.example.*), or * for all names")
                    }
                    if isPrefix { prefixes.append(LinkName(name)) } else { names.append(LinkName(name)) }
                }
                guard names.count <= 4096, prefixes.count <= 128 else {
                    throw RelayError(
                        .invalidLink,
                        "link \"\(self.name)\" \(verb) \(names.count) names and \(prefixes.count) prefixes: use at "
                            + "most 4096 and 128")
                }
                return NameList(names: names, prefixes: prefixes)
            }

            private var isTLS: Bool { url.hasPrefix("tls://") || url.hasPrefix("tls-listen://") }

            private func checkURL() throws(RelayError) {
                guard isTLS || url.hasPrefix("nats://") && url.utf8.count > 7, !url.utf8.contains(0) else {
                    throw RelayError(
                        .invalidLink,
                        "link \"\(name)\" has the URL \"\(shownURL)\": use nats://HOST:PORT, tls://HOST:PORT or "
                            + "tls-listen://ADDRESS:PORT")
                }
                guard isTLS else {
                    guard certificate == nil, key == nil else {
                        throw RelayError(
                            .invalidLink,
                            "link \"\(name)\" has a certificate or a key, which a server of NATS does not ask for: "
                                + "give its credentials")
                    }
                    return
                }
                do throws(TransportError) {
                    _ = try tlsOptions()
                } catch {
                    throw RelayError(.invalidLink, "link \"\(name)\": \(error.message)")
                }
            }

            private func tlsOptions() throws(TransportError) -> TLSOptions {
                guard let certificate, let key, let certificateAuthority else {
                    throw TransportError(
                        errno: EINVAL,
                        message: "a TLS link needs a certificate, its key, and the authority of the other end's "
                            + "certificate: give all three files")
                }
                return try TLSOptions(url: url, certificate: certificate, key: key, authority: certificateAuthority)
            }

            /// Connects. May take seconds.
            func open(_ onEvent: @escaping @Sendable (LinkEvent) -> Void) throws(TransportError) -> any LinkTransport {
                if isTLS { return try TLSTransport(tlsOptions(), onEvent: onEvent) }
                return try NATSTransport(
                    NATSOptions(
                        url: url, link: name, credentials: credentials, certificateAuthority: certificateAuthority),
                    onEvent: onEvent)
            }

            /// Whether a connection of this link can serve the other one.
            func isConnectedAs(_ other: Link) -> Bool {
                name == other.name && url == other.url && credentials == other.credentials
                    && certificateAuthority == other.certificateAuthority && certificate == other.certificate
                    && key == other.key
            }

            static func check(_ links: [Link]) throws(RelayError) -> [LinkConfiguration] {
                guard !links.isEmpty else {
                    throw RelayError(.invalidLink, "a relay needs a link; give one")
                }
                var names: Set<String> = []
                var configurations: [LinkConfiguration] = []
                for link in links {
                    let isName = link.name.utf8.allSatisfy {
                        (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                            || $0 == 0x2D || $0 == 0x5F
                    }
                    guard isName, (1...64).contains(link.name.utf8.count) else {
                        throw RelayError(
                            .invalidLink,
                            "can't use link name \"\(link.name)\": use 1 to 64 letters, digits, - and _")
                    }
                    guard names.insert(link.name).inserted else {
                        throw RelayError(
                            .invalidLink, "two links have the name \"\(link.name)\": give each a name of its own")
                    }
                    try link.checkURL()
                    guard
                        !link.sends.isEmpty || !link.accepts.isEmpty || link.passesRequests || link.announces
                            || link.shows
                    else {
                        throw RelayError(
                            .invalidLink,
                            "link \"\(link.name)\" sends, accepts, serves and calls nothing: name what "
                                + "passes")
                    }
                    // A frame of items may wait, and the beats behind it, but for less time than a peer may be silent.
                    if let rate = link.rate, rate < 1000 {
                        throw RelayError(.invalidLink, "link \"\(link.name)\" has rate \(rate): use at least 1000")
                    }
                    configurations.append(try link.configuration())
                }
                let prefixes = Set(configurations.flatMap { $0.sends.prefixes + $0.accepts.prefixes })
                guard prefixes.count <= 128 else {
                    throw RelayError(
                        .invalidLink, "the links have \(prefixes.count) prefixes together: use at most 128")
                }
                return configurations
            }
        }
    }

    extension String {
        /// Behind the first occurrence of a text.
        fileprivate func range(ofText text: String) -> String.Index? {
            var index = startIndex
            while index < endIndex {
                if self[index...].hasPrefix(text) { return self.index(index, offsetBy: text.count) }
                index = self.index(after: index)
            }
            return nil
        }
    }

    /// Why a relay can't run, in one line: what was tried, why it failed, what to do.
    ///
    /// ```swift
    /// do {
    ///     _ = try Relay.links(inFile: "/etc/tidings/relay.json")
    /// } catch where error.code == .invalidFile {
    ///     print(error.message)
    /// }
    /// ```
    public struct RelayError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The kinds of errors, as ``RelayError`` shows. Later versions may add some.
        public struct Code: Hashable, Sendable {
            private let value: UInt8
            /// A link's configuration is not valid.
            public static let invalidLink = Code(value: 1)
            /// Another relay has the center.
            public static let isRelayed = Code(value: 2)
            /// The center can't be opened, read or posted to.
            public static let center = Code(value: 3)
            /// The center was removed while the relay ran.
            public static let removed = Code(value: 4)
            /// A configuration file can't be read, or is not valid.
            public static let invalidFile = Code(value: 5)
        }

        /// The kind of error.
        public let code: Code
        /// The line, in the caller's words.
        public let message: String
        /// The message.
        public var description: String { message }

        init(_ code: Code, _ message: String) {
            self.code = code
            self.message = message
        }
    }
#endif
