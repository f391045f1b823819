// swift-tools-version: 6.2
import PackageDescription

// A worker of a shop: a service with lifecycle, log, metrics, traces and configuration. A separate package, because it
// builds the libraries of servers.
//
//     swift run Shop                prints its metrics as Prometheus text when it gets a line, and at its end
//     tidings post com.example.shop.invalidated --center com.example.shop --json '{"product": 7}'
//     tidings state set com.example.shop.config '{"values": {"price.factor": 0.9}}' --center com.example.shop
//
// SIGTERM ends it after it has handled what was posted before.
let package = Package(
    name: "tidings-service",
    dependencies: [
        .package(name: "tidings", path: "../..", traits: ["Service"]),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
    ],
    targets: [
        .executableTarget(
            name: "Shop",
            dependencies: [
                .product(name: "Tidings", package: "tidings"), .product(name: "TidingsService", package: "tidings"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Logging", package: "swift-log"), .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "Configuration", package: "swift-configuration"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
