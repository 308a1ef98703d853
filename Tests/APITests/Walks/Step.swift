import Base

/// The source of a request's value. A walk can be repeated with sources, because the values are new
/// each time.
indirect enum ValueSource: Hashable, Sendable {
  /// A value that the actor had at the beginning: its kind and its index.
  case held(String, Int)
  /// A value in the answer to a step, or in the mail to the actor that the step caused.
  case answered(step: Int, kind: String, Int)
  case text(String)
  /// JSON, used unchanged.
  case json(String)
  /// The signature of a challenge with the actor's biometric key.
  case signature(ValueSource)
  /// A new passkey of the actor's second authenticator for the challenge.
  case created(ValueSource)
  /// An assertion of the challenge by the actor's first authenticator, with a passkey of the
  /// actor's own account.
  case asserted(ValueSource)
  /// An assertion by the second authenticator, for the account in the request for its passkey.
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
  /// The path in the form of the router.
  let path: String
  /// The value for `:name`.
  var pathItem: ValueSource?
  var fields: [Item] = []
  var query: [Item] = []
  var members: [Item] = []
  /// The kind of each token that is used where another kind belongs, by name.
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

/// An action of the owner, from the owner's network and like the apps.
enum OwnerAct: String, Sendable, CaseIterable {
  /// Signs in with a mailed code on the owner's phone, without the device credential.
  case signsInByCode
  case signsInByPasskey
  case looksAtDevices
  /// Signs in with a mailed code, and then signs out everywhere.
  case signsOutEverywhere
  /// Signs out everywhere and removes the keys.
  case removesAuthenticators
}

/// One step of a walk.
struct WalkStep: Sendable, CustomStringConvertible {
  enum Act: Sendable {
    case call(WalkCall)
    /// Repeats a request until a limit refuses it.
    case persist(WalkCall)
    case wait(Duration)
    case owner(OwnerAct)
    /// The phone that waits signs up, with the credential of its registration.
    case waitingPhone
    /// Tries again everything that may still open the account.
    case lastTries
  }

  /// The id stays the same when other steps are removed.
  let id: Int
  var act: Act

  var description: String {
    switch act {
    case .call(let call): "\(id). \(call)"
    case .persist(let call): "\(id). again and again: \(call)"
    case .wait(let span): "\(id). \(span.components.seconds / 60) minutes pass"
    case .owner(let act): "\(id). the owner \(act.rawValue)"
    case .waitingPhone: "\(id). the phone that waits signs up"
    case .lastTries: "\(id). the last tries"
    }
  }
}
