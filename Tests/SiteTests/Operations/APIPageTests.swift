import Support
import Testing

/// The page `/docs` in a browser.
@Suite struct APIPageTests {
  /// axe-core finds no problem, a small phone needs no horizontal scrolling, and the page loads nothing from elsewhere.
  @Test(arguments: [("light", 900), ("dark", 320)])
  func thePageIsAccessible(scheme: String, width: Int) async throws {
    try await withSite(host: "localhost") { site in
      let browser = try Browser(size: (width, 1000))
      try browser.show(scheme, width: width)
      try browser.open("\(site.url)/docs")
      #expect(try browser.html().contains("<code>/openapi.json</code>"))
      #expect(try browser.violations(by: axeSource()) == "[]")
      let scrolled = try browser.text(
        of: "Promise.resolve(String(document.documentElement.scrollWidth))")
      #expect(Int(scrolled).map { $0 <= width } == true, "\(scrolled)")
      let complaints = browser.parameters(of: "Log.entryAdded").map { "\($0)" }
      #expect(complaints == [])
      let urls = browser.parameters(of: "Network.requestWillBeSent").compactMap {
        ($0["request"] as? [String: Any])?["url"] as? String
      }
      #expect(
        urls.allSatisfy {
          $0.hasPrefix(site.url) || $0.hasPrefix("data:image/svg") || $0 == "about:blank"
        })
    }
  }
}
