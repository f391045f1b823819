#if Macros
    import SwiftSyntaxMacrosGenericTestSupport
    import Testing

    /// `@NotificationProtocol` refuses associated types at each position; its fix-its replace them by placeholders.
    @Suite struct AssociatedTypesTests {
        private static let message =
            "a poster can't know an associated type, which differs between observers: write the type that is sent"
        private static let item = "take a type in place of 'Item'"

        private func refused(
            _ source: String, at places: [(line: Int, column: Int)], fixIt: String = item, expanded: String? = nil,
            fixed: String,
            location: Testing.SourceLocation = #_sourceLocation
        ) {
            expectExpansion(
                "@NotificationProtocol\n\(source)", expanded ?? source,
                diagnostics: places.map {
                    DiagnosticSpec(
                        message: Self.message, line: $0.line, column: $0.column, fixIts: [FixItSpec(message: fixIt)])
                }, fixed: "@NotificationProtocol\n\(fixed)", location: location)
            expectNoComplaints(of: "@NotificationProtocol\n\(fixed)", location: location)
        }

        @Test func members() {
            refused(
                """
                protocol P: AnyObject {
                    associatedtype Item: Codable
                    func moved(to item: Item, from old: Self.Item?)
                    func listed(_ items: [Item], by index: [String: Set<Item>], of id: Item.ID)
                    func left(Item: Int, items: Items, kind: Kind.Item)
                }
                """, at: [(3, 5)],
                fixed: """
                    protocol P: AnyObject {
                        func moved(to item: <#Item#>, from old: <#Item#>?)
                        func listed(_ items: [<#Item#>], by index: [String: Set<<#Item#>>], of id: <#Item#>.ID)
                        func left(Item: Int, items: Items, kind: Kind.Item)
                    }
                    """)
            refused(
                "protocol P: AnyObject {\n    func left()\n    associatedtype Item\n}", at: [(4, 5)],
                fixIt: "remove 'Item'",
                fixed: "protocol P: AnyObject {\n    func left()\n}")
            refused(
                "protocol P: AnyObject {\n    associatedtype Item\n    var last: Item { get }\n}", at: [(3, 5)],
                fixed: "protocol P: AnyObject {\n    var last: <#Item#> { get }\n}")
        }

        /// Each position has the same fix-it, which corrects all positions.
        @Test func several() {
            refused(
                """
                protocol P: AnyObject where Key: Hashable, Item: Codable {
                    associatedtype Item
                    associatedtype Key where Key: Codable
                    func moved(to item: Item, at key: Key)
                }
                """, at: [(3, 5), (4, 5)], fixIt: "take types in place of 'Item' and 'Key'",
                fixed: """
                    protocol P: AnyObject {
                        func moved(to item: <#Item#>, at key: <#Key#>)
                    }
                    """)
        }

        @Test func primaryOnes() {
            refused(
                "protocol P<Item>: AnyObject {\n    associatedtype Item\n    func moved(to item: Item)\n}",
                at: [(2, 11)],
                fixed: "protocol P: AnyObject {\n    func moved(to item: <#Item#>)\n}")
            refused(
                "protocol P<Item, Key>: Base<Key> {\n    associatedtype Item\n    func moved(to item: Item)\n}",
                at: [(2, 11)], fixIt: "take types in place of 'Key' and 'Item'",
                fixed: "protocol P: Base<<#Key#>> {\n    func moved(to item: <#Item#>)\n}")
        }

        @Test func whereClauses() {
            // Requirements on inherited associated types.
            refused(
                "protocol P: Base where Item == Int {\n    func moved(to item: Item)\n}", at: [(2, 18)],
                fixed: "protocol P: Base {\n    func moved(to item: <#Item#>)\n}")
            refused(
                "protocol P: Base where Self.Item.ID: Codable {\n    func left()\n}", at: [(2, 18)],
                fixIt: "remove what is required of 'Item'", fixed: "protocol P: Base {\n    func left()\n}")
            refused(
                "protocol P: Base\nwhere Item: Codable\n{\n    func left()\n}", at: [(3, 1)],
                fixIt: "remove what is required of 'Item'", fixed: "protocol P: Base\n{\n    func left()\n}")
            // Requirements on the observer stay.
            refused(
                "protocol P: Base where Self: Sendable, Item: Codable {\n    func moved(to item: Item)\n}",
                at: [(2, 18)],
                fixed: "protocol P: Base where Self: Sendable {\n    func moved(to item: <#Item#>)\n}")
            refused(
                "protocol P: Base where Item: Codable, Self: Sendable {\n    func moved(to item: Item)\n}",
                at: [(2, 18)],
                fixed: "protocol P: Base where Self: Sendable {\n    func moved(to item: <#Item#>)\n}")
            expectNoComplaints(
                of: "@NotificationProtocol\nprotocol P: AnyObject where Self: Sendable {\n    func left(uid: Int)\n}")
        }

        /// A method's own generic parameter hides the associated type, and has its own diagnostic.
        @Test func aMethodsOwnParameterOfThatName() {
            let source =
                """
                protocol P: AnyObject {
                    associatedtype Item
                    func moved<Item>(to item: Item)
                    func back(to item: Item)
                }
                """
            expectExpansion(
                "@NotificationProtocol\n\(source)", source,
                diagnostics: [
                    DiagnosticSpec(message: Self.message, line: 3, column: 5, fixIts: [FixItSpec(message: Self.item)]),
                    DiagnosticSpec(
                        message:
                            """
                            a generic method can't be a notification, because the observer's process must know the \
                            type: write the type, or a method for each type
                            """,
                        line: 4, column: 15, fixIts: [FixItSpec(message: Self.item)]),
                ],
                fixed:
                    """
                    @NotificationProtocol
                    protocol P: AnyObject {
                        func moved<Item>(to item: Item)
                        func back(to item: <#Item#>)
                    }
                    """
            )
        }

        /// The documentation of a removed declaration would document the next one, so it becomes an ordinary comment.
        @Test(arguments: [
            (
                "\n    // MARK: Types\n\n    associatedtype Item\n\n    func moved(to item: Item)\n",
                "\n    // MARK: Types\n\n    func moved(to item: <#Item#>)\n"
            ),
            ("\n    associatedtype Item\n\n    func moved(to item: Item)\n", "\n    func moved(to item: <#Item#>)\n"),
            ("\n    func moved(to item: Item)\n\n    associatedtype Item\n", "\n    func moved(to item: <#Item#>)\n"),
            (
                "\n    func moved(to item: Item)\n    associatedtype Item\n\n    func left()\n",
                "\n    func moved(to item: <#Item#>)\n\n    func left()\n"
            ),
            (
                "\n    /// What is sent.\n    associatedtype Item\n    /// Moved.\n    func moved(to item: Item)\n",
                "\n    // What is sent.\n    /// Moved.\n    func moved(to item: <#Item#>)\n"
            ),
            (
                "\n    associatedtype Item // sent\n    func moved(to item: Item)\n",
                "\n    // sent\n    func moved(to item: <#Item#>)\n"
            ),
            (
                "\n    associatedtype Item: /* as */ Codable\n    func moved(to item: Item) // to all\n",
                "\n    /* as */\n    func moved(to item: <#Item#>) // to all\n"
            ),
            (
                "\n    func moved(to item: Item) // to all\n    associatedtype Item\n",
                "\n    func moved(to item: <#Item#>) // to all\n"
            ),
        ])
        func comments(before: String, after: String) {
            let lines = before.split(separator: "associatedtype")[0].split(
                separator: "\n", omittingEmptySubsequences: false)
            refused(
                "protocol P: AnyObject {\(before)}",
                at: [(lines.count + 1, lines.count == 1 ? 25 : lines.last!.count + 1)],
                fixed: "protocol P: AnyObject {\(after)}")
        }

        @Test func oneLine() {
            refused(
                "protocol P: AnyObject { associatedtype Item; func moved(to item: Item) }", at: [(2, 25)],
                expanded: "protocol P: AnyObject { associatedtype Item; func moved(to item: Item) \n}",
                fixed: "protocol P: AnyObject { func moved(to item: <#Item#>) }")
        }

        @Test func commentsOfClauses() {
            refused(
                """
                protocol P</* sent */ Item>: Base
                    // As it travels.
                    where Item: Codable
                {
                    func moved(to item: Item)
                }
                """,
                at: [(2, 11)],
                fixed: "protocol P: Base\n{ /* sent */ // As it travels.\n    func moved(to item: <#Item#>)\n}")
            refused(
                """
                protocol P: Base where Self: Sendable, // all
                    Item: Codable /* sent */ { // here
                    func moved(to item: Item)
                }
                """,
                at: [(2, 18)],
                fixed:
                    """
                    protocol P: Base where Self: Sendable /* sent */ { // all
                        // here
                        func moved(to item: <#Item#>)
                    }
                    """
            )
        }
    }
#endif
