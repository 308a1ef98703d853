import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API
@testable import Delivery

/// A person's return from the bank: the answers to the app and the browser, and the stored rows.
@Suite struct EnrollmentTests {
  static let success =
    "mwsim://enrollment/callback?success=true&bsimId=test-bank&bankName=Test%20Bank&cardCount=2"

  @Test func theBanksCardsAreInTheWallet() throws {
    try withBank { site, ann, bank throws in
      #expect(try site.enroll(ann, at: bank) == Self.success)
      #expect(bank.exchanges == 1)
      let summary = site.summary(ann.accessToken)
      let cards = summary["cards"] as? [[String: Any]] ?? []
      #expect(cards.map { $0["cardType"] as? String } == ["VISA", "AMEX"])
      #expect(cards.allSatisfy { $0["bankName"] as? String == "Test Bank" })
      #expect(site.cards(of: ann) == ["4242*", "0005"])
      #expect(summary["enrolledBanks", 0, "cardCount"] as? Int == 2)
      #expect(
        site.sql(
          "SELECT bank_card_id, expiry_month, expiry_year, active FROM cards ORDER BY 1")
          == "card-1\t12\t2030\t1\ncard-2\t1\t2031\t1")
      #expect(
        site.sql(
          "SELECT event, detail, account_id, request_id, address FROM audit_log WHERE event = 'bank_enrolled'"
        )
          == "bank_enrolled\ttest-bank: 2 cards\t\(ann.accountID)\trequest-1\t192.0.2.1")
      #expect(
        site.sql("SELECT email, bsim_id, bank, cards FROM enrolled_banks")
          == "ann@example.org\ttest-bank\tTest Bank\t2")
    }
  }

  @Test func aBrowserIsShownAPage() throws {
    try withBank { site, ann, bank throws in
      let start = try site.startEnrollmentInBrowser(by: ann)
      let location = try #require(bank.consent(to: start.url))
      let answer = try site.withCompanion(of: .banks) {
        site.comeBack(to: location, cookie: start.cookie)
      }
      #expect(answer.status == 200)
      #expect(answer.field("Content-Type") == "text/html; charset=utf-8")
      #expect(answer.field("Cache-Control") == "no-store")
      #expect(answer.field("Referrer-Policy") == "no-referrer")
      #expect(answer.field("Content-Security-Policy")?.hasPrefix("default-src 'none'; ") == true)
      #expect(answer.text.contains("<strong>Test Bank</strong>"))
      #expect(answer.text.contains("2 cards are in your wallet."))
      let again = site.comeBack(to: location, cookie: start.cookie)
      #expect(again.status == 200)
      #expect(again.text == answer.text)
      #expect(bank.exchanges == 1)
      #expect(site.cards(of: ann) == ["4242*", "0005"])
    }
  }

  @Test func anAppThatBeginsLikeABrowserGetsTheResult() throws {
    try withBank { site, ann, bank throws in
      let start = try site.startEnrollmentInBrowser(by: ann, query: "mobile=true")
      let location = try #require(bank.consent(to: start.url))
      let answer = try site.withCompanion(of: .banks) {
        site.comeBack(to: location, cookie: start.cookie)
      }
      #expect(answer.status == 302)
      #expect(answer.field("Location") == Self.success)
      #expect(answer.response.body.isEmpty)
    }
  }

  @Test func aBankNeedsNoIDTokenAndNoCards() throws {
    try withBank { site, ann, bank throws in
      bank.play {
        $0.givesIDToken = false
        $0.cards = #"{"cards":[]}"#
      }
      #expect(try site.enroll(ann, at: bank).hasSuffix("&cardCount=0"))
      #expect(site.count("enrollments") == 1)
      #expect(site.cards(of: ann) == [])
    }
  }

  @Test func enrollingAgainReplacesTheCards() throws {
    try withBank { site, ann, bank throws in
      func card(_ id: String, _ digits: String) -> String {
        #"{"id":"\#(id)","lastFour":"\#(digits)","cardType":"VISA","expiryMonth":1,"expiryYear":2030}"#
      }
      func enroll(_ cards: [String]) throws -> [String] {
        bank.play { $0.cards = #"{"cards":[\#(cards.joined(separator: ","))]}"# }
        #expect(try site.enroll(ann, at: bank).contains("success=true"))
        site.advance(by: .seconds(10))
        return site.cards(of: ann)
      }
      #expect(try enroll([card("a", "0001"), card("b", "0002")]) == ["0001*", "0002"])
      let ids = site.sql("SELECT id FROM cards ORDER BY bank_card_id").split(separator: "\n")
      let path = "\(WalletPath.cards)/\(ids[1])"
      #expect(site.send("POST", "\(path)/default", token: ann.accessToken).status == 200)
      // Known cards keep their ids and get the bank's newest data.
      #expect(
        try enroll([card("c", "0003"), card("b", "1002"), card("a", "0001")])
          == ["1002*", "0003", "0001"])
      // The bank no longer lists the default card.
      #expect(try enroll([card("a", "0001"), card("c", "0003")]) == ["0003*", "0001"])
      // The bank lists the default card again, as a new card.
      #expect(try enroll([card("a", "0001"), card("b", "0002")]) == ["0002*", "0001"])
      // The bank's list restores a card that its owner removed.
      #expect(site.send("DELETE", path, token: ann.accessToken).status == 200)
      #expect(try enroll([card("a", "0001"), card("b", "0002")]) == ["0001*", "0002"])
      #expect(site.count("enrollments") == 1)
      #expect(
        site.sql("SELECT id FROM cards WHERE bank_card_id IN ('a', 'b') ORDER BY bank_card_id")
          .split(separator: "\n") == ids)

      let enrollment = site.sql("SELECT id FROM enrollments")
      let removed = site.send(
        "DELETE", "/api/mobile/enrollment/\(enrollment)", token: ann.accessToken)
      #expect(removed.status == 200)
      #expect(site.cards(of: ann) == [])
      #expect(try enroll([card("b", "0002")]) == ["0002*"])
      #expect(site.count("enrollments WHERE removed_at IS NULL") == 1)
    }
  }

  @Test func twoBanksAtOnceLeaveOneDefault() throws {
    try withBank { site, ann, bank throws in
      // As many as one account may wait for.
      let ids = ["test-bank", "bank-2"]
      try site.connect(bank, ids[1], name: ids[1])
      let locations = try ids.map {
        try #require(bank.consent(to: try site.startEnrollment(by: ann, at: $0).url))
      }
      let companions = ids.map { _ in site.companion() }
      let answers = try site.withCompanion(of: .banks) {
        inParallel(2 * ids.count) { number in
          guard number < ids.count else {
            // Each bank worker has its own companion.
            for _ in 1...20 { try? companions[number - ids.count].jobs.only(.banks).run() }
            return ""
          }
          return site.comeBack(to: locations[number]).field("Location") ?? ""
        }
      }
      #expect(answers.filter { $0.contains("success=true") }.count == ids.count, "\(answers)")
      #expect(site.count("enrollments") == ids.count)
      #expect(site.count("cards") == 2 * ids.count)
      #expect(site.count("cards WHERE is_default") == 1)
    }
  }

  @Test func hostileNamesAndCardsBreakNeitherURLNorPage() throws {
    try withBank { site, ann, bank throws in
      let name = "A&b=c#d?é\"'<script>\r\n日 %41"
      site.sql(#"UPDATE banks SET name = 'A&b=c#d?é"\'<script>\r\n日 %41'"#)
      bank.play {
        $0.cards =
          #"{"cards":[{"id":"<b>&'\"; DROP TABLE cards","lastFour":"4242","cardType":"Visa Gold-2_x","expiryMonth":1,"expiryYear":2030}]}"#
      }
      let location = try site.enroll(ann, at: bank)
      #expect(
        location
          == "mwsim://enrollment/callback?success=true&bsimId=test-bank&bankName="
          + "A%26b%3Dc%23d%3F%C3%A9%22%27%3Cscript%3E%0D%0A%E6%97%A5%20%2541&cardCount=1")
      #expect(URLComponents(string: location)?.queryItems?[2].value == name)
      let start = try site.startEnrollmentInBrowser(by: ann)
      let back = try #require(bank.consent(to: start.url))
      let page = try site.withCompanion(of: .banks) {
        site.comeBack(to: back, cookie: start.cookie)
      }
      #expect(page.text.contains("A&amp;b=c#d?é&quot;&#39;&lt;script&gt;"))
      #expect(!page.text.contains("<script"))
      #expect(page.text.contains("One card is in your wallet."))
      let card = site.summary(ann.accessToken)["cards", 0] as? [String: Any]
      #expect(card?["cardType"] as? String == "VISA GOLD-2_X")
      #expect(card?["bankName"] as? String == name)
      #expect(site.sql("SELECT bank_card_id FROM cards") == #"<b>&'"; DROP TABLE cards"#)
    }
  }

  @Test func aKeyRotationResealsTheSecret() throws {
    try withBank { site, ann, bank throws in
      let rotated = CompanionKeys(
        try BoxKeys(
          parsing: "c2:\(base64URLEncoded([UInt8](repeating: 9, count: 32))),"
            + "c1:\(base64URLEncoded([UInt8](repeating: 8, count: 32)))"))
      let before = site.sql("SELECT client_secret FROM banks")
      #expect(before.hasPrefix("box:c1."))
      let companion = site.companion(keys: rotated)
      try companion.pass()
      let after = site.sql("SELECT client_secret FROM banks")
      #expect(after.hasPrefix("box:c2."))
      try companion.pass()
      #expect(site.sql("SELECT client_secret FROM banks") == after, "once")
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      // The responder seals with its public key.
      let answer = try site.withCompanion(of: .banks, keys: rotated) {
        site.comeBack(to: location)
      }
      #expect(answer.field("Location") == Self.success)
    }
  }
}
