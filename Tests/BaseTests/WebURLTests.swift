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
      ("https://a_b.example/x@y:z", "https", "a_b.example", nil, "/x@y:z"),
      ("https://192.0.2.1:8443", "https", "192.0.2.1", 8443, ""),
      ("https://[2001:DB8::1]/", "https", "[2001:db8::1]", nil, "/"),
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
    "https://ex\u{0}ample.org", "https://exämple.org", "https://example.org./",
    "https://.example.org/", "https://a..b/", "https://example.org:0/", "https://example.org:0443/",
    "https://ex%61mple.org/", "https://127.1/", "https://2130706433/", "https://0177.0.0.1/",
    "https://0x7f.0.0.1/", "https://1.2.3.256/", "https://a.0x7f/", "https://[::ffff:1.2.3.4]/",
    "https://[::ffff:102:304]/", "https://[::1%25lo]/", "https://[0:0:0:0:0:0:0:1]/",
    "https://[::01]/",
    "https://[::1:0:1:0:1:0:1]/", "https://[v1.x]/",
    #"https://example.org\@evil"#, #"https://example.org/\"#, "https://example.org/a b",
    "https://example.org/%", "https://example.org/%4", "https://example.org/%zz",
    "https://example.org/a\tb", "https://example.org/#a#b", "https://example.org/a|b",
    "https://example.org/é", "https://example.org/a/../b", "https://example.org/./",
    "https://example.org/%2E.", "file://example.org/x",
    "https://\(String(repeating: "a", count: 64))/",
    "https://\(String(repeating: "a.", count: 127))b/", "\(String(repeating: "a", count: 33))://b/",
  ])
  func whatIsNoURLWithAHostIsRefused(_ text: String) {
    #expect(WebURL(text) == nil)
  }

  @Test func pathQueryAndFragmentAreParts() throws {
    let url = try #require(WebURL("HTTPS://Example.org:8443/a/b?c?d=/#e?f"))
    #expect(url.text == "https://example.org:8443/a/b?c?d=/#e?f")
    #expect([url.path, url.query, url.fragment] == ["/a/b", "c?d=/", "e?f"])
    let bare = try #require(WebURL("https://example.org#f?g"))
    #expect([bare.path, bare.query, bare.fragment] == ["/", nil, "f?g"])
  }

  @Test func anAddressStandsInPlaceOfAName() {
    #expect(WebURL("https://[::1]:1/")?.address == "::1")
    #expect(WebURL("https://192.0.2.1/")?.address == "192.0.2.1")
    #expect(WebURL("https://192.0.2.example/")?.address == nil)
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
