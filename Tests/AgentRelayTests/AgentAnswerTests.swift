import StoreCore
import Testing

@testable import AgentRelay

/// The relay's processing of the agent's answers.
@Suite struct AgentAnswerTests {
  private func request(
    _ line: String = "GET /api/file HTTP/1.1", _ fields: String...
  ) throws -> RelayHead {
    let lines = [line, "X-Admitted-By: anyone", "Connection: close"] + fields + ["", ""]
    return try RelayHead(Array(lines.joined(separator: "\r\n").utf8))
  }

  /// The web server's part of an answer that arrives in pieces of `size` octets, and whether the
  /// answer is complete.
  private func passed(
    _ answer: String, to request: RelayHead, pieces size: Int = .max
  ) throws -> (text: String, isComplete: Bool) {
    var filter = AgentAnswer(to: request)
    var (rest, passed) = (Array(answer.utf8)[...], [UInt8]())
    while !rest.isEmpty {
      passed += try filter.take(Array(rest.prefix(size)))
      rest = rest.dropFirst(size)
    }
    return (String(decoding: passed, as: UTF8.self), filter.isComplete)
  }

  private static let end =
    "Cache-Control: no-store\r\nContent-Security-Policy: sandbox\r\nConnection: close\r\n\r\n"

  @Test(arguments: [
    "X-Accel-Redirect: /api/pair/info", "X-Accel-Buffering: no", "X-Accel-Expires: 9",
    "X-Sendfile: /etc/passwd", "X-Sendfile2: /etc/passwd 0-9", "X-LIGHTTPD-send-file: /etc/passwd",
    "X_Sendfile: /etc/passwd", "Status: 302", "Location: https://evil.example/",
    "Refresh: 0; url=/",
    "Set-Cookie: __Host-a=b; Secure; Path=/", "set-cookie: a=b", "Set-Cookie2: a=b",
    "Clear-Site-Data: \"*\"", "Strict-Transport-Security: max-age=0", "Public-Key-Pins: x",
    "Service-Worker-Allowed: /", "Alt-Svc: h3=\":443\"", "NEL: {}", "Report-To: {}",
    "Reporting-Endpoints: a=\"b\"", "Access-Control-Allow-Origin: *", "WWW-Authenticate: Basic",
    "Content-Security-Policy: default-src *", "Content-Security-Policy-Report-Only: x",
    "X-Content-Type-Options: sniff", "X-Frame-Options: ALLOWALL", "Link: </x>; rel=preload",
    "SourceMap: /x", "Connection: keep-alive", "Keep-Alive: timeout=9", "Upgrade: h2c",
    "Trailer: Set-Cookie", "Proxy-Authenticate: Basic", "X-Request-Id: x", "Variable-A: b",
    "Server: agent", "Via: 1.1 x", "X-Anything: x",
  ])
  func aFieldThatIsNotAboutTheContentDoesNotPass(_ field: String) throws {
    let answer = "HTTP/1.1 200 OK\r\n\(field)\r\nContent-Length: 2\r\n\r\nok"
    #expect(
      try passed(answer, to: request()).text
        == "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\(Self.end)ok")
  }

  @Test func whatDescribesTheContentPasses() throws {
    let fields =
      "Content-Type: text/event-stream\r\nCache-Control: no-cache\r\nETag: \"x\"\r\n"
      + "Content-Disposition: attachment; filename=\"a\"\r\nContent-Encoding: gzip\r\nVary: Accept\r\n"
    #expect(
      try passed("HTTP/1.0 404 Not Found\r\n\(fields)\r\nbody", to: request()).text
        == "HTTP/1.1 404 Not Found\r\n\(fields)Content-Security-Policy: sandbox\r\nConnection: close\r\n\r\nbody"
    )
  }

  /// The web server would take a second answer for the answer to another request.
  @Test(arguments: [1, 3, 1 << 20])
  func nothingPassesBehindTheEnd(pieces size: Int) throws {
    let second = "HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"
    let fixed = try passed(
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" + second, to: request(), pieces: size)
    #expect(fixed.text == "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\(Self.end)hello")
    #expect(fixed.isComplete)
    let chunked = try passed(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n005;a=\"b\"\r\nhello\r\n1 \r\n!\r\n0;x\r\n"
        + "Set-Cookie: a=b\r\n\r\n" + second, to: request(), pieces: size)
    #expect(
      chunked.text
        == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\(Self.end)5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n"
    )
    #expect(chunked.isComplete)
    for (line, status) in [
      ("HEAD /api/file HTTP/1.1", 200), ("GET /api/file HTTP/1.1", 204),
      ("GET /api/file HTTP/1.1", 304),
    ] {
      let empty = try passed(
        "HTTP/1.1 \(status) X\r\nContent-Length: 5\r\n\r\nhello", to: request(line), pieces: size)
      #expect(empty.text == "HTTP/1.1 \(status) X\r\n\(Self.end)")
      #expect(empty.isComplete)
    }
  }

  /// Complete answers, and whether the agent's connection can take another request.
  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true),
    ("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", true),
    ("HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true),
    ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\r\n", false),
    ("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\nx", false),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nx", false),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", false),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n", false),
    ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", false),
    ("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", false),
    ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", false),
    ("HTTP/1.1 200 OK\r\nConnection: x\r\nConnection: y,Close\r\nContent-Length: 0\r\n\r\n", false),
    ("HTTP/1.1 204 X\r\n\r\n", false), ("HTTP/1.1 304 X\r\nContent-Length: 5\r\n\r\n", false),
  ])
  func anAgentsConnectionIsReusableAfterExactlyOneAnswer(answer: String, isReusable: Bool) throws {
    var whole = AgentAnswer(to: try request())
    #expect(!whole.hasBegun)
    _ = try whole.take(Array(answer.utf8))
    #expect(whole.hasBegun && whole.isComplete)
    #expect(whole.isReusable == isReusable)
    guard isReusable else { return }
    _ = try whole.take(Array("x".utf8))
    #expect(!whole.isReusable)
  }

  @Test func aCutAnswerIsNotComplete() throws {
    for answer in [
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
      "HTTP/1.1 200 OK\r\n\r\nhello", "HTTP/1.1 200 OK\r\n",
    ] { #expect(try !passed(answer, to: request()).isComplete, "\(answer)") }
  }

  @Test func aWebSocketOpensAndIsPassedOnAsItIs() throws {
    let socket = try request("GET /ws HTTP/1.1", "Upgrade: websocket")
    let answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n"
    let (text, isComplete) = try passed(
      answer + "Sec-WebSocket-Accept: x\r\nSet-Cookie: a=b\r\n\r\n\u{1}\r\n\r\n", to: socket)
    #expect(
      text
        == "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: x\r\nConnection: Upgrade\r\n"
        + "Upgrade: websocket\r\n\r\n\u{1}\r\n\r\n")
    #expect(!isComplete)
    #expect(throws: AgentAnswerHead.Malformed.self) { try passed(answer + "\r\n", to: request()) }
  }

  /// The relay has already answered a client that waits for 100.
  @Test func interimAnswersDoNotPass() throws {
    let answer =
      "HTTP/1.1 100 Continue\r\nSet-Cookie: a=b\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
      + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    let final = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\(Self.end)"
    #expect(try passed(answer, to: request()).text == final)
    let waiting = try request("POST /api/file HTTP/1.1", "Expect: 100-continue")
    #expect(waiting.expectsContinue)
    #expect(!String(decoding: waiting.bytes, as: UTF8.self).contains("Expect"))
  }

  @Test(arguments: [
    "HTTP/2 200 OK", "HTTP/1.1 20 OK", "HTTP/1.1 600 X", "HTTP/1.1", "200 OK", "<html>",
    "HTTP/1.1 200 OK\r\nno colon", "HTTP/1.1 200 OK\r\n folded: x", "HTTP/1.1 200 OK\r\na b: x",
    "HTTP/1.1 200 OK\r\na: x\ry", "HTTP/1.1 200 OK\r\na: x\u{0}",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked",
    "HTTP/1.1 200 OK\r\nContent-Length: -1", "HTTP/1.1 200 OK\r\nContent-Length: 1, 1",
    "HTTP/1.1 200 OK\r\nContent-Length: +1", "HTTP/1.1 200 OK\r\nContent-Length: ",
    "HTTP/1.1 200 OK\r\nContent_Length: 1\r\nContent-Length: 2",
    "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked",
    "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket",
  ])
  func whatIsNoAnswerIsRefused(_ head: String) {
    #expect(throws: AgentAnswerHead.Malformed.self) {
      try passed(head + "\r\n\r\n", to: request())
    }
  }

  @Test(arguments: [
    "\r\n", "x\r\n", "123456789\r\n", "-1\r\n", "5\nhello\r\n", "1\r\nhello\r\n", "1\r\nh\n0\r\n",
  ])
  func malformedChunksAreRefused(_ chunks: String) {
    #expect(throws: AgentAnswerHead.Malformed.self) {
      try passed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)", to: request())
    }
  }

  @Test func anEndlessHeadIsRefused() {
    #expect(throws: AgentAnswerHead.Malformed.self) {
      try passed("HTTP/1.1 200 OK\r\nA: " + String(repeating: "a", count: 50_000), to: request())
    }
  }
}
