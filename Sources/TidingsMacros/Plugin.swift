#if Macros
    import SwiftCompilerPlugin
    import SwiftSyntaxMacros

    @main
    struct TidingsPlugin: CompilerPlugin {
        let providingMacros: [any Macro.Type] = [
            MessageMacro.self, NotificationProtocolMacro.self, NotificationDetailMacro.self,
        ]
    }
#else
    /// A macro target is a program: without the trait, one that nobody starts.
    @main
    struct Nothing {
        static func main() {}
    }
#endif
