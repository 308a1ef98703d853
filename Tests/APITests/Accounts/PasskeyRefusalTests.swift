import Base
import Cryptography
import Foundation
import Store
import Support
import Synchronization
import Testing

@testable import API

/// Refused sign-ins with passkeys.
@Suite struct PasskeyRefusalTests {
  enum Wrong: CaseIterable {
    case signature, credential, foreign, removed, handle, type, origin, party, verification
    case presence, frame, top, backup, count
    case device, expired, spent, registration, unknown, garbage, email, challenge, noChallenge
  }

  /// Cases without a live challenge.
  private static let dead: Set<Wrong> = [
    .device, .expired, .spent, .registration, .unknown, .garbage, .email, .noChallenge,
  ]

  @Test(arguments: Wrong.allCases)
  func everyRefusalHasTheSameAnswer(wrong: Wrong) throws {
    try withPasskey { site, ann, own throws in
      site.sql("UPDATE passkeys SET sign_count = 7")
      var (key, device, type) = (own, "device-1", "webauthn.get")
      var (members, handle): ([String: any Sendable], [UInt8]?) = ([:], nil)
      key.signCount = 8
      let bob = try site.signUp(email: "bob@example.org")
      let bobs = Authenticator()
      try site.addPasskey(bobs, of: bob)
      var challenge = try site.signInChallenge()
      switch wrong {
      case .signature: break
      case .credential: key.credentialID = randomBytes(32)
      case .foreign: key = bobs
      case .removed: site.sql("DELETE FROM passkeys WHERE account_id = '\(ann.accountID)'")
      case .handle: handle = hexDecoded(bob.accountID.replacing("-", with: ""))
      case .type: type = "webauthn.create"
      case .origin: key.origin = "http://api.example.org"
      case .party: key.partyID = "example.org"
      case .verification: key.flags &= ~Authenticator.Flag.verified
      case .presence: key.flags &= ~Authenticator.Flag.present
      case .frame: key.extraClientData = #","crossOrigin":true"#
      case .top: key.extraClientData = #","topOrigin":"https://example.org""#
      case .backup:
        key.flags &= ~(Authenticator.Flag.backupEligible | Authenticator.Flag.backedUp)
      case .count: key.signCount = 7
      case .device: device = "device-2"
      case .expired: site.advance(by: .seconds(300))
      case .spent:
        #expect(site.verify(key.asserted(answering: challenge)).status == 200)
        key.signCount = 9
      case .registration: challenge = try #require(site.passkeyOptions(of: ann).string("challenge"))
      case .unknown: challenge = base64URLEncoded(randomBytes(32))
      case .garbage: challenge = "?"
      case .email: members["email"] = "bob@example.org"
      case .challenge: members["challenge"] = try site.signInChallenge()
      case .noChallenge: members["challenge"] = "?"
      }
      var credential = key.asserted(answering: challenge, type: type, userHandle: handle)
      if wrong == .signature { breakSignature(of: &credential) }
      let (sessions, events) = (site.count("sessions"), site.passkeyEvents)
      let stored = site.sql("SELECT sign_count, uses FROM passkeys ORDER BY id")
      let answer = site.verify(credential, device: device, members)
      // The answer signals an unknown credential only if no account has the passkey.
      let isSaid = answer["signalUnknownCredential"] != nil
      #expect(isSaid == [.credential, .removed].contains(wrong), "\(wrong)")
      #expect(answer.isRefusedPasskey)
      #expect(answer.field("WWW-Authenticate") == "Bearer")
      #expect(site.count("sessions") == sessions)
      #expect(site.sql("SELECT sign_count, uses FROM passkeys ORDER BY id") == stored)
      #expect(site.passkeyEvents.count == events.count + (Self.dead.contains(wrong) ? 0 : 1))
      if Self.dead.contains(wrong) { return }
      let event = wrong == .count ? "passkey_cloned" : "passkey_refused"
      #expect(site.passkeyEvents.last?.hasPrefix("\(event) sign-in: ") == true)
      if let named = members["challenge"] as? String { challenge = named }
      // The refused answer has used the challenge.
      var right = own
      right.signCount = 8
      #expect(site.verify(right.asserted(answering: challenge)).isRefusedPasskey)
    }
  }

  private func breakSignature(of credential: inout [String: any Sendable]) {
    var response = credential["response"] as? [String: any Sendable] ?? [:]
    response["signature"] = base64URLEncoded(randomBytes(70))
    credential["response"] = response
  }

  /// The time does not reveal whether an account has a passkey.
  @Test func wrongSignaturesAndUnknownPasskeysTakeTheSameStatements() throws {
    try withPasskey { site, _, authenticator throws in
      let commands = Mutex<[MariaDBProxy.Command]>([])
      let proxy = MariaDBProxy(accountSettings(of: "responder", in: site.root)) { command in
        commands.withLock { $0.append(command) }
        return .pass
      }
      let responder = Application.ofTests(on: proxy.settings)
      let login = jsonText([
        "email": "ann@example.org", "deviceId": "device-1", "deviceName": "Phone",
        "platform": "ios",
      ])
      func statements(of key: Authenticator, signing other: String? = nil) throws
        -> [MariaDBProxy.Command]
      {
        let challenge = try #require(
          responder.send("POST", AccountPath.login, login).string("challenge"))
        var credential = key.asserted(answering: challenge)
        if let other {
          var response = credential["response"] as? [String: any Sendable] ?? [:]
          let wrong = key.asserted(answering: other)["response"] as? [String: any Sendable]
          response["signature"] = wrong?["signature"]
          credential["response"] = response
        }
        commands.withLock { $0 = [] }
        let body = jsonText(["deviceId": "device-1", "credential": credential])
        #expect(responder.send("POST", AccountPath.verify, body).isRefusedPasskey)
        return commands.withLock { $0 }
      }
      var unknown = authenticator
      unknown.credentialID = randomBytes(32)
      _ = try statements(of: unknown)  // prepares the statements
      let known = try statements(of: authenticator, signing: "another")
      #expect(known.count > 5)
      #expect(try statements(of: unknown) == known)
      #expect(
        site.passkeyEvents.suffix(3)
          == Array(repeating: "passkey_refused sign-in: signature", count: 3)[...])
    }
  }

  private static let members: [(String, (any Sendable)?)] = [
    ("", "x"), ("", ["x"]), ("id", nil), ("id", "AA=="), ("rawId", nil), ("rawId", "AAAA"),
    ("type", nil), ("type", "public_key"), ("response", nil), ("response", "x"),
    ("response.clientDataJSON", nil), ("response.clientDataJSON", "{}"),
    ("response.authenticatorData", nil), ("response.authenticatorData", 5),
    ("response.authenticatorData", String(repeating: "A", count: 5464)),
    ("response.signature", nil), ("response.signature", "AB"), ("response.signature", ""),
    ("response.signature", String(repeating: "A", count: 684)),
    ("response.userHandle", 5),
    ("response.userHandle", String(repeating: "A", count: 88)),
  ]

  @Test(arguments: members)
  func malformedMembersOfTheCredentialAreNamed(member: String, value: (any Sendable)?) throws {
    try withPasskey { site, _, authenticator throws in
      let credential = authenticator.asserted(answering: try site.signInChallenge())
      let answer = site.send(
        "POST", AccountPath.verify, passkeyBody(credential, but: member, is: value))
      let path = member.isEmpty ? "credential" : "credential.\(member)"
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
      #expect(answer.complaint?.hasPrefix("\(path):") == true, "\(answer.text)")
      #expect(site.verify(credential).status == 200)
    }
  }

  @Test(
    arguments: [("email", 5), ("challenge", 5), ("deviceId", 5), ("method", 5), ("method", "x")]
      as [(String, any Sendable)])
  func otherMalformedMembersAreNamed(member: String, value: any Sendable) throws {
    try withPasskey { site, _, authenticator throws in
      let isStart = member == "method"
      let credential = authenticator.asserted(answering: try site.signInChallenge())
      let answer =
        isStart
        ? site.send(
          "POST", AccountPath.login,
          jsonText(["email": "ann@example.org", "deviceId": "device-1", member: value]))
        : site.verify(credential, [member: value])
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
      #expect(answer.complaint?.hasPrefix("\(member):") == true, "\(answer.text)")
    }
  }
}
