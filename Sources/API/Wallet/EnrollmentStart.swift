import Base
import Cryptography
import HTTP
import Store

/// `GET /api/enrollment/start/:bsimId[?mobile=true]`: sends a browser to the bank. With `mobile` the
/// result goes to the app. A cookie binds the enrollment to the browser (RFC 6749 §10.12); all enrollments of
/// a browser share its cookie. Other addresses of the site than the main one set no cookie, because the bank
/// sends people back to the main address, where the browser would not send it. The page then asks the person.
///
/// - Throws: ``Failure/unknownBank``; ``Failure/tooManyRequests(retryAfter:)``.
func startEnrollment(_ request: Request, in context: borrowing Context) throws -> Response {
  let isMobile = request.queryItem("mobile") == "true"
  guard context.isAtMainAddress(request) else {
    let start = try context.beginEnrollment(request, isMobile: isMobile, cookie: nil)
    return Response(status: 302, fields: [("Location", start.url)])
  }
  let cookie = BrowserCookie.enrollment(at: context.settings.publicURL)
  let own = cookie.sentValue(in: request).flatMap { $0.utf8.count == 43 ? $0 : nil }
  let value =
    own.flatMap { base64URLDecoded($0) } == nil ? base64URLEncoded(context.random(32)) : own!
  let start = try context.beginEnrollment(request, isMobile: isMobile, cookie: value)
  return Response(
    status: 302, fields: [("Location", start.url), ("Set-Cookie", cookie.setting(value))])
}

/// `POST /api/mobile/enrollment/start/:bsimId`: returns the bank's URL, to which the app sends the person.
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

private struct StartedEnrollment {
  let id: String
  let bankName: String
  /// The bank's URL, with all parameters.
  let url: String
}

/// The secrets of an enrollment (RFC 6749 §10.12, OpenID Connect Core §3.1.2.1, RFC 7636).
private struct EnrollmentSecrets {
  let state: String
  let nonce: String
  let verifier: String

  init(from context: borrowing Context) {
    state = hexEncoded(context.random(16))
    nonce = hexEncoded(context.random(16))
    verifier = base64URLEncoded(context.random(32))
  }

  /// The query of the authorization URL.
  func query(for bank: BankAuthorization, redirectURI: String) -> [(String, String)] {
    [
      ("client_id", bank.clientID), ("redirect_uri", redirectURI), ("response_type", "code"),
      ("scope", bank.scope), ("state", state), ("nonce", nonce),
      ("code_challenge", base64URLEncoded(sha256(verifier))), ("code_challenge_method", "S256"),
    ]
  }
}

extension Context {
  /// Whether the request came to the main address of the site, or to an unknown address.
  fileprivate func isAtMainAddress(_ request: Request) -> Bool {
    let end = "://\(request.field("Host")?.lowercased() ?? "")"
    return settings.origins.first { $0.hasSuffix(end) } ?? settings.origins[0]
      == settings.origins[0]
  }

  /// Makes the secrets of an enrollment and stores their hashes; the verifier is sealed.
  fileprivate func beginEnrollment(
    _ request: Request, isMobile: Bool, cookie: String?
  ) throws -> StartedEnrollment {
    let caller = try authenticate(request)
    let secrets = EnrollmentSecrets(from: self)
    let id = timeOrderedUUID(milliseconds: now.milliseconds)
    let new = NewEnrollment(
      id: id, bsimID: pathItem, stateHash: sha256(secrets.state),
      nonceHash: sha256(secrets.nonce),
      sealedVerifier: seal(
        Array(secrets.verifier.utf8),
        authenticating: NewEnrollment.sealingContext(ofVerifier: id),
        for: settings.companionKeys),
      isMobile: isMobile, browserHash: cookie.map { sha256($0) })
    guard let bank = try records.enrollments.begin(new, by: caller) else {
      throw Failure.unknownBank
    }
    let query = secrets.query(for: bank, redirectURI: redirectURI)
    return StartedEnrollment(
      id: id, bankName: bank.bankName, url: bank.authorizationURL.adding(query))
  }
}

extension BrowserCookie {
  /// The cookie that binds an enrollment to the browser that began it. The browser sends it when it returns
  /// from the bank.
  static func enrollment(at publicURL: String) -> BrowserCookie {
    BrowserCookie("enrollment", at: publicURL, lifetime: NewEnrollment.lifetime, sameSite: "Lax")
  }
}

extension Endpoint {
  static var startEnrollment: Endpoint {
    Endpoint(API.startEnrollment) {
      Operation(
        """
        Sends a browser to the bank. With `mobile` the app gets the result. A cookie binds the enrollment to the browser.
        """, .bearer, item: .bank,
        query: [.init("mobile", "`true` for the app.", .words(["true", "false"]))],
        answers: .redirect(302, "To the bank."), errors: [.unknownBank],
        limits: [.enrollments])
    }
  }

  static var startEnrollmentInApp: Endpoint {
    Endpoint(API.startEnrollmentInApp) {
      Operation(
        "Returns the bank's URL, to which the app sends the person.", .bearer, item: .bank,
        answers: .json([
          "authUrl": .uri, "enrollmentId": .string, "bsimId": .string, "bankName": .string,
          "callbackUrlPattern": .string,
        ]), errors: [.unknownBank], limits: [.enrollments])
    }
  }
}
