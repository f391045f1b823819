import Tidings
import TidingsAdministration

/// What `tidings top` shows of one interval. Also its JSON.
struct TopReport: Encodable, Equatable {
    var center: String
    /// The length of the interval.
    var seconds: Double
    var positionsUsed: UInt64
    var revoked: UInt64
    var memory: UInt64
    var slots: Int
    var chunks: Int
    var chunkLimit: Int
    var observers: Int
    var observersAsleep: Int
    var observersLossless: Int
    var participants: Int
    var postsPerSecond = 0.0
    var bytesPerSecond = 0.0
    var deliveriesPerSecond = 0.0
    /// What observers of other processes reported as missed, of those that say it.
    var missedPerSecond = 0.0
    /// Posts of the interval that this command missed. The rates of names and processes then are estimates: each
    /// counted notification stands for more than one.
    var unseen: UInt64
    var processes: [Process]
    var names: [Name]

    /// The participants of one process, or a process that posted and is no participant any more.
    struct Process: Encodable, Equatable {
        enum Activity: String, Encodable {
            /// All its participants have ended, by an exit or a signal.
            case ended
            /// Stopped by a signal or a debugger.
            case stopped
            /// A lossless observer is at least 15/16 of the ring behind: posters wait for it, or soon will. It
            /// publishes its position every sixteenth of the ring, or more often.
            case full
            /// Its main thread sleeps, and it used no processor time in the interval.
            case asleep
            case running
            /// Alive, and nothing more is known: a process of another pid namespace, or one that may not be seen.
            case alive
            /// Nothing is known: the center may only be read, so it can't be asked which participants are alive.
            case unknown
        }

        var pid: Int32
        var uid: UInt32
        var executable: String
        /// Missing if it is not announced.
        var role: String?
        var isOwn: Bool
        var activity: Activity
        var postsPerSecond = 0.0
        var bytesPerSecond = 0.0
        var observers = 0
        var observersLossless = 0
        /// How many posts its slowest observer is behind; missing if it has none, or none that says it.
        var behind: Int?
        /// What its observers reported as missed.
        var missedPerSecond = 0.0
        var payloadsHeld = 0
        var memoryHeld: UInt64 = 0
        /// The part of one processor that it used: 0.5 is half of one. Missing if it is not known.
        var processors: Double?
    }

    struct Name: Encodable, Equatable {
        var name: String
        var observers: Int
        var isRetained: Bool
        var isPrefix: Bool
        var postsPerSecond = 0.0
        var bytesPerSecond = 0.0
        var deliveriesPerSecond = 0.0
    }
}

/// What is read of a center at one moment, and of the processes in it.
struct TopSnapshot {
    var center: String
    /// Of a clock that never goes back.
    var seconds: Double
    var statistics: Center.Statistics
    var participants: [Center.ParticipantStatistics]
    var names: [Center.ObservedName]
    /// What was counted since the snapshot before.
    var traffic: Center.Traffic
    /// By pid, only of participants that are known to be processes of this pid namespace.
    var activities: [Int32: ProcessActivity]
}

extension TopReport {
    /// - Parameter before: the snapshot at the beginning of the interval.
    init(from before: TopSnapshot, to now: TopSnapshot) {
        let statistics = now.statistics
        let seconds = max(now.seconds - before.seconds, 0.001)
        self.init(
            center: now.center, seconds: seconds, positionsUsed: statistics.posted, revoked: statistics.revoked,
            memory: statistics.memory, slots: statistics.slots, chunks: statistics.chunks,
            chunkLimit: statistics.chunkLimit, observers: statistics.observers,
            observersAsleep: statistics.observersAsleep, observersLossless: statistics.observersLossless,
            participants: statistics.participants, unseen: now.traffic.missed, processes: [], names: [])
        let (seen, missed) = (Double(now.traffic.notifications), Double(now.traffic.missed))
        let perSecond = (seen > 0 ? (seen + missed) / seen : 1) / seconds
        postsPerSecond = seen > 0 ? seen * perSecond : missed / seconds
        bytesPerSecond = Double(now.traffic.bytes) * perSecond
        #if MUTANT_TOP_LOSS_NOT_IN_RATES  // Found by: command twoSnapshotsMakeRates
            if isMutant("TOP_LOSS_NOT_IN_RATES") { bytesPerSecond = Double(now.traffic.bytes) / seconds }
        #endif
        processes = Self.processes(from: before, to: now, seconds: seconds, perSecond: perSecond)
        // What this command missed is `unseen`.
        missedPerSecond = processes.reduce(0) { $0 + ($1.isOwn ? 0 : $1.missedPerSecond) }
        names = Self.names(of: now, perSecond: perSecond)
        deliveriesPerSecond = names.filter { !$0.isPrefix }.reduce(0) { $0 + $1.deliveriesPerSecond }
    }

    /// A process can be recognized in deliveries and among participants by these two.
    private struct Identity: Hashable {
        var pid: Int32
        var uid: UInt32
    }

    private static func processes(
        from before: TopSnapshot, to now: TopSnapshot, seconds: Double, perSecond: Double
    ) -> [Process] {
        var groups: [Identity: [Center.ParticipantStatistics]] = [:]
        for one in now.participants { groups[Identity(pid: one.pid, uid: one.uid), default: []].append(one) }
        // A reader is no participant, and can't find out which participants are alive.
        let isReader = !now.participants.contains(where: \.isOwn)
        var rows: [Identity: Process] = [:]
        for (identity, group) in groups {
            let living = group.filter(\.isAlive)
            let members = living.isEmpty ? group : living
            let lossless = members.reduce(0) { $0 + $1.observersLossless }
            let slowest = members.map(\.behind).max() ?? 0
            #if MUTANT_TOP_FULL_NEVER  // Found by: command reportsALosslessObserverThatHoldsPostersBack
                let full = isMutant("TOP_FULL_NEVER") ? .max : now.statistics.slots / 16 * 15
            #else
                let full = now.statistics.slots / 16 * 15
            #endif
            let isFull = lossless > 0 && slowest >= full
            // A process of another version says it of its lossless observers only.
            let behind = members.compactMap(\.distance).max() ?? (lossless > 0 ? slowest : nil)
            let activity = living.isEmpty ? nil : now.activities[identity.pid]
            let used = activity.flatMap { activity in
                before.activities[identity.pid].map { max(0, activity.processorTime - $0.processorTime) / seconds }
            }
            rows[identity] = Process(
                pid: identity.pid, uid: identity.uid, executable: members[0].executable,
                role: members.lazy.compactMap { $0.announced?.role }.first, isOwn: members.contains(where: \.isOwn),
                activity: Self.activity(
                    isAlive: !living.isEmpty, isReader: isReader, isFull: isFull, activity, used),
                observers: members.reduce(0) { $0 + $1.observers }, observersLossless: lossless, behind: behind,
                missedPerSecond: Double(missed(identity, from: before, to: now)) / seconds,
                payloadsHeld: members.reduce(0) { $0 + $1.payloadsHeld },
                memoryHeld: members.reduce(0) { $0 &+ $1.memoryHeld }, processors: used)
        }
        for poster in now.traffic.posters {
            let identity = Identity(pid: poster.pid, uid: poster.uid)
            // It has posted in the interval, and its entry was reused or reclaimed since.
            var row =
                rows[identity]
                ?? Process(pid: poster.pid, uid: poster.uid, executable: "", isOwn: false, activity: .ended)
            row.postsPerSecond += Double(poster.notifications) * perSecond
            row.bytesPerSecond += Double(poster.bytes) * perSecond
            rows[identity] = row
        }
        return rows.values.sorted { ($0.pid, $0.uid) < ($1.pid, $1.uid) }
    }

    /// How many notifications the observers of a process reported as missed in the interval. The counts wrap around. If
    /// an observer ended, the count goes back, and what the others missed in this interval is left out.
    private static func missed(_ identity: Identity, from before: TopSnapshot, to now: TopSnapshot) -> UInt32 {
        func sum(_ snapshot: TopSnapshot) -> UInt32 {
            snapshot.participants.reduce(0) {
                Identity(pid: $1.pid, uid: $1.uid) == identity ? ($0 &+ $1.missed) & 0x7fff_ffff : $0
            }
        }
        #if MUTANT_TOP_LOSSES_OF_32_BITS  // Found by: command twoSnapshotsMakeRates
            if isMutant("TOP_LOSSES_OF_32_BITS") { return sum(now) &- sum(before) }
        #endif
        let difference = (sum(now) &- sum(before)) & 0x7fff_ffff
        return difference < 1 << 30 ? difference : 0
    }

    static func activity(
        isAlive: Bool, isReader: Bool, isFull: Bool, _ activity: ProcessActivity?, _ used: Double?
    ) -> Process.Activity {
        if !isAlive { return .ended }
        #if MUTANT_TOP_STOPPED_SLEEPS  // Found by: command tellsTheStatesOfProcesses
            if isMutant("TOP_STOPPED_SLEEPS"), activity?.state == "T" { return .asleep }
        #endif
        switch activity?.state {
        case "T", "t": return .stopped
        case "Z", "X": return .ended
        default: break
        }
        if isFull { return .full }
        guard let activity else { return isReader ? .unknown : .alive }
        // Another thread may run while the main thread sleeps.
        return "SDI".contains(activity.state) && used == 0 ? .asleep : .running
    }

    private static func names(of now: TopSnapshot, perSecond: Double) -> [Name] {
        var rows: [Center.Name: Name] = [:]
        // The observers of a name for all subjects, and for one.
        var observers: [Center.Name: [String?: Int]] = [:]
        var prefixes: [(bytes: [UInt8], name: Center.Name, subject: String?, observers: Int)] = []
        for one in now.names {
            rows[one.name, default: Name(one.name.rawValue, isPrefix: one.isPrefix)].observers += one.observers
            if one.isRetained { rows[one.name]?.isRetained = true }
            if one.isPrefix {
                prefixes.append((Array(one.name.rawValue.utf8.dropLast()), one.name, one.subject, one.observers))
            } else {
                observers[one.name, default: [:]][one.subject, default: 0] += one.observers
            }
        }
        for count in now.traffic.names {
            let posts = Double(count.notifications) * perSecond
            let bytes = Double(count.bytes) * perSecond
            let own = observers[count.name] ?? [:]
            var deliveries = own[nil] ?? 0
            #if MUTANT_TOP_SUBJECTS_FORGOTTEN  // Found by: command twoSnapshotsMakeRates
                if isMutant("TOP_SUBJECTS_FORGOTTEN") { deliveries = own.values.reduce(0, +) }
            #endif
            if let subject = count.subject { deliveries += own[subject] ?? 0 }
            for prefix in prefixes
            where (prefix.subject == nil || prefix.subject == count.subject)
                && count.name.rawValue.utf8.starts(with: prefix.bytes)
            {
                deliveries += prefix.observers
                rows[prefix.name]?.postsPerSecond += posts
                rows[prefix.name]?.bytesPerSecond += bytes
                rows[prefix.name]?.deliveriesPerSecond += posts * Double(prefix.observers)
            }
            var row = rows[count.name] ?? Name(count.name.rawValue, isPrefix: false)
            row.postsPerSecond += posts
            row.bytesPerSecond += bytes
            row.deliveriesPerSecond += posts * Double(deliveries)
            rows[count.name] = row
        }
        return rows.values.sorted { $0.name < $1.name }
    }
}

extension TopReport.Name {
    fileprivate init(_ name: String, isPrefix: Bool) {
        self.init(name: name, observers: 0, isRetained: false, isPrefix: isPrefix)
    }
}
