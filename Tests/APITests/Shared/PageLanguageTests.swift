import Base
import Cryptography
import Foundation
import HTTP
import Store
import Support
import Testing

@testable import API

/// Every page of the site, in each language of `Accept-Language`.
@Suite struct PageLanguageTests {
  @Test(arguments: Language.allCases)
  func everyPageSaysWhichLanguageItIsIn(language: Language) throws {
    for (name, page) in try pages(in: language) {
      #expect(page.field("Content-Language") == language.rawValue, "\(name)")
      #expect(page.field("Vary") == "Accept-Language", "\(name)")
      let start =
        language == .persian
        ? #"<html lang="fa" dir="rtl">"# : #"<html lang="\#(language.rawValue)">"#
      #expect(page.text.contains(start), "\(name)")
      #expect(!page.text.contains("Optional("), "\(name)")
    }
  }

  @Test(arguments: Language.allCases.filter { $0 != .english })
  func noPageHasAWordLeftInEnglish(language: Language) throws {
    let english = try pages(in: .english)
    let other = try pages(in: language)
    #expect(english.count > 40)
    for ((name, page), (_, own)) in zip(english, other) {
      #expect(page.status == own.status, "\(name)")
      let left = words(of: page).intersection(words(of: own)).subtracting(Self.international)
      // “no” is also a Spanish word.
      #expect(left.subtracting(language == .spanish ? ["no"] : []) == [], "\(name)")
      #expect(words(of: own).count >= words(of: page).subtracting(Self.international).count / 2)
    }
  }

  @Test(arguments: [
    (nil, "en"), ("de-CH,fr;q=0.5", "de"), ("pt,es;q=0.1", "es"), ("zh", "en"), ("*", "en"),
    ("fa-IR", "fa"),
    ("de;q=0,fr", "fr"),
  ])
  func theBrowserChooses(accepted: String?, language: String) throws {
    try withApplication { site in
      var visitor = PageVisitor(site, language: accepted)
      #expect(visitor.open().field("Content-Language") == language)
    }
  }

  // The pages ----------------------------------------------------------------------------------------

  /// Names that are the same in every language.
  private static let international: Set = [
    "Switchboard", "WebSocket", "HTTP", "Repo", "iOS", "CAD", "99.99", "order-xyz",
  ]

  /// The page's own words, without people's input and times.
  private func words(of page: Answer) -> Set<String> {
    let body = page.text.replacing(/<style>[\s\S]*?<\/style>/, with: "")
      .replacing(/<bdi>[\s\S]*?<\/bdi>/, with: "").replacing(/<time[\s\S]*?<\/time>/, with: "\n")
    let attributes = body.matches(of: /(?:alt|data-error)="([^"]*)"/).map { String($0.1) }
    let texts = body.replacing(/<[^>]*>/, with: "\n").split(separator: "\n")
      .map { String($0).trimmed }
    return Set((texts + attributes).filter { $0.contains(where: \.isLetter) })
  }

  /// Opens all pages in the same order in each language.
  private func pages(in language: Language) throws -> [(name: String, page: Answer)] {
    var pages: [(name: String, page: Answer)] = []
    func add(_ name: String, _ page: Answer) { pages.append((name, page)) }
    let fields = [(name: "Accept-Language", value: language.rawValue)]
    try withAgent { site in
      func get(_ path: String, _ query: String = "", address: String = "192.0.2.1") -> Answer {
        site.send("GET", path, query: query, fields: fields, address: address)
      }
      func post(_ path: String, _ body: String) -> Answer {
        site.send("POST", path, body, fields: fields)
      }
      add("start", get("/"))
      add("no phones", get("/pair/phones"))
      _ = site.exchange(try site.pairingToken(), userAgent: "cdev")
      add("pairing", get("/pair"))
      add("phone", get("/pair/phones"))
      add("foreign address", get("/pair", address: "198.51.100.1"))
      add("incomplete form", post("/pair/phones", "x=y"))
      add("no agent's tokens", post("/pair/phones/name", "id=x&name=%07"))
      addPages(ofEnrollmentsIn: language, add)

      let dora = try site.signUp(email: "dora@example.org", device: "device-7", isProven: false)
      let keys = site.application.settings.hmacKeys
      let confirmation = LinkToken.make(
        for: .confirmation, of: [dora.accountID], with: keys.newest)
      add("is this you", get("/account/confirm", "token=\(confirmation)"))
      add("no answer", post("/account/confirm", "token=\(confirmation)"))
      add("confirmed", post("/account/confirm", "token=\(confirmation)&answer=yes"))
      add("nothing to confirm", get("/account/confirm", "token=x"))
      let ann = try site.signUp()
      try site.fill(ann)

      var visitor = PageVisitor(site, language: language.rawValue)
      add("sign in", visitor.open())
      add("passkey", visitor.send("/passkey"))
      add("wrong passkey", visitor.send("/passkey/sign-in", ["credential": "x"]))
      add("wrong address", visitor.send("/code", ["email": "x"]))
      add("code", visitor.send("/code", ["email": ann.email]))
      add("wrong code", visitor.send("/sign-in", ["code": "x"]))
      add("signed out", visitor.send("/sign-out"))
      add("account", try visitor.signIn())
      add("wrong name", visitor.send("/name", ["name": ""]))
      add("long name", visitor.send("/name", ["name": String(repeating: "x", count: 201)]))
      add("new name", visitor.send("/name", ["name": "Ann B."]))
      add("stale", visitor.send("/name", ["name": "x", "token": "x"]))
      add("foreign", visitor.send("/name", ["name": "x"], origin: "https://evil.example"))
      add("nowhere", get("/account/nowhere"))
      add("new address", visitor.send("/email", ["email": "new@example.org"]))
      let address = try site.addressToken()
      add("use address", get("/account/address", "token=\(address)"))
      add("address changed", post("/account/address", "token=\(address)"))
      add("nothing to change", get("/account/address", "token=x"))
      for (kind, name) in [("devices", "Phone"), ("passkeys", "Blue key"), ("banks", "Bank")] {
        let id = try visitor.open().id(of: kind, name)
        add("remove \(kind)", visitor.askToRemove(kind, id))
        add("removed \(kind)", visitor.send("/remove", ["kind": kind, "id": id]))
        add("gone \(kind)", visitor.send("/remove", ["kind": kind, "id": id]))
      }
      add("done sessions", visitor.open("/account", query: "done=sessions"))
      add("done browsers", visitor.open("/account", query: "done=browsers"))
      _ = try site.signUp(email: "carl@example.org", device: "device-8")
      let session = site.sql(
        """
        SELECT s.id FROM sessions s JOIN devices d ON d.id = s.device_id
        WHERE d.client_device_id = 'device-8'
        """)
      let ending = LinkToken.make(
        for: .ending, of: [session, UUID().uuidString.lowercased()], with: keys.newest)
      add("end", get("/account/end", "token=\(ending)"))
      add("ended", post("/account/end", "token=\(ending)"))
      add("nothing to end", get("/account/end", "token=x"))
      _ = try visitor.signIn("new@example.org")
      add("delete", visitor.open("/account/delete"))
      site.advance(by: .seconds(600))
      add("delete later", visitor.open("/account/delete"))
      add("sign in again", visitor.send("/delete"))
      let browsers = LinkToken.make(
        for: .browserEnding, of: [ann.accountID, String(site.now.seconds)], with: keys.newest)
      add("end browsers", get("/account/end", "token=\(browsers)"))
      add("browsers ended", post("/account/end", "token=\(browsers)"))
      add("not signed in", visitor.send("/name", ["name": "x"]))
      _ = try visitor.signIn("new@example.org")
      add("deleted", visitor.send("/delete"))
      let bob = try site.signUp(email: "bob@example.org", device: "device-9", isProven: false)
      let denial = LinkToken.make(for: .confirmation, of: [bob.accountID], with: keys.newest)
      add("denied", post("/account/confirm", "token=\(denial)&answer=no"))
      var limited = PageVisitor(site, language: language.rawValue)
      for _ in 1...30 where limited.sent("/passkey").status != 429 {}
      add("too many", limited.send("/passkey"))
    }
    return pages
  }

  /// The pages of an enrollment, without a bank.
  private func addPages(
    ofEnrollmentsIn language: Language, _ add: (String, Answer) -> Void
  ) {
    func keep(_ name: String, _ response: Response) {
      add("enrollment: \(name)", Answer(response))
    }
    keep("one card", EnrollmentResult.enrolled(cards: 1).page(bankName: "Bank", in: language))
    keep("two cards", EnrollmentResult.enrolled(cards: 2).page(bankName: "Bank", in: language))
    for failure in [
      EnrollmentFailure.invalidState, .userCancelled, .bankRefused, .bankUnavailable, .noAnswer,
    ] {
      keep("\(failure)", EnrollmentResult.failed(failure).page(bankName: "", in: language))
    }
    keep("elsewhere", .enrollmentElsewhere(in: language))
    keep("underway", .enrollmentUnderway(at: "/x", in: language))
    keep("busy", .enrollmentsBusy(isForm: false, in: language))
    keep("busy after a form", .enrollmentsBusy(isForm: true, in: language))
    keep("error", .enrollmentError(.unknownBank, in: language))
    keep(
      "question",
      .enrollmentQuestion(
        bankName: "Bank", email: "ann@example.org", bsimID: "bank", fields: [("state", "s")],
        in: language))
  }
}
