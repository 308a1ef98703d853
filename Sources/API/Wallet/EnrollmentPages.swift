import Base
import HTTP
import Store

extension EnrollmentFailure {
  /// What a person is told.
  func message(in language: Language) -> String {
    let messages = Messages(in: language)
    return switch self {
    case .invalidState: messages.enrollmentExpired
    case .userCancelled: messages.enrollmentCancelled
    case .bankRefused: messages.enrollmentRefused
    case .bankUnavailable: messages.bankUnavailable
    case .noAnswer: messages.noAnswerOfBank
    }
  }
}

extension EnrollmentResult {
  /// The page for a browser. There is no web wallet that we could send it to.
  func page(bankName: String) -> Response {
    switch self {
    case .enrolled(let cards):
      let bank = "<p><strong>\(bankName.htmlEscaped)</strong></p>"
      let number = cards == 1 ? "One card is" : "\(cards) cards are"
      return Page(
        title: "Bank enrolled",
        content: "\(bank)\n<p>\(number) in your wallet. You can close this page.</p>"
      ).response()
    case .failed(let failure):
      return .enrollmentProblem(400, failure.message(in: .english), code: failure.rawValue)
    }
  }
}

extension Response {
  /// A page for a person who has not enrolled, with a way back to the app.
  fileprivate static func enrollmentProblem(
    _ status: Int, _ message: String, code: String
  ) -> Response {
    let app = appCallback.adding([("success", "false"), ("error", code), ("message", message)])
    let content = """
      <p>\(message.htmlEscaped)</p>
      <p><a href="\(app.htmlEscaped)">Open the app</a></p>
      """
    return Page(title: "Bank not enrolled", content: content).response(status: status)
  }

  /// A failure, as a person sees it.
  static func enrollmentError(_ failure: Failure) -> Response {
    var response = enrollmentProblem(
      failure.status, failure.message, code: failure.code ?? failure.defaultCode)
    response.fields += failure.fields
    return response
  }

  /// The enrollment ends only where it began: somebody else may have sent the link.
  static var enrollmentElsewhere: Response {
    enrollmentProblem(
      400,
      "This enrollment began in another browser. Go on there, or open the app and start again.",
      code: EnrollmentFailure.invalidState.rawValue)
  }

  /// Another request waits for the bank.
  ///
  /// - Parameter path: where the browser learns the outcome.
  static func enrollmentUnderway(at path: String) -> Response {
    var response = Page(
      title: "One moment",
      content: "<p>The bank has not answered yet. This page tries again by itself.</p>"
    ).response(status: 503)
    response.fields += [("Retry-After", "2"), ("Refresh", "2; url=\(path)")]
    return response
  }

  /// Too many requests wait for banks. A page, because a person cannot read our errors.
  ///
  /// - Parameter isForm: the browser cannot send a form again by itself.
  static func enrollmentsBusy(isForm: Bool) -> Response {
    let advice = isForm ? "Please go back and try again." : "This page tries again by itself."
    var response = Page(
      title: "One moment", content: "<p>Many people are adding cards now. \(advice)</p>"
    ).response(status: 503)
    response.fields.append(("Retry-After", "5"))
    if !isForm { response.fields.append(("Refresh", "5")) }
    return response
  }

  /// Asks whether the cards are for this wallet. Somebody else may have begun the enrollment and
  /// talked the person into it (RFC 9700 §4.7), so the page shows whose wallet it is: the whole
  /// address, because those of two people may begin alike.
  ///
  /// - Parameter fields: what the bank has sent, for the form to send again.
  static func enrollmentQuestion(
    bankName: String, email: String, bsimID: String, fields: [(String, String)]
  ) -> Response {
    let inputs = fields.map { name, value in
      #"<input type="hidden" name="\#(name)" value="\#(value.htmlEscaped)">"#
    }
    let content = """
      <p>An app has begun this enrollment. Do you want to add your cards at \
      <strong>\(bankName.htmlEscaped)</strong> to the wallet of \
      <strong><bdi>\(email.htmlEscaped)</bdi></strong>?</p>
      <form method="post" action="/api/enrollment/callback/\(bsimID.percentEncoded)">
      \(inputs.joined(separator: "\n"))
      <button>Add the cards</button>
      <p>If this is not your wallet, close this page. Then nothing is added.</p>
      </form>
      """
    // Not no-referrer: browsers would send `Origin: null` with the form (Fetch §3.1).
    return Page(
      title: "Add these cards?", content: content, referrerPolicy: "strict-origin",
      formTarget: "mwsim:"
    ).response()
  }
}
