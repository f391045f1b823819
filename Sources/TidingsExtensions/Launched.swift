internal import Glibc
internal import Tidings

/// One start of an extension: its private center, its process, and the socket of the hand-shake.
final class Launched: Sendable {
    /// Counted from 1 for each extension.
    let number: Int
    let center: PrivateCenter
    let process: ExtensionProcess
    private let socket: Int32
    private let answers: SocketWatch

    /// Starts the process. On the host's queue.
    init(_ number: Int, of one: Extension) throws(ExtensionError) {
        let (specification, core, signals) = (one.specification, one.core, one.signals)
        do throws(SharedNotificationError) { center = try PrivateCenter(number, of: one) } catch {
            throw .center(error, of: specification.name)
        }
        do throws(ExtensionError) {
            let (near, far) = try HandShake.sockets(for: specification.name)
            defer { close(far) }
            // Its queue is not the host's, where the answer would wait for the starts of other extensions.
            do throws(ExtensionError) {
                answers = try SocketWatch(near) { signals.yield(.answered(number)) }
                try Self.send(specification, center.center, core.broadcast, over: near)
                process = try core.withLauncher { (launcher) throws(ExtensionError) in
                    try launcher.start(specification, input: far)
                }
            } catch {
                close(near)
                throw error
            }
            socket = near
        } catch {
            center.discard()
            throw error
        }
        self.number = number
        core.whenEnded(process.id) { signals.yield(.ended(number, $0)) }
    }

    /// Sends what the extension receives. All of it fits into the socket, and waits there for the process.
    private static func send(
        _ specification: LaunchSpecification, _ center: SharedNotificationCenter,
        _ broadcast: SharedNotificationCenter, over socket: Int32
    ) throws(ExtensionError) {
        let observes = specification.grants.contains { $0.kind == .observes }
        // Nothing may wait for a process here.
        _ = fcntl(socket, F_SETFL, O_NONBLOCK)
        try HandShake.send(specification.grants, hasBroadcast: observes, to: specification.name, over: socket)
        do throws(SharedNotificationError) {
            try center.send(over: socket)
            if observes { try broadcast.send(over: socket, isReadOnly: true) }
        } catch {
            throw .center(error, of: specification.name)
        }
    }

    /// What the process has answered, if it has.
    func answer() -> HandShake.Answer? { HandShake.answer(from: socket) }

    /// After the process has ended: forwards what it posted, and ends all that belongs to this start.
    func end() async {
        await center.end()
        close(socket)
    }
}
