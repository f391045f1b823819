// The other process of the tests of TidingsService and TidingsTesting: does what its input says.
#if Service
    import Configuration
    import Glibc
    import Tidings
    import TidingsService
    import TidingsTesting

    struct Track: SharedNotificationCenter.Message {
        static let name: SharedNotificationCenter.Name = "test.track"
        var number: Int
    }

    func say(_ line: String) {
        let line = Array((line + "\n").utf8)
        _ = write(STDOUT_FILENO, line, line.count)
    }

    func value(_ number: Int) -> ConfigValue { ConfigValue(.int(number), isSecret: false) }

    let center = try SharedNotificationCenter(named: CommandLine.arguments[1], configuration: .init(creation: .never))
    Fault.armFromEnvironment(in: center)
    let provider = try SharedConfigProvider(center)

    while let line = readLine() {
        let words = line.split(separator: " ").map(String.init)
        switch words[0] {
        case "post":
            for number in 1...Int(words[1])! { try center.post(Track(number: number)) }
            say("posted")
        case "set":
            for number in 1...Int(words[1])! { try provider.set(["a": value(number), "b": value(number)]) }
            say("set")
        case "own":
            for number in 1...Int(words[2])! {
                try provider.set([AbsoluteConfigKey(["peer", words[1], "\(number)"]): value(number)])
            }
            say("own")
        // For the example Shop, whose messages these are.
        case "product":
            try center.post(name: "com.example.shop.invalidated", payload: .json(#"{"product": \#(words[1])}"#))
        case "price": try provider.set(["price.factor": ConfigValue(.double(Double(words[1])!), isSecret: false)])
        case "wait":
            try await provider.watchValue(forKey: "a", type: .int) { updates in
                for await update in updates {
                    if try update.get().value == value(Int(words[1])!) { return }
                }
            }
            say(words[1])
        default: say("unknown command: \(line)")
        }
    }
#endif
