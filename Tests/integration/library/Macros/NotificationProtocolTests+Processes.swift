#if Macros
    import Testing

    @testable import Tidings

    extension Watcher: ImportObserver {
        func progressed(percent: Int, stage: String) { events.add("\(percent) \(stage)") }
    }

    /// Another process posts; observers are added and removed in this process. The witness is added last, and so called
    /// last.
    extension NotificationProtocolTests {
        @Test func anObserverMayOmitAnOptionalMethodOfAnotherProcess() async throws {
            let test = try TestCenter()
            let undecodable = Events<Void>()
            let (quiet, witness) = (Quiet(Events()), Watcher(Events()))
            let tokens = [
                try test.center.addObserver(
                    quiet, as: UserObserverMessages.self, options: .init(onUndecodable: { _, _ in undecodable.add(()) })
                ),
                try test.center.addObserver(witness, as: UserObserverMessages.self),
            ]
            let peer = try Peer(test, "post-protocol", "post-protocol")
            expectEqual(await witness.events.wait(for: 4), ["c to d", "out", "c to d", "out"])
            #expect(quiet.events.all == ["c to d", "c to d"] && undecodable.count == 0)
            await peer.waitForEnd()
            for token in tokens { token.cancel() }
        }

        @Test func anObserverAddedTwiceReceivesPostsOfAnotherProcessOnce() async throws {
            let test = try TestCenter()
            let (watcher, witness) = (Watcher(Events()), Watcher(Events()))
            let tokens = [
                try test.center.addObserver(watcher, as: UserObserverMessages.self),
                try test.center.addObserver(watcher, as: UserObserverMessages.self),
                try test.center.addObserver(watcher, as: UserObserverMessages.self),
                try test.center.addObserver(witness, as: UserObserverMessages.self),
            ]
            let peer = try Peer(test, "post-protocol", "post-protocol")
            let once = ["c to d", "out", "c to d", "out"]
            expectEqual(await witness.events.wait(for: 4), once)
            #expect(watcher.events.all == once)
            await peer.waitForEnd()
            for token in tokens { token.cancel() }
        }

        /// By protocol and altogether, until no observer is left.
        @Test func aRemovedObserverReceivesNoPostsOfAnotherProcess() async throws {
            let test = try TestCenter()
            let center = test.center
            let (watcher, witness) = (Watcher(Events()), Watcher(Events()))
            var tokens: [Center.ObservationToken] = []
            for each in [watcher, witness] {
                try center.addObserver(each, as: UserObserverMessages.self).store(in: &tokens)
                try center.addObserver(each, as: ImportObserverMessages.self).store(in: &tokens)
            }
            func postAll() async throws {
                let peer = try Peer(test, "post-protocol", "post-import")
                await peer.waitForEnd()
            }
            try await postAll()
            expectEqual(await witness.events.wait(for: 3), ["c to d", "out", "7 copying"])
            #expect(watcher.events.all == witness.events.all)
            tokens[0].cancel()
            try await postAll()
            await witness.events.wait(for: 6)
            #expect(watcher.events.all.dropFirst(3) == ["7 copying"])
            center.removeObservers(of: watcher)
            try await postAll()
            await witness.events.wait(for: 9)
            #expect(watcher.events.count == 4)
            center.removeObservers(of: witness)
            #expect(tokens.map(\.isCancelled) == [true, true, true, true])
            let peer = try Peer(test, "observers")
            expectEqual(await peer.line(), "observers 0")
        }

        /// In BlockNotificationCenter this is a deadlock.
        @Test func aMethodCalledForAnotherProcessRemovesItsObserver() async throws {
            let test = try TestCenter()
            let center = test.center
            let (holder, witness) = (Locked<Watcher?>(nil), Watcher(Events()))
            let watcher = Watcher(Events()) {
                if let watcher = holder.withLock({ $0 }) { center.removeObservers(of: watcher) }
            }
            holder.withLock { $0 = watcher }
            let token = try center.addObserver(watcher, as: UserObserverMessages.self)
            let last = try center.addObserver(witness, as: UserObserverMessages.self)
            let peer = try Peer(test, "post-protocol", "post-protocol")
            expectEqual(await witness.events.wait(for: 4), ["c to d", "out", "c to d", "out"])
            #expect(watcher.events.all == ["c to d"] && token.isCancelled)
            await peer.waitForEnd()
            holder.withLock { $0 = nil }
            last.cancel()
        }
    }
#endif
