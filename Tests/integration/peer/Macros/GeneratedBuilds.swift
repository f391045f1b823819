#if Macros
    import Tidings

    @Message("test.seek")
    struct GeneratedOldSeek: Build {
        static let sample = GeneratedOldSeek(title: "generated old", gone: [3])
        var title: String
        var gone: [Int] = []

        var summary: String { "\(title) \(gone)" }
    }

    @Message("test.seek")
    struct GeneratedNewSeek: Build {
        static let sample = GeneratedNewSeek(title: "generated new", speed: 3, note: nil)
        var title: String
        var speed: Double = 1
        var note: [String: Bool]?

        var summary: String { "\(title) \(speed) \(note ?? [:])" }
    }

    extension TestPeer {
        static func generatedBuild(_ name: String) -> (any Build.Type)? {
            switch name {
            case "generated-old": GeneratedOldSeek.self
            case "generated-new": GeneratedNewSeek.self
            default: nil
            }
        }
    }
#endif
