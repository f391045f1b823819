import Footprint
import Glibc
import Tidings

struct Ready: SharedNotificationCenter.Message {
    static let name: SharedNotificationCenter.Name = "com.example.footprint.ready"

    var number = 1
    var text = "ready"
}

// The same with an observer, and after its first notification.
let center = try SharedNotificationCenter(named: "footprint")
let token = try center.addObserver(for: Ready.self) { (_: Ready) in
    print(footprint())
    exit(0)
}
try center.post(Ready())
while true { pause() }
