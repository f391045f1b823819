// Observers by a protocol with `@NotificationProtocol`: an object's methods are called for the messages of its
// protocol.

#if Macros
    public import Dispatch

    // The macro `@NotificationProtocol` generates types that conform to the protocols below. The functions are public
    // API.
    extension SharedNotificationCenter {
        /// The methods of a protocol as messages. ``NotificationProtocol(prefix:)`` generates a conforming type beside
        /// the protocol.
        ///
        /// A type that is written by hand:
        ///
        /// ```swift
        /// protocol UserObserver: AnyObject { func userNameChanged(to name: String) }
        /// enum UserObserverMessages: SharedNotificationCenter.ProtocolMessages {
        ///     struct UserNameChanged: SharedNotificationCenter.Message {
        ///         static let name: SharedNotificationCenter.Name = "UserObserver.userNameChanged(to:)"
        ///         var to: String
        ///     }
        ///     static let messages: [any SharedNotificationCenter.Message.Type] = [UserNameChanged.self]
        ///
        ///     static func reference(to observer: any UserObserver) -> () -> (any UserObserver)? {
        ///         { [weak observer] in observer }
        ///     }
        ///
        ///     static func call(
        ///         _ method: Int, of observer: any UserObserver,
        ///         with payload: borrowing SharedNotificationCenter.ArrivedPayload
        ///     ) throws {
        ///         observer.userNameChanged(to: try payload.decode(UserNameChanged.self).to)
        ///     }
        /// }
        /// ```
        public protocol ProtocolMessages {
            /// The existential type of the protocol's observers, `any UserObserver`.
            associatedtype Observer
            /// One message type for each method's arguments, with the method's name on the wire. An observer observes
            /// all of them.
            static var messages: [any Message.Type] { get }
            /// Returns a function that returns the observer while it is alive. The function holds the observer weakly,
            /// as ``ProtocolMessages`` shows.
            static func reference(to observer: Observer) -> () -> Observer?
            /// Calls a method with the arguments in a payload, as ``ProtocolMessages`` shows.
            ///
            /// - Parameters:
            ///   - method: the method's index in ``messages``.
            ///   - observer: the object whose method is called.
            ///   - payload: the payload of a notification with the method's name.
            /// - Throws: what ``ArrivedPayload`` throws if the payload does not hold the arguments. No method is called
            ///   then, and `onUndecodable` receives the payload.
            static func call(_ method: Int, of observer: Observer, with payload: borrowing ArrivedPayload) throws
        }

        /// The methods of a main actor protocol as messages. Otherwise the same as ``ProtocolMessages``, which has an
        /// example.
        public protocol MainActorProtocolMessages {
            /// The existential type of the protocol's observers, `any UserObserver`.
            associatedtype Observer
            /// One message type for each method's arguments, with the method's name on the wire. An observer observes
            /// all of them.
            static var messages: [any Message.Type] { get }
            /// Returns a function that returns the observer while it is alive. The function holds the observer weakly,
            /// as ``ProtocolMessages`` shows.
            static func reference(to observer: Observer) -> () -> Observer?
            /// Calls a method with the arguments in a payload, on the main actor; otherwise as ``ProtocolMessages``
            /// shows.
            ///
            /// - Parameters:
            ///   - method: the method's index in ``messages``.
            ///   - observer: the object whose method is called.
            ///   - payload: the payload of a notification with the method's name.
            /// - Throws: what ``ArrivedPayload`` throws if the payload does not hold the arguments. No method is called
            ///   then, and `onUndecodable` receives the payload.
            @MainActor static func call(_ method: Int, of observer: Observer, with payload: borrowing ArrivedPayload)
                throws
        }

        /// A payload that generated code receives for the duration of one call. For an example see
        /// ``ProtocolMessages``.
        public struct ArrivedPayload: ~Copyable {
            fileprivate let format: UInt8
            fileprivate let bytes: UnsafeRawBufferPointer

            /// Decodes the message in the payload, as ``ProtocolMessages`` shows.
            ///
            /// - Throws: a `DecodingError`, or what the message's own `init(from:)` throws, if the payload is not a
            ///   message of that type.
            public func decode<M: Message>(_ type: M.Type) throws -> M {
                try PayloadCoding.message(type, format: format, bytes: bytes)
            }

            /// Throws unless the payload is empty or a message of that type. For methods without arguments, in place of
            /// ``decode(_:)``.
            ///
            /// - Throws: as ``decode(_:)``.
            public func check<M: Message>(_ type: M.Type) throws {
                if !bytes.isEmpty { _ = try decode(type) }
            }
        }

        /// Calls the methods of an object for messages of its protocol, while the object is alive.
        ///
        /// ```swift
        /// @NotificationProtocol protocol UserObserver: AnyObject { func signedOut() }
        /// final class Roster: UserObserver, Sendable { func signedOut() { print("signed out") } }
        ///
        /// let center = try SharedNotificationCenter.default
        /// let roster = Roster()
        /// let token = try center.addObserver(roster, as: UserObserver.self)
        /// center.removeObserver(roster, as: UserObserver.self)
        /// ```
        ///
        /// Promise: as for a closure, and
        /// - all methods of the protocol are called in one order, one call at a time;
        /// - the center holds the object weakly. After the object is released, no method is called. The object stays
        ///   alive while a method runs;
        /// - if an object already observes the protocol (with this subject), it is not called twice. The call returns
        ///   the first call's token, with its options;
        /// - after the token's ``ObservationToken/cancel()`` or one of the `removeObserver` functions has returned, no
        ///   method is called for this observation. None is running, except a method that made the call.
        ///
        /// The methods of a protocol with `@MainActor` are called on the main actor. Methods of other protocols are
        /// called on `queue`, or on the dispatcher thread. The compiler refuses an object that other threads must not
        /// use: the observer must be `Sendable`, or the caller must transfer it.
        ///
        /// The function finds the messages by the protocol's name. This lookup does not find `private` protocols, or
        /// protocols in functions or generic types. For these, write `as: UserObserverMessages.self`.
        ///
        /// - Parameters:
        ///   - observer: the object whose methods are called, possibly on another thread. The center holds it weakly.
        ///   - type: the protocol; methods that it inherits are not observed.
        ///   - subject: only notifications posted with this subject; `nil`: all notifications.
        ///   - start: where the observer starts. Every value except `.now` uses an observer slot of the center and a
        ///     thread.
        ///   - excludingOwnPosts: leaves out notifications that this center object posts.
        ///   - lossless: posts are held back rather than overwrite a notification that this observer has not received.
        ///     Such a post waits for room until its deadline, if it has one, and then fails with `.full`. Uses an
        ///     observer slot of the center and a thread.
        ///   - onMissed: receives the number of lost notifications and their name (`nil`: the number is for all names
        ///     together), before the next notification.
        ///   - onUndecodable: receives payloads that do not decode as a method's arguments.
        ///   - queue: where methods are called; `nil`: on the dispatcher thread. The main actor's methods ignore this
        ///     parameter.
        /// - Returns: a token that keeps the observation alive while the object is alive. The observation ends with
        ///   `cancel()`, or when the last copy of the token is released.
        /// - Throws: ``SharedNotificationError``: `.invalidArgument` if `type` is not a protocol with
        ///   `@NotificationProtocol`, `.invalidName` (also for the subject), `.noSpace` (for names),
        ///   `.tooManyObservers`, `.notPermitted` (lossless, in a center opened read-only), `.forked`, `.system` (no
        ///   thread, or no memory).
        public func addObserver<Observer>(
            _ observer: sending Observer,
            as type: Observer.Type,
            subject: String? = nil,
            from start: Start = .now,
            excludingOwnPosts: Bool = false,
            lossless: Bool = false,
            onMissed: (@Sendable (Int, Name?) -> Void)? = nil,
            onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
            queue: DispatchQueue? = nil
        ) throws(SharedNotificationError) -> ObservationToken {
            let request = request(subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable, queue)
            let messages = ProtocolMessagesLookup.messages(of: type)
            if let messages = messages as? any ProtocolMessages.Type {
                return try add(observer, as: messages, request)
            }
            if let messages = messages as? any MainActorProtocolMessages.Type {
                return try add(observer, as: messages, request)
            }
            throw notFound(type)
        }

        /// Calls the methods of an object for messages of its protocol, while the object is alive; takes the protocol's
        /// messages.
        ///
        /// The compiler checks the type of the messages. This function also serves protocols that can't be found by
        /// name.
        ///
        /// ```swift
        /// @NotificationProtocol protocol UserObserver: AnyObject { func signedOut() }
        /// final class Roster: UserObserver, Sendable { func signedOut() { print("signed out") } }
        ///
        /// let center = try SharedNotificationCenter.default
        /// let roster = Roster()
        /// let token = try center.addObserver(roster, as: UserObserverMessages.self, queue: .main)
        /// center.removeObserver(roster, as: UserObserverMessages.self)
        /// ```
        ///
        /// Otherwise the same as with the protocol itself, `addObserver(_:as: UserObserver.self)`.
        ///
        /// - Throws: ``SharedNotificationError``: `.invalidName` (also for the subject), `.noSpace` (for names),
        ///   `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
        public func addObserver<Messages: ProtocolMessages>(
            _ observer: sending Messages.Observer,
            as messages: Messages.Type,
            subject: String? = nil,
            from start: Start = .now,
            excludingOwnPosts: Bool = false,
            lossless: Bool = false,
            onMissed: (@Sendable (Int, Name?) -> Void)? = nil,
            onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil,
            queue: DispatchQueue? = nil
        ) throws(SharedNotificationError) -> ObservationToken {
            try register(
                observer, as: messages,
                request(subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable, queue))
        }

        /// Calls the methods of an object on the main actor for messages of its main actor protocol, while the object
        /// is alive.
        ///
        /// Otherwise the same as for the messages of other protocols.
        ///
        /// ```swift
        /// @MainActor @NotificationProtocol protocol UserObserver: AnyObject { func signedOut() }
        /// @MainActor final class Roster: UserObserver { func signedOut() { print("signed out") } }
        ///
        /// let center = try SharedNotificationCenter.default
        /// let roster = Roster()
        /// let token = try center.addObserver(roster, as: UserObserverMessages.self)
        /// ```
        ///
        /// - Throws: ``SharedNotificationError``: `.invalidName` (also for the subject), `.noSpace` (for names),
        ///   `.tooManyObservers`, `.notPermitted`, `.forked`, `.system`.
        public func addObserver<Messages: MainActorProtocolMessages>(
            _ observer: Messages.Observer,
            as messages: Messages.Type,
            subject: String? = nil,
            from start: Start = .now,
            excludingOwnPosts: Bool = false,
            lossless: Bool = false,
            onMissed: (@Sendable (Int, Name?) -> Void)? = nil,
            onUndecodable: (@Sendable (UndecodableMessage) -> Void)? = nil
        ) throws(SharedNotificationError) -> ObservationToken {
            try register(
                observer, as: messages,
                request(subject, start, excludingOwnPosts, lossless, onMissed, onUndecodable, nil))
        }

        /// Ends an object's observations of a protocol, with and without a subject. Promise: as
        /// ``removeObserver(_:)-(AnyObject)``.
        ///
        /// ```swift
        /// @NotificationProtocol protocol UserObserver: AnyObject { func signedOut() }
        /// func forget(_ observer: any UserObserver, in center: SharedNotificationCenter) {
        ///     center.removeObserver(observer, as: UserObserver.self)
        /// }
        /// ```
        public func removeObserver<Observer>(_ observer: Observer, as type: Observer.Type) {
            protocolObservers.remove(ObjectIdentifier(observer as AnyObject)) { $0.type == ObjectIdentifier(type) }
        }

        /// Ends an object's observations of a protocol, given its messages. The effect is the same as with the protocol
        /// itself.
        ///
        /// Promise: as ``removeObserver(_:)-(AnyObject)``; for an example see
        /// ``addObserver(_:as:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:)-8s1k1``.
        public func removeObserver<Messages: ProtocolMessages>(
            _ observer: Messages.Observer, as messages: Messages.Type
        ) {
            removeObserver(observer, as: Messages.Observer.self)
        }

        /// Ends an object's observations of a main actor protocol, given its messages. The effect is the same as with
        /// the protocol itself.
        ///
        /// Promise: as ``removeObserver(_:)-(AnyObject)``; for an example see
        /// ``addObserver(_:as:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:)-8s1k1``.
        public func removeObserver<Messages: MainActorProtocolMessages>(
            _ observer: Messages.Observer, as messages: Messages.Type
        ) {
            removeObserver(observer, as: Messages.Observer.self)
        }

        /// Ends an object's observations of all protocols, and its registrations as a target.
        ///
        /// ```swift
        /// final class Roster: Sendable {
        ///     let center: SharedNotificationCenter
        ///     init(_ center: SharedNotificationCenter) { self.center = center }
        ///     deinit { center.removeObserver(self) }
        /// }
        /// ```
        ///
        /// Promise: after this call has returned, no method is called for these observations and registrations. None is
        /// running, except a method that made the call. Asynchronous actions have the same exception as for
        /// ``ObservationToken/cancel()``. From any thread, any number of times. The object's methods and its `deinit`
        /// may call this.
        public func removeObserver(_ observer: AnyObject) {
            protocolObservers.remove(ObjectIdentifier(observer)) { _ in true }
            removeTarget(observer)
        }

        private func notFound(_ type: Any.Type) -> SharedNotificationError {
            SharedNotificationError(
                .invalidArgument,
                message: """
                    can't observe \(type) in center "\(name)": no messages of that name were found; \
                    if it has @NotificationProtocol, write `as: …Messages.self`
                    """)
        }

        private func request(
            _ subject: String?, _ start: Start, _ excludingOwnPosts: Bool, _ lossless: Bool, _ onMissed: MissedHandler?,
            _ onUndecodable: (@Sendable (UndecodableMessage) -> Void)?, _ queue: DispatchQueue?
        ) -> ProtocolRequest {
            ProtocolRequest(
                subject: subject, start: start, excludesOwn: excludingOwnPosts, isLossless: lossless,
                onMissed: onMissed,
                undecodable: UndecodableReport(onUndecodable: onUndecodable, diagnostics: core.diagnostics),
                queue: queue)
        }

        // These two functions open the existential metatype: the compiler then knows the type of the messages.
        private func add<Observer, Messages: ProtocolMessages>(
            _ observer: Observer, as messages: Messages.Type, _ request: ProtocolRequest
        ) throws(SharedNotificationError) -> ObservationToken {
            guard Messages.Observer.self == Observer.self, let observer = observer as? Messages.Observer else {
                throw notFound(Observer.self)
            }
            return try register(observer, as: messages, request)
        }

        private func add<Observer, Messages: MainActorProtocolMessages>(
            _ observer: Observer, as messages: Messages.Type, _ request: ProtocolRequest
        ) throws(SharedNotificationError) -> ObservationToken {
            guard Messages.Observer.self == Observer.self, let observer = observer as? Messages.Observer else {
                throw notFound(Observer.self)
            }
            return try register(observer, as: messages, request)
        }

        private func register<Messages: ProtocolMessages>(
            _ observer: Messages.Observer, as messages: Messages.Type, _ request: ProtocolRequest
        ) throws(SharedNotificationError) -> ObservationToken {
            try register(observer, Messages.messages, request, Messages.reference(to: observer)) { relay in
                .closure(request.queue) { arrival in
                    relay.serve(arrival, request.undecodable) { try Messages.call($0, of: $1, with: $2) }
                }
            }
        }

        private func register<Messages: MainActorProtocolMessages>(
            _ observer: Messages.Observer, as messages: Messages.Type, _ request: ProtocolRequest
        ) throws(SharedNotificationError) -> ObservationToken {
            try register(observer, Messages.messages, request, Messages.reference(to: observer)) { relay in
                .mainActor { arrival in
                    relay.serve(arrival, request.undecodable) { try Messages.call($0, of: $1, with: $2) }
                }
            }
        }

        private func register<Observer>(
            _ observer: Observer, _ messages: [any Message.Type], _ request: ProtocolRequest,
            _ reference: @escaping () -> Observer?, manner: (ProtocolRelay<Observer>) -> Manner
        ) throws(SharedNotificationError) -> ObservationToken {
            try core.refuseIfForked()
            for message in messages { core.types.note(message, name: message.name) }
            let names = messages.map { $0.name }
            return ObservationToken(
                anchor: try protocolObservers.anchor(
                    for: observer as AnyObject,
                    .init(type: ObjectIdentifier(Observer.self), subject: request.subject.map { ByteText($0) })
                ) { () throws(SharedNotificationError) in
                    let relay = ProtocolRelay(names, reference)
                    let anchor = try core.observe(
                        request.subscription(in: names), onMissed: request.onMissed,
                        of: ObjectIdentifier(observer as AnyObject), as: manner(relay))
                    relay.anchor.withLock { $0.anchor = anchor }
                    return anchor
                })
        }
    }

    extension ProtocolRelay {
        /// Calls the observer's method in the caller's context.
        fileprivate func serve(
            _ arrival: Arrival, _ undecodable: UndecodableReport,
            by call: (Int, Observer, borrowing SharedNotificationCenter.ArrivedPayload) throws -> Void
        ) {
            guard !arrival.isCleared, let (observer, method) = target(of: arrival) else { return }
            do {
                try arrival.withBytes { try call(method, observer, .init(format: arrival.format, bytes: $0)) }
            } catch { undecodable.report(arrival, error) }
        }
    }

    /// The arguments of the public functions that say how to observe a protocol.
    private struct ProtocolRequest {
        var subject: String?
        var start: SharedNotificationCenter.Start
        var excludesOwn: Bool
        var isLossless: Bool
        var onMissed: MissedHandler?
        var undecodable: UndecodableReport
        var queue: DispatchQueue?

        func subscription(in names: [SharedNotificationCenter.Name]) -> Subscription {
            Subscription(names: names, subject: subject, start: start, excludesOwn: excludesOwn, isLossless: isLossless)
        }
    }
#endif
