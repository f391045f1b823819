// swift-tools-version: 6.2
import PackageDescription

// A package of its own, and not built unless `build.sh grpc` asks for it: its dependencies take minutes.
let package = Package(
    name: "grpc-rival",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "tidings", path: "../../../"),
        .package(url: "https://github.com/grpc/grpc-swift-2", exact: "2.4.3"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", exact: "2.9.2"),
    ],
    targets: [
        .executableTarget(
            name: "grpc-rival",
            dependencies: [
                .product(name: "CTidingsBench", package: "tidings"),
                .product(name: "GRPCCore", package: "grpc-swift-2"),
                .product(name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
