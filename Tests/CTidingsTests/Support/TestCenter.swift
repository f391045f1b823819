import CTidings
import Glibc
import Testing

/// A center in a directory of its own; everything opened through it is closed with it.
final class TestCenter {
    let directory: TestDirectory
    private(set) var handle: OpaquePointer?
    private var topics: [OpaquePointer] = []
    private var observers: [OpaquePointer] = []

    init(directory: TestDirectory? = nil, slots: UInt32 = 256, configuration: tidings_configuration = .init()) throws {
        self.directory = try directory ?? TestDirectory()
        var configuration = configuration
        if configuration.slots == 0 { configuration.slots = slots }
        try require(Self.open("calls", in: self.directory, configuration, &handle))
    }

    deinit {
        close()
    }

    func close() {
        observers.forEach(tidings_observer_close)
        topics.forEach(tidings_topic_close)
        tidings_close(handle)
        observers = []
        topics = []
        handle = nil
    }

    static func open(
        _ name: String, in directory: TestDirectory, _ configuration: tidings_configuration, _ center: inout OpaquePointer?
    ) -> Int32 {
        directory.path.withCString {
            var configuration = configuration
            configuration.directory = $0
            return tidings_open(name, &configuration, &center)
        }
    }

    static func remove(_ name: String, in directory: TestDirectory) -> Int32 {
        directory.path.withCString {
            var configuration = tidings_configuration()
            configuration.directory = $0
            return tidings_remove(name, &configuration)
        }
    }

    func topic(_ name: String = "name", subject: String? = nil) throws -> OpaquePointer {
        var topic: OpaquePointer?
        try require(tidings_topic_open(handle, name, name.utf8.count, subject, subject?.utf8.count ?? 0, &topic))
        topics.append(topic!)
        return topic!
    }

    func observer(flags: Int = 0) throws -> OpaquePointer {
        var observer: OpaquePointer?
        try require(tidings_observer_open(handle, UInt32(flags), &observer))
        observers.append(observer!)
        return observer!
    }

    func observer(of name: String?, from sequence: UInt64? = nil, flags: Int = 0) throws -> OpaquePointer {
        let observer = try observer()
        if let sequence { try require(tidings_observer_seek(observer, sequence)) }
        try add(name, to: observer, flags: flags)
        return observer
    }

    @discardableResult
    func add(_ name: String?, to observer: OpaquePointer, subject: String? = nil, flags: Int = 0) throws -> UInt32 {
        var interest: UInt32 = 0
        try require(
            tidings_observer_add(
                observer, name, name?.utf8.count ?? 0, subject, subject?.utf8.count ?? 0, UInt32(flags), &interest))
        return interest
    }

    var statistics: tidings_statistics {
        get throws {
            var statistics = tidings_statistics()
            try require(tidings_statistics_get(handle, &statistics))
            return statistics
        }
    }
}

struct Failure: Error, CustomStringConvertible {
    let code: Int32
    let description: String
}

func require(_ result: Int32) throws {
    if result != 0 { throw Failure(code: result, description: "\(result): \(String(cString: tidings_last_error()))") }
}

@discardableResult
func post(_ payload: [UInt8], to topic: OpaquePointer, _ options: tidings_post_options = .init()) throws -> UInt64 {
    var sequence: UInt64 = 0
    var options = options
    try require(tidings_post(topic, payload, payload.count, &options, &sequence))
    return sequence
}

/// A delivery as values of our own.
enum Received: Equatable {
    case message(sequence: UInt64, payload: [UInt8], interests: [UInt32], retained: Bool)
    case missed(UInt64, interest: UInt32)
}

/// What is there right now.
func drain(_ observer: OpaquePointer) throws -> [Received] {
    var all: [Received] = []
    var delivery = tidings_delivery()
    while true {
        let result = tidings_next(observer, 0, &delivery)
        if result == -EAGAIN { return all }
        try require(result)
        let interests = Array(UnsafeBufferPointer(start: delivery.interests, count: delivery.interest_count))
        if delivery.kind == TIDINGS_DELIVERY_MISSED {
            all.append(.missed(delivery.missed, interest: interests[0]))
            continue
        }
        let payload = Array(UnsafeRawBufferPointer(start: delivery.payload, count: delivery.size))
        all.append(
            .message(
                sequence: delivery.sequence, payload: payload, interests: interests,
                retained: delivery.flags & UInt32(TIDINGS_DELIVERY_RETAINED) != 0))
    }
}

func sequences(_ received: [Received]) -> [UInt64] {
    received.compactMap { if case .message(let sequence, _, _, _) = $0 { sequence } else { nil } }
}
