import Base
import Cryptography
import Foundation
import Store
import Support
import Synchronization
import Testing

@testable import API

/// `POST /api/mobile/auth/login` and `…/verify` of accounts that have passkeys
@Suite struct WalletPasskeySignInTests {
  @Test func thePasskeysAreOfferedAndNoMailIsSent() throws {
    try withPasskey { site, ann, authenticator throws in
      site.forgetPasskeyStarts()
      let answer = site.startSignIn(" ANN@example.org", device: "device-2")
      let challenge = try #require(answer.string("challenge"))
      let id = base64URLEncoded(authenticator.credentialID)
      #expect(answer.status == 200)
      #expect(
        answer.text
          == #"{"challenge":"\#(challenge)","method":"passkey","message":"Sign in with a passkey","#
          + #""emailFallback":true,"passkeyOptions":{"challenge":"\#(challenge)","timeout":300000,"#
          + #""rpId":"api.example.org","allowCredentials":[{"type":"public-key","id":"\#(id)"}],"#
          + #""userVerification":"required"}}"#)
      #expect(answer.field("Cache-Control") == "no-store")
      let hash = sha256(try #require(base64URLDecoded(challenge)))
      #expect(
        site.sql(
          """
          SELECT HEX(challenge_hash), account_id, client_device_id, device_name, platform
          FROM passkey_challenges WHERE purpose = 'authentication'
          """) == "\(hexEncoded(hash).uppercased())\t\(ann.accountID)\tdevice-2\tPhone\tios")
      #expect(["login_codes", "outbox"].map { site.count($0) } == [0, 0])
      #expect(
        site.sql("SELECT name, hits FROM rate_limits WHERE name REGEXP 'code|passkey'")
          == "passkey-start\t1")
    }
  }

  @Test func aPasskeySignsInOnAnyDevice() throws {
    try withPasskey { site, ann, authenticator throws in
      let challenge = try site.signInChallenge(device: "device-2")
      site.advance(by: .milliseconds(299_999))
      let answer = site.verify(authenticator.asserted(answering: challenge), device: "device-2")
      let walletID = site.sql("SELECT wallet_id FROM accounts")
      let (access, refresh) = (
        try #require(answer.accessToken), try #require(answer.refreshToken)
      )
      #expect(answer.status == 200)
      #expect(
        answer.text
          == #"{"user":{"id":"\#(ann.accountID)","email":"ann@example.org","name":"Ann","#
          + #""walletId":"\#(walletID)"},"tokens":{"accessToken":"\#(access)","#
          + #""refreshToken":"\#(refresh)","expiresIn":3600}}"#)
      #expect(answer.field("Cache-Control") == "no-store")
      #expect(site.summary(access).status == 200)
      #expect(walletClaims(access)["deviceId"] as? String == "device-2")
      let device = site.sql(
        "SELECT id, name, platform FROM devices WHERE client_device_id = 'device-2'"
      ).split(separator: "\t").map(String.init)
      #expect(Array(device.dropFirst()) == ["Phone", "ios"])
      #expect(
        site.sql(
          "SELECT account_id, device_id, detail FROM audit_log WHERE event = 'sign_in' ORDER BY id DESC LIMIT 1"
        ) == "\(ann.accountID)\t\(device[0])\tpasskey")
      let list = site.send("GET", WalletPath.passkeys, token: access)
      #expect(list["passkeys", 0, "lastUsedAt"] as? String == walletTime(site.now))
      #expect(site.sql("SELECT sign_count, uses FROM passkeys") == "0\t1")
    }
  }

  @Test(arguments: Authenticator.Algorithm.allCases)
  func eachAlgorithmOfTheOptionsIsTaken(algorithm: Authenticator.Algorithm) throws {
    try withApplication { site throws in
      let ann = try site.signUp()
      let authenticator = Authenticator(algorithm: algorithm)
      try site.addPasskey(authenticator, of: ann)
      #expect(try site.signIn(with: authenticator).status == 200)
    }
  }

  /// Apps may say what the challenge says already.
  @Test(arguments: ["", "email", "challenge", "userHandle", "emptyHandle", "all", "null"])
  func whatIsSentBesidesMustFit(members: String) throws {
    try withPasskey { site, ann, authenticator throws in
      let challenge = try site.signInChallenge()
      let handle = hexDecoded(ann.accountID.replacing("-", with: ""))
      var body: [String: any Sendable] = ["deviceName": "Mac", "platform": "macos"]
      if ["email", "all"].contains(members) { body["email"] = " Ann@Example.org" }
      if ["challenge", "all"].contains(members) { body["challenge"] = challenge }
      if members == "null" {
        body.merge(["email": NSNull(), "challenge": NSNull(), "code": NSNull()]) { $1 }
      }
      let credential = authenticator.asserted(
        answering: challenge,
        userHandle: ["userHandle", "all"].contains(members)
          ? handle : members == "emptyHandle" ? [] : nil)
      #expect(site.verify(credential, body).status == 200)
      #expect(site.sql("SELECT name, platform FROM devices") == "Mac\tmacos")
    }
  }

  @Test func aPasskeyOfAnotherAppOfTheSiteSignsInWhereItsOriginIsConfigured() throws {
    try withPasskey { site, _, authenticator throws in
      var app = authenticator
      app.origin = "android:apk-key-hash:\(base64URLEncoded(sha256("certificate")))"
      #expect(try site.signIn(with: app).isRefusedPasskey)
      let challenge = try site.signInChallenge()
      let body = walletJSON([
        "deviceId": "device-1", "credential": app.asserted(answering: challenge),
      ])
      let other = site.sibling(passkeyOrigins: ["https://app.example.org", app.origin])
      #expect(other.send("POST", WalletPath.verify, body).status == 200)
    }
  }

  enum Wrong: CaseIterable {
    case signature, credential, foreign, removed, handle, type, origin, party, verification
    case presence, frame, top, backup, count
    case device, expired, spent, registration, unknown, garbage, email, challenge, noChallenge
  }

  /// Those that answer no live challenge.
  private static let dead: Set<Wrong> = [
    .device, .expired, .spent, .registration, .unknown, .garbage, .email, .noChallenge,
  ]

  @Test(arguments: Wrong.allCases)
  func whateverIsWrongTheAnswerIsTheSame(wrong: Wrong) throws {
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
      if wrong == .signature {
        var response = credential["response"] as? [String: any Sendable] ?? [:]
        response["signature"] = base64URLEncoded(randomBytes(70))
        credential["response"] = response
      }
      let (sessions, events) = (site.count("sessions"), site.passkeyEvents)
      let stored = site.sql("SELECT sign_count, uses FROM passkeys ORDER BY id")
      let answer = site.verify(credential, device: device, members)
      #expect(
        answer.text == #"{"error":"unauthorized","message":"\#(refusedPasskey)"}"#, "\(wrong)")
      #expect(answer.isRefusedPasskey)
      #expect(answer.field("WWW-Authenticate") == "Bearer")
      #expect(site.count("sessions") == sessions)
      #expect(site.sql("SELECT sign_count, uses FROM passkeys ORDER BY id") == stored)
      #expect(site.passkeyEvents.count == events.count + (Self.dead.contains(wrong) ? 0 : 1))
      if Self.dead.contains(wrong) { return }
      let event = wrong == .count ? "passkey_cloned" : "passkey_refused"
      #expect(site.passkeyEvents.last?.hasPrefix("\(event) sign-in: ") == true)
      if let named = members["challenge"] as? String { challenge = named }
      // Spent, though nothing came of it.
      var right = own
      right.signCount = 8
      #expect(site.verify(right.asserted(answering: challenge)).isRefusedPasskey)
    }
  }

  /// The time cannot tell whether an account has a passkey: the database is asked the same.
  @Test func aWrongSignatureAndAnUnknownPasskeyTakeTheSameStatements() throws {
    try withPasskey { site, _, authenticator throws in
      let commands = Mutex<[MariaDBProxy.Command]>([])
      let proxy = MariaDBProxy(accountSettings(of: "responder", in: site.root)) { command in
        commands.withLock { $0.append(command) }
        return .pass
      }
      let responder = application(on: proxy.settings)
      let login = walletJSON([
        "email": "ann@example.org", "deviceId": "device-1", "deviceName": "Phone",
        "platform": "ios",
      ])
      func statements(of key: Authenticator, signing other: String? = nil) throws
        -> [MariaDBProxy.Command]
      {
        let challenge = try #require(
          responder.send("POST", WalletPath.login, login).string("challenge"))
        var credential = key.asserted(answering: challenge)
        if let other {
          var response = credential["response"] as? [String: any Sendable] ?? [:]
          let wrong = key.asserted(answering: other)["response"] as? [String: any Sendable]
          response["signature"] = wrong?["signature"]
          credential["response"] = response
        }
        commands.withLock { $0 = [] }
        let body = walletJSON(["deviceId": "device-1", "credential": credential])
        #expect(responder.send("POST", WalletPath.verify, body).isRefusedPasskey)
        return commands.withLock { $0 }
      }
      var unknown = authenticator
      unknown.credentialID = randomBytes(32)
      _ = try statements(of: unknown)  // prepares
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
  func aBadMemberIsNamed(member: String, value: (any Sendable)?) throws {
    try withPasskey { site, _, authenticator throws in
      let credential = authenticator.asserted(answering: try site.signInChallenge())
      let answer = site.send(
        "POST", WalletPath.verify, passkeyBody(credential, but: member, is: value))
      let path = member.isEmpty ? "credential" : "credential.\(member)"
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
      #expect(answer.string("message")?.hasPrefix("\(path):") == true, "\(answer.text)")
      #expect(site.verify(credential).status == 200)
    }
  }

  @Test(
    arguments: [("email", 5), ("challenge", 5), ("deviceId", 5), ("method", 5), ("method", "x")]
      as [(String, any Sendable)])
  func aBadMemberBesideIsNamed(member: String, value: any Sendable) throws {
    try withPasskey { site, _, authenticator throws in
      let isStart = member == "method"
      let credential = authenticator.asserted(answering: try site.signInChallenge())
      let answer =
        isStart
        ? site.send(
          "POST", WalletPath.login,
          walletJSON(["email": "ann@example.org", "deviceId": "device-1", member: value]))
        : site.verify(credential, [member: value])
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
      #expect(answer.string("message")?.hasPrefix("\(member):") == true, "\(answer.text)")
    }
  }

  // MARK: counting

  @Test func aCountThatDoesNotRiseIsTheSignOfACopy() throws {
    try withPasskey { site, _, authenticator throws in
      var (original, copy) = (authenticator, authenticator)
      original.signCount = 5
      #expect(try site.signIn(with: original).status == 200)
      copy.signCount = 5
      #expect(try site.signIn(with: copy).isRefusedPasskey)
      copy.signCount = 0
      #expect(try site.signIn(with: copy).isRefusedPasskey)
      original.signCount = .max
      #expect(try site.signIn(with: original).status == 200)
      #expect(site.sql("SELECT sign_count, uses FROM passkeys") == "4294967295\t2")
      #expect(
        site.passkeyEvents.dropFirst()
          == ["passkey_cloned sign-in: signCount", "passkey_cloned sign-in: signCount"])
    }
  }

  @Test func anAuthenticatorThatDoesNotCountSignsInAgainAndAgain() throws {
    try withPasskey { site, _, authenticator throws in
      for _ in 1...3 { #expect(try site.signIn(with: authenticator).status == 200) }
      var single = authenticator
      single.flags &= ~Authenticator.Flag.backedUp
      #expect(try site.signIn(with: single).status == 200)
      #expect(site.sql("SELECT sign_count, is_backed_up, uses FROM passkeys") == "0\t0\t4")
    }
  }

  @Test func ofSixtyFourAtOnceOneSignsIn() throws {
    try withPasskey { site, _, authenticator throws in
      for round in 1...rounds(default: 3) {
        let credential = authenticator.asserted(answering: try site.signInChallenge())
        let answers = simultaneously(64) { _ in site.verify(credential) }
        #expect(answers.filter { $0.status == 200 }.count == 1)
        #expect(answers.filter(\.isRefusedPasskey).count == 63, "\(Set(answers.map(\.text)))")
        #expect(site.count("audit_log WHERE event = 'sign_in' AND detail = 'passkey'") == round)
      }
    }
  }

  /// Each answers its own challenge, so that only the count is in the way.
  @Test func ofThirtyTwoWithOneCountAtOnceOneSignsIn() throws {
    try withPasskey { site, _, authenticator throws in
      var counting = authenticator
      counting.signCount = 9
      let key = counting
      let credentials = try (1...32).map { _ in
        key.asserted(answering: try site.signInChallenge())
      }
      let answers = simultaneously(32) { site.verify(credentials[$0]) }
      #expect(answers.filter { $0.status == 200 }.count == 1)
      #expect(answers.filter(\.isRefusedPasskey).count == 31, "\(Set(answers.map(\.text)))")
      #expect(site.sql("SELECT sign_count, uses FROM passkeys") == "9\t1")
      #expect(site.count("audit_log WHERE event = 'passkey_cloned'") == 31)
    }
  }
}
