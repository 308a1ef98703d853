import Foundation
import HTTP
import Testing

@testable import FastCGI

/// Malformed requests.
@Suite struct DefectTests {
  /// Incomplete input before the end of file, which no handler sees.
  static let cut: [(String, [UInt8])] = [
    ("nothing", []),
    ("BEGIN_REQUEST", beginRecord(keep: true)),
    ("half a header", Array(beginRecord(keep: true).prefix(5))),
    (
      "PARAMS cut between two parameters",
      beginRecord(keep: true) + record(.params, pair("REQUEST_METHOD", "GET"))
    ),
    (
      "PARAMS cut within a parameter",
      beginRecord(keep: true) + record(.params, pair("REQUEST_METHOD", "GET").dropLast())
    ),
    (
      "no method",
      beginRecord(keep: true) + stream(.params, pair("SCRIPT_NAME", "/")) + record(.stdin)
    ),
    (
      "an empty method",
      beginRecord(keep: true) + stream(.params, pair("REQUEST_METHOD", "")) + record(.stdin)
    ),
    (
      "another role",
      beginRecord(keep: true, role: 3) + stream(.params, pair("REQUEST_METHOD", "GET"))
    ),
    ("half a body", Array(requestBytes("POST", "/", body: [1, 2, 3]).dropLast(10))),
    ("two beginnings", beginRecord(keep: true) + requestBytes()),
    ("two ids", beginRecord(keep: true) + record(.params, id: 2)),
    ("a body before the parameters", beginRecord(keep: true) + record(.stdin)),
    (
      "parameters without end",
      beginRecord(keep: true)
        + (0..<3).flatMap { _ in record(.params, [UInt8](repeating: 0, count: 65_000)) }
    ),
    ("an aborted request", beginRecord(keep: true) + record(.abort)),
    ("another version", [2] + requestBytes().dropFirst()),
  ]

  @Test(arguments: cut)
  func whatIsNotARequestIsDroppedWithoutAHandler(name: String, bytes: [UInt8]) throws {
    let handled = Locked(0)
    try withServer(
      handler: { request, _ in
        handled.update { $0 += 1 }
        return describe(request)
      },
      { server in
        let connection = try server.connect()
        try connection.send(bytes)
        connection.endSending()
        try connection.waitForClose()
        #expect(handled.get() == 0)
        #expect(try server.answer().body == "GET /   -")
      })
  }

  static let bodies: [(length: String, body: String, defect: String)] = [
    ("3", "abc", "-"), ("", "", "-"), ("0", "", "-"), ("003", "abc", "-"),
    ("4", "abc", "bodyIncomplete"), ("2", "abc", "bodyIncomplete"), ("", "abc", "-"),
    ("0", "abc", "bodyIncomplete"), ("3x", "abc", "bodyIncomplete"),
    ("-3", "abc", "bodyIncomplete"), ("+3", "abc", "bodyIncomplete"),
    ("11", "abc", "bodyTooLarge"), ("11", "abcdefghijk", "bodyTooLarge"),
    ("99999999999999999999", "abc", "bodyTooLarge"), ("10", "abcdefghij", "-"),
  ]

  @Test(arguments: bodies)
  func aBodyIsWhatItsLengthSays(length: String, body: String, defect: String) throws {
    try withServer(bodyLimit: 10) { server in
      let connection = try server.connect()
      let bytes = requestBytes(
        "POST", "/", body: Array(body.utf8), keep: true, contentLength: length)
      let kept = defect == "-" ? body : ""
      #expect(try connection.answer(to: bytes).body == "POST /  \(kept) \(defect)")
      #expect(try connection.answer(to: requestBytes(keep: true)).body == "GET /   -")
    }
  }

  @Test func aBodyOverTheLimitIsReadSoThatTheConnectionCanBeKept() throws {
    try withServer(bodyLimit: 10) { server in
      let connection = try server.connect()
      let large = [UInt8](repeating: 65, count: 900_000)
      for _ in 0..<2 {
        let answer = try connection.answer(to: requestBytes("POST", "/", body: large, keep: true))
        #expect(answer.body == "POST /   bodyTooLarge")
      }
    }
  }

  @Test func aBodyWithoutEndIsNotReadToItsEnd() throws {
    try withServer(bodyLimit: 10) { server in
      let connection = try server.connect()
      try connection.send(
        Array(requestBytes("POST", "/", keep: true, contentLength: "9999999").dropLast(8)))
      let piece = record(.stdin, [UInt8](repeating: 65, count: 65_000))
      #expect(throws: ClientError.self) {
        for _ in 0..<1000 { try connection.send(piece) }
      }
      #expect(try server.answer().body == "GET /   -")
    }
  }

  static let withoutLength: [(body: String, defect: String)] = [
    ("", "-"), ("abc", "-"), ("abcdefghij", "-"), ("abcdefghijk", "bodyTooLarge"),
    (String(repeating: "x", count: 100_000), "bodyTooLarge"),
  ]

  /// The body may come in chunks, or by HTTP/2, which has none and needs no length.
  @Test(arguments: withoutLength, [true, false])
  func aBodyWithoutALengthEndsWhereItsStreamEnds(
    _ sent: (body: String, defect: String), isChunked: Bool
  ) throws {
    try withServer(bodyLimit: 10) { server in
      let bytes = requestBytes(
        "POST", "/", isChunked ? [("HTTP_TRANSFER_ENCODING", "chunked")] : [],
        body: Array(sent.body.utf8), contentLength: "")
      let kept = sent.defect == "-" ? sent.body : ""
      let answer = try server.answer(bytes)
      #expect(answer.body == "POST /  \(kept) \(sent.defect)")
    }
  }

  /// The buffer of one read has 1,024 octets.
  @Test(arguments: [1023, 1024, 1025, 2048, 5000])
  func aLongBodyWithoutALengthIsWhole(count: Int) throws {
    try withServer(bodyLimit: 5000) { server in
      let body = String(repeating: "x", count: count)
      let bytes = requestBytes("POST", "/", body: Array(body.utf8), contentLength: "")
      let answer = try server.answer(bytes)
      #expect(answer.body == "POST /  \(body) -")
    }
  }

  @Test func anAmbiguousPathReachesTheHandlerAsADefect() throws {
    try withServer { server in
      let answer = try server.answer(requestBytes("GET", "/a%2Fb"))
      #expect(answer.body == "GET /a%2Fb   ambiguousPath")
    }
  }

  /// Values that a stranger may choose never end the server.
  @Test func whatWouldBreakAFieldEndsNothing() throws {
    let handler: RunningServer.Handler = { request, _ in
      Response(
        status: 200,
        fields: [("X-Request-Id", request.requestID), ("X-Origin", request.field("Origin") ?? "")])
    }
    try withServer(handler: handler) { server in
      let evil = "a\r\nSet-Cookie: b\r\n\r\n<html>"
      let answer = try server.answer(
        requestBytes("GET", "/", [("REQUEST_ID", evil), ("HTTP_ORIGIN", evil)]))
      #expect(answer.head.contains("X-Request-Id: \r\n"))
      #expect(answer.head.contains("X-Origin: a  Set-Cookie: b    <html>"))
      #expect(answer.body.isEmpty)
      #expect(try server.answer().head.contains("200 OK"))
    }
  }
}
