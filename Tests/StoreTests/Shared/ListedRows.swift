import Base
import Foundation
import Support
import Testing

@testable import Store

extension ViewedSite {
  /// The moment as the programs get it.
  static let moment = Timestamp(seconds: 1_795_003_200)

  /// The records of an account at that moment.
  func records(_ account: String = "companion") -> Records {
    store.records(account, at: Self.moment)
  }

  /// The text of a quoted literal such as ``id(_:)``.
  static func value(_ literal: String) -> String { literal.replacing("'", with: "") }

  /// Expects that `rows` have exactly the values of `lines`: all properties in their order, see ``line(of:)``.
  func expect(
    _ rows: [some Any], _ lines: [String], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(rows.map { line(of: $0) } == lines, sourceLocation: sourceLocation)
  }
}

/// Calls `body` with a site on its own server, whose clock stands still for the programs: rows can be due exactly now.
func withSiteAtOneMoment(_ statements: String, _ body: (ViewedSite) throws -> Void) throws {
  try withStoreOnItsOwnServer { store throws in
    store.sql(
      """
      SET GLOBAL init_connect = 'SET timestamp = \(ViewedSite.moment.seconds), time_zone = \"+00:00\"'
      """)
    let site = ViewedSite(store: store)
    site.sql(ViewedSite.people + "\n" + statements)
    try body(site)
  }
}

/// All values of a row of a list, with a space between: times without the year, the last two digits of ids and the first two
/// characters of tokens, and `-` for none.
func line(of row: Any) -> String {
  Mirror(reflecting: row).children.map { text(of: $0.value) }.joined(separator: " ")
}

private func text(of value: Any) -> String {
  switch value {
  case let time as Timestamp:
    return String(time.rfc3339.dropFirst(5)).replacing("T00:00:00Z", with: "")
      .replacing("T12:00:00Z", with: " noon")
  case let text as String:
    if text.hasPrefix("00000000-0000-4000-8000-") { return String(text.suffix(2)) }
    return text.utf8.count >= 64 ? String(text.prefix(2)) : text
  case let channel as Channel: return channel.name
  case let texts as [String]: return texts.joined(separator: "+")
  default:
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional else { return "\(value)" }
    return mirror.children.first.map { text(of: $0.value) } ?? "-"
  }
}
