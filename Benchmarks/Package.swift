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
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
