// What stands between two relays, and is killed: a nats-server, or a process that passes on what a connection brings.

import Foundation
import TidingsRelay

/// Debian has it in a folder that is not everyone's path.
func natsServer() -> String {
    let paths: [String] = ["/usr/sbin/nats-server", "/usr/bin/nats-server", "/usr/local/bin/nats-server"]
    return paths.first { access($0, X_OK) == 0 } ?? "nats-server"
}

/// A process of its own that listens at a port of 127.0.0.1.
final class Between: @unchecked Sendable {
    private let program: String
    private let arguments: [String]
    private let port: UInt16
    private var process: Process?

    init(_ program: String, _ arguments: [String], port: UInt16) {
        self.program = program
        self.arguments = arguments
        self.port = port
    }

    func start() throws {
        let process = Process()
        // It ends with this process, also if that is killed.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        process.arguments = ["--pdeathsig", "KILL", program] + arguments
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        self.process = process
        // The port is open when a connection works. The watchdog of run.sh ends a wait without an end.
        while true {
            let probe = connected(to: port)
            if probe >= 0 {
                Glibc.close(probe)
                return
            }
            guard process.isRunning else { throw Failed(line: "\(program) ended with \(process.terminationStatus)") }
            usleep(10_000)
        }
    }

    func send(_ signal: Int32) {
        if let process { Glibc.kill(process.processIdentifier, signal) }
    }

    func kill() {
        guard let process else { return }
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        self.process = nil
    }
}

func withAddress<Result>(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
}

func tcpSocket() -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var one: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, 4)
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
    return descriptor
}

/// -1: nothing listens there.
func connected(to port: UInt16) -> Int32 {
    let descriptor = tcpSocket()
    if withAddress(port, { connect(descriptor, $0, $1) }) == 0 { return descriptor }
    Glibc.close(descriptor)
    return -1
}

func listening(at port: UInt16) -> Int32 {
    let descriptor = tcpSocket()
    guard withAddress(port, { bind(descriptor, $0, $1) }) == 0, listen(descriptor, 16) == 0 else { return -1 }
    return descriptor
}

/// `transports forward PORT TO`: each connection to PORT is passed on to TO.
func forward(_ port: UInt16, _ to: UInt16) -> Never {
    func pump(_ from: Int32, _ to: Int32) {
        Thread.detachNewThread {
            var bytes = [UInt8](repeating: 0, count: 1 << 18)
            while true {
                let count = read(from, &bytes, bytes.count)
                guard count > 0 else { break }
                var sent = 0
                while sent < count {
                    let wrote = bytes.withUnsafeBytes {
                        send(to, $0.baseAddress! + sent, count - sent, Int32(MSG_NOSIGNAL))
                    }
                    guard wrote > 0 else { break }
                    sent += wrote
                }
                guard sent == count else { break }
            }
            // Both directions end: the other thread's read and write fail.
            shutdown(from, Int32(SHUT_RDWR))
            shutdown(to, Int32(SHUT_RDWR))
        }
    }
    let listener = listening(at: port)
    guard listener >= 0 else { exit(1) }
    while true {
        let here = accept(listener, nil, nil)
        var one: Int32 = 1
        setsockopt(here, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        let there = connected(to: to)
        guard here >= 0, there >= 0 else {
            // Without its peer the connection ends.
            Glibc.close(here)
            Glibc.close(there)
            continue
        }
        pump(here, there)
        pump(there, here)
    }
}
