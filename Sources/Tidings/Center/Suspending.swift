extension SharedNotificationCenter {
    /// Whether this center object holds back notifications from its observers with a ``SuspensionBehavior``.
    ///
    /// Its observers without a behavior, other center objects and other processes are not affected.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// let token = try center.addObserver(forNames: .all, suspensionBehavior: .hold) { print($0.name) }
    /// center.isSuspended = true
    /// try center.post(name: "com.example.changed")                    // waits
    /// // delivered, after the notification that waits
    /// try center.post(name: "com.example.urgent", options: .init(deliverImmediately: true))
    /// center.isSuspended = false
    /// ```
    ///
    /// Promise: after this property is set to true, each observer's behavior applies to what arrives. A closure that is
    /// running continues, and notifications that already waited for its queue are delivered. After the property is set
    /// to false, the notifications that were held back are delivered in order, before later notifications. An observer
    /// without a queue receives them on a queue of its own. An observer that is added during suspension is suspended,
    /// too.
    ///
    /// For a lossless observer, posts are held back, so that no waiting notification is dropped. Notifications that its
    /// behavior drops or coalesces are lost by request.
    ///
    /// Setting the property twice has the effect of setting it once. It is also true while ``suspend()`` has been
    /// called more often than ``resume()``. In a forked child, the object is not suspended.
    public var isSuspended: Bool {
        get { suspension.isSuspended }
        set { suspension.change { $0.isSet = newValue } }
    }

    /// Suspends, as setting ``isSuspended`` does, until ``resume()`` has been called as often as this. From any thread.
    public func suspend() { suspension.change { $0.depth += 1 } }

    /// Ends one ``suspend()``, as ``SuspensionBehavior`` shows. From any thread. The last call delivers what was held
    /// back, unless ``isSuspended`` was set to true. A call without a ``suspend()`` has no effect.
    public func resume() { suspension.change { $0.depth = max(0, $0.depth - 1) } }
}
