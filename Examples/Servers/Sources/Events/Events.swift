import HTTPTypes
import Hummingbird
import Tidings

/// What the clients of all servers see, in one order.
struct Said: SharedNotificationCenter.Message {
    static let name: SharedNotificationCenter.Name = "com.example.chat.said"
    var text: String
}

/// A page that shows what is said on any of its servers: Events PORT [ADDRESS]. Each of several has a port of its own.
@main struct Events {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        let address = BindAddress.hostname(
            arguments.count > 1 ? arguments.last! : "127.0.0.1", port: arguments.first.flatMap { Int($0) } ?? 8080)
        let center = try SharedNotificationCenter(named: "com.example.chat", configuration: .init(followsName: true))
        let router = Router()
        router.get("/") { _, _ in
            Response(status: .ok, headers: [.contentType: "text/html"], body: .init(byteBuffer: .init(string: page)))
        }
        router.post("said") { request, _ in
            try center.post(Said(text: String(buffer: try await request.body.collect(upTo: 4096))))
            return HTTPResponse.Status.noContent
        }
        router.get("events") { request, _ in
            let events = try EventStream(after: request.headers[.lastEventID], in: center)
            return Response(
                status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
                body: .init { writer in try await events.write(to: &writer, until: request) })
        }
        try await Application(router: router, configuration: .init(address: address)).runService()
    }
}

extension HTTPField.Name {
    static let lastEventID = Self("Last-Event-ID")!
}

private let page = """
    <!DOCTYPE html>
    <title>Said</title>
    <form><input autofocus> <button>Say</button></form>
    <ol></ol>
    <script>
    const add = text => document.querySelector("ol").appendChild(document.createElement("li")).textContent = text
    const events = new EventSource("events")
    events.onmessage = event => add(event.data)
    events.addEventListener("missed", event => add(`(${event.data} missed)`))
    document.forms[0].onsubmit = event => {
        event.preventDefault()
        const input = document.querySelector("input")
        fetch("said", {method: "POST", body: input.value}).then(() => input.value = "")
    }
    </script>
    """
