import Metrics
import Synchronization

/// A metrics system that renders Prometheus' text format: counters, gauges, and the count and the sum of timers.
///
/// An example: a server uses swift-prometheus, which has histograms, or an exporter of OpenTelemetry.
final class PrometheusText: MetricsFactory {
    private struct Key: Hashable, Comparable {
        var name: String
        var labels: String
        static func < (one: Key, other: Key) -> Bool { (one.name, one.labels) < (other.name, other.labels) }
    }

    private let metrics = Mutex<[Key: Metric]>([:])

    func render() -> String {
        let all = metrics.withLock { $0 }.sorted { $0.key < $1.key }
        var text = ""
        var last = ""
        for (key, metric) in all {
            if key.name != last { text += "# TYPE \(key.name) \(metric.type)\n" }
            last = key.name
            let (count, sum) = metric.values
            if metric.type == "summary" {
                text += "\(key.name)_count\(key.labels) \(count)\n\(key.name)_sum\(key.labels) \(sum)\n"
            } else {
                text += "\(key.name)\(key.labels) \(sum)\n"
            }
        }
        return text
    }

    private func metric(_ type: String, _ name: String, _ dimensions: [(String, String)]) -> Metric {
        let labels = dimensions.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
        let key = Key(name: name, labels: labels.isEmpty ? "" : "{\(labels)}")
        return metrics.withLock { metrics in
            let metric = metrics[key] ?? Metric(type)
            metrics[key] = metric
            return metric
        }
    }

    private static func escaped(_ value: String) -> String {
        value.reduce(into: "") { text, character in
            switch character {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.append(character)
            }
        }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        metric("counter", label, dimensions)
    }
    func makeFloatingPointCounter(label: String, dimensions: [(String, String)]) -> any FloatingPointCounterHandler {
        metric("counter", label, dimensions)
    }
    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        metric("gauge", label, dimensions)
    }
    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        metric(aggregate ? "summary" : "gauge", label, dimensions)
    }
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        metric("summary", label, dimensions)
    }
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
}

final class Metric: CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    let type: String
    private let state = Mutex((count: 0, sum: 0.0))

    init(_ type: String) { self.type = type }

    var values: (count: Int, sum: Double) { state.withLock { $0 } }

    private func add(_ amount: Double) {
        state.withLock {
            $0.count += 1
            $0.sum += amount
        }
    }

    func increment(by amount: Int64) { add(Double(amount)) }
    func increment(by amount: Double) { add(amount) }
    func decrement(by amount: Double) { add(-amount) }
    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { state.withLock { $0 = ($0.count + 1, value) } }
    func record(_ value: Int64) { record(Double(value)) }
    func record(_ value: Double) { if type == "gauge" { set(value) } else { add(value) } }
    func recordNanoseconds(_ duration: Int64) { add(Double(duration) / 1e9) }
    func reset() { state.withLock { $0 = (0, 0) } }
}
