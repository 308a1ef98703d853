import Store

/// A problem in a running site, and its repair.
struct Fault: Sendable {
  /// The name in the table.
  let name: String
  /// The name in `/health`, metrics and alerts.
  let problem: Problem.Name
  /// Words in the sentence of `status`.
  let words: String
  /// The clients' requests during the problem.
  var requests = FaultSite.Request.usual
  /// The repair, in the words of the table.
  let mended: String
  let inject: @Sendable (FaultSite) throws -> Void
  let mend: @Sendable (FaultSite) throws -> Void

  /// Faults that are tried on one site, one after the other.
  enum Group: String, CaseIterable, Sendable {
    case database, parts, outside

    var faults: [Fault] {
      switch self {
      case .database: Fault.ofDatabase
      case .outside: Fault.ofOutside
      case .parts: Fault.ofParts
      }
    }
  }
}
