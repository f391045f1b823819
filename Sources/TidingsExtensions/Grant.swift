public import Tidings

/// What a host allows an extension to do. Everything that no grant names is refused.
///
/// ```swift
/// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
/// struct Liked: SharedNotificationCenter.Message { var title: String }
/// struct Render: SharedNotificationCenter.Request { typealias Reply = String; var page: Int }
/// let specification = LaunchSpecification(
///     executable: "/usr/libexec/player/lyrics",
///     grants: [
///         .observes(TrackChanged.self), .posts(Liked.self), .posts(named: "com.example.log"), .serves(Render.self),
///     ])
/// ```
///
/// A grant has a name, as on the wire: of a type it is the type's `name`. A name that no program knows is allowed, and
/// has no effect.
public struct Grant: Hashable, Sendable, CustomStringConvertible {
    /// What the extension may do with a name.
    ///
    /// ```swift
    /// let grant = Grant.posts(named: "com.example.log")
    /// print(grant.kind == .posts, grant.name)
    /// ```
    public enum Kind: UInt8, Hashable, Sendable {
        /// Observe the broadcast center.
        case observes = 1
        /// Post, through the host, into the broadcast center.
        case posts = 2
        /// Serve requests of the host.
        case serves = 3
        /// Make requests that the host serves.
        case requests = 4
    }

    /// What the extension may do.
    public let kind: Kind
    /// The name of the notifications or requests.
    public let name: SharedNotificationCenter.Name

    /// Creates a grant for a name, as ``Kind-swift.enum`` shows the parts of one.
    public init(_ kind: Kind, named name: SharedNotificationCenter.Name) {
        self.kind = kind
        self.name = name
    }

    /// For example `posts "com.example.log"`.
    public var description: String { "\(kind) \"\(name)\"" }

    /// The extension may observe the broadcast center.
    ///
    /// It then has **read access to the whole broadcast center**: the kernel cannot give access to a part of a
    /// center's memory. The name says what the extension needs, and does not limit what it can read. An extension
    /// without such a ``Grant`` does not receive the broadcast center.
    public static func observes<M: SharedNotificationCenter.Message>(_ type: M.Type) -> Grant {
        Grant(.observes, named: M.name)
    }

    /// A ``Grant`` as ``observes(_:)``, for a name: of a key, of untyped notifications, or of a type that the host does
    /// not know.
    public static func observes(named name: SharedNotificationCenter.Name) -> Grant { Grant(.observes, named: name) }

    /// The extension may post messages of the type, as ``Grant`` shows. The host forwards them to the broadcast center.
    public static func posts<M: SharedNotificationCenter.Message>(_ type: M.Type) -> Grant {
        Grant(.posts, named: M.name)
    }

    /// A ``Grant`` as ``posts(_:)``, for a name: of a key, of untyped notifications, or of a type that the host does
    /// not know.
    public static func posts(named name: SharedNotificationCenter.Name) -> Grant { Grant(.posts, named: name) }

    /// The host may make requests of the type to the extension (``Extension/request(_:timeout:options:)``).
    public static func serves<R: SharedNotificationCenter.Request>(_ type: R.Type) -> Grant {
        Grant(.serves, named: R.name)
    }

    /// The extension may make requests of the type to the host (``ExtensionHost/serve(_:using:)``).
    public static func requests<R: SharedNotificationCenter.Request>(_ type: R.Type) -> Grant {
        Grant(.requests, named: R.name)
    }
}

extension [Grant] {
    /// - Parameter what: the call that needs the grant, after "can't".
    func require(
        _ kind: Grant.Kind, _ name: SharedNotificationCenter.Name, _ what: @autoclosure () -> String
    ) throws(ExtensionError) {
        guard !contains(Grant(kind, named: name)) else { return }
        throw ExtensionError(
            .notGranted,
            message: "can't \(what()): the launch has no grant that it \(kind) \"\(name)\"; add it to the specification"
        )
    }
}
