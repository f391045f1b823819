// The program of each host of run.py --program. It uses its center as on one machine: it posts, observes, sets a value,
// serves and requests, and learns which programs are there.
//
//   program NUMBER COUNT      of COUNT programs this is NUMBER; it prints a line for each thing that has happened
import Foundation
import Tidings

struct TrackChanged: SharedNotificationCenter.Message {
    static let name: SharedNotificationCenter.Name = "com.example.player.trackChanged"
    var host: Int
    var number: Int
}

struct Volume: SharedNotificationCenter.Message {
    static let name: SharedNotificationCenter.Name = "com.example.player.volume"
    var level: Double
}

struct Render: SharedNotificationCenter.Request {
    typealias Reply = String
    static let name: SharedNotificationCenter.Name = "com.example.player.render"
    var page: Int
}

func say(_ line: String) {
    print(line)
    fflush(nil)
}

func fail(_ line: String) -> Never {
    say(line)
    exit(1)
}

let tracks = 1000
guard CommandLine.arguments.count == 3, let number = Int(CommandLine.arguments[1]),
    let count = Int(CommandLine.arguments[2])
else { fail("usage: program NUMBER COUNT") }

let center = try SharedNotificationCenter(named: "player")
// The buffer and the ring hold all tracks, so a program that gets no processor for a while misses none.
let deliveries = try center.deliveries(of: TrackChanged.self, bufferSize: count * tracks).register()
let server =
    number == 1
    ? try center.serve(Render.self) { request, envelope in "page \(request.page)" } : nil
// Its role tells the others that it observes and serves.
let announcement = try center.announce(role: "program \(number)")

let presence = Task {
    var present: Set<String> = []
    for await change in center.remotePresence() {
        switch change {
        case .joined(let one):
            guard one.participant.role.hasPrefix("program ") else { continue }
            present.insert(one.participant.role)
        case .left(let one, let departure):
            if one.participant.role.hasPrefix("program ") { say("\(one.participant.role) has left: \(departure)") }
            continue
        }
        guard present.count == count - 1 else { continue }
        present = []
        say("all programs are present")
        if number == 2 { try center.setState(Volume(level: 0.7)) }
        for track in 0..<tracks {
            try center.post(TrackChanged(host: number, number: track), options: .init(timeout: .seconds(30)))
        }
    }
}

let volume = Task {
    for await volume in center.messages(of: Volume.self) where volume.level == 0.7 {
        say("the volume has arrived")
        return
    }
}

let requests = Task {
    for page in 1...100 {
        while true {
            do {
                let reply = try await center.request(Render(page: page), timeout: .seconds(30))
                guard reply == "page \(page)" else { fail("page \(page): \(reply)") }
                break
            } catch let error as SharedNotificationError where error.code == .noServer {
                // The server's program has not started yet.
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }
    say("100 pages are rendered")
}

var next: [Int: Int] = [:]
for await delivery in deliveries {
    switch delivery {
    case .message(let track, let envelope):
        guard track.number == next[track.host, default: 0] else {
            fail("host \(track.host): track \(track.number) instead of \(next[track.host, default: 0])")
        }
        guard (envelope.origin == nil) == (track.host == number) else { fail("host \(track.host): a wrong origin") }
        next[track.host] = track.number + 1
        if next.count == count, next.values.allSatisfy({ $0 == tracks }) { say("all tracks have arrived") }
    case .missed(let count): fail("\(count) tracks were missed")
    case .reopened, .centerEnded: fail("the center was removed")
    }
}
