@testable import API

/// Shortens a walk that breaks a rule as much as possible.
struct Shrinking {
  let actor: Actor
  let site: WalkSite
  let guarded: Set<String>

  func shortest(
    _ steps: [WalkStep], breaking violation: Violation
  ) throws -> (steps: [WalkStep], violation: Violation) {
    var (steps, violation) = (steps, violation)
    var isShorter = true
    while isShorter {
      isShorter = false
      for index in steps.indices.reversed() {
        var fewer = steps
        fewer.remove(at: index)
        if let found = try breaks(fewer, violation.rule) {
          (steps, violation, isShorter) = (fewer, found, true)
        }
      }
    }
    for index in steps.indices {
      for leaner in leaner(steps[index]) {
        var other = steps
        other[index].act = leaner(other[index].act)
        if let found = try breaks(other, violation.rule) { (steps, violation) = (other, found) }
      }
    }
    return (steps, violation)
  }

  private func breaks(_ steps: [WalkStep], _ rule: String) throws -> Violation? {
    var walk = try Walk(actor, at: site, guarded: guarded)
    for step in steps {
      try walk.take(step)
      if let found = walk.violations.first(where: { $0.rule == rule }) { return found }
    }
    return nil
  }

  private typealias Change = (WalkStep.Act) -> WalkStep.Act

  /// The ways to omit one item of a request.
  private func leaner(_ step: WalkStep) -> [Change] {
    guard case .call(let call) = step.act else { return [] }
    func without(_ list: WritableKeyPath<WalkCall, [WalkCall.Item]>) -> [Change] {
      Set(call[keyPath: list].map(\.name)).sorted().map { name in
        { act in
          guard case .call(var call) = act else { return act }
          call[keyPath: list].removeAll { $0.name == name }
          return .call(call)
        }
      }
    }
    return without(\.fields) + without(\.query) + without(\.members)
  }
}
