import Foundation
import Support
import Synchronization
import Testing

/// The table of `Sources/Manual/faults.md`.
enum FaultTable {
  /// Whether the tests write the table instead of comparing it: `SWITCHBOARD_WRITE_TABLES=1`.
  static let isWritten = ProcessInfo.processInfo.environment["SWITCHBOARD_WRITE_TABLES"] == "1"

  /// Whether all faults are tried instead of the first two of each site.
  static let areAllTried =
    isWritten || ProcessInfo.processInfo.environment["SWITCHBOARD_FAULTS"] == "all"

  private static let page = projectFolder.appending(path: "Sources/Manual/faults.md")
  /// Protects the page while it is read and written.
  private static let lock = Mutex(())

  static func rows() throws -> [String] {
    try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n")
      .filter { $0.hasPrefix("| ") }.dropFirst().map { $0 }
  }

  /// The name of the fault in `row`.
  static func name(in row: String) -> String {
    row.split(separator: "|").first.map { String($0).trimmed } ?? ""
  }

  /// Compares `row` with the page, or writes it into the page.
  static func expect(_ row: String) throws {
    guard isWritten else {
      let told = try rows().first { name(in: $0) == name(in: row) }
      #expect(
        told == row,
        "Run this test with SWITCHBOARD_WRITE_TABLES=1, and read what has changed in Sources/Manual/faults.md."
      )
      return
    }
    try lock.withLock { _ in try write(row) }
  }

  /// Sorts the rows in the order of the faults, and removes rows without a fault.
  private static func write(_ row: String) throws {
    let text = try String(contentsOf: page, encoding: .utf8)
    let old = try rows()
    let known = Dictionary((old + [row]).map { (name(in: $0), $0) }) { $1 }
    let new = Fault.Group.allCases.flatMap(\.faults).compactMap { known[$0.name] }
    var lines = text.components(separatedBy: "\n").filter { !old.contains($0) }
    let head = try #require(lines.firstIndex { $0.hasPrefix("|---") })
    lines.insert(contentsOf: new, at: head + 1)
    try lines.joined(separator: "\n").write(to: page, atomically: true, encoding: .utf8)
  }
}
