import Base
import Cryptography
import Foundation
import Testing

@testable import API

/// The registration that a sign-in adopts, and the accepted values of `X-Device-Credential`.
@Suite struct DeviceCredentialTests {
  private let stranger = "203.0.113.9"

  /// Creates Ann's account on `device-1`. Unless `described`, the request has no name and platform
  /// of the device.
  private func signUp(
    _ site: TestApplication, credential: String? = nil, address: String = "192.0.2.1",
    described: Bool = false
  ) -> Answer {
    site.send(
      "POST", AccountPath.register,
      jsonText([
        "email": "ann@example.org", "name": "Ann", "deviceId": "device-1",
        "deviceName": described ? "Described" : nil, "platform": described ? "macos" : nil,
      ]), fields: credential.map { [(name: "X-Device-Credential", value: $0)] } ?? [],
      address: address)
  }

  private func device(_ site: TestApplication) -> String {
    site.sql("SELECT name, platform, LOWER(HEX(credential_hash)) FROM devices")
  }

  private func owners(_ site: TestApplication) -> String {
    site.sql(
      """
      SELECT t.token, t.platform, a.email, d.client_device_id FROM push_tokens t
      JOIN devices d ON d.id = t.device_id JOIN accounts a ON a.id = d.account_id ORDER BY 1
      """)
  }

  /// A registration from the same address may be a neighbor's, or the sign-in.
  @Test func aRegistrationWaitsForItsCredential() throws {
    try withApplication { site in
      let credential = try site.registerDevice(
        name: "Tablet", platform: "android", pushToken: pushTokenText())
      let answer = signUp(site)
      #expect(device(site) == "Tablet\tandroid\tNULL")
      #expect(owners(site) == "")
      #expect(site.count("device_registrations") == 1)
      let token = try #require(answer.accessToken)
      #expect(site.summary(token, credential: credential).status == 200)
      let later = site.send(
        "POST", AccountPath.registerDevice,
        jsonText(["deviceId": "device-1", "deviceName": "Tablet", "platform": "android"]),
        token: token, fields: [("X-Device-Credential", credential)])
      #expect(later.string("deviceCredential") == credential, "\(later.text)")
      #expect(device(site) == "Tablet\tandroid\t\(hexEncoded(sha256(credential)))")
      #expect(owners(site) == "\(pushTokenText())\tandroid\tann@example.org\tdevice-1")
      #expect(site.count("device_registrations") == 0)
    }
  }

  @Test func aRegistrationIsAdoptedFromAnyAddressWithItsCredential() throws {
    try withApplication { site in
      let credential = try site.registerDevice(pushToken: pushTokenText())
      let answer = signUp(site, credential: credential, address: "198.51.100.7")
      #expect(answer.status == 201, "\(answer.text)")
      #expect(device(site) == "Phone\tios\t\(hexEncoded(sha256(credential)))")
      #expect(owners(site) == "\(pushTokenText())\tios\tann@example.org\tdevice-1")
      #expect(site.count("device_registrations") == 0)
    }
  }

  @Test func aRegistrationFromAnotherAddressGivesOnlyNameAndPlatform() throws {
    try withApplication { site in
      let credential = try site.registerDevice(
        name: "Tablet", platform: "android", pushToken: pushTokenText(), address: stranger)
      let token = try #require(signUp(site).accessToken)
      #expect(device(site) == "Tablet\tandroid\tNULL")
      #expect(owners(site) == "")
      #expect(site.count("device_registrations") == 1)
      #expect(site.isNoProof(credential, of: token))
    }
  }

  @Test func aLaterRegistrationByAStrangerDoesNotReplaceTheOwn() throws {
    try withApplication { site in
      let credential = try site.registerDevice(name: "Own", pushToken: pushTokenText("a"))
      site.advance(by: .seconds(60))
      try site.registerDevice(
        name: "Evil", platform: "android", pushToken: pushTokenText("b"), address: stranger)
      #expect(signUp(site, credential: credential).status == 201)
      #expect(device(site) == "Own\tios\t\(hexEncoded(sha256(credential)))")
      #expect(owners(site) == "\(pushTokenText("a"))\tios\tann@example.org\tdevice-1")
      #expect(site.sql("SELECT address FROM device_registrations") == stranger)
    }
  }

  @Test func theCredentialDecidesBeforeTheAddress() throws {
    try withApplication { site in
      let shown = try site.registerDevice(name: "Shown", address: "198.51.100.7")
      try site.registerDevice(name: "Near", pushToken: pushTokenText("b"))
      #expect(signUp(site, credential: shown).status == 201)
      #expect(device(site) == "Shown\tios\t\(hexEncoded(sha256(shown)))")
      #expect(owners(site) == "")
    }
  }

  @Test func theSignInsDescriptionReplacesThatOfTheRegistration() throws {
    try withApplication { site in
      try site.registerDevice(name: "Tablet", platform: "android")
      #expect(signUp(site, described: true).status == 201)
      #expect(device(site).hasPrefix("Described\tmacos\t"))
    }
  }

  @Test func signingInWithACodeAdoptsTheRegistrationToo() throws {
    try withApplication { site in
      _ = try site.signUp(device: "device-0")
      let credential = try site.registerDevice(
        "device-2", name: "Tablet", platform: "android", pushToken: pushTokenText())
      let asked = site.requestCode(device: "device-2", name: nil, platform: nil)
      #expect(asked.status == 200)
      let answer = site.verify(
        code: try site.mailedCode(), device: "device-2", credential: credential)
      #expect(answer.status == 200, "\(answer.text)")
      #expect(owners(site) == "\(pushTokenText())\tandroid\tann@example.org\tdevice-2")
      #expect(
        site.sql("SELECT name, platform FROM devices WHERE client_device_id = 'device-2'")
          == "Tablet\tandroid")
      let token = try #require(answer.accessToken)
      #expect(site.summary(token, credential: credential).status == 200)
    }
  }

  enum Bad: String, CaseIterable { case garbage, empty, foreign, forged, expired }

  /// A wrong credential for `device-1`.
  private func credential(_ bad: Bad, _ site: TestApplication) throws -> String {
    switch bad {
    case .garbage: return "k1.AAAA"
    case .empty: return ""
    case .foreign: return try site.registerDevice("device-9")
    case .forged:
      let keys = try Keyring(
        parsing: "k1:" + base64URLEncoded([UInt8](repeating: 8, count: 32)))
      return seal([UInt8](repeating: 1, count: 32), authenticating: "device-1", with: keys)
    case .expired:
      let old = try site.registerDevice()
      site.advance(by: .seconds(90 * 86_400))
      return old
    }
  }

  @Test(arguments: Bad.allCases)
  func signingUpWithAnInvalidCredentialIs401(bad: Bad) throws {
    try withApplication { site in
      let shown = try credential(bad, site)
      let answer = signUp(site, credential: shown, described: true)
      #expect(
        answer.isError(401, "unauthorized", wrongCredential),
        "\(answer.text)")
      #expect(answer.field("WWW-Authenticate") == "Bearer")
      #expect(["accounts", "devices", "sessions"].map { site.count($0) } == [0, 0, 0])
    }
  }

  @Test(arguments: Bad.allCases)
  func anInvalidCredentialIs401AndSpendsNoCode(bad: Bad) throws {
    try withApplication { site in
      _ = try site.signUp(device: "device-0")
      let shown = try credential(bad, site)
      #expect(site.requestCode().status == 200)
      let code = try site.mailedCode()
      let answer = site.verify(code: code, credential: shown)
      #expect(
        answer.isError(401, "unauthorized", wrongCredential),
        "\(answer.text)")
      #expect(site.count("sessions") == 1)
      #expect(site.verify(code: code).status == 200)
    }
  }

  @Test(arguments: Bad.allCases)
  func aCredentialRefusedAtSignInIsAudited(bad: Bad) throws {
    try withApplication { site in
      let shown = try credential(bad, site)
      #expect(signUp(site, credential: shown, described: true).status == 401)
      #expect(
        site.sql("SELECT request_id, address FROM audit_log WHERE event = 'credential_refused'")
          == "request-1\t192.0.2.1")
    }
  }

  @Test(arguments: [Bad.garbage, .empty, .foreign, .forged])
  func routesOfASignedInDeviceRefuseAnInvalidCredential(bad: Bad) throws {
    try withApplication { site in
      let shown = try credential(bad, site)
      let own = try site.registerDevice()
      let token = try #require(signUp(site, credential: own).accessToken)
      for (method, path) in [
        ("GET", WalletPath.summary), ("GET", AccountPath.devices), ("POST", AccountPath.logout),
        ("DELETE", AccountPath.pushToken), ("DELETE", AccountPath.devices + "/device-1"),
      ] {
        let answer = site.send(
          method, path, token: token, fields: [("X-Device-Credential", shown)])
        #expect(
          answer.isError(401, "unauthorized", wrongCredential),
          "\(path) \(answer.text)")
      }
      #expect(site.summary(token, credential: own).status == 200)
    }
  }

  @Test func aCredentialExpiresAfterNinetyDays() throws {
    try withApplication { site in
      let credential = try site.registerDevice()
      var tokens = signUp(site, credential: credential)
      for day in [29, 58, 87] {
        site.advance(by: .seconds(29 * 86_400))
        tokens = site.refresh(try #require(tokens.refreshToken))
        #expect(tokens.status == 200, "day \(day)")
      }
      let expiry = try site.instant("SELECT credential_expires_at FROM devices")
      site.advance(to: expiry - .seconds(1))
      tokens = site.refresh(try #require(tokens.refreshToken))
      let token = try #require(tokens.accessToken)
      site.advance(to: expiry - .milliseconds(1))
      #expect(site.summary(token, credential: credential).status == 200)
      site.advance(to: expiry)
      #expect(site.summary(token, credential: credential).status == 401)
      #expect(site.summary(token).status == 200)
    }
  }

  /// The credential is for the same device id, but was issued to another network address.
  @Test func aCredentialIssuedToAnotherAddressCountsAsNone() throws {
    try withApplication { site in
      let own = try site.registerDevice()
      let token = try #require(signUp(site, credential: own).accessToken)
      let strange = try site.registerDevice(address: stranger)
      #expect(site.isNoProof(strange, of: token))
    }
  }

  @Test func onADeviceWithoutACredentialTheOneOfARegistrationCountsAsNone() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let other = try site.registerDevice()
      #expect(site.isNoProof(other, of: ann.accessToken))
      #expect(site.summary(ann.accessToken).status == 200)
    }
  }

  @Test func theDevicesCredentialSignsInAgain() throws {
    try withApplication { site in
      let own = try site.registerDevice()
      #expect(signUp(site, credential: own).status == 201)
      #expect(site.requestCode().status == 200)
      let answer = site.verify(code: try site.mailedCode(), credential: own)
      #expect(answer.status == 200, "\(answer.text)")
    }
  }
}

extension TestApplication {
  /// Whether a credential passes as if the request showed none, and proves nothing.
  func isNoProof(_ credential: String, of accessToken: String) -> Bool {
    guard summary(accessToken, credential: credential).status == 200 else { return false }
    advance(by: .seconds(700))  // the sign-up is no proof any more
    return send(
      "POST", AccountPath.passkeyOptions, token: accessToken,
      fields: [("X-Device-Credential", credential)]
    ).isError(403, "fresh_proof_required")
  }
}
