import Base
import Store

/// Explanation why a phone did not ring: the known facts, and the causes among them.
package struct Explanation: CommandAnswer, Sendable {
  package struct Statement: Sendable {
    /// Code for programs.
    package let code: StaticString
    /// One or two sentences.
    package let sentence: String
    package let isCause: Bool
  }

  package let question: String
  package private(set) var statements: [Statement] = []
  /// Platforms of the explained push tokens, without the tokens for turns, which are all Apple's.
  var platforms: Set<PushPlatform> = []

  init(of question: String) { self.question = question }

  /// Adds a fact that is not a cause.
  mutating func note(_ code: StaticString, _ sentence: String) {
    statements.append(Statement(code: code, sentence: sentence, isCause: false))
  }

  /// Adds a cause with advice. Adds the same sentence only once for several devices.
  mutating func blame(_ code: StaticString, _ sentence: String) {
    guard !statements.contains(where: { $0.isCause && $0.sentence == sentence }) else { return }
    statements.append(Statement(code: code, sentence: sentence, isCause: true))
  }

  private var causes: [Statement] { statements.filter(\.isCause) }

  package var text: String {
    let facts = statements.filter { !$0.isCause }.map(\.sentence)
    let reasons =
      causes.isEmpty ? [nothingWrong] : ["Why it did not ring:"] + causes.map { "- \($0.sentence)" }
    return (facts + (facts.isEmpty ? [] : [""]) + reasons).joined(separator: "\n")
  }

  package var json: [UInt8] {
    JSONWriter.object { json in
      json.member("question", question)
      json.member(
        "statements",
        array: { array in
          for statement in statements {
            array.object { json in
              json.member("code", statement.code.description)
              json.member("is_cause", statement.isCause)
              json.member("sentence", statement.sentence)
            }
          }
        })
      json.member("conclusion", causes.isEmpty ? nothingWrong : nil)
    }
  }
}

private let nothingWrong = """
  The server found no cause. Look at the phone: are notifications allowed for the app, is a Focus on, does the network \
  reach Apple (port 5223 or 443)?
  """

extension Timestamp {
  /// Time until `later` in words: "12 seconds", "3 minutes".
  func span(to later: Timestamp) -> String {
    let seconds = max(0, (later - self).components.seconds)
    let (count, unit) =
      switch seconds {
      case ..<120: (seconds, "second")
      case ..<7_200: (seconds / 60, "minute")
      case ..<172_800: (seconds / 3_600, "hour")
      default: (seconds / 86_400, "day")
      }
    return "\(count) \(unit)\(count == 1 ? "" : "s")"
  }
}
