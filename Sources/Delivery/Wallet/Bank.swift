import Base
import Cryptography
import Store

/// Requests to a bank for one enrollment: exchanges a code for a token, then gets the cards with
/// the token.
struct Bank: ~Copyable {
  private let client: HTTPClient
  private let enrollment: PendingEnrollment
  private let outbound: OutboundRule
  private let deadline: ContinuousClock.Instant
  private let clock: LimitClock

  /// - Parameter outbound: rule for connections to the bank.
  init(
    of enrollment: PendingEnrollment, under outbound: OutboundRule,
    until deadline: ContinuousClock.Instant, _ clock: LimitClock
  ) {
    client = HTTPClient(userAgent: "Switchboard/\(Product.version)", clock: clock)
    self.clock = clock
    self.enrollment = enrollment
    self.outbound = outbound
    self.deadline = deadline
  }

  /// Exchanges `code` for an access token.
  ///
  /// Authenticates by HTTP Basic, which every bank must support. RFC 6749 §2.3.1 advises against
  /// credentials in the body.
  func accessToken(
    for code: String, verifier: String, redirectURI: String, clientSecret: String
  ) throws(BankFailure) -> String {
    let form = [
      ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirectURI),
      ("client_id", enrollment.clientID), ("code_verifier", verifier),
    ].map { "\($0)=\($1.percentEncoded)" }.joined(separator: "&")
    let credentials = "\(enrollment.clientID.percentEncoded):\(clientSecret.percentEncoded)"
    let answer = try ask(
      enrollment.tokenURL, posting: form,
      authorization: "Basic \(base64Encoded(Array(credentials.utf8)))", atMost: 64 << 10)
    guard answer.status == 200 else {
      // An unreadable body does not matter: the status is a refusal.
      let error = (try? TokenAnswer(json: answer.body))?.error
      throw refusal(answer, "token", error: error)
    }
    return try TokenAnswer(json: answer.body).accessToken(nonceHash: enrollment.nonceHash)
  }

  /// Gets the person's cards, in the bank's order.
  func cards(with accessToken: String) throws(BankFailure) -> [BankCard] {
    let answer = try ask(
      enrollment.cardsURL, authorization: "Bearer \(accessToken)", atMost: 256 << 10)
    guard answer.status == 200 else { throw refusal(answer, "cards") }
    return try BankCard.list(json: answer.body)
  }

  /// Sends a request, which takes at most 4 seconds and at most the time until the deadline.
  private func ask(
    _ url: ForeignURL, posting form: String? = nil, authorization: String, atMost size: Int
  ) throws(BankFailure) -> HTTPAnswer {
    var limits = HTTPClient.Limits()
    limits.connecting = .seconds(3)
    limits.total = max(.milliseconds(1), min(.seconds(4), deadline - clock.now()))
    limits.body = size
    do throws(HTTPError) {
      return try client.ask(
        .foreign(url, under: outbound), posting: form, authorization: authorization, limits: limits)
    } catch {
      throw .bankUnavailable(error.reason)
    }
  }

  /// The failure for a status other than 200: the bank refuses, or is unavailable for now.
  private func refusal(
    _ answer: HTTPAnswer, _ endpoint: String, error: OAuthError? = nil
  ) -> BankFailure {
    let reason = [endpoint, "\(answer.status)", error?.rawValue].compactMap { $0 }
      .joined(separator: " ")
    let isNo = 400...499 ~= answer.status && ![404, 405, 408, 425, 429].contains(answer.status)
    return isNo ? .bankRefused(reason) : .bankUnavailable(reason)
  }
}
