// Posts that wait in the center object's queue. The module `TidingsFoundation` gives these functions the spelling of
// `NotificationQueue`.
extension SharedNotificationCenter {
    package func enqueue<M: Message>(
        _ message: M, _ style: DeferredPosts.Style, _ coalescing: DeferredPosts.Coalescing, _ options: PostOptions
    ) throws(SharedNotificationError) {
        try enqueue(try posting.payload(of: message), name: M.name, as: M.self, style, coalescing, options)
    }

    package func enqueue<each Argument>(
        _ key: Key<repeat each Argument>, _ arguments: repeat each Argument, style: DeferredPosts.Style,
        coalescing: DeferredPosts.Coalescing, options: PostOptions
    ) throws(SharedNotificationError) {
        try enqueue(
            try posting.payload(of: PostedArguments(values: (repeat each arguments)), name: key.name), name: key.name,
            as: PostedArguments<repeat each Argument>.self, style, coalescing, options)
    }

    package func enqueue<Value: Encodable>(
        encoding value: Value, name: Name, _ style: DeferredPosts.Style, _ coalescing: DeferredPosts.Coalescing,
        _ options: PostOptions
    ) throws(SharedNotificationError) {
        try enqueue(try posting.payload(of: value, name: name), name: name, style, coalescing, options)
    }

    /// - Parameter type: the type that the name is meant for; `nil`: the name is not meant for one type.
    package func enqueue(
        _ payload: RawPayload, name: Name, as type: Any.Type? = nil, _ style: DeferredPosts.Style,
        _ coalescing: DeferredPosts.Coalescing, _ options: PostOptions
    ) throws(SharedNotificationError) {
        var flags = options.flags
        // Nothing waits for a post that another thread posts, so it must not hold back that thread's other posts.
        if style != .now { flags.timeout = nil }
        // Here, because another thread posts.
        try deferred.post(
            DeferredPosts.Pending(
                name: name, subject: options.subject, payload: payload, type: type, flags: flags,
                trace: postTracer?(name)),
            style: style, coalescing: coalescing)
    }

    /// Posts all waiting posts before it returns.
    package func drainQueue() { deferred.drain(all: true) }
}
