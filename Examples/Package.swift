// swift-tools-version: 6.2
import PackageDescription

// The documentation's examples as programs. A separate package, like a user's package.
let package = Package(
    name: "tidings-examples",
    dependencies: [
        .package(name: "tidings", path: "..")
    ],
    targets: [
        // The messages that the host and its extensions share.
        .target(name: "PlayerMessages", dependencies: [.product(name: "Tidings", package: "tidings")]),
        .executableTarget(
            name: "PlayerHost", dependencies: ["PlayerMessages", .product(name: "Tidings", package: "tidings")]),
        .executableTarget(
            name: "PlayerExtension", dependencies: ["PlayerMessages", .product(name: "Tidings", package: "tidings")]),
        .executableTarget(
            name: "EveryWay",
            dependencies: [
                .product(name: "Tidings", package: "tidings"), .product(name: "TidingsFoundation", package: "tidings"),
            ]),
        // A host with three extensions. The tutorial of TidingsExtensions explains it.
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
        .executableTarget(name: "c-observer", dependencies: [.product(name: "CTidings", package: "tidings")]),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu17
)
