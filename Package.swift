// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

// In CI a warning of this package is an error, and a warning of a dependency is not. Elsewhere a warning stays a
// warning, so that a newer compiler does not break a user's build.
let strict = Context.environment["TIDINGS_CI"] != nil
let swiftSettings: [SwiftSetting] = strict ? [.treatAllWarnings(as: .error)] : []
let cWarnings: [CSetting] =
    [.enableWarning("all"), .enableWarning("extra")] + (strict ? [.treatAllWarnings(as: .error)] : [])

// A package that does not enable the trait neither fetches nor builds swift-syntax: each use of it has this condition.
let withMacros: TargetDependencyCondition? = .when(traits: ["Macros"])
func syntax(_ product: String) -> Target.Dependency {
    .product(name: product, package: "swift-syntax", condition: withMacros)
}

// Likewise for GRDB.
let withGRDB: TargetDependencyCondition? = .when(traits: ["GRDB"])
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift", condition: withGRDB)

// Likewise for the libraries of servers.
let withService: TargetDependencyCondition? = .when(traits: ["Service"])
func ofServers(_ product: String, _ package: String) -> Target.Dependency {
    .product(name: product, package: package, condition: withService)
}

// Likewise for the relay. Its trait enables Service, too.
let withRelay: TargetDependencyCondition? = .when(traits: ["Relay"])
func ofRelay(_ product: String, _ package: String) -> Target.Dependency {
    .product(name: product, package: package, condition: withRelay)
}
let nio =
    ["NIOConcurrencyHelpers", "NIOCore", "NIOTLS"].map { ofRelay($0, "swift-nio") }
    + [ofRelay("NIOSSL", "swift-nio-ssl")]

let package = Package(
    name: "tidings",
    products: [
        // The Swift library: centers, messages, observers. Start here.
        .library(name: "Tidings", targets: ["Tidings"]),
        // What a center holds, and what dead processes left: statistics, participants, names, orphans, stale files. For
        // tools and tests; a program that posts and observes does not need it.
        .library(name: "TidingsAdministration", targets: ["TidingsAdministration"]),
        // What programs know from Foundation: property lists as payloads, SF-0011, NotificationQueue, and a bridge to
        // NotificationCenter. A product of its own, because it needs all of Foundation, and Tidings needs
        // FoundationEssentials alone.
        .library(name: "TidingsFoundation", targets: ["TidingsFoundation"]),
        // Distributed actors: an actor system whose calls are requests of a center. A product of its own, because it
        // needs Swift's module Distributed.
        .library(name: "TidingsDistributed", targets: ["TidingsDistributed"]),
        // Extensions: programs that this one starts, supervises, limits, and lets take part in notifications and
        // requests; and the other side, for those programs.
        .library(name: "TidingsExtensions", targets: ["TidingsExtensions"]),
        // Databases of GRDB: commits of other processes reach its observations. Empty without the trait GRDB.
        .library(name: "TidingsGRDB", targets: ["TidingsGRDB"]),
        // Servers: lifecycle, log, metrics, traces and configuration, with the libraries that servers use for these.
        // Empty without the trait Service.
        .library(name: "TidingsService", targets: ["TidingsService"]),
        // The relay to other machines. Empty without the trait Relay.
        .library(name: "TidingsRelay", targets: ["TidingsRelay"]),
        // Tests of programs that use centers, with Swift Testing, which comes with the toolchain.
        .library(name: "TidingsTesting", targets: ["TidingsTesting"]),
        // For extensions in C, header tidings_extension.h.
        .library(name: "CTidingsExtensions", targets: ["CTidingsExtensions"]),
        // The C library, header tidings.h: the same centers for programs in C.
        .library(name: "CTidings", targets: ["CTidings"]),
        // notify(3), Apple's C interface, over the same centers. It lacks notify_register_dispatch, because a C target
        // of a Swift package does not find Dispatch's headers; `make` builds a library that has it.
        .library(name: "TidingsNotify", targets: ["TidingsNotify"]),
        // The command: posts, observes, sets state, diagnoses and measures from a shell.
        .executable(name: "tidings", targets: ["tidings"]),
        // Internal, without a promise: the package Benchmarks could not use the target otherwise.
        .library(name: "CTidingsBench", targets: ["CTidingsBench"]),
    ],
    traits: [
        .trait(
            name: "Macros", description: "Adds @Message and @NotificationProtocol, and builds swift-syntax for them"),
        .trait(
            name: "Relay",
            description: "Builds the relay to other machines, with NATS's C client (libnats-dev) and SwiftNIO's TLS",
            enabledTraits: ["Service"]),
        .trait(name: "GRDB", description: "Builds GRDB, and the product TidingsGRDB, which shares its databases"),
        .trait(
            name: "Service",
            description: "Builds the product TidingsService, and the libraries of servers that it connects to"
        ),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/swiftlang/swift-syntax", "602.0.0"..<"604.0.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        // Without its own traits: Tidings reads no files.
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    ],
    targets: [
        .target(
            name: "CTidings",
            path: "CShim",
            sources: ["src"],
            publicHeadersPath: "include",
            cSettings: [.define("_GNU_SOURCE"), .headerSearchPath("src")] + cWarnings
        ),
        .target(
            name: "TidingsNotify",
            dependencies: ["CTidings"],
            path: "CShim/notify",
            sources: ["src"],
            publicHeadersPath: "include",
            cSettings: [.define("_GNU_SOURCE")] + cWarnings
        ),
        // CBOR, JSON and the coders of fields: bytes to values and back. It knows no center and no C.
        .target(name: "TidingsCoding", swiftSettings: swiftSettings),
        // The link core of the relay: a state machine without input and output. It imports nothing.
        .target(name: "TidingsLink", swiftSettings: swiftSettings),
        // The relay and its transports: NATS, direct TLS. Without the trait these are left out.
        .target(
            name: "TidingsRelay",
            dependencies: [
                "CTidings", "CTidingsNATS", "Tidings", "TidingsAdministration", "TidingsLink",
                ofRelay("ServiceLifecycle", "swift-service-lifecycle"), ofRelay("Logging", "swift-log"),
                ofRelay("Metrics", "swift-metrics"),
            ] + nio,
            swiftSettings: swiftSettings
        ),
        .target(
            name: "CTidingsNATS",
            path: "CShim/nats",
            sources: ["src"],
            publicHeadersPath: "include",
            cSettings: [.define("_GNU_SOURCE"), .define("TIDINGS_RELAY", .when(traits: ["Relay"]))] + cWarnings,
            linkerSettings: [.linkedLibrary("nats", .when(traits: ["Relay"]))]
        ),
        .target(
            name: "Tidings",
            dependencies: ["CTidings", "TidingsCoding", .target(name: "TidingsMacros", condition: withMacros)],
            swiftSettings: swiftSettings
        ),
        // Extensions: the launcher that starts and ends them, and the header for extensions in C.
        .target(
            name: "CTidingsExtensions",
            dependencies: ["CTidings"],
            path: "CShim/extensions",
            sources: ["src"],
            publicHeadersPath: "include",
            cSettings: [.define("_GNU_SOURCE")] + cWarnings
        ),
        // The macros run inside the compiler. Without the trait the target is a program that does nothing.
        .macro(
            name: "TidingsMacros",
            dependencies: [syntax("SwiftCompilerPlugin"), syntax("SwiftSyntaxMacros")],
            swiftSettings: swiftSettings
        ),
        .target(
            name: "TidingsAdministration",
            dependencies: ["CTidings", "Tidings"],
            swiftSettings: swiftSettings
        ),
        .target(
            name: "TidingsFoundation",
            dependencies: ["Tidings", "TidingsCoding"],
            swiftSettings: swiftSettings
        ),
        .target(
            name: "TidingsDistributed",
            dependencies: ["Tidings", "TidingsCoding"],
            swiftSettings: swiftSettings
        ),
        .target(
            name: "TidingsExtensions",
            dependencies: ["CTidingsExtensions", "Tidings"],
            swiftSettings: swiftSettings
        ),
        // Commits to SQLite databases that GRDB opened. Without the trait the module is empty.
        .target(
            name: "TidingsGRDB",
            dependencies: ["CTidingsGRDB", "Tidings", grdb],
            swiftSettings: swiftSettings
        ),
        .target(
            name: "CTidingsGRDB",
            path: "CShim/grdb",
            sources: ["src"],
            publicHeadersPath: "include",
            cSettings: [.define("_GNU_SOURCE"), .define("TIDINGS_GRDB", .when(traits: ["GRDB"]))] + cWarnings
        ),
        // Without the trait the module is empty.
        .target(
            name: "TidingsService",
            dependencies: [
                "Tidings", "TidingsAdministration", ofServers("ServiceLifecycle", "swift-service-lifecycle"),
                ofServers("Logging", "swift-log"), ofServers("Metrics", "swift-metrics"),
                ofServers("Tracing", "swift-distributed-tracing"), ofServers("Configuration", "swift-configuration"),
            ],
            swiftSettings: swiftSettings
        ),
        .target(name: "TidingsTesting", dependencies: ["Tidings"], swiftSettings: swiftSettings),
        // Timing loops in C, for `tidings bench` and Benchmarks: no Swift code runs between the clock and the measured
        // call.
        .target(
            name: "CTidingsBench",
            dependencies: ["CTidings"],
            path: "CShim/bench",
            sources: ["src"],
            publicHeadersPath: "include",
            cSettings: [.define("_GNU_SOURCE"), .headerSearchPath("src")] + cWarnings
        ),
        // Starts programs, for the command and for the tests.
        .target(name: "ChildProcesses", swiftSettings: swiftSettings),
        .executableTarget(
            name: "tidings",
            dependencies: [
                "ChildProcesses", "CTidingsBench", "Tidings", "TidingsAdministration", "TidingsExtensions",
                .target(name: "TidingsRelay", condition: withRelay), ofRelay("Logging", "swift-log"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/tidings-cli",
            swiftSettings: swiftSettings
        ),

        // Cooperates, crashes and stops on command: the other process in tests of several processes.
        .executableTarget(
            name: "TestPeer",
            dependencies: [
                "CTidings", "Tidings", "TidingsAdministration", "TidingsDistributed", "TidingsFoundation",
                "TidingsNotify", "TestActors",
            ],
            path: "Tests/integration/peer",
            swiftSettings: swiftSettings
        ),
        // Distributed actors that the tests and TestPeer share: Swift names a target by its module.
        .target(
            name: "TestActors",
            dependencies: ["Tidings", "TidingsDistributed"],
            path: "Tests/integration/actors", swiftSettings: swiftSettings
        ),
        // An extension that behaves, or misbehaves, as its first argument says.
        .executableTarget(
            name: "ExtensionPeer",
            dependencies: ["Tidings", "TidingsExtensions"],
            path: "Tests/integration/extension-peer",
            swiftSettings: swiftSettings
        ),
        // Scenarios of several processes on one center, in C because they fork. Some write the core's shared words
        // directly.
        .executableTarget(
            name: "ScenarioPeer",
            dependencies: ["CTidings"],
            path: "Tests/scenarios",
            cSettings: [.define("_GNU_SOURCE"), .headerSearchPath("../../CShim/src")] + cWarnings
        ),
        // Unit tests of the core, beside its files: they write shared words directly, call one function, and check the
        // words.
        .executableTarget(
            name: "CoreUnitTests",
            dependencies: ["CTidings"],
            path: "Tests/unit",
            cSettings: [
                .define("_GNU_SOURCE"), .headerSearchPath("."), .headerSearchPath("../../CShim/src"),
            ] + cWarnings
        ),
        // Scenarios of notify(3), and a program that calls notify.h as a Swift test instructs it.
        .executableTarget(
            name: "NotifyPeer",
            dependencies: ["TidingsNotify"],
            path: "Tests/notify",
            exclude: ["installed", "installed.sh", "run.sh", "tell.sh"],
            cSettings: [.define("_GNU_SOURCE")] + cWarnings
        ),
        // The stress test: processes post and observe at random and are killed at random. A checker then verifies what
        // each observer received.
        .executableTarget(
            name: "Stress",
            dependencies: ["CTidings"],
            path: "Tests/stress",
            exclude: ["README.md"],
            cSettings: [.define("_GNU_SOURCE")] + cWarnings
        ),
        // Programs whose instructions Benchmarks/Regressions/count counts. They are in this package so that they are
        // built as a package that uses the library builds them.
        .target(
            name: "CCounting",
            path: "Benchmarks/Regressions/Counting",
            publicHeadersPath: "include",
            cSettings: [.define("_GNU_SOURCE")] + cWarnings
        ),
        .executableTarget(
            name: "CoreOperations",
            dependencies: ["CTidings", "CCounting"],
            path: "Benchmarks/Regressions/Core",
            cSettings: [.define("_GNU_SOURCE")] + cWarnings
        ),
        .executableTarget(
            name: "NotifyOperations",
            dependencies: ["TidingsNotify", "CCounting"],
            path: "Benchmarks/Regressions/Notify",
            cSettings: [.define("_GNU_SOURCE")] + cWarnings
        ),
        .executableTarget(
            name: "SwiftOperations",
            dependencies: ["Tidings", "CCounting"],
            path: "Benchmarks/Regressions/Swift",
            swiftSettings: swiftSettings
        ),

        .testTarget(
            name: "ScenarioTests",
            dependencies: ["ChildProcesses", "ScenarioPeer", "CoreUnitTests"],
            path: "Tests/integration/core", swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "TidingsTests",
            dependencies: [
                "ChildProcesses", "CTidings", "Tidings", "TidingsAdministration", "TidingsCoding", "TidingsDistributed",
                "TidingsFoundation", "TestActors", "TestPeer", "NotifyPeer",
            ],
            path: "Tests/integration/library", swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "TidingsExtensionsTests",
            dependencies: ["ChildProcesses", "Tidings", "TidingsExtensions", "ExtensionPeer"],
            path: "Tests/integration/extensions", swiftSettings: swiftSettings
        ),
        // The other process of the tests of TidingsGRDB.
        .executableTarget(
            name: "GRDBPeer",
            dependencies: [
                "TidingsGRDB", "Tidings", grdb,
                .product(name: "GRDBSQLite", package: "GRDB.swift", condition: withGRDB),
            ],
            path: "Tests/grdb/peer", swiftSettings: swiftSettings
        ),
        // Figures of TidingsGRDB; starts itself as the other processes.
        .executableTarget(
            name: "GRDBFigures",
            dependencies: ["Tidings", "TidingsGRDB", grdb],
            path: "Benchmarks/GRDB", swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "TidingsGRDBTests",
            dependencies: ["ChildProcesses", "Tidings", "TidingsGRDB", "GRDBPeer", grdb],
            path: "Tests/grdb/tests", swiftSettings: swiftSettings
        ),
        // The other process of the tests of TidingsService and TidingsTesting.
        .executableTarget(
            name: "ServicePeer",
            dependencies: [
                "Tidings", "TidingsService", "TidingsTesting", ofServers("Configuration", "swift-configuration"),
            ],
            path: "Tests/service/peer", swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "TidingsServiceTests",
            dependencies: [
                "ChildProcesses", "ServicePeer", "Tidings", "TidingsAdministration", "TidingsFoundation",
                .target(name: "TidingsRelay", condition: withRelay), "TidingsService", "TidingsTesting",
                ofServers("ServiceLifecycle", "swift-service-lifecycle"),
                ofServers("ServiceLifecycleTestKit", "swift-service-lifecycle"), ofServers("Logging", "swift-log"),
                ofServers("InMemoryLogging", "swift-log"), ofServers("Metrics", "swift-metrics"),
                ofServers("MetricsTestKit", "swift-metrics"), ofServers("Tracing", "swift-distributed-tracing"),
                ofServers("Configuration", "swift-configuration"),
                ofServers("ConfigurationTesting", "swift-configuration"),
            ],
            path: "Tests/service/tests", swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "TidingsMacrosTests",
            dependencies: [
                .target(name: "TidingsMacros", condition: withMacros),
                syntax("SwiftSyntaxMacrosGenericTestSupport"),
            ],
            path: "Tests/integration/macros", swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "TidingsCLITests",
            dependencies: [
                "ChildProcesses", "CTidingsBench", "Tidings", "TidingsAdministration", "tidings", "ScenarioPeer",
            ],
            path: "Tests/integration/command", swiftSettings: swiftSettings
        ),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu17
)

// The Swift Package Index renders what the traits add, too. Its manifest (.spi.yml) cannot enable a trait.
if Context.environment["SPI_GENERATE_DOCS"] != nil {
    package.traits.insert(.default(enabledTraits: ["Macros", "GRDB", "Service"]))
}

/// Leaves these targets and what they need, so that a step of `.ci/run` builds nothing else.
@MainActor func keep(_ names: Set<String>) {
    var needed: Set<String> = []
    var found = names
    while !found.isEmpty {
        needed.formUnion(found)
        let dependencies = package.targets.filter { found.contains($0.name) }.flatMap(\.dependencies)
        found = Set(
            dependencies.compactMap { dependency in
                switch dependency {
                case .targetItem(let name, _), .byNameItem(let name, _): name
                default: nil
                }
            }
        ).subtracting(needed)
    }
    package.targets.removeAll { !needed.contains($0.name) }
    package.products.removeAll { !needed.contains($0.name) }
}

// For `.ci/run macros`. SwiftPM builds the package of a macro's tests a second time, for the compiler's side. So these
// tests are built alone (`tests`). The library with the macros and the tests that use them is built alone as well
// (`library`).
switch Context.environment["TIDINGS_MACROS_ALONE"] {
case "tests": keep(["TidingsMacrosTests"])
case "library":
    keep(["TidingsExtensions", "TidingsMacros", "TidingsTesting", "TidingsTests"])
    package.targets.first { $0.name == "TidingsTests" }?.sources = ["Macros", "Support"]
default: break
}

// For `.ci/run test-tsan test-asan`: these tests, separated by spaces.
if let tests = Context.environment["TIDINGS_TESTS_ALONE"] {
    keep(Set(tests.split(separator: " ").map(String.init)))
}

// For `.ci/run grdb`.
if Context.environment["TIDINGS_GRDB_ALONE"] != nil { keep(["GRDBFigures", "TidingsGRDBTests"]) }

// For `.ci/run service link relay`.
if Context.environment["TIDINGS_SERVICE_ALONE"] != nil {
    // The conformance suite of transports. Here, because it can't be built without the trait.
    package.targets.append(
        .executableTarget(
            name: "LinkTransports",
            dependencies: ["TidingsLink", "TidingsRelay", ofRelay("NIOPosix", "swift-nio")] + nio,
            path: "Tests/link",
            exclude: [
                "README.md", "Schedule.swift", "Trace.swift", "certificates.sh", "credentials.py", "figures", "found",
                "main.swift", "run.sh",
            ],
            sources: ["Center.swift", "transports"],
            swiftSettings: swiftSettings
        ))
    keep(["LinkTransports", "TidingsServiceTests", "tidings"])
}
