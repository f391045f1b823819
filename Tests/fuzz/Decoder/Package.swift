// swift-tools-version: 6.2
import PackageDescription

// A package of its own: the library's users never build it. It links only with `--sanitize=fuzzer`, which provides
// `main`. See Tests/fuzz/run.sh.
let root = Context.packageDirectory + "/../../.."

// The functions that the harness replaces. The linker sends each call of NAME to __wrap_NAME.
let wrapped = [
    // Core/process.c: time, random numbers, helper threads.
    "tidings__monotonic_ns", "tidings__futex_wait", "tidings__futex_wait_any", "tidings__futex_wait_either",
    "tidings__nap", "tidings__yield", "tidings__heavy_barrier", "tidings__processors", "tidings__random",
    "tidings__thread_start", "tidings__watch_add", "tidings__watch_runs", "tidings__watch_remove", "pthread_atfork",
    "pthread_join",
    // lockstep.c: the dispatcher threads run in turns.
    "tidings_open", "tidings_close", "tidings_observer_open", "tidings_observer_close", "tidings_observer_interrupt",
    "tidings_next_many", "pthread_cond_wait", "pthread_cond_broadcast", "pthread_create",
]

let package = Package(
    name: "decoder-fuzz",
    dependencies: [.package(name: "tidings", path: "../../..")],
    targets: [
        .executableTarget(
            name: "decoder",
            dependencies: [
                .product(name: "Tidings", package: "tidings"), .product(name: "TidingsFoundation", package: "tidings"),
            ],
            swiftSettings: [.unsafeFlags(["-parse-as-library"])]
        ),
        .target(
            name: "harness",
            cSettings: [
                .define("_GNU_SOURCE"),
                .unsafeFlags(["-I\(root)/CShim/src", "-I\(root)/CShim/include", "-I\(root)/Tests/fuzz/Core"]),
            ]
        ),
        .executableTarget(
            name: "surface",
            dependencies: [
                .product(name: "Tidings", package: "tidings"),
                .product(name: "TidingsAdministration", package: "tidings"),
                .product(name: "TidingsFoundation", package: "tidings"), "harness",
            ],
            swiftSettings: [.unsafeFlags(["-parse-as-library"])],
            linkerSettings: [.unsafeFlags(wrapped.flatMap { ["-Xlinker", "--wrap=\($0)"] })]
        ),
    ],
    swiftLanguageModes: [.v6]
)
