import Foundation
import Testing

@testable import API

/// The paths of each family match its nginx file.
@Suite struct NginxTests {
  private static let folder = URL(filePath: #filePath).appending(path: "../../../../nginx")
    .standardizedFileURL

  /// The paths that `<family>.conf` passes to the responder. A path with everything below it ends
  /// in `/`. Skips a location below another location.
  private func paths(of family: String) throws -> Set<String> {
    let file = Self.folder.appending(path: "\(family).conf")
    let text = try String(contentsOf: file, encoding: .utf8)
    let found = text.split(separator: "\nlocation ").dropFirst().flatMap { location in
      location.contains("fastcgi_pass switchboard;") ? paths(inHeadOf: location) : []
    }
    return Set(
      found.filter { path in
        !found.contains { $0.hasSuffix("/") && path != $0 && path.hasPrefix($0) }
      })
  }

  /// Parses `= /a {` or `~ ^/a/(b/|c$)(?!d) {`. The part after `?!` belongs to another family.
  private func paths(inHeadOf location: Substring) -> [String] {
    let words = location.prefix { $0 != "\n" }.split(separator: " ")
    if words[0] == "=" { return [String(words[1])] }
    guard words[0] == "~" else { return [] }
    let pattern = words[1].dropFirst().replacing(/\(\?!.*?\)/, with: "")
    guard let group = pattern.firstMatch(of: /\((.*)\)/) else { return [String(pattern)] }
    let (before, after) = (pattern[..<group.range.lowerBound], pattern[group.range.upperBound...])
    return group.1.split(separator: "|").map { "\(before)\($0)\(after)".replacing("$", with: "") }
  }

  @Test(arguments: Family.all.filter { !$0.paths.isEmpty }.map(\.name))
  func aFamilysFileNamesItsPaths(_ name: String) throws {
    let family = try #require(Family.all.first { $0.name == name })
    #expect(try paths(of: name) == Set(family.paths))
  }

  @Test func everyRouteLiesBelowThePathsOfItsFamily() {
    for family in Family.all where !family.paths.isEmpty {
      // Such a path belongs to the whole site (RFC 8615).
      for route in family.routes where !route.path.hasPrefix("/.well-known/") {
        #expect(family.matchLength(of: route.path) > 0, "\(route.path) is not of \(family.name)")
      }
    }
  }

  @Test func theServerReadsEveryFamilysFile() throws {
    let server = try String(contentsOf: Self.folder.appending(path: "server.conf"), encoding: .utf8)
    for family in Family.all where !family.paths.isEmpty {
      #expect(server.contains("include switchboard/\(family.name).conf;"))
    }
  }
}
