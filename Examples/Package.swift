// swift-tools-version: 6.2
import PackageDescription

// Examples of the docs as programs. A package of its own, like a user's package.
let package = Package(
    name: "tidings-examples",
    dependencies: [
        .package(name: "tidings", path: "..")
    ],
    targets: [
        // What the host and its extensions agree on.
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
