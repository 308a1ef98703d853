import Base
package import Store

/// Catalog of models that the apps offer, for administrators.
package struct ModelAdministration: Sendable {
  private let records: Records

  package init(records: Records) {
    self.records = records
  }

  package func list() throws -> Report {
    Report(Listing("models", ["name"], of: try records.models.list()) { [.text($0)] })
  }

  /// Replaces the catalog by `names`, in this order. If it is empty, the apps may choose any name.
  ///
  /// - Throws: ``BadArguments``, before anything is written.
  package func set(_ names: [String]) throws -> Change {
    let bad = names.filter { name in
      name != name.trimmed || name.hasControls || !(1...128).contains(name.unicodeScalars.count)
    }
    guard bad.isEmpty else {
      throw BadArguments(
        "A name has 1 to 128 characters, without control characters and without spaces around it.")
    }
    guard Set(names.map { $0.lowercased() }).count == names.count else {
      throw BadArguments("Name each model once. Names that differ in case only are the same.")
    }
    try records.models.replace(with: names)
    return Change(
      isRehearsal: records.isRehearsal, "Set", or: "set",
      names.isEmpty
        ? "an empty catalog: the apps may choose any name."
        : "the catalog to \(names.joined(separator: ", ")).")
  }
}
