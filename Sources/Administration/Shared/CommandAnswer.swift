import Base

/// Answer of a command, for people and for programs.
package protocol CommandAnswer {
  var text: String { get }
  /// One JSON document: names in snake_case, times by RFC 3339.
  var json: [UInt8] { get }
}

/// Arguments that are well-formed but make no sense.
package struct BadArguments: Error, CustomStringConvertible {
  /// Sentences, one on a line.
  package let description: String

  package init(_ sentences: String...) {
    description = sentences.joined(separator: "\n")
  }

  init(_ sentences: [String]) {
    description = sentences.joined(separator: "\n")
  }
}

/// Change that a command has made or would make.
package struct Change: CommandAnswer, Sendable {
  /// Whether this was a dry run.
  let isRehearsal: Bool
  /// "Removed the bank x."
  let sentence: String
  /// Further members of the JSON document.
  let members: [(name: StaticString, value: String)]

  /// - Parameters:
  ///   - past: the verb for a change, such as "Removed".
  ///   - future: the verb for a dry run, such as "remove".
  ///   - rest: the rest of both sentences.
  package init(
    isRehearsal: Bool, _ past: String, or future: String, _ rest: String,
    _ members: [(name: StaticString, value: String)] = []
  ) {
    self.isRehearsal = isRehearsal
    sentence =
      isRehearsal ? "Would \(future) \(rest) Nothing was changed." : "\(past) \(rest)"
    self.members = members
  }

  package var text: String { sentence }

  package var json: [UInt8] {
    JSONWriter.object { json in
      json.member("dry_run", isRehearsal)
      json.member("message", sentence)
      for (name, value) in members { json.member(name, value) }
    }
  }
}
