import Base
import Support
import Testing

@testable import API

/// The limits of `auth/login/verify`. An attempt counts against its code, so an attacker cannot
/// lock out an owner.
@Suite struct CodeLimitTests {
  private static let wrong = "no code"
  private static let home = "192.0.2.1"
  private static let elsewhere = "198.51.100.7"

  /// A site where Ann has signed up on `device-1`, with the credential of that device.
  private func withKnownDevice(
    _ body: (_ site: TestApplication, _ credential: String) throws -> Void
  ) throws {
    try withApplication { site in
      let credential = try site.registerDevice()
      _ = try site.signUp(credential: credential)
      try body(site, credential)
    }
  }

  /// Requests codes on its own devices, and types each code wrong.
  private func guess(
    _ site: TestApplication, codes: Int, tries: Int = 5, from address: String,
    email: String = "ann@example.org"
  ) {
    for number in 1...codes {
      let device = "own-\(number)-\(address)"
      #expect(site.requestCode(email, device: device, address: address).status == 200)
      for _ in 1...tries {
        let answer = site.verify(email, code: Self.wrong, device: device, address: address)
        #expect(answer.isError(401, "unauthorized", wrongCode), "\(answer.text)")
      }
    }
  }

  /// Uses up the daily limit of wrong codes from strangers for an address.
  private func useUpTheDay(_ site: TestApplication, email: String = "ann@example.org") {
    for number in 1...3 { guess(site, codes: 3, from: "198.51.100.\(number)", email: email) }
  }

  // Attempts without a matching code
  // ----------------------------------------------------------------

  @Test(arguments: [home, elsewhere], ["device-2", "stranger"])
  func triesWithoutACodeChangeNothingForTheRightOne(address: String, device: String) throws {
    try withApplication { site in
      _ = try site.signUp()
      for _ in 1...50 {
        #expect(site.verify(code: Self.wrong, device: device, address: address).status == 401)
      }
      #expect(
        site.count(
          "rate_limits WHERE subject LIKE 'email:%' AND name NOT LIKE 'mail-%' AND hits > 0") == 0)
      #expect(site.requestCode(device: "device-2").status == 200)
      #expect(try site.verify(code: site.mailedCode(), device: "device-2").status == 200)
    }
  }

  @Test func anAddressTypesAHundredWrongCodesAnHourThatNameNoCode() throws {
    try withApplication { site in
      _ = try site.signUp()
      for number in 1...100 {
        #expect(
          site.verify("user\(number)@example.org", code: Self.wrong, device: "s").status == 401)
      }
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
      // A person who has requested a code there can still use it.
      #expect(site.requestCode(device: "device-2").status == 200)
      #expect(try site.verify(code: site.mailedCode(), device: "device-2").status == 200)
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

  // Attempts on another person's code
  // -----------------------------------------------------------------

  @Test func wrongCodesFromElsewhereDoNotEndALivingCode() throws {
    try withApplication { site in
      _ = try site.signUp()
      #expect(site.requestCode(device: "device-2").status == 200)
      let code = try site.mailedCode()
      for _ in 1...5 {
        #expect(
          site.verify(code: Self.wrong, device: "device-2", address: Self.elsewhere).status == 401)
      }
      // That network has no attempts left for this code; other networks have.
      #expect(site.verify(code: code, device: "device-2", address: Self.elsewhere).status == 401)
      #expect(
        site.sql("SELECT attempts, others_attempts, spent_at FROM login_codes") == "0\t5\tNULL")
      #expect(site.verify(code: code, device: "device-2").status == 200)
    }
  }

  @Test func ofThirtyGuessesAtOnceFromOtherNetworksTwentyAreCompared() throws {
    try withApplication { site in
      _ = try site.signUp()
      #expect(site.requestCode(device: "device-2").status == 200)
      let statuses = inParallel(30) { number in
        site.verify(code: Self.wrong, device: "device-2", address: "198.51.100.\(number)").status
      }
      #expect(Set(statuses) == [401])
      #expect(site.sql("SELECT attempts, others_attempts FROM login_codes") == "0\t20")
      #expect(
        site.count("audit_log WHERE event IN ('code_refused', 'code_dead') AND detail LIKE 'try %'")
          == 20)
    }
  }

  @Test func whoAskedIsNotKeptOutByAnyNumberOfNetworks() throws {
    try withApplication { site in
      _ = try site.signUp()
      #expect(site.requestCode(device: "device-2").status == 200)
      let code = try site.mailedCode()
      for number in 1...30 {
        let address = "198.51.100.\(number)"
        #expect(site.verify(code: Self.wrong, device: "device-2", address: address).status == 401)
      }
      #expect(site.count("login_codes WHERE others_attempts <= 20") == 1)
      #expect(site.verify(code: code, device: "device-2", address: Self.elsewhere).status == 401)
      #expect(site.verify(code: code, device: "device-2").status == 200)
    }
  }

  @Test func aCodeIsTypedInAnotherNetwork() throws {
    try withApplication { site in
      _ = try site.signUp()
      #expect(site.requestCode(device: "device-2").status == 200)
      let code = try site.mailedCode()
      #expect(
        site.verify(code: Self.wrong, device: "device-2", address: Self.elsewhere).status == 401)
      #expect(site.verify(code: code, device: "device-2", address: Self.elsewhere).status == 200)
    }
  }

  @Test func strangersWhoNameTheDeviceDoNotVoidItsCode() throws {
    try withApplication { site in
      _ = try site.signUp()
      #expect(site.requestCode(device: "device-2").status == 200)
      let code = try site.mailedCode()
      for number in 1...25 {
        let answer = site.requestCode(device: "device-2", address: "198.51.100.\(number)")
        #expect(answer.status == 200)
      }
      #expect(site.verify(code: code, device: "device-2").status == 200)
      #expect(site.verify(code: code, device: "device-2").status == 401)
    }
  }

  /// Each requester on one phone gets an own code, and each code works once.
  @Test func eachAskersCodeSignsInOnce() throws {
    try withApplication { site in
      _ = try site.signUp()
      let codes = try ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map { address in
        #expect(site.requestCode(device: "device-2", address: address).status == 200)
        return try site.mailedCode()
      }
      for code in Set(codes) {
        #expect(site.verify(code: code, device: "device-2").status == 200)
      }
      for code in Set(codes) {
        #expect(site.verify(code: code, device: "device-2").status == 401)
      }
    }
  }

  // Daily limits
  // --------------------------------------------------------------------------------------

  @Test(arguments: ["ann@example.org", "nobody@example.org"])
  func afterFortyWrongCodesOfADayACodeAllowsOneTry(email: String) throws {
    try withApplication { site in
      _ = try site.signUp()
      useUpTheDay(site, email: email)
      #expect(site.requestCode(email, device: "device-2").status == 200)
      #expect(site.verify(email, code: Self.wrong, device: "device-2").status == 401)
      #expect(site.verify(email, code: Self.wrong, device: "device-2").status == 401)
      #expect(
        site.sql("SELECT attempts FROM login_codes WHERE client_device_id = 'device-2'") == "1")
      site.advance(by: .seconds(86_400))
      #expect(site.requestCode(email, device: "device-2").status == 200)
      for _ in 1...2 { _ = site.verify(email, code: Self.wrong, device: "device-2") }
      #expect(
        site.sql("SELECT attempts FROM login_codes WHERE client_device_id = 'device-2'") == "2")
    }
  }

  @Test func theRightCodeIsNeverRefusedForWhatOthersTyped() throws {
    try withApplication { site in
      _ = try site.signUp()
      useUpTheDay(site)
      for _ in 1...2 {
        #expect(site.requestCode(device: "device-2").status == 200)
        #expect(try site.verify(code: site.mailedCode(), device: "device-2").status == 200)
      }
    }
  }

  @Test func oneNetworkUsesUpItsOwnShareOnly() throws {
    try withApplication { site in
      _ = try site.signUp()
      guess(site, codes: 3, from: Self.elsewhere)
      site.advance(by: .seconds(900))
      #expect(site.requestCode(device: "stranger", address: Self.elsewhere).status == 200)
      for _ in 1...2 {
        _ = site.verify(code: Self.wrong, device: "stranger", address: Self.elsewhere)
      }
      let attempts = "SELECT attempts FROM login_codes WHERE client_device_id ="
      #expect(site.sql("\(attempts) 'stranger'") == "1")
      #expect(site.requestCode(device: "device-2").status == 200)
      for _ in 1...4 { _ = site.verify(code: Self.wrong, device: "device-2") }
      #expect(site.sql("\(attempts) 'device-2'") == "4")
      #expect(try site.verify(code: site.mailedCode(), device: "device-2").status == 200)
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

  @Test func aKnownDeviceHasABudgetOfItsOwn() throws {
    try withKnownDevice { site, credential in
      useUpTheDay(site)
      #expect(site.requestCode().status == 200)
      for _ in 1...4 { #expect(site.verify(code: Self.wrong).status == 401) }
      #expect(try site.verify(code: site.mailedCode()).status == 200)
      #expect(site.requestCode(credential: credential).status == 200)
      let code = try site.mailedCode()
      #expect(site.verify(code: code, credential: "another").status == 401)
      for _ in 1...4 {
        #expect(site.verify(code: Self.wrong, credential: credential).status == 401)
      }
      #expect(site.verify(code: code, credential: credential).status == 200)
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
      let counts = "rate_limits WHERE name LIKE 'code-%' AND subject LIKE 'email:%'"
      #expect(site.count("\(counts) AND subject NOT LIKE '% %'") == 2)
    }
  }
}
