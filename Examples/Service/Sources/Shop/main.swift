import Configuration
import Glibc
import Logging
import Metrics
import ServiceLifecycle
import Tidings
import TidingsService
import Tracing

struct Invalidated: SharedNotificationCenter.Message {
    static let name: SharedNotificationCenter.Name = "com.example.shop.invalidated"
    var product: Int
}

/// Prints at once, also into a pipe.
func show(_ text: String) {
    let bytes = Array(text.utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
}

/// Prints the metrics for each line of standard input. A server answers `GET /metrics` with the same text.
struct Printer: Service {
    let text: PrometheusText
    let metrics: CenterMetrics

    func run() async throws {
        let lines = AsyncStream<Void> { continuation in
            Task.detached {
                while readLine() != nil { continuation.yield() }
                continuation.finish()
            }
        }
        for await _ in lines.cancelOnGracefulShutdown() {
            metrics.collect()
            show(text.render())
        }
        // The end of the input is not the end of the service.
        try await gracefulShutdown()
    }
}

/// Logs each change of a value that all workers share.
struct Prices: Service {
    let config: ConfigReader
    let logger: Logger

    func run() async throws {
        try await config.watchDouble(forKey: "price.factor", default: 1) { factors in
            for await factor in factors.cancelOnGracefulShutdown() { logger.info("prices are times \(factor)") }
        }
    }
}

let text = PrometheusText()
let logger = Logger(label: "com.example.shop")
MetricsSystem.bootstrap(text)
InstrumentationSystem.bootstrap(LogTracer(logger: logger))

let center = try SharedNotificationCenter(named: "com.example.shop")
center.log(to: logger)
center.carriesServiceContext = true
let config = ConfigReader(providers: [EnvironmentVariablesProvider(), try SharedConfigProvider(center)])
let metrics = try CenterMetrics(center, names: [Invalidated.name])
let invalidation = NotificationService(center, of: Invalidated.self) { invalidated, envelope in
    logger.info("product \(invalidated.product) has changed", metadata: ["sequence": "\(envelope.sequence)"])
}
let group = ServiceGroup(
    services: [
        center, Printer(text: text, metrics: metrics), Prices(config: config, logger: logger), metrics, invalidation,
    ],
    gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
try await group.run()
show(text.render())
