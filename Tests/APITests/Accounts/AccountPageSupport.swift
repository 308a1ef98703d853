import Base
import Cryptography
import Foundation
import Support
import Testing

@testable import API

/// A browser at the page for people: its cookie, and the token of the page that it shows.
struct PageVisitor: Sendable {
  let site: TestApplication
  var cookie: String?
  var token = ""

  init(_ site: TestApplication) { self.site = site }

  private var fields: [(name: String, value: String)] {
    cookie.map { [(name: "Cookie", value: "theme=dark; __Host-account=\($0)")] } ?? []
  }

  /// Opens a page and takes the token of its forms.
  mutating func open(_ path: String = "/account", query: String = "") -> Answer {
    let answer = site.send("GET", path, query: query, fields: fields)
    take(answer)
    return answer
  }

  /// Sends a form, follows where it leads, and takes the token of the page that comes.
  mutating func send(
    _ path: String, _ items: [String: String] = [:], origin: String? = nil
  ) -> Answer {
    let answer = sent(path, items, origin: origin)
    take(answer)
    guard answer.status == 303, let target = answer.field("Location") else { return answer }
    let parts = target.dropFirst(site.application.settings.basePath.count).split(separator: "?")
    return open(String(parts[0]), query: parts.count > 1 ? String(parts[1]) : "")
  }

  /// The answer to a form, and nothing else.
  func sent(_ path: String, _ items: [String: String] = [:], origin: String? = nil) -> Answer {
    let all = items.merging(["token": token]) { given, _ in given }
    let body = all.map { "\($0)=\($1.percentEncoded)" }.joined(separator: "&")
    let more = origin.map { [(name: "Origin", value: $0)] } ?? []
    return site.send("POST", "/account\(path)", body, fields: fields + more)
  }

  private mutating func take(_ answer: Answer) {
    if let set = answer.field("Set-Cookie")?.firstMatch(of: /__Host-account=([^;]+)/) {
      cookie = String(set.1)
      Evidence.keep(secret: String(set.1))
    }
    if let found = answer.text.firstMatch(of: /name="token" value="([^"]+)"/) {
      token = String(found.1)
      Evidence.keep(secret: token)
    }
  }

  /// Signs in with a mailed code.
  mutating func signIn(_ email: String = "ann@example.org") throws -> Answer {
    #expect(send("/code", ["email": email]).text.contains("Type the code"))
    let page = send("/sign-in", ["code": try site.mailedCode()])
    try #require(page.text.contains("Signed in as"), "\(page.text)")
    return page
  }
}

/// Calls `body` with a site where Ann has an account, and with a browser in which she has signed in.
func withVisitor(_ body: (TestApplication, SignedIn, inout PageVisitor) throws -> Void) throws {
  try withApplication { site in
    let ann = try site.signUp()
    var visitor = PageVisitor(site)
    _ = try visitor.signIn()
    try body(site, ann, &visitor)
  }
}
