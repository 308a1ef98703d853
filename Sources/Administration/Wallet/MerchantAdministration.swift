import Base
import Cryptography
package import Store

/// Merchants who take payments, for administrators at a terminal.
package struct MerchantAdministration: Sendable {
  let records: Records

  package init(records: Records) {
    self.records = records
  }

  /// Lists the merchants, sorted by name.
  package func list() throws -> Report {
    Report(
      Listing(
        "merchants",
        [
          "id", "added_at", "revoked_at", "key", "largest_amount", "hourly_requests",
          "return_origins", "webhook_url", "name",
        ],
        of: try records.merchants.list()
      ) { merchant in
        [
          .text(merchant.id), .time(merchant.createdAt), .time(merchant.revokedAt),
          .text(merchant.keyPrefix), .text(merchant.largestAmount),
          .number(merchant.hourlyRequests), .words(merchant.returnOrigins),
          .text(merchant.webhookURL), .text(merchant.name),
        ]
      })
  }

  /// Adds a merchant.
  ///
  /// - Returns: the merchant with the API key, which is shown only now, because the database has
  ///   only its hash.
  /// - Throws: ``NameTaken``, before anything is written.
  package func add(_ name: String) throws -> NewMerchant {
    let key = "msk_" + base64URLEncoded(randomBytes(32))
    guard
      let id = try records.merchants.add(
        name, keyHash: sha256(key), keyPrefix: String(key.prefix(12)))
    else { throw NameTaken(name: name) }
    return NewMerchant(id: id, key: key, name: name, isRehearsal: records.isRehearsal)
  }

  /// Revokes a merchant's API key. The merchant's next request is refused.
  ///
  /// - Returns: nil if no merchant has this id and a valid key.
  package func revoke(_ id: String) throws -> Change? {
    guard try records.merchants.revoke(id) else { return nil }
    return Change(
      isRehearsal: records.isRehearsal, "Revoked", or: "revoke",
      "the API key of the merchant \(id).")
  }
}

/// Another merchant with a valid key has the name, so payers could not distinguish the two.
package struct NameTaken: Error, CustomStringConvertible {
  let name: String

  package var description: String {
    "There is a merchant with the name \(name.printable) already. Choose another name, or revoke that merchant's key first."
  }
}

/// Merchant that was added, with the API key, or would be without the dry run.
package struct NewMerchant: CommandAnswer, Sendable {
  package let id: String
  package let key: String
  let name: String
  let isRehearsal: Bool

  /// Only the key, so that a script can use it.
  package var text: String { isRehearsal ? change.text : key }

  package var json: [UInt8] { change.json }

  private var change: Change {
    let made: [(name: StaticString, value: String)] = [("id", id), ("api_key", key)]
    return Change(
      isRehearsal: isRehearsal, "Added", or: "add", "the merchant \(name.printable).",
      isRehearsal ? [] : made)
  }
}
