import MariaDB

/// Payments as the companion ends them.
extension Payments {
  /// Records the expiry of payments that were not confirmed in time. The merchants of those that a server
  /// requested are told.
  ///
  /// - Parameter limit: how many at most; each has its own transaction, so that no lock lasts.
  /// - Returns: how many.
  package func expire(limit: Int) throws -> Int {
    let overdue = try records.read { transaction in
      try transaction.connection.rows(
        "SELECT id FROM payments WHERE open_until <= ? ORDER BY open_until LIMIT ?",
        [.time(records.now), .integer(Int64(limit))]
      ) { row in row.text(0) }
    }
    return try overdue.count { id in
      try records.transaction { transaction in try transaction.payments.expire(id) }
    }
  }
}

extension PaymentStatements {
  /// - Returns: false if another transaction has ended the payment, or is about to.
  fileprivate func expire(_ id: String) throws(DatabaseError) -> Bool {
    let isRequest = try transaction.connection.row(
      "SELECT is_request FROM payments WHERE id = ? AND open_until <= ? FOR UPDATE SKIP LOCKED",
      [.text(id), .time(transaction.now)]
    ) { row in row.boolean(0) }
    guard let isRequest, try markExpired(id) else { return false }
    if isRequest { try transaction.webhooks.post(.expired, of: id) }
    return true
  }

  /// - Returns: false if the payment is no longer open, or has not expired.
  func markExpired(_ id: String) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      """
      UPDATE payments SET expired_at = ?
      WHERE id = ? AND confirmed_at IS NULL AND cancelled_at IS NULL AND expired_at IS NULL
        AND expires_at <= ?
      """,
      [.time(transaction.now), .text(id), .time(transaction.now)]) == 1
  }

  /// Marks a confirmed payment as received by its merchant.
  ///
  /// - Returns: false if it was received before.
  @discardableResult
  func markReceived(_ id: String) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      """
      UPDATE payments SET received_at = ?
      WHERE id = ? AND confirmed_at IS NOT NULL AND received_at IS NULL
      """,
      [.time(transaction.now), .text(id)]) == 1
  }
}
