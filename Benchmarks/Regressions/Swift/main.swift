// What is counted in Swift.
import CCounting
import Glibc

let operations = [
    counting_operation("swift_post", postTracks),
    counting_operation("swift_post_generated", postGeneratedTracks),
    counting_operation("swift_post_bitwise", postMeters),
    counting_operation("swift_post_subject", postTracksAboutSomething),
    counting_operation("swift_post_key", postKeys),
    counting_operation("swift_post_traced", postTracksWithTraceContext),
    counting_operation("swift_encode", encodeTracks),
    counting_operation("swift_decode", decodeTracks),
    counting_operation("swift_encode_generated", encodeGeneratedTracks),
    counting_operation("swift_decode_generated", decodeGeneratedTracks),
    counting_operation("swift_decode_bitwise", decodeMeters),
]
exit(counting_main(CommandLine.argc, CommandLine.unsafeArgv, operations, Int32(operations.count)))

extension counting_operation {
    init(_ name: StaticString, _ body: @escaping @convention(c) (Int32) -> Void) {
        self.init()
        // A literal's bytes end in a zero, and stay.
        self.name = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
        set_up = prepareOperations
        self.body = body
        times = 1024
    }
}
