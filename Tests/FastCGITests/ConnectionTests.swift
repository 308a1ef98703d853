import Foundation
import HTTP
import Support
import Testing

@testable import FastCGI

/// Valid requests, with and without keeping the connection.
@Suite struct ConnectionTests {
  @Test func aConnectionThatIsNotToBeKeptIsClosedAfterItsAnswer() throws {
    try withServer { server in
      let connection = try server.connect()
      let answer = try connection.answer(
        to: requestBytes("POST", "/a?b=c", body: Array("xyz".utf8)))
      #expect(answer.head == "Status: 200 OK\r\nContent-Length: 17")
      #expect(answer.body == "POST /a b=c xyz -")
      try connection.waitForClose()
    }
  }

  @Test func aKeptConnectionServesManyRequests() throws {
    try withServer { server in
      let connection = try server.connect()
      for index in 0..<500 {
        let body = Array("\(index)".utf8)
        let answer = try connection.answer(
          to: requestBytes("POST", "/\(index)", body: body, keep: true))
        #expect(answer.body == "POST /\(index)  \(index) -")
      }
    }
  }

  @Test(arguments: [1, 3, 7, 8, 64])
  func aRequestMayArriveInPieces(size: Int) throws {
    try withServer { server in
      let connection = try server.connect()
      let bytes = requestBytes(
        "POST", "/pieces", body: Array("abcdefghij".utf8), keep: true, recordSize: 5, padding: 3)
      for start in stride(from: 0, to: bytes.count, by: size) {
        try connection.send(Array(bytes[start..<min(start + size, bytes.count)]))
      }
      #expect(try connection.answer().body == "POST /pieces  abcdefghij -")
    }
  }

  @Test func aLongParameterAndALongAnswerAreWhole() throws {
    let long = String(repeating: "x", count: 40_000)
    try withServer(
      handler: { request, _ in
        Response(status: 200, body: Array((request.field("X-Long") ?? "").utf8))
      },
      { server in
        let answer = try server.answer(requestBytes("GET", "/", [("HTTP_X_LONG", long)]))
        #expect(answer.body == long)
      })
  }

  @Test func anAnswerToHEADHasTheLengthButNoBody() throws {
    try withServer { server in
      let answer = try server.answer(requestBytes("HEAD", "/a"))
      #expect(answer == Answer(Array("Status: 200 OK\r\nContent-Length: 11\r\n\r\n".utf8)))
    }
  }

  @Test func repeatedParametersAreAllSeen() throws {
    try withServer(
      handler: { request, _ in
        Response(status: 200, body: Array("\(request.fieldValues("Origin"))".utf8))
      },
      { server in
        let fields = [("HTTP_ORIGIN", ""), ("HTTP_ORIGIN", "a"), ("HTTP_ORIGIN", "b")]
        let answer = try server.answer(requestBytes("GET", "/", fields))
        #expect(answer.body == #"["", "a", "b"]"#)
      })
  }

  @Test func idleKeptConnectionsBeyondTheThreadsDoNotStarveOthers() throws {
    try withServer(workers: 2) { server in
      let idle = try (0..<20).map { _ in try server.connect() }
      for connection in idle { _ = try connection.answer(to: requestBytes(keep: true)) }
      _ = try server.answer()
      for connection in idle { _ = try connection.answer(to: requestBytes(keep: true)) }
    }
  }

  @Test func muteConnectionsDoNotDelayOthers() throws {
    try withServer(workers: 1) { server in
      let mute = try (0..<3).map { _ in try server.connect() }
      _ = try server.answer()
      #expect(try mute[0].answer(to: requestBytes()).body == "GET /   -")
    }
  }

  @Test func connectionsAreServedByAllWorkersAtOnce() throws {
    let together = DispatchGroup()
    for _ in 0..<3 { together.enter() }
    try withServer(
      workers: 3,
      handler: { _, _ in
        together.leave()
        waiting(for: "a request for each worker") { together.wait() }
        return Response(status: 200)
      },
      { server in
        concurrently(3) { _ in
          let answer = try server.answer()
          #expect(answer.head.hasPrefix("Status: 200"))
        }
      })
  }
}
