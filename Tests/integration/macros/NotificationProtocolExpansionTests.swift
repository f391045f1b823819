#if Macros
    import Testing

    /// The exact code that `@NotificationProtocol` generates.
    @Suite struct NotificationProtocolExpansionTests {
        @Test func methodsOfEveryKind() {
            expectExpansion(
                """
                @NotificationProtocol(prefix: "com.example")
                public protocol UserObserver: AnyObject {
                    /// A user has another name now.
                    func userNameChanged(oldName: String, to newName: String?)
                    @NotificationName("out")
                    @NotificationDefault("reason", 7)
                    func signedOut(_ reason: Int)
                }
                """,
                """
                public protocol UserObserver: AnyObject {
                    /// A user has another name now.
                    func userNameChanged(oldName: String, to newName: String?)
                    @NotificationName("out")
                    @NotificationDefault("reason", 7)
                    func signedOut(_ reason: Int)
                }

                /// Posts the notifications of `UserObserver` to its observers in all processes.
                public struct UserObserverPoster: Sendable {
                    public let center: SharedNotificationCenter
                    public var options: SharedNotificationCenter.PostOptions
                    public init(_ center: SharedNotificationCenter, options: SharedNotificationCenter.PostOptions = \
                .init()) {
                        self.center = center
                        self.options = options
                    }
                    /// A user has another name now.
                    public func userNameChanged(oldName: String, to newName: String?) throws(SharedNotificationError) {
                        let message = UserObserverMessages.UserNameChangedMessage(oldName: oldName, to: newName)
                        try self.center.post(message, options: self.options)
                    }
                    public func signedOut(_ reason: Int) throws(SharedNotificationError) {
                        let message = UserObserverMessages.SignedOutMessage(reason: reason)
                        try self.center.post(message, options: self.options)
                    }
                }

                /// The methods of `UserObserver` as messages.
                public enum UserObserverMessages: SharedNotificationCenter.ProtocolMessages {
                    public static var messages: [any SharedNotificationCenter.Message.Type] {
                        [UserNameChangedMessage.self, SignedOutMessage.self]
                    }
                    public static func reference(to observer: any UserObserver) -> () -> (any UserObserver)? {
                        { [weak observer] in
                            observer
                        }
                    }
                    public static func call(_ method: Int, of observer: any UserObserver, with payload: borrowing \
                SharedNotificationCenter.ArrivedPayload) throws {
                        switch method {
                        case 0:
                            let arguments = try payload.decode(UserNameChangedMessage.self)
                            observer.userNameChanged(oldName: arguments.oldName, to: arguments.to)
                        case 1:
                            let arguments = try payload.decode(SignedOutMessage.self)
                            observer.signedOut(arguments.reason)
                        default:
                            break
                        }
                    }
                    @inline(never) @_optimize(none)
                    public static func keep() -> Any.Type {
                        Self.self
                    }
                    public struct UserNameChangedMessage: SharedNotificationCenter.Message {
                        public static var name: SharedNotificationCenter.Name {
                            "com.example.UserObserver.userNameChanged(oldName:to:)"
                        }
                        public var oldName: String
                        public var to: String?
                        public init(oldName: String, to: String?) {
                            self.oldName = oldName
                            self.to = to
                        }
                        public func _encodeField(to encoder: inout SharedNotificationCenter._FieldEncoder) throws {
                            let map = try encoder.beginMap()
                            try encoder.encode(self.oldName, for: "oldName")
                            try encoder.encode(self.to, for: "to")
                            try encoder.endMap(map)
                        }
                        public init(_decodingField decoder: inout SharedNotificationCenter._FieldDecoder) throws {
                            var oldNameValue: String?
                            var toValue: String??
                            var map = try decoder.beginMap()
                            while let field = try decoder.nextField(in: &map, of: "\\u{67}oldName\\u{62}to") {
                                switch field {
                                case 0 where oldNameValue == nil:
                        oldNameValue = try decoder.decode(String.self, for: "oldName")
                                case 1 where toValue == nil:
                        toValue = try decoder.decode(String?.self, for: "to")
                                default:
                                    try decoder.skipValue()
                                }
                            }
                            self.oldName = try decoder.required(oldNameValue, "oldName")
                            self.to = toValue ?? nil
                        }
                    }
                    public struct SignedOutMessage: SharedNotificationCenter.Message {
                        public static var name: SharedNotificationCenter.Name {
                            "com.example.UserObserver.out"
                        }
                        public var reason: Int
                        public init(reason: Int) {
                            self.reason = reason
                        }
                        public func _encodeField(to encoder: inout SharedNotificationCenter._FieldEncoder) throws {
                            let map = try encoder.beginMap()
                            try encoder.encode(self.reason, for: "reason")
                            try encoder.endMap(map)
                        }
                        public init(_decodingField decoder: inout SharedNotificationCenter._FieldDecoder) throws {
                            var reasonValue: Int?
                            var map = try decoder.beginMap()
                            while let field = try decoder.nextField(in: &map, of: "\\u{66}reason") {
                                switch field {
                                case 0 where reasonValue == nil:
                        reasonValue = try decoder.decode(Int.self, for: "reason")
                                default:
                                    try decoder.skipValue()
                                }
                            }
                            self.reason = reasonValue ?? 7
                        }
                        private enum CodingKeys: String, CodingKey {
                            case reason
                        }
                        public init(from decoder: any Decoder) throws {
                            let container = try decoder.container(keyedBy: CodingKeys.self)
                            self.reason = container.contains(.reason) ? try container.decode(Int.self, forKey: \
                .reason) : 7
                        }
                    }
                }
                """)
        }
    }
#endif
