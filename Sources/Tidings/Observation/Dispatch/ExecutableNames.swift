/// The executable names of posters, by participant index: one lookup in the center per poster, not per notification.
///
/// Used when an envelope is requested. A deposed leader's closure and the new leader may do that at the same time.
final class ExecutableNames: @unchecked Sendable {
    // Sendable: the properties that change are accessed only with the lock held.
    private let lock = Lock()
    /// `nil` when the dispatcher has ended, because it releases the center then.
    private var center: CenterHandle?
    private var known: [(pid: Int32, name: String)] = []
    /// The center's incarnation.
    let incarnation: UInt64

    init(center: CenterHandle) {
        incarnation = center.incarnation
        self.center = center
    }

    /// The poster's executable; `nil`: the participant was gone before its first lookup here.
    func name(ofParticipant index: UInt32, pid: Int32) -> String? {
        lock.withLock {
            let place = Int(index)
            if place < known.count, known[place].pid == pid { return known[place].name }
            // A center has at most 4,096 participants; a higher index comes from a damaged record.
            guard place < 4096, let name = center?.executable(ofParticipant: index, pid: pid) else { return nil }
            while known.count <= place { known.append((0, "")) }
            known[place] = (pid, name)
            return name
        }
    }

    func close() {
        // Released after the lock: this may be the last reference.
        let center = lock.withLock {
            defer { self.center = nil }
            return self.center
        }
        withExtendedLifetime(center) {}
    }
}
