import Testing

/// The core's functions, one by one, on words that the test sets by hand.
@Suite(.serialized) struct UnitTests {
    @Test(arguments: try UnitTestFile.all())
    func comeTrue(file: UnitTestFile) throws {
        try file.run()
    }
}
