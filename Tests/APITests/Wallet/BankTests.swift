import Foundation
import Testing

@testable import API

/// The banks where an account may enroll, and its enrollments.
@Suite struct BankTests {
  /// The apps list the banks before a sign-in, and send any token that they have.
  @Test func theListNeedsNoSignIn() throws {
    try withApplication { site in
      site.addBank("gone", "A gone bank", logo: nil)
      let tokens = ["Bearer garbage", "Bearer ", "Basic eA==", "x"]
      for fields in [[]] + tokens.map({ [(name: "Authorization", value: $0)] }) {
        let answer = site.send(
          "GET", WalletPath.banks, fields: fields + [("X-Device-Credential", "garbage")])
        #expect(answer.status == 200)
        #expect(answer.text == #"{"banks":[]}"#)
      }
    }
  }

  @Test func onlyBanksThatAreConnectedAreListed() throws {
    try withApplication { site in
      site.addBank("gone", "A gone bank", logo: nil)
      for (id, name, logo) in [
        ("test-bank", "Test Bank", "NULL"), ("a", #"A \"bank\" <b>"#, "'https://l.example/x'"),
      ] {
        site.sql(
          """
          INSERT INTO banks (bsim_id, name, logo_url, authorization_url, token_url, cards_url, client_id,
            client_secret, scope)
          VALUES ('\(id)', '\(name)', \(logo), 'https://a', 'https://t', 'https://c', 'client', 's', 'cards')
          """)
      }
      let answer = site.send("GET", WalletPath.banks)
      #expect(answer.status == 200)
      #expect(
        answer.text
          == #"{"banks":[{"bsimId":"a","name":"A \"bank\" <b>","logoUrl":"https://l.example/x"},"#
          + #"{"bsimId":"test-bank","name":"Test Bank","logoUrl":null}]}"#)
    }
  }

  @Test func enrollmentsAreListedAndRemoved() throws {
    try withApplication { site in
      let ann = try site.signUp()
      for id in ["one", "two"] { site.addBank(id, "Bank \(id)", logo: nil) }
      let (one, two) = (site.enroll(ann, "one", day: 11), site.enroll(ann, "two", day: 12))
      for (enrollment, digits) in [(one, "0001"), (one, "0002"), (two, "0003")] {
        site.addCard(enrollment, digits, isDefault: digits == "0001")
      }
      let path = "/api/mobile/enrollment"
      func list() -> String {
        site.send("GET", WalletPath.enrollments, token: ann.accessToken).text
      }
      let second =
        #"{"id":"\#(two)","bsimId":"two","bankName":"Bank two","logoUrl":null,"cardCount":1,"#
        + #""enrolledAt":"2024-01-12T00:00:00Z"}"#
      #expect(
        list()
          == #"{"enrollments":[{"id":"\#(one)","bsimId":"one","bankName":"Bank one","logoUrl":null,"#
          + #""cardCount":2,"enrolledAt":"2024-01-11T00:00:00Z"},\#(second)]}"#)

      let bob = try site.signUp(email: "bob@example.org", device: "device-9")
      for (id, person) in [(one, bob), ("x", ann), ("' OR 1=1", ann)] {
        let refused = site.send("DELETE", "\(path)/\(id)", token: person.accessToken)
        #expect(
          refused.isError(
            404, "not_found", "This bank is no longer in your wallet. Reload the list."))
      }
      let removed = site.send("DELETE", "\(path)/\(one)", token: ann.accessToken)
      #expect(removed.status == 200)
      #expect(removed.text == #"{"success":true}"#)
      #expect(list() == #"{"enrollments":[\#(second)]}"#)
      #expect(site.cards(of: ann) == ["0003*"])
      #expect((site.summary(ann.accessToken)["enrolledBanks"] as? [Any])?.count == 1)
      #expect(site.send("DELETE", "\(path)/\(one)", token: ann.accessToken).status == 404, "once")
      #expect(
        site.sql("SELECT event, detail FROM audit_log WHERE event = 'enrollment_removed'")
          == "enrollment_removed\t\(one)")
    }
  }
}
