import StoreCore
import Testing

@testable import AgentRelay

/// The relay's processing of the head of a request.
@Suite struct RelayHeadTests {
  private let client = "X-Admitted-By: phone 01890a5d-ac96-774b-bcce-b302099a8010 My phone"

  private func head(_ lines: String...) -> [UInt8] {
    Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
  }

  private func lines(_ head: RelayHead) -> [Substring] {
    String(decoding: head.bytes, as: UTF8.self).split(separator: "\r\n")
  }

  @Test func theAgentGetsTheRequestAndThePhone() throws {
    let head = try RelayHead(
      head("POST /api/git/commit?a=1 HTTP/1.1", "Host: x", "Content-Length: 3", client))
    #expect(
      lines(head) == [
        "POST /api/git/commit?a=1 HTTP/1.1", "Host: x", "Content-Length: 3",
        #"X-Paired-Device: id="01890a5d-ac96-774b-bcce-b302099a8010", name="My phone""#,
        "Connection: close",
      ])
    #expect(!head.isUpgrade)
  }

  /// Lines of a request, whether nothing follows the head, and whether it may be sent again.
  @Test(arguments: [
    (["GET /api/file HTTP/1.1"], true, true), (["HEAD /api/file HTTP/1.1"], true, true),
    (["POST /api/file HTTP/1.1"], true, false), (["DELETE /api/file HTTP/1.1"], true, false),
    (["GET /api/file HTTP/1.1", "Content-Length: 0"], false, false),
    (["GET /api/file HTTP/1.1", "content_length: 3"], false, false),
    (["GET /api/file HTTP/1.1", "Transfer-Encoding: chunked"], false, false),
    (["GET /api/file HTTP/1.1", "Expect: x"], false, false),
    (["GET /ws HTTP/1.1", "Upgrade: websocket"], false, false),
    (["GET /api/file HTTP/1.1", "Upgrade: websocket"], true, true),
  ])
  func onlyARequestWithoutContentLeavesConnectionsOpen(
    given: [String], isBare: Bool, isRepeatable: Bool
  ) throws {
    func parsed(_ more: String) throws -> RelayHead {
      try RelayHead(Array((given + [more, "", ""]).joined(separator: "\r\n").utf8))
    }
    let request = try parsed(client)
    #expect(request.isBare == isBare && request.isLast == !isBare)
    #expect(request.isRepeatable == isRepeatable)
    #expect(lines(request).contains { $0.hasPrefix("Connection:") } == !isRepeatable)
    #expect(try !parsed("X-Admitted-By: anyone").isRepeatable, "anyone may be several clients")
  }

  @Test func aWebSocketAloneIsUpgraded() throws {
    let socket = try RelayHead(head("GET /ws HTTP/1.1", "Upgrade: websocket", client))
    #expect(socket.isUpgrade)
    #expect(lines(socket).suffix(2) == ["Connection: Upgrade", "Upgrade: websocket"])
    for (line, upgrade) in [
      ("GET /api/file HTTP/1.1", "websocket"), ("POST /ws HTTP/1.1", "websocket"),
      ("GET /ws HTTP/1.1", "h2c"), ("GET /ws HTTP/1.1", "websocket, h2c"),
    ] {
      let other = try RelayHead(head(line, "Upgrade: \(upgrade)", client))
      #expect(!other.isUpgrade)
      #expect(!lines(other).contains { $0.hasPrefix("Upgrade") })
    }
  }

  @Test(arguments: [
    "GET /pair HTTP/1.1", "GET /api/%63laude/x HTTP/1.1", "GET //ws HTTP/1.1", "GET /ws/ HTTP/1.1",
    "GET /api/claude/../file HTTP/1.1", "GET /api/claude/%2e%2e/file HTTP/1.1",
    "GET /api/claude/a%2fb HTTP/1.1", "GET /api/claude/a%252fb HTTP/1.1",
    "GET /api/claude//x HTTP/1.1", "GET /api/claude/a%5cb HTTP/1.1", "GET /api/claude/%00 HTTP/1.1",
    "GET http://x/ws HTTP/1.1", "GET /api/git/cdev_s_x HTTP/1.1", "GET /_agent/x HTTP/1.1",
  ])
  func otherPathsAreRefused(_ line: String) {
    #expect(throws: RelayHead.Refusal.foreignPath) { try RelayHead(head(line, client)) }
  }

  @Test(arguments: [
    "/api/claude/", "/api/claude/my%20file", "/api/git/a%25b", "/api/claude/a.b/..c",
    "/api/file?x=..",
  ])
  func pathsOfTheAgentPass(_ target: String) throws {
    #expect(
      try lines(RelayHead(head("GET \(target) HTTP/1.1", client)))[0] == "GET \(target) HTTP/1.1")
  }

  @Test(arguments: [
    ["GET /ws HTTP/1.0"], ["GET /ws"], ["get /ws HTTP/1.1"], ["GET /ws HTTP/1.1", "no colon"],
    ["GET /ws HTTP/1.1", " folded: x"], ["GET /ws HTTP/1.1", "a b: x"],
    ["GET /ws HTTP/1.1", "a: \u{0}"], ["GET /ws HTTP/1.1", "a: x\ry"],
    ["POST /api/file HTTP/1.1", "Content-Length: 1", "Transfer-Encoding: chunked"],
    ["POST /api/file HTTP/1.1", "Content-Length: 1", "content_length: 2"],
  ])
  func malformedHeadsAreRefused(_ given: [String]) {
    let bytes = Array((given + [client, "", ""]).joined(separator: "\r\n").utf8)
    #expect(throws: RelayHead.Refusal.malformed) { try RelayHead(bytes) }
  }

  @Test(arguments: [
    [], ["X-Admitted-By: "], ["X-Admitted-By: someone"], ["X-Admitted-By: phone"],
    ["X-Admitted-By: phone x a\"b"], ["X-Admitted-By: anyone", "X_Admitted_By: anyone"],
    ["X-Admitted-By: anyone x"], ["X-Admitted-By: token"],
  ])
  func withoutTheRespondersWordNothingPasses(_ given: [String]) {
    let bytes = Array((["GET /ws HTTP/1.1"] + given + ["", ""]).joined(separator: "\r\n").utf8)
    #expect(throws: RelayHead.Refusal.notAdmitted) { try RelayHead(bytes) }
  }

  @Test(arguments: [
    ("token=x", ""), ("a=1&token=x&b=2", "?a=1&b=2"), ("TOKEN=x&b", "?b"), ("%74oken=x", ""),
    ("%2574oken=x", ""), ("token", ""), ("token[]=x", ""), ("to%6ben%5b%5d=x", ""),
    ("+token=x", ""),
    ("a=1;token=x", "?a=1"), ("access_token=x&page_token=2", "?page_token=2"),
    ("a=cdev_s_x", ""), ("a=cdev_c_%CC%81x", ""), ("a=%63dev_p_x", ""), ("a=CDEV_R_x", ""),
    ("tokens=1", "?tokens=1"),
    ("", ""), ("&&", ""),
  ])
  func noSpellingOfATokenPasses(_ query: String, _ kept: String) throws {
    let head = try RelayHead(head("GET /api/file?\(query) HTTP/1.1", client))
    #expect(lines(head)[0] == "GET /api/file\(kept) HTTP/1.1")
  }
}
