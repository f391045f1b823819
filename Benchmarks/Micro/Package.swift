// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "tidings-micro-benchmarks",
    dependencies: [
        .package(name: "tidings", path: "../../"),
        // Without its default trait, which needs a jemalloc to be installed.
        .package(url: "https://github.com/ordo-one/package-benchmark", from: "1.29.0", traits: []),
    ],
    targets: [
        .executableTarget(
            name: "TidingsMicroBenchmarks",
            dependencies: [
                .product(name: "Tidings", package: "tidings"),
                .product(name: "CTidings", package: "tidings"),
                .product(name: "Benchmark", package: "package-benchmark"),
            ],
            path: "Benchmarks/Tidings",
            plugins: [.plugin(name: "BenchmarkPlugin", package: "package-benchmark")]
        )
    ],
    swiftLanguageModes: [.v6]
)
