import Base
import Cryptography
import Store
import Support
import Testing

@testable import Delivery

/// Accounts with push tokens, and rows written with the responder's database account.
extension TestDelivery {
  func accountID(of email: String = "ann@example.org") -> String {
    sql("SELECT id FROM accounts WHERE email = '\(email)'")
  }

  /// Gives each token to a new device of the account with this address, which is signed in.
  func registerPushTokens(
    _ tokens: [String], platform: String = "ios", of email: String = "ann@example.org"
  ) {
    let statements = tokens.map { token in
      """
      SET @id = UUID();
      INSERT IGNORE INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
        SELECT @id, id, LEFT(SHA2('\(token)', 256), 36), 'D', 'ios', NOW(3), NOW(3) FROM accounts
        WHERE email = '\(email)';
      INSERT IGNORE INTO device_preferences (device_id, last_updated_at)
        SELECT id, NOW(3) FROM devices WHERE id = @id;
      INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at, began_by)
        SELECT UUID(), id, NOW(3), NOW(3), NOW(3) + INTERVAL 1 DAY, 'code' FROM devices WHERE id = @id;
      INSERT IGNORE INTO push_tokens (token, device_id, platform, registered_at)
        SELECT '\(token)', id, '\(platform)', UTC_TIMESTAMP(3) - INTERVAL 1 MINUTE FROM devices
        WHERE id = @id;
      """
    }
    sql(
      """
      INSERT IGNORE INTO accounts (id, email, name, username, wallet_id, created_at)
        VALUES (UUID(), '\(email)', 'A', '\(email)', CONCAT('wsim_', UPPER(LEFT(SHA2('\(email)', 256), 12))), NOW(3));
      """ + statements.joined())
  }

  static let message = DemoPushMessage(
    title: "T", body: "B", badge: 1, sound: "default", data: #"{"a":1}"#)

  func demoPush(_ tokens: [String], saying message: DemoPushMessage = message) -> DemoPush {
    DemoPush(accountID: accountID(), tokens: tokens, isNamed: false, message: message)
  }

  /// The output of SQL with the responder's rights, like those of an attacker in the responder.
  @discardableResult
  func sqlOfResponder(_ statements: String) -> String {
    let account = account(of: "responder")
    return runProgram(
      "mariadb",
      [
        "--no-defaults", "--socket=\(account.socket!)", "--user=\(account.user)",
        "--skip-column-names", "--batch", "--default-character-set=utf8mb4", account.database,
        "--execute", statements,
      ]
    ).output
  }

  /// Writes a job with the responder's rights.
  ///
  /// - Parameter request: the request's JSON.
  func insertJob(_ kind: String, _ request: [UInt8]) {
    let printed = sqlOfResponder(
      """
      INSERT INTO jobs (id, kind, request, request_id)
        VALUES (UUID(), '\(kind)', CONVERT(x'\(hexEncoded(request))' USING utf8mb4), 'r')
      """)
    #expect(printed == "")
  }

  /// The outcomes of all tests, in the order of their rows.
  func demoPushOutcomes() throws -> [DemoPushOutcome] {
    let results = sql("SELECT result FROM jobs WHERE state = 'done' ORDER BY finished_at, id")
    return try results.split(separator: "\n").map {
      try decoded(DemoPushOutcome.self, from: Array($0.utf8))
    }
  }
}
