import Base
import HTTP
import Store

extension EnrollmentFailure {
  /// The text for people.
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
  /// The page for a browser. There is no web wallet to which we could redirect the browser.
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
  /// The page after a failed enrollment, with a link back to the app.
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

  /// The error page for people.
  static func enrollmentError(_ failure: Failure, in language: Language) -> Response {
    var response = enrollmentProblem(
      failure.status, failure.text(in: language), code: failure.code ?? failure.defaultCode,
      in: language)
    response.fields += failure.fields
    return response
  }

  /// The page for a browser that did not begin the enrollment: an attacker may have sent the link.
  static func enrollmentElsewhere(in language: Language) -> Response {
    enrollmentProblem(
      400, WalletTexts(in: language).elsewhere, code: EnrollmentFailure.invalidState.rawValue,
      in: language)
  }

  /// The page while another request waits for the bank.
  ///
  /// - Parameter path: The path at which the browser gets the result.
  static func enrollmentUnderway(at path: String, in language: Language) -> Response {
    let texts = WalletTexts(in: language)
    var response = Page(
      language: language, title: texts.moment, content: "<p>\(texts.underway)</p>"
    ).response(status: 503)
    response.fields += [("Retry-After", "2"), ("Refresh", "2; url=\(path)")]
    return response
  }

  /// The page while too many requests wait for banks; a page, because people cannot read our errors.
  ///
  /// - Parameter isForm: Whether the request is a form, which a browser cannot send again by itself.
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

  /// Asks whether the cards are for this wallet. An attacker may have begun the enrollment and persuaded
  /// the person to continue it (RFC 9700 §4.7). So the page shows the owner of the wallet: the whole
  /// address, because two addresses may begin with the same letters.
  ///
  /// - Parameter fields: The bank's parameters, which the form sends again.
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
    // With "no-referrer", browsers would send `Origin: null` with the form (Fetch §3.1).
    return Page(
      language: language, title: texts.question, content: content,
      referrerPolicy: "strict-origin", formTarget: "mwsim:"
    ).response()
  }
}
