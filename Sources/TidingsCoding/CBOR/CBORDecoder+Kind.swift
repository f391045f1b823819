extension CBORDecoder {
    /// What is there, for types that take several.
    package enum Kind {
        case integer, double, boolean, string, data, date, array, dictionary
        /// Null, a decimal fraction, or something that has no counterpart here.
        case other
    }

    package func kind() throws -> Kind {
        let (head, tag): (CBORHead, UInt64?)
        do throws(CBORFault) {
            guard reader.isLive else { throw CBORFault(.finished, at: 0) }
            (head, tag) = try reader.bytes.content(at: place)
        } catch {
            throw error.error(expecting: Any.self, path: codingPath)
        }
        switch head.major {
        case .unsigned, .negative: return tag == CBORTag.epochTime ? .date : .integer
        case .bytes: return tag == CBORTag.positiveBignum || tag == CBORTag.negativeBignum ? .integer : .data
        case .text: return tag == CBORTag.dateText ? .date : .string
        case .array: return tag == CBORTag.decimalFraction ? .other : .array
        case .map: return tag == CBORTag.extendedTime ? .date : .dictionary
        case .simple:
            switch head.info {
            case 20, 21: return .boolean
            case 25, 26, 27: return tag == CBORTag.epochTime ? .date : .double
            default: return .other
            }
        case .tag: return .other
        }
    }
}
