import Testing

@testable import Tidings
@testable import TidingsCoding

@Suite(.serialized) struct CBORPoolTests {
    struct Item: CBORPooled {
        var next: UnsafeMutablePointer<Item>?
        var isTaken = false
    }

    @Test func anItemLeavesThePoolOnce() {
        let pool = CBORPool<Item>()
        #expect(pool.pop() == nil)
        let items = (0..<5).map { _ in
            let item = UnsafeMutablePointer<Item>.allocate(capacity: 1)
            item.initialize(to: Item())
            pool.push(item)
            return item
        }
        let taken = items.map { _ in pool.pop() }
        #expect(Set(taken) == Set(items))
        #expect(pool.pop() == nil)
        for item in items { item.deallocate() }
    }

    @Test func noThreadTakesAnItemInUse() async {
        // Leaked on purpose: a pool never frees.
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<2000 {
                        let item = Self.shared.pop() ?? Self.make()
                        #expect(!item.pointee.isTaken)
                        item.pointee.isTaken = true
                        item.pointee.isTaken = false
                        Self.shared.push(item)
                    }
                }
            }
        }
    }

    static let shared = CBORPool<Item>()

    static func make() -> UnsafeMutablePointer<Item> {
        let item = UnsafeMutablePointer<Item>.allocate(capacity: 1)
        item.initialize(to: Item())
        return item
    }
}
