#if Macros
    import SwiftSyntaxMacrosGenericTestSupport
    import Testing

    /// Associated types, refused by `@NotificationProtocol` wherever a protocol speaks of them, and the placeholders in their place.
    @Suite struct AssociatedTypesTests {
        private static let message =
            "an associated type differs from observer to observer, and a poster knows none of them: write the type that is sent"
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

        /// Each place has the same fix-it, which mends all.
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
            // Of inherited ones.
            refused(
                "protocol P: Base where Item == Int {\n    func moved(to item: Item)\n}", at: [(2, 18)],
                fixed: "protocol P: Base {\n    func moved(to item: <#Item#>)\n}")
            refused(
                "protocol P: Base where Self.Item.ID: Codable {\n    func left()\n}", at: [(2, 18)],
                fixIt: "remove what is required of 'Item'", fixed: "protocol P: Base {\n    func left()\n}")
            refused(
                "protocol P: Base\nwhere Item: Codable\n{\n    func left()\n}", at: [(3, 1)],
                fixIt: "remove what is required of 'Item'", fixed: "protocol P: Base\n{\n    func left()\n}")
            // What is said of the observer stays.
            refused(
                "protocol P: Base where Self: Sendable, Item: Codable {\n    func moved(to item: Item)\n}",
                at: [(2, 18)],
                fixed: "protocol P: Base where Self: Sendable {\n    func moved(to item: <#Item#>)\n}")
            refused(
                "protocol P: Base where Item: Codable, Self: Sendable {\n    func moved(to item: Item)\n}",
                at: [(2, 18)],
                fixed: "protocol P: Base where Self: Sendable {\n    func moved(to item: <#Item#>)\n}")
            expectNoComplaints(
                of: "@NotificationProtocol\nprotocol P: AnyObject where Self: Sendable {\n    func left(who: Int)\n}")
        }

        /// What hides it has a complaint of its own.
        @Test func aMethodsOwnParameterOfThatName() {
            let source =
                "protocol P: AnyObject {\n    associatedtype Item\n    func moved<Item>(to item: Item)\n    func back(to item: Item)\n}"
            expectExpansion(
                "@NotificationProtocol\n\(source)", source,
                diagnostics: [
                    DiagnosticSpec(message: Self.message, line: 3, column: 5, fixIts: [FixItSpec(message: Self.item)]),
                    DiagnosticSpec(
                        message:
                            "a generic method can't be a notification: the observer's process has to know the type that is sent; write it, or a method for each",
                        line: 4, column: 15, fixIts: [FixItSpec(message: Self.item)]),
                ],
                fixed:
                    "@NotificationProtocol\nprotocol P: AnyObject {\n    func moved<Item>(to item: Item)\n    func back(to item: <#Item#>)\n}"
            )
        }

        /// Documentation of what goes would document what follows: it stays as a comment.
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
                "protocol P</* sent */ Item>: Base\n    // As it travels.\n    where Item: Codable\n{\n    func moved(to item: Item)\n}",
                at: [(2, 11)],
                fixed: "protocol P: Base\n{ /* sent */ // As it travels.\n    func moved(to item: <#Item#>)\n}")
            refused(
                "protocol P: Base where Self: Sendable, // all\n    Item: Codable /* sent */ { // here\n    func moved(to item: Item)\n}",
                at: [(2, 18)],
                fixed:
                    "protocol P: Base where Self: Sendable /* sent */ { // all\n    // here\n    func moved(to item: <#Item#>)\n}"
            )
        }
    }
#endif
