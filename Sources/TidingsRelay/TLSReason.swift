// Errors of connections, as words.

#if Relay
    internal import NIOSSL

    enum TLSReason {
        /// BoringSSL's names of the errors that a wrong certificate or a wrong peer causes.
        private static let known = [
            ("CERTIFICATE_VERIFY_FAILED", "its certificate is not of this link's authority, or has expired"),
            ("CERTIFICATE_REQUIRED", "it asks for a certificate"),
            ("PEER_DID_NOT_RETURN_A_CERTIFICATE", "it has no certificate"),
            ("ALERT_UNKNOWN_CA", "it does not accept the certificate of this side"),
            ("ALERT_CERTIFICATE_UNKNOWN", "it does not accept the certificate of this side"),
            ("ALERT_BAD_CERTIFICATE", "it does not accept the certificate of this side"),
            ("ALERT_CERTIFICATE_EXPIRED", "the certificate of this side has expired"),
            ("EOF during handshake", "it ended the connection before it had proved anything"),
            ("WRONG_VERSION_NUMBER", "it does not speak TLS"), ("HTTP_REQUEST", "it does not speak TLS"),
            ("UNSUPPORTED_PROTOCOL", "it does not speak TLS 1.3"), ("PROTOCOL_VERSION", "it does not speak TLS 1.3"),
            ("KEY_VALUES_MISMATCH", "the key belongs to another certificate"),
        ]

        static func text(of error: any Error) -> String {
            switch error {
            case NIOSSLError.uncleanShutdown: return "the peer ended"
            case is NIOSSLExtraError:
                return "its certificate is for another host than the address names"
            default:
                let line = String(describing: error)
                if let (_, text) = known.first(where: { line.contains($0.0) }) { return text }
                // The name that follows "OPENSSL_internal:", if there is one.
                if let name = line.split(separator: ":").first(where: { $0.contains("_") && $0 == $0.uppercased()[...] }
                ) {
                    return "TLS failed with \(name)"
                }
                return line.split(separator: "\n").first.map(String.init) ?? "TLS failed"
            }
        }
    }
#endif
