// Every way to post and to observe that the article "Choosing how to declare and observe" shows.
import Tidings

let center = try SharedNotificationCenter(named: "com.example.player")
try keys(center)
try owners(center)
try untyped(center)
try suspension(center)
try await actors(center)
try observedState(center)
try eventLoop(center)
try bridge(center)
let sampling = Task { await policies(center) }
sampling.cancel()
let reading = Task { await sequences(center) }
reading.cancel()
