package import Base
import Cryptography

/// A phone that has exchanged a pairing token. It has a family of refresh tokens.
package struct PairedDevice: Sendable {
  /// The time after which a phone must pair again, however often it refreshes.
  package static let lifetime = Duration.seconds(90 * 24 * 3600)

  /// `device_id` of its tokens.
  package let id: String
  let serverID: String
  let generation: Int64
  let pairedAt: Timestamp
  /// When the newest generation was issued.
  let rotatedAt: Timestamp
  let expiresAt: Timestamp

  /// When a refresh token expires.
  static func expiry(of refreshedAt: Timestamp, pairedAt: Timestamp) -> Timestamp {
    min(refreshedAt + PairingToken.Kind.refresh.lifetime, pairedAt + lifetime)
  }

  /// A new access token of the newest generation.
  package func accessToken(by issuer: PairingIssuer, at now: Timestamp) -> SignedPairingToken {
    issuer.sign(
      PairingToken(
        .access, serverID: serverID, issuedAt: now,
        nonce: PairingToken.nonce(ofGeneration: generation, issuer.randomBytes), deviceID: id))
  }

  /// The refresh token of the newest generation. It depends only on the row and our keys, so that
  /// the same token can be made again.
  package func refreshToken(by issuer: PairingIssuer) -> SignedPairingToken {
    let rest = hmacSHA256("pairing refresh\n\(id)\n\(generation)", with: issuer.keys.newest)
    return issuer.sign(
      PairingToken(
        .refresh, serverID: serverID, issuedAt: rotatedAt, expiresAt: expiresAt,
        nonce: PairingToken.nonce(ofGeneration: generation, rest), deviceID: id))
  }
}

/// The result of presenting a phone's refresh token.
package enum PairingRefresh: Sendable {
  /// A successor was issued, or the same successor is handed out again.
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
