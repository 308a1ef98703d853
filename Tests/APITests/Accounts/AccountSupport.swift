import Base
import Cryptography
import Foundation
import HTTP
import Store
import Support
import Testing

@testable import API

/// Paths of accounts.
enum AccountPath {
  static let registerDevice = "/api/mobile/device/register"
  static let register = "/api/mobile/auth/register"
  static let login = "/api/mobile/auth/login"
  static let password = "/api/mobile/auth/login/password"
  static let verify = "/api/mobile/auth/login/verify"
  static let refresh = "/api/mobile/auth/token/refresh"
  static let logout = "/api/mobile/auth/logout"
  static let devices = "/api/mobile/devices"
  static let pushToken = "/api/mobile/device/push-token"
}

/// 64 characters, like a token of APNs; each `letter` gives another token.
func pushTokenText(_ letter: Character = "a") -> String { String(repeating: letter, count: 64) }

/// The claims of a token, unverified.
func tokenClaims(_ token: String) -> [String: Any] { tokenPart(token, 1) }

func tokenHeader(_ token: String) -> [String: Any] { tokenPart(token, 0) }

private func tokenPart(_ token: String, _ index: Int) -> [String: Any] {
  let parts = token.split(separator: ".", omittingEmptySubsequences: false)
  guard parts.count == 3, let bytes = base64URLDecoded(String(parts[index])) else { return [:] }
  return (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any] ?? [:]
}

/// `claims` in a token with the site's signature.
func signedToken(_ claims: [String: Any?], key: Key = TestApplication.keys.newest) -> String {
  JSONWebToken.sign(Array(jsonText(claims).utf8), with: key)
}

/// A person who is signed in on a device.
struct SignedIn {
  let email: String
  let deviceID: String
  let accountID: String
  let accessToken: String
  let refreshToken: String
}

extension Answer {
  /// The tokens of an answer to a sign-in or a refresh.
  var accessToken: String? { string("tokens", "accessToken") ?? string("accessToken") }
  var refreshToken: String? { string("tokens", "refreshToken") ?? string("refreshToken") }
}

extension TestApplication {
  /// Creates an account and signs it in.
  ///
  /// - Parameters:
  ///   - credential: the device's credential from its registration, sent with the sign-up.
  ///   - isProven: true also proves the address, like a mailed code.
  func signUp(
    email: String = "ann@example.org", device: String = "device-1", platform: String = "ios",
    credential: String? = nil, address: String = "192.0.2.1", isProven: Bool = true
  ) throws -> SignedIn {
    let answer = send(
      "POST", AccountPath.register,
      jsonText([
        "email": email, "name": "Ann", "deviceId": device, "deviceName": "Phone",
        "platform": platform,
      ]), fields: credential.map { [(name: "X-Device-Credential", value: $0)] } ?? [],
      address: address)
    try #require(answer.status == 201, "\(answer.text)")
    if isProven { prove(email) }
    return SignedIn(
      email: email, deviceID: device, accountID: try #require(answer.string("user", "id")),
      accessToken: try #require(answer.accessToken),
      refreshToken: try #require(answer.refreshToken))
  }

  /// Registers a device and returns its credential.
  @discardableResult
  func registerDevice(
    _ id: String = "device-1", name: String = "Phone", platform: String = "ios",
    pushToken: String? = nil, address: String = "192.0.2.1"
  ) throws -> String {
    let answer = send(
      "POST", AccountPath.registerDevice,
      jsonText([
        "deviceId": id, "deviceName": name, "platform": platform, "pushToken": pushToken,
      ]), address: address)
    try #require(answer.status == 200, "\(answer.text)")
    return try #require(answer.string("deviceCredential"))
  }

  func requestCode(
    _ email: String = "ann@example.org", device: String = "device-1", name: String? = "Phone",
    platform: String? = "ios", credential: String? = nil, address: String = "192.0.2.1"
  ) -> Answer {
    send(
      "POST", AccountPath.login,
      jsonText(["email": email, "deviceId": device, "deviceName": name, "platform": platform]),
      fields: credential.map { [(name: "X-Device-Credential", value: $0)] } ?? [], address: address)
  }

  /// Proves the address and refreshes the account's sessions, like mailed codes.
  func prove(_ email: String) {
    sql(
      """
      UPDATE accounts SET email_verified_at = created_at WHERE email = '\(email)';
      UPDATE accounts a JOIN devices d ON d.account_id = a.id JOIN sessions s ON s.device_id = d.id
        SET s.proved_at = s.created_at, s.began_by = 'code' WHERE a.email = '\(email)';
      DELETE FROM outbox WHERE kind = 'email_confirmation' AND recipient = '\(email)';
      """)
  }

  /// The code in the newest open mail in the outbox, opened with the companion's keys.
  func mailedCode() throws -> String {
    let row = sql(
      """
      SELECT id, sealed FROM outbox WHERE state = 'open' AND kind = 'login_code'
      ORDER BY created_at DESC, id DESC LIMIT 1
      """)
    let columns = row.split(separator: "\t").map(String.init)
    try #require(columns.count == 2)
    let content = try mailContent(columns[1], ofMail: columns[0])
    Evidence.keep(code: content.secret, of: root.database)
    return content.secret
  }

  /// The content of a mail, opened with the companion's keys.
  func mailContent(_ sealed: String, ofMail id: String) throws -> MailContent {
    let json = try Cryptography.open(
      sealed, authenticating: Mail.sealingContext(id), with: Self.boxKeys)
    return try #require(MailContent(json: json))
  }

  func verify(
    _ email: String = "ann@example.org", code: String, device: String = "device-1",
    credential: String? = nil, address: String = "192.0.2.1"
  ) -> Answer {
    send(
      "POST", AccountPath.verify, jsonText(["email": email, "deviceId": device, "code": code]),
      fields: credential.map { [(name: "X-Device-Credential", value: $0)] } ?? [], address: address)
  }

  /// Signs in to an existing account.
  func signIn(
    _ email: String = "ann@example.org", device: String = "device-1", name: String? = "Phone",
    address: String = "192.0.2.1"
  ) throws -> SignedIn {
    let asked = requestCode(email, device: device, name: name, address: address)
    try #require(asked.status == 200, "\(asked.text)")
    let answer = verify(email, code: try mailedCode(), device: device, address: address)
    try #require(answer.status == 200, "\(answer.text)")
    return SignedIn(
      email: email, deviceID: device, accountID: try #require(answer.string("user", "id")),
      accessToken: try #require(answer.accessToken),
      refreshToken: try #require(answer.refreshToken))
  }

  func refresh(_ token: String, address: String = "192.0.2.1") -> Answer {
    send("POST", AccountPath.refresh, jsonText(["refreshToken": token]), address: address)
  }

  /// Uses an access token.
  func summary(
    _ token: String, credential: String? = nil, address: String = "192.0.2.1"
  ) -> Answer {
    send(
      "GET", WalletPath.summary, token: token,
      fields: credential.map { [(name: "X-Device-Credential", value: $0)] } ?? [], address: address)
  }
}
