// The conformance suite of transports: two relays with centers in memory, over a real transport.
// `transports nats|tls FOLDER PORT [TEST…]`; each test prints a line. FOLDER has the certificates that run.sh made.

import Foundation
import TidingsRelay

let arguments = CommandLine.arguments
if arguments.count == 4, arguments[1] == "forward", let port = UInt16(arguments[2]), let to = UInt16(arguments[3]) {
    forward(port, to)
}
guard arguments.count >= 4, let kind = TestLink.Kind(rawValue: arguments[1]), let port = UInt16(arguments[3]) else {
    print("usage: transports nats|tls FOLDER PORT [TEST…]")
    exit(64)
}
let link = TestLink(kind, work: arguments[2], port: port)

let tests = commonTests + (kind == .nats ? natsTests : tlsTests) + [("figures", figures), ("bare", bare)]
var status: Int32 = 0
let chosen = Set(arguments.dropFirst(4))
try link.between.start()
for (name, test) in tests where chosen.contains(name) || (chosen.isEmpty && !["figures", "bare"].contains(name)) {
    do {
        print("\(kind.rawValue) \(name): \(try test(link))")
    } catch {
        print("\(kind.rawValue) \(name): FAILED: \((error as? TransportError)?.message ?? "\(error)")")
        // Its relays still have the link's name.
        status = 1
        break
    }
    fflush(nil)
}
link.between.kill()
exit(status)
