import OpenCombine
import Tidings

/// Publishes the messages of a type, and what was missed of them. Each subscriber observes for itself, at its own pace.
/// Subscribers are called in a task. Put `receive(on:)` before a closure that is isolated to the main actor.
struct MessagePublisher<M: SharedNotificationCenter.Message>: Publisher {
    typealias Output = SharedNotificationCenter.Delivery<M>
    typealias Failure = Never
    let center: SharedNotificationCenter

    func receive(subscriber: some Subscriber<Output, Never>) {
        let deliveries = center.deliveries(of: M.self).makeAsyncIterator()  // observes from here on
        let (demands, continuation) = AsyncStream.makeStream(of: Subscribers.Demand.self)
        nonisolated(unsafe) let subscriber = AnySubscriber(subscriber)  // after this function, the task alone calls it
        let task = Task {
            var deliveries = deliveries
            for await var demand in demands {
                while demand > 0, let next = await deliveries.next() { demand = demand - 1 + subscriber.receive(next) }
                if demand > 0 { return Task.isCancelled ? () : subscriber.receive(completion: .finished) }
            }
        }
        subscriber.receive(subscription: Demanding(task: task, demands: continuation))
    }
}

private struct Demanding: Subscription {
    let task: Task<Void, Never>, demands: AsyncStream<Subscribers.Demand>.Continuation
    let combineIdentifier = CombineIdentifier()
    func request(_ demand: Subscribers.Demand) { demands.yield(demand) }
    func cancel() { task.cancel() }
}
