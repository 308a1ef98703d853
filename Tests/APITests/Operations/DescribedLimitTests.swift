import Base
import Store
import Support
import Testing

@testable import API

/// The limits in the description of the API, `x-rate-limits`, are those that the responder keeps. The walks check the numbers
/// of all others, as far as they reach them.
@Suite struct DescribedLimitTests {
  private static let document = DescribedAnswers.ofTests.document
  private static let phone = #""deviceName":"Phone","platform":"ios""#

  /// Calls until the limit `name` of the operation refuses.
  private func expect(
    _ name: String, of method: String, _ path: String,
    sourceLocation: SourceLocation = #_sourceLocation,
    call: (Int) throws -> Answer
  ) throws {
    let limits = Self.document["paths", path, method.lowercased(), "x-rate-limits"]?.elements ?? []
    let limit = try #require(limits.first { $0["name"]?.string == name })
    let (allowed, seconds) = (limit["allowed"]?.integer, limit["seconds"]?.integer)
    var passed = 0
    var answer = try call(0)
    while answer.status != 429, passed < 1000 {
      passed += 1
      answer = try call(passed)
    }
    #expect(passed == allowed, "\(name)", sourceLocation: sourceLocation)
    #expect(answer.retryAfter == seconds, "\(name)", sourceLocation: sourceLocation)
  }

  @Test func asManySignInsAndSignUpsPass() throws {
    try withApplication { site in
      try expect("device-register", of: "POST", AccountPath.registerDevice) { number in
        site.send("POST", AccountPath.registerDevice, #"{"deviceId":"r\#(number)",\#(Self.phone)}"#)
      }
      try expect("sign-up-address", of: "POST", AccountPath.register) { number in
        site.send(
          "POST", AccountPath.register,
          #"{"email":"s\#(number)@example.org","name":"S","deviceId":"s\#(number)",\#(Self.phone)}"#
        )
      }
      try expect("code-device", of: "POST", AccountPath.login) { _ in site.requestCode() }
      try expect("code-address", of: "POST", AccountPath.login) { number in
        site.requestCode("c\(number)@example.org", device: "c\(number)", address: "192.0.2.2")
      }
      try expect("passkey-start", of: "POST", AccountPath.login) { number in
        site.send(
          "POST", AccountPath.login,
          #"{"method":"passkey","deviceId":"p\#(number)",\#(Self.phone)}"#)
      }
      try expect("refresh-dead", of: "POST", AccountPath.refresh) { _ in site.refresh("garbage") }
    }
  }

  @Test func asManyCallsOfASignedInDevicePass() throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = try site.setUp(of: ann)
      try expect("biometric-challenge", of: "POST", AccountPath.challenge) { _ in
        site.requestChallenge()
      }
      try expect("biometric-failed", of: "POST", AccountPath.biometricVerify) { _ in
        site.verify(try site.challenge(), signature: PhoneKey.two.sign("else"))
      }
      try expect("device-prefs", of: "POST", "/api/v1/device-prefs") { _ in
        site.post("{}", by: ann)
      }
      try expect("push-register", of: "POST", "/api/v1/push/register") { _ in
        site.register("token", by: ann)
      }
      try expect("address-change", of: "PUT", "/api/mobile/profile") { number in
        site.send(
          "PUT", "/api/mobile/profile", #"{"email":"a\#(number)@example.org"}"#,
          token: ann.accessToken)
      }
      var token = ann.refreshToken
      try expect("refresh", of: "POST", AccountPath.refresh) { _ in
        let answer = site.refresh(token)
        token = answer.refreshToken ?? token
        _ = site.summary(answer.accessToken ?? "")
        return answer
      }
    }
  }

  @Test func asManyEnrollmentsPass() throws {
    try withBank { site, ann, _ in
      let path = "/api/mobile/enrollment/start/"
      try expect("enrollment", of: "POST", path + "{bsimId}") { _ in
        site.send("POST", path + "test-bank", token: ann.accessToken)
      }
    }
  }

  @Test func asManyPairingsAndTicketsPass() throws {
    try withAgent { site in
      let phone = try site.pair()
      try expect("exchange-failed", of: "POST", "/api/auth/exchange") { _ in
        site.exchange("garbage")
      }
      _ = try site.pairingToken()  // shows the code
      try expect("pairing-code", of: "POST", "/api/pair/code") { number in
        site.send(
          "POST", "/api/pair/code", #"{"code":"000000"}"#, address: "192.0.2.\(number + 10)")
      }
      try expect("ticket", of: "POST", "/api/auth/ticket") { _ in
        site.send("POST", "/api/auth/ticket", token: phone.access)
      }
    }
  }

  @Test func asManyCallsOfATurnsAppPass() throws {
    try withApplication { site in
      let phone = try site.phone()
      try expect("turns-register", of: "POST", "/register") { _ in phone.register() }
      try expect("turns-settings", of: "PUT", "/users/{user_id}/settings") { _ in
        phone.send("PUT", "/users/\(phone.user)/settings", "{}")
      }
      try expect("master-key", of: "POST", "/generate-api-key") { _ in
        site.generateKey(#"{"user_id":"7","master_key":"wrong"}"#)
      }
    }
  }

  @Test func aLimitIsASentenceInBothForms() throws {
    let sentence = "At most 30 writes an hour for each device."
    let operation = Self.document["paths", "/api/v1/device-prefs", "post"]
    let refusal = try #require(operation?["responses", "429"])
    #expect(
      Self.document.referenced(by: refusal)?["description"]?.string?.contains(sentence) == true)
    let page = APIDocsPage(families: Family.all, publicURL: TestApplication.publicURL).content
    #expect(page.contains(sentence))
  }

  /// The manual's table has all limits of all operations, with the same numbers.
  @Test func theManualHasTheSameNumbers() throws {
    let manual = try ManualPage("security").text
    let rows = Dictionary(
      uniqueKeysWithValues: manual.matches(of: /(?m)^\| `([a-z-]+)` \|.*\| (.+) \|$/)
        .map { (String($0.1), String($0.2)) })
    let limits = Family.all.flatMap(\.routes).flatMap { $0.endpoint.operation().limits }
    #expect(Set(limits.map(\.name)).count > 30)
    for limit in limits {
      let row = try #require(rows[limit.name], "\(limit.name)")
      #expect(row.hasPrefix("\(limit.allowed) \(limit.time)"), "\(limit.name): \(row)")
    }
  }
}

extension JSONValue {
  fileprivate var integer: Int? {
    if case .number(let number) = self { Int(number.text) } else { nil }
  }
}
