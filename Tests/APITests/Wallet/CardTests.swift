import Foundation
import Support
import Testing

@testable import API

/// The cards of a wallet: the default, and removal.
@Suite struct CardTests {
  /// Ann, with the cards 0001 (the default), 0002 and 0003 (the newest).
  private func withCards(
    _ body: (TestApplication, SignedIn, _ ids: [String]) throws -> Void
  ) throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.addBank("one", "Bank One", logo: nil)
      let enrollment = site.enroll(ann, "one", day: 11)
      let ids = (1...3).map {
        site.addCard(enrollment, "000\($0)", isDefault: $0 == 1, day: 11 + $0)
      }
      try body(site, ann, ids)
    }
  }

  private func makeDefault(_ site: TestApplication, _ id: String, by person: SignedIn) -> Answer {
    site.send("POST", "\(WalletPath.cards)/\(id)/default", token: person.accessToken)
  }

  private func remove(_ site: TestApplication, _ id: String, by person: SignedIn) -> Answer {
    site.send("DELETE", "\(WalletPath.cards)/\(id)", token: person.accessToken)
  }

  @Test func anotherCardBecomesTheDefault() throws {
    try withCards { site, ann, ids in
      #expect(site.cards(of: ann) == ["0001*", "0003", "0002"])
      let answer = makeDefault(site, ids[1], by: ann)
      #expect(answer.status == 200)
      #expect(answer.text == #"{"success":true}"#)
      #expect(site.cards(of: ann) == ["0002*", "0003", "0001"])
      #expect(makeDefault(site, ids[1], by: ann).status == 200, "again")
      #expect(
        site.sql("SELECT event, detail FROM audit_log WHERE event LIKE 'card%'")
          == "card_default\t\(ids[1])")
    }
  }

  @Test func theCardsAreThoseOfTheSummary() throws {
    try withCards { site, ann, _ in
      let answer = site.send("GET", WalletPath.cards, token: ann.accessToken)
      #expect(answer.status == 200)
      let cards = answer["cards"] as? NSArray
      #expect(cards?.count == 3)
      #expect(cards == site.summary(ann.accessToken)["cards"] as? NSArray)
    }
  }

  @Test func aRemovedCardIsGoneAndTheNewestIsTheDefault() throws {
    try withCards { site, ann, ids in
      let answer = remove(site, ids[0], by: ann)
      #expect(answer.status == 200)
      #expect(answer.text == #"{"success":true}"#)
      #expect(site.cards(of: ann) == ["0003*", "0002"])
      #expect(remove(site, ids[1], by: ann).status == 200)
      #expect(site.cards(of: ann) == ["0003*"])
      #expect(remove(site, ids[2], by: ann).status == 200)
      #expect(site.cards(of: ann) == [])
      #expect(site.count("cards") == 3, "payments name them")
      #expect(site.count("cards WHERE is_default OR active") == 0)
      #expect(
        site.sql("SELECT event, detail FROM audit_log WHERE event LIKE 'card%' ORDER BY id")
          == ids.map { "card_removed\t\($0)" }.joined(separator: "\n"))
    }
  }

  @Test(arguments: ["x", "' OR 1=1", "01890a5d-ac96-774b-bcce-b302099a8fff", "日本"])
  func unknownCardsAreNotFound(id: String) throws {
    try withCards { site, ann, _ in
      let before = site.rows("cards")
      let noCard = "This card is no longer there. Reload the list."
      #expect(makeDefault(site, id, by: ann).isError(404, "not_found", noCard))
      #expect(remove(site, id, by: ann).isError(404, "not_found", noCard))
      #expect(site.rows("cards") == before)
    }
  }

  @Test func cardsOfOthersAndRemovedCardsCannotBeChanged() throws {
    try withCards { site, ann, ids in
      let bob = try site.signUp(email: "bob@example.org", device: "device-9")
      #expect(remove(site, ids[2], by: ann).status == 200)
      let before = site.rows("cards")
      for (id, person) in [(ids[1], bob), (ids[2], ann)] {
        #expect(makeDefault(site, id, by: person).isError(404, "not_found"))
        #expect(remove(site, id, by: person).isError(404, "not_found"))
      }
      #expect(site.rows("cards") == before)
    }
  }

  @Test func withoutASessionNothingChanges() throws {
    try withCards { site, ann, ids in
      let before = site.rows("cards", "enrollments")
      site.sql("UPDATE sessions SET ended_at = NOW(3), end_reason = 'logout'")
      let enrollment = site.sql("SELECT id FROM enrollments")
      let requests = [
        ("GET", WalletPath.cards), ("DELETE", "\(WalletPath.cards)/\(ids[1])"),
        ("POST", "\(WalletPath.cards)/\(ids[1])/default"), ("GET", WalletPath.enrollments),
        ("DELETE", "/api/mobile/enrollment/\(enrollment)"),
      ]
      for (method, path) in requests {
        for token in [ann.accessToken, "garbage", nil] {
          #expect(site.send(method, path, token: token).isError(401, "unauthorized"), "\(path)")
        }
      }
      #expect(site.rows("cards", "enrollments") == before)
    }
  }

  @Test func manyChangesAtOnceLeaveOneDefault() throws {
    try withCards { site, ann, ids in
      site.addBank("two", "Bank Two", logo: nil)
      let second = site.enroll(ann, "two", day: 12)
      let all = ids + (4...9).map { site.addCard(second, "000\($0)") }
      for _ in 1...3 {
        let statuses = inParallel(32) { number in
          let id = all[number % all.count]
          return number % 8 == 7
            ? self.remove(site, id, by: ann).status : self.makeDefault(site, id, by: ann).status
        }
        #expect(statuses.allSatisfy { [200, 404].contains($0) }, "\(statuses)")
        #expect(site.count("cards WHERE is_default") == 1)
        #expect(site.count("cards WHERE is_default AND NOT active") == 0)
      }
      let rest = inParallel(all.count) { self.remove(site, all[$0], by: ann).status }
      #expect(rest.allSatisfy { [200, 404].contains($0) })
      #expect(site.count("cards WHERE active OR is_default") == 0)
    }
  }
}
