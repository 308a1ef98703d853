import Base
import StoreCore
import Support
import Synchronization
import Testing

@testable import AgentRelay

/// Connections that the relay keeps: from the web server, and to the agent.
@Suite struct KeptConnectionTests {
  private static let phone = AgentClient.phone(id: "one", name: "")
  private static let other = AgentClient.phone(id: "two", name: "")
  private static let sandboxed = "Content-Security-Policy: sandbox\r\n"

  private func get(_ path: String, as client: AgentClient = phone, _ fields: String...) -> String {
    (["GET /api/git/\(path) HTTP/1.1", "X-Admitted-By: \(client.text)"] + fields + ["", ""])
      .joined(separator: "\r\n")
  }

  /// Whether the next answer is the agent's, and its connection stays open.
  private func isAnswered(_ front: Wire) -> Bool {
    guard let head = front.head(), front.bytes(2).elementsEqual("ok".utf8) else { return false }
    return head.hasPrefix("HTTP/1.1 200 ") && !head.contains("Connection:")
  }

  /// Whether the next answer is the agent's, and the connection then ends. An idle connection would
  /// not end.
  private func isAnsweredLast(_ front: Wire) -> Bool {
    guard let head = front.head(), front.bytes(2).elementsEqual("ok".utf8) else { return false }
    return head.hasPrefix("HTTP/1.1 200 ") && front.byte() == nil
  }

  // MARK: From the web server

  @Test func aConnectionTakesOneRequestAfterAnother() {
    withRelay { relay in
      let front = relay.connection()
      for number in 1...3 {
        front.write(get("\(number)"))
        #expect(isAnswered(front))
      }
      #expect(relay.agent.seen.map(\.connection) == [0, 0, 0])
      for (number, seen) in relay.agent.seen.enumerated() {
        #expect(
          seen.head == "GET /api/git/\(number + 1) HTTP/1.1\r\n"
            + "X-Paired-Device: id=\"one\", name=\"\"\r\n\r\n")
      }
    }
  }

  /// Fields, and whether the agent's connection ends too.
  @Test(arguments: [
    ("Content-Length: 0", true), ("Content-Length: 2", true), ("Transfer-Encoding: chunked", true),
    ("Expect: 100-continue", true), ("Connection: close", false), ("Connection: x, CLOSE", false),
  ])
  func aConnectionEndsAfterContentAndIfTheWebServerAsks(field: String, endsAgent: Bool) {
    withRelay { relay in
      let front = relay.connection()
      front.write(get("first", as: Self.phone, field))
      if field.hasPrefix("Expect") { #expect(front.head() == "HTTP/1.1 100 Continue\r\n\r\n") }
      #expect(isAnsweredLast(front))
      #expect(relay.agent.seen.map { $0.head.contains("Connection: close") } == [endsAgent])
    }
  }

  /// The agent sends content all the same, which would be taken for the next answer.
  @Test(arguments: [("HEAD", 200), ("GET", 204), ("GET", 304)])
  func aConnectionStaysAfterAnAnswerWithoutContent(method: String, status: Int) {
    let script: RunningRelay.Script = { connection in
      while connection.request() != nil {
        connection.wire.write("HTTP/1.1 \(status) X\r\nContent-Length: 2\r\n\r\nno")
      }
    }
    withRelay(script) { relay in
      let front = relay.connection()
      for _ in 1...3 {
        front.write("\(method) /api/file HTTP/1.1\r\nX-Admitted-By: \(Self.phone.text)\r\n\r\n")
        let head = front.head() ?? ""
        #expect(head.hasPrefix("HTTP/1.1 \(status) ") && !head.contains("Connection:"))
      }
      #expect(relay.agent.seen.map(\.connection) == [0, 1, 2])
    }
  }

  @Test func pipelinedBytesAreNoRequest() {
    withRelay { relay in
      let front = relay.connection()
      front.write(get("first") + get("second", as: Self.other))
      #expect(isAnsweredLast(front))
      #expect(relay.agent.seen.map(\.head).map { $0.contains("first") } == [true])
    }
  }

  /// The bytes arrive while the agent works, in the middle of its answer, and together with its end.
  @Test(arguments: ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"])
  func bytesBeforeTheEndOfTheAnswerAreNoRequest(begun: String) {
    let gate = Gate()
    gate.close("answer")
    let script: RunningRelay.Script = { connection in
      while connection.request() != nil {
        connection.wire.write(begun)
        gate.pass("answer")
        connection.wire.write(String(ScriptedAgent.ok.dropFirst(begun.count)))
      }
    }
    withRelay(script) { relay in
      let front = relay.connection()
      front.write(get("first"))
      wait(for: "the first request at the agent") {
        relay.agent.seen.count == 1 && gate.isHolding("answer")
      }
      front.write(get("second"))
      gate.openAll()
      #expect(isAnsweredLast(front))
      #expect(relay.agent.seen.count == 1)
    }
  }

  @Test func aClientThatIsNoLongerAdmittedIsRefusedOnAKeptConnection() {
    withRelay { relay in
      let front = relay.connection()
      front.write(get("first"))
      #expect(isAnswered(front))
      relay.end(Self.phone)
      front.write(get("second"))
      #expect(front.head()?.hasPrefix("HTTP/1.1 401 ") == true)
      _ = front.bytes(1 << 10)
      #expect(relay.agent.seen.count == 1)
    }
  }

  @Test func eachRequestOfAKeptConnectionHasItsOwnClient() {
    withRelay { relay in
      let front = relay.connection()
      for client in [Self.phone, Self.other] {
        front.write(get("x", as: client))
        #expect(isAnswered(front))
      }
      relay.end(Self.phone)
      front.write(get("x", as: Self.other))
      #expect(isAnswered(front))
      front.write("GET /api/git/x HTTP/1.1\r\n\r\n")
      #expect(front.head()?.hasPrefix("HTTP/1.1 500 ") == true)
      #expect(relay.agent.seen.map { $0.head.contains("\"one\"") } == [true, false, false])
    }
  }

  @Test func whileTheRelayStopsAKeptConnectionTakesOneMoreRequest() {
    let relay = RunningRelay()
    var fronts = [relay.connection(), relay.connection()]
    for front in fronts {
      front.write(get("first"))
      #expect(isAnswered(front))
    }
    relay.beginStopping()
    var head = ""
    repeat {
      fronts[0].write(get("next"))
      head = fronts[0].head() ?? "none"
      #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n") && fronts[0].bytes(2).elementsEqual("ok".utf8))
    } while head.hasPrefix("HTTP/1.1 200 OK\r\n") && !head.contains("Connection: close")
    #expect(fronts[0].byte() == nil)
    fronts = []
    relay.awaitEnd()  // The web server's end is enough.
  }

  // MARK: To the agent

  @Test func anotherClientGetsAnotherConnectionToTheAgent() {
    withRelay { relay in
      let front = relay.connection()
      for client in [Self.phone, Self.other, Self.phone] {
        front.write(get("x", as: client))
        #expect(isAnswered(front))
      }
      #expect(relay.agent.seen.map(\.connection) == [0, 1, 0])
    }
  }

  @Test func aRequestThatChangesSomethingGetsAConnectionOfItsOwn() {
    withRelay { relay in
      let front = relay.connection()
      for method in ["GET", "DELETE", "POST", "GET"] {
        front.write("\(method) /api/file HTTP/1.1\r\nX-Admitted-By: \(Self.phone.text)\r\n\r\n")
        #expect(isAnswered(front), "\(method)")
      }
      #expect(relay.agent.seen.map(\.connection) == [0, 1, 2, 0])
    }
  }

  /// Answers after which the agent's connection takes no other request.
  @Test(arguments: [
    "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno",
  ])
  func anAgentThatEndsOrSaysTooMuchIsNotKept(answer: String) {
    let script: RunningRelay.Script = { connection in
      while connection.request() != nil { connection.wire.write(answer) }
    }
    withRelay(script) { relay in
      let front = relay.connection()
      for _ in 1...2 {
        front.write(get("x"))
        #expect(isAnswered(front))
      }
      #expect(relay.agent.seen.map(\.connection) == [0, 1])
    }
  }

  @Test func bytesThatComeTooLateAreNoAnswer() {
    let gate = Gate()
    for name in ["late", "written"] { gate.close(name) }
    let script: RunningRelay.Script = { connection in
      while connection.request() != nil {
        connection.wire.write(ScriptedAgent.ok)
        gate.pass("late")
        connection.wire.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno")
        gate.close("late")
        gate.open("written")
      }
    }
    withRelay(script) { relay in
      let front = relay.connection()
      front.write(get("x"))
      #expect(isAnswered(front))
      gate.open("late")
      gate.pass("written")
      front.write(get("x"))
      #expect(isAnswered(front))
      #expect(relay.agent.seen.map(\.connection) == [0, 1])
      gate.openAll()
    }
  }

  @Test func anAnswerWithoutLengthEndsBothConnections() {
    let script: RunningRelay.Script = { connection in
      _ = connection.request()
      connection.wire.write("HTTP/1.1 200 OK\r\n\r\nok")
    }
    withRelay(script) { relay in
      let front = relay.connection()
      front.write(get("x"))
      #expect(isAnsweredLast(front))
    }
  }

  /// The agent ends the kept connection after the answer, or when the second request arrives.
  @Test(arguments: [false, true])
  func aRequestIsSentAgainIfTheKeptConnectionHasEnded(readsRequest: Bool) {
    let ends = Gate()
    for name in ["end", "ended"] { ends.close(name) }
    let script: RunningRelay.Script = { connection in
      _ = connection.request()
      connection.wire.write(ScriptedAgent.ok)
      guard connection.number == 0 else { return ends.pass("end") }
      if readsRequest { _ = connection.request() }
      ends.open("ended")
    }
    withRelay(script) { relay in
      let front = relay.connection()
      front.write(get("x"))
      #expect(isAnswered(front))
      if !readsRequest { ends.pass("ended") }
      front.write(get("x"))
      #expect(isAnswered(front))
      #expect(relay.agent.seen.map(\.connection) == (readsRequest ? [0, 0, 1] : [0, 1]))
      ends.openAll()
    }
  }

  @Test func aRequestOnANewConnectionIsNeverSentAgain() {
    let script: RunningRelay.Script = { connection in _ = connection.request() }
    withRelay(script) { relay in
      for method in ["GET", "POST"] {
        let front = relay.connection()
        front.write("\(method) /api/file HTTP/1.1\r\nX-Admitted-By: \(Self.phone.text)\r\n\r\n")
        #expect(front.byte() == nil)
      }
      #expect(relay.agent.seen.count == 2)
    }
  }

  @Test func anIdleConnectionToTheAgentEndsSoon() {
    let ends = Gate()
    ends.close("end")
    let script: RunningRelay.Script = { connection in
      _ = connection.request()
      connection.wire.write(ScriptedAgent.ok)
      _ = connection.wire.byte()
      ends.open("end")
    }
    var limits = RelayLimits.never
    limits.idle = .seconds(1)
    withRelay(limits: limits, script) { relay in
      let front = relay.connection()
      front.write(get("x"))
      #expect(isAnswered(front))
      waiting(for: "the end of the idle connection") { ends.pass("end") }
    }
  }
}
