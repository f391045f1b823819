// The ends of a direct connection, and how its two relays know each other.

#if Relay
    internal import Glibc
    internal import NIOSSL

    /// One side listens, the other one connects. Both have a certificate, and each accepts only those of its authority.
    package struct TLSOptions: Hashable, Sendable {
        package var isListening: Bool
        package var host: String
        /// 0: the system chooses one, for a side that listens.
        package var port: Int
        /// Files in the format PEM: this side's certificate (with those between it and the authority), its key, and
        /// the certificates of the authority.
        package var certificate: String
        package var key: String
        package var authority: String

        /// - Parameter url: `tls://host:port` connects, `tls-listen://address:port` listens. An IPv6 address is in
        ///   brackets.
        package init(url: String, certificate: String, key: String, authority: String) throws(TransportError) {
            let schemes = [("tls://", false), ("tls-listen://", true)]
            guard let (scheme, isListening) = schemes.first(where: { url.hasPrefix($0.0) }) else {
                throw Self.refused(url, "it does not begin with tls:// or tls-listen://")
            }
            var rest = url.dropFirst(scheme.count)
            if rest.last == "/" { rest = rest.dropLast() }
            guard let colon = rest.lastIndex(of: ":"), let port = UInt16(rest[rest.index(after: colon)...]) else {
                throw Self.refused(url, "it does not end with a port, as tls://host:4433 does")
            }
            var host = rest[..<colon]
            if host.first == "[", host.last == "]" {
                host = host.dropFirst().dropLast()
            } else if host.contains(":") {
                throw Self.refused(url, "write an IPv6 address in brackets, as in tls://[::1]:4433")
            }
            guard !host.isEmpty, port > 0 || isListening else {
                throw Self.refused(url, "it lacks a \(host.isEmpty ? "host" : "port")")
            }
            self.isListening = isListening
            self.host = String(host)
            self.port = Int(port)
            self.certificate = certificate
            self.key = key
            self.authority = authority
        }

        var url: String {
            "\(isListening ? "tls-listen" : "tls")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
        }

        private static func refused(_ url: String, _ why: String) -> TransportError {
            TransportError(errno: EINVAL, message: "can't use link address \"\(url)\": \(why)")
        }

        /// Reads the files.
        func context() throws(TransportError) -> NIOSSLContext {
            let chain = try Self.read(certificate, "a certificate") { try NIOSSLCertificate.fromPEMFile($0) }
            guard !chain.isEmpty else { throw Self.unreadable(certificate, "a certificate", "it has none") }
            let key = try Self.read(key, "a key") { try NIOSSLPrivateKey(file: $0, format: .pem) }
            let authorities = try Self.read(authority, "an authority") { try NIOSSLCertificate.fromPEMFile($0) }
            guard !authorities.isEmpty else { throw Self.unreadable(authority, "an authority", "it has none") }
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
            if !isListening {
                configuration = .makeClientConfiguration()
                configuration.certificateChain = chain.map { .certificate($0) }
                configuration.privateKey = .privateKey(key)
            }
            configuration.minimumTLSVersion = .tlsv13
            configuration.trustRoots = .certificates(authorities)
            // A client has no name that the listening side could expect: its certificate alone decides.
            configuration.certificateVerification = isListening ? .noHostnameVerification : .fullVerification
            do {
                return try NIOSSLContext(configuration: configuration)
            } catch {
                throw TransportError(
                    errno: EINVAL,
                    message: "can't use certificate \(certificate) with key \(self.key): \(TLSReason.text(of: error)); "
                        + "give the key that belongs to it")
            }
        }

        private static func read<Result>(
            _ path: String, _ what: String, _ body: (String) throws -> Result
        ) throws(TransportError) -> Result {
            guard access(path, R_OK) == 0 else { throw unreadable(path, what, String(cString: strerror(errno)), errno) }
            do { return try body(path) } catch { throw unreadable(path, what, "it is not in the format PEM") }
        }

        private static func unreadable(
            _ path: String, _ what: String, _ why: String, _ errno: Int32 = EINVAL
        ) -> TransportError {
            TransportError(errno: errno, message: "can't read \(what) from \(path): \(why)")
        }
    }
#endif
