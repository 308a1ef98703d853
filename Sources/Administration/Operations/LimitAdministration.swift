package import Store

/// Counted limits of callers, for administrators, who can lift them.
package struct LimitAdministration: Sendable {
  private let records: Records

  package init(records: Records) {
    self.records = records
  }

  /// At most `limit` counts.
  ///
  /// - Parameters:
  ///   - name: name of a limit; nil for all limits.
  ///   - subject: subject of the count; nil for all subjects.
  ///   - isUsedUp: true lists only limits that refuse requests now.
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

  /// Deletes the count of a subject.
  ///
  /// - Returns: nil if there is no such count.
  package func lift(_ name: String, of subject: String) throws -> Change? {
    guard try records.countedLimits.lift(name, of: subject) else { return nil }
    return Change(
      isRehearsal: records.isRehearsal, "Lifted", or: "lift",
      "the limit \(name) of \(subject.printable).")
  }
}
