import Foundation
import Testing

@testable import API

/// `GET /api/mobile/wallet/summary`
@Suite struct SummaryTests {
  @Test func anEmptyWallet() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answer = site.summary(ann.accessToken)
      #expect(answer.status == 200)
      #expect(
        answer.text
          == #"{"user":{"id":"\#(ann.accountID)","email":"ann@example.org","name":"Ann"},"cards":[],"#
          + #""enrolledBanks":[],"biometricEnabled":false}"#)
    }
  }

  @Test func aWalletWithACardOfABank() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.addBank("td-bsim", "TD Bank Simulator", logo: "https://example.test/td.png")
      let card = site.addCard(site.enroll(ann, "td-bsim", day: 14), "4242", isDefault: true)
      #expect(
        site.summary(ann.accessToken).text
          == #"{"user":{"id":"\#(ann.accountID)","email":"ann@example.org","name":"Ann"},"#
          + #""cards":[{"id":"\#(card)","lastFour":"4242","cardType":"VISA","#
          + #""bankName":"TD Bank Simulator","bankLogo":"https://example.test/td.png","#
          + #""bankLogoUrl":"https://example.test/td.png","#
          + #""isDefault":true,"addedAt":"2024-01-15T00:00:00Z"}],"#
          + #""enrolledBanks":[{"bsimId":"td-bsim","name":"TD Bank Simulator","cardCount":1}],"#
          + #""biometricEnabled":false}"#)
    }
  }

  @Test func withoutALogoTheMemberIsLeftOut() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.addBank("plain", "Plain Bank", logo: nil)
      site.addCard(site.enroll(ann, "plain", day: 14), "1111")
      let card = site.summary(ann.accessToken)["cards", 0] as? [String: Any]
      #expect(
        Set(card?.keys.map { $0 } ?? []) == [
          "id", "lastFour", "cardType", "bankName", "isDefault", "addedAt",
        ])
    }
  }

  @Test func cardsAreOrderedAndOnlyActiveOnesAreShown() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.addBank("one", "Bank One", logo: nil)
      site.addBank("two", "Bank Two", logo: nil)
      let (one, two) = (site.enroll(ann, "one", day: 12), site.enroll(ann, "two", day: 11))
      site.addCard(one, "0001", day: 20)
      site.addCard(one, "0002", isDefault: true, day: 13)
      site.addCard(one, "0003", active: false, day: 28)
      site.addCard(two, "0004", type: "AMEX", day: 25)
      site.addCard(two, "0005", type: "DEBIT", day: 14)
      let answer = site.summary(ann.accessToken)
      let cards = answer["cards"] as? [[String: Any]] ?? []
      #expect(cards.map { $0["lastFour"] as? String } == ["0002", "0004", "0001", "0005"])
      #expect(cards.map { $0["isDefault"] as? Bool } == [true, false, false, false])
      #expect(
        cards.map { $0["bankName"] as? String } == ["Bank One", "Bank Two", "Bank One", "Bank Two"])
      #expect(cards.map { $0["cardType"] as? String } == ["VISA", "AMEX", "VISA", "DEBIT"])
    }
  }

  @Test func banksCountTheirActiveCards() throws {
    try withApplication { site in
      let ann = try site.signUp()
      for id in ["one", "two", "none", "unused"] { site.addBank(id, "Bank \(id)", logo: nil) }
      let (two, one) = (site.enroll(ann, "two", day: 11), site.enroll(ann, "one", day: 12))
      _ = site.enroll(ann, "none", day: 13)
      for digits in ["0001", "0002"] { site.addCard(two, digits) }
      site.addCard(one, "0003")
      site.addCard(one, "0004", active: false)
      let banks = site.summary(ann.accessToken)["enrolledBanks"] as? [[String: Any]] ?? []
      #expect(banks.map { $0["bsimId"] as? String } == ["two", "one", "none"])
      #expect(banks.map { $0["name"] as? String } == ["Bank two", "Bank one", "Bank none"])
      #expect(banks.map { $0["cardCount"] as? Int } == [2, 1, 0])
    }
  }

  @Test func cardsOfOthersAreNotShown() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let bob = try site.signUp(email: "bob@example.org")
      site.addBank("one", "Bank One", logo: nil)
      site.addCard(site.enroll(ann, "one", day: 12), "0001")
      site.addCard(site.enroll(bob, "one", day: 12), "0002")
      let answer = site.summary(bob.accessToken)
      #expect((answer["cards"] as? [[String: Any]])?.map { $0["lastFour"] as? String } == ["0002"])
      #expect(answer.string("user", "email") == "bob@example.org")
      #expect(answer["enrolledBanks", 0, "cardCount"] as? Int == 1)
    }
  }

  @Test func textOfAnyScriptComesBackUnchanged() throws {
    try withApplication { site in
      let name = #"Zoë "Ξ" \ </script> 🂡 日本"#
      let answer = site.send(
        "POST", AccountPath.register,
        jsonText([
          "email": "zoe+1@example.org", "name": name, "deviceId": "d", "deviceName": "P",
          "platform": "ios",
        ]))
      let summary = site.summary(try #require(answer.accessToken))
      #expect(summary.string("user", "name") == name)
      #expect(summary.string("user", "email") == "zoe+1@example.org")
    }
  }

  @Test func aDeletedAccountIs404() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.sql("DELETE FROM accounts")
      let answer = site.summary(ann.accessToken)
      #expect(answer.isError(404, "not_found"), "\(answer.text)")
    }
  }

  /// The app signs its user out on any other answer.
  @Test func theSummaryIsNotRateLimited() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let before = site.rows("rate_limits")
      let statuses = (1...700).map { _ in site.summary(ann.accessToken).status }
      #expect(statuses.allSatisfy { $0 == 200 })
      #expect(site.rows("rate_limits") == before)
    }
  }
}
