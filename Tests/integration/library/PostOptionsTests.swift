import CTidings
import Testing

@testable import Tidings

/// The options of a post are packed into a few bits.
struct PostOptionsTests {
    @Test(arguments: [true, false]) func eachOptionIsReadAsItWasWritten(_ flag: Bool) {
        let options = Center.PostOptions(
            subject: "s", retain: flag, timeout: .seconds(1), deliverImmediately: !flag)
        #expect(options.subject == "s" && options.timeout == .seconds(1))
        #expect(options.isRetained == flag && options.deliversImmediately == !flag)
        var written = Center.PostOptions(subject: "t", retain: !flag, deliverImmediately: flag)
        (written.deliversImmediately, written.isRetained) = (!flag, flag)
        (written.subject, written.timeout) = ("s", .seconds(1))
        #expect(written == options && Set([written, options]).count == 1)
    }

    /// The bits are passed to the C library unchanged.
    @Test func theBitsAreThoseOfTheCLibrary() {
        #expect(Int(Center.PostOptions().flags.bits) == 0)
        #expect(Int(Center.PostOptions(retain: true).flags.bits) == Int(TIDINGS_POST_RETAIN))
        #expect(Int(Center.PostOptions(deliverImmediately: true).flags.bits) == Int(TIDINGS_POST_IMMEDIATE))
    }
}
