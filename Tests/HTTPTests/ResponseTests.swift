import HTTP
import Testing

@testable import HTTP

/// Serialized responses.
@Suite struct ResponseTests {
  private func text(_ response: Response, _ method: String = "GET") -> String {
    String(decoding: response.serialized(for: method), as: UTF8.self)
  }

  @Test func fieldsKeepTheirOrderAndTheLengthIsAdded() {
    let response = Response(
      status: 401, fields: [("WWW-Authenticate", "Bearer"), ("X-A", ""), ("X-A", "2")],
      body: Array("no".utf8))
    #expect(
      text(response)
        == "Status: 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nX-A: \r\nX-A: 2\r\nContent-Length: 2\r\n\r\nno"
    )
  }

  @Test func anEmptyBodyHasALength() {
    #expect(text(Response(status: 200)) == "Status: 200 OK\r\nContent-Length: 0\r\n\r\n")
  }

  @Test(arguments: [(204, "No Content"), (304, "Not Modified")])
  func aStatusWithoutContentHasNoLength(status: Int, reason: String) {
    #expect(text(Response(status: status)) == "Status: \(status) \(reason)\r\n\r\n")
  }

  @Test func anAnswerToHEADHasNoBody() {
    let response = Response(status: 200, body: [65, 66])
    #expect(text(response, "HEAD") == "Status: 200 OK\r\nContent-Length: 2\r\n\r\n")
  }

  /// The value may come from a stranger.
  @Test(arguments: ["b\r\nSet-Cookie: x", "b\n", "\rb", "b\0c"])
  func aValueThatBreaksOutIsMadeHarmless(_ value: String) {
    let printed = text(Response(status: 200, fields: [("A", value)]))
    let harmless = value.unicodeScalars.map { $0.value < 32 ? " " : String($0) }.joined()
    #expect(printed == "Status: 200 OK\r\nA: \(harmless)\r\nContent-Length: 0\r\n\r\n")
  }

  @Test func aNameThatBreaksOutStopsTheProcess() async {
    await #expect(processExitsWith: .failure) {
      _ = Response(status: 200, fields: [("A\n", "b")]).serialized(for: "GET")
    }
    await #expect(processExitsWith: .failure) {
      _ = Response(status: 200, fields: [("A:", "b")]).serialized(for: "GET")
    }
  }
}
