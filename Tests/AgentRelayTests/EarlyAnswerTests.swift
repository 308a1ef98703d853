import StoreCore
import Support
import Testing

@testable import AgentRelay

/// Answers that an agent sends before it has read the content of the request.
@Suite struct EarlyAnswerTests {
  private static let size = 1 << 20
  private static let upload =
    "POST /api/file HTTP/1.1\r\nX-Admitted-By: \(AgentClient.phone(id: "one", name: "").text)\r\n"
    + "Content-Length: \(size)\r\n\r\n" + String(repeating: "x", count: size)

  /// The kernel then reports the end at the next write, and keeps the answer for the next read. A web server would ignore
  /// the answer if it could not write the whole request.
  @Test(arguments: ["Content-Length: 3\r\n", ""])
  func anAnswerArrivesAlthoughTheAgentHasClosedAndReadNothingMore(field: String) {
    let script: RunningRelay.Script = { connection in
      _ = connection.request()
      connection.wire.write("HTTP/1.1 413 Content Too Large\r\n\(field)\r\nbig")
    }
    withRelay(script) { relay in
      for _ in 1...50 {
        let front = relay.connection()
        #expect(front.takes(Self.upload))
        #expect(front.head()?.hasPrefix("HTTP/1.1 413 ") == true)
        #expect(front.bytes(3).elementsEqual("big".utf8))
      }
    }
  }
}
