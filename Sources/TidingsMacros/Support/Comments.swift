#if Macros
    import SwiftSyntax

    extension SyntaxProtocol {
        /// With those in front of it and behind it.
        var comments: [TriviaPiece] {
            tokens(viewMode: .sourceAccurate).flatMap { $0.leadingTrivia.pieces + $0.trailingTrivia.pieces }
                .filter(\.isComment)
        }

        /// Its own that aren't in what was made of it.
        func comments(missingIn changed: Self) -> [TriviaPiece] {
            changed.comments.difference(from: comments).removals.map { removal in
                switch removal {
                case .remove(_, let comment, _), .insert(_, let comment, _): comment
                }
            }
        }

        /// Of the line it begins in.
        var indentation: Trivia {
            Trivia(pieces: leadingTrivia.pieces.reversed().prefix(while: \.isSpaceOrTab).reversed())
        }

        /// As it is written, in one line and without comments.
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

        /// Puts comments behind it, in front of those that are there. The last may need the line's end, which `next` has or doesn't.
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
        /// Each with what has to stand between it and what follows.
        init(inFront comments: [TriviaPiece]) {
            self = comments.reduce(into: []) { trivia, comment in
                trivia += Trivia(pieces: [comment.ordinary])
                trivia += trivia.isLineComment ? .newline : .space
            }
        }

        fileprivate var isLineComment: Bool { if case .lineComment = pieces.last { true } else { false } }

        /// What stands where a declaration between two pieces of trivia was: all comments, and as many line ends as one of both has.
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
        /// Documentation documents what follows: without that it is a comment as any other.
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
