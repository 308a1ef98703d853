import Base
import Store

/// Client for online-go.com: one request at a time over one kept connection.
struct OnlineGo: ~Copyable {
  enum GamesAnswer {
    case games(SeenGames, entityTag: String?)
    /// Nothing has changed since the answer with the entity tag.
    case unchanged
    case failure(PollFailure)
  }

  private let client: HTTPClient
  /// Time of the last answer, by the clock of online-go.com.
  var date: Timestamp? { client.date }
  private let baseURL: String

  init(_ settings: PollSettings, _ clock: LimitClock) {
    client = HTTPClient(userAgent: settings.userAgent, clock: clock)
    baseURL = settings.baseURL
  }

  /// The active games of a user.
  func fetchGames(
    of userID: Int64, entityTag: String? = nil, limits: HTTPClient.Limits = .init()
  ) -> GamesAnswer {
    let answer: HTTPAnswer
    do throws(HTTPError) {
      answer = try client.get(
        .configured("\(baseURL)/api/v1/players/\(userID)/full"), entityTag: entityTag,
        limits: limits)
    } catch {
      return .failure(PollFailure(error))
    }
    switch answer.status {
    case 200: return read(answer, of: userID)
    case 304 where entityTag != nil: return .unchanged
    case 404: return .failure(.gone)
    default:
      return .failure(.refused(reason: "\(answer.status)", retryAfter: answer.retryAfter))
    }
  }

  private func read(_ answer: HTTPAnswer, of userID: Int64) -> GamesAnswer {
    do {
      return .games(try SeenGames(ofPlayer: answer.body, for: userID), entityTag: answer.entityTag)
    } catch {
      let first = answer.body.first { !$0.isJSONWhiteSpace }
      guard first == UInt8(ascii: "{") else {
        // For example a page about maintenance of the site.
        return .failure(.refused(reason: "200 without JSON", retryAfter: answer.retryAfter))
      }
      return .failure(.unreadable(reason: "the answer is \(error)"))
    }
  }
}

extension PollFailure {
  fileprivate init(_ error: HTTPError) {
    switch error.kind {
    case .transport, .redirected, .malformed, .forbiddenAddress:
      self = .refused(reason: error.reason, retryAfter: nil)
    case .tooLarge: self = .unreadable(reason: error.reason)
    }
  }
}
