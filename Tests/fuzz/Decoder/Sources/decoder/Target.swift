import Foundation
import TidingsFoundation

@testable import Tidings
@testable import TidingsCoding

/// Decodes the fuzzer's bytes as one type after another. A decoded value must encode, and the result must decode to a
/// value that encodes to the same bytes.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // In memory of exactly that size, so that the address sanitizer sees a read beyond it.
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
    defer { bytes.deallocate() }
    if let start { bytes.copyMemory(from: UnsafeRawBufferPointer(start: start, count: count)) }
    let payload = UnsafeRawBufferPointer(bytes)
    settles(Person.self, payload)
    settles(Anything.self, payload)
    settles([String: Numbers].self, payload, inOrder: false)
    settles([Int: [Double]].self, payload, inOrder: false)
    settles(Tree.self, payload)
    settles(Known.self, payload)
    _ = try? CBORPayloadDecoder().decode(Careless.self, from: payload)
    _ = try? CBORPayloadDecoder().decode(AskedTwice.self, from: payload)
    if let number = try? CBORPayloadDecoder().decode(Decimal.self, from: payload), number.isNaN {
        precondition(
            (try? CBORPayloadDecoder().decode(Double.self, from: payload))?.isNaN == true, "a number became NaN")
    }
    Meddler.run(payload)
    rendersAsJSON(.cbor, payload)
    rendersAsJSON(.json, payload)
    for format in [SharedNotificationCenter.PayloadFormat.cbor, .json] {
        // Whatever comes, it comes to an end.
        _ = try? PayloadCoding.decode(SharedNotificationCenter.PropertyValue.self, format: format, bytes: payload)
    }
    return 0
}

/// Whatever is shown is JSON, and in as few characters as it takes.
private func rendersAsJSON(_ format: SharedNotificationCenter.PayloadFormat, _ payload: UnsafeRawBufferPointer) {
    let shown = JSONRendering.render(SharedNotificationCenter.RawPayload(format: format, bytes: Array(payload)))
    let again = JSONCompactor.compact(Array(shown.utf8))
    precondition(again.map { $0.utf8.elementsEqual(shown.utf8) } == true, "no JSON: \(shown)")
}

/// A dictionary's keys have no order: two that are equal may encode to the same bytes in another one.
private func settles<T: Codable>(_ type: T.Type, _ payload: UnsafeRawBufferPointer, inOrder: Bool = true) {
    guard let value = try? CBORPayloadDecoder().decode(type, from: payload) else { return }
    do {
        let once = try PayloadCoding.cborBytes(of: value)
        let again = try once.withUnsafeBytes { try CBORPayloadDecoder().decode(type, from: $0) }
        let twice = try PayloadCoding.cborBytes(of: again)
        let same = inOrder ? once == twice : once.sorted() == twice.sorted()
        precondition(same, "\(type): \(once) became \(twice)")
    } catch {
        preconditionFailure("\(type) decoded, but not what it encodes to: \(error)")
    }
}
