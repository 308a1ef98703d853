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
  func page(bankName: String, in language: Language) -> Response {
    let texts = WalletTexts(in: language)
    switch self {
    case .enrolled(let cards):
      return Page(
        language: language, title: texts.enrolled,
        content: """
          <p><bdi><strong>\(bankName.htmlEscaped)</strong></bdi></p>
          <p>\(language.count(Int64(cards), texts.enrolledCards)) \(texts.closePage)</p>
          """
      ).response()
    case .failed(let failure):
      return .enrollmentProblem(
        400, failure.message(in: language), code: failure.rawValue, in: language)
    }
  }
}

extension Response {
  /// A page for a person who has not enrolled, with a way back to the app.
  fileprivate static func enrollmentProblem(
    _ status: Int, _ message: String, code: String, in language: Language
  ) -> Response {
    let texts = WalletTexts(in: language)
    let app = appCallback.adding([("success", "false"), ("error", code), ("message", message)])
    let content = """
      <p>\(message.htmlEscaped)</p>
      <p><a class="button primary" href="\(app.htmlEscaped)">\(texts.openApp)</a></p>
      """
    return Page(language: language, title: texts.notEnrolled, content: content)
      .response(status: status)
  }

  /// A failure, as a person sees it.
  static func enrollmentError(_ failure: Failure, in language: Language) -> Response {
    var response = enrollmentProblem(
      failure.status, failure.text(in: language), code: failure.code ?? failure.defaultCode,
      in: language)
    response.fields += failure.fields
    return response
  }

  /// The enrollment ends only where it began: somebody else may have sent the link.
  static func enrollmentElsewhere(in language: Language) -> Response {
    enrollmentProblem(
      400, WalletTexts(in: language).elsewhere, code: EnrollmentFailure.invalidState.rawValue,
      in: language)
  }

  /// Another request waits for the bank.
  ///
  /// - Parameter path: where the browser learns the outcome.
  static func enrollmentUnderway(at path: String, in language: Language) -> Response {
    let texts = WalletTexts(in: language)
    var response = Page(
      language: language, title: texts.moment, content: "<p>\(texts.underway)</p>"
    ).response(status: 503)
    response.fields += [("Retry-After", "2"), ("Refresh", "2; url=\(path)")]
    return response
  }

  /// Too many requests wait for banks. A page, because a person cannot read our errors.
  ///
  /// - Parameter isForm: the browser cannot send a form again by itself.
  static func enrollmentsBusy(isForm: Bool, in language: Language) -> Response {
    let texts = WalletTexts(in: language)
    let advice = isForm ? texts.goBack : texts.triesAgain
    var response = Page(
      language: language, title: texts.moment, content: "<p>\(texts.busy) \(advice)</p>"
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
    bankName: String, email: String, bsimID: String, fields: [(String, String)],
    in language: Language
  ) -> Response {
    let texts = WalletTexts(in: language)
    let inputs = fields.map { name, value in
      #"<input type="hidden" name="\#(name)" value="\#(value.htmlEscaped)">"#
    }
    let facts = [
      (name: texts.bank, value: "<bdi><strong>\(bankName.htmlEscaped)</strong></bdi>"),
      (texts.wallet, "<strong>\(email.pageText)</strong>"),
    ]
    let content = """
      <p>\(texts.begun)</p>
      \(Page.list(facts))
      <form method="post" action="/api/enrollment/callback/\(bsimID.percentEncoded)">
      \(inputs.joined(separator: "\n"))
      <p><button class="primary">\(texts.addCards)</button></p>
      <p>\(texts.notYours)</p>
      </form>
      """
    // Not no-referrer: browsers would send `Origin: null` with the form (Fetch §3.1).
    return Page(
      language: language, title: texts.question, content: content,
      referrerPolicy: "strict-origin", formTarget: "mwsim:"
    ).response()
  }
}
