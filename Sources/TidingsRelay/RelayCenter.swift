// The relay's center, through tidings.h: reads the ring with sections and positions, posts with the section of the
// origin, and reads again what the link core sends. Used with the driver's lock, except for `wait`.

#if Relay
    internal import CTidings
    internal import Glibc
    internal import Tidings
    internal import TidingsLink

    /// What the relay observes: the names of all its links.
    struct ObservedNames: Equatable {
        /// Each once. "" is every name.
        var prefixes: [String]
        var names: [String]

        init(_ links: [LinkConfiguration]) {
            let lists = links.flatMap { [$0.sends, $0.accepts] }
            prefixes = Set(lists.flatMap(\.prefixes)).map(\.text).sorted()
            names = Set(lists.flatMap(\.names)).map(\.text).sorted()
        }

        /// The longest observed prefix of a text, itself left out if `isProper`.
        func prefix(of text: String, isProper: Bool = false) -> String? {
            prefixes.last { text.utf8.starts(with: $0.utf8) && !(isProper && $0.utf8.count == text.utf8.count) }
        }
    }

    final class RelayCenter: RingReading {
        enum Arrival {
            /// The core has read it; or it is the relay's own, or one of the library itself.
            case read
            /// The ring was lapped. By the numbers of names.
            case missed([Int: UInt64], before: UInt64)
            case nothing
            case ended
            case failed(String)
        }

        enum Posted {
            case at(UInt64)
            /// A lossless observer, or a lack of memory, holds the post back.
            case later(String, isHeld: Bool)
            /// It can never be posted here.
            case never(String)
            case ended
        }

        private static let reserved = NameList.reserved
        private static let nameLimit = 4096
        private static let readerLimit = 4
        private static let publisherLimit = 1024
        /// Payloads of this size are read in place.
        private static let inPlace = 4096
        /// The byte of the center's file that a relay locks. It lies behind those of the participants. The relay that
        /// stands by, and is next, locks the byte after it.
        private static let lockByte = 1 << 41
        /// F_OFD_SETLK and F_OFD_GETLK.
        private static let setLock: Int32 = 37
        private static let testLock: Int32 = 36
        /// Nanoseconds that the next relay has to take the center, once it is free.
        private static let patience: UInt64 = 5_000_000_000

        let center: OpaquePointer
        let name: String
        let slots: UInt64
        let maximumPayload: Int
        private var lock: Int32 = -1
        /// Since when no relay has the center, and another one is next; `nil`: this is not so.
        private(set) var freeSince: UInt64?

        private var observed = ObservedNames([])
        private var observer: OpaquePointer?
        /// Subscriptions to the names of the configuration, which have no numbers yet.
        private var named: [(subscription: UInt32, name: LinkName)] = []
        /// What each subscription of the observer is for.
        private var subscriptions: [UInt32: Subscription] = [:]
        /// By the numbers of names: whether losses of this name are counted for itself.
        private var exact: [Bool] = []
        private var exactCount = 0
        /// The number of a name that is to be observed for itself.
        private var met: Int?
        private var missed: [UInt32: UInt64] = [:]
        private var delivery = tidings_delivery()
        /// A delivery that came behind a loss, and is not returned yet.
        private var isDeliveryPending = false
        /// `wait` has taken a delivery, which `next` returns.
        private var isTaken = false

        private enum Subscription {
            case name(Int)
            case prefix(String)
        }

        /// Those of links without loss.
        var holds: [RelayHold] = []
        /// Milliseconds: when the thread of `run` began its turn.
        var now: UInt64 = 0

        private var readers: [Reader] = []
        /// By the number of the name.
        private var publishers: [OpaquePointer?] = []
        /// For names with a subject, and the relay's own names.
        private var otherPublishers: [PublisherKey: OpaquePointer] = [:]
        /// Why the last one could not be opened.
        private var publisherError: Int32 = 0

        private struct PublisherKey: Hashable {
            var name: LinkName
            var subject: String
        }

        /// Reads contents that have left the log of the core.
        private struct Reader {
            var observer: OpaquePointer
            /// The next position.
            var position: UInt64
            /// Was read, and lies behind what was asked for.
            var ahead: (position: UInt64, content: Content)?
        }

        /// - Throws: the center can't be opened.
        init(path: String, name: String, incarnation: UInt64) throws(RelayError) {
            guard let slash = path.lastIndex(of: "/"), !path.hasPrefix("/memfd:") else {
                throw RelayError(.center, "can't relay for sealed center \"\(name)\": use a center with a file")
            }
            let file = path[path.index(after: slash)...].split(separator: ".", maxSplits: 2)
            var configuration = tidings_configuration()
            configuration.flags = UInt32(TIDINGS_OPEN_EXISTING | TIDINGS_OPEN_SHARED_DIRECTORY)
            if file.count == 3, let owner = UInt32(file[1]) {
                configuration.flags |= UInt32(TIDINGS_OPEN_OWNER)
                configuration.owner = owner
            }
            var opened: OpaquePointer?
            let directory = slash == path.startIndex ? "/" : String(path[..<slash])
            let result = directory.withCString { directory in
                configuration.directory = directory
                return name.withCString { tidings_open($0, &configuration, &opened) }
            }
            guard result == 0, let opened else { throw RelayError(.center, Self.lastError) }
            var statistics = tidings_statistics()
            guard tidings_incarnation(opened) == incarnation, tidings_statistics_get(opened, &statistics) == 0 else {
                tidings_close(opened)
                throw RelayError(.center, "can't relay for center \"\(name)\": it was removed; open it again")
            }
            center = opened
            self.name = name
            slots = UInt64(statistics.slots)
            maximumPayload = Int(clamping: statistics.maximum_payload)
            lock = Glibc.open(path, O_RDWR | O_CLOEXEC)
            if lock < 0 { throw RelayError(.center, cannot(String(cString: strerror(errno)))) }
        }

        private func cannot(_ why: String) -> String { "can't relay for center \"\(name)\": \(why)" }

        /// Makes this relay the center's one. False: another one has it, or is the next one.
        ///
        /// - Parameter standby: this relay is the next one then, unless another one is.
        func takeCenter(standby: Bool) throws(RelayError) -> Bool {
            #if MUTANT_RELAY_WITHOUT_LOCK  // Found by: relay bad hangs
                if isMutant("RELAY_WITHOUT_LOCK") { return true }
            #endif
            // A relay that is started again does not take the center before the one that has followed it.
            if try setLock(Self.lockByte + 1) {
                let isTaken = try setLock(Self.lockByte)
                if isTaken || !standby { _ = try setLock(Self.lockByte + 1, F_UNLCK) }
                freeSince = nil
                return isTaken
            }
            guard try setLock(Self.lockByte, command: Self.testLock) else {
                freeSince = nil
                return false
            }
            // The next one is late: it may be stopped.
            let now = RelayDriver.monotonic()
            freeSince = freeSince ?? now
            guard now - freeSince! > Self.patience else { return false }
            return try setLock(Self.lockByte)
        }

        /// Sets a lock of this type, or tests whether it could be set. False: another process has one.
        private func setLock(
            _ byte: Int, _ type: Int32 = F_WRLCK, command: Int32 = RelayCenter.setLock
        ) throws(RelayError) -> Bool {
            var range = flock()
            range.l_type = Int16(type)
            range.l_whence = Int16(SEEK_SET)
            range.l_start = byte
            range.l_len = 1
            if fcntl(lock, command, &range) == 0 { return command == Self.setLock || range.l_type == Int16(F_UNLCK) }
            if errno == EAGAIN || errno == EACCES { return false }
            throw RelayError(.center, cannot(String(cString: strerror(errno))))
        }

        /// Another relay can take the center now.
        func releaseCenter() {
            if lock >= 0 { Glibc.close(lock) }
            lock = -1
        }

        var isRemoved: RelayError {
            RelayError(.removed, "center \"\(name)\" was removed; start the relay again for the next one")
        }

        var isRelayed: RelayError {
            RelayError(
                .isRelayed,
                cannot("another relay has it; give that one the links, or end it, or start this one with --standby"))
        }

        deinit {
            closeReaders()
            tidings_observer_close(observer)
            closePublishers()
            tidings_close(center)
            releaseCenter()
        }

        static var lastError: String { String(cString: tidings_last_error()) }

        /// The oldest position in the ring. Walks the center's tables.
        var oldest: UInt64 {
            var statistics = tidings_statistics()
            guard tidings_statistics_get(center, &statistics) == 0 else { return 0 }
            return statistics.retained_from
        }

        /// The position that the next post takes.
        var end: UInt64 { tidings_posted(center) }

        // MARK: - Reading the ring

        /// Observes these names: from the oldest notification of the ring, or from the next one. Returns the position.
        /// The numbers of names are those of the core that reads from now on.
        ///
        /// - Parameter lossless: the names and the timeout in milliseconds of links without loss, by their numbers.
        func observe(
            _ names: ObservedNames, fromOldest: Bool, lossless: [(link: Int, names: NameList, timeout: UInt64)]
        ) throws(RelayError) -> UInt64 {
            tidings_observer_close(observer)
            observer = nil
            subscriptions = [:]
            named = []
            exact = []
            exactCount = 0
            met = nil
            missed = [:]
            isDeliveryPending = false
            isTaken = false
            closeReaders()
            closePublishers()
            observed = names
            // First, so that nothing leaves the ring between the two.
            var opened: [RelayHold] = []
            for one in lossless {
                opened.append(
                    try RelayHold(one.link, one.names, timeout: one.timeout, in: center, from: fromOldest ? 0 : .max))
            }
            holds = opened
            observer = try open(
                observed, seeking: fromOldest ? 0 : .max, flags: UInt32(TIDINGS_ADD_HISTORY), all: true)
            // Each addition lists what the ring has then.
            return max(tidings_observer_position(observer), oldest)
        }

        func open(
            _ observed: ObservedNames, seeking position: UInt64, flags: UInt32, all: Bool = false
        ) throws(RelayError) -> OpaquePointer {
            var opened: OpaquePointer?
            var result = tidings_observer_open(center, 0, &opened)
            guard result == 0, let opened else {
                throw result == -ESTALE ? isRemoved : RelayError(.center, Self.lastError)
            }
            tidings_observer_in_place(opened, Self.inPlace)
            if flags & UInt32(TIDINGS_ADD_HISTORY) != 0 { result = tidings_observer_seek(opened, position) }
            for prefix in observed.prefixes where result == 0 {
                let number = Self.add(prefix, flags | UInt32(TIDINGS_ADD_PREFIX), to: opened, &result)
                if all { subscriptions[number] = .prefix(prefix) }
            }
            for name in observed.names where result == 0 {
                let number = Self.add(name, flags, to: opened, &result)
                if all { named.append((number, LinkName(name))) }
            }
            // The library's own names: what was lost of these is no loss of a link.
            if all, result == 0, observed.prefixes.contains(where: { Self.reserved.utf8.starts(with: $0.utf8) }) {
                let number = Self.add(Self.reserved, flags | UInt32(TIDINGS_ADD_PREFIX), to: opened, &result)
                subscriptions[number] = .prefix(Self.reserved)
            }
            guard result == 0 else {
                let line = Self.lastError
                tidings_observer_close(opened)
                throw result == -ESTALE ? isRemoved : RelayError(.center, line)
            }
            return opened
        }

        static func add(
            _ text: String, _ flags: UInt32, to observer: OpaquePointer?, _ result: inout Int32
        ) -> UInt32 {
            var number: UInt32 = 0
            var text = text
            result = text.withUTF8 { bytes in
                let isAll = bytes.isEmpty
                return bytes.withMemoryRebound(to: CChar.self) {
                    tidings_observer_add(
                        observer, isAll ? nil : $0.baseAddress, $0.count, nil, 0,
                        isAll ? flags & ~UInt32(TIDINGS_ADD_PREFIX) : flags, &number)
                }
            }
            return number
        }

        /// Makes a running `wait` return, or the following one.
        func interrupt() { if let observer { tidings_observer_interrupt(observer) } }

        /// Waits for the next notification, which `next` returns then. Call it after `.nothing`. Without the driver's
        /// lock, and on the thread of `next` alone: other threads use neither the delivery nor the cursor.
        func wait(_ timeout: Int64) { isTaken = tidings_next(observer, timeout, &delivery) == 0 }

        /// The cursor: everything before it was returned.
        var position: UInt64 { isDeliveryPending ? delivery.sequence : tidings_observer_position(observer) }

        /// The names of the configuration have the numbers of this core.
        func number(namesBy core: inout RelayCore) {
            for (subscription, name) in named {
                guard let number = core.number(of: name) else { continue }
                subscriptions[subscription] = .name(number)
                setExact(number)
            }
            named = []
        }

        private func isExact(_ name: Int) -> Bool { name < exact.count && exact[name] }

        private func setExact(_ name: Int) {
            if name >= exact.count {
                exact.append(contentsOf: repeatElement(false, count: max(64, name + 1 - exact.count)))
            }
            exact[name] = true
            exactCount += 1
        }

        /// Lets `core` read the next notification. Does not wait.
        func next(for core: inout RelayCore) -> Arrival {
            if isDeliveryPending {
                isDeliveryPending = false
                return take(for: &core)
            }
            if let name = met {
                met = nil
                subscribe(to: name, &core)
            }
            let result = isTaken ? 0 : tidings_next(observer, 0, &delivery)
            isTaken = false
            switch -result {
            case 0: break
            case EAGAIN, ETIMEDOUT, EINTR: return .nothing
            // A notification without memory for its payload counts as missed: the next call tells it.
            case ENOMEM:
                for hold in holds { hold.passed() }
                return .read
            case ESTALE: return .ended
            default: return .failed(Self.lastError)
            }
            guard delivery.kind == TIDINGS_DELIVERY_MISSED else { return take(for: &core) }
            // One delivery for each subscription that has lost something, before the next notification.
            let end = delivery.sequence
            while true {
                missed[delivery.subscriptions[0], default: 0] += delivery.missed
                var result: Int32
                // An interruption is not the end of these.
                repeat { result = tidings_next(observer, 0, &delivery) } while result == -EINTR
                guard result == 0 else { break }
                if delivery.kind == TIDINGS_DELIVERY_MESSAGE || delivery.sequence != end {
                    isDeliveryPending = true
                    break
                }
            }
            return .missed(takeMissed(for: &core), before: end)
        }

        /// Each name observed for itself has its own number. What a prefix has lost beyond these was lost under names
        /// that no notification has shown yet: it is counted under the prefix and a star.
        private func takeMissed(for core: inout RelayCore) -> [Int: UInt64] {
            var counts: [Int: UInt64] = [:]
            var ofPrefixes: [String: UInt64] = [:]
            for (number, count) in missed {
                switch subscriptions[number] {
                case .name(let name):
                    #if MUTANT_RELAY_LOSS_OF_A_NAME_IGNORED  // Found by: relay lapped
                        if isMutant("RELAY_LOSS_OF_A_NAME_IGNORED") { continue }
                    #endif
                    counts[name, default: 0] += count
                case .prefix(let prefix): ofPrefixes[prefix, default: 0] += count
                case nil: break
                }
            }
            missed = [:]
            var rest = ofPrefixes
            func reduce(_ prefix: String?, by count: UInt64) {
                guard let prefix, let total = rest[prefix] else { return }
                rest[prefix] = total - min(total, count)
            }
            for (name, count) in counts { reduce(observed.prefix(of: core.name(name).text), by: count) }
            for (prefix, count) in ofPrefixes { reduce(observed.prefix(of: prefix, isProper: true), by: count) }
            for (prefix, count) in rest where count > 0 && prefix != Self.reserved {
                if let name = core.number(of: LinkName(prefix + "*")) { counts[name, default: 0] += count }
            }
            return counts
        }

        private func subscribe(to name: Int, _ core: inout RelayCore) {
            guard !isExact(name), exactCount < Self.nameLimit else { return }
            setExact(name)
            var result: Int32 = 0
            let number = Self.add(core.name(name).text, 0, to: observer, &result)
            // Without an entry for it, its losses are counted under the prefix.
            if result == 0 { subscriptions[number] = .name(name) }
        }

        private func take(for core: inout RelayCore) -> Arrival {
            if delivery.kind == TIDINGS_DELIVERY_MISSED {
                missed[delivery.subscriptions[0], default: 0] += delivery.missed
                return .missed(takeMissed(for: &core), before: delivery.sequence)
            }
            // The core knows what it has posted.
            let isOwn = delivery.flags & UInt32(TIDINGS_DELIVERY_OWN) != 0
            if isOwn && holds.isEmpty { return .read }
            guard let name = Self.number(of: delivery, &core) else {
                for hold in holds { hold.passed() }
                return .read
            }
            for hold in holds { hold.read(delivery.sequence, name: name, core, now: now) }
            if isOwn { return .read }
            if !isExact(name) { met = name }
            // Another name's loss was counted beyond this notification, while its slot was being taken.
            if delivery.sequence < core.cursor { return .missed([name: 1], before: core.cursor) }
            let (record, section) = Self.record(of: delivery, name: name)
            core.read(record, Self.view(of: delivery, section))
            return .read
        }

        /// `nil`: a name of the library itself, or one more than a relay can know.
        static func number(of delivery: tidings_delivery, _ core: inout RelayCore) -> Int? {
            let bytes = UnsafeRawBufferPointer(start: delivery.name, count: delivery.name_length)
            if bytes.count >= reserved.utf8.count, bytes[7] == UInt8(ascii: "."), bytes.starts(with: reserved.utf8) {
                return nil
            }
            return core.number(of: bytes)
        }

        static func record(
            of delivery: tidings_delivery, name: Int
        ) -> (RingRecord, OriginSection?) {
            let section = section(of: delivery)
            let isCleared = delivery.flags & UInt32(TIDINGS_DELIVERY_CLEARED) != 0
            let record = RingRecord(
                position: delivery.sequence, name: name,
                postedAt: min(delivery.posted_at_ns, OriginSection.bound - 1),
                isRetained: delivery.flags & UInt32(TIDINGS_DELIVERY_STATE) != 0,
                isCleared: isCleared || section?.flags.contains(.cleared) == true, relayed: section?.relayed)
            return (record, section)
        }

        private static func section(of delivery: tidings_delivery) -> OriginSection? {
            guard delivery.flags & UInt32(TIDINGS_DELIVERY_SECTIONS) != 0 else { return nil }
            var size = 0
            let bytes = withUnsafePointer(to: delivery) {
                tidings_delivery_section($0, UInt16(TIDINGS_SECTION_ORIGIN), &size)
            }
            return bytes.flatMap { OriginSection(UnsafeRawBufferPointer(start: $0, count: size)) }
        }

        private static func view(of delivery: tidings_delivery, _ section: OriginSection?) -> ContentView {
            // A process that writes into the center without the library can give a subject any bytes. A frame with such
            // bytes would be refused as a whole.
            var subject = UnsafeRawBufferPointer(start: delivery.subject, count: delivery.subject_length)
            if !subject.isEmpty, subject.contains(0) || String(validating: subject, as: UTF8.self) == nil {
                subject = UnsafeRawBufferPointer(start: delivery.subject, count: 0)
            }
            return ContentView(
                subject: subject,
                payload: UnsafeRawBufferPointer(start: delivery.payload, count: delivery.size),
                format: delivery.format, pid: section?.pid ?? delivery.pid, uid: section?.uid ?? delivery.uid,
                postedAt: section?.postedAtNanoseconds ?? delivery.posted_at_ns)
        }

        private static func content(of delivery: tidings_delivery) -> Content {
            let view = view(of: delivery, section(of: delivery))
            return Content(
                subject: String(decoding: view.subject, as: UTF8.self), format: view.format, pid: view.pid,
                uid: view.uid, postedAt: view.postedAt, payload: Array(view.payload))
        }

        /// Everything from `begin` up to `end`, of what `observe` has found when it began at the oldest. `nil`: the
        /// ring was lapped meanwhile.
        func history(
            from begin: UInt64, before end: UInt64, for core: inout RelayCore
        ) throws(RelayError) -> [RingRecord]? {
            var records: [RingRecord] = []
            while tidings_observer_position(observer) < end {
                let result = tidings_next(observer, 0, &delivery)
                guard result == 0 else {
                    if result == -EAGAIN || result == -EINTR { break }
                    if result == -ENOMEM { return nil }
                    throw RelayError(result == -ESTALE ? .removed : .center, Self.lastError)
                }
                guard delivery.kind == TIDINGS_DELIVERY_MESSAGE else { return nil }
                guard let name = Self.number(of: delivery, &core) else { continue }
                for hold in holds { hold.read(delivery.sequence, name: name, core, now: now) }
                if delivery.sequence >= begin { records.append(Self.record(of: delivery, name: name).0) }
            }
            return records
        }

        /// All retained values of the observed names. `nil`: not all could be read.
        func values(for core: inout RelayCore) throws(RelayError) -> [RingRecord]? {
            let reader = try open(observed, seeking: .max, flags: UInt32(TIDINGS_ADD_RETAINED))
            defer { tidings_observer_close(reader) }
            var records: [RingRecord] = []
            var delivery = tidings_delivery()
            var end: UInt64?
            while true {
                let result = tidings_next(reader, 0, &delivery)
                if result == -EAGAIN { return records }
                guard result == 0, delivery.kind == TIDINGS_DELIVERY_MESSAGE else { return nil }
                if delivery.flags & UInt32(TIDINGS_DELIVERY_RETAINED) == 0 {
                    // A value that was replaced while the values were read comes as it was posted.
                    if end == nil { end = self.end }
                    if delivery.sequence >= end! { return records }
                    if delivery.flags & UInt32(TIDINGS_DELIVERY_STATE) == 0 { continue }
                }
                if let name = Self.number(of: delivery, &core) {
                    records.append(Self.record(of: delivery, name: name).0)
                }
            }
        }

        // MARK: - Contents

        /// Everything was sent: contents are not needed, unless a peer asks again.
        func caughtUp() {
            if !readers.isEmpty { closeReaders() }
        }

        func content(at position: UInt64) -> Content? {
            let found = readers.indices.filter { readers[$0].position <= position }
                .max { readers[$0].position < readers[$1].position }
            var at = found ?? -1
            if at < 0 || position - readers[at].position > slots / 8 + 64 {
                if readers.count == Self.readerLimit { tidings_observer_close(readers.removeFirst().observer) }
                let flags = UInt32(TIDINGS_ADD_HISTORY)
                guard let observer = try? open(observed, seeking: position, flags: flags) else { return nil }
                readers.append(Reader(observer: observer, position: position))
                at = readers.count - 1
            }
            if let ahead = readers[at].ahead {
                if ahead.position > position { return nil }
                readers[at].ahead = nil
                if ahead.position == position {
                    readers[at].position = position + 1
                    return ahead.content
                }
            }
            var delivery = tidings_delivery()
            while tidings_next(readers[at].observer, 0, &delivery) == 0 {
                guard delivery.kind == TIDINGS_DELIVERY_MESSAGE, delivery.sequence >= position else { continue }
                let content = Self.content(of: delivery)
                if delivery.sequence == position {
                    readers[at].position = position + 1
                    return content
                }
                readers[at].position = position
                readers[at].ahead = (delivery.sequence, content)
                return nil
            }
            readers[at].position = tidings_observer_position(readers[at].observer)
            return nil
        }

        private func closeReaders() {
            for reader in readers { tidings_observer_close(reader.observer) }
            readers = []
        }

        func value(of name: LinkName) -> (position: UInt64, content: Content)? {
            var opened: OpaquePointer?
            guard tidings_observer_open(center, 0, &opened) == 0, let opened else { return nil }
            defer { tidings_observer_close(opened) }
            var result: Int32 = 0
            _ = Self.add(name.text, UInt32(TIDINGS_ADD_RETAINED), to: opened, &result)
            var delivery = tidings_delivery()
            guard result == 0, tidings_next(opened, 0, &delivery) == 0, delivery.kind == TIDINGS_DELIVERY_MESSAGE,
                delivery.flags & UInt32(TIDINGS_DELIVERY_RETAINED) != 0
            else { return nil }
            return (delivery.sequence, Self.content(of: delivery))
        }

        // MARK: - Posting

        /// - Parameter core: is not changed. To pass it by value would copy it.
        func post(_ post: Post, _ core: inout RelayCore) -> Posted {
            // Its losses include own posts, which the core can tell apart only by their name.
            subscribe(to: post.name, &core)
            let section = OriginSection(post)
            var options = tidings_post_options()
            options.format = post.content.format
            options.flags = UInt8(
                TIDINGS_POST_SECTIONS | TIDINGS_POST_SECTIONS_REQUIRED | (post.isRetained ? TIDINGS_POST_RETAIN : 0))
            options.section_count = 1
            #if MUTANT_RELAY_WITHOUT_ORIGIN  // Found by: relay origin
                if isMutant("RELAY_WITHOUT_ORIGIN") { options.section_count = 0 }
            #endif
            var sequence: UInt64 = 0
            let result = post.content.withBytes { subject, payload in
                guard let publisher = publisher(of: post.name, subject, &core) else { return publisherError }
                return withUnsafeBytes(of: section) { bytes in
                    var one = tidings_section()
                    one.bytes = bytes.baseAddress
                    one.size = bytes.count
                    one.type = UInt16(TIDINGS_SECTION_ORIGIN)
                    return withUnsafePointer(to: one) { one in
                        options.sections = one
                        #if MUTANT_RELAY_CLEAR_SETS_NOTHING  // Found by: relay origin hangs
                            if isMutant("RELAY_CLEAR_SETS_NOTHING") { options.flags &= ~UInt8(TIDINGS_POST_RETAIN) }
                            let isClear = !isMutant("RELAY_CLEAR_SETS_NOTHING") && post.isCleared && post.isRetained
                        #else
                            let isClear = post.isCleared && post.isRetained
                        #endif
                        if isClear {
                            return tidings_state_set(publisher, nil, 0, &options, &sequence)
                        }
                        return tidings_post(
                            publisher, payload.baseAddress, post.isCleared ? 0 : payload.count, &options, &sequence)
                    }
                }
            }
            switch -result {
            case 0: return .at(sequence)
            case ESTALE: return .ended
            case EINVAL, EMSGSIZE: return .never(Self.lastError)
            default:
                let line = Self.lastError
                var holder = tidings_holder()
                return .later(line, isHeld: tidings_last_error_holder(&holder) == 0)
            }
        }

        private func publisher(
            of name: Int, _ subject: UnsafeRawBufferPointer, _ core: inout RelayCore
        ) -> OpaquePointer? {
            guard subject.isEmpty else {
                let subject = String(decoding: subject, as: UTF8.self)
                return publisher(for: PublisherKey(name: core.name(name), subject: subject))
            }
            if name < publishers.count, let known = publishers[name] { return known }
            if name >= publishers.count {
                publishers.append(contentsOf: repeatElement(nil, count: max(64, name + 1 - publishers.count)))
            }
            publishers[name] = open(PublisherKey(name: core.name(name), subject: ""))
            return publishers[name]
        }

        private func publisher(for key: PublisherKey) -> OpaquePointer? {
            if let known = otherPublishers[key] { return known }
            if otherPublishers.count >= Self.publisherLimit {
                for publisher in otherPublishers.values { tidings_publisher_close(publisher) }
                otherPublishers = [:]
            }
            let opened = open(key)
            if let opened { otherPublishers[key] = opened }
            return opened
        }

        private func open(_ key: PublisherKey) -> OpaquePointer? {
            var opened: OpaquePointer?
            var (name, subject) = (key.name.text, key.subject)
            let result = name.withUTF8 { name in
                subject.withUTF8 { subject in
                    name.withMemoryRebound(to: CChar.self) { name in
                        subject.withMemoryRebound(to: CChar.self) { subject in
                            tidings_publisher_open(
                                center, name.baseAddress, name.count, subject.isEmpty ? nil : subject.baseAddress,
                                subject.count, &opened)
                        }
                    }
                }
            }
            publisherError = result
            return result == 0 ? opened : nil
        }

        private func closePublishers() {
            for publisher in publishers { tidings_publisher_close(publisher) }
            publishers = []
            for publisher in otherPublishers.values { tidings_publisher_close(publisher) }
            otherPublishers = [:]
        }

        // MARK: - Stored bytes

        /// Sets the retained value of one of the relay's own names. `nil`, or why it failed.
        func store(_ bytes: [UInt8], as name: String) -> String? {
            guard let publisher = publisher(for: PublisherKey(name: LinkName(name), subject: "")) else {
                return Self.lastError
            }
            let result = bytes.withUnsafeBytes { tidings_state_set(publisher, $0.baseAddress, $0.count, nil, nil) }
            return result == 0 ? nil : Self.lastError
        }

        func stored(as name: String) -> [UInt8]? {
            guard let publisher = publisher(for: PublisherKey(name: LinkName(name), subject: "")) else { return nil }
            for _ in 0..<8 {
                var size = 0
                let result = tidings_state_get(publisher, nil, &size, nil, nil)
                guard result == -ENOBUFS || result == 0 else { return nil }
                var bytes = [UInt8](repeating: 0, count: size)
                if bytes.withUnsafeMutableBytes({ tidings_state_get(publisher, $0.baseAddress, &size, nil, nil) }) == 0
                {
                    return Array(bytes.prefix(size))
                }
            }
            return nil
        }
    }
#endif
