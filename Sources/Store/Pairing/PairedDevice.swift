package import Base
import Cryptography

/// A phone that has exchanged a pairing token. It has a family of refresh tokens.
package struct PairedDevice: Sendable {
  /// The time after which a phone must pair again, however often it refreshes.
  package static let lifetime = Duration.seconds(90 * 24 * 3600)

  /// `device_id` of its tokens.
  package let id: String
  let serverID: String
  /// The place of its newest tokens.
  let place: TokenPlace
  let pairedAt: Timestamp
  /// When the newest refresh token was issued.
  let rotatedAt: Timestamp
  let expiresAt: Timestamp

  /// The same phone with other tokens.
  func with(_ place: TokenPlace, rotatedAt: Timestamp, expiresAt: Timestamp) -> PairedDevice {
    PairedDevice(
      id: id, serverID: serverID, place: place, pairedAt: pairedAt, rotatedAt: rotatedAt,
      expiresAt: expiresAt)
  }

  /// When a refresh token expires.
  static func expiry(of refreshedAt: Timestamp, pairedAt: Timestamp) -> Timestamp {
    min(refreshedAt + PairingToken.Kind.refresh.lifetime, pairedAt + lifetime)
  }

  /// A new access token.
  package func accessToken(by issuer: PairingIssuer, at now: Timestamp) -> SignedPairingToken {
    issuer.sign(
      PairingToken(
        .access, serverID: serverID, issuedAt: now,
        nonce: PairingToken.nonce(at: place, issuer.randomBytes), deviceID: id))
  }

  /// The newest refresh token. It depends only on the row and our keys, so that
  /// the same token can be made again.
  package func refreshToken(by issuer: PairingIssuer) -> SignedPairingToken {
    let rest = hmacSHA256(
      "pairing refresh\n\(id)\n\(place.generation)\n\(place.branch)", with: issuer.keys.newest)
    return issuer.sign(
      PairingToken(
        .refresh, serverID: serverID, issuedAt: rotatedAt, expiresAt: expiresAt,
        nonce: PairingToken.nonce(at: place, rest), deviceID: id))
  }
}

/// The result of presenting a phone's refresh token.
package enum PairingRefresh: Sendable {
  /// A successor was issued, or the newest one is handed out again.
  case refreshed(PairedDevice)
  /// Another call has just refreshed; nothing has changed.
  case tooLate
  /// The pairing has ended: just now, if the token was used before.
  case dead
}

/// A phone that may reach the agent, for administrators.
package struct ListedDevice: Sendable {
  package let id: String
  /// nil if the phone has no given name.
  package let givenName: String?
  /// The app's description of itself.
  package let userAgent: String
  /// The address of the request that paired it.
  package let address: String
  package let pairedAt: Timestamp
  /// Up to 15 minutes too early.
  package let lastUsedAt: Timestamp

  package var name: String { givenName ?? userAgent }
}

/// A name that a person gives to a phone.
package struct PhoneName: Sendable {
  package static let rule = """
    Enter a name of at most 64 characters, without control characters. An empty one takes the name away.
    """

  /// Empty if the app's own name counts again.
  let text: String

  /// - Parameter text: white space around it does not count.
  /// - Returns: nil if it breaks the ``rule``.
  package init?(_ text: String) {
    let trimmed = text.trimmed
    guard trimmed.unicodeScalars.count <= 64, !trimmed.hasControls else { return nil }
    self.text = trimmed.isVisible ? trimmed : ""
  }
}

/// The cause of a pairing's end: the column `end_reason`.
enum PairingEnd: String {
  case phone, administrator, reuse
  case revokeAll = "revoke_all"
}
