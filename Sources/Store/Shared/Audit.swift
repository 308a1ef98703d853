import Base
import MariaDB

/// The app's description of itself in its headers, kept for risk analysis and never trusted, and
/// the result of its proof that it is genuine.
package struct ClientFacts: Sendable, Equatable {
  package enum Attestation: String, Sendable {
    case none, stub, unverified, verified, refused
  }

  package let platform: String?
  package let bundleID: String?
  package let appVersion: String?
  package var attestation: Attestation
  /// The reason why the app has not proven that it is genuine; nil if it has, or if no proof is
  /// required.
  package var attestationReason: String?

  package init(
    platform: String?, bundleID: String?, appVersion: String?, attestation: Attestation,
    attestationReason: String? = nil
  ) {
    self.platform = platform
    self.bundleID = bundleID
    self.appVersion = appVersion
    self.attestation = attestation
    self.attestationReason = attestationReason
  }
}

/// A kind of event in the audit log. Each room declares its own.
struct AuditEvent: Hashable, Sendable {
  /// The word in the column `event`.
  let name: String
  /// Whether each address gets only the first ``Limit/auditRows(of:)`` rows.
  let isRefusal: Bool

  init(_ name: String) {
    self.name = name
    isRefusal = false
  }

  private init(refusal name: String) {
    self.name = name
    isRefusal = true
  }

  /// The refusal of a request. Callers can cause it as often as they want, so its rows are limited.
  static func refusal(_ name: String) -> AuditEvent { AuditEvent(refusal: name) }
}

extension Limit {
  /// The rows of a refusal that one address can cause. The others are only counted.
  static func auditRows(of event: AuditEvent) -> Limit {
    Limit(name: "audit-\(event.name)", allowed: 600, window: .seconds(3600))
  }
}

/// Statements on `audit_log`.
struct AuditStatements: ~Copyable {
  let transaction: Transaction

  /// Writes one row. `detail` says what happened in words and never holds a secret.
  ///
  /// For a refusal it runs several statements, so call it in a transaction.
  /// Cleans text from clients, because people read the rows in a terminal.
  func write(
    _ event: AuditEvent, account: String? = nil, device: String? = nil, detail: String? = nil,
    facts: ClientFacts? = nil
  ) throws(DatabaseError) {
    if event.isRefusal, try !transaction.limits.admitAddress(.auditRows(of: event)) { return }
    let origin = transaction.origin
    _ = try transaction.connection.execute(
      """
      INSERT INTO audit_log (at, event, account_id, device_id, request_id, address, detail,
        platform, bundle_id, app_version, attestation, attestation_reason)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .time(transaction.now), .text(event.name), .text(account), .text(device),
        .text(origin.storedRequestID), .text(origin.storedAddress), .clean(detail, 200),
        .clean(facts?.platform, 20), .clean(facts?.bundleID, 128), .clean(facts?.appVersion, 32),
        .text(facts?.attestation.rawValue), .text(facts?.attestationReason),
      ])
  }
}

extension Parameter {
  /// At most `count` characters of `text`, without control characters.
  fileprivate static func clean(_ text: String?, _ count: Int) -> Parameter {
    .text(text?.cut(to: count).withoutControls)
  }
}

extension Transaction {
  var audit: AuditStatements { AuditStatements(transaction: Transaction(sharing: self)) }
}

/// A refusal that writes an audit row, or another change, although its transaction was rolled back.
package protocol AuditedRefusal: Error {
  func writeAudit(in records: Records) throws
}
