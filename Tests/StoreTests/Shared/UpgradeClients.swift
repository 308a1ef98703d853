import Base
import Foundation
import MariaDB
import Support
import Synchronization

@testable import Store

/// Eight clients that read and write without a pause, with the statements of version 20.
final class UpgradeClients: Sendable {
  struct Record: Sendable {
    var count = 0
    var failures: [String] = []
    var slowest = Duration.zero
  }

  private struct Client: Sendable {
    let tables: Set<String>
    let work: @Sendable (borrowing TimedConnection, _ round: Int64) -> Void
  }

  private let records: Mutex<[Record]>
  private let isStopped = Atomic(false)
  private let ended = DispatchSemaphore(value: 0)

  /// Starts the clients that use only `tables`; nil means all tables of the database.
  init(of store: TestStore, tables: Set<String>? = nil) {
    let columns = store.columns()
    store.sql(Self.rows)
    let settings = accountSettings(of: "responder", in: store.root)
    let clients = Self.clients(columns).filter {
      $0.tables.isSubset(of: tables ?? Set(columns.keys))
    }
    records = Mutex(Array(repeating: Record(), count: clients.count))
    for (number, client) in clients.enumerated() {
      Thread.detachNewThread { [self] in
        run(client, number, settings)
        ended.signal()
      }
    }
  }

  private func run(_ client: Client, _ number: Int, _ settings: ConnectionSettings) {
    do {
      let connection = TimedConnection(try Connection(settings)) { [self] duration, failure in
        records.withLock { records in
          records[number].count += 1
          records[number].slowest = max(records[number].slowest, duration)
          if let failure { records[number].failures.append(failure) }
        }
      }
      var round: Int64 = 0
      while !isStopped.load(ordering: .relaxed) {
        round += 1
        client.work(connection, round)
        usleep(2000)
      }
    } catch {
      records.withLock { $0[number].failures.append("\(error)") }
    }
  }

  /// Waits until each client has executed ten more statements, or one has failed.
  func awaitTenStatements() {
    let target = records.withLock { $0.map { $0.count + 10 } }
    while true {
      let isDone = records.withLock { records in
        !records.allSatisfy { $0.failures.isEmpty }
          || zip(records, target).allSatisfy { $0.count >= $1 }
      }
      if isDone { return }
      usleep(1000)
    }
  }

  /// Stops the clients and returns their records.
  func stop() -> [Record] {
    isStopped.store(true, ordering: .relaxed)
    let count = records.withLock(\.count)
    for _ in 0..<count { ended.wait() }
    return records.withLock { $0 }
  }
}

/// A connection that reports each statement's duration and error.
struct TimedConnection: ~Copyable {
  private let connection: Connection
  private let report: (Duration, String?) -> Void

  init(_ connection: consuming Connection, report: @escaping (Duration, String?) -> Void) {
    self.connection = connection
    self.report = report
  }

  borrowing func run(_ sql: StaticString, _ parameters: [Parameter] = []) {
    let begin = ContinuousClock.now
    do {
      _ = try connection.execute(sql, parameters)
      report(ContinuousClock.now - begin, nil)
    } catch {
      report(ContinuousClock.now - begin, "\(error)")
    }
  }
}

extension UpgradeClients {
  private static let account = "01890a5d-ac96-774b-bcce-b302099a9001"
  private static let device = "01890a5d-ac96-774b-bcce-b302099a9002"
  private static let session = "01890a5d-ac96-774b-bcce-b302099a9003"

  /// The clients' own rows, which fit every version.
  private static let rows = """
    INSERT INTO accounts (id, email, name, username, wallet_id, created_at)
      VALUES ('\(account)', 'bob@example.org', 'Bob', 'bob@example.org', 'wsim_BBBBBBBBBBBB', NOW(3));
    INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
      VALUES ('\(device)', '\(account)', 'device-9', 'Phone', 'ios', NOW(3), NOW(3));
    INSERT INTO device_preferences (device_id, last_updated_at) VALUES ('\(device)', NOW(3));
    INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at)
      VALUES ('\(session)', '\(device)', NOW(3), NOW(3), NOW(3) + INTERVAL 1 DAY);
    """

  private static func clients(_ columns: [String: Set<String>]) -> [Client] {
    [
      preferencesReader, preferencesWriter, limits, loginCodes, turns,
      audit(hasReason: columns["audit_log"]!.contains("attestation_reason")),
      wallet(hasRemoval: columns["enrollments"]!.contains("removed_at")),
      // Responders give up jobs since the version with bank enrollments.
      jobs(givesUp: columns["enrollment_states"] != nil),
    ]
  }

  private static var now: Parameter { .dateTime(milliseconds: Timestamp.now().milliseconds) }

  private static let preferencesReader = Client(
    tables: ["sessions", "devices", "device_preferences"]
  ) { connection, _ in
    connection.run(
      """
      SELECT s.device_id, s.generation, s.confirmed, d.credential_hash, d.credential_expires_at,
        p.push_enabled, p.push_token, p.preferred_models, p.archive_cache_quota_mb,
        p.last_updated_at, p.version, p.last_write_digest, p.last_write_base, d.platform
      FROM sessions s
      JOIN devices d ON d.id = s.device_id
      JOIN device_preferences p ON p.device_id = d.id
      WHERE s.id = ? AND s.ended_at IS NULL AND s.expires_at > ? AND d.revoked_at IS NULL
      """, [.text(session), now])
  }

  private static let preferencesWriter = Client(
    tables: ["sessions", "devices", "device_preferences"]
  ) { connection, round in
    connection.run(
      """
      UPDATE device_preferences p
      JOIN devices d ON d.id = p.device_id
      JOIN sessions s ON s.device_id = d.id
      SET p.push_enabled = ?, p.push_token = ?, p.preferred_models = ?, p.archive_cache_quota_mb = ?,
        p.last_updated_at = ?, p.last_write_digest = ?, p.last_write_base = ?, p.version = p.version + 1
      WHERE p.device_id = ? AND p.version = ? AND d.revoked_at IS NULL AND s.id = ? AND s.ended_at IS NULL
      """,
      [
        .boolean(true), .null, .text("[]"), .integer(512), now, .null, .null, .text(device),
        .integer(round - 1), .text(session),
      ])
  }

  private static let limits = Client(tables: ["rate_limits"]) { connection, round in
    connection.run(
      """
      INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
      VALUES (?, ?, ?, ?, 1, ?)
      ON DUPLICATE KEY UPDATE hits = IF(window_started_at <= ?, 1, hits + 1),
        window_started_at = IF(window_started_at <= ?, VALUES(window_started_at), window_started_at),
        window_seconds = VALUES(window_seconds), allowed = VALUES(allowed)
      RETURNING hits, window_started_at
      """,
      [.text("device-prefs"), .text(device), now, .integer(3600), .integer(30), now, now])
  }

  private static let loginCodes = Client(tables: ["login_codes"]) { connection, round in
    connection.run(
      """
      INSERT INTO login_codes (email, client_device_id, challenge_hash, code_mac, device_name,
        platform, expires_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      ON DUPLICATE KEY UPDATE challenge_hash = VALUES(challenge_hash), code_mac = VALUES(code_mac),
        device_name = VALUES(device_name), platform = VALUES(platform), attempts = 0,
        expires_at = VALUES(expires_at), spent_at = NULL
      """,
      [
        .text("bob@example.org"), .text("device-9"), .bytes(Array(repeating: 1, count: 32)),
        .bytes(Array(repeating: 2, count: 32)), .null, .null, now,
      ])
  }

  private static let turns = Client(tables: ["ogs_users", "ogs_registrations"]) { connection, _ in
    connection.run("INSERT IGNORE INTO ogs_users (id) VALUES (?)", [.integer(9)])
    connection.run(
      """
      INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at) VALUES (?, ?, ?)
      ON DUPLICATE KEY UPDATE registered_at = VALUES(registered_at)
      """, [.integer(9), .text(String(repeating: "9", count: 64)), now])
  }

  private static func audit(hasReason: Bool) -> Client {
    Client(tables: ["audit_log"]) { connection, _ in
      let facts: [Parameter] = [
        now, .text("refreshed"), .text(account), .text(device), .text("r"), .text("192.0.2.1"),
        .null, .null, .null, .null, .text("none"),
      ]
      guard hasReason else {
        return connection.run(
          """
          INSERT INTO audit_log (at, event, account_id, device_id, request_id, address, detail,
            platform, bundle_id, app_version, attestation)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          """, facts)
      }
      connection.run(
        """
        INSERT INTO audit_log (at, event, account_id, device_id, request_id, address, detail,
          platform, bundle_id, app_version, attestation, attestation_reason)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """, facts + [.null])
    }
  }

  private static func wallet(hasRemoval: Bool) -> Client {
    Client(tables: ["banks", "enrollments", "cards"]) { connection, _ in
      guard hasRemoval else {
        return connection.run(
          """
          SELECT b.bsim_id, b.name, COUNT(c.id)
          FROM enrollments e
          JOIN banks b ON b.bsim_id = e.bsim_id
          LEFT JOIN cards c ON c.enrollment_id = e.id AND c.active
          WHERE e.account_id = ? GROUP BY b.bsim_id, b.name, e.enrolled_at
          """, [.text(SampleRows.account)])
      }
      connection.run(
        """
        SELECT b.bsim_id, b.name, COUNT(c.id)
        FROM enrollments e
        JOIN banks b ON b.bsim_id = e.bsim_id
        LEFT JOIN cards c ON c.enrollment_id = e.id AND c.active
        WHERE e.account_id = ? AND e.removed_at IS NULL
        GROUP BY b.bsim_id, b.name, e.enrolled_at
        ORDER BY e.enrolled_at, b.bsim_id
        """, [.text(SampleRows.account)])
    }
  }

  private static func jobs(givesUp: Bool) -> Client {
    Client(tables: ["errands"]) { connection, round in
      let id = Parameter.text("01890a5d-ac96-774b-bccf-" + String(format: "%012d", round))
      connection.run(
        "INSERT INTO errands (id, kind, request, request_id) VALUES (?, ?, ?, ?)",
        [id, .text("turn_check"), .text("{}"), .text("r")])
      connection.run("SELECT state, result FROM errands WHERE id = ? AND state <> 'open'", [id])
      guard givesUp else { return }
      connection.run(
        """
        UPDATE errands SET state = 'dead', finished_at = UTC_TIMESTAMP(3)
        WHERE id = ? AND state = 'open'
        """, [id])
    }
  }
}
