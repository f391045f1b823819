/// Who posts, by place: one look into the center per poster, not per notification.
///
/// Asked by whoever wants an envelope, which may be a deposed leader's closure while the new leader asks too.
final class ExecutableNames: @unchecked Sendable {
    // Sendable: what changes is touched with the lock held only.
    private let lock = Lock()
    /// `nil` when the dispatcher has ended: it gives the center back.
    private var center: CenterHandle?
    private var known: [(pid: Int32, name: String)] = []
    /// The center's.
    let incarnation: UInt64

    init(center: CenterHandle) {
        incarnation = center.incarnation
        self.center = center
    }

    /// `nil`: it was gone before it was first seen here.
    func name(ofParticipant index: UInt32, pid: Int32) -> String? {
        lock.withLock {
            let place = Int(index)
            if place < known.count, known[place].pid == pid { return known[place].name }
            // Places are at most 4,096; more is a spoiled record.
            guard place < 4096, let name = center?.executable(ofParticipant: index, pid: pid) else { return nil }
            while known.count <= place { known.append((0, "")) }
            known[place] = (pid, name)
            return name
        }
    }

    func close() {
        // Released without the lock.
        let center = lock.withLock {
            defer { self.center = nil }
            return self.center
        }
        withExtendedLifetime(center) {}
    }
}
