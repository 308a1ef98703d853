import Cryptography
import Foundation
import Support
import Testing

@testable import API

extension AccountPath {
  static let passkeyOptions = "/api/mobile/auth/passkey/register/options"
  static let passkeyVerify = "/api/mobile/auth/passkey/register/verify"
  static let passkeys = "/api/mobile/passkeys"
}

/// The message of every refused sign-in with a passkey.
let refusedPasskey = "The passkey was not accepted. Try again, or sign in with a mailed code."

extension TestApplication {
  /// Resets the limits of passkeys.
  func forgetPasskeyStarts() {
    sql("DELETE FROM rate_limits WHERE name LIKE 'passkey%'")
  }

  func passkeyOptions(of person: SignedIn, address: String = "192.0.2.1") -> Answer {
    send("POST", AccountPath.passkeyOptions, token: person.accessToken, address: address)
  }

  func register(
    _ credential: [String: any Sendable], name: (any Sendable)? = nil, of person: SignedIn
  ) -> Answer {
    send(
      "POST", AccountPath.passkeyVerify, jsonText(["credential": credential, "name": name]),
      token: person.accessToken)
  }

  /// Registers a passkey and returns its id; resets the limit first.
  @discardableResult
  func addPasskey(
    _ authenticator: Authenticator, name: String? = nil, of person: SignedIn
  ) throws -> String {
    forgetPasskeyStarts()
    let challenge = try #require(passkeyOptions(of: person).string("challenge"))
    let answer = register(
      authenticator.created(answering: challenge), name: name, of: person)
    try #require(answer.status == 200, "\(answer.text)")
    return try #require(answer.string("id"))
  }

  func startSignIn(
    _ email: String = "ann@example.org", device: String = "device-1", method: String? = nil,
    address: String = "192.0.2.1"
  ) -> Answer {
    send(
      "POST", AccountPath.login,
      jsonText([
        "email": email, "deviceId": device, "deviceName": "Phone", "platform": "ios",
        "method": method,
      ]), address: address)
  }

  /// A challenge for a sign-in; resets the limit first.
  func signInChallenge(_ email: String = "ann@example.org", device: String = "device-1") throws
    -> String
  {
    forgetPasskeyStarts()
    let answer = startSignIn(email, device: device)
    try #require(answer.string("method") == "passkey", "\(answer.text)")
    return try #require(answer.string("challenge"))
  }

  func verify(
    _ credential: [String: any Sendable], device: String = "device-1",
    _ members: [String: any Sendable] = [:], fields: [(name: String, value: String)] = []
  ) -> Answer {
    let body: [String: any Sendable] = ["credential": credential, "deviceId": device]
    return send(
      "POST", AccountPath.verify, jsonText(body.merging(members) { $1 }), fields: fields)
  }

  /// Asks for a challenge and answers it.
  func signIn(
    with authenticator: Authenticator, email: String = "ann@example.org",
    device: String = "device-1"
  ) throws -> Answer {
    verify(
      authenticator.asserted(answering: try signInChallenge(email, device: device)), device: device)
  }

  /// The audit log's events about passkeys, with their details.
  var passkeyEvents: [String] {
    sql("SELECT event, detail FROM audit_log WHERE event LIKE 'passkey%' ORDER BY id")
      .split(separator: "\n").map { String($0).replacing("\t", with: " ") }
  }
}

extension Answer {
  var isRefusedPasskey: Bool {
    status == 401 && string("error") == "unauthorized" && string("message") == refusedPasskey
  }
}

/// Calls `body` with a site where Ann has a passkey, and with the authenticator that holds it.
func withPasskey(
  _ body: (TestApplication, SignedIn, Authenticator) throws -> Void
) throws {
  try withApplication { site in
    let ann = try site.signUp()
    let authenticator = Authenticator()
    try site.addPasskey(authenticator, of: ann)
    try body(site, ann, authenticator)
  }
}

/// A body with `credential`, in which the member at `path` has another value.
func passkeyBody(
  _ credential: [String: any Sendable], but path: String, is value: (any Sendable)?
) -> String {
  func changed(_ value: [String: any Sendable], _ path: [String], _ new: (any Sendable)?)
    -> [String: any Sendable]
  {
    var value = value
    let inner = value[path[0]] as? [String: any Sendable] ?? [:]
    value[path[0]] = path.count == 1 ? new : changed(inner, Array(path.dropFirst()), new)
    return value
  }
  let members = ["credential"] + path.split(separator: ".").map(String.init)
  return jsonText(
    changed(["credential": credential, "deviceId": "device-1"], members, value))
}
