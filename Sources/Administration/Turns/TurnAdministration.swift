import Base
package import Store

/// Users of online-go.com and the API keys of their apps, for administrators.
package struct TurnAdministration: Sendable {
  private let records: Records

  package init(records: Records) {
    self.records = records
  }

  /// At most `limit` users with ids above `id`.
  package func users(after id: Int64, limit: Int) throws -> Report {
    Report(
      Listing(
        "users",
        ["id", "devices", "active_games", "checked_at", "due_at", "failures", "failure"],
        of: try records.turnUsers.list(after: id, limit: limit)
      ) { user in
        [
          .number(user.id), .number(user.devices), .number(user.activeGames),
          .time(user.checkedAt), .time(user.dueAt), .number(user.failures), .text(user.failure),
        ]
      })
  }

  /// At most `limit` API keys.
  ///
  /// - Parameter userID: the owner of the keys; nil for all users.
  package func keys(of userID: Int64?, limit: Int) throws -> Report {
    Report(
      Listing(
        "keys", ["user", "key", "created_at", "revoked_at", "description"],
        of: try records.apiKeys.list(
          ofUsers: userID.map { $0...$0 } ?? 0...Int64.max, limit: limit)
      ) { key in
        [
          .number(key.userID), .text(key.prefix), .time(key.createdAt), .time(key.revokedAt),
          .text(key.description),
        ]
      })
  }

  /// Revokes the keys of a user that begin with `prefix`, the 8 characters that the list shows.
  ///
  /// - Returns: nil if the user has no such valid key.
  package func revokeKey(beginning prefix: String, of userID: Int64) throws -> Change? {
    guard try records.apiKeys.revoke(beginning: prefix, of: userID) > 0 else { return nil }
    return Change(
      isRehearsal: records.isRehearsal, "Revoked", or: "revoke",
      "the API key \(prefix)… of user \(userID).")
  }
}
