import Base
import Testing

@testable import Store

/// The access token of Google that all processes share.
@Suite struct FCMAccessTokenTests {
  private static let first = "01890a5d-ac96-774b-bcce-b302099a9001"
  private static let second = "01890a5d-ac96-774b-bcce-b302099a9002"

  /// The claim of a slow process has expired, and another process has claimed the request.
  @Test func aTokenWhoseClaimHasPassedOnIsNotKept() throws {
    try withStore { store throws in
      let tokens = store.records("companion").fcmAccessTokens
      #expect(try tokens.claim("account", after: 0, as: Self.first))
      #expect(try !tokens.claim("account", after: 0, as: Self.second))
      store.sql("UPDATE fcm_access_tokens SET claimed_until = claimed_until - INTERVAL 21 SECOND")
      #expect(try tokens.claim("account", after: 0, as: Self.second))
      try tokens.keep("late", of: "account", for: .seconds(3600), by: Self.first)
      #expect(try tokens.newest(of: "account").sealed == nil)
      try tokens.keep("new", of: "account", for: .seconds(3600), by: Self.second)
      let kept = try tokens.newest(of: "account")
      #expect(kept.sealed == "new" && kept.generation == 1)
    }
  }
}
