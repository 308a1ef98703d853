package import Base
import Cryptography
package import Store

/// Where an administrator keeps the merchants who take payments.
package struct MerchantDesk: Sendable {
  private let database: Database

  package init(database: Database) {
    self.database = database
  }

  /// The merchants, one on a line, by name.
  package func list() throws -> String {
    let lines = try database.merchants().map { merchant in
      [
        merchant.id, merchant.createdAt.rfc3339,
        (merchant.revokedAt?.rfc3339 ?? "-").padded(to: 20), merchant.keyPrefix,
        merchant.name.printable,
      ].joined(separator: "  ")
    }
    let head =
      "ID".padded(to: 36) + "  " + "ADDED".padded(to: 20) + "  " + "REVOKED".padded(to: 20)
      + "  KEY           NAME"
    return ([head] + lines).joined(separator: "\n")
  }

  /// Adds a merchant.
  ///
  /// - Returns: the API key, which nobody can be told again.
  package func add(_ name: String, at now: Timestamp) throws -> String {
    let key = "msk_" + base64URLEncoded(randomBytes(32))
    _ = try database.addMerchant(
      name, keyHash: sha256(key), keyPrefix: String(key.prefix(12)), from: .administrator, at: now)
    return key
  }

  /// Makes the key of a merchant good for nothing, at its next request.
  ///
  /// - Returns: false where no merchant has this id and a good key.
  package func revoke(_ id: String, at now: Timestamp) throws -> Bool {
    try database.revokeMerchant(id, from: .administrator, at: now)
  }
}
