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
/// (linearizability: Herlihy and Wing, 1990). At most 64 calls.
///
/// Searches all orders, and visits no state twice with the same calls left (Wing and Gong, 1993; Lowe, 2017).
///
/// - Parameter apply: the answer that the object gives in a state, which it changes.
func isLinearizable<State: Hashable, Operation, Answer: Equatable>(
  _ calls: [RecordedCall<Operation, Answer>], from initial: State,
  _ apply: (inout State, Operation) -> Answer
) -> Bool {
  precondition(calls.count <= 64)
  var visited: Set<Place<State>> = []
  var open = [Place(left: calls.count == 64 ? .max : (1 << calls.count) - 1, state: initial)]
  while let place = open.popLast() {
    let left = calls.indices.filter { place.left & 1 << $0 != 0 }
    let answered = left.filter { calls[$0].answer != nil }
    guard let firstEnd = answered.map({ calls[$0].ended }).min() else { return true }
    for index in left where calls[index].began <= firstEnd {
      var next = Place(left: place.left & ~(1 << index), state: place.state)
      let answer = apply(&next.state, calls[index].operation)
      let isPossible = calls[index].answer.map { $0 == answer } ?? true
      if isPossible, visited.insert(next).inserted { open.append(next) }
    }
  }
  return false
}

/// A point of the search: the calls that have no place yet, and the state after the others.
private struct Place<State: Hashable>: Hashable {
  let left: UInt64
  var state: State
}

/// Records calls of several threads in the order of their events.
final class CallRecorder<Operation: Sendable, Answer: Sendable>: Sendable {
  private let clock = Atomic(0)
  private let recorded = Mutex<[RecordedCall<Operation, Answer>]>([])

  init() {}

  var calls: [RecordedCall<Operation, Answer>] { recorded.withLock { $0 } }

  /// - Parameter body: throws if the answer is lost.
  func call(_ operation: Operation, _ body: () throws -> Answer) {
    let began = clock.add(1, ordering: .sequentiallyConsistent).newValue
    let answer = try? body()  // the reason does not matter
    let ended = clock.add(1, ordering: .sequentiallyConsistent).newValue
    recorded.withLock {
      $0.append(RecordedCall(operation, answer, began: began, ended: ended))
    }
  }
}
