// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "media-player",
    dependencies: [
        .package(path: "../tidings")  // or the repository's URL, and branch: "main"
    ],
    targets: [
        .target(
            name: "MediaPlayerMessages", dependencies: [.product(name: "Tidings", package: "tidings")],
            path: "Sources/MediaPlayer/Messages"),
        .executableTarget(
            name: "MediaPlayer",
            dependencies: ["MediaPlayerMessages", .product(name: "TidingsExtensions", package: "tidings")],
            path: "Sources/MediaPlayer/Host"),
        .executableTarget(
            name: "MediaPlayerLyrics",
            dependencies: ["MediaPlayerMessages", .product(name: "TidingsExtensions", package: "tidings")],
            path: "Sources/MediaPlayer/Lyrics"),
        .executableTarget(
            name: "MediaPlayerArtwork",
            dependencies: ["MediaPlayerMessages", .product(name: "TidingsExtensions", package: "tidings")],
            path: "Sources/MediaPlayer/Artwork"),
        .executableTarget(
            name: "media-player-scrobbler", dependencies: [.product(name: "CTidingsExtensions", package: "tidings")],
            path: "Sources/MediaPlayer/Scrobbler"),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu17
)
