import Foundation
import Support
import Testing

/// Which statements of `Sources/Store` do not name an account, a device or a player. The manual lists them
/// for administrators who divide a site.
@Suite struct StatementKeyTests {
  /// Columns that name one account, device or player, or a row that belongs to one.
  private static let ownKeys: Set = [
    "account_id", "device_id", "client_device_id", "ogs_user_id", "device_token", "id",
  ]

  private enum Search: Equatable {
    case byOwnKey
    case byColumn(String)
    case byNothing
  }

  /// The conditions `column = ?` decide. A JSON array as parameter holds ids or tokens.
  private func search(of statement: String) -> Search {
    if statement.contains("JSON_TABLE(?") { return .byOwnKey }
    let conditions = statement.firstRange(of: " WHERE ").map { statement[$0.upperBound...] } ?? ""
    let columns = conditions.matches(of: #/(\w+) (?:=|<=>|LIKE|IN) ?\(?\?/#).map {
      String($0.output.1)
    }
    if !Self.ownKeys.isDisjoint(with: columns) { return .byOwnKey }
    return columns.first.map { .byColumn($0) } ?? .byNothing
  }

  /// The words in code type in the first column of the tables of a section of capacity.md.
  private func words(of section: String) throws -> Set<String> {
    let text = try #require(
      try ManualPage("capacity").text.components(separatedBy: "### \(section)\n").dropFirst().first)
    let rows = text.components(separatedBy: "\n## ")[0].components(separatedBy: "\n### ")[0]
      .split(separator: "\n").filter { $0.hasPrefix("| `") }
    return Set(
      rows.flatMap { $0.dropFirst().prefix { $0 != "|" }.matches(of: #/`(\w+)`/#) }
        .map { String($0.output.1) })
  }

  @Test func manualListsEachOtherKey() throws {
    let columns = try StoreStatements.searching().compactMap { statement -> String? in
      if case .byColumn(let column) = search(of: statement.text) { column } else { nil }
    }
    #expect(try words(of: "Found by another key") == Set(columns))
  }

  @Test func manualListsEachFileWithASearchWithoutKey() throws {
    let files = try StoreStatements.searching().filter { search(of: $0.text) == .byNothing }
    #expect(try words(of: "Found by no key") == Set(files.map(\.file)))
  }
}
