import Store

/// online-go.com, asked one question at a time over one kept connection.
struct OnlineGo: ~Copyable {
  enum Answer {
    case games(SeenGames, entityTag: String?)
    /// As it was when the entity tag was given.
    case unchanged
    case failure(PollFailure)
  }

  private let client: HTTPClient
  private let baseURL: String

  init(_ settings: PollSettings) {
    client = HTTPClient(userAgent: settings.userAgent)
    baseURL = settings.baseURL
  }

  /// The active games of a user.
  func games(
    of userID: Int64, entityTag: String? = nil, limits: HTTPClient.Limits = .init()
  ) -> Answer {
    let answer: HTTPAnswer
    do throws(HTTPError) {
      answer = try client.get(
        "\(baseURL)/api/v1/players/\(userID)/full", entityTag: entityTag, limits: limits)
    } catch {
      return .failure(PollFailure(error))
    }
    switch answer.status {
    case 200: return read(answer)
    case 304 where entityTag != nil: return .unchanged
    case 404: return .failure(.gone)
    default:
      return .failure(.refused(reason: "\(answer.status)", retryAfter: answer.retryAfter))
    }
  }

  private func read(_ answer: HTTPAnswer) -> Answer {
    do throws(JSONError) {
      return .games(try SeenGames(ofPlayer: answer.body), entityTag: answer.entityTag)
    } catch {
      let first = answer.body.first { ![0x20, 0x09, 0x0a, 0x0d].contains($0) }
      guard first == UInt8(ascii: "{") else {
        // A page that says the site is being maintained, say.
        return .failure(.refused(reason: "200 without JSON", retryAfter: answer.retryAfter))
      }
      return .failure(.unreadable(reason: "the answer is \(error)"))
    }
  }
}

extension PollFailure {
  fileprivate init(_ error: HTTPError) {
    switch error.kind {
    case .transport, .redirected: self = .refused(reason: error.reason, retryAfter: nil)
    case .tooLarge: self = .unreadable(reason: error.reason)
    }
  }
}
