import Glibc

/// What this process has resident, in KiB, as the kernel says: its own memory, files (programs and libraries, which
/// processes share), and shared memory.
public func footprint() -> String {
    guard let file = fopen("/proc/self/status", "r") else { return "" }
    defer { fclose(file) }
    let text = String(unsafeUninitializedCapacity: 8192) { fread($0.baseAddress, 1, $0.count, file) }
    let numbers = ["RssAnon:", "RssFile:", "RssShmem:"].map { label in
        text.split(separator: "\n").first { $0.hasPrefix(label) }.map { $0.filter(\.isNumber) } ?? "0"
    }
    return numbers.joined(separator: " ")
}
