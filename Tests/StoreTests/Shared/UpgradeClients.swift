import Base
import Foundation
import MariaDB
import Support
import Synchronization

@testable import Store

/// Eight clients that read and write all the time, with statements of a responder.
final class UpgradeClients: Sendable {
  struct Record: Sendable {
    var count = 0
    var failures: [String] = []
    var slowest = Duration.zero
  }

  private typealias Client = @Sendable (borrowing TimedConnection, _ round: Int64) -> Void

  private let records: Mutex<[Record]>
  private let isStopped = Atomic(false)
  private let ended = DispatchSemaphore(value: 0)

  /// - Parameter limit: a statement that takes longer fails.
  init(of store: TestStore, answeredWithin limit: Duration) {
    store.sql(Self.rows)
    var patient = accountSettings(of: "responder", in: store.root).answering(within: limit)
    patient.lockTimeout = limit
    let settings = patient
    records = Mutex(Array(repeating: Record(), count: Self.clients.count))
    for (number, client) in Self.clients.enumerated() {
      Thread.detachNewThread { [self] in
        run(client, number, settings)
        ended.signal()
      }
    }
  }

  private func run(_ client: @escaping Client, _ number: Int, _ settings: ConnectionSettings) {
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
        client(connection, round)
        usleep(2000)
      }
    } catch {
      records.withLock { $0[number].failures.append("\(error)") }
    }
  }

  /// Waits until each client has executed ten more statements, or one has failed.
  func awaitTenStatements() {
    let target = records.withLock { $0.map { $0.count + 10 } }
    wait(for: "ten more statements of each client", pause: 1000) {
      records.withLock { records in
        !records.allSatisfy { $0.failures.isEmpty }
          || zip(records, target).allSatisfy { $0.count >= $1 }
      }
    }
  }

  /// Stops the clients and returns their records.
  func stop() -> [Record] {
    isStopped.store(true, ordering: .relaxed)
    let count = records.withLock(\.count)
    waiting(for: "the end of \(count) clients") { for _ in 0..<count { ended.wait() } }
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

  /// The rows that the clients use.
  private static let rows = """
    INSERT INTO accounts (id, email, name, username, wallet_id, created_at)
      VALUES ('\(account)', 'bob@example.org', 'Bob', 'bob@example.org', 'wsim_BBBBBBBBBBBB', NOW(3));
    INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
      VALUES ('\(device)', '\(account)', 'device-9', 'Phone', 'ios', NOW(3), NOW(3));
    INSERT INTO device_preferences (device_id, last_updated_at) VALUES ('\(device)', NOW(3));
    INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at)
      VALUES ('\(session)', '\(device)', NOW(3), NOW(3), NOW(3) + INTERVAL 1 DAY);
    """

  private static let clients: [Client] = [
    readPreferences, writePreferences, countHits, askForCode, registerForTurns, writeAudit,
    listCards, askCompanion,
  ]

  private static var now: Parameter { .dateTime(milliseconds: Timestamp.now().milliseconds) }

  private static let readPreferences: Client = { connection, _ in
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

  private static let writePreferences: Client = { connection, round in
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

  private static let countHits: Client = { connection, round in
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

  private static let askForCode: Client = { connection, round in
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

  private static let registerForTurns: Client = { connection, _ in
    connection.run("INSERT IGNORE INTO ogs_users (id) VALUES (?)", [.integer(9)])
    connection.run(
      """
      INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at) VALUES (?, ?, ?)
      ON DUPLICATE KEY UPDATE registered_at = VALUES(registered_at)
      """, [.integer(9), .text(String(repeating: "9", count: 64)), now])
  }

  private static let writeAudit: Client = { connection, _ in
    connection.run(
      """
      INSERT INTO audit_log (at, event, account_id, device_id, request_id, address, detail,
        platform, bundle_id, app_version, attestation, attestation_reason)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        now, .text("refreshed"), .text(account), .text(device), .text("r"), .text("192.0.2.1"),
        .null, .null, .null, .null, .text("none"), .null,
      ])
  }

  private static let listCards: Client = { connection, _ in
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

  private static let askCompanion: Client = { connection, round in
    let id = Parameter.text("01890a5d-ac96-774b-bccf-" + String(format: "%012d", round))
    connection.run(
      "INSERT INTO jobs (id, kind, request, request_id) VALUES (?, ?, ?, ?)",
      [id, .text("turn_check"), .text("{}"), .text("r")])
    connection.run("SELECT state, result FROM jobs WHERE id = ? AND state <> 'open'", [id])
    connection.run(
      """
      UPDATE jobs SET state = 'dead', finished_at = UTC_TIMESTAMP(3)
      WHERE id = ? AND state = 'open'
      """, [id])
  }
}
