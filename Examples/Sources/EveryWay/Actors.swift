import Tidings

/// What the actor guards is at hand in the closure, without waiting.
actor Playlist {
    private(set) var titles: [String] = []
    private var token: SharedNotificationCenter.ObservationToken?

    func follow(_ center: SharedNotificationCenter) throws {
        token = try center.addObserver(for: TrackChanged.self, isolatedTo: self) { playlist, change in
            playlist.titles.append(change.title)
        }
    }
}

func actors(_ center: SharedNotificationCenter) async throws {
    let playlist = Playlist()
    try await playlist.follow(center)
    try center.post(TrackChanged(title: "So What"))
    print(await playlist.titles)
}
