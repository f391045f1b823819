// swift-tools-version: 6.2
import PackageDescription

// Of its own, so that nobody who uses the library builds it. Only with `--sanitize=fuzzer`, which brings `main` along: Tests/Fuzz/run.sh.
let package = Package(
    name: "decoder-fuzz",
    dependencies: [.package(name: "tidings", path: "../../..")],
    targets: [
        .executableTarget(
            name: "decoder",
            dependencies: [.product(name: "Tidings", package: "tidings")],
            swiftSettings: [.unsafeFlags(["-parse-as-library"])]
        )
    ],
    swiftLanguageModes: [.v6]
)
