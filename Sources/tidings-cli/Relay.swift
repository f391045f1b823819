// The command `tidings relay`.
import ArgumentParser
import Dispatch
import Glibc
import Tidings

#if Relay
    import Logging
    import TidingsRelay
#endif

struct RelayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay",
        abstract: "Relay notifications to the centers of other machines, and theirs to this one.",
        discussion: """
            A link joins two relays, which have the link's name in common. A server of NATS (2.9 or later) carries it. \
            On each of two machines:

              tidings relay --center player --link nats://broker:4222 --out 'com.example.*' --in 'com.example.*'

            Without a server, one end listens (tls-listen://0.0.0.0:4433), and the other one connects \
            (tls://host:4433); each has a certificate, and accepts those that --tls-ca has signed.

            With --config, a JSON file has the links, and SIGHUP reads it again:

              {"links": [{"name": "tokyo", "url": "nats://broker:4222", "out": ["com.example.*"],
                          "in": ["com.example.*"], "retained": true, "credentials": "/etc/tidings/tokyo.creds",
                          "tls-ca": "/etc/tidings/ca.pem", "rate": 10000}]}

            A center has one relay. Another one with --standby waits until the first one ends, and goes on for it. \
            What the ring loses meanwhile is counted exactly.

            A relay that cannot reach its server tries again until it can. Standard error \
            reports when a link connects, and why it does not; "tidings stat" shows the links. SIGINT (Control-C) and \
            SIGTERM end the command with status 0. If the center is removed, the command ends with status 1.

            This command is a part of builds with the trait Relay: swift build --traits Relay.
            """)

    @OptionGroup var options: CenterOptions

    @Option(
        help: ArgumentHelp(
            "The server, or the other end: nats://host:port, tls://host:port, tls-listen://address:port.",
            valueName: "url"))
    var link: String?

    @Option(help: ArgumentHelp("The link's name: letters, digits, - and _.", valueName: "name"))
    var name = "default"

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("Names to send; com.example.* for all names with this prefix.", valueName: "names"))
    var out: [String] = []

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("Names to accept, as for --out.", valueName: "names"))
    var `in`: [String] = []

    @Flag(help: "Pass retained values as such, and make them equal after each connection. Both ends need it.")
    var retained = false

    @Option(
        help: ArgumentHelp("A file with a JWT and a key for the server.", valueName: "file"), completion: .file())
    var credentials: String?

    @Option(
        name: .customLong("tls-ca"),
        help: ArgumentHelp("Require TLS, and certificates that those in this file have signed.", valueName: "file"),
        completion: .file())
    var certificateAuthority: String?

    @Option(
        name: .customLong("tls-cert"),
        help: ArgumentHelp("For tls: a file with this end's certificate.", valueName: "file"), completion: .file())
    var certificate: String?

    @Option(
        name: .customLong("tls-key"),
        help: ArgumentHelp("For tls: a file with the certificate's key.", valueName: "file"), completion: .file())
    var key: String?

    @Option(help: ArgumentHelp("Accept at most this many notifications a second.", valueName: "n"))
    var rate: Int?

    @Option(
        name: .customLong("maximum-payload"),
        help: ArgumentHelp(
            "Accept payloads of at most this size, as 4096, 64KiB or 1MiB.", valueName: "bytes"))
    var maximumPayload: ByteCount?

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "Names of --out to keep until the other end has them; posts wait if the ring is full of these.",
            valueName: "names"))
    var lossless: [String] = []

    @Option(
        name: .customLong("lossless-timeout"),
        help: ArgumentHelp(
            "How long posts may wait if the other end acknowledges nothing: 1s unless given.", valueName: "seconds"))
    var losslessTimeout: Seconds?

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("Names of requests that servers here answer for the other end.", valueName: "names"))
    var serve: [String] = []

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "Names of requests that servers of the other end may answer, if none here does.", valueName: "names"))
    var call: [String] = []

    @Flag(help: "Let the other end show the participants that are announced here.")
    var announce = false

    @Flag(help: "Show the participants of the other end: tidings observe --presence --origin remote.")
    var show = false

    @Option(help: ArgumentHelp("A JSON file with the links.", valueName: "file"), completion: .file())
    var config: String?

    @Flag(help: "If the center has a relay, wait until that ends, and go on for it.")
    var standby = false

    func validate() throws {
        guard (link == nil) != (config == nil) else {
            throw ValidationError("Give --link or --config.")
        }
        let isAlone =
            out.isEmpty && `in`.isEmpty && !retained && rate == nil && maximumPayload == nil && name == "default"
            && lossless.isEmpty && serve.isEmpty && call.isEmpty && !announce && !show && losslessTimeout == nil
            && [credentials, certificateAuthority, certificate, key].allSatisfy { $0 == nil }
        if config != nil, !isAlone {
            throw ValidationError("With --config, give the links in the file, and no other option of a link.")
        }
        if link != nil, out.isEmpty, `in`.isEmpty, serve.isEmpty, call.isEmpty, !announce, !show {
            throw ValidationError("Give the names that pass: --out, --in, --serve or --call. Or --announce, --show.")
        }
    }

    #if Relay
        func run() throws {
            let running = Locked<(relay: Relay, task: Task<Void, any Error>)?>(nil)
            let hasEnded = Locked(false)
            // Later threads inherit the blocked signals.
            let end: @Sendable () -> Void = {
                hasEnded.withLock { $0 = true }
                running.withLock { $0 }?.task.cancel()
            }
            let isEarlyReload = Locked(false)
            onSignals([
                SIGINT: end, SIGTERM: end,
                SIGHUP: {
                    guard let relay = running.withLock({ $0 })?.relay else {
                        return isEarlyReload.withLock { $0 = true }
                    }
                    reload(relay)
                },
            ])
            let links = try links()
            let center = try options.open()
            let logger = Logger(label: "tidings.relay") { _ in TerminalLog() }
            do {
                let relay = try Relay(center, links: links, standby: standby, logger: logger)
                let done = DispatchSemaphore(value: 0)
                let outcome = Locked<Result<Void, any Error>>(.success(()))
                let task = Task { try await relay.run() }
                running.withLock { $0 = (relay, task) }
                if hasEnded.withLock({ $0 }) { task.cancel() }
                if isEarlyReload.withLock({ $0 }) { reload(relay) }
                Task {
                    let result = await task.result
                    outcome.withLock { $0 = result }
                    done.signal()
                }
                done.wait()
                try outcome.withLock { $0 }.get()
            } catch let error as RelayError {
                throw Failure(error.message)
            }
        }

        private func links() throws -> [Relay.Link] {
            do throws(RelayError) {
                if let config { return try Relay.links(inFile: config) }
            } catch {
                throw Failure(error.message)
            }
            return [
                Relay.Link(
                    name, url: link ?? "", sends: out, accepts: `in`, retained: retained, credentials: credentials,
                    certificateAuthority: certificateAuthority, certificate: certificate, key: key, rate: rate,
                    maximumPayloadSize: maximumPayload?.value, lossless: lossless,
                    losslessTimeout: losslessTimeout.map { .seconds($0.value) } ?? .seconds(1),
                    serves: serve, calls: call, announces: announce, shows: show)
            ]
        }

        /// A file that is not valid changes nothing.
        private func reload(_ relay: Relay) {
            guard let config else { return }
            do {
                let links = try Relay.links(inFile: config)
                try relay.reload(links)
                Terminal.note("read \(config): \(counted(links.count, "link"))")
            } catch {
                Terminal.note("\(error); the links stay as they are")
            }
        }
    #else
        func run() throws {
            Terminal.note("this command was built without the relay: build it with \"swift build --traits Relay\"")
            throw ExitCode(64)
        }
    #endif
}

#if Relay
    /// Writes a relay's lines as the command's own lines.
    private struct TerminalLog: LogHandler {
        var logLevel = Logger.Level.info
        var metadata: Logger.Metadata = [:]
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            Terminal.note("\(event.message)")
        }
    }
#endif
