import Administration
import Foundation
import Store
import Support
import Testing

/// Administrators' commands, with the rights of the companion's account.
extension TestDelivery {
  /// - Parameter isRehearsal: true like `--dry-run`.
  func records(isRehearsal: Bool = false) -> Records {
    companionDatabase.records(at: .now(), from: .administrator, isRehearsal: isRehearsal)
  }

  /// All rows of all tables.
  var dump: String {
    let outcome = runProgram(
      "mariadb-dump",
      [
        "--no-defaults", "--socket=\(root.socket!)", "--user=\(root.user)", "--no-create-info",
        "--skip-comments", "--skip-extended-insert", "--order-by-primary", root.database,
      ])
    precondition(outcome.status == 0, outcome.output)
    return outcome.output
  }

  /// Events of administrators, the oldest first.
  var administratorsEvents: [String] {
    sql(
      "SELECT CONCAT_WS(' ', event, detail) FROM audit_log WHERE request_id = 'administrator' ORDER BY id"
    ).split(separator: "\n").map(String.init)
  }

  /// Runs `change` like `--dry-run`, which must change nothing, and then for real.
  func rehearseAndDo<Answer: CommandAnswer>(
    _ change: (Records) throws -> Answer?, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> Answer {
    let before = dump
    let rehearsal = try #require(
      try change(records(isRehearsal: true)), sourceLocation: sourceLocation)
    #expect(rehearsal.text.hasPrefix("Would "), sourceLocation: sourceLocation)
    #expect(
      rehearsal.text.hasSuffix(" Nothing was changed."), sourceLocation: sourceLocation)
    #expect(
      try object(of: rehearsal)["dry_run"] as? Bool == true, sourceLocation: sourceLocation)
    #expect(dump == before, sourceLocation: sourceLocation)
    let answer = try #require(try change(records()), sourceLocation: sourceLocation)
    #expect(
      try object(of: answer)["dry_run"] as? Bool == false, sourceLocation: sourceLocation)
    #expect(dump != before, sourceLocation: sourceLocation)
    return answer
  }

  /// Adds a device of Ann's with a session and the push token `token`.
  ///
  /// - Returns: the ids of device and session.
  @discardableResult
  func addDevice(_ token: String, platform: String = "ios", pushes: Bool = true) -> (
    device: String, session: String
  ) {
    let ids = sql(
      """
      SET time_zone = '+00:00';
      SET @device = UUID(), @session = UUID();
      INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
        SELECT @device, id, UUID(), 'D', '\(platform)', NOW(3), NOW(3) FROM accounts;
      INSERT INTO push_tokens (token, device_id, platform, registered_at)
        VALUES ('\(token)', @device, '\(platform)', NOW(3));
      INSERT INTO device_preferences (device_id, last_updated_at, version, push_enabled, push_token)
        VALUES (@device, NOW(3), 1, \(pushes), '\(token)');
      INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at)
        VALUES (@session, @device, NOW(3), NOW(3), NOW(3) + INTERVAL 30 DAY);
      SELECT @device, @session;
      """
    ).split(separator: "\t").map(String.init)
    return (ids[0], ids[1])
  }
}

/// The JSON object of an answer.
func object(of answer: some CommandAnswer) throws -> [String: Any] {
  try #require(
    JSONSerialization.jsonObject(with: Data(answer.json)) as? [String: Any])
}

/// The rows of a list, as JSON.
func rows(_ name: String, of report: Report) throws -> [[String: Any]] {
  try #require(object(of: report)[name] as? [[String: Any]])
}
