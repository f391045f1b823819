// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "tidings-benchmarks",
    dependencies: [
        .package(name: "tidings", path: "../"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", exact: "0.2.0"),
    ],
    targets: [
        .executableTarget(
            name: "tidings-benchmarks",
            dependencies: [
                .product(name: "CTidingsBench", package: "tidings"),
                .product(name: "Tidings", package: "tidings"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Histogram", package: "hdrhistogram-swift"),
                "CCrossing",
                "CNotifyBenchmarks",
                // Not linked: built, and found beside this one.
                "bare-footprint", "essentials-footprint", "tidings-footprint",
            ]
        ),
        // Times in C what CTidingsBench does not: more than two processes, payloads that don't fit a slot, fresh
        // processes.
        .target(
            name: "CCrossing",
            dependencies: [
                .product(name: "CTidings", package: "tidings"), .product(name: "CTidingsBench", package: "tidings"),
            ],
            path: "CCrossing",
            sources: ["src"],
            publicHeadersPath: "include",
            cSettings: [.define("_GNU_SOURCE"), .headerSearchPath("src")]
        ),
        .target(
            name: "CNotifyBenchmarks",
            dependencies: [
                .product(name: "TidingsNotify", package: "tidings"),
                .product(name: "CTidingsBench", package: "tidings"),
            ],
            path: "CNotify",
            sources: ["src"],
            publicHeadersPath: "include",
            cSettings: [.define("_GNU_SOURCE")]
        ),
        // Programs that say how much memory they take.
        .target(name: "Footprint"),
        .executableTarget(name: "bare-footprint", dependencies: ["Footprint"]),
        .executableTarget(name: "essentials-footprint", dependencies: ["Footprint"]),
        .executableTarget(
            name: "tidings-footprint", dependencies: ["Footprint", .product(name: "Tidings", package: "tidings")]),
    ],
    swiftLanguageModes: [.v6]
)
