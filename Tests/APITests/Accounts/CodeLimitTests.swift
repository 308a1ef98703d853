import Base
import Support
import Testing

@testable import API

/// The limits of `auth/login` and `auth/login/verify`, and the budgets that known devices have of
/// their own.
@Suite struct CodeLimitTests {
  private static let wrong = "no code"

  /// A site where Ann has signed up on `device-1`, with the credential of that device.
  private func withKnownDevice(
    _ body: (_ site: TestApplication, _ credential: String) throws -> Void
  ) throws {
    try withApplication { site in
      let credential = try site.registerDevice()
      _ = try site.signUp()
      try body(site, credential)
    }
  }

  /// Uses up what strangers may type wrong for Ann's e-mail address.
  private func guessAsStrangers(_ site: TestApplication) {
    for number in 1...50 {
      let answer = site.verify(
        code: Self.wrong, device: "stranger-\(number)", address: "198.51.100.7")
      #expect(answer.status == 401)
    }
  }

  /// Uses up what one address may type wrong.
  private func guessFromOneAddress(_ site: TestApplication, _ address: String = "192.0.2.1") {
    for number in 1...100 {
      let answer = site.verify(
        "user\(number)@example.org", code: Self.wrong, device: "stranger", address: address)
      #expect(answer.status == 401)
    }
  }

  @Test(arguments: ["ann@example.org", "nobody@example.org"])
  func anEmailAddressAllowsFiftyWrongCodesADay(email: String) throws {
    try withApplication { site in
      _ = try site.signUp()
      #expect(site.requestCode(email, device: "device-2").status == 200)
      for number in 1...50 {
        let answer = site.verify(
          email, code: Self.wrong, device: "stranger-\(number)", address: "192.0.2.\(number)")
        #expect(answer.isError(401, "unauthorized", wrongCode), "\(answer.text)")
      }
      site.advance(by: .seconds(3600))
      let refused = site.verify(email.uppercased(), code: Self.wrong, device: "device-2")
      #expect(refused.isError(429, "too_many_requests"), "\(refused.text)")
      #expect(refused.retryAfter == 82_800)
      site.advance(by: .seconds(82_800))
      #expect(site.verify(email, code: Self.wrong, device: "device-2").status == 401)
    }
  }

  @Test func theRightCodeIsLimitedToo() throws {
    try withApplication { site in
      _ = try site.signUp()
      guessAsStrangers(site)
      #expect(site.requestCode(device: "device-2").status == 200)
      let code = try site.mailedCode()
      #expect(site.verify(code: code, device: "device-2").isError(429, "too_many_requests"))
      #expect(site.sql("SELECT attempts, spent_at FROM login_codes") == "0\tNULL")
    }
  }

  @Test func anAddressTypesAHundredWrongCodesAnHour() throws {
    try withApplication { site in
      guessFromOneAddress(site)
      site.advance(by: .seconds(600))
      let refused = site.verify("user101@example.org", code: Self.wrong)
      #expect(refused.isError(429, "too_many_requests"), "\(refused.text)")
      #expect(refused.retryAfter == 3000)
      let byChallenge = site.send(
        "POST", AccountPath.verify,
        jsonText(["challenge": "unknown", "deviceId": "stranger", "code": Self.wrong]))
      #expect(byChallenge.isError(429, "too_many_requests"), "\(byChallenge.text)")
      #expect(
        site.verify("user101@example.org", code: Self.wrong, address: "192.0.2.2").status == 401)
      site.advance(by: .seconds(3000))
      #expect(site.verify("user101@example.org", code: Self.wrong).status == 401)
    }
  }

  @Test func unknownChallengesCountForTheAddress() throws {
    try withApplication { site in
      let answers = inParallel(128) { number in
        site.send(
          "POST", AccountPath.verify,
          jsonText(["challenge": "\(number)", "deviceId": "stranger", "code": Self.wrong]))
      }
      #expect(answers.filter { $0.status == 401 }.count == 100)
      #expect(answers.filter { $0.isError(429, "too_many_requests") }.count == 28)
    }
  }

  @Test(arguments: ["device-1", "device-2"])
  func aRightCodeIsNotCounted(device: String) throws {
    try withKnownDevice { site, _ in
      _ = try site.signIn(device: device)
      #expect(site.count("rate_limits WHERE name LIKE 'code-wrong-%'") > 0)
      #expect(site.count("rate_limits WHERE name LIKE 'code-wrong-%' AND hits > 0") == 0)
    }
  }

  @Test func aKnownDeviceSignsInFromAnAddressOverTheLimit() throws {
    try withKnownDevice { site, _ throws in
      guessFromOneAddress(site)
      #expect(site.requestCode(device: "device-2").status == 200)
      #expect(try site.verify(code: site.mailedCode(), device: "device-2").status == 429)
      #expect(site.requestCode().status == 200)
      #expect(try site.verify(code: site.mailedCode()).status == 200)
    }
  }

  @Test func strangersDoNotKeepAKnownDeviceFromTypingItsCode() throws {
    try withKnownDevice { site, _ throws in
      guessAsStrangers(site)
      #expect(site.requestCode().status == 200)
      #expect(try site.verify(code: site.mailedCode()).status == 200)
    }
  }

  @Test func aKnownDeviceTypesFiftyWrongCodesADay() throws {
    try withKnownDevice { site, credential in
      let answers = inParallel(64) { _ in site.verify(code: Self.wrong) }
      #expect(answers.filter { $0.status == 401 }.count == 50)
      #expect(answers.filter { $0.isError(429, "too_many_requests") }.count == 14)
      #expect(site.requestCode().status == 200)
      let code = try site.mailedCode()
      #expect(site.verify(code: code).status == 429)
      #expect(site.verify(code: code, credential: "another").status == 401)
      // Whoever only knows the device's name has not used up what its credential allows.
      #expect(site.verify(code: code, credential: credential).status == 200)
    }
  }

  @Test func strangersDoNotKeepAKnownDeviceFromAskingForCodes() throws {
    try withKnownDevice { site, _ in
      for number in 1...10 {
        let answer = site.requestCode(device: "stranger-\(number)", address: "198.51.100.\(number)")
        #expect(answer.status == 200)
      }
      for number in 1...10 {
        #expect(site.requestCode("user\(number)@example.org", device: "stranger").status == 200)
      }
      #expect(site.requestCode(device: "device-2").isError(429, "too_many_requests"))
      for _ in 1...3 { #expect(site.requestCode().status == 200) }
      let refused = site.requestCode()
      #expect(refused.isError(429, "too_many_requests"), "\(refused.text)")
      #expect(refused.retryAfter == 900)
    }
  }

  @Test func strangersWhoKnowADeviceDoNotKeepItsCredentialFromAskingForCodes() throws {
    try withKnownDevice { site, credential throws in
      for _ in 1...3 { #expect(site.requestCode(address: "198.51.100.7").status == 200) }
      #expect(site.requestCode(credential: "another").status == 401)
      #expect(site.requestCode().status == 429)
      let answers = inParallel(64) { _ in site.requestCode(credential: credential) }
      #expect(answers.filter { $0.status == 200 }.count == 3)
      #expect(answers.filter { $0.isError(429, "too_many_requests") }.count == 61)
      #expect(try site.verify(code: site.mailedCode(), credential: credential).status == 200)
    }
  }

  @Test func aCredentialThatHasExpiredIsRefusedAndCountsNothing() throws {
    try withKnownDevice { site, credential in
      site.advance(by: .seconds(90 * 86_400))
      site.sql("DELETE FROM rate_limits")
      for answer in [
        site.requestCode(credential: credential), site.verify(code: "1", credential: credential),
      ] {
        #expect(answer.isError(401, "unauthorized", wrongCredential))
      }
      #expect(site.count("rate_limits WHERE name LIKE 'code-%'") == 0)
      #expect(site.count("login_codes") == 0)
    }
  }

  @Test(arguments: ["bob@example.org", "ann@example.org"])
  func aDeviceIsKnownToItsAccountOnlyAndUntilItIsRevoked(email: String) throws {
    try withKnownDevice { site, credential in
      let phone = try site.signUp(email: "bob@example.org", device: "device-2")
      let device = email == phone.email ? "device-1" : "device-3"
      if device == "device-3" {
        let tablet = try site.signIn(device: device)
        #expect(
          site.send("DELETE", "\(AccountPath.devices)/device-3", token: tablet.accessToken).status
            == 200)
      }
      site.sql("DELETE FROM rate_limits")
      let own = device == "device-1" ? credential : nil
      _ = site.requestCode(email, device: device, credential: own)
      _ = site.verify(email, code: Self.wrong, device: device, credential: own)
      #expect(site.count("rate_limits WHERE name LIKE '%known-device'") == 0)
      #expect(site.count("rate_limits WHERE subject = '\(email)' AND name LIKE 'code-%'") == 2)
    }
  }
}
