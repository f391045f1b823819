#if Service
    import Configuration
    import ConfigurationTesting
    import Testing
    import TidingsTesting

    @testable import Tidings
    @testable import TidingsService

    @Suite(.serialized, .timeLimit(.minutes(2)))
    struct ConfigTests {
        /// The test of swift-configuration for all providers.
        @Test func itIsAProviderLikeOthers() async throws {
            let test = try TestCenter()
            let (magic, magic2) = (Array("magic".utf8), Array("magic2".utf8))
            let values: [AbsoluteConfigKey: ConfigValue?] = [
                "string": "Hello", "other.string": "Other Hello", "int": 42, "other.int": 24, "double": 3.14,
                "other.double": 2.72, "bool": true, "other.bool": false,
                "bytes": ConfigValue(.bytes(magic), isSecret: false),
                "other.bytes": ConfigValue(.bytes(magic2), isSecret: false),
                "stringy.array": ConfigValue(.stringArray(["Hello", "World"]), isSecret: false),
                "other.stringy.array": ConfigValue(.stringArray(["Hello", "Swift"]), isSecret: false),
                "inty.array": ConfigValue(.intArray([42, 24]), isSecret: false),
                "other.inty.array": ConfigValue(.intArray([16, 32]), isSecret: false),
                "doubly.array": ConfigValue(.doubleArray([3.14, 2.72]), isSecret: false),
                "other.doubly.array": ConfigValue(.doubleArray([0.9, 1.8]), isSecret: false),
                "booly.array": ConfigValue(.boolArray([true, false]), isSecret: false),
                "other.booly.array": ConfigValue(.boolArray([false, true, true]), isSecret: false),
                "byteChunky.array": ConfigValue(.byteChunkArray([magic, magic2]), isSecret: false),
                "other.byteChunky.array": ConfigValue(.byteChunkArray([magic, magic2, magic]), isSecret: false),
            ]
            try SharedConfigProvider(test.center).set(values)
            // As another process has them.
            let other = try SharedConfigProvider(try test.other(), name: "test.config")
            try await ProviderCompatTest(provider: other).runTest()
        }

        @Test(arguments: [
            (ConfigContent.double(2), ConfigType.double), (.doubleArray([1, 2]), .doubleArray),
            (.stringArray([]), .stringArray), (.byteChunkArray([]), .byteChunkArray), (.bytes([]), .bytes),
            (.string(""), .string), (.int(.min), .int),
        ])
        func aValueIsReadAsItWasSet(content: ConfigContent, type: ConfigType) throws {
            let stored = try Center.RawPayload(encoding: StoredContent(content)).decode(StoredContent.self)
            #expect(stored.content.converted(to: type) == content)
        }

        // MARK: Two processes that set at the same time, event by event

        /// A process that receives in one center.
        private struct Process {
            var state = ConfigState(in: 7)
            var values: [String: ConfigValue] { state.values }
            mutating func arrived(_ config: RetainedConfig, _ position: UInt64, isOwn: Bool = false) -> RetainedConfig?
            {
                state.arrived(config, at: position, in: 7, isOwn: isOwn)
            }
        }

        @Test func aChangeInBetweenIsKept() {
            var (one, two) = (Process(), Process())
            let start = RetainedConfig([:], ["b": 0])
            _ = (one.arrived(start, 0), two.arrived(start, 0))
            let (first, second) = (one.state.changing(["a": 1]), two.state.changing(["b": 2]))
            #expect(one.arrived(second, 1) == nil)
            #expect(two.arrived(second, 1, isOwn: true) == nil)
            // The map of `first` has the old value of b.
            _ = one.arrived(first, 2, isOwn: true)
            _ = two.arrived(first, 2)
            #expect(one.values == ["a": 1, "b": 2])
            #expect(two.values == ["a": 1, "b": 2])
        }

        @Test func aChangeInBetweenIsRetainedAgain() throws {
            var (one, two) = (Process(), Process())
            let (first, second) = (one.state.changing(["a": 1]), two.state.changing(["b": 2]))
            _ = two.arrived(first, 1)
            let needed = two.arrived(second, 2, isOwn: true)
            let repair = try #require(needed)
            // A process that started between the two has it then.
            var late = Process()
            #expect(late.arrived(second, 2) == nil)
            #expect(late.values == ["b": 2])
            #expect(late.arrived(repair, 3) == nil)
            #expect(late.values == ["a": 1, "b": 2])
            // The process whose change was lacking repairs it, too: the other one may have missed it.
            one.state.posted(["a": 1], at: 1)
            #expect(one.arrived(first, 1, isOwn: true) == nil)
            #expect(one.arrived(second, 2) == repair)
            #expect(one.arrived(repair, 3) == nil)
            #expect(two.arrived(repair, 3, isOwn: true) == nil)
        }

        /// What this process has posted since is complete, or is repaired when it arrives.
        @Test func onlyTheLastPostIsRepaired() {
            var (one, two) = (Process(), Process())
            let (first, second) = (one.state.changing(["a": 1]), two.state.changing(["b": 2]))
            two.state.posted(["b": 2], at: 2)
            let third = two.state.changing(["c": 3])
            two.state.posted(["c": 3], at: 3)
            _ = two.arrived(first, 1)
            #expect(two.arrived(second, 2, isOwn: true) == nil)
            #expect(two.arrived(third, 3, isOwn: true) != nil)
        }

        /// What a process has set is what it reads, until a later value arrives.
        @Test func anEarlierValueDoesNotReplaceOnesOwn() {
            var one = Process()
            let (own, earlier) = (one.state.changing(["a": 2]), one.state.changing(["a": 1]))
            let later = one.state.changing(["a": 3])
            one.state.posted(["a": 2], at: 5)
            _ = one.arrived(earlier, 4)
            #expect(one.values == ["a": 2])
            _ = one.arrived(own, 5, isOwn: true)
            #expect(one.values == ["a": 2])
            _ = one.arrived(later, 6)
            // The call that has set it returns only now.
            one.state.posted(["a": 2], at: 5)
            #expect(one.values == ["a": 3])
        }

        @Test func aRemovedKeyStaysRemoved() {
            var one = Process()
            _ = one.arrived(RetainedConfig([:], ["a": 1, "b": 1]), 1)
            let stale = one.state.changing(["b": 2])
            _ = one.arrived(one.state.changing(["a": nil]), 2)
            #expect(one.values == ["b": 1])
            // Posted without the removal.
            _ = one.arrived(stale, 3)
            #expect(one.values == ["b": 2])
            // In the next center, positions begin again.
            _ = one.state.arrived(RetainedConfig([:], ["a": 3]), at: 0, in: 8, isOwn: false)
            #expect(one.values == ["a": 3])
        }

        @Test func aPositionThatHasNotComeYetKeepsNothingFromChanging() {
            var one = Process()
            var hostile = RetainedConfig([:], ["a": 1])
            hostile.positions = ["a": .max]
            _ = one.arrived(hostile, 1)
            _ = one.arrived(RetainedConfig([:], ["a": 2]), 2)
            #expect(one.values == ["a": 2])
        }

        @Test func aValueOfAnotherTypeIsAnError() throws {
            let test = try TestCenter()
            let provider = try SharedConfigProvider(test.center)
            try provider.set(["a": "text", "b": ConfigValue("password", isSecret: true)])
            let error = #expect(throws: SharedNotificationError.self) { try provider.value(forKey: "a", type: .int) }
            #expect(error?.code == .decodingFailed)
            #expect(try provider.value(forKey: "b", type: .string).value == ConfigValue("password", isSecret: true))
            #expect(try SharedConfigProvider(test.center).value(forKey: "b", type: .string).value?.isSecret == true)
            #expect(try provider.value(forKey: "c", type: .string).value == nil)
        }

        /// Two values change together, many times, in another process: no snapshot has only one change.
        @Test func severalValuesAreSetAtOnceInEveryProcess() async throws {
            let test = try TestCenter(in: .directory)
            let provider = try SharedConfigProvider(test.center)
            try provider.set(["a": 0, "b": 0])
            let peer = try Peer(test)
            peer.send("set 1000")
            try await provider.watchSnapshot { snapshots in
                for await snapshot in snapshots {
                    let a = try snapshot.value(forKey: "a", type: .int).value
                    let b = try snapshot.value(forKey: "b", type: .int).value
                    #expect(a == b)
                    if a == 1000 { return }
                }
            }
            expectEqual(await peer.line(), "set")
        }

        @Test func aWatcherReceivesChangesOfAnotherProcessAndOfThisOne() async throws {
            let test = try TestCenter(in: .directory)
            let provider = try SharedConfigProvider(test.center)
            let peer = try Peer(test)
            try await provider.watchValue(forKey: "a", type: .int) { updates in
                var iterator = updates.makeAsyncIterator()
                func next() async throws -> ConfigValue? { try await iterator.next()?.get().value }
                expectEqual(try await next(), nil)
                try provider.set(["a": 7])
                expectEqual(try await next(), 7)
                // No change of this key.
                try provider.set(["b": 7])
                peer.send("set 1")
                expectEqual(try await next(), 1)
            }
        }

        /// Both processes set keys of their own at the same time, which is when one's post lacks the other's change.
        @Test func valuesThatAreSetAtTheSameTimeAreKept() async throws {
            let test = try TestCenter(in: .directory)
            let provider = try SharedConfigProvider(test.center)
            let peers = try (0..<3).map { _ in try Peer(test) }
            for (index, peer) in peers.enumerated() { peer.send("own \(index) 50") }
            for number in 1...50 {
                try provider.set([AbsoluteConfigKey(["test", "\(number)"]): .init(.int(number), isSecret: false)])
            }
            for peer in peers { expectEqual(await peer.line(), "own") }
            let keys = (1...50).flatMap { number in (0..<3).map { "peer.\($0).\(number)" } + ["test.\(number)"] }
            func missing(_ provider: SharedConfigProvider) throws -> [String] {
                try keys.filter {
                    try provider.value(forKey: AbsoluteConfigKey(ConfigKey($0)), type: .int).value == nil
                }
            }
            // The last repair may be on its way.
            while try !missing(provider).isEmpty { await Task.yield() }
            // A process that starts now has all of them, too.
            while try !missing(try SharedConfigProvider(try test.other())).isEmpty { await Task.yield() }
        }

        @Test func theLaterValueOfAKeyWinsInEveryProcess() async throws {
            let test = try TestCenter(in: .directory)
            let provider = try SharedConfigProvider(test.center)
            let peers = try (0..<3).map { _ in try Peer(test) }
            for peer in peers { peer.send("set 100") }
            for number in 1...100 { try provider.set(["a": .init(.int(-number), isSecret: false)]) }
            for peer in peers { expectEqual(await peer.line(), "set") }
            // After this value nothing is set.
            try provider.set(["a": 4711, "b": 4711])
            for peer in peers {
                peer.send("wait 4711")
                expectEqual(await peer.line(), "4711")
            }
        }

        @Test func whatIsNoConfigurationChangesNothing() async throws {
            let test = try TestCenter()
            let center = try test.other()
            let reports = Events<String>()
            center.onDiagnostic = {
                if case .undecodable(let notification, _) = $0 { reports.add(notification.name.rawValue) }
            }
            let provider = try SharedConfigProvider(center)
            try provider.set(["a": 1])
            for text in ["", "{", #"{"values": 3}"#, #"{"values": {"a": null}}"#, #"{"values": {"a": {}}}"#] {
                try test.center.setState(.json(text), for: "test.config")
                expectEqual(try await reports.next(), "test.config")
            }
            #expect(try provider.value(forKey: "a", type: .int).value == 1)
            // A shell sets all values.
            try test.center.setState(.json(#"{"values": {"b": 2, "c": ["x"]}}"#), for: "test.config")
            while try provider.value(forKey: "b", type: .int).value != 2 { await Task.yield() }
            #expect(try provider.value(forKey: "a", type: .int).value == nil)
            #expect(try provider.value(forKey: "c", type: .stringArray).value?.content == .stringArray(["x"]))
            let error = #expect(throws: SharedNotificationError.self) {
                try test.center.setState(.text("no configuration"), for: "test.config")
                _ = try SharedConfigProvider(test.center)
            }
            #expect(error?.code == .decodingFailed)
        }

        @Test func aClearedConfigurationIsEmpty() async throws {
            let test = try TestCenter()
            let provider = try SharedConfigProvider(try test.other())
            try provider.set(["a": 1])
            try test.center.setState(nil, for: "test.config")
            while try provider.value(forKey: "a", type: .int).value != nil { await Task.yield() }
        }
    }
#endif
