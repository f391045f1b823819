import Tidings

/// The observation belongs to the actor, and ends with it. The closure calls the actor.
actor Playlist {
    private(set) var titles: [String] = []

    func follow(_ center: SharedNotificationCenter) throws {
        _ = try center.addObserver(for: TrackChanged.self, options: .init(owner: self)) { [weak self] change in
            await self?.add(change.title)
        }
    }

    private func add(_ title: String) { titles.append(title) }
}

func actors(_ center: SharedNotificationCenter) async throws {
    let playlist = Playlist()
    try await playlist.follow(center)
    try center.post(TrackChanged(title: "So What"))
    print(await playlist.titles)
}
