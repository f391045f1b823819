#if Macros
    /// Generates the source text of a protocol's poster and messages.
    struct NotificationProtocolSource {
        /// The protocol's name, with backticks if it has them.
        var name: String
        /// The prefix of each method's name on the wire.
        var prefix: String
        var methods: [NotificationMethod]
        /// The access modifiers of the types beside the protocol, and of their members, each followed by a space.
        var typeAccess: String
        var access: String
        var isOnMainActor: Bool

        private var bareName: String { name.filter { $0 != "`" } }
        var posterName: String { bareName + "Poster" }
        var messagesName: String { bareName + "Messages" }

        // MARK: Posting

        var poster: String {
            let center = "SharedNotificationCenter"
            return block(
                "\(typeAccess)struct \(posterName): Sendable",
                [
                    "\(access)let center: \(center)",
                    "\(access)var options: \(center).PostOptions",
                    "\(access)init(_ center: \(center), options: \(center).PostOptions = .init()) {",
                    "    self.center = center",
                    "    self.options = options",
                    "}",
                ] + methods.flatMap(post),
                comment: "/// Posts the notifications of `\(bareName)` to its observers in all processes.")
        }

        private func post(_ method: NotificationMethod) -> [String] {
            let arguments = method.parameters.map { "\($0.field.name): \($0.name)" }.joined(separator: ", ")
            return method.documentation + [
                "\(access)func \(method.base)\(method.parameterClause) throws(SharedNotificationError) {",
                "    let message = \(messagesName).\(method.type)(\(arguments))",
                "    try self.center.post(message, options: self.options)",
                "}",
            ]
        }

        // MARK: Observing

        var messages: String {
            let kind = isOnMainActor ? "MainActorProtocolMessages" : "ProtocolMessages"
            let isolation = isOnMainActor ? "@MainActor " : ""
            let cases = methods.enumerated().flatMap { index, method in
                [
                    "    case \(index):",
                    method.parameters.isEmpty
                        ? "        try payload.check(\(method.type).self)"
                        : "        let arguments = try payload.decode(\(method.type).self)",
                    "        \(method.call)",
                ]
            }
            return block(
                "\(typeAccess)enum \(messagesName): SharedNotificationCenter.\(kind)",
                [
                    "\(access)static var messages: [any SharedNotificationCenter.Message.Type] {",
                    "    [\(methods.map { "\($0.type).self" }.joined(separator: ", "))]",
                    "}",
                    "\(access)static func reference(to observer: any \(name)) -> () -> (any \(name))? {",
                    "    { [weak observer] in observer }",
                    "}",
                    "\(access)\(isolation)static func call(_ method: Int, of observer: any \(name), "
                        + "with payload: borrowing SharedNotificationCenter.ArrivedPayload) throws {",
                    "    switch method {",
                ] + cases + [
                    "    default: break",
                    "    }",
                    "}",
                    "@inline(never) @_optimize(none)",
                    "\(access)static func keep() -> Any.Type { Self.self }",
                ] + methods.flatMap(message),
                comment: "/// The methods of `\(bareName)` as messages.")
        }

        private func message(_ method: NotificationMethod) -> [String] {
            let fields = method.parameters.map(\.field)
            let coder = CoderSource(fields: fields, access: access)
            var lines = [
                "\(access)static var name: SharedNotificationCenter.Name { \(quoted("\(prefix)\(method.name)")) }"
            ]
            lines += fields.map { "\(access)var \($0.name): \($0.fullType)" }
            lines += ["\(access)init(\(fields.map { "\($0.name): \($0.fullType)" }.joined(separator: ", "))) {"]
            lines += fields.map { "    self.\($0.name) = \($0.name)" }
            lines += ["}"]
            lines += coder.encode.split(separator: "\n").map(String.init)
            lines += coder.decode.split(separator: "\n").map(String.init)
            if coder.needsCodable {
                lines += coder.codingKeys.split(separator: "\n").map(String.init)
                lines += coder.initFromDecoder.split(separator: "\n").map(String.init)
            }
            return block("\(access)struct \(method.type): SharedNotificationCenter.Message", lines)
                .split(separator: "\n").map(String.init)
        }

        // MARK: Pieces

        private func block(_ head: String, _ lines: [String], comment: String? = nil) -> String {
            ((comment.map { [$0] } ?? []) + ["\(head) {"] + lines.map { "    \($0)" } + ["}"]).joined(separator: "\n")
        }

        private func quoted(_ text: String) -> String {
            "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
        }
    }
#endif
