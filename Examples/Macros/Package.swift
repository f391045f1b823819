// swift-tools-version: 6.2
import PackageDescription

// The documentation's examples of the macros. A separate package, because it builds swift-syntax.
let package = Package(
    name: "tidings-macro-examples",
    dependencies: [
        .package(name: "tidings", path: "../..", traits: ["Macros"])
    ],
    targets: [
        .executableTarget(name: "Users", dependencies: [.product(name: "Tidings", package: "tidings")])
    ],
    swiftLanguageModes: [.v6]
)
