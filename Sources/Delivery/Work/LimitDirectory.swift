package import Store

/// The limits that callers have used up, as administrators look at them and lift them.
package struct LimitDirectory: Sendable {
  private let records: Records

  package init(records: Records) {
    self.records = records
  }

  /// At most `limit` counts.
  ///
  /// - Parameters:
  ///   - name: of one limit; nil: of all.
  ///   - subject: one who is counted; nil: all.
  ///   - isUsedUp: whether only those are listed that let nobody through now.
  package func show(
    named name: String?, of subject: String?, isUsedUp: Bool, limit: Int
  ) throws -> Report {
    Report(
      Listing(
        "limits", ["name", "subject", "hits", "allowed", "free_at"],
        of: try records.countedLimits.list(
          named: name, of: subject, isUsedUp: isUsedUp, limit: limit)
      ) { count in
        [
          .text(count.name), .text(count.subject), .number(count.hits), .number(count.allowed),
          .time(count.freeAt),
        ]
      })
  }

  /// Forgets what was counted of a subject.
  ///
  /// - Returns: nil where nothing is counted.
  package func lift(_ name: String, of subject: String) throws -> Change? {
    guard try records.countedLimits.lift(name, of: subject) else { return nil }
    return Change(
      isRehearsal: records.isRehearsal, "Lifted", or: "lift",
      "the limit \(name) of \(subject.printable).")
  }
}
