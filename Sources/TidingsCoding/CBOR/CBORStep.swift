/// One step from a container to a value in it. Errors make coding paths of them, nothing else reads them.
struct CBORStep {
    enum Spot {
        /// The offset of the value's key, and the number that the key has besides.
        case key(UInt32, Int? = nil)
        case index(Int)
        /// A key that the map doesn't have.
        case absent(any CodingKey)
    }

    /// The number of the step that led to the container, `root` at the top.
    var parent: UInt32
    var spot: Spot
    /// Where the value is.
    var place: CBORPlace
    /// How many steps led here, with this one.
    var depth: UInt32
    /// The path to the value, once an error has asked for it: a type that tries one value after another makes many
    /// errors with almost the same path.
    var path: [any CodingKey]?

    static let root = UInt32.max
}

extension CBORReader {
    /// Throws if the values are nested deeper than a payload may be. The scan has checked that, but the bytes may have
    /// changed since.
    func add(_ parent: UInt32, _ spot: CBORStep.Spot, to place: CBORPlace) throws -> UInt32 {
        let depth = Int(parent) < steps.count ? steps[Int(parent)].depth &+ 1 : 1
        // A missing value at the deepest level is one step further.
        #if MUTANT_DEPTH_UNBOUNDED
            let most = isMutant("DEPTH_UNBOUNDED") ? Int.max : CBORLimit.depth + 1
        #else
            let most = CBORLimit.depth + 1
        #endif
        guard depth <= most else {
            throw CBORFault(.depth, at: Int(place.offset)).error(expecting: Any.self, path: [])
        }
        state.pointee.steps.append(CBORStep(parent: parent, spot: spot, place: place, depth: depth))
        return UInt32(truncatingIfNeeded: steps.count - 1)
        // A step is made for a value that has a place of its own, or by code that runs: 2³² don't fit into memory.
    }

    /// The path to the value that a step led to. Empty if the step has been forgotten, as it is when a decoder is kept
    /// and used after the value that it was made for.
    func path(_ step: UInt32, at place: CBORPlace? = nil) -> [any CodingKey] {
        let number = Int(step)
        guard isLive else { return [] }
        if let place, number < steps.count, steps[number].place != place { return [] }
        return builtPath(number) ?? []
    }

    /// `nil` if there is no way to the top. Each step keeps its own, so that siblings share what leads to all of them.
    private func builtPath(_ number: Int) -> [any CodingKey]? {
        guard number < steps.count else { return [] }
        if let path = steps[number].path { return path }
        let parent = Int(steps[number].parent)
        guard parent < number || parent == CBORStep.root, var path = builtPath(parent) else { return nil }
        path.append(codingKey(steps[number].spot))
        state.pointee.steps[number].path = path
        return path
    }

    func path(_ step: UInt32, _ spot: CBORStep.Spot) -> [any CodingKey] { path(step) + [codingKey(spot)] }

    private func codingKey(_ spot: CBORStep.Spot) -> any CodingKey {
        switch spot {
        case .index(let index): return CBORKey(intValue: index)
        case .absent(let key): return key
        case .key(let offset, var number):
            // Empty if the key is not there any more.
            let name = (try? pair(at: CBORPlace(offset: offset, span: .max)).name) ?? .joined("")
            if number == nil, case .integer(let integer) = name { number = Int(exactly: integer) }
            return CBORKey(stringValue: (try? name.string(in: bytes)) ?? "", intValue: number)
        }
    }
}

/// A key that no type declared: an index, a key read from the payload, `super`.
struct CBORKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) { self.init(stringValue: stringValue, intValue: nil) }
    init(intValue: Int) { self.init(stringValue: String(intValue), intValue: intValue) }
    init(stringValue: String, intValue: Int?) { (self.stringValue, self.intValue) = (stringValue, intValue) }

    static let `super` = CBORKey(stringValue: "super")
}
