import Base
import Testing

@Suite struct WebURLTests {
  @Test(
    arguments: [
      ("https://example.org", "https", "example.org", nil, ""),
      ("HTTP://Example.ORG:8080/a?b#c", "http", "example.org", 8080, "/a?b#c"),
      ("https://[::1]:443/", "https", "[::1]", 443, "/"),
      ("https://[::1]", "https", "[::1]", nil, ""),
      ("custom+app.x-1://host?x=1", "custom+app.x-1", "host", nil, "?x=1"),
      (#"https://example.org\@evil"#, "https", "example.org", nil, #"\@evil"#),
    ] as [(String, String, String, UInt16?, String)])
  func itsPartsAreTakenApart(
    _ text: String, _ scheme: String, _ host: String, _ port: UInt16?, _ rest: String
  ) throws {
    let url = try #require(WebURL(text))
    #expect(url.scheme == scheme)
    #expect(url.host == host)
    #expect(url.port == port)
    #expect(url.rest == rest)
  }

  @Test(arguments: [
    "", "example.org", "https:", "https:/example.org", "://example.org", "https://",
    "https://user@example.org", "https://exa mple.org", "https://example.org:", "https://:443",
    "https://example.org:65536", "https://example.org:-1", "https://example.org:４４３",
    "https://[::1", "https://[]", "https://::1", "1https://example.org", "ht tp://example.org",
    "https://ex\u{0}ample.org", "https://exämple.org",
  ])
  func whatIsNoURLWithAHostIsRefused(_ text: String) {
    #expect(WebURL(text) == nil)
  }

  @Test(arguments: [
    ("https://Example.org:443/a", "https://example.org"), ("http://a:80", "http://a"),
    ("http://a:443", "http://a:443"), ("https://a:80?x", "https://a:80"),
    ("custom://a:80", "custom://a:80"), ("https://[::1]:8443", "https://[::1]:8443"),
  ])
  func anOriginLeavesTheSchemesOwnPortOut(_ text: String, _ origin: String) {
    #expect(WebURL(text)?.origin == origin)
  }

  @Test func thePortThatCountsIsTheOneNamedOrTheSchemes() {
    #expect(WebURL("http://a")?.effectivePort == 80)
    #expect(WebURL("https://a")?.effectivePort == 443)
    #expect(WebURL("https://a:8443")?.effectivePort == 8443)
    #expect(WebURL("custom://a")?.effectivePort == nil)
  }

  @Test(arguments: [
    ("http://localhost:1", true), ("http://127.0.0.1", true), ("http://127.9.8.7", true),
    ("http://[::1]:80", true), ("http://127.example.org", false), ("http://[::2]", false),
    ("http://localhost.example.org", false),
  ])
  func thisMachineIsKnownByItsNamesAndAddresses(_ text: String, _ isOurs: Bool) {
    #expect(WebURL(text)?.isOfThisMachine == isOurs)
  }
}
