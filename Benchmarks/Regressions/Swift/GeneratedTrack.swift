// swift-format-ignore-file

import Tidings

// The struct of `Track` as `@Message` would have it, which isn't built here. Behind the struct below stands what the
// macro makes of it, letter by letter and unformatted. A test of the macros compares the two.
struct GeneratedTrack {
    var number: UInt64
    var title = "Flamenco Sketches, take 1"
    var artist = "Davis, Evans, Adderley, C"
    var position = 12.5
    var isPlaying = true
}

extension GeneratedTrack: SharedNotificationCenter.Message {
    func _encodeField(to encoder: inout SharedNotificationCenter._FieldEncoder) throws {
        let map = try encoder.beginMap()
        try encoder.encode(self.number, for: "number")
        try encoder.encode(self.title, for: "title")
        try encoder.encode(self.artist, for: "artist")
        try encoder.encode(self.position, for: "position")
        try encoder.encode(self.isPlaying, for: "isPlaying")
        try encoder.endMap(map)
    }

    init(_decodingField decoder: inout SharedNotificationCenter._FieldDecoder) throws {
        var numberValue: UInt64?
        var titleValue: String?
        var artistValue: String?
        var positionValue: Double?
        var isPlayingValue: Bool?
        var map = try decoder.beginMap()
        while let field = try decoder.nextField(in: &map, of: "\u{66}number\u{65}title\u{66}artist\u{68}position\u{69}isPlaying") {
            switch field {
            case 0 where numberValue == nil:
                numberValue = try decoder.decode(UInt64.self, for: "number")
            case 1 where titleValue == nil:
                titleValue = try decoder.decode(String.self, for: "title")
            case 2 where artistValue == nil:
                artistValue = try decoder.decode(String.self, for: "artist")
            case 3 where positionValue == nil:
                positionValue = try decoder.decode(Double.self, for: "position")
            case 4 where isPlayingValue == nil:
                isPlayingValue = try decoder.decode(Bool.self, for: "isPlaying")
            default:
                try decoder.skipValue()
            }
        }
        self.number = try decoder.required(numberValue, "number")
        self.title = titleValue ?? "Flamenco Sketches, take 1"
        self.artist = artistValue ?? "Davis, Evans, Adderley, C"
        self.position = positionValue ?? 12.5
        self.isPlaying = isPlayingValue ?? true
    }

    private enum CodingKeys: String, CodingKey {
        case number
        case title
        case artist
        case position
        case isPlaying
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.number = try container.decode(UInt64.self, forKey: .number)
        self.title = container.contains(.title) ? try container.decode(String.self, forKey: .title) : "Flamenco Sketches, take 1"
        self.artist = container.contains(.artist) ? try container.decode(String.self, forKey: .artist) : "Davis, Evans, Adderley, C"
        self.position = container.contains(.position) ? try container.decode(Double.self, forKey: .position) : 12.5
        self.isPlaying = container.contains(.isPlaying) ? try container.decode(Bool.self, forKey: .isPlaying) : true
    }
}
