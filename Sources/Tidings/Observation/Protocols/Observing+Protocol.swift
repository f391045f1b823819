#if Macros
    public import Dispatch

    // What `@NotificationProtocol` generates goes by these; the functions are for everybody.
    extension SharedNotificationCenter {
        /// The methods of a protocol as messages: what ``NotificationProtocol(prefix:)`` generates beside it.
        public protocol ProtocolMessages {
            /// The protocol's observers, `any UserObserver`.
            associatedtype Observer
            /// The methods' names on the wire.
            static var names: [Name] { get }
            /// The observer as long as it lives.
            static func reference(to observer: Observer) -> () -> Observer?
            /// Calls a method with the arguments in a payload, unless it is another method's payload.
            static func call(_ method: Int, of observer: Observer, with payload: borrowing ArrivedPayload) throws
        }

        /// The same, for a protocol of the main actor.
        public protocol MainActorProtocolMessages {
            associatedtype Observer
            static var names: [Name] { get }
            static func reference(to observer: Observer) -> () -> Observer?
            @MainActor static func call(_ method: Int, of observer: Observer, with payload: borrowing ArrivedPayload)
                throws
        }

        /// A payload for the length of a call.
        public struct ArrivedPayload: ~Copyable {
            fileprivate let format: UInt8
            fileprivate let bytes: UnsafeRawBufferPointer

            /// The message in it.
            public func decode<M: Message>(_ type: M.Type) throws -> M {
                try PayloadCoding.message(type, format: format, bytes: bytes)
            }

            /// Throws unless it is a message without content, or nothing at all.
            public func check<M: Message>(_ type: M.Type) throws {
                if !bytes.isEmpty { _ = try decode(type) }
            }
        }

        /// Calls the methods of an object for what posters of its protocol post, as long as the object lives.
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
        /// Promise: as for a closure; all of the protocol's methods in one order, one call at a time, and
        /// - the object is held weakly: when it is gone nothing is called any more. While a method runs, it lives;
        /// - an object that observes a protocol (and subject) already isn't called twice: the token is that of the first time, with its options;
        /// - when the token's ``ObservationToken/cancel()`` or one of the `removeObserver` functions has returned, no method is running for this
        ///   (unless it is the caller) or will run.
        ///
        /// The methods of a protocol with `@MainActor` are called there; those of others on `queue`, or on the dispatcher thread: such an
        /// object must be ready to be called on another thread than its own.
        ///
        /// The messages are found by the protocol's name, which says nothing of `private` protocols, or of protocols within functions or
        /// generic types: for these write `as: UserObserverMessages.self`.
        ///
        /// - Parameters:
        ///   - observer: whose methods are called; weakly held.
        ///   - type: the protocol; methods that it inherits are not observed.
        ///   - subject: only what is posted with this subject; `nil`: all.
        ///   - start: where to start. Anything but `.now` takes an observer place and a thread of its own.
        ///   - excludingOwnPosts: leave out what is posted through this center object.
        ///   - lossless: hold posters back rather than lose anything. Takes an observer place and a thread of its own.
        ///   - onMissed: told how many notifications of which name (`nil`: of all together) were lost, before the next one.
        ///   - onUndecodable: told of payloads that a method's arguments can't be made of.
        ///   - queue: where methods are called; `nil`: on the dispatcher thread. The main actor's are called there in any case.
        /// - Throws: ``SharedNotificationError``: `.invalidArgument` if it isn't a protocol with `@NotificationProtocol`, `.invalidName`,
        ///   `.noSpace` (for names), `.tooManyObservers`, `.forked`.
        public func addObserver<Observer>(
            _ observer: Observer,
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

        /// The same, with the protocol's messages: checked by the compiler, and for protocols that can't be found by name.
        public func addObserver<Messages: ProtocolMessages>(
            _ observer: Messages.Observer,
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

        /// The same, for a protocol of the main actor.
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

        /// Ends what an object observes by a protocol, with and without a subject. Otherwise as for all protocols.
        public func removeObserver<Observer>(_ observer: Observer, as type: Observer.Type) {
            protocolObservers.remove(ObjectIdentifier(observer as AnyObject)) { $0.type == ObjectIdentifier(type) }
        }

        /// The same, with the protocol's messages.
        public func removeObserver<Messages: ProtocolMessages>(
            _ observer: Messages.Observer, as messages: Messages.Type
        ) {
            removeObserver(observer, as: Messages.Observer.self)
        }

        /// The same, for a protocol of the main actor.
        public func removeObserver<Messages: MainActorProtocolMessages>(
            _ observer: Messages.Observer, as messages: Messages.Type
        ) {
            removeObserver(observer, as: Messages.Observer.self)
        }

        /// Ends what an object observes by any protocol.
        ///
        /// Promise: when this has returned, none of its methods is running for that (unless it is the caller) or will run. From any thread, any
        /// number of times, also from the object's methods and its `deinit`.
        public func removeObserver(_ observer: AnyObject) {
            protocolObservers.remove(ObjectIdentifier(observer)) { _ in true }
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

        // Opened: the messages' type becomes one that the compiler knows.
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
            try register(observer, Messages.names, request, Messages.reference(to: observer)) { relay in
                .closure(request.queue) { arrival in
                    relay.serve(arrival, request.undecodable) { try Messages.call($0, of: $1, with: $2) }
                }
            }
        }

        private func register<Messages: MainActorProtocolMessages>(
            _ observer: Messages.Observer, as messages: Messages.Type, _ request: ProtocolRequest
        ) throws(SharedNotificationError) -> ObservationToken {
            try register(observer, Messages.names, request, Messages.reference(to: observer)) { relay in
                .mainActor { arrival in
                    relay.serve(arrival, request.undecodable) { try Messages.call($0, of: $1, with: $2) }
                }
            }
        }

        private func register<Observer>(
            _ observer: Observer, _ names: [Name], _ request: ProtocolRequest, _ reference: @escaping () -> Observer?,
            manner: (ProtocolRelay<Observer>) -> Manner
        ) throws(SharedNotificationError) -> ObservationToken {
            try core.refuseIfForked()
            return ObservationToken(
                anchor: try protocolObservers.anchor(
                    for: observer as AnyObject, .init(type: ObjectIdentifier(Observer.self), subject: request.subject)
                ) { () throws(SharedNotificationError) in
                    let relay = ProtocolRelay(names, reference)
                    let anchor = try core.observe(
                        request.interest(in: names), onMissed: request.onMissed, as: manner(relay))
                    relay.anchor.withLock { $0.anchor = anchor }
                    return anchor
                })
        }
    }

    extension ProtocolRelay {
        /// Has the observer's method called, where this is called.
        fileprivate func serve(
            _ arrival: Arrival, _ undecodable: UndecodableReport,
            by call: (Int, Observer, borrowing SharedNotificationCenter.ArrivedPayload) throws -> Void
        ) {
            guard let (observer, method) = target(of: arrival) else { return }
            do {
                try arrival.withBytes { try call(method, observer, .init(format: arrival.format, bytes: $0)) }
            } catch { undecodable.report(arrival, error) }
        }
    }

    /// How to observe a protocol, as the public functions say it.
    private struct ProtocolRequest {
        var subject: String?
        var start: SharedNotificationCenter.Start
        var excludesOwn: Bool
        var isLossless: Bool
        var onMissed: MissedHandler?
        var undecodable: UndecodableReport
        var queue: DispatchQueue?

        func interest(in names: [SharedNotificationCenter.Name]) -> Interest {
            Interest(names: names, subject: subject, start: start, excludesOwn: excludesOwn, isLossless: isLossless)
        }
    }
#endif
