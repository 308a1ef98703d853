import Base
import MariaDB

/// The refusal of a list of models.
package struct ModelsRefusal: Error, Equatable {
  package enum Reason: String, Sendable {
    case empty = "empty_model"
    case unknown = "unknown_model"
    case tooLong = "model_too_long"
    case controlCharacter = "control_character"
    case tooMany = "too_many_models"
  }
  package let reason: Reason
  /// The rejected name, if it is empty or unknown.
  package let value: String?
}

/// The catalogue of models as requests use it.
package struct Models: Sendable {
  let records: Records

  /// The names in their order. Counted for the account that reads them, or else for the address.
  ///
  /// - Throws: ``RateLimited``.
  package func list(readBy account: String?) throws -> [String] {
    try records.transaction { transaction in
      if let account {
        try transaction.limits.count(.modelsReads, of: account)
      } else {
        try transaction.limits.countAddress(.modelsReads)
      }
      return try transaction.models.catalogue().names
    }
  }

  /// The names in their order, for an administrator.
  package func list() throws -> [String] {
    try records.read { transaction in try transaction.models.catalogue().names }
  }

  /// Replaces the catalogue. While it is empty, the apps may choose any name.
  ///
  /// - Parameter names: in their order; no two differ in case only.
  package func replace(with names: [String]) throws {
    try records.transaction { transaction in
      _ = try transaction.connection.execute("DELETE FROM models")
      for (position, name) in names.enumerated() {
        _ = try transaction.connection.execute(
          "INSERT INTO models (name, position) VALUES (?, ?)",
          [.text(name), .integer(Int64(position + 1))])
      }
      try transaction.audit.write(.modelsChanged, detail: names.joined(separator: ", "))
    }
  }
}

extension Records {
  package var models: Models { Models(records: self) }
}

/// The models from which the apps choose.
struct ModelCatalogue {
  /// In their order.
  let names: [String]

  /// `chosen` in the catalogue's spelling, each once; any names while the catalogue is empty.
  ///
  /// - Parameter stored: the device's earlier choice. Its names may stay even if they have left the
  ///   catalogue. Called only if a name is not in the catalogue.
  /// - Throws: ``ModelsRefusal``; what `stored` throws.
  func canonical(_ chosen: [String], keeping stored: () throws -> [String]) throws -> [String] {
    do throws(ModelsRefusal) {
      return try canonical(chosen, among: names)
    } catch  where error.reason == .unknown {
      return try canonical(chosen, among: stored() + names)
    }
  }

  private func canonical(
    _ chosen: [String], among names: [String]
  ) throws(ModelsRefusal) -> [String] {
    var spelling: [String: String] = [:]
    for name in names { spelling[name.lowercased()] = name }
    var seen: Set<String> = []
    var canonical: [String] = []
    for name in chosen.map(\.trimmed) {
      let folded = name.lowercased()
      guard !name.isEmpty else { throw ModelsRefusal(reason: .empty, value: name) }
      guard name.unicodeScalars.count <= 128 else {
        throw ModelsRefusal(reason: .tooLong, value: nil)
      }
      guard !name.hasControls else { throw ModelsRefusal(reason: .controlCharacter, value: nil) }
      guard names.isEmpty || spelling[folded] != nil else {
        throw ModelsRefusal(reason: .unknown, value: name)
      }
      if seen.insert(folded).inserted { canonical.append(spelling[folded] ?? name) }
    }
    guard canonical.count <= 16 else { throw ModelsRefusal(reason: .tooMany, value: nil) }
    return canonical
  }
}

/// Statements on `models`.
struct ModelStatements: ~Copyable {
  let transaction: Transaction

  func catalogue() throws(DatabaseError) -> ModelCatalogue {
    ModelCatalogue(
      names: try transaction.connection.rows("SELECT name FROM models ORDER BY position, name") {
        row in row.text(0)
      })
  }
}

extension Transaction {
  var models: ModelStatements { ModelStatements(transaction: Transaction(sharing: self)) }
}
