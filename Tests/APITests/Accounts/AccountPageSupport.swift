import Base
import Cryptography
import Foundation
import Support
import Testing

@testable import API

/// A browser at `/account`: its cookie, and the form token of its current page.
struct PageVisitor: Sendable {
  let site: TestApplication
  /// The browser's `Accept-Language`.
  let language: String?
  var cookie: String?
  var token = ""

  init(_ site: TestApplication, language: String? = nil) {
    self.site = site
    self.language = language
  }

  private var fields: [(name: String, value: String)] {
    let cookies = cookie.map { [(name: "Cookie", value: "theme=dark; __Host-account=\($0)")] }
    return (cookies ?? []) + (language.map { [(name: "Accept-Language", value: $0)] } ?? [])
  }

  /// Opens a page and takes the token of its forms.
  mutating func open(_ path: String = "/account", query: String = "") -> Answer {
    let answer = site.send("GET", path, query: query, fields: fields)
    take(answer)
    return answer
  }

  /// Sends a form, follows the redirect, and takes the token of the next page.
  mutating func send(
    _ path: String, _ items: [String: String] = [:], origin: String? = nil
  ) -> Answer {
    let answer = sent(path, items, origin: origin)
    take(answer)
    guard answer.status == 303, let target = answer.field("Location") else { return answer }
    let parts = target.dropFirst(site.application.settings.basePath.count).split(separator: "?")
    return open(String(parts[0]), query: parts.count > 1 ? String(parts[1]) : "")
  }

  /// Sends a form and returns the direct answer.
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
    #expect(send("/code", ["email": email]).text.contains(#"action="/account/sign-in""#))
    let page = send("/sign-in", ["code": try site.mailedCode()])
    try #require(page.text.contains(#"action="/account/name""#), "\(page.text)")
    return page
  }

  /// Opens the page that asks for a confirmation of the removal.
  mutating func askToRemove(_ kind: String, _ id: String) -> Answer {
    open("/account/remove", query: "kind=\(kind)&id=\(id)")
  }
}

extension TestApplication {
  /// Gives an account a push token, a biometric key, a passkey, a bank with a card, and a payment.
  func fill(_ ann: SignedIn) throws {
    _ = send(
      "POST", AccountPath.pushToken, jsonText(["pushToken": pushTokenText()]),
      token: ann.accessToken)
    _ = try setUp(of: ann)
    try addPasskey(Authenticator(), name: "Blue key", of: ann)
    let card = addCard(of: ann)
    let key = try merchants.add("Shop").key
    Evidence.keep(secret: key)
    let order = #"{"cardId":"\#(card)","amount":99.99,"orderId":"order-xyz"}"#
    #expect(initiate(order, key: key, token: ann.accessToken).status == 200)
  }
}

extension Answer {
  /// The id of an item on the account page, by its name.
  func id(of kind: String, _ name: String) throws -> String {
    let pattern = try Regex(
      #"<h3 id="[^"]*"><bdi>\#(name)</bdi></h3>(?:(?!<li)[\s\S])*?name="kind" value="\#(kind)">\s*<input type="hidden" name="id" value="([^"]+)""#
    )
    return String(try #require(text.firstMatch(of: pattern)?.output[1].substring))
  }
}

/// Calls `body` with a site where Ann has an account, and a browser where she is signed in.
func withVisitor(_ body: (TestApplication, SignedIn, inout PageVisitor) throws -> Void) throws {
  try withApplication { site in
    let ann = try site.signUp()
    var visitor = PageVisitor(site)
    _ = try visitor.signIn()
    try body(site, ann, &visitor)
  }
}
