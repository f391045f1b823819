/// Who posts, by place: one look into the center per poster, not per notification. The leader's.
struct ExecutableCache {
    private let center: CenterHandle
    private var known: [(pid: Int32, name: String)] = []

    init(center: CenterHandle) {
        self.center = center
    }

    /// `nil`: it was gone before it was first seen here.
    mutating func name(ofParticipant index: UInt32, pid: Int32) -> String? {
        let place = Int(index)
        if place < known.count, known[place].pid == pid { return known[place].name }
        // Places are at most 4,000; more is a spoiled record.
        guard place < 4096, let name = center.executable(ofParticipant: index, pid: pid) else { return nil }
        while known.count <= place { known.append((0, "")) }
        known[place] = (pid, name)
        return name
    }
}
