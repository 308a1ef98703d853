import Base
import Foundation
import Store
import Support
import Testing

@testable import API

/// The QR code as a picture, and its page.
@Suite struct PairingCodeTests {
  private func picture(_ site: TestApplication, size: String? = nil) -> Answer {
    site.send("GET", "/api/pair/qr", query: size.map { "size=\($0)" } ?? "")
  }

  /// The width and height in the head of a PNG.
  private func measure(_ answer: Answer) throws -> [Int] {
    let bytes = answer.response.body
    try #require(bytes.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))
    return [16, 20].map { start in bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) } }
  }

  private func expected(_ site: TestApplication) throws -> String {
    let info = site.pairInfo()
    let token = info.string("token").map { #""token":"\#($0)","# } ?? ""
    return
      #"{"http":"http://127.0.0.1:8766","repo":"cdev","session":"\#(try #require(info.string("session")))",\#(token)"ws":"ws://127.0.0.1:8766/ws"}"#
  }

  @Test func everySizeOfTheContractCanBeScanned() throws {
    try withAgent { site in
      let sizes = Array(200...512)
      let pictures = try sizes.map { (wanted: Int) throws -> Data in
        let answer = picture(site, size: "\(wanted)")
        #expect(try measure(answer) == [wanted, wanted], "\(wanted)")
        return Data(answer.response.body)
      }
      let read = try qrContents(of: pictures)
      #expect(read.count == sizes.count)
      #expect(Set(read) == [try expected(site)])
    }
  }

  @Test func thePictureIsNotCached() throws {
    try withAgent { site in
      let answer = picture(site)
      #expect(answer.status == 200)
      #expect(answer.field("Content-Type") == "image/png")
      #expect(answer.field("Cache-Control") == "no-cache, no-store, must-revalidate")
    }
  }

  @Test(arguments: [nil, "", "0", "-1", "513", "99999999999999999999", "x", "300px", "%33x"])
  func otherSizesBecome256(_ given: String?) throws {
    try withAgent { site in
      let measured = try measure(picture(site, size: given))
      #expect(measured == [256, 256])
    }
  }

  @Test func aSizeTooSmallForTheCodeIsRaised() throws {
    try withAgent { site in
      let least = try measure(picture(site, size: "1"))[0]
      #expect((90...110).contains(least))
      #expect(try measure(picture(site, size: "\(least - 1)")) == [least, least])
      #expect(try measure(picture(site, size: "\(least + 1)")) == [least + 1, least + 1])
    }
  }

  @Test func withoutAuthenticationTheCodeHoldsNoToken() throws {
    let open = GuardedAgent(publicURL: "http://127.0.0.1:8766", repo: "cdev", requiresAuth: false)
    try withAgent(open) { site in
      let content = try expected(site)
      #expect(!content.contains("token"))
      #expect(try qrContents(of: [Data(picture(site).response.body)]) == [content])
      let page = site.send("GET", "/pair").text
      #expect(page.contains("<strong>No Auth Required</strong>"))
      #expect(!page.contains("<form"))
      #expect(!page.contains("Token expires"))
    }
  }

  @Test func thePageShowsWhatTheContractNames() throws {
    try withAgent { site in
      let answer = site.send("GET", "/pair")
      #expect(answer.status == 200)
      #expect(answer.field("Content-Type") == "text/html; charset=utf-8")
      #expect(answer.field("Cache-Control") == "no-store")
      let session = try #require(site.pairInfo().string("session"))
      let expiry = (site.now + .seconds(3600)).rfc3339
      for part in [
        "<title>cdev Pairing</title>", #"<html lang="en">"#, "<strong>Auth Required</strong>",
        "<dt>WebSocket</dt><dd><bdi>ws://127.0.0.1:8766/ws</bdi></dd>",
        "<dt>HTTP</dt><dd><bdi>http://127.0.0.1:8766</bdi></dd>",
        "<dt>Session</dt><dd><bdi>\(session.prefix(8))...</bdi></dd>",
        "<dt>Repo</dt><dd><bdi>cdev</bdi></dd>",
        #"<time datetime="\#(expiry)" title="18 November 2026, 12:06 UTC">in 1 hour</time>"#,
        "<button", #"alt="QR code"#,
      ] {
        #expect(answer.text.contains(part), "\(part)")
      }
      #expect(answer.field("Refresh") == "20")
      #expect(!answer.text.contains("<script"))
      #expect(!answer.text.contains(session))
      #expect(!answer.text.contains(try site.pairingToken()))
      let policy = try #require(answer.field("Content-Security-Policy"))
      #expect(policy.hasPrefix("default-src 'none'; "))
      #expect(!policy.contains("unsafe"))
    }
  }

  @Test func theButtonReplacesTheTokenAndLeadsBackToThePage() throws {
    try withAgent { site in
      let token = try site.pairingToken()
      let answer = site.send("POST", "/pair")
      #expect(answer.status == 303)
      #expect(answer.field("Location") == "/pair")
      #expect(try site.pairingToken() != token)
      expect(site.exchange(token), 401, "Invalid or expired pairing token")
    }
  }

  private static let hostile = [
    #""><script>alert(1)</script>"#, "</style><img src=x onerror=alert(1)>", #"a","token":"x"#,
    #"back\slash "quoted" 'single' & amp;"#, "пример 例え 🎉 \u{202e}olleh", "\u{2028}\u{2029}",
    "{{7*7}} ${x} %s %00", "<!--", "]]>",
  ]

  @Test(arguments: hostile)
  func hostileNamesAndHostsAreShownAsText(_ text: String) throws {
    let agent = GuardedAgent(publicURL: "http://\(text)", repo: text)
    try withAgent(agent) { site in
      let info = site.pairInfo()
      #expect(info.string("repo") == text)
      #expect(info.string("http") == "http://\(text)")
      #expect(info.string("ws") == "ws://\(text)/ws")
      let read = try qrContents(of: [Data(picture(site, size: "512").response.body)])
      let code = try #require(
        JSONSerialization.jsonObject(with: Data(read.joined(separator: "\n").utf8))
          as? [String: String])
      #expect(code["repo"] == text)
      #expect(code["token"] == info.string("token"))
      #expect(Set(code.keys) == ["http", "repo", "session", "token", "ws"])
      let page = site.send("GET", "/pair").text
      let marks = page.unicodeScalars.filter { "<>\"'".unicodeScalars.contains($0) }.count
      let plain = try withAgent { $0.send("GET", "/pair").text }
      #expect(marks == plain.unicodeScalars.filter { "<>\"'".unicodeScalars.contains($0) }.count)
      let shown = page.replacing("&lt;", with: "<").replacing("&gt;", with: ">")
        .replacing("&quot;", with: "\"").replacing("&#39;", with: "'").replacing("&amp;", with: "&")
      #expect(shown.contains("<dd><bdi>\(text)</bdi></dd>"))
    }
  }

  @Test(arguments: [
    ("127.0.0.1:8766", 200), ("localhost:8766", 200), ("LOCALHOST", 200), ("[::1]:8766", 200),
    ("192.0.2.7", 200), ("agent.example.org", 200), ("agent.example.org:443", 200),
    ("Agent.Example.org", 200), ("evil.example", 403), ("evil.example:8766", 403),
    ("localhost.evil.example", 403), ("127.0.0.1.evil.example", 403),
    ("agent.example.org.evil.example", 403), ("xagent.example.org", 403),
  ])
  func foreignHostsAreRefused(_ host: String, _ status: Int) throws {
    try withAgent(GuardedAgent(publicURL: "https://agent.example.org/x")) { site in
      for path in ["/pair", "/api/pair/info", "/api/pair/qr"] {
        #expect(site.send("GET", path, fields: [("Host", host)]).status == status, "\(path)")
      }
      #expect(
        site.send("POST", "/api/pair/refresh", fields: [("Host", host)]).status == status)
    }
  }

  @Test(arguments: [
    ("http://127.0.0.1:8766", true), ("https://127.0.0.1:8766", true), ("null", false),
    ("http://evil.example", false), ("http://127.0.0.1:9999", false), ("http://127.0.0.1", false),
    ("http://127.0.0.1:87660", false), ("", false),
  ])
  func foreignOriginsChangeNothing(_ origin: String, _ isOurs: Bool) throws {
    try withAgent { site in
      let token = try site.pairingToken()
      for path in ["/pair", "/api/pair/refresh"] {
        let fields = [("Host", "127.0.0.1:8766"), ("Origin", origin)]
        let answer = site.send("POST", path, #"{"revoke":"all"}"#, fields: fields)
        #expect((answer.status == 403) == !isOurs, "\(path)")
      }
      #expect((try site.pairingToken() == token) == !isOurs)
    }
  }
}
