import Base
import Support
import Testing

@testable import API

/// Limits of mailed codes: strangers' requests cannot keep the owner of the address from getting a
/// code.
@Suite struct CodeRequestTests {
  private static let elsewhere = "198.51.100.7"

  /// A site where Ann has signed up on `device-1`, with the credential of that device.
  private func withKnownDevice(
    isProven: Bool = true, _ body: (_ site: TestApplication, _ credential: String) throws -> Void
  ) throws {
    try withApplication { site in
      let credential = try site.registerDevice()
      _ = try site.signUp(credential: credential, isProven: isProven)
      try body(site, credential)
    }
  }

  /// Requests the daily maximum of codes for strangers: 15 from each of four networks.
  private func useUpTheDay(
    _ site: TestApplication, email: String = "ann@example.org", device: String? = nil
  ) {
    for round in 1...5 {
      for network in 1...4 {
        for number in 1...3 {
          let answer = site.requestCode(
            email, device: device ?? "stranger-\(round)-\(number)", address: "198.51.100.\(network)"
          )
          #expect(answer.status == 200, "\(answer.text)")
        }
      }
      site.advance(by: .seconds(900))
    }
  }

  /// Asks for a code in a browser.
  ///
  /// - Parameter cookie: fields of the request.
  private func askInBrowser(
    _ site: TestApplication, cookie: String? = nil, address: String = "192.0.2.1"
  ) -> Answer {
    site.send(
      "POST", "/account/code", "email=ann%40example.org",
      fields: cookie.map { [(name: "Cookie", value: $0)] } ?? [], address: address)
  }

  private func openMails(_ site: TestApplication) -> Int {
    site.count("outbox WHERE kind = 'login_code' AND state = 'open'")
  }

  @Test(arguments: ["ann@example.org", "nobody@example.org"])
  func tenCodesOfOneNetworkSilenceNobodyElse(email: String) throws {
    try withApplication { site in
      _ = try site.signUp(device: "device-0")
      for number in 1...10 {
        let answer = site.requestCode(email, device: "s-\(number)", address: Self.elsewhere)
        #expect(answer.status == 200)
      }
      site.advance(by: .seconds(300))
      let refused = site.requestCode(email, device: "s-11", address: Self.elsewhere)
      #expect(refused.isError(429, "too_many_requests"))
      #expect(refused.retryAfter == 600)
      #expect(
        askInBrowser(site, address: Self.elsewhere).status == (email.hasPrefix("a") ? 429 : 303))
      let before = openMails(site)
      #expect(site.requestCode(email, device: "new-phone").status == 200)
      #expect(askInBrowser(site).status == 303)
      #expect(openMails(site) == before + (email.hasPrefix("a") ? 2 : 1))
      site.advance(by: .seconds(600))
      #expect(site.requestCode(email, device: "s-11", address: Self.elsewhere).status == 200)
    }
  }

  @Test func threeThatNameTheOwnersDeviceFromElsewhereDoNotSilenceIt() throws {
    try withKnownDevice { site, credential throws in
      for _ in 1...3 { #expect(site.requestCode(address: Self.elsewhere).status == 200) }
      #expect(site.requestCode(address: Self.elsewhere).isError(429, "too_many_requests"))
      for _ in 1...3 { #expect(site.requestCode().status == 200) }
      let refused = site.requestCode()
      #expect(refused.isError(429, "too_many_requests"), "\(refused.text)")
      #expect(refused.retryAfter == 900)
      #expect(site.requestCode(credential: "another").status == 401)
      let answers = inParallel(64) { _ in site.requestCode(credential: credential) }
      #expect(answers.filter { $0.status == 200 }.count == 3)
      #expect(answers.filter { $0.isError(429, "too_many_requests") }.count == 61)
      #expect(try site.verify(code: site.mailedCode(), credential: credential).status == 200)
    }
  }

  @Test(arguments: ["ann@example.org", "nobody@example.org"])
  func anAddressGetsSixtyCodesADayOfStrangers(email: String) throws {
    try withKnownDevice { site, credential in
      useUpTheDay(site, email: email)
      let refused = site.requestCode(email, device: "device-2", address: "203.0.113.1")
      #expect(refused.isError(429, "too_many_requests"), "\(refused.text)")
      #expect(refused.retryAfter == 86_400 - 5 * 900)
      site.advance(by: .seconds(86_400 - 5 * 900))
      #expect(site.requestCode(email, device: "device-2", address: "203.0.113.1").status == 200)
    }
  }

  /// The owner's browsers with a cookie of an earlier sign-in are not blocked either.
  @Test func sixtyCodesOfStrangersDoNotSilenceTheOwnersDevices() throws {
    try withKnownDevice { site, credential in
      var visitor = PageVisitor(site)
      _ = visitor.send("/code", ["email": "ann@example.org"])
      let signedIn = visitor.sent("/sign-in", ["code": try site.mailedCode()])
      let known = try #require(
        signedIn.response.fields.filter { $0.name == "Set-Cookie" }.map(\.value)
          .first { $0.hasPrefix("__Host-known=") })
      #expect(known.hasSuffix("; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure"))
      let cookie = String(known.prefix { $0 != ";" })
      site.sql("DELETE FROM rate_limits")
      useUpTheDay(site)
      let before = openMails(site)
      #expect(askInBrowser(site).status == 429)
      #expect(askInBrowser(site, cookie: cookie + "x").status == 429)
      #expect(askInBrowser(site, cookie: cookie).status == 303)
      #expect(site.requestCode().status == 200)
      #expect(site.requestCode(credential: credential).status == 200)
      #expect(openMails(site) == before + 3)
      // The cookie is valid for 30 days.
      site.advance(by: .seconds(30 * 86_400))
      useUpTheDay(site)
      #expect(askInBrowser(site, cookie: cookie).status == 429)
    }
  }

  /// Each sign-in without the cookie makes another one. A thief who was in the mailbox may have made many.
  @Test func theBrowsersOfAnAccountShareABudget() throws {
    try withKnownDevice { site, credential in
      var cookies: [String] = []
      for _ in 1...4 {
        var visitor = PageVisitor(site)
        _ = visitor.send("/code", ["email": "ann@example.org"])
        let signedIn = visitor.sent("/sign-in", ["code": try site.mailedCode()])
        let known = signedIn.response.fields.filter { $0.name == "Set-Cookie" }.map(\.value)
          .first { $0.hasPrefix("__Host-known=") }
        cookies.append(String(try #require(known).prefix { $0 != ";" }))
        site.sql("DELETE FROM rate_limits")
      }
      var sent = 0
      for _ in 1...10 {
        for cookie in cookies {
          for _ in 1...3 where askInBrowser(site, cookie: cookie).status == 303 { sent += 1 }
        }
        site.advance(by: .seconds(900))
      }
      // 60 of the browsers, and then those of a stranger.
      #expect((61...60 + 15).contains(sent), "\(sent)")
      // A phone that shows its credential is not affected.
      #expect(site.requestCode(credential: credential).status == 200)
    }
  }

  /// Requests that name a phone do not use up the limits of its credential or of new phones.
  @Test func sixtyCodesThatNameTheDeviceDoNotSilenceItsCredentialNorNewPhones() throws {
    try withKnownDevice { site, credential in
      useUpTheDay(site, device: "device-1")
      #expect(site.requestCode(address: "203.0.113.1").isError(429, "too_many_requests"))
      #expect(site.requestCode(credential: credential).status == 200)
      #expect(site.requestCode(device: "device-2").status == 200)
    }
  }

  /// A /48 contains many /64 networks, and has two shares.
  @Test func aWideNetworkHasTwoSharesOfADay() throws {
    try withApplication { site in
      _ = try site.signUp(device: "device-0")
      for round in 1...5 {
        for network in 1...2 {
          for number in 1...3 {
            let answer = site.requestCode(
              device: "s-\(round)-\(number)", address: "2001:db8:1:\(network)::1")
            #expect(answer.status == 200, "\(answer.text)")
          }
        }
        site.advance(by: .seconds(900))
      }
      #expect(site.requestCode(device: "s", address: "2001:db8:1:3::1").status == 429)
      #expect(site.requestCode(device: "s", address: "2001:db8:2:3::1").status == 200)
    }
  }

  // Unproven addresses
  // --------------------------------------------------------------------------------

  @Test func sixCodesOfStrangersDoNotSilenceAnUnprovenAddress() throws {
    try withKnownDevice(isProven: false) { site, credential in
      for number in 1...7 {
        site.advance(by: .seconds(900))
        #expect(site.requestCode(device: "s-\(number)", address: Self.elsewhere).status == 200)
      }
      #expect(openMails(site) == 6)
      #expect(site.requestCode(credential: credential).status == 200)
      #expect(openMails(site) == 7)
      #expect(site.requestCode(device: "new-phone").status == 200)
      #expect(openMails(site) == 8)
    }
  }

  @Test func anUnprovenAddressGetsThirtyMailsADayOfStrangersAndItsPhoneSixMore() throws {
    try withKnownDevice(isProven: false) { site, credential in
      useUpTheDay(site)
      for number in 5...7 {
        for _ in 1...2 {
          _ = site.requestCode(device: "x-\(number)", address: "198.51.100.\(number)")
        }
      }
      #expect(openMails(site) == 24)
      for round in 1...3 {
        for _ in 1...3 { #expect(site.requestCode(credential: credential).status == 200) }
        site.advance(by: .seconds(900))
        #expect(openMails(site) == 24 + min(6, 3 * round))
      }
    }
  }

  /// Requests for another address count against the same limit.
  @Test func strangersDoNotKeepAPersonFromChangingToTheirAddress() throws {
    try withApplication { site in
      let path = AccountPath.profile
      let wish = #"{"email":"new@example.org"}"#
      let mails = { site.count("outbox WHERE kind = 'address_change' AND state = 'open'") }
      for number in 1...7 {
        let other = try site.signUp(
          email: "s\(number)@example.org", device: "s-\(number)", address: Self.elsewhere)
        #expect(
          site.send("PUT", path, wish, token: other.accessToken, address: Self.elsewhere).status
            == 200)
      }
      #expect(mails() == 6)
      let ann = try site.signUp()
      #expect(site.send("PUT", path, wish, token: ann.accessToken).status == 200)
      #expect(mails() == 7)
    }
  }
}
