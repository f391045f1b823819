// Keeps the comments of source code that a fix-it changes.
#if Macros
    import SwiftSyntax

    extension SyntaxProtocol {
        /// All comments in the node, including those before and after it.
        var comments: [TriviaPiece] {
            tokens(viewMode: .sourceAccurate).flatMap { $0.leadingTrivia.pieces + $0.trailingTrivia.pieces }
                .filter(\.isComment)
        }

        /// The comments of this node that are missing in the changed node.
        func comments(missingIn changed: Self) -> [TriviaPiece] {
            changed.comments.difference(from: comments).removals.map { removal in
                switch removal {
                case .remove(_, let comment, _), .insert(_, let comment, _): comment
                }
            }
        }

        /// The indentation of the line in which the node begins.
        var indentation: Trivia {
            Trivia(pieces: leadingTrivia.pieces.reversed().prefix(while: \.isSpaceOrTab).reversed())
        }

        /// The node's text in one line, without comments.
        var inOneLine: String {
            var text = ""
            for token in trimmed.tokens(viewMode: .sourceAccurate) {
                let isApart = token.leadingTrivia.contains(where: \.isWhitespace)
                if isApart, !text.isEmpty, text.last != " " { text += " " }
                text += token.text
                if token.trailingTrivia.contains(where: \.isWhitespace) { text += " " }
            }
            return text.last == " " ? String(text.dropLast()) : text
        }

        /// Appends comments to the node, before its own trailing comments.
        ///
        /// After a line comment at the end a line break is needed. It is added unless `next` begins with one.
        func followed(by comments: [TriviaPiece], indentation: Trivia, before next: TokenSyntax?) -> Self {
            guard !comments.isEmpty else { return self }
            var trivia = Trivia()
            for comment in comments + trailingTrivia.filter(\.isComment) {
                trivia += trivia.isLineComment ? .newline + indentation : .space
                trivia += Trivia(pieces: [comment.ordinary])
            }
            if next?.leadingTrivia.first?.isNewline != true { trivia += trivia.isLineComment ? .newline : .space }
            return with(\.trailingTrivia, trivia)
        }
    }

    extension Trivia {
        /// Each comment, followed by the line break or space that must separate it from the next text.
        init(inFront comments: [TriviaPiece]) {
            self = comments.reduce(into: []) { trivia, comment in
                trivia += Trivia(pieces: [comment.ordinary])
                trivia += trivia.isLineComment ? .newline : .space
            }
        }

        fileprivate var isLineComment: Bool { if case .lineComment = pieces.last { true } else { false } }

        /// The trivia that replaces a declaration between two pieces of trivia: all comments, and the line breaks of
        /// one piece.
        static func joining(_ before: Trivia, _ after: Trivia, isAtEdge: Bool) -> Trivia {
            let kept = Trivia(pieces: before.map(\.ordinary))
            guard after.first?.isNewline == true else { return kept + after }
            let comments = Array(kept.reversed().drop(while: \.isWhitespace).reversed())
            let blankBefore = Array(kept.dropFirst(comments.count))
            let blankAfter = Array(after.prefix(while: \.isWhitespace))
            let fewer = blankBefore.lineEnds > 0 && blankBefore.lineEnds < blankAfter.lineEnds
            let takesBefore =
                isAtEdge && comments.isEmpty ? fewer : blankBefore.lineEnds > blankAfter.lineEnds
            return Trivia(
                pieces: comments + (takesBefore ? blankBefore.withoutIndentation : blankAfter.withoutIndentation))
                + Trivia(
                    pieces: blankAfter.dropFirst(blankAfter.withoutIndentation.count)
                        + after.dropFirst(blankAfter.count))
        }
    }

    extension TriviaPiece {
        /// A documentation comment without its declaration becomes an ordinary comment.
        fileprivate var ordinary: TriviaPiece {
            switch self {
            case .docLineComment(let text): .lineComment(String(text.dropFirst()))
            case .docBlockComment(let text): .blockComment("/*" + text.dropFirst(3))
            default: self
            }
        }
    }

    extension [TriviaPiece] {
        fileprivate var lineEnds: Int {
            reduce(0) { sum, piece in
                switch piece {
                case .newlines(let count), .carriageReturns(let count), .carriageReturnLineFeeds(let count): sum + count
                default: sum
                }
            }
        }

        fileprivate var withoutIndentation: [TriviaPiece] {
            guard let last = lastIndex(where: \.isNewline) else { return [] }
            return Array(self[...last])
        }
    }
#endif
