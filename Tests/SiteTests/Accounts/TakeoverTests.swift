import Foundation
import Support
import Testing

/// A stranger signs up with another person's address, and the owner comes later. Tests the whole
/// site.
@Suite struct TakeoverTests {
  private func json(_ members: [String: any Sendable]) throws -> String {
    String(decoding: try JSONSerialization.data(withJSONObject: members), as: UTF8.self)
  }

  private func addPasskey(_ authenticator: Authenticator, of person: Person, on site: Site) throws {
    let options = site.post("/api/mobile/auth/passkey/register/options", "{}", person.bearer)
    let created = authenticator.created(answering: try options.string("challenge"))
    let added = site.post(
      "/api/mobile/auth/passkey/register/verify", try json(["credential": created]), person.bearer)
    try #require(added.status == 200, "\(added.body)")
  }

  /// Signs in with a mailed code.
  private func signIn(_ email: String, on phone: String, at site: Site) throws -> Person {
    let device: [String: any Sendable] = [
      "email": email, "deviceId": phone, "deviceName": "Owner's phone", "platform": "ios",
      "method": "email",
    ]
    try #require(site.post("/api/mobile/auth/login", try json(device)).status == 200)
    try wait(for: "a mail with a code") { try site.mailedCode(to: email) != nil }
    let code = try #require(try site.mailedCode(to: email))
    let answer = site.post(
      "/api/mobile/auth/login/verify", try json(device.merging(["code": code]) { $1 }))
    try #require(answer.status == 200, "\(answer.body)")
    return Person(
      email: email, token: try answer.token("accessToken"),
      refreshToken: try answer.token("refreshToken"))
  }

  private func summary(_ person: Person, _ site: Site) -> Site.Answer {
    site.curl("/api/mobile/wallet/summary", "--header", person.bearer)
  }

  @Test func nothingOfTheStrangersWorksAfterTheOwnersProof() async throws {
    try await withSite { site in
      let stranger = try site.signUp()
      let key = Authenticator(partyID: "127.0.0.1", origin: site.url)
      try addPasskey(key, of: stranger, on: site)
      #expect(summary(stranger, site).status == 200)

      let owner = try signIn(stranger.email, on: "phone-2", at: site)
      #expect(summary(owner, site).status == 200)
      #expect(summary(stranger, site).status == 401)
      let refresh = try json(["refreshToken": stranger.refreshToken])
      #expect(site.post("/api/mobile/auth/token/refresh", refresh).status == 401)
      let passkeys = site.curl("/api/mobile/passkeys", "--header", owner.bearer)
      #expect(passkeys.body == #"{"passkeys":[]}"#)
      let devices = site.curl("/api/mobile/devices", "--header", owner.bearer)
      #expect(devices.body.contains("phone-2") && !devices.body.contains("phone-1"))
    }
  }

  @Test func theHonestFirstPhoneKeepsEverything() async throws {
    try await withSite { site in
      let first = try site.signUp()
      let key = Authenticator(partyID: "127.0.0.1", origin: site.url)
      try addPasskey(key, of: first, on: site)
      try site.confirm(first, "yes")

      let second = try signIn(first.email, on: "phone-2", at: site)
      #expect(summary(first, site).status == 200)
      #expect(summary(second, site).status == 200)
      let passkeys = site.curl("/api/mobile/passkeys", "--header", second.bearer)
      #expect(passkeys.body.contains(#""name":"Passkey""#))
    }
  }

  @Test func whoeverSaysNoIsRidOfTheAccount() async throws {
    try await withSite { site in
      let stranger = try site.signUp()
      try site.confirm(stranger, "no")
      #expect(summary(stranger, site).status == 404)
      #expect(try site.signUp().email == stranger.email)
    }
  }
}
