/// What the user has chosen to see in `tidings top`: a value that keys change.
struct TopView: Equatable {
    enum Table: Equatable {
        case names, processes
    }

    /// How a table is sorted: the index of the column, and whether the order is reversed.
    struct Order: Equatable {
        var column: Int
        var isReversed = false
    }

    enum Outcome: Equatable {
        case draw, drawAnew, quit, suspend
    }

    /// The table that keys apply to.
    var focus = Table.names
    /// Both begin with the most posts first.
    var namesOrder = Order(column: TopColumns.names.firstIndex { $0.title == TopColumns.posts } ?? 0)
    var processesOrder = Order(column: TopColumns.processes.firstIndex { $0.title == TopColumns.posts } ?? 0)
    /// Shows only rows of the focused table that contain this text, in any case.
    var filter = ""
    /// Whether keys are text for the filter.
    var isTyping = false
    /// How many rows of the focused table are above the screen.
    var scroll = 0
    /// Shows the latest report, until it goes on.
    var isPaused = false

    /// - Parameter page: how many rows of the focused table the screen shows.
    mutating func handle(_ key: TopKey, page: Int = 10) -> Outcome {
        #if MUTANT_TOP_QUITS_WHILE_TYPING  // Found by: command keysFilter
            if isMutant("TOP_QUITS_WHILE_TYPING"), key == .character("q") { return .quit }
        #endif
        #if MUTANT_TOP_PAGE_OF_TEN  // Found by: command keysScroll
            let page = isMutant("TOP_PAGE_OF_TEN") ? 10 : page
        #endif
        if isTyping, edit(with: key) { return .draw }
        switch key {
        case .interrupt, .character("q"), .character("Q"): return .quit
        case .suspend: return .suspend
        case .redraw: return .drawAnew
        case .tab:
            focus = focus == .names ? .processes : .names
            (filter, scroll) = ("", 0)
        case .character("s"), .right, .character(">"): moveOrder(by: 1)
        case .character("S"), .left, .character("<"): moveOrder(by: -1)
        case .character("r"), .character("R"): order.isReversed.toggle()
        case .character("/"): isTyping = true
        case .character("p"), .character(" "): isPaused.toggle()
        case .escape: (filter, scroll) = ("", 0)
        case .down, .character("j"): scroll += 1
        case .up, .character("k"): scroll = max(0, scroll - 1)
        case .pageDown: scroll += page
        case .pageUp: scroll = max(0, scroll - page)
        case .home: scroll = 0
        case .end: scroll = Int.max / 2
        default: break
        }
        return .draw
    }

    var order: Order {
        get { focus == .names ? namesOrder : processesOrder }
        set { if focus == .names { namesOrder = newValue } else { processesOrder = newValue } }
    }

    private mutating func moveOrder(by step: Int) {
        let count = focus == .names ? TopColumns.names.count : TopColumns.processes.count
        order = Order(column: (order.column + step + count) % count)
    }

    /// - Returns: whether the key changed the filter, or ended typing.
    private mutating func edit(with key: TopKey) -> Bool {
        switch key {
        case .character(let character): filter.append(character)
        case .backspace: filter = String(filter.dropLast())
        case .enter: isTyping = false
        case .escape: (filter, isTyping) = ("", false)
        default: return false
        }
        scroll = 0
        return true
    }
}

/// A key of the keyboard, as a terminal sends it.
enum TopKey: Equatable {
    case character(Character)
    case up, down, left, right, pageUp, pageDown, home, end
    case tab, enter, escape, backspace
    /// Control-C, Control-Z and Control-L.
    case interrupt, suspend, redraw

    /// The keys in what one read of the terminal gave.
    ///
    /// - Parameter bytes: loses what was read; keeps the beginning of an unfinished character or sequence.
    static func take(from bytes: inout [UInt8]) -> [TopKey] {
        var keys: [TopKey] = []
        while let (key, length) = first(in: bytes) {
            bytes.removeFirst(length)
            if let key { keys.append(key) }
        }
        // No key is that long: it is no terminal that sends this.
        if bytes.count > 64 { bytes = [] }
        return keys
    }

    /// - Returns: the first key (`nil`: one that has no meaning here) and its length; `nil`: there is none yet.
    private static func first(in bytes: [UInt8]) -> (TopKey?, Int)? {
        guard let byte = bytes.first else { return nil }
        switch byte {
        case 0x03: return (.interrupt, 1)
        case 0x0C: return (.redraw, 1)
        case 0x1A: return (.suspend, 1)
        case 0x09: return (.tab, 1)
        case 0x0A, 0x0D: return (.enter, 1)
        case 0x08, 0x7F: return (.backspace, 1)
        case 0x1B: return sequence(in: bytes)
        case 0..<0x20: return (nil, 1)
        default: return character(in: bytes)
        }
    }

    /// A key that sends ESC and more. The terminal sends these together, so an ESC alone is the key Escape.
    private static func sequence(in bytes: [UInt8]) -> (TopKey?, Int)? {
        guard bytes.count > 1 else { return (.escape, 1) }
        guard bytes[1] == UInt8(ascii: "[") || bytes[1] == UInt8(ascii: "O") else { return (.escape, 1) }
        guard let end = bytes.dropFirst(2).firstIndex(where: { (0x40...0x7E).contains($0) }) else { return nil }
        let parameters = String(decoding: bytes[2..<end], as: UTF8.self)
        let key: TopKey? =
            switch (bytes[end], parameters) {
            case (UInt8(ascii: "A"), _): .up
            case (UInt8(ascii: "B"), _): .down
            case (UInt8(ascii: "C"), _): .right
            case (UInt8(ascii: "D"), _): .left
            case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), "1"), (UInt8(ascii: "~"), "7"): .home
            case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), "4"), (UInt8(ascii: "~"), "8"): .end
            case (UInt8(ascii: "~"), "5"): .pageUp
            case (UInt8(ascii: "~"), "6"): .pageDown
            default: nil
            }
        return (key, end + 1)
    }

    /// A character in UTF-8. Invalid bytes have no meaning.
    private static func character(in bytes: [UInt8]) -> (TopKey?, Int)? {
        let length =
            switch bytes[0] {
            case 0xC2...0xDF: 2
            case 0xE0...0xEF: 3
            case 0xF0...0xF4: 4
            default: 1
            }
        guard bytes.count >= length else { return nil }
        guard let text = String(validating: bytes[..<length], as: UTF8.self), let character = text.first else {
            return (nil, 1)
        }
        return (.character(character), length)
    }
}
