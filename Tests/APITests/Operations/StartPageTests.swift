import HTTP
import Testing

@testable import API

/// `GET /`
@Suite struct StartPageTests {
  private func links(_ page: String) -> [String] {
    page.matches(of: /<a class="link" href="([^"]*)">/).map { String($0.1) }
  }

  @Test func itSaysWhatRunsHereAndLinksToWhatThereIsToSee() throws {
    try withApplication { site in
      let answer = site.send("GET", "/", address: "127.0.0.1")
      #expect(answer.status == 200)
      #expect(answer.field("Content-Type") == "text/html; charset=utf-8")
      #expect(answer.text.contains("<p>This is Switchboard, the server of mobile apps."))
      #expect(links(answer.text) == ["/account", "/pair", "/health"])
      for link in links(answer.text) {
        #expect(site.send("GET", link, address: "127.0.0.1").status == 200, "\(link)")
      }
      #expect(site.send("HEAD", "/").status == 200)
    }
  }

  @Test func whereNoPhoneMayBePairedItDoesNotLinkThere() throws {
    try withApplication { site in
      let answer = site.send("GET", "/", address: "203.0.113.7")
      #expect(answer.status == 200)
      #expect(links(answer.text) == ["/account", "/health"])
    }
  }
}
