import Testing
import TidingsFoundation

@testable import Tidings

@Suite(.serialized) struct JSONRenderingTests {
    private func cbor(_ hexadecimal: String) -> String {
        let digits = Array(hexadecimal.utf8)
        let bytes = stride(from: 0, to: digits.count, by: 2).map {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)!
        }
        return Center.RawPayload(format: .cbor, bytes: bytes).json
    }

    /// RFC 8949, appendix A.
    @Test(arguments: [
        ("00", "0"), ("17", "23"), ("1818", "24"), ("1903e8", "1000"), ("1bffffffffffffffff", "18446744073709551615"),
        ("20", "-1"), ("3903e7", "-1000"), ("3bffffffffffffffff", "-18446744073709551616"),
        ("f90000", "0"), ("f93c00", "1"), ("f93e00", "1.5"), ("f97bff", "65504"), ("fa47c35000", "100000"),
        ("fb3ff199999999999a", "1.1"), ("fb7e37e43c8800759c", "1e+300"), ("f97c00", "null"), ("f97e00", "null"),
        ("f4", "false"), ("f5", "true"), ("f6", "null"), ("f7", "null"), ("f0", "16"),
        ("c074323031332d30332d32315432303a30343a30305a", "1363896240"), ("c06161", "\"a\""),
        ("c11a514b67b0", "1363896240"),
        ("4401020304", "\"AQIDBA==\""), ("60", "\"\""), ("6449455446", "\"IETF\""), ("62225c", #""\"\\""#),
        ("62c3bc", "\"ü\""), ("80", "[]"), ("83010203", "[1,2,3]"), ("8301820203820405", "[1,[2,3],[4,5]]"),
        ("a0", "{}"), ("a201020304", #"{"1":2,"3":4}"#), ("a26161016162820203", #"{"a":1,"b":[2,3]}"#),
        ("5f42010243030405ff", "\"AQIDBAU=\""), ("7f657374726561646d696e67ff", "\"streaming\""),
        ("9fff", "[]"), ("9f018202039f0405ffff", "[1,[2,3],[4,5]]"), ("bf61610161629f0203ffff", #"{"a":1,"b":[2,3]}"#),
        ("a1820102f5", #"{"[1,2]":true}"#), ("f8ff", "255"), ("7f62c3a96162ff", "\"éb\""),
        ("c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c601", "1"),
    ])
    func cborBecomesJSON(_ bytes: String, _ json: String) {
        #expect(cbor(bytes) == json)
    }

    @Test(arguments: [
        "", "18", "1c", "ff", "0000", "61", "62c3", "61ff", "9f", "81", "a101", "5f6161ff", "7f4161ff", "bf6161ff",
        "9bffffffffffffffff", "5bffffffffffffffff", "bbffffffffffffffff00", "1f", "df00", "fc",
        // The decoder refuses these too: a simple value in the wrong form, a character cut in two, 17 tags.
        "f814", "f81f", "bf616ef57f61c361a9ff01ff", "c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c601",
    ])
    func invalidCBORIsShownAsBytes(_ bytes: String) {
        #expect(cbor(bytes) == #"{"bytes":"\#(bytes)"}"#)
    }

    /// Each level would escape the level inside again and double its length: 302 bytes became more than 16 MiB.
    @Test func nestedKeysThatAreNoStringsAreShownAsBytes() {
        #expect(cbor("a1a161610102") == #"{"{\"a\":1}":2}"#)
        #expect(cbor("a201020304") == #"{"1":2,"3":4}"#)
        #expect(cbor("a1a1010203") == #"{"bytes":"a1a1010203"}"#)
        let nested = String(repeating: "a1", count: 40) + String(repeating: "00", count: 41)
        #expect(cbor(nested) == #"{"bytes":"\#(nested)"}"#)
    }

    @Test func aKeyThatBeginsWithAnAccentIsItself() {
        #expect(Array(cbor("a162cc8100").utf8) == Array("{\"\u{301}\":0}".utf8))
    }

    @Test func deepNestingIsShownAsBytes() {
        let deep = Center.RawPayload(format: .cbor, bytes: Array(repeating: 0x81, count: 100_000) + [0])
        #expect(deep.json.hasPrefix(#"{"bytes":"8181"#))
        let tags = Center.RawPayload(format: .cbor, bytes: Array(repeating: 0xc1, count: 100_000) + [0])
        #expect(tags.json.hasPrefix(#"{"bytes":"c1c1"#))
        let json = Center.RawPayload.json(String(repeating: "[", count: 100_000))
        #expect(json.json.hasPrefix(#"{"bytes":"5b5b"#))
        let fine = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
        #expect(Center.RawPayload.json(fine).json == fine)
    }

    @Test func asDeepAsTheDecoderReadsIsShownAsJSON() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + "1" + String(repeating: "]", count: depth)
        }
        for (depth, isShown) in [(128, true), (129, false)] {
            #expect((Center.RawPayload.json(nested(depth)).json == nested(depth)) == isShown)
            let bytes = Array(repeating: 0x81, count: depth) + [1] as [UInt8]
            #expect((Center.RawPayload(format: .cbor, bytes: bytes).json == nested(depth)) == isShown)
        }
    }

    @Test func aByteOrderMarkIsSkipped() throws {
        let marked = Center.RawPayload.json("\u{FEFF}[1]")
        #expect(marked.json == "[1]")
        #expect(try marked.decode(Center.PropertyValue.self) == [1])
        #expect(Center.RawPayload.json("[\u{FEFF}1]").json.hasPrefix(#"{"bytes":""#))
    }

    @Test(
        arguments: [
            (
                " { \"a\" :\n [ 1 , -2.5e+3, true,false , null ] , \"b\" : { } } ",
                #"{"a":[1,-2.5e+3,true,false,null],"b":{}}"#
            ),
            ("\"a\u{2028}b\u{2029}\u{85}\u{7f}é¨\u{2027}\"", #""a\u2028b\u2029\u0085\u007fé¨"# + "\u{2027}\""),
            ("\"two words\"", "\"two words\""), ("0", "0"), (#""\u00fc\n\\""#, #""\u00fc\n\\""#),
        ] as [(Quoted, String)])
    func jsonBecomesOneLine(_ quoted: Quoted, _ json: String) {
        #expect(Center.RawPayload.json(quoted.text).json == json)
    }

    @Test(
        arguments: [
            "", "{", "[1,]", "{\"a\"}", "{a:1}", "01", "1.", "+1", "tru", "\"", "\"\n\"", "1 2", "nul", #""\x""#,
            #""\u12g4""#,
        ] as [Quoted])
    func invalidJSONIsShownAsBytes(_ quoted: Quoted) {
        #expect(Center.RawPayload.json(quoted.text).json.hasPrefix(#"{"bytes":""#))
    }

    @Test func others() {
        #expect(Center.RawPayload.text("a\"b\u{1}\n\u{2028}").json == #""a\"b\u0001\n\u2028""#)
        #expect(Center.RawPayload.empty.json == "null")
        #expect(Center.RawPayload(format: .bytes, bytes: [0, 255]).json == #"{"bytes":"00ff"}"#)
        #expect(Center.RawPayload(format: .text, bytes: [0xff]).json == #"{"bytes":"ff"}"#)
        #expect(Center.RawPayload(format: .init(rawValue: 99), bytes: [1]).json == #"{"bytes":"01"}"#)
    }
}
