/// The observations that a dispatcher serves, by the number of the C observer's subscription.
///
/// Subscription numbers ascend, so the table is a sorted array: adding is appending, and finding the only entry (the
/// usual case) is one comparison.
///
/// The table retains the observations by hand, so that reading one counts no reference. It is empty when its dispatcher
/// is released, because each observation in it retains the dispatcher.
struct SubscriptionTable {
    struct Entry {
        let number: UInt32
        let observation: Unmanaged<Observation>
        /// `nil`: the subscription is for all names or for a prefix.
        let name: SharedNotificationCenter.Name?
    }

    private(set) var entries: ContiguousArray<Entry> = []

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }

    mutating func add(_ observation: Observation, name: SharedNotificationCenter.Name?, as number: UInt32) {
        // The index is the end, except when the numbers begin anew after about four thousand million subscriptions.
        let entry = Entry(number: number, observation: .passRetained(observation), name: name)
        entries.insert(entry, at: place(of: number))
    }

    /// This never releases the last reference to the observation, because the caller has one.
    mutating func remove(_ number: UInt32) {
        if let index = index(of: number) { entries.remove(at: index).observation.release() }
    }

    mutating func removeAll() {
        for entry in entries { entry.observation.release() }
        entries = []
    }

    /// Each observation once, in the order in which they were added.
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

    /// The index of the first entry with that number or a higher one.
    private func place(of number: UInt32) -> Int {
        var low = 0
        var high = entries.count
        // A new number comes last.
        if high == 0 || entries[high - 1].number < number { return high }
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
