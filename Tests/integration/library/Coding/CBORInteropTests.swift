import ChildProcesses
import Foundation
import Testing

@testable import Tidings

private let pythonWithCBOR2 = ProcessInfo.processInfo.environment["TIDINGS_CBOR2_PYTHON"]

/// Both directions against cbor2, an independent implementation.
@Suite(
    .enabled(
        if: pythonWithCBOR2 != nil,
        "set TIDINGS_CBOR2_PYTHON to a Python that has the package cbor2, as CI does"))
struct CBORInteropTests {

    /// Beside this package, in any checkout.
    static let script = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("interop/cbor_check.py").path

    @Test func cbor2ReadsOurPayloads() throws {
        struct Record: Encodable {
            var id = UInt64.max
            var title = "Grüße, 世界"
            var position = 0.5
            var flag = true
            var absent: Int?
        }
        enum Event: Encodable {
            case moved(x: Int, y: Int)
            case done
        }

        var lines: [String] = []
        func line(_ name: String, _ value: some Encodable, _ meaning: String) throws {
            lines.append("\(name)\t\(cborHex(try cborEncode(value)))\t\(meaning)\n")
        }
        try line(
            "record", Record(),
            #"{"id": {"$int": "18446744073709551615"}, "title": "Gr\u00fc\u00dfe, \u4e16\u754c", "#
                + #""position": {"$float": "0x1.0000000000000p-1"}, "flag": true}"#
        )
        try line(
            "integers", [0, 23, 24, 255, 256, 65535, 65536, -1, -24, -25],
            "[0, 23, 24, 255, 256, 65535, 65536, -1, -24, -25]")
        try line("ends", [Int64.min], #"[{"$int": "-9223372036854775808"}]"#)
        try line("Int128.min", Int128.min, #"{"$int": "-170141183460469231731687303715884105728"}"#)
        try line("UInt128.max", UInt128.max, #"{"$int": "340282366920938463463374607431768211455"}"#)
        try line(
            "floats", [Float(1.5), .nan, .infinity],
            #"[{"$float": "0x1.8000000000000p+0"}, {"$float": "nan"}, {"$float": "inf"}]"#)
        try line("doubles", [-0.0, 0.1], #"[{"$float": "-0x0.0p+0"}, {"$float": "0x1.999999999999ap-4"}]"#)
        try line("optionals", [nil, 1] as [Int?], "[null, 1]")
        try line("data", Data([0, 1, 255]), #"{"$bytes": "0001ff"}"#)
        try line("date", Date(timeIntervalSince1970: 1_363_896_240.5), #"{"$date": 1363896240.5}"#)
        // A date between two doubles since 1970, so it is written as text.
        let between = Date(timeIntervalSinceReferenceDate: 816_580_444.1)
        #expect(try cborEncode(between)[0] == 0xC0)
        try line("date in text", between, #"{"$date": 1794887644.1}"#)
        try line(
            "uuid", UUID(uuidString: "01234567-89AB-CDEF-0123-456789ABCDEF"),
            #"{"$uuid": "01234567-89ab-cdef-0123-456789abcdef"}"#)
        try line("url", URL(string: "http://example.com/a?b"), #"{"$tag": 32, "value": "http://example.com/a?b"}"#)
        try line("decimal", Decimal(string: "-273.15"), #"{"$decimal": "-273.15"}"#)
        try line(
            "decimal with a bignum", Decimal(string: "12345678901234567890123456789.5"),
            #"{"$decimal": "12345678901234567890123456789.5"}"#)
        try line("events", [Event.moved(x: 1, y: -2), .done], #"[{"moved": {"x": 1, "y": -2}}, {"done": {}}]"#)
        try line("by number", [7: "x"], #"{"7": "x"}"#)
        for count in [0, 1, 23, 24, 255, 256, 65536] {
            try line("\(count) elements", Array(repeating: 1, count: count), "\(Array(repeating: 1, count: count))")
            let pairs = (0..<count).map { "\"\($0)\": \($0)" }.joined(separator: ", ")
            try line(
                "\(count) pairs", Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0)", $0) }), "{\(pairs)}")
            let text = String(repeating: "x", count: count)
            try line("\(count) characters", text, "\"\(text)\"")
        }

        try withTemporaryFile { file in
            try Data(lines.joined().utf8).write(to: file)
            try run("read", file)
        }
    }

    @Test func weReadPayloadsOfCbor2() throws {
        struct Record: Decodable {
            struct Nested: Decodable {
                struct A: Decodable {
                    struct B: Decodable { var c: [CBORHostileBytesTests.Anything] }
                    var b: B
                }
                var a: A
            }
            var integers: [Int]
            var text: String
            var bytes: Data
            var flag: Bool
            var nothing: Int?
            var number: Double
            var nested: Nested
            var many: [String: Int]
        }
        struct Special: Decodable {
            var textDate: Date
            var uuid: UUID
            var decimal: Decimal
            var bigDecimal: Decimal
            var big: Int128
            var small: Int128
            var half: Double
        }
        try withTemporaryFile { file in
            try run("write", file)
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            #expect(lines.count == 7)
            for line in lines {
                let fields = line.split(separator: "\t")
                let encoded = cborBytes(String(fields[1]))
                if fields[0] == "record" {
                    let record = try cborDecode(Record.self, encoded)
                    #expect(
                        record.integers
                            == [0, -1, 23, 24, -25, 255, 256, 65535, 65536, 1 << 32, Int.min, Int.max])
                    #expect(record.text == "Grüße, 世界 👋")
                    #expect(record.bytes == Data(0..<40))
                    #expect(record.flag && record.nothing == nil && record.number == 0.1)
                    #expect(record.nested.a.b.c == [.list([]), .map([:]), .list([.list([.int(1)])])])
                    #expect(record.many == Dictionary(uniqueKeysWithValues: (0..<100).map { ("key \($0)", $0) }))
                } else {
                    let special = try cborDecode(Special.self, encoded)
                    #expect(special.textDate == Date(timeIntervalSince1970: 1_363_896_240.5))
                    #expect(special.uuid.uuidString == "01234567-89AB-CDEF-0123-456789ABCDEF")
                    #expect(special.decimal == Decimal(string: "-273.15"))
                    #expect(special.bigDecimal == Decimal(string: "12345678901234567890123456789.5"))
                    #expect(special.big == 1 << 100 && special.small == -(1 << 100))
                    #expect(special.half == 1.5)
                }
            }
        }
    }

    private func withTemporaryFile(_ body: (URL) throws -> Void) throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("tidings-cbor-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try body(file)
    }

    private func run(_ direction: String, _ file: URL) throws {
        let python = try #require(pythonWithCBOR2)
        // A file, not a pipe: another test's process that inherits the pipe's end would keep this reader waiting.
        try withTemporaryFile { errors in
            try Data().write(to: errors)
            let handle = try FileHandle(forWritingTo: errors)
            let process = try ChildProcess.start(
                python, [Self.script, direction, file.path], errors: handle.fileDescriptor, keepsOthers: false)
            let ending = process.waitUntilEnded()
            let text = try String(contentsOf: errors, encoding: .utf8)
            #expect(ending == .exited(0), "\(text)")
        }
    }
}
