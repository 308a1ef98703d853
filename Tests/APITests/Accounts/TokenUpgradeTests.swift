import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API

/// Tokens that were issued before tokens had branches go on to work.
@Suite struct TokenUpgradeTests {
  @Test func sessionsFromBeforeStaySignedIn() throws {
    try withApplication { site in
      let ann = try site.signUp()
      #expect(tokenClaims(ann.accessToken)["gen"] as? Int64 == 1)
      #expect(tokenClaims(ann.refreshToken)["gen"] as? Int64 == 1)
      let id = site.sql("SELECT id FROM sessions")
      let jti = base64URLEncoded(
        hmacSHA256("refresh\n\(id)\n1", with: TestApplication.keys.newest))
      #expect(tokenClaims(ann.refreshToken)["jti"] as? String == jti)
    }
  }

  /// The network of the newest tokens is unknown.
  @Test func callsAtOnceDuringTheUpgradeGetTheSameSuccessor() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let first = site.refresh(ann.refreshToken)
      site.sql("UPDATE sessions SET rotated_from = ''")
      #expect(
        site.refresh(ann.refreshToken, address: "203.0.113.9").refreshToken == first.refreshToken)
    }
  }

  @Test func pairedPhonesFromBeforeStayPaired() throws {
    try withAgent { site in
      let phone = try site.payload(try site.pair().refresh)
      let access = legacy(.access, like: phone)
      let refresh = legacy(.refresh, like: phone)
      #expect(site.ask(bearer: access) == 204)
      let next = try Paired(site.refreshPairing(refresh))
      #expect(site.ask(bearer: access) == 204)
      #expect(site.ask(bearer: next.access) == 204)
    }
  }

  private func legacy(_ kind: PairingToken.Kind, like phone: PairingToken) -> String {
    PairingToken(
      kind, serverID: phone.serverID, issuedAt: phone.issuedAt,
      nonce: base64URLEncoded([0, 0, 0, 1] + [UInt8](repeating: 9, count: 8)),
      deviceID: phone.deviceID
    ).signedText(with: TestApplication.keys.newest)
  }
}
