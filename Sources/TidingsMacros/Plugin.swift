// The entry point of the compiler plugin that provides the macros.
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
    /// A macro target must be a program. Without the trait, no compiler starts it.
    @main
    struct Nothing {
        static func main() {}
    }
#endif
