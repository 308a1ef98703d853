import HTTP
import Support
import Testing

@testable import API

/// A site at `https://api.example.org/shop`. The web server removes `/shop` before the responder
/// gets a request.
@Suite struct BasePathTests {
  @Test func everyLinkOfAPageIsBelowThePath() throws {
    try withDatabase { root in
      let site = TestApplication(root, settings: .ofTests(publicURL: Self.publicURL))
      let ann = try site.signUp()
      var visitor = PageVisitor(site)
      for page in [
        site.send("GET", "/"), visitor.open(), visitor.send("/code", ["email": ann.email]),
        site.send("GET", "/account/confirm", query: "token=x"),
        site.send("GET", "/account/nowhere", fields: [("Accept", "text/html")]),
        site.send("GET", "/pair"), site.send("GET", "/pair/phones"),
      ] {
        let links = page.text.matches(of: /(?:href|src|action)="([^"]*)"/).map(\.1)
          .filter { !$0.hasPrefix("data:") }
        #expect(links.allSatisfy { $0.hasPrefix("/shop/") }, "\(links)")
        #expect(!links.isEmpty || page.status != 200, "\(page.text)")
      }
    }
  }

  @Test func aRedirectLeadsBelowThePath() throws {
    try withDatabase { root in
      let site = TestApplication(root, settings: .ofTests(publicURL: Self.publicURL))
      var visitor = PageVisitor(site)
      _ = visitor.open()
      let answer = visitor.sent("/code", ["email": "ann@example.org"])
      #expect(answer.status == 303)
      #expect(answer.field("Location")?.hasPrefix("/shop/account") == true)
    }
  }

  @Test func whatPeopleTypeStaysAsItIs() throws {
    try withDatabase { root in
      let site = TestApplication(root, settings: .ofTests(publicURL: Self.publicURL))
      var visitor = PageVisitor(site)
      _ = visitor.open()
      let page = visitor.send("/code", ["email": #"href="/x""#])
      #expect(page.text.contains("href=&quot;/x&quot;"))
    }
  }

  @Test func anAddressWithItsOwnHostStays() {
    let response = Response(
      status: 302,
      fields: [
        ("Location", "https://bank.example.org/"), ("Refresh", "2; url=/a"), ("Refresh", "5"),
      ])
    let placed = response.placed(below: "/shop")
    #expect(placed.fields.map(\.value) == ["https://bank.example.org/", "2; url=/shop/a", "5"])
  }

  private static let publicURL = "https://api.example.org/shop"
}
