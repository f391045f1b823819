import Foundation
import harness

/// The fuzzer's bytes are a script: one byte that says how it begins, then steps of eight bytes. A step changes a word
/// of the center's memory, or uses the Swift API on it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeBufferPointer(start: start, count: count)
    harness_begin()
    runScript(Array(bytes))
    harness_end()
    return 0
}

/// A frame of its own: nothing of the center outlives it on this thread.
@inline(never)
private func runScript(_ bytes: [UInt8]) {
    guard let script = Script(beginning: bytes.first ?? 0) else { return }
    for start in stride(from: 1, to: bytes.count, by: Step.size).prefix(Script.longest) {
        let end = min(start + Step.size, bytes.count)
        script.run(Step(Array(bytes[start..<end])))
    }
    script.end()
}

/// Eight bytes. Missing ones are zero.
struct Step {
    static let size = 8
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes + [UInt8](repeating: 0, count: Step.size - bytes.count)
    }

    subscript(_ index: Int) -> Int { Int(bytes[index]) }

    /// All bytes after the first.
    func withArguments(_ body: (UnsafePointer<UInt8>, Int) -> Void) {
        bytes.withUnsafeBufferPointer { body($0.baseAddress! + 1, Step.size - 1) }
    }
}

// MARK: Mutation

@_silgen_name("LLVMFuzzerMutate")
private func mutate(_ data: UnsafeMutablePointer<UInt8>, _ size: Int, _ most: Int) -> Int

/// Scripts become other scripts step by step: steps are inserted, removed, exchanged and altered. What libFuzzer does
/// by itself would mostly move the bytes of all later steps.
@_cdecl("LLVMFuzzerCustomMutator")
public func mutateScript(_ data: UnsafeMutablePointer<UInt8>, _ size: Int, _ most: Int, _ seed: CUnsignedInt) -> Int {
    var random = UInt64(seed) &* 2_862_933_555_777_941_757 &+ 3_037_000_493
    func below(_ count: Int) -> Int {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return count > 0 ? Int(random >> 33) % count : 0
    }
    var bytes = Array(UnsafeBufferPointer(start: data, count: size))
    if bytes.isEmpty { bytes = [3] }
    var steps = stride(from: 1, to: bytes.count, by: Step.size).map {
        Array(bytes[$0..<min($0 + Step.size, bytes.count)])
    }
    func fresh() -> [UInt8] {
        // Half of what is inserted is a change of a word.
        let code = below(2) == 0 ? below(Script.Code.changes.upperBound) : below(256)
        return [UInt8(code)] + (1..<Step.size).map { _ in UInt8(below(3) == 0 ? below(256) : below(8)) }
    }
    for _ in 0...below(3) {
        switch below(8) {
        case 0, 1, 2: steps.insert(fresh(), at: below(steps.count + 1))
        case 3 where !steps.isEmpty: steps.remove(at: below(steps.count))
        case 4 where !steps.isEmpty: steps.swapAt(below(steps.count), below(steps.count))
        case 5 where !steps.isEmpty: steps.insert(steps[below(steps.count)], at: below(steps.count + 1))
        case 6 where !steps.isEmpty:
            let index = below(steps.count)
            let place = below(steps[index].count)
            steps[index][place] = UInt8(below(2) == 0 ? below(256) : (Int(steps[index][place]) + below(5) + 254) % 256)
        default:
            guard !steps.isEmpty else { continue }
            let index = below(steps.count)
            let count = steps[index].count
            steps[index].withUnsafeMutableBufferPointer { _ = mutate($0.baseAddress!, count, count) }
        }
    }
    bytes = [bytes[0]] + steps.joined()
    if below(16) == 0 { bytes[0] = UInt8(below(256)) }
    let count = min(bytes.count, most)
    for index in 0..<count { data[index] = bytes[index] }
    return count
}
