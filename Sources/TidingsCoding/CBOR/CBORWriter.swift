/// One encoding: where the next byte goes, and the frames that are open.
///
/// A handle on a state that is never freed (see `CBORThreadCache`), because encoders and containers are copied with
/// every step that Codable makes: counting those references took longer than the encoding. A container that outlives
/// its encoding finds that its frame is gone, by the frame's serial.
///
/// Nothing here is ever read back from the output except by moving it as a whole, and for the path of an error.
struct CBORWriter {
    struct State: CBORPooled {
        var next: UnsafeMutablePointer<State>?

        var buffer: UnsafeMutablePointer<PayloadBuffer>?
        var base = CBORWriter.nowhere
        /// Where the next byte goes.
        var cursor = 0
        /// The end of the room for writing at the cursor. Equal to `cursor` while inserting, so that every write takes
        /// the slow path, which moves the tail first.
        var limit = 0
        /// The end of the output while inserting; otherwise that is the cursor.
        var used = 0
        var isInserting = false

        // The current frame, the one whose item ends at the cursor: what every entry needs of it.
        var current = CBORFrameID.idle
        var currentStart = 0
        var currentCount = 0
        var currentKeys: UInt64 = 0
        /// The keys of large maps that are being written, in the order of their frames.
        var keySets: ContiguousArray<CBORKeySet> = []
        var hasKeySets = false

        var frames = UnsafeMutablePointer<CBORFrame>.allocate(capacity: 16)
        var frameCount = 0
        var frameCapacity = 16
        var lastSerial: UInt32 = 0

        /// The first failure that makes the output useless, kept in case the caller swallows it with `try?`.
        var failure: (any Error)?
        var userInfo: [CodingUserInfoKey: Any] = [:]
    }

    let state: UnsafeMutablePointer<State>
    // Valid for ever, and used by one thread at a time: that which took it from the cache.

    init(_ state: UnsafeMutablePointer<State>) { self.state = state }

    static func makeState() -> UnsafeMutablePointer<State> {
        let state = UnsafeMutablePointer<State>.allocate(capacity: 1)
        state.initialize(to: State())
        // Fresh memory, of the right size.
        return state
    }

    /// A pointer for an empty buffer, never dereferenced: `limit` is 0 then.
    static var nowhere: UnsafeMutableRawPointer {
        UnsafeMutableRawPointer(bitPattern: 16).unsafelyUnwrapped
        // Not zero, hence not nil.
    }
}

// Each of these lasts for one load or store: code that is called in between may come back through another handle.
extension CBORWriter {
    var base: UnsafeMutableRawPointer {
        get { state.pointee.base }
        nonmutating set { state.pointee.base = newValue }
    }
    var cursor: Int {
        get { state.pointee.cursor }
        nonmutating set { state.pointee.cursor = newValue }
    }
    var limit: Int {
        get { state.pointee.limit }
        nonmutating set { state.pointee.limit = newValue }
    }
    var used: Int {
        get { state.pointee.used }
        nonmutating set { state.pointee.used = newValue }
    }
    var isInserting: Bool {
        get { state.pointee.isInserting }
        nonmutating set { state.pointee.isInserting = newValue }
    }
    var current: CBORFrameID {
        get { state.pointee.current }
        nonmutating set { state.pointee.current = newValue }
    }
    var currentStart: Int {
        get { state.pointee.currentStart }
        nonmutating set { state.pointee.currentStart = newValue }
    }
    var currentCount: Int {
        get { state.pointee.currentCount }
        nonmutating set { state.pointee.currentCount = newValue }
    }
    var currentKeys: UInt64 {
        get { state.pointee.currentKeys }
        nonmutating set { state.pointee.currentKeys = newValue }
    }
    var hasKeySets: Bool { state.pointee.hasKeySets }
    var frames: UnsafeMutablePointer<CBORFrame> {
        get { state.pointee.frames }
        nonmutating set { state.pointee.frames = newValue }
    }
    var frameCount: Int {
        get { state.pointee.frameCount }
        nonmutating set { state.pointee.frameCount = newValue }
    }
    var frameCapacity: Int {
        get { state.pointee.frameCapacity }
        nonmutating set { state.pointee.frameCapacity = newValue }
    }
    var lastSerial: UInt32 {
        get { state.pointee.lastSerial }
        nonmutating set { state.pointee.lastSerial = newValue }
    }
    var buffer: UnsafeMutablePointer<PayloadBuffer>? {
        get { state.pointee.buffer }
        nonmutating set { state.pointee.buffer = newValue }
    }
    var failure: (any Error)? {
        get { state.pointee.failure }
        nonmutating set { state.pointee.failure = newValue }
    }
    var userInfo: [CodingUserInfoKey: Any] {
        get { state.pointee.userInfo }
        nonmutating set { state.pointee.userInfo = newValue }
    }

    /// The size of the memory that is there.
    var capacity: Int { buffer?.pointee.memory.count ?? 0 }
}
