#if Macros
    import Foundation
    import Tidings

    /// The message of an older build.
    @Message struct OldSeek: Equatable {
        var title: String
        var gone: [Int] = []
    }

    /// The message of a newer build.
    @Message struct NewSeek: Equatable {
        var title: String
        var speed: Double = 1
        var note: String?
    }

    @Message struct Tempting: Equatable {
        var note: String? = "something else"
    }

    @Message struct Renamed: Equatable {
        var position: Int
        var cache = 7

        enum CodingKeys: String, CodingKey { case position = "größe q" }
    }

    @Message struct Labels {
        var labels: [Label]
        var when: Date?
    }

    @Message struct Spoiled {
        var a: [Int] = [1, -300]
        var b: [String: Float] = ["k": 0.5]
        var c: Bool?
        var d: Cover = Cover()
        var e: Label = Label(x: 1, city: "Rome")
        var f: String = "fü"
        var g: UInt8 = 200
        var h: Double = 2.5
    }

    /// Any number of nested arrays around an empty one.
    struct Nest: Codable, Equatable {
        var depth: Int

        init(depth: Int) { self.depth = depth }

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            depth = container.isAtEnd ? 1 : try container.decode(Nest.self).depth + 1
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            if depth > 1 { try container.encode(Nest(depth: depth - 1)) }
        }
    }

    @Message struct Deep: Equatable {
        var inner: Nest
    }

    /// More fields than the shortest head can count.
    @Message struct Many: Equatable {
        var all: Bool = true
        var f0: Int?
        var f1: Int?
        var f2: Int?
        var f3: Int?
        var f4: Int?
        var f5: Int?
        var f6: Int?
        var f7: Int?
        var f8: Int?
        var f9: Int?
        var f10: Int?
        var f11: Int?
        var f12: Int?
        var f13: Int?
        var f14: Int?
        var f15: Int?
        var f16: Int?
        var f17: Int?
        var f18: Int?
        var f19: Int?
        var f20: Int?
        var f21: Int?
        var f22: Int?
        var f23: Int?

        init(_ count: Int) {
            f0 = 0 < count ? 0 : nil
            f1 = 1 < count ? 1 : nil
            f2 = 2 < count ? 2 : nil
            f3 = 3 < count ? 3 : nil
            f4 = 4 < count ? 4 : nil
            f5 = 5 < count ? 5 : nil
            f6 = 6 < count ? 6 : nil
            f7 = 7 < count ? 7 : nil
            f8 = 8 < count ? 8 : nil
            f9 = 9 < count ? 9 : nil
            f10 = 10 < count ? 10 : nil
            f11 = 11 < count ? 11 : nil
            f12 = 12 < count ? 12 : nil
            f13 = 13 < count ? 13 : nil
            f14 = 14 < count ? 14 : nil
            f15 = 15 < count ? 15 : nil
            f16 = 16 < count ? 16 : nil
            f17 = 17 < count ? 17 : nil
            f18 = 18 < count ? 18 : nil
            f19 = 19 < count ? 19 : nil
            f20 = 20 < count ? 20 : nil
            f21 = 21 < count ? 21 : nil
            f22 = 22 < count ? 22 : nil
            f23 = 23 < count ? 23 : nil
        }
    }
#endif
