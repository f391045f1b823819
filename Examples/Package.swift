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
        .executableTarget(name: "c-observer", dependencies: [.product(name: "CTidings", package: "tidings")]),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu17
)
