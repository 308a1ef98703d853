import StoreCore
import Support
import Testing

@testable import AgentRelay

/// The relay while the database has not answered yet.
@Suite struct RelayQuestionTests {
  private static let phone = AgentClient.phone(id: "one", name: "")
  private static let request =
    "GET /api/file HTTP/1.1\r\nX-Admitted-By: \(phone.text)\r\n\r\n"

  /// Whether the relay still handles events. It has then read all that was sent before.
  private func answersProbe(_ relay: RunningRelay) -> Bool {
    let responder = relay.connection()
    responder.write("GET \(RelayHead.probe) HTTP/1.1\r\n\r\n")
    return responder.head()?.hasPrefix("HTTP/1.1 204 ") == true
  }

  /// The phone is revoked after the database has read its row for the first request.
  @Test func anAnswerToAnEarlierQuestionAdmitsNoLaterRequest() {
    withRelay { relay in
      for question in 0...9 { relay.gate.close("\(question)") }
      let (first, second) = (relay.connection(), relay.connection())
      first.write(Self.request)
      wait(for: "the question to the database") { relay.gate.isHolding("0") }
      relay.end(Self.phone)
      second.write(Self.request)
      #expect(answersProbe(relay))
      relay.gate.open("0")
      for _ in 1...9 { #expect(answersProbe(relay)) }
      relay.gate.openAll()
      // The relay may also close it, when it asks about all its clients.
      #expect(second.head()?.hasPrefix("HTTP/1.1 401 ") ?? true)
      #expect(relay.agent.seen.count <= 1)
    }
  }

  @Test func aDatabaseThatHangsDelaysNoOtherConnection() {
    let script: RunningRelay.Script = { connection in
      guard connection.request()?.contains("Upgrade: websocket") == true else {
        return connection.wire.write(ScriptedAgent.ok)
      }
      connection.wire.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")
      while let byte = connection.wire.byte() {
        connection.wire.write(String(UnicodeScalar(byte)))
      }
    }
    withRelay(script) { relay in
      let socket = relay.connection()
      socket.write(
        "GET /ws HTTP/1.1\r\nX-Admitted-By: \(Self.phone.text)\r\nUpgrade: websocket\r\n\r\n")
      #expect(socket.head()?.hasPrefix("HTTP/1.1 101 ") == true)
      for question in 1...9 { relay.gate.close("\(question)") }
      let fronts = [relay.connection(), relay.connection()]
      for front in fronts {
        front.write(Self.request)
        wait(for: "one more question to the database") {
          (1...9).contains { relay.gate.isHolding("\($0)") }
        }
        #expect(answersProbe(relay))
        socket.write("still here")
        #expect(socket.bytes(10).elementsEqual("still here".utf8))
      }
      relay.gate.openAll()
      for front in fronts { #expect(front.head()?.hasPrefix("HTTP/1.1 200 ") == true) }
    }
  }
}
