import Base
import Cryptography
import Delivery
import Foundation
import Store
import Synchronization
import Testing

/// The provider token: its format, and the client's action when Apple refuses it.
@Suite(.serialized) struct APNsTokenTests {
  /// Returns these tokens in turn, the last one repeatedly, and keeps the refused tokens.
  final class Tokens: Sendable {
    private let rest: Mutex<[String]>
    let refused = Mutex<[String?]>([])

    init(_ tokens: [String]) {
      rest = Mutex(tokens)
    }

    func next(_ refused: String?) -> String {
      self.refused.withLock { $0.append(refused) }
      return rest.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
    }
  }

  static func expired() throws -> String {
    try providerToken(issuedAt: .now() - .seconds(2 * 3600))
  }

  @Test func aTokenIsASignedStatementOfTeamAndTime() throws {
    let token = try providerToken(issuedAt: Timestamp(milliseconds: 1_763_712_000_999))
    let parts = token.split(separator: ".").map(String.init)
    try #require(parts.count == 3)
    let texts = try parts.prefix(2).map {
      String(decoding: try #require(base64URLDecoded($0)), as: UTF8.self)
    }
    #expect(
      texts == [
        #"{"alg":"ES256","kid":"KEY1234567"}"#, #"{"iss":"TEAM123456","iat":1763712000}"#,
      ])
    let signature = try #require(base64URLDecoded(parts[2]))
    let key = try P256PublicKey(pem: testPublicKey)
    #expect(key.isES256(signature, of: Array("\(parts[0]).\(parts[1])".utf8)))
  }

  @Test func anExpiredTokenIsRenewedAndTheNotificationSentAgain() throws {
    let old = try Self.expired()
    let tokens = Tokens([old, try providerToken()])
    try withAPNs {
      try send(50, to: $0, tokens: tokens.next)
    } thenLook: { fake, sent in
      #expect(sent.isComplete(50))
      #expect(sent.run.accepted == 50)
      #expect(sent.run.connections == 2)
      #expect(sent.run.resent == 1)
      #expect(tokens.refused.withLock { $0 } == [nil, old])
      let received = try fake.received()
      #expect(received.count == 51)
      #expect(Set(received.map(\.providerTokenHash)).count == 2)
    }
  }

  @Test func aRenewedTokenThatIsExpiredTooEndsTheRun() throws {
    let tokens = Tokens([
      try Self.expired(), try providerToken(issuedAt: .now() - .seconds(3 * 3600)),
    ])
    try withAPNs { fake in
      let sent = try send(50, to: fake, tokens: tokens.next)
      #expect(sent.isComplete(1))
      let reason = APNsOutcome.Reason(rawValue: "ExpiredProviderToken")
      #expect(sent.count { $0 == .rejected(status: 403, reason: reason) } == 1)
      #expect(sent.run.end.description.contains("ExpiredProviderToken"))
      #expect(sent.run.connections == 2)
    }
  }

  @Test func aTokenThatCannotBeRenewedEndsTheRunAndKeepsTheWork() throws {
    let tokens = Tokens([try Self.expired()])
    try withAPNs { fake in
      let sent = try send(50, to: fake, tokens: tokens.next)
      #expect(sent.isComplete(1))
      #expect(sent.count { $0 == .notProcessed } == 1)
      #expect(sent.run.connections == 1)
    }
  }

  @Test(arguments: ["InvalidProviderToken", "BadEnvironmentKeyInToken", "Forbidden"])
  func aRefusalOfTheAccountEndsTheRunAfterOneRequest(_ reason: String) throws {
    try withAPNs("answer every 1 403 \(reason)") {
      try send(50, to: $0)
    } thenLook: { fake, sent in
      #expect(sent.isComplete(1))
      #expect(
        sent.count { $0 == .rejected(status: 403, reason: .init(rawValue: reason)) } == 1)
      #expect(sent.run.end.description.contains(reason))
      let received = try fake.received()
      #expect(received.count == 1)
    }
  }

  @Test func aTokenOfAnotherTeamIsInvalid() throws {
    let key = try P256PrivateKey(pem: testPrivateKey)
    try withAPNs { fake in
      let sent = try send(50, to: fake) { _ in
        try ProviderToken.make(
          keyID: "KEY1234567", teamID: "STRANGERS0", issuedAt: .now(), key: key)
      }
      #expect(sent.isComplete(1))
      #expect(sent.run.end.description.contains("InvalidProviderToken"))
    }
  }

  /// Two runs with separate tokens, as if they shared none.
  @Test func aSecondNewTokenWithinTwentyMinutesIsTooMany() throws {
    try withAPNs { fake in
      #expect(try send(5, to: fake).run.accepted == 5)
      let sent = try send(5, to: fake) { _ in
        try providerToken(issuedAt: .now() + .seconds(5))
      }
      #expect(sent.isComplete(1))
      #expect(sent.run.end.description.contains("TooManyProviderTokenUpdates"))
    }
  }

  @Test func withoutATokenNothingIsSentNorLost() throws {
    try withAPNs { fake in
      let sent = try send(50, to: fake, tokens: { _ in throw CryptographyError.unknownKey })
      #expect(sent.isComplete(1))
      #expect(sent.count { $0 == .notProcessed } == 1)
      #expect(sent.run.connections == 0)
      guard case .noProviderToken = sent.run.end else {
        Issue.record("\(sent.run.end)")
        return
      }
    }
  }

  /// Apple may ask for another connection; the notification is sent there.
  @Test(arguments: ["IdleTimeout", "Shutdown"])
  func aReasonOfTheConnectionEndsTheConnectionNotTheRun(_ reason: String) throws {
    let status = reason == "Shutdown" ? 503 : 400
    try withAPNs("answer every 20 \(status) \(reason)") { fake in
      let sent = try send(50, to: fake, limits: testLimits { $0.engine.window = 5 })
      #expect(sent.isComplete(50))
      #expect((3...4).contains(sent.run.connections))
      let refused = sent.count {
        $0 == .rejected(status: status, reason: .init(rawValue: reason))
      }
      #expect(reason == "Shutdown" ? refused == 2 : refused == 0)
      #expect(sent.run.accepted + refused == 50)
    }
  }
}
