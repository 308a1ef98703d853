import Base
import Support
import Testing

@testable import Store

/// ``Polls/claim(_:as:)``, with which a check runs before the polls.
@Suite struct PollClaimTests {
  /// A check waits for a busy user and gives up during a pause.
  @Test func ofSimultaneousClaimsOneWinsAndTheOthersSeeThatTheUserIsBusy() throws {
    try withStore { store throws in
      store.sql(
        """
        INSERT INTO ogs_users (id) VALUES (7);
        INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at)
          VALUES (7, REPEAT('a', 64), UTC_TIMESTAMP(3))
        """)
      let database = store.database("companion")
      for round in 10..<30 {
        let claims = try inParallel(8) { number -> String in
          let claimID = "01890a5d-ac96-774b-bcce-b302099\(round)00\(number)"
          let polls = database.records(at: .now(), from: .companion).polls
          return switch try polls.claim(7, as: claimID) {
          case .claimed: "claimed"
          case .busy: "busy"
          case .paused: "paused"
          case .unregistered: "unregistered"
          }
        }
        #expect(claims.sorted() == Array(repeating: "busy", count: 7) + ["claimed"])
        store.sql("UPDATE ogs_users SET claim_id = NULL, due_at = UTC_TIMESTAMP(3)")
      }
    }
  }
}
