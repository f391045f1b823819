// Observers by a protocol with `@NotificationProtocol`: an object's methods are called for the messages of its
// protocol.

#if Macros
    // The macro `@NotificationProtocol` generates types that conform to the protocols below.
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
            /// Calls the method with this index in ``messages``, with the arguments in a payload, as
            /// ``ProtocolMessages`` shows.
            ///
            /// - Throws: what ``ArrivedPayload`` throws if the payload does not hold the arguments. No method is called
            ///   then, and `onUndecodable` receives the payload.
            static func call(_ method: Int, of observer: Observer, with payload: borrowing ArrivedPayload) throws
        }

        /// The methods of a main actor protocol as messages. Otherwise the same as ``ProtocolMessages``.
        public protocol MainActorProtocolMessages {
            /// As ``ProtocolMessages/Observer``.
            associatedtype Observer
            /// As ``ProtocolMessages/messages``.
            static var messages: [any Message.Type] { get }
            /// As ``ProtocolMessages/reference(to:)``; ``ProtocolMessages`` shows it.
            static func reference(to observer: Observer) -> () -> Observer?
            /// As ``ProtocolMessages/call(_:of:with:)``, on the main actor; ``ProtocolMessages`` shows it.
            ///
            /// - Throws: as ``ProtocolMessages/call(_:of:with:)``.
            @MainActor static func call(_ method: Int, of observer: Observer, with payload: borrowing ArrivedPayload)
                throws
        }

        /// A payload that generated code receives for the duration of one call, as ``ProtocolMessages`` shows.
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
            public func check<M: Message>(_ type: M.Type) throws { if !bytes.isEmpty { _ = try decode(type) } }
        }

        /// Calls the methods of an object for messages of its protocol, while the object is alive.
        ///
        /// ```swift
        /// @NotificationProtocol protocol UserObserver: AnyObject { func signedOut() }
        /// final class Roster: UserObserver, Sendable { func signedOut() { print("signed out") } }
        ///
        /// let center = try SharedNotificationCenter.default
        /// let roster = Roster()
        /// let token = try center.addObserver(roster, as: UserObserverMessages.self)
        /// center.removeObservers(of: roster)
        /// ```
        ///
        /// Promise: as for a closure, and
        /// - all methods of the protocol are called in one order, one call at a time;
        /// - the center holds the object weakly. After the object is released, no method is called. The object stays
        ///   alive while a method runs;
        /// - if an object already observes the protocol (with this subject), it is not called twice. The call returns
        ///   the first call's token, with its options;
        /// - after the token's ``ObservationToken/cancel()`` or ``removeObservers(of:)`` has returned, no method is
        ///   called for this observation. None is running, except a method that made the call.
        ///
        /// The methods are called on the options' queue, or on the dispatcher thread. The compiler refuses an object
        /// that other threads must not use: the observer must be `Sendable`, or the caller must transfer it.
        ///
        /// - Parameters:
        ///   - observer: the object whose methods are called, possibly on another thread. The center holds it weakly.
        ///   - messages: what `@NotificationProtocol` generates beside the protocol; methods that the protocol inherits
        ///     are not observed.
        ///   - options: the subject, the start, the queue, and what happens to losses. An owner and an executor have no
        ///     effect.
        /// - Returns: a token that keeps the observation alive while the object is alive. The observation ends with
        ///   `cancel()`, or when the last copy of the token is released.
        /// - Throws: ``SharedNotificationError``: `.invalidName` (also for the subject), `.noSpace` (for names),
        ///   `.tooManyObservers`, `.notPermitted` (lossless, in a center opened read-only), `.removed`,
        ///   `.otherIncarnation`, `.forked`, `.system` (no thread, or no memory).
        public func addObserver<Messages: ProtocolMessages>(
            _ observer: sending Messages.Observer, as messages: Messages.Type,
            options: ObserverOptions = ObserverOptions()
        ) throws(SharedNotificationError) -> ObservationToken {
            let undecodable = UndecodableReport(onUndecodable: options.onUndecodable, diagnostics: core.diagnostics)
            return try register(observer, Messages.messages, options, Messages.reference(to: observer)) { relay in
                .closure(options.queue) { arrival in
                    relay.serve(arrival, undecodable) { try Messages.call($0, of: $1, with: $2) }
                }
            }
        }

        /// Calls the methods of an object on the main actor for messages of its main actor protocol, while the object
        /// is alive.
        ///
        /// Otherwise the same as for other protocols. The options' queue has no effect.
        ///
        /// ```swift
        /// @MainActor @NotificationProtocol protocol UserObserver: AnyObject { func signedOut() }
        /// @MainActor final class Roster: UserObserver { func signedOut() { print("signed out") } }
        /// let roster = Roster()
        /// let token = try SharedNotificationCenter.default.addObserver(roster, as: UserObserverMessages.self)
        /// ```
        ///
        /// - Throws: as for other protocols, ``addObserver(_:as:options:)``.
        public func addObserver<Messages: MainActorProtocolMessages>(
            _ observer: Messages.Observer, as messages: Messages.Type, options: ObserverOptions = ObserverOptions()
        ) throws(SharedNotificationError) -> ObservationToken {
            let undecodable = UndecodableReport(onUndecodable: options.onUndecodable, diagnostics: core.diagnostics)
            return try register(observer, Messages.messages, options, Messages.reference(to: observer)) { relay in
                .mainActor { arrival in
                    relay.serve(arrival, undecodable) { try Messages.call($0, of: $1, with: $2) }
                }
            }
        }

        private func register<Observer>(
            _ observer: Observer, _ messages: [any Message.Type], _ options: ObserverOptions,
            _ reference: @escaping () -> Observer?, manner: (ProtocolRelay<Observer>) -> Manner
        ) throws(SharedNotificationError) -> ObservationToken {
            try core.refuseIfForked()
            for message in messages { core.types.note(message, name: message.name) }
            let names = messages.map { $0.name }
            return ObservationToken(
                anchor: try protocolObservers.anchor(
                    for: observer as AnyObject,
                    .init(type: ObjectIdentifier(Observer.self), subject: options.subject.map { ByteText($0) })
                ) { () throws(SharedNotificationError) in
                    let relay = ProtocolRelay(names, reference)
                    let anchor = try core.observe(
                        options.subscription(to: .init(names)), onMissed: options.onMissed,
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
#endif
