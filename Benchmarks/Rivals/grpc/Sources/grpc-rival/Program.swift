import CTidingsBench
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Glibc

/// gRPC over a Unix socket, unary calls of plain bytes. The same orders and answers as the other rivals', see rival.c,
/// of which it knows `call` alone. Side 0, which reads orders, is the client. Side 1, the server, is this program too.
@main
struct Program {
    static let method = MethodDescriptor(fullyQualifiedService: "org.example.Rival", method: "Call")

    /// On the main thread: the kernel ends the server with the thread that has started it.
    @MainActor
    static func main() async {
        let arguments = CommandLine.arguments
        do {
            if arguments.count == 5, arguments[1] == "--serve", let parent = Int32(arguments[2]) {
                bench_die_with(parent)
                try confine(to: arguments[4])
                try await serve(at: arguments[3])
            } else if arguments.count == 3, arguments[1] == "--cpus" {
                bench_die_with(getppid())
                let cores = arguments[2].split(separator: ",").map(String.init)
                guard cores.count == 2 else { throw Failure("usage: grpc --cpus A,B") }
                let directory = "/dev/shm/tidings-rival.\(getpid())"
                guard mkdir(directory, 0o700) == 0 else { throw Failure("can't create \(directory)") }
                defer { remove(directory) }
                let server = try startServer(at: "\(directory)/calls", core: cores[1])
                try confine(to: cores[0])
                try await call(in: directory)
                bench_kill(server)
                _ = bench_wait(server, 10)
            } else {
                throw Failure("usage: grpc --cpus A,B")
            }
        } catch {
            var text = "grpc: \(error)\n"
            _ = text.withUTF8 { write(STDERR_FILENO, $0.baseAddress, $0.count) }
            exit(1)
        }
    }

    /// All threads that this process will have, too.
    private static func confine(to core: String) throws {
        guard let core = Int32(core), bench_pin(core) == 0 else { throw Failure("can't go to processor \(core)") }
        bench_calibrate()
    }

    // MARK: Side 1

    private static func serve(at path: String) async throws {
        let transport = HTTP2ServerTransport.Posix(
            address: .unixDomainSocket(path: path), transportSecurity: .plaintext)
        try await GRPCServer(transport: transport, services: [Replies()]).serve()
    }

    private struct Replies: RegistrableRPCService {
        func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
            router.registerHandler(forMethod: Program.method, deserializer: Plain(), serializer: Plain()) {
                request, _ in
                let request = try await ServerRequest(stream: request).message
                let number = try Content.number(in: request, size: request.count)
                return StreamingServerResponse(
                    single: ServerResponse(message: Content.bytes(number, size: request.count)))
            }
        }
    }

    // MARK: Side 0

    private static func startServer(at path: String, core: String) throws -> Int32 {
        let arguments = [CommandLine.arguments[0], "--serve", String(getpid()), path, core]
        var pointers: [UnsafePointer<CChar>?] = arguments.map { UnsafePointer(strdup($0)) }
        pointers.append(nil)
        defer { for pointer in pointers { free(UnsafeMutableRawPointer(mutating: pointer)) } }
        var server: Int32 = 0
        guard bench_spawn(pointers, &server) == 0 else { throw Failure("can't start the server") }
        return server
    }

    private static func remove(_ directory: String) {
        unlink("\(directory)/calls")
        rmdir(directory)
    }

    private static func call(in directory: String) async throws {
        let path = "\(directory)/calls"
        for _ in 0..<15_000 where access(path, F_OK) != 0 { usleep(1000) }
        let transport = try HTTP2ClientTransport.Posix(
            target: .unixDomainSocket(path: path), transportSecurity: .plaintext)
        try await withGRPCClient(transport: transport) { client in
            _ = try await exchange(client, 0, size: 8)
            // Connected: nothing is left behind from here on, however this process ends.
            remove(directory)
            print("ready grpc grpc-swift-2 2.4.3")
            fflush(nil)
            var generation: UInt64 = 0
            while let line = readLine(), line != "quit" {
                let words = line.split(separator: " ")
                guard words.count == 3, words[0] == "call", let count = Int(words[1]), let size = Int(words[2]),
                    count > 0, size >= 8, size % 8 == 0
                else { throw Failure("what is \"\(line)\"?") }
                generation += 1
                try await calls(client, count, size: size, first: generation << 32)
                fflush(nil)
            }
        }
    }

    /// Half a call each. A tenth more, before those that count, is warm-up.
    private static func calls(
        _ client: GRPCClient<HTTP2ClientTransport.Posix>, _ count: Int, size: Int, first: UInt64
    ) async throws {
        let warm = count / 10
        var samples: [UInt64] = []
        samples.reserveCapacity(count)
        for index in 0..<warm + count {
            let start = bench_ticks()
            try await exchange(client, first + UInt64(index), size: size)
            let ticks = bench_ticks() - start
            if index >= warm { samples.append(bench_picoseconds(ticks) / 2) }
        }
        for sample in samples { print((sample + 500) / 1000) }
        print()
    }

    private static func exchange(
        _ client: GRPCClient<HTTP2ClientTransport.Posix>, _ number: UInt64, size: Int
    ) async throws {
        let request = ClientRequest(message: Content.bytes(number, size: size))
        let reply = try await client.unary(
            request: request, descriptor: method, serializer: Plain(), deserializer: Plain(), options: .defaults
        ) { try $0.message }
        guard try Content.number(in: reply, size: size) == number else { throw Failure("reply of another call") }
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// In place of protocol buffers, as the messages are bytes.
struct Plain: MessageSerializer, MessageDeserializer {
    func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) -> Bytes { Bytes(message) }
    func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) -> [UInt8] { bytes.withUnsafeBytes { Array($0) } }
}

/// What a message of rival.c contains: every word depends on the number.
enum Content {
    private static let step: UInt64 = 0x9e37_79b9_7f4a_7c15

    static func bytes(_ number: UInt64, size: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            let words = UnsafeMutableRawBufferPointer(buffer)
            for index in 0..<size / 8 {
                words.storeBytes(of: number &+ UInt64(index) &* step, toByteOffset: index * 8, as: UInt64.self)
            }
            count = size
        }
    }

    static func number(in bytes: [UInt8], size: Int) throws -> UInt64 {
        guard bytes.count == size, size >= 8 else { throw Failure("a message of \(bytes.count) bytes") }
        return try bytes.withUnsafeBytes { buffer in
            let number = buffer.loadUnaligned(as: UInt64.self)
            for index in 0..<size / 8 {
                let word = buffer.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)
                guard word == number &+ UInt64(index) &* step else { throw Failure("wrong contents") }
            }
            return number
        }
    }
}
