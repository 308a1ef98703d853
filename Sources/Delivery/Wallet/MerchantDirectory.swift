import Base
import Cryptography
package import Store

/// The merchants who take payments, as administrators manage them from a terminal.
package struct MerchantDirectory: Sendable {
  private let merchants: Merchants

  package init(records: Records) {
    merchants = records.merchants
  }

  /// The merchants, one per line, by name.
  package func list() throws -> String {
    let lines = try merchants.list().map { merchant in
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
  /// - Returns: the API key, which is shown only now: the database has its hash.
  package func add(_ name: String) throws -> String {
    let key = "msk_" + base64URLEncoded(randomBytes(32))
    try merchants.add(name, keyHash: sha256(key), keyPrefix: String(key.prefix(12)))
    return key
  }

  /// Revokes a merchant's API key. It ends at the merchant's next request.
  ///
  /// - Returns: false if no merchant has this id and a valid key.
  package func revoke(_ id: String) throws -> Bool { try merchants.revoke(id) }
}
