import CTidings
import Testing

@testable import Tidings

/// The options of a post are packed into a few bits.
struct PostOptionsTests {
    @Test(arguments: [nil, .now, .asap, .whenIdle] as [Center.PostingStyle?], [true, false])
    func eachOptionIsReadAsItWasWritten(_ style: Center.PostingStyle?, _ flag: Bool) {
        for coalescing: Center.Coalescing in [[], .name, .subject, [.name, .subject]] {
            let options = Center.PostOptions(
                subject: "s", retain: flag, timeout: .seconds(1), deliverImmediately: !flag, postingStyle: style,
                coalescing: coalescing)
            #expect(options.subject == "s" && options.timeout == .seconds(1))
            #expect(options.isRetained == flag && options.deliversImmediately == !flag)
            #expect(options.postingStyle == style && options.coalescing == coalescing)
            var written = Center.PostOptions(
                subject: "t", retain: !flag, deliverImmediately: flag, postingStyle: .asap, coalescing: [])
            written.coalescing = coalescing
            written.postingStyle = style
            (written.deliversImmediately, written.isRetained) = (!flag, flag)
            (written.subject, written.timeout) = ("s", .seconds(1))
            #expect(written == options && Set([written, options]).count == 1)
        }
        #expect(Center.PostOptions().coalescing == [.name, .subject] && Center.PostOptions().postingStyle == nil)
    }

    /// The bits go to the C library as they are.
    @Test func theBitsAreThoseOfTheCLibrary() {
        #expect(Int(Center.PostOptions(retain: true, coalescing: []).flags.bits) == Int(TIDINGS_POST_RETAIN))
        #expect(
            Int(Center.PostOptions(deliverImmediately: true, coalescing: []).flags.bits)
                == Int(TIDINGS_POST_IMMEDIATE))
    }
}
