import Foundation

@testable import Tidings

struct Person: Codable {
    var name: String
    var age: UInt8
    var mail: String?
    var born: Date?
    var home: URL?
    var friends: [Person]?
}

struct Numbers: Codable {
    var a: Int8?
    var b: UInt64?
    var c: Float?
    var d: Int?
    var e: Bool?
}

/// Foundation's types that the coder knows.
struct Known: Codable {
    var bytes: Data?
    var id: UUID?
    var amount: Decimal?
    var when: [Date]?
    var place: URL?
}

indirect enum Tree: Codable {
    case leaf(Int)
    case branch(left: Tree, right: Tree?)
}

/// Tries one thing after another, as untyped data makes a program do.
enum Anything: Codable {
    case none
    case flag(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    case list([Anything])
    case map([(String, Anything)])

    init(from decoder: any Decoder) throws {
        if var list = try? decoder.unkeyedContainer() {
            var all: [Anything] = []
            while !list.isAtEnd { all.append(try list.decode(Anything.self)) }
            self = .list(all)
        } else if let map = try? decoder.container(keyedBy: Key.self) {
            // Of equal keys the first counts, and each is there once.
            var seen: Set<String> = []
            self = .map(
                try map.allKeys.filter { seen.insert($0.stringValue).inserted }.map {
                    ($0.stringValue, try map.decode(Anything.self, forKey: $0))
                })
        } else {
            let single = try decoder.singleValueContainer()
            if single.decodeNil() {
                self = .none
            } else if let flag = try? single.decode(Bool.self) {
                self = .flag(flag)
            } else if let integer = try? single.decode(Int64.self) {
                self = .integer(integer)
            } else if let number = try? single.decode(Double.self) {
                self = .number(number)
            } else {
                self = .text(try single.decode(String.self))
            }
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .none:
            var single = encoder.singleValueContainer()
            try single.encodeNil()
        case .flag(let flag): try flag.encode(to: encoder)
        case .integer(let integer): try integer.encode(to: encoder)
        case .number(let number): try number.encode(to: encoder)
        case .text(let text): try text.encode(to: encoder)
        case .list(let all):
            var list = encoder.unkeyedContainer()
            for each in all { try list.encode(each) }
        case .map(let pairs):
            var map = encoder.container(keyedBy: Key.self)
            for (key, value) in pairs { try map.encode(value, forKey: Key(stringValue: key)) }
        }
    }

    struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

/// Uses the containers as badly as `init(from:)` may: out of order, twice, nested and left alone.
struct Careless: Decodable {
    var count = 0

    init(from decoder: any Decoder) throws {
        let map = try decoder.container(keyedBy: Anything.Key.self)
        for key in map.allKeys {
            count &+= map.contains(key) ? 1 : 0
            if (try? map.decodeNil(forKey: key)) == true { continue }
            if let inner = try? map.nestedContainer(keyedBy: Anything.Key.self, forKey: key) {
                count &+= inner.allKeys.count
            }
            if var list = try? map.nestedUnkeyedContainer(forKey: key) {
                while !list.isAtEnd, (try? list.superDecoder()) != nil { count &+= 1 }
            }
            if let text = try? map.decode(String.self, forKey: key) { count &+= text.utf8.count }
            _ = try? map.decode(Numbers.self, forKey: key)
        }
    }
}

/// Asks for each key again, as a type does that looks at a value before it takes it: it must be the same.
struct AskedTwice: Decodable {
    init(from decoder: any Decoder) throws {
        let map = try decoder.container(keyedBy: Anything.Key.self)
        for key in map.allKeys {
            let first = look(key, in: map)
            precondition(first == look(key, in: map), "\(key.stringValue) has two values")
        }
    }

    /// What is there, as bytes: NaN is not equal to itself.
    private func look(_ key: Anything.Key, in map: KeyedDecodingContainer<Anything.Key>) -> [UInt8]? {
        (try? map.decode(Anything.self, forKey: key)).flatMap { try? PayloadCoding.cborBytes(of: $0) }
    }
}
