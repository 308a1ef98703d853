import Store

/// Something that breaks in a running site, and how it is mended.
struct Fault: Sendable {
  /// In the table.
  let name: String
  /// What `/health`, metrics and alerts call it.
  let condition: Condition.Name
  /// In the sentence of `status`.
  let words: String
  /// What clients ask for meanwhile.
  var requests = FaultSite.Request.usual
  /// In the table.
  let mended: String
  let inject: @Sendable (FaultSite) throws -> Void
  let mend: @Sendable (FaultSite) throws -> Void

  /// Those of one site, one after the other.
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
