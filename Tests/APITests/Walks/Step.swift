import Base

/// Where a value of a request comes from, so that a walk can be repeated: the values themselves are new each time.
indirect enum ValueSource: Hashable, Sendable {
  /// What the actor had at first: of this kind, and the how manieth.
  case held(String, Int)
  /// What the answer to a step had, or the mail to the actor that it caused.
  case answered(step: Int, kind: String, Int)
  case text(String)
  /// JSON as it is.
  case json(String)
  /// The actor's biometric key signs a challenge.
  case signature(ValueSource)
  /// The actor's second authenticator makes a passkey, for the challenge.
  case created(ValueSource)
  /// The actor's first authenticator, which has a passkey of their own account, answers a challenge.
  case asserted(ValueSource)
  /// The second one does, for the account for which it was asked for a passkey.
  case newlyAsserted(ValueSource)
}

extension ValueSource {
  var isHeld: Bool { if case .held = self { true } else { false } }
}

extension ValueSource: CustomStringConvertible {
  var description: String {
    switch self {
    case .held(let kind, let number): "own \(kind) \(number)"
    case .answered(let step, let kind, let number):
      "\(kind) of step \(step)" + (number == 0 ? "" : " (\(number))")
    case .text(let text): "'\(text)'"
    case .json(let json): json
    case .signature(let challenge): "signature(\(challenge))"
    case .created(let challenge): "new passkey(\(challenge))"
    case .asserted(let challenge): "assertion(\(challenge))"
    case .newlyAsserted(let challenge): "assertion by the new passkey(\(challenge))"
    }
  }
}

/// A request of the actor, before its values are known.
struct WalkCall: Sendable {
  struct Item: Sendable {
    let name: String
    let value: ValueSource
  }

  let method: String
  /// As the router has it.
  let path: String
  /// What stands for `:name`.
  var pathItem: ValueSource?
  var fields: [Item] = []
  var query: [Item] = []
  var members: [Item] = []
  /// By name: the kind of the token that stands where another kind belongs.
  var misplaced: [String: String] = [:]

  var route: String { "\(method) \(path)" }
  var isForm: Bool { method == "POST" && RouteNames.takesForm(path) }
}

extension WalkCall: CustomStringConvertible {
  var description: String {
    func list(_ items: [Item]) -> String {
      items.map { "\($0.name): \($0.value)" }.joined(separator: ", ")
    }
    let item = pathItem.map { " [\($0)]" } ?? ""
    let parts = [list(fields), query.isEmpty ? "" : "?" + list(query), "{\(list(members))}"]
    return "\(route)\(item) \(parts.filter { !$0.isEmpty }.joined(separator: " "))"
  }
}

/// What the owner does, from their own network and as the apps do it.
enum OwnerAct: String, Sendable, CaseIterable {
  /// By a mailed code, on the phone that they have, without the device credential.
  case signsInByCode
  case signsInByPasskey
  case looksAtDevices
  /// By a mailed code, and then signs out everywhere.
  case signsOutEverywhere
  /// The same, and the keys go.
  case removesAuthenticators
}

/// One step of a walk.
struct WalkStep: Sendable, CustomStringConvertible {
  enum Act: Sendable {
    case call(WalkCall)
    /// The same request, until it is limited.
    case persist(WalkCall)
    case wait(Duration)
    case owner(OwnerAct)
    /// The actor tries once more all that may still open the account.
    case lastTries
  }

  /// Stays the same where other steps are left out.
  let id: Int
  var act: Act

  var description: String {
    switch act {
    case .call(let call): "\(id). \(call)"
    case .persist(let call): "\(id). again and again: \(call)"
    case .wait(let span): "\(id). \(span.components.seconds / 60) minutes pass"
    case .owner(let act): "\(id). the owner \(act.rawValue)"
    case .lastTries: "\(id). the last tries"
    }
  }
}
