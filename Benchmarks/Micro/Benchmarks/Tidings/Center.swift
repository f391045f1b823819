import CTidings
import Tidings

/// A failed operation would be one that isn't measured.
func must(_ result: Int32) {
    if result < 0 { fatalError("\(String(cString: tidings_last_error())) (\(result))") }
}

/// A center of the C API.
struct CCenter: @unchecked Sendable {
    // Sendable: handles may be used from any thread.
    let center: OpaquePointer

    init() {
        var opened: OpaquePointer?
        // Without a file, so that nothing stays behind however this ends.
        must(tidings_create_sealed("micro", nil, &opened))
        center = opened!
    }

    func publisher(_ name: StaticString) -> OpaquePointer {
        var opened: OpaquePointer?
        name.withUTF8Buffer { name in
            name.withMemoryRebound(to: CChar.self) {
                must(tidings_publisher_open(center, $0.baseAddress, $0.count, nil, 0, &opened))
            }
        }
        return opened!
    }

    func observer() -> OpaquePointer {
        var opened: OpaquePointer?
        must(tidings_observer_open(center, 0, &opened))
        return opened!
    }

    func add(_ name: StaticString, to observer: OpaquePointer) -> UInt32 {
        var subscription: UInt32 = 0
        name.withUTF8Buffer { name in
            name.withMemoryRebound(to: CChar.self) {
                must(tidings_observer_add(observer, $0.baseAddress, $0.count, nil, 0, 0, &subscription))
            }
        }
        return subscription
    }
}
