import Support
import Testing

@testable import API

/// The limit of sign-ups per network address.
@Suite struct SignUpLimitTests {
  private func register(
    _ site: TestApplication, _ number: Int, email: String? = nil, address: String = "192.0.2.1"
  ) -> Answer {
    site.send(
      "POST", AccountPath.register,
      jsonText([
        "email": email ?? "user\(number)@example.org", "name": "User",
        "deviceId": "device-\(number)", "deviceName": "Phone", "platform": "ios",
      ]), address: address)
  }

  @Test func anAddressSignsUpTwentyTimesAnHour() throws {
    try withApplication { site in
      for number in 1...20 { #expect(register(site, number).status == 201) }
      site.advance(by: .seconds(600))
      let refused = register(site, 21)
      #expect(refused.isError(429, "too_many_requests"), "\(refused.text)")
      #expect(refused.retryAfter == 3000)
      #expect(site.count("accounts") == 20)
      #expect(register(site, 21, address: "192.0.2.2").status == 201)
      site.advance(by: .seconds(3000))
      #expect(register(site, 22).status == 201)
    }
  }

  /// Without the limit, the answer 409 would reveal for any number of addresses whether an account
  /// exists.
  @Test func aSignUpThatFailsCountsToo() throws {
    try withApplication { site in
      _ = try site.signUp(address: "192.0.2.2")
      for number in 1...20 {
        #expect(register(site, number, email: "ann@example.org").isError(409, "conflict"))
      }
      #expect(register(site, 21, email: "ann@example.org").isError(429, "too_many_requests"))
      #expect(register(site, 22).isError(429, "too_many_requests"))
    }
  }

  @Test func sixtyFourSignUpsAtOnceMakeTwentyAccounts() throws {
    try withApplication { site in
      let answers = inParallel(64) { register(site, $0) }
      #expect(answers.filter { $0.status == 201 }.count == 20)
      #expect(answers.filter { $0.isError(429, "too_many_requests") }.count == 44)
      #expect(site.count("accounts") == 20)
    }
  }

  /// Strangers may know the device id, because it is no secret.
  @Test func signUpsOfStrangersOnADeviceDoNotKeepItsOwnerOut() throws {
    try withApplication { site in
      func register(_ email: String, from address: String) -> Answer {
        site.send(
          "POST", AccountPath.register,
          jsonText([
            "email": email, "name": "User", "deviceId": "device-1", "deviceName": "Phone",
            "platform": "ios",
          ]), address: address)
      }
      for network in 1...3 {
        for number in 1...5 {
          #expect(
            register("s\(network)-\(number)@example.org", from: "2001:db8:\(network)::\(number)")
              .status
              == 201)
        }
        #expect(
          register("s\(network)-6@example.org", from: "2001:db8:\(network)::6").isError(
            409, "device_conflict"))
      }
      for number in 1...70 { _ = register("ann@", from: "2001:db8:1::\(number)") }
      for number in 1...5 {
        #expect(register("ann\(number)@example.org", from: "192.0.2.1").status == 201)
      }
      #expect(register("ann6@example.org", from: "192.0.2.1").isError(409, "device_conflict"))
      // The same address in the form of an IPv6 socket.
      #expect(
        register("ann6@example.org", from: "::ffff:192.0.2.1").isError(409, "device_conflict"))
    }
  }
}
