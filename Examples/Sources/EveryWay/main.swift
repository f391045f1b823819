// Every way to post and to observe that the README's tour shows.
import Tidings

let center = try SharedNotificationCenter(named: "com.example.player")
try keys(center)
try targets(center)
try untyped(center)
try suspension(center)
let reading = Task { await sequences(center) }
reading.cancel()
