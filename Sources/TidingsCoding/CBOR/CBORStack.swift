/// A growing list of trivial values. It keeps its memory from one coding to the next, and is never freed.
struct CBORStack<Element: BitwiseCopyable> {
    private var memory: UnsafeMutablePointer<Element>
    private var capacity: Int
    private let initialCapacity: Int
    /// May be lowered, which drops values.
    var count = 0

    init(capacity: Int) {
        memory = .allocate(capacity: capacity)
        self.capacity = capacity
        initialCapacity = capacity
    }

    /// Makes room for one more value, which is to be initialized by `subscript`. Returns its number.
    @inline(__always)
    mutating func add() -> Int {
        if count == capacity { grow() }
        count += 1
        return count - 1
    }

    @inline(never)
    private mutating func grow() {
        let grown = UnsafeMutablePointer<Element>.allocate(capacity: capacity * 2)
        UnsafeMutableRawPointer(grown).copyMemory(from: memory, byteCount: count * MemoryLayout<Element>.stride)
        // As bytes, for some may not be initialized yet. The values are trivial, and the new memory is larger.
        memory.deallocate()
        memory = grown
        capacity *= 2
    }

    /// Gives back the memory that only an unusual value needed. No value is used any more.
    mutating func shrink(above limit: Int) {
        guard capacity > limit else { return }
        memory.deallocate()
        self = CBORStack(capacity: initialCapacity)
    }

    /// The number is below `count`: each caller has it from `add`, or compared it.
    @inline(__always)
    subscript(number: Int) -> Element {
        unsafeAddress { UnsafePointer(memory + number) }
        unsafeMutableAddress { memory + number }
    }
}
