import Support
import Testing

/// The checker finds the anomalies that databases are known for, and nothing else.
@Suite struct LinearizabilityTests {
  private enum Operation { case spend, read }
  private typealias Call = RecordedCall<Operation, Bool>

  /// A value that can be spent once; reading tells whether it is spent.
  private func isPossible(_ calls: [Call]) -> Bool {
    isLinearizable(calls, from: false) { isSpent, operation in
      switch operation {
      case .read: return isSpent
      case .spend:
        defer { isSpent = true }
        return !isSpent
      }
    }
  }

  @Test func callsOneAfterTheOtherHaveOneOrder() {
    #expect(
      isPossible([Call(.spend, true, began: 1, ended: 2), Call(.spend, false, began: 3, ended: 4)]))
    #expect(
      !isPossible([Call(.spend, false, began: 1, ended: 2), Call(.spend, true, began: 3, ended: 4)])
    )
  }

  @Test func callsAtOnceMayHaveEitherOrder() {
    #expect(
      isPossible([Call(.spend, false, began: 1, ended: 3), Call(.spend, true, began: 2, ended: 4)]))
  }

  @Test func twoCannotSpendIt() {
    #expect(
      !isPossible([Call(.spend, true, began: 1, ended: 3), Call(.spend, true, began: 2, ended: 4)]))
  }

  @Test func aReadIsNotOlderThanAnEarlierRead() {
    #expect(
      !isPossible([
        Call(.spend, true, began: 1, ended: 6), Call(.read, true, began: 2, ended: 3),
        Call(.read, false, began: 4, ended: 5),
      ]))
    #expect(
      isPossible([
        Call(.spend, true, began: 1, ended: 6), Call(.read, false, began: 2, ended: 3),
        Call(.read, true, began: 4, ended: 5),
      ]))
  }

  @Test func anEffectIsNotLost() {
    #expect(
      !isPossible([Call(.spend, true, began: 1, ended: 2), Call(.read, false, began: 3, ended: 4)]))
  }

  @Test func aLostAnswerMayHaveHadItsEffectEarlyLateOrNever() {
    let lost = Call(.spend, nil, began: 1, ended: 2)
    #expect(isPossible([lost, Call(.spend, false, began: 3, ended: 4)]))
    #expect(isPossible([lost, Call(.spend, true, began: 3, ended: 4)]))
    #expect(
      isPossible([
        lost, Call(.read, false, began: 3, ended: 4), Call(.read, true, began: 5, ended: 6),
      ]))
    // Not before it began.
    #expect(!isPossible([Call(.read, true, began: 0, ended: 0), lost]))
  }

  @Test func nobodyGetsAnAnswerWithoutACause() {
    #expect(!isPossible([Call(.read, true, began: 1, ended: 2)]))
  }

  /// A refusal may have seen a change that the end of the server undid; a success may not be undone.
  @Test func aKillUndoesOnlyChangesWithoutAnAnswer() {
    func isPossible(_ first: Bool?) -> Bool {
      let calls = [
        Call(.spend, first, began: 1, ended: 4), Call(.spend, false, began: 2, ended: 3),
        Call(.spend, true, began: 7, ended: 8),
      ]
      return isLinearizable(calls, from: false, killed: (5, 6)) { isSpent, _ in
        defer { isSpent = true }
        return !isSpent
      }
    }
    #expect(isPossible(nil))
    #expect(!isPossible(true))
  }
}
