// swift-tools-version: 6.2
import PackageDescription

// A queue of jobs in a SQLite file: producers in Python, workers and a live view in Swift. A separate package, because
// it builds GRDB.
//
//     /usr/bin/python3 producer.py jobs.db alice     adds jobs
//     swift run Jobs work jobs.db                    does them; start as many as there are processors
//     swift run Jobs view jobs.db                    shows the counts
//
// Start, kill and restart them in any order, on one machine, as one user. The producer needs tidings_sqlite.so (`make
// install`). The article "When your processes share a database" says how the programs work, and how to deploy them.
let package = Package(
    name: "tidings-job-queue",
    dependencies: [
        .package(name: "tidings", path: "../..", traits: ["GRDB"]),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .executableTarget(
            name: "Jobs",
            dependencies: [
                .product(name: "Tidings", package: "tidings"), .product(name: "TidingsGRDB", package: "tidings"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            resources: [.embedInCode("schema.sql")])
    ],
    swiftLanguageModes: [.v6]
)
