import Testing

@testable import Delivery

/// The action for each answer of FCM, as in the manual's table.
@Suite struct FCMOutcomeTests {
  @Test(
    arguments: [
      (404, "UNREGISTERED", .removeToken), (403, "SENDER_ID_MISMATCH", .markMismatch),
      (400, "INVALID_ARGUMENT", .deadLetter), (401, "THIRD_PARTY_AUTH_ERROR", .deadLetter),
      (401, "UNAUTHENTICATED", .renewAccessToken), (403, "PERMISSION_DENIED", .stop),
      (404, "NOT_FOUND", .stop), (429, "QUOTA_EXCEEDED", .retry(after: .seconds(60))),
      (500, "INTERNAL", .retry(after: .seconds(60))),
      (503, "UNAVAILABLE", .retry(after: .seconds(60))), (418, "", .deadLetter),
      (502, "", .retry(after: .seconds(60))),
    ] as [(Int, String, FCMAction)])
  func eachRefusalHasItsAction(status: Int, code: String, action: FCMAction) {
    let outcome = FCMOutcome.refused(FCMRefusal(status: status, code: code))
    #expect(outcome.action(attempts: 1) == action)
  }

  @Test func waitsGrowAndKeepRetryAfter() {
    func wait(_ attempts: Int, _ least: Duration?) -> FCMAction {
      FCMOutcome.refused(FCMRefusal(status: 503, code: "", retryAfter: least))
        .action(attempts: attempts)
    }
    #expect(wait(2, nil) == .retry(after: .seconds(120)))
    #expect(wait(9, nil) == .retry(after: .seconds(960)))
    #expect(wait(1, .seconds(600)) == .retry(after: .seconds(600)))
    #expect(FCMOutcome.unanswered("x").action(attempts: 1) == .retry(after: .seconds(60)))
  }

  @Test(arguments: [
    ("", ""), ("<html>", ""), (#"{"error":{"status":"NOT_FOUND"}}"#, "NOT_FOUND"),
    (#"{"error":{"status":"NOT_FOUND","details":[{"errorCode":"UNREGISTERED"}]}}"#, "UNREGISTERED"),
    (#"{"error":{"details":[{"errorCode":"UNREGISTERED"}"#, "UNREGISTERED"),
    (#"{"error":{"status":"a\nb"}}"#, ""), (#"{"error":7}"#, ""),
  ])
  func theWordIsReadFromTheBody(body: String, code: String) {
    let answer = HTTPAnswer(
      status: 404, body: Array(body.utf8), entityTag: nil, retryAfter: nil)
    #expect(FCMOutcome(answer) == .refused(FCMRefusal(status: 404, code: code)))
  }
}
