// What became of a post, and checkpoints.

extension RelayCore {
    /// The post that `next` returned last has this position. Between the two, the driver calls nothing else.
    package mutating func posted(at position: UInt64) {
        guard let done = outstanding else { return }
        outstanding = nil
        let relayed = done.relayed
        var number = -1
        if done.isItem {
            number = done.account
            if number >= 0 {
                accounts[number] = relayed.account
            } else {
                number = accounts.set(relayed.account, origin: done.origin, name: done.name)
            }
            origins[done.origin].setTop(links[done.link].group, sequence: relayed.sequence, link: done.link)
            links[done.link].removeFromInbox(limits, isCounted: true)
            links[done.link].didHandle()
        }
        links[done.link].figures.posted += 1
        // A damaged center can give any position. The index must rise.
        guard position >= cursor, position > ownPosts.last?.position ?? 0 || ownPosts.isEmpty else { return }
        if done.isRetained, let version = relayed.version {
            ahead[done.name, default: []].append((position, version))
        }
        ownPosts.append(
            OwnPost(
                position: position, sequence: relayed.sequence, count: relayed.count, version: relayed.version,
                content: done.content, link: Int32(done.link), name: Int32(done.name), origin: Int32(done.origin),
                account: Int32(number), isRetained: done.isRetained, isCleared: done.isCleared))
    }

    /// The post that `next` returned last failed for now. Its item is decided again: what was read meanwhile can make a
    /// value an older one.
    ///
    /// - Parameter time: `next` returns no post of this link before this time of `advance`. All else goes on.
    package mutating func notPosted(until time: UInt64 = 0) {
        guard let failed = outstanding else { return }
        outstanding = nil
        links[failed.link].postsHeldUntil = time
        if !failed.isItem { links[failed.link].needsComparison = true }
    }

    /// The post that `next` returned last can never succeed here. A notification counts as lost.
    package mutating func discarded() {
        guard let failed = outstanding else { return }
        outstanding = nil
        links[failed.link].figures.refused += 1
        guard failed.isItem else { return }
        var account = failed.relayed.account
        account.addLoss(1, at: cursor)
        accounts.set(account, origin: failed.origin, name: failed.name)
        generation += 1
        links[failed.link].removeFromInbox(limits, isCounted: true)
        links[failed.link].didHandle()
    }

    /// Notes what is to be posted.
    @inline(__always)
    mutating func post(_ post: Post, link: Int, origin: Int, account: Int, isItem: Bool) -> Post {
        outstanding = Outstanding(
            link: link, origin: origin, name: post.name, account: account, relayed: post.relayed,
            // Only another link sends it on.
            content: links.count > 1 && isItem ? post.content.withView { log.append($0) } : ContentLog.nowhere,
            isRetained: post.isRetained, isCleared: post.isCleared, isItem: isItem)
        return post
    }

    /// The checkpoint that `next` returned is stored.
    package mutating func stored() {
        isStoring = false
    }

    /// The checkpoint that `next` returned can't be stored for now. Everything but posts goes on.
    ///
    /// - Parameter time: `next` returns no checkpoint before this time of `advance`.
    package mutating func notStored(until time: UInt64) {
        isStoring = false
        needsCheckpoint = true
        storeHeldUntil = time
    }

    package mutating func makeCheckpoint() -> Checkpoint {
        for link in links.indices { notePlace(link) }
        var stored = origins.map { Checkpoint.OriginAccounts(origin: $0.origin, accounts: [:]) }
        var counts = [Int](repeating: 0, count: origins.count)
        for record in accounts.records { counts[record.origin] += 1 }
        for origin in origins.indices { stored[origin].accounts.reserveCapacity(counts[origin]) }
        for record in accounts.records { stored[record.origin].accounts[names.names[record.name]] = record.account }
        var values: [LinkName: Checkpoint.Value] = [:]
        for (name, value) in retained {
            values[names.names[name]] = Checkpoint.Value(
                version: value.version, position: value.position, origin: origins[value.origin].origin)
        }
        return Checkpoint(
            position: cursor, origins: stored, values: values,
            places: places,
            uncertain: links.filter(\.isUncertain).map(\.configuration.name), ownBase: ownBase)
    }

    mutating func takeCheckpoint() -> Checkpoint {
        needsCheckpoint = false
        isStoring = true
        storedAt = cursor
        return makeCheckpoint()
    }
}
