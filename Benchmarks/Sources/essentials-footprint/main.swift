import Footprint

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// The same with what Tidings imports, which is there as soon as something of it is used.
let now = Date()
_ = now.timeIntervalSinceReferenceDate
print(footprint())
