// Sums of numbers that a peer may have written, and durations: they stop at the largest number.
#if MUTANTS
    import TidingsCoding
#endif

extension Int {
    /// Adds a count; the sum stops at `Int.max`.
    mutating func add(_ count: Int) {
        #if MUTANT_MISSED_SUMMED_IN_32_BITS  // Found by: fuzz swift
            if isMutant("MISSED_SUMMED_IN_32_BITS") { _ = UInt32(self) + UInt32(count) }
        #endif
        let (sum, isOver) = addingReportingOverflow(count)
        self = isOver ? .max : sum
    }
}

extension Duration {
    /// Nanoseconds: 0 if the duration is negative, `Int64.max` if they do not fit.
    @inline(never)
    var nanoseconds: Int64 { max(0, Int64(clamping: attoseconds / 1_000_000_000)) }
}

extension UInt64 {
    /// The position that is `distance` after this one, at most `UInt64.max`.
    func position(after distance: UInt64) -> UInt64 {
        let (sum, isOver) = addingReportingOverflow(distance)
        return isOver ? .max : sum
    }
}
