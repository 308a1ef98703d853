import Foundation
import HTTP
import Support
import Testing

@testable import FastCGI

/// FastCGI's authorizer role (specification §6.3).
@Suite struct AuthorizerTests {
  private let question =
    beginRecord(keep: true, role: 2)
    + stream(
      .params,
      pair("REQUEST_METHOD", "POST") + pair("REQUEST_URI", "/ws?a=b") + pair("SCRIPT_NAME", "/ws"))

  private let handler: RunningServer.Handler = { request, _ in
    let text = "\(request.isAuthorization) \(request.method) \(request.path) \(request.requestURI)"
    return Response(status: 200, fields: [("Variable-A", "b")], body: Array(text.utf8))
  }

  @Test func itIsAskedWithoutABody() throws {
    try withServer(handler: handler) { server in
      let connection = try server.connect()
      for _ in 0..<2 {
        let answer = try connection.answer(to: question)
        #expect(answer.body == "true GET /_auth /ws?a=b")
        #expect(answer.head.contains("Variable-A: b"))
      }
      let other = try connection.answer(to: requestBytes("POST", "/ws", keep: true))
      #expect(other.body == "false POST /ws /ws")
    }
  }

  @Test func onATCPSocketNothingElseIsAnswered() throws {
    let listening = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let port = withLoopbackAddress(port: 0) { address in
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      #expect(bind(listening, address, length) == 0 && listen(listening, 8) == 0)
      #expect(getsockname(listening, address, &length) == 0)
    }
    let server = try Server(
      listener: Listener(descriptor: listening), workers: 1, waiters: 0, bodyLimit: 1000)
    let ended = DispatchSemaphore(value: 0)
    let handler = handler
    Thread {
      do { try server.run(Handler { handler($0, server) }) } catch { Issue.record(error) }
      ended.signal()
    }.start()
    #expect(try Connection(toPort: port).answer(to: question).body == "true GET /_auth /ws?a=b")
    let refused = try Connection(toPort: port).answer(to: requestBytes("GET", "/health"))
    #expect(refused.head.hasPrefix("Status: 403"))
    server.drain()
    waiting(for: "the end of the server") { ended.wait() }
  }
}
