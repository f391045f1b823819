import Configuration
import HTTPTypes
import Hummingbird
import Logging
import Metrics
import Synchronization
import Tidings
import TidingsService
import Tracing

/// A process of the shop has changed a price.
struct PriceChanged: SharedNotificationCenter.Message {
    static let name: SharedNotificationCenter.Name = "com.example.shop.priceChanged"
    var product: String
    var cents: Int
}

/// The prices that this process knows.
final class Prices: Sendable {
    private let cents = Mutex<[String: Int]>([:])

    subscript(product: String) -> Int? { cents.withLock { $0[product] } }
    func apply(_ change: PriceChanged) { cents.withLock { $0[change.product] = change.cents } }
}

@main struct Shop {
    static func main() async throws {
        let port = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 8080
        let logger = Logger(label: "com.example.shop")
        let text = PrometheusText()
        MetricsSystem.bootstrap(text)
        InstrumentationSystem.bootstrap(LogTracer(logger: logger))

        let center = try SharedNotificationCenter(named: "com.example.shop", configuration: .init(followsName: true))
        center.log(to: logger)
        center.carriesServiceContext = true
        let config = ConfigReader(providers: [EnvironmentVariablesProvider(), try SharedConfigProvider(center)])
        let metrics = try CenterMetrics(center, names: [PriceChanged.name])
        let prices = Prices()
        let changes = NotificationService(center, of: PriceChanged.self, options: .init(from: .oldest)) { change, _ in
            prices.apply(change)
        }

        let router = Router()
        router.add(middleware: TracingMiddleware())
        router.add(middleware: MetricsMiddleware())
        router.get("price/:product") { _, context in
            guard let cents = prices[try context.parameters.require("product")] else { throw HTTPError(.notFound) }
            return "\(Double(cents) * config.double(forKey: "price.factor", default: 1))"
        }
        router.put("price/:product") { request, context in
            guard let cents = Int(String(buffer: try await request.body.collect(upTo: 100))) else {
                throw HTTPError(.badRequest)
            }
            try center.post(PriceChanged(product: try context.parameters.require("product"), cents: cents))
            return HTTPResponse.Status.noContent
        }
        router.get("metrics") { _, _ in
            metrics.collect()
            return text.render()
        }
        router.get("health") { _, _ in
            center.health.isAttached ? HTTPResponse.Status.ok : .serviceUnavailable
        }
        let configuration = ApplicationConfiguration(address: .hostname("127.0.0.1", port: port))
        try await Application(
            router: router, configuration: configuration, services: [center, metrics, changes], logger: logger
        ).runService()
    }
}
