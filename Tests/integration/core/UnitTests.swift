import Testing

/// The core's functions, one by one, on words that the test sets by hand.
@Suite(.serialized) struct UnitTests {
    @Test(arguments: try UnitTest.all(.platform))
    func platform(test: UnitTest) throws {
        try test.run()
    }

    @Test(arguments: try UnitTest.all(.segment))
    func segment(test: UnitTest) throws {
        try test.run()
    }

    @Test(arguments: try UnitTest.all(.ring))
    func ring(test: UnitTest) throws {
        try test.run()
    }

    @Test(arguments: try UnitTest.all(.registry))
    func registry(test: UnitTest) throws {
        try test.run()
    }

    @Test(arguments: try UnitTest.all(.retained))
    func retained(test: UnitTest) throws {
        try test.run()
    }

    @Test(arguments: try UnitTest.all(.eviction))
    func eviction(test: UnitTest) throws {
        try test.run()
    }

    @Test(arguments: try UnitTest.all(.center))
    func center(test: UnitTest) throws {
        try test.run()
    }

    @Test(arguments: try UnitTest.all(.posting))
    func posting(test: UnitTest) throws {
        try test.run()
    }

    @Test(arguments: try UnitTest.all(.receiving))
    func receiving(test: UnitTest) throws {
        try test.run()
    }
}
