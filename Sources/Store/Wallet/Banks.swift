import MariaDB

/// A bank as the apps list it.
package struct ListedBank: Sendable {
  package let bsimID: String
  package let name: String
  /// URL
  package let logoURL: String?

  /// The columns bsim_id, name, logo_url, in that order from 0.
  init(row: borrowing Row) {
    bsimID = row.text(0)
    name = row.text(1)
    logoURL = row.optionalText(2)
  }
}

/// Banks at which accounts enroll.
package struct Banks: Sendable {
  let records: Records

  /// The banks that take enrollments.
  package func list() throws -> [ListedBank] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT bsim_id, name, logo_url FROM banks WHERE authorization_url IS NOT NULL
        ORDER BY name, bsim_id
        """
      ) { row in ListedBank(row: row) }
    }
  }
}

extension Records {
  package var banks: Banks { Banks(records: self) }
}
