import Base
import Cryptography
import HTTP
import Store

/// Where the app waits for the end of an enrolment.
private let appCallback = "mwsim://enrollment/callback"

/// `GET /api/enrollment/start/:bsimId[?mobile=true]`: sends a browser to the bank; `mobile` has the
/// app told how it ended. A cookie ties the enrolment to the browser (RFC 6749 §10.12).
///
/// - Throws: ``Failure/unknownBank``; ``Failure/tooManyRequests(retryAfter:)``.
func startEnrollment(_ request: Request, in context: borrowing Context) throws -> Response {
  let isMobile = request.queryItem("mobile") == "true"
  let value = base64URLEncoded(context.random(32))
  let start = try context.beginEnrollment(request, isMobile: isMobile, cookie: value)
  let cookie = BrowserCookie(at: context.settings.publicURL)
  return Response(
    status: 302, fields: [("Location", start.url), ("Set-Cookie", cookie.setting(value))])
}

/// `POST /api/mobile/enrollment/start/:bsimId`: where the app sends a person.
///
/// - Throws: ``Failure/unknownBank``; ``Failure/tooManyRequests(retryAfter:)``.
func startEnrollmentInApp(_ request: Request, in context: borrowing Context) throws -> Response {
  let start = try context.beginEnrollment(request, isMobile: true, cookie: nil)
  return .json { json in
    json.member("authUrl", start.url)
    json.member("enrollmentId", start.id.filter { $0 != "-" })
    json.member("bsimId", context.pathItem)
    json.member("bankName", start.bankName)
    json.member("callbackUrlPattern", appCallback)
  }
}

/// `GET /api/enrollment/callback/:bsimId`: where the bank sends the person back. The companion
/// exchanges the code, and app or browser is told how it ended. Without the cookie, and at another address
/// than where it began, the person is asked first.
///
/// Where too many wait for banks the state stays good, and the page is asked for again.
///
/// - Throws: ``Failure/unknownBank``
func finishEnrollment(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.finishEnrollment(request, isConfirmed: false, item: request.queryItem)
}

/// `POST /api/enrollment/callback/:bsimId`: the same, by a person who was asked.
///
/// - Throws: what ``finishEnrollment(_:in:)`` does; ``Failure/badRequest(_:)`` unless the body is a form.
func finishConfirmedEnrollment(_ request: Request, in context: borrowing Context) throws -> Response
{
  let type = request.field("Content-Type")?.split(separator: ";").first.map { String($0).trimmed }
  guard type?.lowercased() == "application/x-www-form-urlencoded" else {
    throw Failure.badRequest("The body is not a form")
  }
  return try context.finishEnrollment(request, isConfirmed: true, item: request.formItem)
}

extension Context {
  /// - Parameter item: what the bank sent along under a name.
  fileprivate func finishEnrollment(
    _ request: Request, isConfirmed: Bool, item: (String) -> String?
  ) throws -> Response {
    let refusal = item("error").map(refusalWord)
    let (code, state) = (item("code") ?? "", item("state") ?? "")
    let cookie = BrowserCookie(at: settings.publicURL).value(in: request)
    let back = BankReturn(
      bsimID: pathItem, stateHash: sha256(state), refusal: refusal,
      browserHash: sha256(cookie ?? ""), isConfirmed: isConfirmed)
    let waits = refusal == nil && !code.isEmpty
    var hasPlace = false
    defer { if hasPlace { leaveBank() } }
    let outcome: ReturnOutcome
    do {
      outcome = try database.spend(back, from: origin, at: now) {
        guard waits, !hasPlace else { return }
        guard enterBank() else { throw NoPlace() }
        hasPlace = true
      }
    } catch is NoPlace {
      return queue(isForm: isConfirmed)
    }
    switch outcome {
    case .unknownBank: throw Failure.unknownBank
    case .elsewhere(let bankName, let email):
      return question(bankName: bankName, email: email, code: code, state: state)
    case .invalidState(let isMobile):
      return response(to: .failed(.invalidState), isMobile: isMobile, bankName: "")
    case .back(let enrollment):
      let end = try refusal.map { .failed(failure(for: $0)) } ?? exchange(code, for: enrollment)
      return response(to: end, isMobile: enrollment.isMobile, bankName: enrollment.bankName)
    }
  }

  private func response(
    to end: EnrollmentEnd, isMobile: Bool, bankName: String
  ) -> Response {
    guard isMobile else { return end.page(bankName: bankName) }
    let location = appCallback.adding(end.members(bsimID: pathItem, bankName: bankName))
    return Response(
      status: 302, fields: [("Location", location), ("Referrer-Policy", "no-referrer")])
  }

  /// A person waits, who cannot read our errors.
  private func queue(isForm: Bool) -> Response {
    let advice = isForm ? "Please go back and try again." : "This page tries again by itself."
    var response = Page(
      title: "One moment", content: "<p>Many cards are being added just now. \(advice)</p>"
    ).response(status: 503)
    response.fields.append(("Retry-After", "5"))
    if !isForm { response.fields.append(("Refresh", "5")) }
    return response
  }

  /// Whoever was talked into a stranger's enrolment sees here whose it is (RFC 9700 §4.7).
  private func question(bankName: String, email: String, code: String, state: String) -> Response {
    let fields = [("code", code), ("state", state)].map { name, value in
      #"<input type="hidden" name="\#(name)" value="\#(value.htmlEscaped)">"#
    }
    let content = """
      <p>This was begun on another device or network. Shall your cards at <strong>\(bankName.htmlEscaped)</strong> \
      be added to the wallet of <strong><bdi>\(email.initialAndDomain.htmlEscaped)</bdi></strong>?</p>
      <form method="post" action="/api/enrollment/callback/\(pathItem.percentEncoded)">
      \(fields.joined(separator: "\n"))
      <button>Add the cards</button>
      <p>If that is not your wallet, close this page: nothing is added then.</p>
      </form>
      """
    return Page(title: "Add these cards?", content: content, formTarget: "mwsim:").response()
  }
}

/// Too many requests wait for banks.
private struct NoPlace: Error {}

/// Ties an enrolment to the browser that began it.
struct BrowserCookie {
  private let name: String
  private let attributes: String

  init(at publicURL: String) {
    let isSecure = publicURL.lowercased().hasPrefix("https:")
    name = isSecure ? "__Host-enrollment" : "enrollment"
    attributes =
      "; Path=/; Max-Age=\(NewEnrollment.lifetime.components.seconds); HttpOnly; SameSite=Lax"
      + (isSecure ? "; Secure" : "")
  }

  /// The value of `Set-Cookie`.
  func setting(_ value: String) -> String { "\(name)=\(value)\(attributes)" }

  func value(in request: Request) -> String? {
    request.fieldValues("Cookie").flatMap { $0.split(separator: ";") }.lazy
      .map { String($0).trimmed }.first { $0.hasPrefix("\(name)=") }
      .map { String($0.dropFirst(name.count + 1)) }
  }
}

private struct StartedEnrollment {
  let id: String
  let bankName: String
  /// Of the bank, with all that it must be told.
  let url: String
}

extension Context {
  /// Makes state, nonce and verifier (RFC 6749 §10.12, OpenID Connect Core §3.1.2.1, RFC 7636), and
  /// keeps what is needed of them.
  fileprivate func beginEnrollment(
    _ request: Request, isMobile: Bool, cookie: String?
  ) throws -> StartedEnrollment {
    let caller = try authenticate(request)
    let (state, nonce) = (hexEncoded(random(16)), hexEncoded(random(16)))
    let verifier = base64URLEncoded(random(32))
    let id = timeOrderedUUID(milliseconds: now.milliseconds)
    let new = NewEnrollment(
      id: id, bsimID: pathItem, stateHash: sha256(state), nonceHash: sha256(nonce),
      sealedVerifier: seal(
        Array(verifier.utf8), authenticating: NewEnrollment.sealingContext(ofVerifier: id),
        with: settings.credentialKeys), isMobile: isMobile, browserHash: cookie.map { sha256($0) })
    guard let bank = try database.begin(new, by: caller, at: now) else {
      throw Failure.unknownBank
    }
    let query = [
      ("client_id", bank.clientID), ("redirect_uri", redirectURI), ("response_type", "code"),
      ("scope", bank.scope), ("state", state), ("nonce", nonce),
      ("code_challenge", base64URLEncoded(sha256(verifier))), ("code_challenge_method", "S256"),
    ]
    return StartedEnrollment(
      id: id, bankName: bank.bankName, url: bank.authorizationURL.adding(query))
  }

  /// Where the bank of the path sends people back.
  private var redirectURI: String { "\(settings.publicURL)/api/enrollment/callback/\(pathItem)" }

  /// Has the companion exchange the code that the bank sent along.
  fileprivate func exchange(
    _ code: String, for enrollment: ReturnedEnrollment
  ) throws -> EnrollmentEnd {
    guard !code.isEmpty else { return .failed(.bankRefused) }
    let exchange = BankExchange(
      enrollmentID: enrollment.id,
      sealedCode: seal(
        Array(code.utf8), authenticating: BankExchange.sealingContext(ofCode: enrollment.id),
        with: settings.credentialKeys),
      redirectURI: redirectURI, deviceID: enrollment.deviceID, address: origin.address)
    do {
      let result = try run(.bankEnrollment, Errand.json(exchange))
      return try Errand.decode(EnrollmentEnd.self, from: result)
    } catch is Failure {
      return .failed(.noAnswer)  // a person waits who cannot read our errors
    }
  }
}

/// The bank's `error` (RFC 6749 §4.1.2.1), if it is a word as the standard's are.
private func refusalWord(_ error: String) -> String {
  let isWord =
    1...40 ~= error.utf8.count && error.utf8.allSatisfy { $0 == 0x5f || 0x61...0x7a ~= $0 }
  return isWord ? error : "an error without a name"
}

private func failure(for refusal: String) -> EnrollmentFailure {
  switch refusal {
  case "access_denied": .userCancelled
  case "server_error", "temporarily_unavailable": .bankUnavailable
  default: .bankRefused
  }
}

extension EnrollmentEnd {
  fileprivate func members(bsimID: String, bankName: String) -> [(String, String)] {
    switch self {
    case .enrolled(let cards):
      [("success", "true"), ("bsimId", bsimID), ("bankName", bankName), ("cardCount", "\(cards)")]
    case .failed(let failure):
      [("success", "false"), ("error", failure.rawValue), ("message", failure.message)]
    }
  }

  /// There is no page of a web wallet to send a browser to, so this one says how it ended.
  fileprivate func page(bankName: String) -> Response {
    switch self {
    case .enrolled(let cards):
      let bank = "<p><strong>\(bankName.htmlEscaped)</strong></p>"
      let number = cards == 1 ? "One card is" : "\(cards) cards are"
      return Page(
        title: "Bank enrolled",
        content: "\(bank)\n<p>\(number) in your wallet. You can close this page.</p>"
      ).response()
    case .failed(let failure):
      return Page(title: "Bank not enrolled", content: "<p>\(failure.message.htmlEscaped)</p>")
        .response(status: 400)
    }
  }
}

extension EnrollmentFailure {
  fileprivate var message: String {
    switch self {
    case .invalidState: "This enrolment has expired or was used before. Please start again."
    case .userCancelled: "The enrolment was cancelled."
    case .bankRefused: "The bank refused the enrolment. Please start again."
    case .bankUnavailable: "The bank cannot be reached at the moment. Please try again later."
    case .noAnswer: "There was no answer in time, and nothing was stored. Please try again."
    }
  }
}

extension Failure {
  fileprivate static let unknownBank = Failure.notFound("Bank not found")
}

extension String {
  /// Of an e-mail address, enough to know one's own by: `a…@example.org`.
  fileprivate var initialAndDomain: String {
    guard let at = unicodeScalars.lastIndex(of: "@") else { return "" }
    return "\(prefix(1))…\(self[at...])"
  }

  /// This URL with further members of its query.
  fileprivate func adding(_ members: [(String, String)]) -> String {
    let query = members.map { "\($0)=\($1.percentEncoded)" }.joined(separator: "&")
    guard contains("?") else { return "\(self)?\(query)" }
    return hasSuffix("?") || hasSuffix("&") ? self + query : "\(self)&\(query)"
  }
}
