// swift-tools-version: 6.2
import PackageDescription

// What the docs say about the macros. Apart from the other examples: building this one builds swift-syntax.
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
