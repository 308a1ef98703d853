import Foundation
import Support
import Testing

@testable import Store

/// Each table has a rule that deletes old rows, or a reason in the manual to keep them.
@Suite struct RetentionListTests {
  /// The manual's section, split at the heading of the tables that keep their rows.
  private static let parts: [Substring] = {
    let page = projectSchema.deletingLastPathComponent()
      .appending(path: "Sources/Manual/data-model.md")
    let text = try! String(contentsOf: page, encoding: .utf8)
    let section = text.components(separatedBy: "## How long rows are kept")[1]
    return section.components(separatedBy: "### What no rule deletes").map { Substring($0) }
  }()

  private let kept = rows(of: parts[0])
  private let staying = rows(of: parts[1])

  /// The text in the last column, by the table names in the first column.
  private static func rows(of part: Substring) -> [String: String] {
    var found: [String: String] = [:]
    for line in part.split(separator: "\n") where line.hasPrefix("| `") {
      let columns = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      for name in columns[0].matches(of: /`(\w+)`/) { found[String(name.output.1)] = columns.last! }
    }
    return found
  }

  private let deleted = Set(
    Room.all.flatMap(\.retention).flatMap { rule in
      rule.statement.description.matches(of: /^DELETE (?:FROM )?(\w+)/).map { String($0.output.1) }
    })

  @Test func eachTableHasARuleOrASentence() throws {
    try withStore { store throws in
      let tables = Set(
        store.column(
          """
          SELECT TABLE_NAME FROM information_schema.TABLES
          WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'
          """))
      #expect(tables.count > 50)
      // Polls delete the users without registered devices.
      #expect(Set(kept.keys) == deleted.union(["ogs_users"]))
      #expect(Set(staying.keys) == tables.subtracting(kept.keys))
      for sentence in staying.values { #expect(sentence.hasSuffix("."), "\(sentence)") }
    }
  }

  /// If the manual says that rows go with those of another table, a foreign key deletes them.
  @Test func rowsThatGoWithOthersDo() throws {
    try withStore { store throws in
      for (table, sentence) in staying {
        for parent in sentence.matches(of: /[Gg]oes? with (?:its|their) row of `(\w+)`/) {
          let found = store.column(
            """
            SELECT DISTINCT DELETE_RULE FROM information_schema.REFERENTIAL_CONSTRAINTS
            WHERE CONSTRAINT_SCHEMA = DATABASE() AND TABLE_NAME = '\(table)'
              AND REFERENCED_TABLE_NAME = '\(parent.output.1)'
            """)
          #expect(found == ["CASCADE"], "\(table): \(sentence)")
        }
      }
    }
  }
}
