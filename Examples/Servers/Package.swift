// swift-tools-version: 6.2
import PackageDescription

// Servers whose processes share a center. A separate package, because it builds SwiftNIO, Hummingbird and OpenCombine.
//
//     swift run Events 8080        a web page with server-sent events, which continue after a loss (Hummingbird)
//     swift run Workers 8080       processes that share a port and a configuration (an event loop of SwiftNIO)
//     swift run Publisher          a publisher for OpenCombine
//     swift run Shop 8080          a service with lifecycle, log, metrics, traces and configuration (TidingsService)
//
// Start several of the first two, in any order, on one machine, as one user. ../Deployment has systemd units for them,
// and a compose file and a pod of Kubernetes for Events. The article "Deploying" explains them.
func product(_ name: String, _ package: String) -> Target.Dependency { .product(name: name, package: package) }

let package = Package(
    name: "tidings-servers",
    dependencies: [
        .package(name: "tidings", path: "../..", traits: ["Service"]),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.0.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    ],
    targets: [
        .executableTarget(
            name: "Events",
            dependencies: [
                product("Tidings", "tidings"), product("TidingsAdministration", "tidings"),
                product("Hummingbird", "hummingbird"), product("HTTPTypes", "swift-http-types"),
                product("ServiceLifecycle", "swift-service-lifecycle"),
            ]),
        .executableTarget(
            name: "Workers",
            dependencies: [
                product("Tidings", "tidings"), product("NIOCore", "swift-nio"), product("NIOPosix", "swift-nio"),
                product("NIOHTTP1", "swift-nio"),
            ]),
        .executableTarget(
            name: "Shop",
            dependencies: [
                product("Tidings", "tidings"), product("TidingsService", "tidings"),
                product("Hummingbird", "hummingbird"), product("HTTPTypes", "swift-http-types"),
                product("ServiceLifecycle", "swift-service-lifecycle"), product("Logging", "swift-log"),
                product("Metrics", "swift-metrics"), product("Tracing", "swift-distributed-tracing"),
                product("Configuration", "swift-configuration"),
            ]),
        .executableTarget(
            name: "Publisher", dependencies: [product("Tidings", "tidings"), product("OpenCombine", "OpenCombine")]),
    ],
    swiftLanguageModes: [.v6]
)
