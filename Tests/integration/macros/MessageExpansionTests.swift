#if Macros
    import Testing

    /// The exact code that `@Message` generates.
    @Suite struct MessageExpansionTests {
        @Test func fieldsOfEveryKind() {
            expectExpansion(
                """
                @Message
                struct Track {
                    static let name: SharedNotificationCenter.Name = "test.track"
                    let number: UInt64
                    var title, artist: String
                    var subtitle: String?
                    var `default` = -1, ratings = [Int]()
                    var summary: String { title }
                    func play() {}
                }
                """,
                """
                struct Track {
                    static let name: SharedNotificationCenter.Name = "test.track"
                    let number: UInt64
                    var title, artist: String
                    var subtitle: String?
                    var `default` = -1, ratings = [Int]()
                    var summary: String { title }
                    func play() {}
                }

                extension Track: SharedNotificationCenter.Message {
                    func _encodeField(to encoder: inout SharedNotificationCenter._FieldEncoder) throws {
                        let map = try encoder.beginMap()
                        try encoder.encode(self.number, for: "number")
                        try encoder.encode(self.title, for: "title")
                        try encoder.encode(self.artist, for: "artist")
                        try encoder.encode(self.subtitle, for: "subtitle")
                        try encoder.encode(self.`default`, for: "default")
                        try encoder.encode(self.ratings, for: "ratings")
                        try encoder.endMap(map)
                    }

                    init(_decodingField decoder: inout SharedNotificationCenter._FieldDecoder) throws {
                        var numberValue: UInt64?
                        var titleValue: String?
                        var artistValue: String?
                        var subtitleValue: String??
                        var defaultValue: Int?
                        var ratingsValue: [Int]?
                        var map = try decoder.beginMap()
                        while let field = try decoder.nextField(in: &map, of: \
                "\\u{66}number\\u{65}title\\u{66}artist\\u{68}subtitle\\u{67}default\\u{67}ratings") {
                            switch field {
                            case 0 where numberValue == nil:
                                numberValue = try decoder.decode(UInt64.self, for: "number")
                            case 1 where titleValue == nil:
                                titleValue = try decoder.decode(String.self, for: "title")
                            case 2 where artistValue == nil:
                                artistValue = try decoder.decode(String.self, for: "artist")
                            case 3 where subtitleValue == nil:
                                subtitleValue = try decoder.decode(String?.self, for: "subtitle")
                            case 4 where defaultValue == nil:
                                defaultValue = try decoder.decode(Int.self, for: "default")
                            case 5 where ratingsValue == nil:
                                ratingsValue = try decoder.decode([Int].self, for: "ratings")
                            default:
                                try decoder.skipValue()
                            }
                        }
                        self.number = try decoder.required(numberValue, "number")
                        self.title = try decoder.required(titleValue, "title")
                        self.artist = try decoder.required(artistValue, "artist")
                        self.subtitle = subtitleValue ?? nil
                        self.`default` = defaultValue ?? (-1)
                        self.ratings = ratingsValue ?? ([Int]())
                    }

                    private enum CodingKeys: String, CodingKey {
                        case number
                        case title
                        case artist
                        case subtitle
                        case `default`
                        case ratings
                    }

                    init(from decoder: any Decoder) throws {
                        let container = try decoder.container(keyedBy: CodingKeys.self)
                        self.number = try container.decode(UInt64.self, forKey: .number)
                        self.title = try container.decode(String.self, forKey: .title)
                        self.artist = try container.decode(String.self, forKey: .artist)
                        self.subtitle = try container.decodeIfPresent(String.self, forKey: .subtitle)
                        self.`default` = container.contains(.`default`) ? try container.decode(Int.self, forKey: \
                .`default`) : -1
                        self.ratings = container.contains(.ratings) ? try container.decode([Int].self, forKey: \
                .ratings) : [Int]()
                    }
                }
                """)
        }

        @Test func aPublicStructWithItsOwnNameAndKeys() {
            expectExpansion(
                """
                @Message("com.example.seek")
                public struct Seek {
                    public var position: Double
                    var cache: Int?
                    enum CodingKeys: String, CodingKey {
                        case position = "p"
                    }
                }
                """,
                """
                public struct Seek {
                    public var position: Double
                    var cache: Int?
                    enum CodingKeys: String, CodingKey {
                        case position = "p"
                    }
                }

                extension Seek: SharedNotificationCenter.Message {
                    public static var name: SharedNotificationCenter.Name {
                        "com.example.seek"
                    }

                    public func _encodeField(to encoder: inout SharedNotificationCenter._FieldEncoder) throws {
                        let map = try encoder.beginMap()
                        try encoder.encode(self.position, for: "p")
                        try encoder.endMap(map)
                    }

                    public init(_decodingField decoder: inout SharedNotificationCenter._FieldDecoder) throws {
                        var positionValue: Double?
                        var map = try decoder.beginMap()
                        while let field = try decoder.nextField(in: &map, of: "\\u{61}p") {
                            switch field {
                            case 0 where positionValue == nil:
                                positionValue = try decoder.decode(Double.self, for: "p")
                            default:
                                try decoder.skipValue()
                            }
                        }
                        self.position = try decoder.required(positionValue, "p")
                    }
                }
                """)
        }

        @Test func nothingToSend() {
            expectExpansion(
                """
                @Message struct Ping {}
                """,
                """
                struct Ping {}

                extension Ping: SharedNotificationCenter.Message {
                    func _encodeField(to encoder: inout SharedNotificationCenter._FieldEncoder) throws {
                        let map = try encoder.beginMap()
                        try encoder.endMap(map)
                    }

                    init(_decodingField decoder: inout SharedNotificationCenter._FieldDecoder) throws {
                        var map = try decoder.beginMap()
                        while let _ = try decoder.nextField(in: &map, of: "") {
                            try decoder.skipValue()
                        }
                    }
                }
                """)
        }
    }
#endif
