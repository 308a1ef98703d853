import Foundation
import Support

/// Facts from the project's `schema.sql`, for exact counts in tests.
enum SchemaText {
  static let all = try! String(contentsOf: projectSchema, encoding: .utf8)

  private static let lines = all.split(separator: "\n").map(String.init)

  /// The version of a database with this schema.
  static let version = Int(all.firstMatch(of: #/\nSET @version = (\d+);/#)!.output.1)!

  static let tables = lines.compactMap {
    $0.firstMatch(of: #/^CREATE TABLE IF NOT EXISTS (\w+) /#).map { String($0.output.1) }
  }

  static let views = lines.compactMap {
    $0.firstMatch(of: #/^CREATE OR REPLACE .*VIEW (\w+) AS/#).map { String($0.output.1) }
  }

  /// The columns of its tables, each with its definition.
  static let columns = lines.compactMap { line in
    line.firstMatch(of: #/^  ([a-z]\w*) +[A-Z]/#).map { (String($0.output.1), line) }
  }

  /// The number of primary and unique keys, foreign keys and CHECKs. Every table has a primary key.
  static let constraintCount =
    tables.count + lines.count { $0.hasPrefix("  CONSTRAINT ") || $0.hasPrefix("  UNIQUE KEY ") }
}
