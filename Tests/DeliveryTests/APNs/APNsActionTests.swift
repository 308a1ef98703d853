import Base
import Delivery
import Store
import Testing

/// Apple's table of answers, and our action for each answer.
@Suite struct APNsActionTests {
  static let retries = APNsRetries(delay: .seconds(900))

  func action(_ outcome: APNsOutcome, attempts: Int = 1) -> APNsAction {
    outcome.action(attempts: attempts, retries: Self.retries)
  }

  @Test(
    arguments: [
      (400, "BadDeviceToken", .markMismatch),
      (400, "DeviceTokenNotForTopic", .markMismatch),
      (400, "BadTopic", .stopTopic),
      (400, "MissingTopic", .stopTopic),
      (400, "TopicDisallowed", .stopTopic),
      (400, "BadCollapseId", .deadLetter(isProblem: true)),
      (400, "BadExpirationDate", .deadLetter(isProblem: true)),
      (400, "BadMessageId", .deadLetter(isProblem: true)),
      (400, "BadPriority", .deadLetter(isProblem: true)),
      (400, "InvalidPushType", .deadLetter(isProblem: true)),
      (400, "PayloadEmpty", .deadLetter(isProblem: true)),
      (400, "MissingDeviceToken", .deadLetter(isProblem: true)),
      (400, "DuplicateHeaders", .deadLetter(isProblem: true)),
      (400, "IdleTimeout", .retryNow),
      (403, "ExpiredProviderToken", .renewProviderToken),
      (403, "InvalidProviderToken", .stop),
      (403, "MissingProviderToken", .stop),
      (403, "BadCertificate", .stop),
      (403, "BadCertificateEnvironment", .stop),
      (403, "Forbidden", .stop),
      (403, "UnrelatedKeyIdInToken", .stop),
      (403, "BadEnvironmentKeyIdInToken", .stop),
      (403, "BadEnvironmentKeyInToken", .stop),
      (404, "BadPath", .deadLetter(isProblem: false)),
      (405, "MethodNotAllowed", .deadLetter(isProblem: false)),
      (413, "PayloadTooLarge", .deadLetter(isProblem: false)),
      (429, "TooManyRequests", .deferDevice(.seconds(900))),
      (429, "TooManyProviderTokenUpdates", .pause(.seconds(900))),
      (500, "InternalServerError", .retry(after: .seconds(900))),
      (503, "ServiceUnavailable", .retry(after: .seconds(900))),
      (503, "Shutdown", .retry(after: .seconds(900))),
      // Unknown reasons follow the class of their status.
      (400, "SomethingNew", .deadLetter(isProblem: true)),
      (403, "SomethingNew", .deadLetter(isProblem: true)),
      (429, "", .deadLetter(isProblem: true)),
      (499, "", .deadLetter(isProblem: true)),
      (500, "SomethingNew", .retry(after: .seconds(900))),
      (599, "", .retry(after: .seconds(900))),
      (302, "", .retry(after: .seconds(900))),
      // A server error never condemns the token, whatever its reason.
      (500, "BadDeviceToken", .retry(after: .seconds(900))),
    ] as [(Int, String, APNsAction)])
  func eachRefusalHasItsAction(_ status: Int, _ reason: String, _ expected: APNsAction) {
    let outcome = APNsOutcome.rejected(status: status, reason: .init(rawValue: reason))
    #expect(action(outcome) == expected)
  }

  @Test func whatAppleHasIsDone() {
    #expect(action(.accepted(apnsID: "x")) == .done)
  }

  @Test(arguments: ["Unregistered", "ExpiredToken", "SomethingNew"])
  func aTokenIsRemovedOnlyIfAppleSaysSinceWhenItIsDead(_ word: String) {
    for (since, expected) in [(Timestamp.now(), APNsAction.removeToken), (nil, .keepToken)] {
      #expect(action(.unregistered(reason: .init(rawValue: word), since: since)) == expected)
    }
  }

  @Test func retriesBackOffFromApplesQuarterOfAnHour() {
    let outcome = APNsOutcome.rejected(status: 503, reason: .init(rawValue: "ServiceUnavailable"))
    let delays = [1, 2, 3, 4, 5, 6, 100].map { action(outcome, attempts: $0) }
    #expect(
      delays
        == [900, 1800, 3600, 7200, 14_400, 14_400, 14_400].map { .retry(after: .seconds($0)) })
  }

  @Test func silenceIsRetriedSoonerAndWhatWasNotTakenAtOnce() {
    #expect(action(.unanswered) == .retry(after: .seconds(60)))
    #expect(action(.unanswered, attempts: 3) == .retry(after: .seconds(240)))
    #expect(action(.notProcessed) == .retryNow)
  }

  @Test func configurationAndOurOwnMistakesAreProblems() {
    #expect(APNsAction.stop.isProblem)
    #expect(APNsAction.stopTopic.isProblem)
    #expect(APNsAction.deadLetter(isProblem: true).isProblem)
    #expect(!APNsAction.deadLetter(isProblem: false).isProblem)
    #expect(!APNsAction.removeToken.isProblem)
    #expect(!APNsAction.markMismatch.isProblem)
  }
}
