import Testing

/// The core's functions, one by one, on words that the test sets by hand.
@Suite(.serialized) struct UnitTests {
    @Test(arguments: try UnitTest.all())
    func comesTrue(test: UnitTest) throws {
        try test.run()
    }
}
