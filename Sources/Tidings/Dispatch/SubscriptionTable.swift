/// Who is served, by the C observer's interest. Interests are numbered upwards, so the table is an array in order:
/// adding is appending, and finding the only one, the usual case, is one comparison.
///
/// It holds the observations by hand, so that looking at one counts no reference. It is empty when its dispatcher goes: each
/// observation in it holds the dispatcher.
struct SubscriptionTable {
    struct Entry {
        let number: UInt32
        let observation: Unmanaged<Observation>
        /// `nil`: all names, or all that begin with something.
        let name: SharedNotificationCenter.Name?
    }

    private(set) var entries: ContiguousArray<Entry> = []

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }

    mutating func add(_ observation: Observation, name: SharedNotificationCenter.Name?, as number: UInt32) {
        // The place is the end but once in four thousand million interests, when the numbers begin anew.
        let entry = Entry(number: number, observation: .passRetained(observation), name: name)
        entries.insert(entry, at: place(of: number))
    }

    /// Not the last reference to the observation: whoever removes it has one.
    mutating func remove(_ number: UInt32) {
        if let index = index(of: number) { entries.remove(at: index).observation.release() }
    }

    mutating func removeAll() {
        for entry in entries { entry.observation.release() }
        entries = []
    }

    /// Each once, in the order in which they were added.
    var observations: [Observation] {
        var seen: Set<ObjectIdentifier> = []
        return entries.compactMap { entry in
            let observation = entry.observation.takeUnretainedValue()
            return seen.insert(ObjectIdentifier(observation)).inserted ? observation : nil
        }
    }

    @inline(__always)
    func index(of number: UInt32) -> Int? {
        if entries.count == 1 { return entries[0].number == number ? 0 : nil }
        let place = place(of: number)
        return place < entries.count && entries[place].number == number ? place : nil
    }

    /// The first with that number or a higher one.
    private func place(of number: UInt32) -> Int {
        var low = 0
        var high = entries.count
        // What is added comes last.
        if high == 0 || entries[high - 1].number < number { return high }
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
