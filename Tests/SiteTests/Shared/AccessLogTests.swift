import Support
import Testing

/// The lines that the web server logs.
@Suite(.oneSite) struct AccessLogTests {
  /// The log escapes an octet with up to four, so one client could fill the disk.
  @Test(arguments: ["é", "x"])
  func theLogHoldsAtMost200OctetsOfAUserAgent(character: String) throws {
    let site = Site.ofSuite
    let count = 7000 / character.utf8.count
    let answer = site.curl(
      "/health", "--user-agent", "begin" + String(repeating: character, count: count))
    #expect(answer.status == 200)
    let id = try #require(answer.fields["x-request-id"])
    // The web server writes the line after the answer.
    try wait(for: "the line in the log") { try site.log("web-access").contains(id) }
    let line = try #require(
      site.log("web-access").split(separator: "\n").first { $0.contains(id) })
    #expect(line.contains("\"begin"))
    #expect(line.utf8.count < 1200, "\(line.utf8.count)")
  }

  @Test func aShortUserAgentIsWhole() throws {
    let site = Site.ofSuite
    let answer = site.curl("/health", "--user-agent", "an-app/1.0 (it)")
    let id = try #require(answer.fields["x-request-id"])
    try wait(for: "the line in the log") {
      try site.log("web-access").split(separator: "\n")
        .contains { $0.contains(id) && $0.contains(#""an-app/1.0 (it)""#) }
    }
  }
}
