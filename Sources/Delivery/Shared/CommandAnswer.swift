import Base

/// What a command answers: for people, and for programs.
package protocol CommandAnswer {
  var text: String { get }
  /// One JSON document: names in snake_case, times as in RFC 3339.
  var json: [UInt8] { get }
}

/// Arguments that are well-formed, but that nobody can mean.
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

/// What a command has changed, or would change.
package struct Change: CommandAnswer, Sendable {
  /// Whether it was only rehearsed.
  let isRehearsal: Bool
  /// "Removed the bank x."
  let sentence: String
  /// Further members of the document.
  let members: [(name: StaticString, value: String)]

  /// - Parameters:
  ///   - past: what was done: "Removed".
  ///   - future: what would be done: "remove".
  ///   - rest: the end of both sentences.
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
