// The configuration file of a relay: strict JSON, whose faults are reported with their line.

#if Relay
    internal import Glibc

    extension Relay {
        /// The links of a configuration file.
        ///
        /// ```swift
        /// let links = try Relay.links(inFile: "/etc/tidings/relay.json")
        /// ```
        ///
        /// The file is JSON: `{"links": [{"name": "tokyo", "url": "nats://host:4222", "out": ["com.*"], "in": []}]}`.
        /// Further keys of a link: `retained` (a Boolean), `credentials`, `tls-ca`, `tls-cert` and `tls-key` (paths),
        /// `rate` (a number), `maximum-payload` (bytes), `lossless` (names), `lossless-timeout` (whole seconds),
        /// `serve` and `call` (names of requests), `announce` and `show` (Booleans, of participants).
        ///
        /// - Parameter path: a file of at most 1 MiB.
        /// - Throws: ``RelayError``: `.invalidFile`, with the line of the fault and the key; `.invalidLink`.
        public static func links(inFile path: String) throws(RelayError) -> [Link] {
            var parser = RelayFile(path: path, bytes: try RelayFile.read(path))
            let links = try parser.links()
            _ = try Link.check(links)
            return links
        }
    }

    private struct RelayFile {
        private static let limit = 1 << 20

        let path: String
        let bytes: [UInt8]
        var at = 0
        var line = 1

        init(path: String, bytes: [UInt8]) {
            self.path = path
            self.bytes = bytes
        }

        static func read(_ path: String) throws(RelayError) -> [UInt8] {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw fault(path, String(cString: strerror(errno))) }
            defer { close(descriptor) }
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while bytes.count <= limit {
                let count = Glibc.read(descriptor, &buffer, buffer.count)
                if count < 0 {
                    if errno == EINTR { continue }
                    throw fault(path, String(cString: strerror(errno)))
                }
                if count == 0 { return bytes }
                bytes += buffer[..<count]
            }
            throw fault(path, "it has more than 1 MiB")
        }

        private static func fault(_ path: String, _ why: String) -> RelayError {
            RelayError(.invalidFile, "can't read \(path): \(why)")
        }

        private func fault(_ why: String) -> RelayError {
            RelayError(.invalidFile, "\(path), line \(line): \(why)")
        }

        mutating func links() throws(RelayError) -> [Relay.Link] {
            var links: [Relay.Link]?
            try object(of: "the file") { (parser, key) throws(RelayError) in
                guard key == "links" else { throw parser.fault("unknown key \"\(key)\": the one key is \"links\"") }
                links = try parser.array(of: key) { parser throws(RelayError) in try parser.link() }
            }
            skipSpace()
            guard at == bytes.count else { throw fault("text behind the end of the object") }
            guard let links, !links.isEmpty else { throw fault("no links: add one to \"links\"") }
            return links
        }

        private mutating func link() throws(RelayError) -> Relay.Link {
            var link = Relay.Link("", url: "")
            let begin = line
            try object(of: "a link") { (parser, key) throws(RelayError) in
                switch key {
                case "name": link.name = try parser.string(of: key)
                case "url": link.url = try parser.string(of: key)
                case "out": link.sends = try parser.strings(of: key)
                case "in": link.accepts = try parser.strings(of: key)
                case "retained": link.retained = try parser.flag(of: key)
                case "credentials": link.credentials = try parser.string(of: key)
                case "tls-ca": link.certificateAuthority = try parser.string(of: key)
                case "tls-cert": link.certificate = try parser.string(of: key)
                case "tls-key": link.key = try parser.string(of: key)
                case "rate": link.rate = try parser.number(of: key)
                case "maximum-payload": link.maximumPayloadSize = try parser.number(of: key)
                case "announce": link.announces = try parser.flag(of: key)
                case "show": link.shows = try parser.flag(of: key)
                case "serve": link.serves = try parser.strings(of: key)
                case "call": link.calls = try parser.strings(of: key)
                case "lossless": link.lossless = try parser.strings(of: key)
                case "lossless-timeout":
                    let seconds = try parser.number(of: key)
                    guard (1...86_400).contains(seconds) else {
                        throw parser.fault("\"\(key)\" is \(seconds): use 1 to 86400 seconds")
                    }
                    link.losslessTimeout = .seconds(seconds)
                default:
                    throw parser.fault(
                        "unknown key \"\(key)\" of a link: use name, url, out, in, retained, credentials, tls-ca, "
                            + "tls-cert, tls-key, rate, maximum-payload, lossless, lossless-timeout, serve, call, "
                            + "announce, show")
                }
            }
            for (key, value) in [("name", link.name), ("url", link.url)] where value.isEmpty {
                line = begin
                throw fault("a link without \"\(key)\"")
            }
            return link
        }

        // MARK: - JSON

        private mutating func skipSpace() {
            while at < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[at]) {
                if bytes[at] == 0x0A { line += 1 }
                at += 1
            }
        }

        private mutating func take(_ character: Unicode.Scalar) -> Bool {
            skipSpace()
            guard at < bytes.count, bytes[at] == UInt8(ascii: character) else { return false }
            at += 1
            return true
        }

        private mutating func object(
            of what: String, _ member: (inout RelayFile, String) throws(RelayError) -> Void
        ) throws(RelayError) {
            guard take("{") else { throw fault("\(what) is no object: it begins with {") }
            var keys: Set<String> = []
            if take("}") { return }
            repeat {
                let key = try string(of: "a key")
                guard keys.insert(key).inserted else { throw fault("\"\(key)\" occurs twice") }
                guard take(":") else { throw fault("no : behind \"\(key)\"") }
                try member(&self, key)
            } while take(",")
            guard take("}") else { throw fault("no , or } behind a value of \(what)") }
        }

        private mutating func array<Element>(
            of key: String, _ element: (inout RelayFile) throws(RelayError) -> Element
        ) throws(RelayError) -> [Element] {
            guard take("[") else { throw fault("\"\(key)\" is no list: it begins with [") }
            var elements: [Element] = []
            if take("]") { return elements }
            repeat { elements.append(try element(&self)) } while take(",")
            guard take("]") else { throw fault("no , or ] in \"\(key)\"") }
            return elements
        }

        private mutating func strings(of key: String) throws(RelayError) -> [String] {
            try array(of: key) { parser throws(RelayError) in try parser.string(of: key) }
        }

        private mutating func flag(of key: String) throws(RelayError) -> Bool {
            let word = word()
            guard word == "true" || word == "false" else { throw fault("\"\(key)\" is neither true nor false") }
            return word == "true"
        }

        private mutating func number(of key: String) throws(RelayError) -> Int {
            guard let number = Int(word()) else { throw fault("\"\(key)\" is no whole number") }
            return number
        }

        private mutating func word() -> String {
            skipSpace()
            let begin = at
            while at < bytes.count, (0x61...0x7A).contains(bytes[at]) || (0x2B...0x39).contains(bytes[at]),
                bytes[at] != UInt8(ascii: ",")
            { at += 1 }
            return String(decoding: bytes[begin..<at], as: UTF8.self)
        }

        private mutating func string(of key: String) throws(RelayError) -> String {
            let what = key == "a key" ? key : "\"\(key)\""
            guard take("\"") else { throw fault("\(what) is no text: it begins with \"") }
            var text: [UInt8] = []
            while at < bytes.count {
                let byte = bytes[at]
                at += 1
                switch byte {
                case UInt8(ascii: "\""):
                    guard let text = String(validating: text, as: UTF8.self) else { throw fault("a text is no UTF-8") }
                    return text
                case UInt8(ascii: "\\"): try escape(into: &text)
                case 0..<0x20: throw fault("a text ends with its line: write \\n, or a \" at its end")
                default: text.append(byte)
                }
            }
            throw fault("a text has no end")
        }

        private mutating func escape(into text: inout [UInt8]) throws(RelayError) {
            guard at < bytes.count else { throw fault("a text has no end") }
            let byte = bytes[at]
            at += 1
            let plain: [UInt8: UInt8] = [
                0x22: 0x22, 0x5C: 0x5C, 0x2F: 0x2F, 0x62: 0x08, 0x66: 0x0C, 0x6E: 0x0A, 0x72: 0x0D, 0x74: 0x09,
            ]
            if let one = plain[byte] { return text.append(one) }
            guard byte == UInt8(ascii: "u"), let first = hexadecimal() else { throw fault("an escape is not JSON's") }
            var scalar = first
            if (0xD800..<0xDC00).contains(first) {
                guard at + 1 < bytes.count, bytes[at] == 0x5C, bytes[at + 1] == UInt8(ascii: "u") else {
                    throw fault("an escape is not JSON's")
                }
                at += 2
                guard let second = hexadecimal(), (0xDC00..<0xE000).contains(second) else {
                    throw fault("an escape is not JSON's")
                }
                scalar = 0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)
            }
            guard let character = Unicode.Scalar(scalar) else { throw fault("an escape is not JSON's") }
            text.append(contentsOf: Array(String(Character(character)).utf8))
        }

        private mutating func hexadecimal() -> UInt32? {
            guard at + 4 <= bytes.count, bytes[at] != 0x2B, bytes[at] != 0x2D,
                let number = UInt32(String(decoding: bytes[at..<(at + 4)], as: UTF8.self), radix: 16)
            else { return nil }
            at += 4
            return number
        }
    }
#endif
