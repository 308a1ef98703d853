package import Base
import Cryptography

/// A phone that has exchanged a pairing token. It has a family of refresh tokens.
package struct PairedDevice: Sendable {
  /// A phone is paired again after this, however often it refreshes.
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

  /// The refresh token of the newest generation. It is made from the row and our keys alone, so that
  /// the same token can be made again.
  package func refreshToken(by issuer: PairingIssuer) -> SignedPairingToken {
    let rest = hmacSHA256("pairing refresh\n\(id)\n\(generation)", with: issuer.keys.newest)
    return issuer.sign(
      PairingToken(
        .refresh, serverID: serverID, issuedAt: rotatedAt, expiresAt: expiresAt,
        nonce: PairingToken.nonce(ofGeneration: generation, rest), deviceID: id))
  }
}

/// What became of a phone's refresh token that was presented.
package enum PairingRefresh: Sendable {
  /// A successor was issued, or the same successor is handed out again.
  case refreshed(PairedDevice)
  /// Another call has just refreshed; nothing has changed.
  case tooLate
  /// The pairing has ended: just now, if the token had been used before.
  case dead
}

/// A phone that may reach the agent, for administrators.
package struct ListedDevice: Sendable {
  package let id: String
  /// nil where nobody has given it one.
  package let givenName: String?
  /// As the app says.
  package let userAgent: String
  /// Of the request that paired it.
  package let address: String
  package let pairedAt: Timestamp
  /// Up to 15 minutes too early.
  package let lastUsedAt: Timestamp

  package var name: String { givenName ?? userAgent }
}

/// What whoever manages the phones calls one of them.
package struct PhoneName: Sendable {
  package static let rule = """
    Enter a name of at most 64 characters, without control characters. An empty one takes the name away.
    """

  /// Empty where the app's own name counts again.
  let text: String

  /// - Parameter text: white space around it does not count.
  /// - Returns: nil where it breaks the ``rule``.
  package init?(_ text: String) {
    self.text = text.trimmed
    guard self.text.unicodeScalars.count <= 64, !self.text.hasControls else { return nil }
  }
}

/// Who ended a pairing: the column `end_reason`.
enum PairingEnd: String {
  case phone, administrator, reuse
  case revokeAll = "revoke_all"
}
