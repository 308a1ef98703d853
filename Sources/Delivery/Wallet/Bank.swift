import Base
import Cryptography
import Store

/// Why a bank gave no cards.
struct BankFailure: Error, Equatable {
  /// What the app is told.
  let end: EnrollmentFailure
  /// In words, no secret.
  let reason: String

  static func refused(_ reason: String) -> BankFailure {
    BankFailure(end: .bankRefused, reason: reason)
  }

  static func unavailable(_ reason: String) -> BankFailure {
    BankFailure(end: .bankUnavailable, reason: reason)
  }
}

/// One conversation with a bank: a code for a token, the token for cards.
struct Bank: ~Copyable {
  private let client = HTTPClient(userAgent: "Switchboard/\(Product.version)")
  private let enrollment: EnrollmentInHand
  private let deadline: ContinuousClock.Instant

  init(of enrollment: EnrollmentInHand, until deadline: ContinuousClock.Instant) {
    self.enrollment = enrollment
    self.deadline = deadline
  }

  /// The access token that `code` is good for.
  ///
  /// We authenticate by HTTP Basic, which every bank must support, and not in the body, which the
  /// standard recommends to nobody (RFC 6749 §2.3.1).
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
      let word = try? TokenAnswer(json: answer.body).error  // whatever else it says, it said no
      throw refusal(answer, "token", saying: word)
    }
    return try TokenAnswer(json: answer.body).accessToken(nonceHash: enrollment.nonceHash)
  }

  /// The person's cards, in the bank's order.
  func cards(with accessToken: String) throws(BankFailure) -> [BankCard] {
    let answer = try ask(
      enrollment.cardsURL, authorization: "Bearer \(accessToken)", atMost: 256 << 10)
    guard answer.status == 200 else { throw refusal(answer, "cards") }
    return try BankCard.list(json: answer.body)
  }

  /// Each question has half of the time that a person is kept waiting, and no more than is left.
  private func ask(
    _ url: String, posting form: String? = nil, authorization: String, atMost size: Int
  ) throws(BankFailure) -> HTTPAnswer {
    var limits = HTTPClient.Limits()
    limits.connecting = .seconds(3)
    limits.total = max(.milliseconds(1), min(.seconds(4), deadline - .now))
    limits.body = size
    do throws(HTTPError) {
      return try client.ask(url, posting: form, authorization: authorization, limits: limits)
    } catch {
      throw .unavailable(error.reason)
    }
  }

  /// What it means that the answer is not 200: a no, or that it should be asked another time.
  private func refusal(
    _ answer: HTTPAnswer, _ endpoint: String, saying word: String? = nil
  ) -> BankFailure {
    let reason = [endpoint, "\(answer.status)", word].compactMap { $0 }.joined(separator: " ")
    let isNo = 400...499 ~= answer.status && ![404, 405, 408, 425, 429].contains(answer.status)
    return isNo ? .refused(reason) : .unavailable(reason)
  }
}
