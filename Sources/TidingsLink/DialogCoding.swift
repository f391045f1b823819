// Messages of dialogs as bytes. As for frames, the decoder trusts no byte.

extension FrameOutput {
    mutating func message(_ message: Message) {
        switch message {
        case .served(let names):
            bytes.append(1)
            number(UInt64(names.count))
            for name in names { text(name.text) }
        case .request(let call, let request):
            bytes.append(2)
            number(call)
            text(request.name.text)
            flag(request.isIdempotent)
            payload(request.format, request.payload)
        case .cancel(let call):
            bytes.append(3)
            number(call)
        case .goOn(let call):
            bytes.append(4)
            number(call)
        case .participants(let all):
            bytes.append(9)
            number(UInt64(all.count))
            for one in all { participant(one) }
        case .joined(let one):
            bytes.append(10)
            participant(one)
        case .left(let id, let how):
            bytes.append(11)
            number(id)
            bytes.append(how.rawValue)
        case .answer(let call, let answer):
            switch answer {
            case .part(let code, let format, let payload):
                bytes.append(5)
                number(call)
                number(UInt64(code))
                self.payload(format, payload)
            case .reply(let code, let format, let payload):
                bytes.append(6)
                number(call)
                number(UInt64(code))
                self.payload(format, payload)
            case .serverEnded:
                bytes.append(7)
                number(call)
            case .noServer:
                bytes.append(8)
                number(call)
            }
        }
    }

    private mutating func participant(_ one: RemoteParticipant) {
        number(one.id)
        number(UInt64(UInt32(bitPattern: one.pid)))
        number(UInt64(one.uid))
        text(one.role)
        text(one.executable)
    }

    private mutating func payload(_ format: UInt8, _ payload: [UInt8]) {
        bytes.append(format)
        number(UInt64(payload.count))
        bytes.append(contentsOf: payload)
    }
}

extension FrameInput {
    mutating func message() throws(Fault) -> Message {
        switch try byte() {
        case 1:
            var names: [LinkName] = []
            for _ in 0..<(try count(of: 2, most: limits.servedNames)) { names.append(try name()) }
            return .served(names)
        case 2:
            let (call, name, isIdempotent) = (try number(), try name(), try flag())
            let (format, payload) = try payload()
            return .request(
                call: call, Request(name: name, isIdempotent: isIdempotent, format: format, payload: payload))
        case 3: return .cancel(call: try number())
        case 4: return .goOn(call: try number())
        case 5:
            let (call, code) = (try number(), UInt16(try number(below: 1 << 16)))
            let (format, payload) = try payload()
            return .answer(call: call, .part(code: code, format: format, payload: payload))
        case 6:
            let (call, code) = (try number(), UInt16(try number(below: 1 << 16)))
            let (format, payload) = try payload()
            return .answer(call: call, .reply(code: code, format: format, payload: payload))
        case 7: return .answer(call: try number(), .serverEnded)
        case 8: return .answer(call: try number(), .noServer)
        case 9:
            var all: [RemoteParticipant] = []
            for _ in 0..<(try count(of: 5, most: 65_536)) { all.append(try participant()) }
            return .participants(all)
        case 10: return .joined(try participant())
        case 11:
            let id = try number()
            guard let how = RemoteDeparture(rawValue: try byte()) else { throw Fault() }
            return .left(id: id, how)
        default: throw Fault()
        }
    }

    private mutating func participant() throws(Fault) -> RemoteParticipant {
        let (id, pid, uid) = (try number(), Int32(bitPattern: try number32()), try number32())
        let (role, executable) = (try text(), try text())
        guard role.utf8.count <= RemoteParticipant.roleLimit,
            executable.utf8.count <= RemoteParticipant.executableLimit
        else { throw Fault() }
        return RemoteParticipant(id: id, pid: pid, uid: uid, role: role, executable: executable)
    }

    private mutating func payload() throws(Fault) -> (format: UInt8, bytes: [UInt8]) {
        let format = try byte()
        let size = try count(of: 1, most: limits.payload)
        defer { at += size }
        return (format, Array(bytes[at..<(at + size)]))
    }
}
