import Base
import Cryptography
import HTTP
import Store

/// `GET /api/enrollment/callback/:bsimId`: handles the person's return from the bank. The companion
/// exchanges the code, and the app or the browser gets the result. An enrollment that a browser began must
/// end in that browser. For an enrollment that the app began, the page asks the person first.
///
/// If too many requests wait for banks, the state stays valid and the browser tries again. A repeated
/// request gets the same result.
///
/// - Throws: ``Failure/unknownBank``
func finishEnrollment(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.finishEnrollment(BankAnswer(request.queryItem), request, isConfirmed: false)
}

/// `POST /api/enrollment/callback/:bsimId`: does the same after the person has confirmed.
///
/// - Throws: ``Failure/unknownBank``; ``Failure/badRequest(_:)`` unless the body is a form;
///   ``Failure/forbidden(_:)`` for the form of another site.
func finishConfirmedEnrollment(
  _ request: Request, in context: borrowing Context
) throws -> Response {
  let type = request.field("Content-Type")?.split(separator: ";").first.map { String($0).trimmed }
  guard type?.lowercased() == "application/x-www-form-urlencoded" else {
    throw Failure.badRequest(\.noForm)
  }
  let origins = request.fieldValues("Origin")
  guard origins.allSatisfy(context.settings.origins.contains) else {
    throw Failure.forbidden(\.foreignEnrollmentForm)
  }
  return try context.finishEnrollment(BankAnswer(request.formItem), request, isConfirmed: true)
}

/// The parameters from the bank.
private struct BankAnswer {
  let code: String
  let state: String
  let error: String?

  /// - Parameter item: Returns the value of a parameter.
  init(_ item: (String) -> String?) {
    code = item("code") ?? ""
    state = item("state") ?? ""
    error = item("error")
  }

  /// The `error` for the audit log; replaces a word outside the standard.
  var refusal: String? {
    error.map { OAuthError(rawValue: $0)?.rawValue ?? "an error without a name" }
  }

  var needsExchange: Bool { error == nil && !code.isEmpty }
}

extension Context {
  fileprivate func finishEnrollment(
    _ answer: BankAnswer, _ request: Request, isConfirmed: Bool
  ) throws -> Response {
    let cookie = BrowserCookie.enrollment(at: settings.publicURL).sentValue(in: request)
    let callback = BankCallback(
      bsimID: pathItem, stateHash: sha256(answer.state), refusal: answer.refusal,
      browserHash: sha256(cookie ?? ""), isConfirmed: isConfirmed)
    let language = request.messageLanguage
    var placeOwner: String?
    defer { if let placeOwner { leave(.bankEnrollment, of: placeOwner) } }
    let outcome = try records.enrollments.resume(after: callback) { enrollment in
      guard answer.needsExchange, placeOwner == nil else { return true }
      guard takePlace(for: .bankEnrollment, of: enrollment.accountID) else { return false }
      placeOwner = enrollment.accountID
      return true
    }
    switch outcome {
    case .unknownBank: throw Failure.unknownBank
    case .postponed: return .enrollmentsBusy(isForm: isConfirmed, in: language)
    case .unconfirmed(let bankName, let email):
      return .enrollmentQuestion(
        bankName: bankName, email: email, bsimID: pathItem,
        fields: [("code", answer.code), ("state", answer.state)], in: language)
    case .beganInAnotherBrowser: return .enrollmentElsewhere(in: language)
    case .underway:
      return .enrollmentUnderway(
        at: "/api/enrollment/callback/\(pathItem.percentEncoded)".adding([("state", answer.state)]),
        in: language)
    case .ended(let result, let enrollment):
      return response(
        to: result, of: request, isMobile: enrollment.isMobile, bankName: enrollment.bankName)
    case .invalidState(let isMobile):
      return response(
        to: .failed(.invalidState), of: request, isMobile: isMobile, bankName: "")
    case .resumed(let enrollment):
      let result = try result(of: answer, for: enrollment)
      try records.enrollments.keep(result, of: enrollment)
      return response(
        to: result, of: request, isMobile: enrollment.isMobile, bankName: enrollment.bankName)
    }
  }

  private func response(
    to result: EnrollmentResult, of request: Request, isMobile: Bool, bankName: String
  ) -> Response {
    let language = request.messageLanguage
    guard isMobile else { return result.page(bankName: bankName, in: language) }
    let members = result.members(bsimID: pathItem, bankName: bankName, in: language)
    return Response(
      status: 302,
      fields: [
        ("Location", appCallback.adding(members)), ("Referrer-Policy", "no-referrer"),
        ("Vary", "Accept-Language"),
      ])
  }

  private func result(
    of answer: BankAnswer, for enrollment: ResumedEnrollment
  ) throws -> EnrollmentResult {
    if let error = answer.error {
      return .failed(EnrollmentFailure(of: OAuthError(rawValue: error)))
    }
    guard !answer.code.isEmpty else { return .failed(.bankRefused) }
    return try exchange(answer.code, for: enrollment)
  }

  /// Has the companion exchange the code at the bank.
  private func exchange(
    _ code: String, for enrollment: ResumedEnrollment
  ) throws -> EnrollmentResult {
    let exchange = BankExchange(
      enrollmentID: enrollment.id,
      sealedCode: seal(
        Array(code.utf8), authenticating: BankExchange.sealingContext(ofCode: enrollment.id),
        for: settings.companionKeys),
      redirectURI: redirectURI, deviceID: enrollment.deviceID, address: origin.address)
    do {
      let result = try runInPlace(
        .bankEnrollment, exchange.json, of: enrollment.accountID)
      return try decoded(EnrollmentResult.self, from: result)
    } catch let error where error is Failure || error is Refusal {
      return .failed(.noAnswer)  // a person waits and cannot read our errors
    }
  }
}

extension EnrollmentFailure {
  fileprivate init(of error: OAuthError?) {
    self =
      switch error {
      case .accessDenied: .userCancelled
      case .serverError, .temporarilyUnavailable: .bankUnavailable
      default: .bankRefused
      }
  }
}

extension EnrollmentResult {
  /// The query of the app's URL. The app shows `message` as it is.
  fileprivate func members(
    bsimID: String, bankName: String, in language: Language
  ) -> [(String, String)] {
    switch self {
    case .enrolled(let cards):
      [("success", "true"), ("bsimId", bsimID), ("bankName", bankName), ("cardCount", "\(cards)")]
    case .failed(let failure):
      [
        ("success", "false"), ("error", failure.rawValue),
        ("message", failure.message(in: language)),
      ]
    }
  }
}

extension Endpoint {
  static var finishEnrollment: Endpoint {
    Endpoint(API.finishEnrollment) {
      Operation(
        """
        Handles the person's return from the bank. The app or the browser gets the result. For an enrollment that the app began, \
        the page asks the person first.
        """, .enrollment, item: .bank,
        query: ["code", "state", "error"].map { .init($0, "From the bank (RFC 6749 §4.1.2).") },
        answers: .page("The result, or the question."), .redirect(302, "To the app."),
        errors: .ofEnrollment)
    }
  }

  static var finishConfirmedEnrollment: Endpoint {
    Endpoint(API.finishConfirmedEnrollment) {
      Operation(
        "Does the same after the person has confirmed.", .enrollment, item: .bank,
        body: .form(["code?": .string, "state?": .string, "error?": .string]),
        answers: .page("The result."), .redirect(302, "To the app."),
        errors: .ofEnrollment + [.badRequest(\.noForm), .forbidden(\.foreignEnrollmentForm)])
    }
  }
}

extension Access {
  fileprivate static let enrollment = Access(alternatives: [[], [.enrollmentCookie]], errors: [])
}

extension [Failure] {
  /// The pages of an enrollment that failed.
  fileprivate static var ofEnrollment: [Failure] {
    [.unknownBank, .badRequest(\.enrollmentExpired), .badRequest(\.enrollmentRefused)]
  }
}
