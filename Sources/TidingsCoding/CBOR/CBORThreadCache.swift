#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The states of writers and readers, which are made when they are needed and never freed: a container that some type
/// keeps beyond its time may still hold one.
///
/// A thread keeps one of each; when it ends, they wait in a pool for another thread. So there are as many as threads
/// were coding at the same time, and some more where a type's `encode(to:)` encodes another payload.
enum CBORThreadCache {
    /// What a thread keeps.
    private struct Kept {
        var writer: UnsafeMutablePointer<CBORWriter.State>?
        var reader: UnsafeMutablePointer<CBORReader.State>?
    }

    private static let writers = CBORPool<CBORWriter.State>()
    private static let readers = CBORPool<CBORReader.State>()

    /// The threads' own slot. Nil if the process ran out of keys: then every payload goes through the pools.
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        let result = pthread_key_create(&key) { pointer in
            guard let kept = pointer?.assumingMemoryBound(to: Kept.self) else { return }
            // The slot holds nothing else, and its thread is over.
            if let writer = kept.pointee.writer { writers.push(writer) }
            if let reader = kept.pointee.reader { readers.push(reader) }
            kept.deallocate()
        }
        return result == 0 ? key : nil
    }()

    /// What this thread keeps. Only the thread itself has the pointer.
    @inline(__always)
    private static var kept: UnsafeMutablePointer<Kept>? {
        guard let key else { return nil }
        if let pointer = pthread_getspecific(key) { return pointer.assumingMemoryBound(to: Kept.self) }
        // The slot holds nothing else.
        return make(key)
    }

    @inline(never)
    private static func make(_ key: pthread_key_t) -> UnsafeMutablePointer<Kept>? {
        let kept = UnsafeMutablePointer<Kept>.allocate(capacity: 1)
        kept.initialize(to: Kept())
        // Fresh memory, of the right size; handed over to the slot or freed again.
        if pthread_setspecific(key, kept) == 0 { return kept }
        kept.deallocate()
        return nil
    }

    /// A writer for this thread alone, until it is given back.
    static func takeWriter() -> CBORWriter {
        if let kept, let writer = kept.pointee.writer {
            kept.pointee.writer = nil
            return CBORWriter(writer)
        }
        return CBORWriter(writers.pop() ?? CBORWriter.makeState())
    }

    static func giveBack(_ writer: CBORWriter) {
        if let kept, kept.pointee.writer == nil {
            kept.pointee.writer = writer.state
        } else {
            writers.push(writer.state)
        }
    }

    /// A reader for this thread alone, until it is given back.
    static func takeReader() -> CBORReader {
        if let kept, let reader = kept.pointee.reader {
            kept.pointee.reader = nil
            return CBORReader(reader)
        }
        return CBORReader(readers.pop() ?? CBORReader.makeState())
    }

    static func giveBack(_ reader: CBORReader) {
        if let kept, kept.pointee.reader == nil {
            kept.pointee.reader = reader.state
        } else {
            readers.push(reader.state)
        }
    }
}
