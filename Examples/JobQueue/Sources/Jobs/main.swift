import Foundation

func fail(_ line: String, status: Int32 = 1) -> Never {
    FileHandle.standardError.write(Data("Jobs: \(line.replacing("\n", with: " "))\n".utf8))
    exit(status)
}

let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count == 2, ["work", "view"].contains(arguments[0]) else {
    fail("usage: Jobs work|view FILE", status: 64)
}
do {
    let queue = try JobQueue(path: arguments[1])
    if arguments[0] == "work" { try await work(on: queue) } else { try await view(queue) }
} catch {
    fail("can't \(arguments.joined(separator: " ")): \(error)")
}
