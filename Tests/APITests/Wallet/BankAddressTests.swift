import Base
import Foundation
import Support
import Testing

@testable import API

/// The banks that the companion may contact, whatever the rows contain.
@Suite struct BankAddressTests {
  /// The test's bank runs on this machine.
  @Test func aBankAtAPrivateAddressIsNotAskedUnlessThatIsAllowed() throws {
    try withBank { site, ann, bank throws in
      for host in ["127.0.0.1", "localhost"] {
        site.sql("UPDATE banks SET token_url = REPLACE(token_url, '127.0.0.1', '\(host)')")
        let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
        let answer = try site.withCompanion(of: .banks, outbound: OutboundRule()) {
          site.comeBack(to: location)
        }
        #expect(failedEnrollment("bank_unavailable", in: answer.field("Location")))
        #expect(!(answer.field("Location") ?? "").contains("private"))
      }
      #expect(bank.exchanges == 0)
      #expect(
        site.sql("SELECT detail FROM audit_log WHERE detail LIKE '%private%'").contains(
          "SWITCHBOARD_OUTBOUND_ALLOW"))
    }
  }

  /// The responder writes the job, and the job contains the page to which people return.
  @Test func anExchangeNamesAPageOfThisSite() throws {
    try withBank { site, ann, bank throws in
      for (publicURL, isOurs) in [
        ("https://other.example", false), (TestApplication.publicURL, true),
      ] {
        let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
        let answer = try site.withCompanion(of: .banks, publicURL: publicURL) {
          site.comeBack(to: location)
        }
        let wasRefused = failedEnrollment("bank_unavailable", in: answer.field("Location"))
        #expect(wasRefused != isOurs)
        #expect(bank.exchanges == (isOurs ? 1 : 0))
      }
    }
  }
}
