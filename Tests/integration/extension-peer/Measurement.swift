import Foundation
import Tidings
import TidingsExtensions

/// Measures what an extension that misbehaves costs a sibling: how long a request to the sibling takes, by turns
/// without and with the other extension. `ExtensionPeer measure [ROUNDS [KIND…]]` prints a line for each kind, the
/// median of the rounds' ratios and the 99th percentiles of all samples. Build it with `-c release`.
enum Measurement {
    private static let samples = 2000

    private struct Kind {
        var name: String
        var arguments: [String]
        var grants: [Grant] = [.serves(Command.self)]
        var limits = LaunchSpecification.Limits()
        /// What the host does with it meanwhile, until its task is cancelled.
        var use: @Sendable (Extension) async -> Void = { _ in }
    }

    private static let kinds = [
        // Nothing but a second extension that is idle.
        Kind(name: "idle", arguments: ["commands"]),
        Kind(name: "spoils its center", arguments: ["spoils"]) { one in
            while !Task.isCancelled {
                try? one.post(Volume(level: 1))
                try? await Task.sleep(for: .milliseconds(1))
            }
        },
        Kind(name: "floods without a grant", arguments: ["floods"]),
        Kind(name: "floods with a grant", arguments: ["floods"], grants: [.posts(Secret.self)]),
        Kind(name: "crashes without end", arguments: ["crashesWhenReady"]),
        Kind(name: "forks", arguments: ["forksWithoutEnd"]),
        Kind(name: "is stopped", arguments: ["commands"]) { one in
            if let pid = one.processIdentifier { kill(pid, SIGSTOP) }
        },
        Kind(name: "never replies", arguments: ["neverReplies"]) { one in
            await withTaskGroup { group in
                for _ in 0..<100 { group.addTask { _ = try? await one.request(Command(text: "pid")) } }
            }
        },
        Kind(name: "replies garbage", arguments: ["repliesGarbage"]) { one in
            while !Task.isCancelled { _ = try? await one.request(Command(text: "pid")) }
        },
        Kind(name: "requests garbage", arguments: ["asksGarbage", "1000000000"], grants: [.requests(Lookup.self)]),
        Kind(name: "exhausts memory", arguments: ["exhaustsMemory"], limits: .init(memory: 2 << 30)),
        Kind(name: "keeps descriptors", arguments: ["keepsDescriptors"]),
        Kind(name: "burns all processors", arguments: ["burns"]),
    ]

    static func run(_ arguments: [String]) async throws {
        let rounds = arguments.first.flatMap { Int($0) } ?? 15
        let host = try ExtensionHost(broadcast: .sealed(named: "broadcast"))
        host.broadcast.onDiagnostic = { _ in }
        try await host.serve(Lookup.self) { request, _ in request.word }
        func specification(_ kind: Kind) -> LaunchSpecification {
            .init(
                executable: CommandLine.arguments[0], arguments: kind.arguments, name: kind.arguments[0],
                grants: kind.grants,
                restart: .always(backoff: .constant(.zero)), limits: kind.limits)
        }
        let sibling = try await host.launch(specification(kinds[0]))
        for kind in kinds where arguments.count < 2 || arguments.dropFirst().contains(kind.name) {
            var (alone, beside): ([[Double]], [[Double]]) = ([], [])
            for _ in 0..<rounds {
                alone.append(try await times(sibling))
                // Fails if the host notices the damage of its center before the extension is ready.
                let other = try? await host.launch(specification(kind))
                let use = Task { if let other { await kind.use(other) } }
                beside.append(try await times(sibling))
                use.cancel()
                await other?.stop(timeout: .zero)
            }
            let ratio = zip(alone, beside).map { $1.at(0.5) / $0.at(0.5) }.sorted().at(0.5)
            let (all, others) = (alone.flatMap(\.self).sorted(), beside.flatMap(\.self).sorted())
            let line =
                kind.name.padding(toLength: 24, withPad: " ", startingAt: 0)
                + String(
                    format: "median %7.1f %7.1f us  ratio %5.2f   p99 %7.1f %7.1f us  ratio %5.2f\n", all.at(0.5),
                    others.at(0.5), ratio, all.at(0.99), others.at(0.99), others.at(0.99) / all.at(0.99))
            FileHandle.standardOutput.write(Data(line.utf8))
        }
        withExtendedLifetime(host) {}
    }

    /// Microseconds of each request, sorted. The first tenth is warm-up.
    private static func times(_ one: Extension) async throws -> [Double] {
        var times: [Double] = []
        for number in 0..<samples * 11 / 10 {
            let start = ContinuousClock.now
            _ = try await one.request(Command(text: "echo a"))
            let time = start.duration(to: .now)
            if number >= samples / 10 { times.append(time / .microseconds(1)) }
        }
        return times.sorted()
    }
}

extension [Double] {
    fileprivate func at(_ part: Double) -> Double { self[Swift.min(count - 1, Int(Double(count) * part))] }
}
