import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API

/// The bank's URL to which a person is sent for an enrollment.
@Suite struct EnrollmentStartTests {
  @Test func theAppGetsTheBanksURL() throws {
    try withBank { site, ann, bank throws in
      let answer = site.send(
        "POST", "/api/mobile/enrollment/start/test-bank", token: ann.accessToken)
      #expect(answer.status == 200)
      let names = answer.text.matches(of: /"(\w+)":/).map { String($0.1) }
      #expect(names == ["authUrl", "enrollmentId", "bsimId", "bankName", "callbackUrlPattern"])
      #expect(answer.string("enrollmentId")?.wholeMatch(of: /[0-9a-f]{32}/) != nil)
      #expect(answer.string("bsimId") == "test-bank")
      #expect(answer.string("bankName") == "Test Bank")
      #expect(answer.string("callbackUrlPattern") == "mwsim://enrollment/callback")
      let url = try #require(answer.string("authUrl"))
      #expect(
        url.hasPrefix(
          "\(bank.url)/authorize?client_id=wsim%20%26%20co"
            + "&redirect_uri=https%3A%2F%2Fapi.example.org%2Fapi%2Fenrollment%2Fcallback%2Ftest-bank"
            + "&response_type=code&scope=openid%20cards&state="))
      #expect(
        url.contains(
          /&state=[0-9a-f]{32}&nonce=[0-9a-f]{32}&code_challenge=[\w-]{43}&code_challenge_method=S256$/
        ))
      #expect(bank.consent(to: url) != nil)
    }
  }

  @Test func aBrowserIsRedirectedToTheBank() throws {
    try withBank { site, ann, bank throws in
      for (query, isMobile) in [("", 0), ("mobile=true", 1), ("mobile=false", 0)] {
        let start = try site.startEnrollmentInBrowser(by: ann, query: query)
        #expect(bank.consent(to: start.url) != nil)
        let hash = hexEncoded(sha256(try #require(start.item("state"))))
        #expect(
          site.sql("SELECT is_mobile FROM enrollment_states WHERE state_hash = 0x\(hash)")
            == "\(isMobile)")
      }
    }
  }

  @Test func onlyHashesAndSealedValuesAreStored() throws {
    try withBank { site, ann, _ throws in
      let start = try site.startEnrollment(by: ann)
      let row = site.sql(
        "SELECT HEX(state_hash), HEX(nonce_hash), verifier, REPLACE(id, '-', ''), bsim_id, is_mobile FROM enrollment_states"
      ).split(separator: "\t").map(String.init)
      try #require(row.count == 6)
      for (column, name) in [(0, "state"), (1, "nonce")] {
        let value = try #require(start.item(name))
        #expect(row[column].lowercased() == hexEncoded(sha256(value)))
      }
      let id = site.sql("SELECT id FROM enrollment_states")
      let verifier = try Cryptography.open(
        row[2], authenticating: NewEnrollment.sealingContext(ofVerifier: id),
        with: TestApplication.boxKeys)
      #expect(start.item("code_challenge") == base64URLEncoded(sha256(verifier)))
      #expect(verifier.count == 43)
      #expect(row[3...] == [start.id, "test-bank", "1"])
      #expect(
        site.sql("SELECT LEFT(expires_at, 19) FROM enrollment_states")
          == site.sql("SELECT FROM_UNIXTIME(\(site.now.seconds + 600)) + INTERVAL 0 SECOND").prefix(
            19))
    }
  }

  @Test func secretsAreNewEachTime() throws {
    try withBank { site, ann, _ throws in
      let starts = try (1...5).map { _ in try site.startEnrollment(by: ann) }
      for name in ["state", "nonce", "code_challenge"] {
        #expect(Set(starts.map { $0.item(name) }).count == 5)
      }
    }
  }

  @Test(arguments: [
    ("https://a.example/auth", "https://a.example/auth?client_id="),
    ("https://a.example/auth?", "https://a.example/auth?client_id="),
    ("https://a.example/auth?tenant=1", "https://a.example/auth?tenant=1&client_id="),
    ("https://a.example/auth?tenant=1&", "https://a.example/auth?tenant=1&client_id="),
  ])
  func theBanksOwnQueryIsKept(address: String, start: String) throws {
    try withBank { site, ann, _ throws in
      site.sql("UPDATE banks SET authorization_url = '\(address)'")
      #expect(try site.startEnrollment(by: ann).url.hasPrefix(start))
    }
  }

  @Test func parametersForTheBankAreEncoded() throws {
    try withBank { site, ann, _ throws in
      site.sql(#"UPDATE banks SET client_id = 'a&b=c#é', scope = '\r\nX: "<y>"'"#)
      let start = try site.startEnrollment(by: ann)
      #expect(start.url.contains("client_id=a%26b%3Dc%23%C3%A9&"))
      #expect(start.url.contains("scope=%0D%0AX%3A%20%22%3Cy%3E%22&"))
    }
  }

  @Test(arguments: ["unknown", "gone", "Test-bank", "' OR 1=1", "test-bank "])
  func aBankThatTakesNoEnrollmentsIsNotFound(id: String) throws {
    try withBank { site, ann, _ throws in
      site.addBank("gone", "A gone bank", logo: nil)
      for (method, path) in [
        ("POST", "/api/mobile/enrollment/start/"), ("GET", "/api/enrollment/start/"),
      ] {
        let answer = site.send(method, path + id, token: ann.accessToken)
        #expect(
          answer.isError(404, "not_found", "This bank cannot be added here. Choose another one."))
      }
      #expect(site.count("enrollment_states") == 0)
    }
  }

  /// Only who pays must have proven the address.
  @Test(arguments: [
    ("POST", "/api/mobile/enrollment/start/"), ("GET", "/api/enrollment/start/"),
  ])
  func anAccountMayEnrollBeforeItsAddressIsProven(method: String, path: String) throws {
    try withBank { site, _, _ throws in
      let bob = try site.signUp(email: "bob@example.org", device: "device-2", isProven: false)
      let answer = site.send(method, path + "test-bank", token: bob.accessToken)
      #expect(answer.status == (method == "GET" ? 302 : 200), "\(answer.text)")
      let described = DescribedAnswers.ofTests.document[
        "paths", path + "{bsimId}", method.lowercased(), "responses"]
      #expect(described?["404"] != nil)
      #expect(described?["403"] == nil)
    }
  }

  @Test func withoutASessionNothingBegins() throws {
    try withBank { site, ann, _ throws in
      site.sql("UPDATE sessions SET ended_at = NOW(3), end_reason = 'logout'")
      for token in [nil, "garbage", ann.accessToken] {
        for (method, path) in [
          ("POST", "/api/mobile/enrollment/start/test-bank"),
          ("GET", "/api/enrollment/start/test-bank"),
        ] {
          #expect(site.send(method, path, token: token).isError(401, "unauthorized"))
        }
      }
      #expect(site.count("enrollment_states") == 0)
    }
  }

  @Test func anAccountMayBeginThirtyAnHour() throws {
    try withBank { site, ann, _ throws in
      for _ in 1...30 { _ = try site.startEnrollment(by: ann) }
      let refused = site.send(
        "POST", "/api/mobile/enrollment/start/test-bank", token: ann.accessToken)
      #expect(refused.isError(429, "too_many_requests"))
      #expect(refused.retryAfter == 3600)
      _ = try site.startEnrollment(by: site.signUp(email: "bob@example.org", device: "device-9"))
      site.advance(by: .seconds(3600))
      let later = try site.signIn(device: "device-1")
      _ = try site.startEnrollment(by: later)
    }
  }
}
