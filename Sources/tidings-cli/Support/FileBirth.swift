import Foundation
import Glibc

/// When a file was created; `nil`: its file system does not know.
///
/// Foundation takes the time of the last change of the file's status for that time, which each post into a center
/// changes. The module Glibc lacks `statx`, so the function is looked up by its name.
func birth(of path: String) -> Date? {
    typealias Statx = @convention(c) (Int32, UnsafePointer<CChar>, Int32, UInt32, UnsafeMutableRawPointer) -> Int32
    guard let symbol = dlsym(nil, "statx") else { return nil }
    let statx = unsafeBitCast(symbol, to: Statx.self)
    // The layout is the kernel's, on every architecture: a mask first, the time of the creation at 80, 256 bytes.
    let (birthTime, size) = (UInt32(0x800), 256)
    return withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { buffer in
        guard statx(AT_FDCWD, path, 0, birthTime, buffer.baseAddress!) == 0,
            buffer.load(as: UInt32.self) & birthTime != 0
        else { return nil }
        let seconds = buffer.load(fromByteOffset: 80, as: Int64.self)
        return Date(timeIntervalSince1970: Double(seconds))
    }
}
