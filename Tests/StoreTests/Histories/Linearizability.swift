import Synchronization

/// One call that a client made on a shared object.
struct RecordedCall<Operation: Sendable, Answer: Sendable>: Sendable {
  let operation: Operation
  /// nil: the answer was lost, and the call may have had its effect at any time since, or not at all.
  let answer: Answer?
  /// Places of the beginning and the end in the order of all clients' events.
  let began: Int
  let ended: Int

  init(_ operation: Operation, _ answer: Answer?, began: Int, ended: Int) {
    self.operation = operation
    self.answer = answer
    self.began = began
    self.ended = ended
  }
}

/// Whether the calls could have happened one after the other, each between its beginning and its end
/// (linearizability: Herlihy and Wing, 1990). At most 63 calls.
///
/// - Parameters:
///   - kill: the places where the end of the database server began and its next start ended, if it was killed.
///   - apply: the answer that the object gives in a state, which it changes.
func isLinearizable<State: Hashable, Operation, Answer: Equatable>(
  _ calls: [RecordedCall<Operation, Answer>], from initial: State, killed kill: (Int, Int)? = nil,
  _ apply: (inout State, Operation) -> Answer
) -> Bool {
  var spans = calls.map { Span(began: $0.began, ended: $0.ended, isAnswered: $0.answer != nil) }
  if let kill { spans.append(Span(began: kill.0, ended: kill.1, isAnswered: true)) }
  return hasOrder(spans, from: KillableState(current: initial)) { state, index in
    guard index < calls.count else { return state.afterKill }
    var next = state.current
    let answer = apply(&next, calls[index].operation)
    if let given = calls[index].answer, given != answer { return [] }
    return [state.changed(to: next, isDurable: calls[index].answer != nil)]
  }
}

/// A state, and those to which the end of the server may bring it back.
///
/// InnoDB shows a change to others before it is in the log. A call that changes nothing may have seen it and be answered, and a
/// kill undoes the change all the same. A call that changes something is answered when its change and all before are in the log.
private struct KillableState<State: Hashable>: Hashable {
  var current: State
  /// The states before the changes that may not be in the log, oldest first.
  var earlier: [State] = []

  func changed(to next: State, isDurable: Bool) -> Self {
    if next == current { return self }
    return Self(current: next, earlier: isDurable ? [] : earlier + [current])
  }

  var afterKill: [Self] { (earlier + [current]).map { Self(current: $0) } }
}

private struct Span {
  let began: Int
  let ended: Int
  let isAnswered: Bool
}

/// Searches all orders, and visits no state twice with the same calls left (Wing and Gong, 1993; Lowe, 2017).
///
/// - Parameter successors: the states that the call of this index may leave; none if its answer is impossible.
private func hasOrder<State: Hashable>(
  _ calls: [Span], from initial: State, successors: (State, Int) -> [State]
) -> Bool {
  precondition(calls.count < 64)
  var visited: Set<Place<State>> = []
  var open = [Place(left: (1 << calls.count) - 1, state: initial)]
  while let place = open.popLast() {
    let left = calls.indices.filter { place.left & 1 << $0 != 0 }
    let answered = left.filter { calls[$0].isAnswered }
    guard let firstEnd = answered.map({ calls[$0].ended }).min() else { return true }
    for index in left where calls[index].began <= firstEnd {
      for state in successors(place.state, index) {
        let next = Place(left: place.left & ~(1 << index), state: state)
        if visited.insert(next).inserted { open.append(next) }
      }
    }
  }
  return false
}

/// A point of the search: the calls that have no place yet, and the state after the others.
private struct Place<State: Hashable>: Hashable {
  let left: UInt64
  let state: State
}

/// Records calls of several threads in the order of their events.
final class CallRecorder<Operation: Sendable, Answer: Sendable>: Sendable {
  private let clock = Atomic(0)
  private let recorded = Mutex<[RecordedCall<Operation, Answer>]>([])

  init() {}

  var calls: [RecordedCall<Operation, Answer>] { recorded.withLock { $0 } }

  /// The place of an event that happens now.
  func note() -> Int { clock.add(1, ordering: .sequentiallyConsistent).newValue }

  /// - Parameter body: throws if the answer is lost.
  func call(_ operation: Operation, _ body: () throws -> Answer) {
    let began = note()
    let answer = try? body()  // the reason does not matter
    let ended = note()
    recorded.withLock {
      $0.append(RecordedCall(operation, answer, began: began, ended: ended))
    }
  }
}
