import Testing

/// Expects two values to be equal, and prints both if they are not. `#expect` with an `await` in it prints neither.
func expectEqual<Value: Equatable>(
    _ received: Value, _ expected: Value, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(received == expected, comment(), sourceLocation: sourceLocation)
}

/// Expects that the value satisfies the condition, and prints the value if it does not.
func expect<Value>(
    _ received: Value, sourceLocation: SourceLocation = #_sourceLocation, is expected: (Value) -> Bool
) {
    #expect(expected(received), "received \(received)", sourceLocation: sourceLocation)
}
