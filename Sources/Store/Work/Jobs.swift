import Base
import Cryptography
import FoundationEssentials
import MariaDB

/// Work for the companion whose outcome a request waits for.
package struct Errand: Sendable {
  package enum Kind: String, Sendable {
    case pushTest = "push_test"
    case turnCheck = "turn_check"
    case bankEnrollment = "bank_enrollment"

    /// Whether nobody may do it any more once its request has been told that there is no outcome.
    package var endsWithItsRequest: Bool { self == .bankEnrollment }
  }

  /// Which errands a thread does: a bank that is slow keeps nobody waiting but those who wait for it.
  package enum Lane: Sendable {
    case banks, others

    fileprivate var kinds: String {
      switch self {
      case .banks: Kind.bankEnrollment.rawValue
      case .others: "\(Kind.pushTest.rawValue),\(Kind.turnCheck.rawValue)"
      }
    }
  }

  package let id: String
  package let kind: Kind
  /// JSON: what is to be done.
  package let request: [UInt8]
  /// Of the pass that holds it.
  package let claimID: String
  /// This one included.
  package let attempts: Int64
  /// Of the request that waits for it.
  package let requestID: String
}

/// What has come of an errand.
package enum ErrandOutcome: Sendable {
  /// JSON
  case done([UInt8])
  /// Given up without a result.
  case dead
}

extension Database {
  /// Writes an errand for the companion.
  ///
  /// - Returns: its id.
  package func post(
    _ kind: Errand.Kind, _ request: [UInt8], from origin: Origin, at now: Timestamp
  ) throws -> String {
    let id = timeOrderedUUID(milliseconds: now.milliseconds)
    try pool.write { connection in
      _ = try connection.execute(
        "INSERT INTO errands (id, kind, request, request_id) VALUES (?, ?, ?, ?)",
        [.text(id), .text(kind.rawValue), .bytes(request), .text(origin.requestID.cut(to: 64))])
    }
    return id
  }

  /// What has come of the errand; nil while it is open.
  package func outcome(ofErrand id: String) throws -> ErrandOutcome? {
    try pool.read { connection in
      try connection.row(
        "SELECT state, result FROM errands WHERE id = ? AND state <> 'open'", [.text(id)]
      ) { row in row.text(0) == "done" ? .done(row.bytes(1)) : .dead }
    }
  }

  /// Gives up an errand that nobody waits for any more.
  ///
  /// - Returns: false where it has ended already.
  package func withdraw(errand id: String) throws -> Bool {
    try pool.transaction { connection in
      try connection.execute(
        """
        UPDATE errands SET state = 'dead', finished_at = UTC_TIMESTAMP(3)
        WHERE id = ? AND state = 'open'
        """,
        [.text(id)]) == 1
    }
  }

  /// Claims the errand of the lane that has waited longest, for one minute. The claim is committed before the
  /// work begins, and counts as an attempt; the third that fails to end it buries it.
  ///
  /// - Parameter claimID: a UUID, made for this claim alone.
  package func claimErrand(of lane: Errand.Lane, as claimID: String) throws -> Errand? {
    let claimed = try pool.transaction { connection in
      _ = try connection.execute(
        """
        UPDATE errands SET state = 'dead', finished_at = UTC_TIMESTAMP(3)
        WHERE state = 'open' AND due_at <= UTC_TIMESTAMP(3) AND attempts >= 3
        """)
      return try connection.execute(
        """
        UPDATE errands
        SET claim_id = ?, attempts = attempts + 1, due_at = UTC_TIMESTAMP(3) + INTERVAL 1 MINUTE
        WHERE state = 'open' AND due_at <= UTC_TIMESTAMP(3) AND FIND_IN_SET(kind, ?) > 0
        ORDER BY due_at LIMIT 1
        """,
        [.text(claimID), .text(lane.kinds)])
    }
    guard claimed == 1 else { return nil }
    return try pool.read { connection in
      try connection.row(
        "SELECT id, kind, request, attempts, request_id FROM errands WHERE claim_id = ? AND state = 'open'",
        [.text(claimID)]
      ) { row in
        Errand(
          id: row.text(0), kind: Errand.Kind(rawValue: row.text(1))!,  // an ENUM of these words
          request: row.bytes(2), claimID: claimID, attempts: row.integer(3), requestID: row.text(4))
      }
    }
  }

  /// Records the result of an errand, if the claim is still one's own and somebody waits for it.
  ///
  /// - Returns: false where the lease has passed to another pass, or the errand was given up; nothing
  ///   is written then.
  package func finish(_ errand: Errand, with result: [UInt8]) throws -> Bool {
    try finish(errand, with: result) { _ in }
  }

  /// The same, and in the same transaction what `storing` writes.
  func finish(
    _ errand: Errand, with result: [UInt8], storing: (Connection) throws -> Void
  ) throws -> Bool {
    try pool.transaction { connection in
      let finished = try connection.execute(
        """
        UPDATE errands SET state = 'done', result = ?, finished_at = UTC_TIMESTAMP(3)
        WHERE id = ? AND claim_id = ? AND state = 'open'
        """,
        [.bytes(result), .text(errand.id), .text(errand.claimID)])
      guard finished == 1 else { return false }
      try storing(connection)
      return true
    }
  }
}

extension Errand {
  /// What is to be done, or what came of it, as it is kept in its row.
  package static func json(_ value: some Encodable) throws -> [UInt8] {
    Array(try JSONEncoder().encode(value))
  }

  /// - Throws: `DecodingError`
  package static func decode<Value: Decodable>(_ type: Value.Type, from json: [UInt8]) throws
    -> Value
  {
    try JSONDecoder().decode(type, from: Data(json))
  }
}
