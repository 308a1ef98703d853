import MariaDB

/// Statements on rows that name an account, its address or its devices, and that no foreign key
/// deletes with the account: codes, counts of limits, registrations, challenges, and APNs hosts of
/// push tokens.
///
/// The id of a phone is not secret, so a row that only names the phone may be another person's. A row
/// is the account's own if it has the account's address or push token, or if its caller showed the
/// credential of the account's device.
///
/// Some rows the responder may not delete: it overwrites the names in them, and the purge deletes
/// them later. Rows are read first and then changed one by one, by key: ranges would lock the gaps
/// between them.
struct AccountTraceStatements: ~Copyable {
  let transaction: Transaction

  /// Erases the traces of an account, which is locked and still exists.
  ///
  /// Codes of an address that it only asked for stay if another account has that address. The
  /// counts of an address stay too, under a digest: otherwise deleting an account would reset the
  /// limits of its address.
  func erase(ofAccount id: String) throws(DatabaseError) {
    let emails =
      try column("SELECT email FROM accounts WHERE id = ?", [.text(id)])
      + column(
        """
        SELECT c.email FROM address_changes c
        WHERE c.account_id = ? AND NOT EXISTS (SELECT 1 FROM accounts a WHERE a.email = c.email)
        """, [.text(id)])
    let devices = try column("SELECT id FROM devices WHERE account_id = ?", [.text(id)])
    for device in devices {
      try eraseChallenges(ofDevice: device)
      try eraseRegistrations(ofDevice: device)
    }
    for email in emails { try eraseCodes(of: email) }
    try eraseCounts(
      of: [id] + devices
        + column(
          "SELECT s.id FROM devices d JOIN sessions s ON s.device_id = d.id WHERE d.account_id = ?",
          [.text(id)])
        + column(
          """
          SELECT k.id FROM devices d JOIN biometric_keys k ON k.device_id = d.id
          WHERE d.account_id = ?
          """, [.text(id)]))
  }

  /// Erases the traces of an address that no account has any more.
  func erase(ofAddress email: String) throws(DatabaseError) { try eraseCodes(of: email) }

  /// Forgets the APNs hosts of those `tokens` that are not registered any more.
  func eraseHosts(ofTokens tokens: [String]) throws(DatabaseError) {
    for token in tokens {
      _ = try transaction.connection.execute(
        "DELETE FROM hosts_of_no_device WHERE token = ?", [.text(token)])
    }
  }

  /// Erases the registrations of the device's phone that have a push token of the account. Others may be another
  /// person's, who waits to sign up there.
  private func eraseRegistrations(ofDevice id: String) throws(DatabaseError) {
    let registrations = try transaction.connection.rows(
      """
      SELECT r.client_device_id, r.address, r.push_token FROM devices d
      JOIN device_registrations r ON r.client_device_id = d.client_device_id
      JOIN push_tokens t ON t.token = r.push_token
      JOIN devices o ON o.id = t.device_id AND o.account_id = d.account_id
      WHERE d.id = ?
      """,
      [.text(id)]
    ) { row in (phone: row.text(0), address: row.text(1), token: row.text(2)) }
    for registration in registrations {
      _ = try transaction.connection.execute(
        "DELETE FROM device_registrations WHERE client_device_id = ? AND address = ? AND push_token = ?",
        [.text(registration.phone), .text(registration.address), .text(registration.token)])
    }
  }

  /// Erases the challenges that the device asked for with its credential: other accounts may use
  /// its phone.
  private func eraseChallenges(ofDevice id: String) throws(DatabaseError) {
    for hash in try hashes(
      """
      SELECT c.challenge_hash FROM devices d
      JOIN phone_challenges c ON c.client_device_id = d.client_device_id AND c.asked_by = ?
      WHERE d.id = ?
      """, [.text(KnownDevice.proven(id: id).subject!), .text(id)])
    {
      try eraseChallenge(hash)
    }
  }

  private func eraseCodes(of email: String) throws(DatabaseError) {
    for code in try codes(
      "SELECT email, client_device_id, asked_by FROM login_codes WHERE email = ?", [.text(email)])
    {
      try erase(code)
    }
  }

  private func erase(_ code: CodeName) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      UPDATE login_codes SET email = ?, client_device_id = 'none', asked_by = '', device_name = NULL,
        spent_at = COALESCE(spent_at, ?)
      WHERE email = ? AND client_device_id = ? AND asked_by = ?
      """,
      [
        .text(transaction.makeID()), .time(transaction.now), .text(code.email), .text(code.phone),
        .text(code.asker),
      ])
  }

  private func eraseChallenge(_ hash: [UInt8]) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "DELETE FROM phone_challenges WHERE challenge_hash = ?", [.bytes(hash)])
  }

  /// Erases the counts of subjects that equal one of `names`, or begin with one and a space.
  private func eraseCounts(of names: [String]) throws(DatabaseError) {
    for limit in try transaction.namesOfLimits {
      for name in names {
        let subjects = try column(
          // The exclamation mark is the character after the space.
          "SELECT subject FROM rate_limits WHERE name = ? AND subject >= ? AND subject < ?",
          [.text(limit), .text(name), .text(name + "!")])
        for subject in subjects {
          _ = try transaction.connection.execute(
            "UPDATE rate_limits SET subject = ?, hits = 0 WHERE name = ? AND subject = ?",
            [.text(transaction.makeID()), .text(limit), .text(subject)])
        }
      }
    }
  }

  /// The push tokens of the account.
  func tokens(of account: String) throws(DatabaseError) -> [String] {
    try column(
      "SELECT t.token FROM devices d JOIN push_tokens t ON t.device_id = d.id WHERE d.account_id = ?",
      [.text(account)])
  }

  private func column(
    _ sql: StaticString, _ parameters: [Parameter] = []
  ) throws(DatabaseError) -> [String] {
    try transaction.connection.rows(sql, parameters) { row in row.text(0) }
  }

  /// The key of a row of `login_codes`. The companion may not read its hashes.
  private typealias CodeName = (email: String, phone: String, asker: String)

  /// - Parameter sql: selects email, client_device_id, asked_by.
  private func codes(
    _ sql: StaticString, _ parameters: [Parameter]
  ) throws(DatabaseError) -> [CodeName] {
    try transaction.connection.rows(sql, parameters) { row in
      (row.text(0), row.text(1), row.text(2))
    }
  }

  private func hashes(
    _ sql: StaticString, _ parameters: [Parameter]
  ) throws(DatabaseError) -> [[UInt8]] {
    try transaction.connection.rows(sql, parameters) { row in row.bytes(0) }
  }
}

extension Transaction {
  var traces: AccountTraceStatements {
    AccountTraceStatements(transaction: Transaction(sharing: self))
  }
}
