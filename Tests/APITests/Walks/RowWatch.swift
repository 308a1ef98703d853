import Foundation
import MariaDB
import Support

/// A row with its values as text; NULL values are absent.
typealias WatchedRow = [String: String]

/// The owner of a row.
enum RowOwner: Hashable, Sendable {
  case account(String)
  /// A user of online-go.com.
  case player(String)
  case pairing(String)
}

/// The change of one row by a call.
struct RowChange {
  let table: String
  let key: String
  let old: WatchedRow?
  let new: WatchedRow?
  let owner: RowOwner?

  /// The columns whose values differ.
  var columns: Set<String> {
    guard let old, let new else { return [] }
    return Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }
  }

  var summary: String {
    if old == nil { return "\(table): new" }
    return new == nil ? "\(table): gone" : "\(table): \(columns.sorted().joined(separator: ", "))"
  }
}

/// Keeps a copy of all rows of a database, learns by triggers which rows each call changes, and
/// restores all rows.
///
/// Foreign keys fire no triggers, so this type repeats their actions on its copy.
final class RowWatch {
  let schema: WatchedSchema
  /// The rows, by table and key.
  private(set) var rows: [String: [String: WatchedRow]] = [:]
  private var first: [String: [String: WatchedRow]] = [:]
  /// The keys of rows that may differ from the first rows, by table.
  private(set) var touched: [String: Set<String>] = [:]
  /// The hits of each limit and the start of its newest window, at the last look.
  private var counts: [String: (hits: Int64, startedAt: String)] = [:]
  private let connection: Connection
  private let copies: String

  /// Starts to watch. The current rows become the first rows.
  init(_ root: ConnectionSettings) throws {
    schema = WatchedSchema(of: root.database)
    copies = "\(root.database)_first"
    MariaDBServer.shared.run(Self.script(schema, copies: copies), database: root.database)
    connection = try Connection(root.patient)
    _ = try connection.execute("SET @walk_is_quiet = 1")
    _ = try connection.execute("SET foreign_key_checks = 0")
    for change in try readChanges() { apply(change) }
    touched = [:]
    first = rows
  }

  func end() { MariaDBServer.shared.run("DROP DATABASE \(copies)") }

  /// Returns the changes since the last call, including those that follow from deleted rows.
  func takeChanges() throws -> [RowChange] {
    let logged = try readChanges()
    guard !logged.isEmpty else { return [] }
    var changes: [String: RowChange] = [:]
    var order: [String] = []
    for change in logged.flatMap({ apply($0) }) {
      let id = "\(change.table) \(change.key)"
      if changes[id] == nil { order.append(id) }
      changes[id] = RowChange(
        table: change.table, key: change.key,
        old: changes[id] == nil ? change.old : changes[id]!.old,
        new: change.new, owner: changes[id]?.owner ?? change.owner)
    }
    return order.map { changes[$0]! }.filter { $0.old != $0.new }
  }

  /// Returns the limits that have counted hits since the last call, with their numbers.
  func takeCounted() throws -> [(name: String, allowed: Int64)] {
    let found = try connection.rows(
      """
      SELECT name, MIN(allowed), CAST(SUM(hits) AS INTEGER), CAST(MAX(window_started_at) AS CHAR)
      FROM rate_limits GROUP BY name
      """
    ) { row in
      (name: row.text(0), allowed: row.integer(1), count: (row.integer(2), row.text(3)))
    }
    let counted = found.filter { limit in
      let old = counts[limit.name] ?? (0, "")
      return limit.count.0 > old.hits || limit.count.1 > old.startedAt
    }
    counts = Dictionary(uniqueKeysWithValues: found.map { ($0.name, $0.count) })
    return counted.map { ($0.name, $0.allowed) }
  }

  /// Restores all rows.
  func restore() throws {
    _ = try takeChanges()
    for table in ["audit_log", "rate_limits"] {
      _ = try connection.execute("CALL walk_run(?)", [.text("DELETE FROM \(table)")])
    }
    for (name, keys) in touched where !keys.isEmpty {
      let list = schema.tables[name]!.list
      _ = try connection.execute("CALL walk_run(?)", [.text("DELETE FROM \(name)")])
      if first[name]?.isEmpty == false {
        _ = try connection.execute(
          "CALL walk_run(?)",
          [.text("INSERT INTO \(name) (\(list)) SELECT \(list) FROM \(copies).\(name)")])
      }
    }
    touched = [:]
    counts = [:]
    rows = first
  }

  /// Resets all limits. Other tests check whether strangers can lock out an owner.
  func forgetLimits() throws {
    _ = try connection.execute("DELETE FROM rate_limits")
    counts = [:]
  }

  /// The rows of a table.
  func rows(of table: String) -> [WatchedRow] { Array((rows[table] ?? [:]).values) }

  /// The owner of the row, found by its foreign keys or by a column with the owner's id.
  func owner(of row: WatchedRow, in table: String) -> RowOwner? {
    switch table {
    case "accounts": return row["id"].map { .account($0) }
    case "ogs_users": return row["id"].map { .player($0) }
    case "pairings": return row["id"].map { .pairing($0) }
    default: break
    }
    for reference in schema.tables[table]!.references {
      guard let value = row[reference.column],
        let target = rows[reference.target]?.values.first(where: {
          $0[reference.targetColumn] == value
        }), let owner = owner(of: target, in: reference.target)
      else { continue }
      return owner
    }
    return row["account_id"].map { .account($0) } ?? row["ogs_user_id"].map { .player($0) }
  }

  /// The differences of the rows of `owner` from the first rows, in words that are equal in another
  /// walk.
  func state(of owner: RowOwner, without columns: Set<String>) -> [String] {
    var state: [String] = []
    for (table, keys) in touched where Self.opening.contains(table) {
      for key in keys {
        let (old, new) = (first[table]?[key], rows[table]?[key])
        guard old != new, let row = new ?? old, self.owner(of: row, in: table) == owner else {
          continue
        }
        let change = RowChange(table: table, key: key, old: old, new: new, owner: owner)
        guard old == nil || new == nil || !change.columns.subtracting(columns).isEmpty else {
          continue
        }
        let facts =
          new?.keys.filter { new?[$0] != old?[$0] && !columns.contains($0) }.sorted() ?? []
        state.append("\(old == nil ? "" : key) \(new == nil ? "gone" : "") \(table) \(facts)")
      }
    }
    return Array(Set(state)).sorted()
  }

  /// Tables whose rows decide access.
  private static let opening: Set<String> = [
    "accounts", "devices", "sessions", "biometric_keys", "passkeys", "address_changes",
    "account_visits", "attestation_keys",
  ]
}

extension RowWatch {
  private func readChanges() throws -> [(table: String, old: WatchedRow?, new: WatchedRow?)] {
    let found = try connection.rows(
      "SELECT name, old_row, new_row FROM walk_changes ORDER BY id"
    ) { row in (row.text(0), row.optionalText(1), row.optionalText(2)) }
    guard !found.isEmpty else { return [] }
    _ = try connection.execute("DELETE FROM walk_changes")
    return found.map { ($0, Self.row($1), Self.row($2)) }
  }

  private static func row(_ json: String?) -> WatchedRow? {
    guard let json, let members = try? JSONSerialization.jsonObject(with: Data(json.utf8))
    else { return nil }
    return (members as? [String: Any])?.compactMapValues { $0 as? String }
  }

  @discardableResult
  private func apply(_ logged: (table: String, old: WatchedRow?, new: WatchedRow?)) -> [RowChange] {
    let table = schema.tables[logged.table]!
    guard let row = logged.new ?? logged.old else { return [] }
    let key = table.key.map { row[$0] ?? "" }.joined(separator: " ")
    if let old = logged.old, let new = logged.new {
      // A row with a changed key counts as another row.
      let oldKey = table.key.map { old[$0] ?? "" }.joined(separator: " ")
      if oldKey != key {
        return apply((logged.table, old, nil)) + apply((logged.table, nil, new))
      }
    }
    let change = RowChange(
      table: logged.table, key: key, old: logged.old, new: logged.new,
      owner: owner(of: row, in: logged.table))
    var changes = [change]
    if logged.new == nil { changes += followers(of: row, in: logged.table) }
    rows[logged.table, default: [:]][key] = logged.new
    touched[logged.table, default: []].insert(key)
    return changes
  }

  /// The effects of foreign keys when a row is deleted.
  private func followers(of row: WatchedRow, in name: String) -> [RowChange] {
    var changes: [RowChange] = []
    for table in schema.tables.values {
      for reference in table.references where reference.target == name {
        for child in rows[table.name]?.values.map({ $0 }) ?? []
        where child[reference.column] == row[reference.targetColumn] {
          switch reference.rule {
          case "CASCADE": changes += apply((table.name, child, nil))
          case "SET NULL":
            var new = child
            new[reference.column] = nil
            changes += apply((table.name, child, new))
          default: break
          }
        }
      }
    }
    return changes
  }

  private static func script(_ schema: WatchedSchema, copies: String) -> String {
    let tables = schema.tables.values.sorted { $0.name < $1.name }
    let watched = tables.filter { !WatchedSchema.logs.contains($0.name) }
    func trigger(_ event: String, on table: WatchedSchema.Table, _ old: String, _ new: String)
      -> String
    {
      """
      CREATE TRIGGER walk_\(event)_\(table.name) AFTER \(event) ON \(table.name) FOR EACH ROW
      IF @walk_is_quiet IS NULL THEN
        INSERT INTO walk_changes (name, old_row, new_row) VALUES ('\(table.name)', \(old), \(new));
      END IF//
      """
    }
    let triggers = watched.flatMap { table in
      [
        trigger("INSERT", on: table, "NULL", table.json(of: "NEW.")),
        trigger("UPDATE", on: table, table.json(of: "OLD."), table.json(of: "NEW.")),
        trigger("DELETE", on: table, table.json(of: "OLD."), "NULL"),
      ]
    }
    return """
      CREATE TABLE walk_changes (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
        name VARCHAR(64) NOT NULL, old_row LONGTEXT NULL, new_row LONGTEXT NULL) ENGINE=InnoDB;
      CREATE PROCEDURE walk_run(statement TEXT) EXECUTE IMMEDIATE statement;
      CREATE DATABASE \(copies);
      \(watched.map { "CREATE TABLE \(copies).\($0.name) AS SELECT \($0.list) FROM \($0.name);" }
        .joined(separator: "\n"))
      \(watched.map {
        "INSERT INTO walk_changes (name, new_row) SELECT '\($0.name)', \($0.json(of: "")) FROM \($0.name);"
      }.joined(separator: "\n"))
      DELIMITER //
      \(triggers.joined(separator: "\n"))
      """
  }
}
