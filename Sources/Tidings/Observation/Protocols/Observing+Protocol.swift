#if Macros
    public import Dispatch

    // What `@NotificationProtocol` generates goes by these; the functions are for everybody.
    extension SharedNotificationCenter {
        /// The methods of a protocol as messages: what ``NotificationProtocol(prefix:)`` generates beside it. Written by hand:
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
        ///     static func reference(to observer: any UserObserver) -> () -> (any UserObserver)? { { [weak observer] in observer } }
        ///
        ///     static func call(
        ///         _ method: Int, of observer: any UserObserver, with payload: borrowing SharedNotificationCenter.ArrivedPayload
        ///     ) throws {
        ///         observer.userNameChanged(to: try payload.decode(UserNameChanged.self).to)
        ///     }
        /// }
        /// ```
        public protocol ProtocolMessages {
            /// The protocol's observers, `any UserObserver`.
            associatedtype Observer
            /// What each method's arguments travel as, under its name on the wire; all of these are observed.
            static var messages: [any Message.Type] { get }
            /// The observer as long as it lives, which what is returned does not prolong, as ``ProtocolMessages`` shows.
            static func reference(to observer: Observer) -> () -> Observer?
            /// Calls a method with the arguments in a payload, as ``ProtocolMessages`` shows.
            ///
            /// - Parameters:
            ///   - method: its place in ``messages``.
            ///   - observer: whose.
            ///   - payload: what came under that name.
            /// - Throws: what ``ArrivedPayload`` throws, without calling anything, if the arguments are not in it: `onUndecodable` is told.
            static func call(_ method: Int, of observer: Observer, with payload: borrowing ArrivedPayload) throws
        }

        /// The methods of a protocol of the main actor as messages. Otherwise as ``ProtocolMessages``, where there is an example.
        public protocol MainActorProtocolMessages {
            /// The protocol's observers, `any UserObserver`.
            associatedtype Observer
            /// What each method's arguments travel as, under its name on the wire; all of these are observed.
            static var messages: [any Message.Type] { get }
            /// The observer as long as it lives, which what is returned does not prolong, as ``ProtocolMessages`` shows.
            static func reference(to observer: Observer) -> () -> Observer?
            /// Calls a method with the arguments in a payload, on the main actor; otherwise as ``ProtocolMessages`` shows.
            ///
            /// - Parameters:
            ///   - method: its place in ``messages``.
            ///   - observer: whose.
            ///   - payload: what came under that name.
            /// - Throws: what ``ArrivedPayload`` throws, without calling anything, if the arguments are not in it: `onUndecodable` is told.
            @MainActor static func call(_ method: Int, of observer: Observer, with payload: borrowing ArrivedPayload)
                throws
        }

        /// A payload for the length of a call, as generated code is given it. For an example see ``ProtocolMessages``.
        public struct ArrivedPayload: ~Copyable {
            fileprivate let format: UInt8
            fileprivate let bytes: UnsafeRawBufferPointer

            /// The message in it, as ``ProtocolMessages`` shows.
            ///
            /// - Throws: a `DecodingError`, or what the message's own `init(from:)` throws, if it is not one of that type.
            public func decode<M: Message>(_ type: M.Type) throws -> M {
                try PayloadCoding.message(type, format: format, bytes: bytes)
            }

            /// Throws unless it is a message of that type, or nothing at all: for methods without arguments, in place of ``decode(_:)``.
            ///
            /// - Throws: as ``decode(_:)``.
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
        /// The methods of a protocol with `@MainActor` are called there; those of others on `queue`, or on the dispatcher thread. The compiler
        /// refuses objects that another thread must not use: the observer is `Sendable`, or the caller gives it away.
        ///
        /// The messages are found by the protocol's name, which says nothing of `private` protocols, or of protocols within functions or
        /// generic types: for these write `as: UserObserverMessages.self`.
        ///
        /// - Parameters:
        ///   - observer: whose methods are called, perhaps by another thread; weakly held.
        ///   - type: the protocol; methods that it inherits are not observed.
        ///   - subject: only what is posted with this subject; `nil`: all.
        ///   - start: where to start. Anything but `.now` takes an observer place and a thread of its own.
        ///   - excludingOwnPosts: leave out what is posted through this center object.
        ///   - lossless: hold posters back rather than lose anything. Takes an observer place and a thread of its own.
        ///   - onMissed: told how many notifications of which name (`nil`: of all together) were lost, before the next one.
        ///   - onUndecodable: told of payloads that a method's arguments can't be made of.
        ///   - queue: where methods are called; `nil`: on the dispatcher thread. The main actor's are called there in any case.
        /// - Returns: what keeps the observation going as long as the object lives. It ends with `cancel()`, or when the last copy goes away.
        /// - Throws: ``SharedNotificationError``: `.invalidArgument` if it isn't a protocol with `@NotificationProtocol`, `.invalidName` (or
        ///   subject), `.noSpace` (for names), `.tooManyObservers`, `.notPermitted` (lossless, in a center that was opened for reading only),
        ///   `.forked`, `.system` (no thread, or no memory).
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

        /// Calls the methods of an object for what posters of its protocol post, as long as the object lives. With the protocol's messages: checked
        /// by the compiler, and for protocols that can't be found by name.
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
        /// Otherwise as with the protocol itself, `addObserver(_:as: UserObserver.self)`.
        ///
        /// - Throws: ``SharedNotificationError``: `.invalidName` (or subject), `.noSpace` (for names), `.tooManyObservers`, `.notPermitted`,
        ///   `.forked`, `.system`.
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

        /// Calls the methods of an object on the main actor for what posters of its protocol, which is one of the main actor's, post, as long as the
        /// object lives. Otherwise as for other protocols' messages.
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
        /// - Throws: ``SharedNotificationError``: `.invalidName` (or subject), `.noSpace` (for names), `.tooManyObservers`, `.notPermitted`,
        ///   `.forked`, `.system`.
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

        /// Ends what an object observes by a protocol, with and without a subject. Promise: as ``removeObserver(_:)-(AnyObject)``.
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

        /// Ends what an object observes by a protocol, given its messages: the same as with the protocol itself. Promise: as
        /// ``removeObserver(_:)-(AnyObject)``; for an example see
        /// ``addObserver(_:as:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:)-(Messages.Observer,_,_,_,_,_,_,_,_)``.
        public func removeObserver<Messages: ProtocolMessages>(
            _ observer: Messages.Observer, as messages: Messages.Type
        ) {
            removeObserver(observer, as: Messages.Observer.self)
        }

        /// Ends what an object observes by a protocol of the main actor, given its messages: the same as with the protocol itself. Promise: as
        /// ``removeObserver(_:)-(AnyObject)``; for an example see
        /// ``addObserver(_:as:subject:from:excludingOwnPosts:lossless:onMissed:onUndecodable:queue:)-(Messages.Observer,_,_,_,_,_,_,_,_)``.
        public func removeObserver<Messages: MainActorProtocolMessages>(
            _ observer: Messages.Observer, as messages: Messages.Type
        ) {
            removeObserver(observer, as: Messages.Observer.self)
        }

        /// Ends what an object observes by any protocol, and what it is a target of.
        ///
        /// ```swift
        /// final class Roster: Sendable {
        ///     let center: SharedNotificationCenter
        ///     init(_ center: SharedNotificationCenter) { self.center = center }
        ///     deinit { center.removeObserver(self) }
        /// }
        /// ```
        ///
        /// Promise: when this has returned, none of its methods is running for that (unless it is the caller) or will run; asynchronous actions
        /// with the exception that ``ObservationToken/cancel()`` has. From any thread, any number of times, also from the object's methods and
        /// its `deinit`.
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
        /// Has the observer's method called, where this is called.
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

    /// How to observe a protocol, as the public functions say it.
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
